"""Skills through the front door: learned, listed, edited, disabled and retired by name; mounted ones are read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.errors import AccessDenied, Conflict, InvalidInput, LimitExceeded, UnknownPlace
from muniment.events.changes import Transition
from muniment.events.identity import SubjectId
from muniment.events.memory_items import InvalidityGround, ItemPrivacy, MemoryPlane, Retirement
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.governance.views import Reason, View
from muniment.memory.amendment import CorrectItem, InvalidateItem, RestoreItem, SupersedeItem
from muniment.memory.candidate import ItemSource
from muniment.memory.fold import EvidenceState
from muniment.memory.skills import EditSkill, SkillStatus
from muniment.memory.undoing import UndoObstacle
from muniment.operations.memory.amend_report import AmendReport
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.remember_report import RememberedCandidate
from muniment.operations.memory.selection import ItemFilter
from muniment.operations.notebook.decide_report import ProposalVerdict
from muniment.operations.notebook.list_proposals import ProposalFilter
from muniment.operations.skills.skill_pages import SkillDetail
from muniment.runtime.settings import set_skills
from muniment.space.options import Options
from tests.memory.asking import amend, forget, remember, size, texts
from tests.memory.items import USE_THE_LIFT, candidate, skill
from tests.turns import SUBJECT, plain_turn
from tests.worlds import World, key_of, memory_world

LIFT = "runtime_skill__use_the_lift"
BETTER = "Go to the lift.\nLook up.\nPress the button of the floor."
GONE = ForgetTarget(topic=LIFT, kind="procedure", plane=MemoryPlane.RUNTIME_SKILL)


def learn(world: World, name: str = "use_the_lift", **more: Any) -> RememberedCandidate:
    return remember(world, **skill(name, **more))


def names(world: World, *include: SkillStatus, **asked: Any) -> list[str]:
    page = world.runtime.skills.list_(SUBJECT, include=list(include), **asked)
    return [each.name.removeprefix("runtime_skill__") for each in page.skills]


def show(world: World, view: View = View.RAW_OWNER) -> SkillDetail:
    return world.runtime.skills.show(SUBJECT, LIFT, view)


def edit(world: World, change: EditSkill, name: str = LIFT, expected: int | None = None) -> AmendReport:
    return world.runtime.skills.edit(SUBJECT, name, change, "asked", "ada", expected)


def test_a_skill_is_known_by_its_name_whatever_its_topic(world: World) -> None:
    world.with_turns(2)
    learn(world, id="s-1")
    assert learn(world, topic="other").reason == "same_text"
    newer = learn(world, text=BETTER, topic="other", id="s-2")
    assert (newer.reason, newer.replaces) == ("newer_statement", "s-1")
    learn(world, "ask_twice", topic="other")
    assert names(world) == ["ask_twice", "use_the_lift"]
    detail = show(world)
    assert (detail.procedure, detail.skill and detail.skill.item) == (BETTER, "s-2")
    assert [(each.item, each.retired, each.successor) for each in detail.lineage] == [
        ("s-1", Retirement.SUPERSEDED, "s-2")
    ]
    assert detail.citations[0].citation == "transcript:default/default/talk#turn=turn-1"


def test_a_repeat_of_a_skill_is_known_after_its_topic_was_edited(world: World) -> None:
    world.with_turns(1)
    learn(world, id="s-1")
    edit(world, EditSkill(topic="lifts"))
    assert learn(world, id="s-1").reason == "same_text"


def test_an_edit_changes_what_it_names_and_nothing_else(world: World) -> None:
    world.with_turns(1)
    learn(world, title="Lift", summary="How to go up")
    done = edit(world, EditSkill(procedure=BETTER, title="Lifts"), expected=0)
    assert (done.accepted, done.changed, done.former_revision, done.revision) == (True, True, 0, 1)
    (listed,) = world.runtime.skills.list_(SUBJECT).skills
    assert (listed.title, listed.topic, listed.summary) == ("Lifts", "stairs", "How to go up")
    detail = show(world)
    (revision,) = detail.revisions
    assert (detail.procedure, revision.action, revision.former_text) == (BETTER, "edit", USE_THE_LIFT)
    before = size(world)
    assert edit(world, EditSkill(procedure=BETTER)).reason == "nothing_changed"
    assert edit(world, EditSkill()).reason == "nothing_changed"
    assert size(world) == before
    with pytest.raises(Conflict):
        edit(world, EditSkill(title="Other"), expected=0)


@pytest.mark.parametrize("name", ["use_the_lift", "i-1", "runtime_skill__", "\n"])
def test_only_names_of_runtime_skills_are_taken(name: str, world: World) -> None:
    """No other item, and nothing of a mounted skill, is edited here (RS-05, RS-09)."""
    world.with_turns(1)
    remember(world, id="i-1")
    with pytest.raises(InvalidInput):
        edit(world, EditSkill(title="x"), name)
    assert edit(world, EditSkill(title="x"), "runtime_skill__i-1").reason == "target_not_found"


def test_empty_and_overlong_words_are_refused() -> None:
    small = memory_world(limits=Limits(item_bytes_max=120)).with_turns(1)
    learn(small)
    with pytest.raises(InvalidInput):
        edit(small, EditSkill(title=" "))
    with pytest.raises(LimitExceeded):
        edit(small, EditSkill(title="x" * 61, summary="y" * 60))


def test_disabling_changes_that_state_alone_and_nothing_offers_it(world: World) -> None:
    world.with_turns(2)
    learn(world, id="s-1")
    before = world.runtime.memory.show("s-1", View.RAW_OWNER).item
    assert world.runtime.skills.disable(SUBJECT, LIFT, "asked", "ada").changed
    assert (names(world), names(world, SkillStatus.DISABLED), texts(world)) == ([], ["use_the_lift"], [])
    assert world.runtime.memory.prompt(SUBJECT, 200).text == ""
    page = world.runtime.skills.list_(SUBJECT)
    assert (page.total, page.active, page.disabled, page.retired) == (1, 0, 1, 0)
    after = world.runtime.memory.show("s-1", View.RAW_OWNER).item
    assert before is not None
    assert after is not None
    assert after.disabled
    assert (after.text, after.topic, after.confidence) == (before.text, before.topic, before.confidence)
    appended = size(world)
    assert world.runtime.skills.disable(SUBJECT, LIFT, "asked", "ada").reason == "nothing_changed"
    assert learn(world, text=BETTER, turn=2).reason == "disabled"
    assert size(world) == appended
    assert world.runtime.skills.enable(SUBJECT, LIFT, "asked", "ada").changed
    assert (names(world), texts(world)) == (["use_the_lift"], [USE_THE_LIFT])


def test_a_skill_that_has_expired_is_offered_nowhere_and_says_so(world: World) -> None:
    world.with_turns(1)
    learn(world, expires_ms=world.runtime._session.space.sources.clock.now_ms())
    assert (names(world), names(world, SkillStatus.EXPIRED), texts(world)) == ([], ["use_the_lift"], [])
    page = world.runtime.skills.list_(SUBJECT)
    assert (page.total, page.active, page.expired) == (1, 0, 1)
    shown = show(world).skill
    assert shown is not None
    assert shown.status is SkillStatus.EXPIRED
    assert world.runtime.skills.disable(SUBJECT, LIFT, "asked", "ada").changed
    assert names(world, SkillStatus.EXPIRED) == []


def test_a_retired_skill_keeps_its_lineage_and_comes_back(world: World) -> None:
    world.with_turns(1)
    learn(world, id="s-1")
    skills = world.runtime.skills
    assert skills.retire(SUBJECT, LIFT, "asked", "ada").changed
    assert skills.retire(SUBJECT, LIFT, "asked", "ada").reason == "nothing_changed"
    assert (names(world), names(world, SkillStatus.RETIRED)) == ([], ["use_the_lift"])
    assert (show(world).procedure, show(world).revisions[0].action) == (USE_THE_LIFT, "withdrawn")
    assert edit(world, EditSkill(title="x")).reason == "not_in_use"
    assert skills.restore(SUBJECT, LIFT, "asked", "ada").changed
    assert names(world) == ["use_the_lift"]
    learn(world, text=BETTER)
    assert amend(world, "s-1", RestoreItem()).reason == "slot_taken"


def test_a_successor_keeps_the_name(world: World) -> None:
    world.with_turns(1)
    learn(world, id="s-1", title="Lift")
    amend(world, "s-1", SupersedeItem(text=BETTER, id="s-2"))
    detail = show(world)
    assert detail.skill is not None
    assert (detail.skill.item, detail.skill.title, detail.procedure) == ("s-2", "Lift", BETTER)


def test_a_forgotten_skill_is_gone_with_all_that_was_said_under_its_name(world: World) -> None:
    world.with_turns(1)
    learn(world, id="s-1")
    learn(world, text=BETTER, id="s-2")
    edit(world, EditSkill(title="Lift"))
    assert forget(world, GONE).items == ["s-2", "s-1"]
    with pytest.raises(UnknownPlace):
        show(world)
    assert names(world, *SkillStatus) == []
    assert texts(world, state=ItemFilter.ALL) == []
    assert edit(world, EditSkill(title="x")).reason == "target_not_found"
    assert learn(world).reason == "forgotten"


def test_a_skill_is_forgotten_by_any_of_its_words(world: World) -> None:
    world.with_turns(1)
    learn(world, title="Elevator", summary="ups", note="downs")
    edit(world, EditSkill(topic="shafts"))
    for words in ("elevator", "ups", "downs", "shafts", "stairs"):  # the last one was edited away, and is in the log
        assert len(forget(world, ForgetTarget(words=words), dry_run=True).items) == 1
    assert forget(world, ForgetTarget(words="shafts stairs"), dry_run=True).items == []


def test_words_are_looked_for_in_what_the_view_shows(world: World) -> None:
    world.with_turns(1)
    learn(world, title="Elevator", keywords=["tower"])
    assert all(names(world, query=words) for words in ("elevator", "tower BUTTON", "lift", "skill use"))
    assert names(world, query="elevator stairway") == []
    assert names(world, query="elevator", view=View.OPERATOR_AUDIT) == []
    assert names(world, query="lift", view=View.OPERATOR_AUDIT) == ["use_the_lift"]


def test_the_last_changed_comes_first_and_the_rest_is_counted(world: World) -> None:
    world.with_turns(1)
    for name in ("a", "b", "c"):
        learn(world, name)
    page = world.runtime.skills.list_(SUBJECT, limit=2)
    assert (len(page.skills), page.left_out, page.total) == (2, 1, 3)
    with pytest.raises(InvalidInput):
        world.runtime.skills.list_(SUBJECT, limit=0)


def test_each_view_shows_what_it_may(world: World) -> None:
    world.with_turns(1)
    learn(world, privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC, title="Secret", note="from the desk")
    page = world.runtime.skills.list_(SUBJECT, View.HOST_UI)
    assert (page.skills, page.total, page.withheld) == ([], 0, 1)
    assert show(world, View.HOST_UI) == SkillDetail(missing=Reason.OPERATOR_ONLY)
    audit = show(world, View.OPERATOR_AUDIT)
    assert audit.skill is not None
    assert (audit.procedure, audit.skill.title, audit.skill.withheld) == (None, None, Reason.VIEW_POLICY)
    assert "from the desk" not in f"{audit}"
    (raw,) = world.runtime.memory.list_(SUBJECT, View.RAW_OWNER).items
    assert raw.note == "from the desk"


def test_a_skill_whose_turn_is_masked_needs_a_review(world: World) -> None:
    world.with_turns(1)
    learn(world)
    world.request(Transition.MASK, 1)
    assert world.runtime.skills.list_(SUBJECT).skills[0].state is EvidenceState.NEEDS_REVIEW


def test_nobody_sees_or_changes_the_skills_of_somebody_else(world: World) -> None:
    """The same name is another skill for each subject."""
    world.with_turns(1)
    learn(world)
    bob = world.runtime.restricted(Access(subject="bob"))
    with pytest.raises(AccessDenied):
        bob.skills.list_(SUBJECT)
    for ask in (bob.skills.disable, bob.skills.retire):
        with pytest.raises(AccessDenied):
            ask(SUBJECT, LIFT, "why", "bob")
    other = SubjectId("bob")
    bob.memory.remember([candidate(turn=None, subject="bob", **skill(text=BETTER))], "bob")
    assert bob.skills.list_(other).total == 1
    assert bob.skills.show(other, LIFT).procedure == BETTER
    assert show(world).procedure == USE_THE_LIFT
    assert bob.skills.disable(other, LIFT, "why", "bob").changed
    assert names(world) == ["use_the_lift"]


def test_a_correction_of_a_skill_by_its_id_is_one_of_the_skill(world: World) -> None:
    world.with_turns(1)
    learn(world, id="s-1")
    amend(world, "s-1", CorrectItem(text=BETTER))
    assert show(world).procedure == BETTER


# --- mounted skills ---------------------------------------------------------------------------------------------------


def mounted(folder: Path, name: str = "pdf", text: str | None = None) -> Path:
    """Write a skill; return the file."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text or f"---\nname: {name}\ndescription: Reads {name} files\n---\nRun it.\n", "utf-8")
    (path.parent / "tool.sh").write_text("exit 1\n", "utf-8")
    return path


def test_mounted_skills_are_listed_and_left_alone(tmp_path: Path) -> None:
    path = mounted(tmp_path / "one")
    mounted(tmp_path / "two", "broken", "no front matter")
    os.utime(path, ns=(5, 7))
    before = path.read_bytes()
    os.utime(path, ns=(5, 7))
    options = Options(skills=(tmp_path / "one", tmp_path / "two", tmp_path / "missing"))
    with muniment.open("memory:", options=options) as runtime:
        report = runtime.skills.mounted()
        (package,) = report.packages
        assert runtime.spaces.usage().events == 1
    assert (report.directories, report.active, report.packages) == (3, 1, [package])
    assert (package.name, package.description, package.resources) == ("pdf", "Reads pdf files", 1)
    assert package.directory == "one"
    assert {finding.directory for finding in report.findings} == {"two", "missing"}
    assert "Run it" not in f"{report}"
    assert str(tmp_path) not in f"{report}"
    assert (path.stat().st_mtime_ns, path.read_bytes()) == (7, before)


def test_directories_are_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(tmp_path / "one")
    monkeypatch.setenv("MUNIMENT_SKILLS", f"{tmp_path / 'one'}{os.pathsep}{os.pathsep}{tmp_path / 'two'}")
    assert set_skills() == (tmp_path / "one", tmp_path / "two")
    with muniment.open("memory:") as runtime:
        assert runtime.skills.mounted().active == 1
    with muniment.open("memory:", options=Options(skills=())) as runtime:
        assert runtime.skills.mounted().directories == 0


def test_a_run_is_not_undone_into_the_slot_that_another_skill_has_taken(world: World) -> None:
    """The slot of a skill is its name, whatever its topic: no two of one name are in use."""
    world.with_turns(2)
    learn(world, id="s-1")
    evidence = [ItemSource(conversation=key_of(), turn=plain_turn(1).turn)]
    wrong = InvalidateItem(ground=InvalidityGround.FACTUALLY_INCORRECT, evidence=evidence)
    assert amend(world, "s-1", wrong, run="night").changed
    assert learn(world, text=BETTER, topic="other", turn=2, id="s-2").changed
    report = world.runtime.notebook.undo("night", "wrong", "ada")
    assert [(each.item, each.reason) for each in report.conflicts] == [("s-1", UndoObstacle.SLOT_TAKEN)]
    assert show(world).procedure == BETTER


def test_a_skill_that_is_proposed_is_the_skill_when_it_is_accepted(world: World) -> None:
    world.with_turns(1)
    told = {"title": "The lift", "summary": "How to go up", "note": "Ada wrote it", "origin": "notes.md"}
    given = candidate(turn=1, **skill() | told)
    (proposed,) = world.runtime.notebook.propose([given], "useful", "host").candidates
    decided = world.runtime.notebook.decide(proposed.proposal or "", ProposalVerdict.ACCEPT, "fine", "ada")
    assert decided.candidate is not None
    assert (decided.changed, decided.candidate.reason) == (True, "free_slot")
    item = world.runtime.memory.show(decided.candidate.item or "", View.RAW_OWNER).item
    assert item is not None
    assert (item.name, item.title, item.summary, item.note, item.origin) == (LIFT, *told.values())


def test_forgetting_a_skill_by_name_takes_the_proposals_for_it_along(world: World) -> None:
    world.with_turns(2)
    learn(world)
    given = candidate(turn=2, **skill(text=BETTER))
    assert world.runtime.notebook.propose([given], "better", "host").proposed == 1
    assert len(forget(world, GONE).items) == 2
    assert world.runtime.notebook.proposals(SUBJECT, View.RAW_OWNER, ProposalFilter.ALL).total == 0
