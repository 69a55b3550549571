"""Memory in archives: notebooks go out with the part of their subject, and come in elsewhere as they were."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import ArchiveConflict, ArchiveRefused
from muniment.events.archive import ImportMode, PrivateMaterial
from muniment.events.identity import ConversationId, TurnId
from muniment.events.memory_items import InvalidityGround, ItemPrivacy, MemoryPlane, Retirement
from muniment.governance.views import View
from muniment.memory.amendment import CorrectItem, InvalidateItem, PinItem, RestoreItem
from muniment.memory.candidate import ItemSource
from muniment.memory.item_rules import CAUSES
from muniment.memory.skills import EditSkill, SkillStatus
from muniment.operations.archives.archived_notebook import NOT_CARRIED
from muniment.operations.archives.omissions import OmissionReason
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.list_items import ItemDetail
from muniment.operations.memory.selection import ItemFilter
from muniment.operations.skills.skill_pages import ListedSkill
from tests.archives.documents import (
    ADA,
    SHARED,
    TALKING,
    changed,
    exported,
    imported,
    line_where,
    lines_of,
    of_subject,
    rooted,
    seal,
)
from tests.backups import root_of
from tests.memory.asking import HOME_CITY, amend, forget, listed, remember, texts
from tests.memory.items import candidate, skill, statements
from tests.memory.tools import feedback, registry
from tests.turns import SUBJECT, TALK
from tests.worlds import OPERATOR, World, key_of, memory_world, sqlite_world

RESTORE, EXCLUDE = ImportMode.RESTORE, PrivateMaterial.EXCLUDE
NOTEBOOK = b'{"subject":"ada","plane"'
RESTS_ON_2 = [ItemSource(conversation=key_of(), turn=TurnId("turn-2"), message="turn-2#0")]


def filled(world: World) -> World:
    """Let a world have items of two planes: in use, corrected, superseded, invalidated and restored, forgotten."""
    world.with_turns(3)
    remember(world, id="i-1", privacy=ItemPrivacy.PUBLIC_RUNTIME, tags=["tag"], expires_ms=2**50)
    remember(world, "Lives in Rome", 2, id="i-2", privacy=ItemPrivacy.PUBLIC_RUNTIME)
    remember(world, "Walks", topic="commute", id="i-3", evidence=RESTS_ON_2)
    remember(world, "The secret", 3, topic="secret", id="i-4")
    remember(world, "Attested", None, topic="attested", id="i-5", plane=MemoryPlane.SHARED_FACT)
    amend(world, "i-2", CorrectItem(text="Lives in Rome, Italy"))
    amend(world, "i-3", InvalidateItem(ground=InvalidityGround.FACTUALLY_INCORRECT, evidence=RESTS_ON_2))
    amend(world, "i-3", RestoreItem())
    amend(world, "i-5", PinItem())
    assert forget(world, ForgetTarget(item="i-4")).changed
    return world


def known(world: World) -> list[object]:
    """Return what every view tells of all items, wherever they stand in its log."""

    def placed(detail: ItemDetail) -> ItemDetail:
        item = None if detail.item is None else replace(detail.item, position=0)
        return replace(detail, item=item, revisions=[replace(each, position=0) for each in detail.revisions])

    names = [f"i-{number}" for number in range(1, 6)]
    return [placed(world.runtime.memory.show(name, view)) for view in View for name in names]


@pytest.fixture
def source() -> World:
    return filled(memory_world("source"))


# --- there and back ---------------------------------------------------------------------------------------------------


def test_memory_comes_in_elsewhere_as_it_was(source: World, tmp_path: Path) -> None:
    """Items, revisions, retirements and what is left of forgotten ones; the archive of it is the same again."""
    out = exported(source.runtime, tmp_path / "x")
    assert (out.items, out.root.notebooks) == (5, 2)
    assert [(left.reason, left.items) for left in out.left_out] == [("erased", 1)]
    assert b"The secret" not in b"".join(lines_of(tmp_path / "x"))
    target = sqlite_world(tmp_path / "target")
    report = imported(target.runtime, tmp_path / "x")
    assert (report.items_inserted, report.items_deleted, report.forgotten_items) == (5, 0, 0)
    assert known(target) == known(source)
    assert exported(target.runtime, tmp_path / "y").root == out.root
    assert lines_of(tmp_path / "x") == lines_of(tmp_path / "y")
    assert target.runtime.evidence.inspect().kinds == {}
    assert target.reopened().runtime.system.health().sound
    assert known(target) == known(source)


def test_skills_come_in_under_their_names(tmp_path: Path) -> None:
    """Two of one topic are two skills; a newer one takes the place of its name; a forgotten one does not come back."""
    source, target = memory_world("source").with_turns(2), memory_world("target")
    for name in ("use_the_lift", "ask_twice", "answer"):
        assert remember(source, **skill(name)).changed
    exported(source.runtime, tmp_path / "before")
    gone = ForgetTarget(topic="runtime_skill__answer", kind="procedure", plane=MemoryPlane.RUNTIME_SKILL)
    assert forget(source, gone).changed
    exported(source.runtime, tmp_path / "after")
    assert imported(target.runtime, tmp_path / "after").items_inserted == 3
    assert [each.name for each in target.runtime.skills.list_(SUBJECT).skills] == [
        "runtime_skill__ask_twice",
        "runtime_skill__use_the_lift",
    ]
    shown = target.runtime.skills.show(SUBJECT, "runtime_skill__use_the_lift", View.RAW_OWNER)
    newer = remember(target, turn=2, **skill(text="Go to the lift.\nPress the button.", topic="other"))
    assert (newer.reason, newer.replaces) == ("newer_statement", shown.skill and shown.skill.item)
    assert remember(target, **skill("answer", topic="another")).reason == "forgotten"
    imported(target.runtime, tmp_path / "before", mode=RESTORE)
    assert [each.name for each in target.runtime.skills.list_(SUBJECT).skills] == [
        "runtime_skill__ask_twice",
        "runtime_skill__use_the_lift",
    ]


def test_an_import_replaces_exactly_the_memory_of_its_scope(source: World, tmp_path: Path) -> None:
    """EX-07: other items of the subject are gone, those of others stay; the same archive again changes nothing more."""
    exported(source.runtime, tmp_path / "x")
    target = memory_world("target").with_turn(of_subject("bob", 1, "other"))
    bob = candidate("Is bob", None, subject="bob", id="b-1")
    target.runtime.memory.remember([bob], "host")
    remember(target, "Only here", None, topic="here", id="i-9")
    with pytest.raises(ArchiveConflict):
        imported(target.runtime, tmp_path / "x")
    for deleted in (1, 5):
        report = imported(target.runtime, tmp_path / "x", mode=RESTORE)
        assert (report.items_inserted, report.items_deleted, report.forgotten_items) == (5, deleted, 0)
        assert known(target) == known(source)
        assert texts(target, state=ItemFilter.ALL) == texts(source, state=ItemFilter.ALL)
    assert [item.text for item in target.runtime.memory.list_("bob", View.RAW_OWNER).items] == ["Is bob"]
    assert exported(target.runtime, tmp_path / "y").root == exported(source.runtime, tmp_path / "z").root
    assert remember(target, "Only here", None, topic="here").reason == "free_slot", "nobody asked to forget it"


def test_what_an_archive_does_not_speak_of_stays(source: World, tmp_path: Path) -> None:
    """Without private material, of conversations and of the shared part: no notebook goes out, and none is replaced."""
    for number, (scope, private) in enumerate([(ADA, EXCLUDE), (SHARED, PrivateMaterial.INCLUDE), (TALKING, EXCLUDE)]):
        out = exported(source.runtime, tmp_path / f"{number}", scope, private)
        told = b"".join(lines_of(tmp_path / f"{number}"))
        assert (out.items, out.root.notebooks) == (0, None)
        assert b"item.recorded" not in told
        assert b"Rome" not in told
        left = {each.reason: each.items for each in out.left_out}
        assert left.get(OmissionReason.PRIVATE, 0) == (5 if scope == ADA else 0)
        before = known(source)
        source.runtime.archives.import_(str(tmp_path / f"{number}"), scope, private, RESTORE)
        if scope == SHARED:
            assert known(source) == before
        assert sorted(filter(None, texts(source))) == ["Attested", "Lives in Rome, Italy", "Walks"]


def test_items_rest_on_their_turns_where_they_come_in(source: World, tmp_path: Path) -> None:
    """Evidence names the space that it is in, messages too; a turn outside the scope is missing, and that is said."""
    source.with_turn(of_subject("ada", 1, "mixed")).with_turn(of_subject("bob", 2, "mixed"))
    outside = [ItemSource(conversation=key_of("mixed"), turn=TurnId("turn-1"))]
    remember(source, "Elsewhere", topic="elsewhere", id="i-6", evidence=outside)
    exported(source.runtime, tmp_path / "x")
    target = memory_world("target")
    imported(target.runtime, tmp_path / "x")
    shown = {item.id: item for item in listed(target)}
    (whole,), (gone,) = shown["i-3"].evidence, shown["i-6"].evidence
    assert (whole.phase, gone.phase, shown["i-6"].state) == ("active", "erased", "needs_review")
    links = target.runtime.evidence.links(conversation=key_of(), turn=TurnId("turn-2")).links
    assert {link.key for link in links} == {"i-2", "i-3"}
    target.masked(2)
    assert {item.id: item.state for item in listed(target)}["i-3"] == "needs_review"


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), statements, st.sampled_from(["a", "b"])), min_size=1, max_size=8))
def test_export_import_export_of_memory_gives_the_same_root(steps: list[tuple[int, str, str]]) -> None:
    """EX-09: whatever was remembered, corrected and forgotten."""
    world, target = memory_world().with_turns(1), memory_world("target")
    for action, text, topic in steps:
        decided = remember(world, text, None if action % 2 else 1, topic=topic)
        if decided.item is not None and action == 2:
            forget(world, ForgetTarget(item=decided.item))
        elif decided.item is not None and action == 3:
            amend(world, decided.item, CorrectItem(text=text + " more"))
    with tempfile.TemporaryDirectory() as home:
        first = exported(world.runtime, Path(home) / "one")
        imported(target.runtime, Path(home) / "one")
        assert exported(target.runtime, Path(home) / "two").root == first.root
        imported(target.runtime, Path(home) / "one", mode=RESTORE)
        assert exported(target.runtime, Path(home) / "three").root == first.root
    assert texts(target, state=ItemFilter.ALL) == texts(world, state=ItemFilter.ALL)


# --- what was forgotten -----------------------------------------------------------------------------------------------


def test_a_forgotten_item_does_not_come_back_where_it_came_in(source: World, tmp_path: Path) -> None:
    """Its topic is gone: so nothing of its kind is learned again from those turns alone; anything else is."""
    exported(source.runtime, tmp_path / "x")
    target = memory_world("target")
    imported(target.runtime, tmp_path / "x")
    for world in (source, target):
        assert remember(world, "The secret", 3, topic="secret").reason == "forgotten"
    assert remember(target, "Another one", 3, topic="other").reason == "forgotten"
    assert remember(target, "A task", 3, topic="other", kind="task").reason == "free_slot"
    assert remember(target, "From another turn", 1, topic="third").reason == "free_slot"
    assert remember(target, "Somebody says so", None, topic="secret").reason == "free_slot"
    imported(target.runtime, tmp_path / "x", mode=RESTORE)
    assert remember(target, "The secret", 3, topic="secret").reason == "forgotten"


def test_an_archive_brings_nothing_back_that_was_forgotten_here(source: World, tmp_path: Path) -> None:
    """By its id or by its slot and turns, in this notebook or in one that was replaced; the request is kept."""
    exported(source.runtime, tmp_path / "x")
    exported(source.runtime, tmp_path / "before")
    assert forget(source, HOME_CITY).changed
    for times in range(2):
        report = imported(source.runtime, tmp_path / "x", mode=RESTORE)
        assert report.forgotten_items == 2, times
        assert sorted(filter(None, texts(source))) == ["Attested", "Walks"]
        assert source.runtime.memory.show("i-2", View.RAW_OWNER).missing == "erased"
        assert remember(source, "Lives in Rome", 2).reason == "forgotten"
    other = memory_world("other").with_turns(3)
    remember(other, "Walks", topic="commute", id="o-1", evidence=RESTS_ON_2)
    forget(other, ForgetTarget(item="o-1"))
    assert imported(other.runtime, tmp_path / "before", mode=RESTORE).forgotten_items == 1
    assert "Walks" not in texts(other)
    told = b"".join(lines_of(tmp_path / "x"))
    exported(other.runtime, tmp_path / "after")
    assert (b"Walks" in told, b"Walks" in b"".join(lines_of(tmp_path / "after"))) == (True, False)


def test_what_was_forgotten_stays_so_in_a_notebook_that_was_replaced(source: World, tmp_path: Path) -> None:
    """An archive without the item takes the place of everything; what somebody had forgotten before is known still."""
    exported(source.runtime, tmp_path / "x")
    exported(memory_world("none").runtime, tmp_path / "empty")
    assert forget(source, HOME_CITY).changed
    imported(source.runtime, tmp_path / "empty", mode=RESTORE)
    source.with_turns(3)
    assert remember(source, "Lives in Rome", 2).reason == "forgotten"
    assert imported(source.runtime, tmp_path / "x", mode=RESTORE).forgotten_items == 2
    assert sorted(filter(None, texts(source))) == ["Attested", "Walks"]


def test_words_of_replaced_items_are_destroyed(source: World, tmp_path: Path) -> None:
    """In the log of the target nothing of them can be opened, and holds keep them."""
    exported(memory_world("none").runtime, tmp_path / "empty")
    hold = source.runtime.lifecycle.hold(Scope(subject=SUBJECT), "court", OPERATOR)
    with pytest.raises(ArchiveConflict):
        imported(source.runtime, tmp_path / "empty", mode=RESTORE)
    source.runtime.lifecycle.release(hold.position or 0, "over", OPERATOR)
    report = imported(source.runtime, tmp_path / "empty", mode=RESTORE)
    assert (report.items_inserted, report.items_deleted) == (0, 5)
    kinds = {"item.recorded", "item.revised", "item.retired"}
    with source.runtime._session.space.ledger.reader() as reader:
        rows = [row for row in reader.sealed_events(0, 99) if row.kind in kinds and row.content is not None]
        whys = [source.runtime._session.space.ledger.header(row)[0].reason for row in rows]
    assert set(whys) == {"erase"}
    assert listed(source, state=ItemFilter.ALL) == []


def test_an_item_of_somebody_else_is_not_taken_over(source: World, tmp_path: Path) -> None:
    exported(source.runtime, tmp_path / "x")
    target = memory_world("target")
    target.runtime.memory.remember([candidate("Is bob", None, subject="bob", id="i-1")], "host")
    before = root_of(target.runtime)
    with pytest.raises(ArchiveConflict) as refused:
        imported(target.runtime, tmp_path / "x")
    assert (refused.value.at, root_of(target.runtime)) == ("item", before)


# --- what is refused --------------------------------------------------------------------------------------------------


def edit(word: bytes, change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    """Return an edit of the first line with a word in it, under a root that is right about it."""

    def edited(told: list[bytes]) -> list[bytes]:
        place = line_where(told, word)
        return rooted([*told[:place], change(told[place]), *told[place + 1 :]])

    return edited


def of_line(word: bytes, **change: object) -> Callable[[list[bytes]], list[bytes]]:
    """Return an edit of members of the first line with a word in it."""
    return edit(word, lambda line: changed(line, **change))


def within(word: bytes, old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    """Return an edit of a text within the first line with a word in it."""
    return edit(word, lambda line: line.replace(old, new))


def planes_swapped(told: list[bytes]) -> list[bytes]:
    """Put the second notebook before the first."""
    first, second = (place for place, line in enumerate(told) if line.startswith(b'{"subject"'))
    return rooted([*told[:first], *told[second:], *told[first:second]])


def memory_first(told: list[bytes]) -> list[bytes]:
    """Put the notebooks before the conversations."""
    first = line_where(told, NOTEBOOK)
    return rooted([told[0], *told[first:], *told[1:first]])


FAULTS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "forged counts": lambda told: [changed(told[0], notebooks=7), *told[1:]],
    "an archive that says nothing of memory": lambda told: rooted([changed(told[0], notebooks=None), *told[1:]]),
    "a notebook of somebody else": of_line(NOTEBOOK, subject="bob"),
    "a padded subject": of_line(NOTEBOOK, subject=" ada"),
    "a plane that is none": of_line(NOTEBOOK, plane="soul"),
    "a time that is none": of_line(NOTEBOOK, t=2**52),
    "notebooks in another order": planes_swapped,
    "a notebook twice": lambda told: rooted([*told, *told[line_where(told, NOTEBOOK) :]]),
    "notebooks before conversations": memory_first,
    "a turn in a notebook": lambda told: rooted([*told, told[line_where(told, b"turn.committed")]]),
    "an item in a conversation": lambda told: rooted([*told[:2], told[line_where(told, b'"item":"i-1"')], *told[2:]]),
    "a chunk in a notebook": lambda told: rooted([*told, b'{"attachment":"x","chunk":"YQ=="}\n']),
    "a padded id": within(b'"item":"i-1"', b'"i-1"', b'"i-1 "'),
    "an item twice": within(b'"Lives in Rome"', b'"item":"i-2"', b'"item":"i-1"'),
    "an item that is not the next": of_line(b'"item":"i-1"', turn=2),
    "an item with references": of_line(b'"item":"i-1"', refs={"turn": 1}),
    "an item with a reason": of_line(b'"item":"i-1"', reason="correct"),
    "an item with a target": of_line(b'"item":"i-1"', target=1),
    "a kind of another plane": within(b'"item":"i-1"', b'"kind":"profile"', b'"kind":"diary"'),
    "a name that its plane does not take": within(
        b'"item":"i-1"', b'"item":"i-1"', b'"item":"i-1","entry":{"named":{"name":"runtime_skill__go"}}'
    ),
    "a private item": within(b'"item":"i-1"', b"public_runtime", b"soul_private"),
    "a confidence that is none": within(b'"item":"i-1"', b'"confidence":900', b'"confidence":9000'),
    "a time before all": within(b'"item":"i-1"', b'"observed_ms":', b'"observed_ms":-'),
    "evidence that names a space": within(b'"item":"i-1"', b'"space":""', b'"space":"default"'),
    "evidence that names a padded turn": within(b'"item":"i-1"', b'"turn":"turn-1"', b'"turn":"turn-1 "'),
    "a message of another turn": within(b'"Walks"', b'"turn":"turn-2"', b'"turn":"turn-3"'),
    "no words of an item": of_line(b'"item":"i-1"', content=None),
    "an item without a text": within(b'"item":"i-1"', b'"Lives in Oslo"', b'" "'),
    "content in a revision": of_line(b"item.revised", content={"topic": "a", "text": "b"}),
    "a revision of an item that is not there": of_line(b"item.revised", refs={"turn": 9}, target=9),
    "a revision of all items": of_line(b"item.revised", refs={"through": 2}, target=0),
    "a revision that nobody knows": of_line(b"item.revised", reason="rewrite"),
    "a retirement that was none": of_line(b'"superseded"', reason="restore"),
    "a hold of an item": of_line(b'"superseded"', reason="hold"),
    "a replacement": within(b'"forgotten"', b'"cause":"forgotten"', b'"cause":"replaced"'),
    "a replacement in the references": of_line(b'"forgotten"', refs={"turn": 4, "replaced": 1}),
    "an erasure that forgets nothing": within(b'"forgotten"', b'"cause":"forgotten"', b'"cause":"evicted"'),
    "words of what is forgotten": of_line(b'"forgotten"', refs={"turn": 1}, target=1),
    "two in use in one slot": within(b'"Walks"', b'"topic":"commute"', b'"topic":"Home_City"'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_memory_with_a_fault_leaves_the_store_as_it_was(source: World, tmp_path: Path, fault: str) -> None:
    """EX-08: refused before the first write, with nothing of the words in the error."""
    exported(source.runtime, tmp_path / "x")
    told = lines_of(tmp_path / "x")
    forged = FAULTS[fault](told)
    assert forged != told
    seal(tmp_path / "x", forged)
    target = memory_world("target")
    before = root_of(target.runtime)
    for mode in ImportMode:
        with pytest.raises(ArchiveRefused) as refused:
            imported(target.runtime, tmp_path / "x", mode=mode)
        assert not any(word in str(refused.value) for word in ("ada", "Lives", "i-1"))
    assert root_of(target.runtime) == before


def test_what_became_of_a_skill_comes_along(tmp_path: Path) -> None:
    """Edited, disabled, and withdrawn ones show in every view as they did; one that was withdrawn can be restored."""
    source, target = memory_world("source").with_turns(2), memory_world("target")
    for name in ("edited", "disabled", "withdrawn"):
        remember(source, **skill(name))
    skills, edit = source.runtime.skills, EditSkill(topic="lifts", title="The lift")
    skills.edit(SUBJECT, "runtime_skill__edited", edit, "asked", "ada")
    skills.disable(SUBJECT, "runtime_skill__disabled", "asked", "ada")
    skills.retire(SUBJECT, "runtime_skill__withdrawn", "asked", "ada")
    exported(source.runtime, tmp_path / "x")
    imported(target.runtime, tmp_path / "x")

    def listed_in(world: World, view: View) -> list[ListedSkill]:
        found = world.runtime.skills.list_(SUBJECT, view, include=list(SkillStatus)).skills
        return [replace(each, position=0) for each in found]

    assert all(listed_in(target, view) == listed_in(source, view) for view in View)
    assert target.runtime.skills.restore(SUBJECT, "runtime_skill__withdrawn", "asked", "ada").changed
    assert not target.runtime.evidence.inspect().fail_closed


def test_experience_rests_on_its_turns_where_it_comes_in(tmp_path: Path) -> None:
    """Also on those that confirmed it; the archive names no space, and the evidence that of where it is."""
    source, target = memory_world("source").with_turns(3), memory_world("target").runtime.space("desk")
    source.runtime.tools.register(registry(), "host")
    for turn in (1, 2):
        source.runtime.tools.feedback(SUBJECT, feedback(turn=turn), "host")
    exported(source.runtime, tmp_path / "x")
    assert b'"space":"default"' not in b"".join(lines_of(tmp_path / "x"))
    imported(target, tmp_path / "x")
    told = source.runtime.tools.hints(SUBJECT).hints
    target.tools.register(registry(), "host")
    (hint,) = target.tools.hints(SUBJECT).hints
    assert [replace(hint, position=0)] == [replace(each, position=0) for each in told]
    shown = target.memory.show(hint.item, View.RAW_OWNER).item
    assert shown is not None
    assert [each.citation for each in shown.evidence] == [
        "transcript:desk/default/talk#turn=turn-1",
        "transcript:desk/default/talk#turn=turn-2",
    ]
    again = target.tools.feedback(SUBJECT, feedback(turn=3), "host")
    assert again.tools[0].observations.succeeded == 3


def test_every_retirement_of_an_item_can_come_in() -> None:
    """The others are of proposals and policies, which stay where they are, and of what an archive replaces."""
    stay = {Retirement.ACCEPTED, Retirement.REJECTED, Retirement.PROPOSED, Retirement.POLICY, Retirement.REPLACED}
    assert set().union(*CAUSES.values()) - NOT_CARRIED == set(Retirement) - stay


@pytest.mark.parametrize(
    "forged", [b'"name":"Go up"', b'"name":"runtime_skill__go","observations":{"succeeded":9}', b'"name":"reg f go"']
)
def test_a_skill_that_could_not_be_learned_here_does_not_come_in(tmp_path: Path, forged: bytes) -> None:
    source, target = memory_world("source").with_turns(1), memory_world("target")
    remember(source, **skill("go"))
    exported(source.runtime, tmp_path / "x")
    told = lines_of(tmp_path / "x")
    seal(tmp_path / "x", rooted([line.replace(b'"name":"runtime_skill__go"', forged) for line in told]))
    with pytest.raises(ArchiveRefused) as refused:
        imported(target.runtime, tmp_path / "x")
    assert refused.value.problem == "item"


def test_an_archive_of_a_release_without_memory_comes_in(source: World, tmp_path: Path) -> None:
    """It says nothing of memory, and what is here stays."""
    exported(source.runtime, tmp_path / "x")
    told = lines_of(tmp_path / "x")
    old = told[: line_where(told, NOTEBOOK)]
    seal(tmp_path / "x", rooted([changed(old[0], notebooks=None), *old[1:]]))
    report = imported(source.runtime, tmp_path / "x", mode=RESTORE)
    assert (report.turns_inserted, report.items_deleted) == (3, 0)
    assert sorted(filter(None, texts(source))) == ["Attested", "Lives in Rome, Italy", "Walks"]


def test_one_conversation_under_another_id_takes_no_memory_along(source: World, tmp_path: Path) -> None:
    exported(source.runtime, tmp_path / "x", TALKING)
    before = known(source)
    source.runtime.archives.import_(str(tmp_path / "x"), TALKING, PrivateMaterial.INCLUDE, into=ConversationId("copy"))
    assert known(source) == before
    assert TALK != "copy"
