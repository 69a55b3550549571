"""The inspection of memory items in the log: each fault is planted, found and named; what operations do is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.events.archive import ImportMode
from muniment.events.memory_governance import PolicyAction
from muniment.events.memory_items import InvalidityGround, ItemPrivacy
from muniment.governance.detection import DetectedType
from muniment.governance.detection.detection import Detect
from muniment.governance.views import View
from muniment.memory.amendment import CorrectItem, InvalidateItem, PinItem, RestoreItem, SupersedeItem
from muniment.memory.item_rules import ITEM_RULES
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.notebook.decide_report import ProposalVerdict
from muniment.operations.notebook.policy_requests import MemorySelector
from muniment.projections.inspection.findings import FindingKind
from tests.archives.documents import exported, imported, of_subject
from tests.memory.asking import amend, forget, remember
from tests.memory.items import candidate, skill
from tests.memory.tools import feedback, registry
from tests.runtime.item_damage import FORMER, OTHER, PLANTED_IN_MEMORY, PRESENT, remembered
from tests.turns import SUBJECT, TALK
from tests.worlds import FileWorld, World, key_of, memory_world

Is = FindingKind


@pytest.mark.parametrize("name", PLANTED_IN_MEMORY)
def test_a_fault_of_memory_is_named_where_it_is_and_nowhere_else(world: World, name: str) -> None:
    """RE-01, RE-02: of the one fault there is the one kind of finding, and it has no content and no names."""
    planted = PLANTED_IN_MEMORY[name]
    planted.plant(remembered(world))
    report = world.runtime.evidence.inspect()
    assert report.fail_closed
    assert (planted.finding, planted.problem) in {(each.kind, each.problem) for each in report.findings}
    assert report.kinds.keys() <= {planted.finding, *BESIDE.get(name, ())}
    assert not world.runtime.evidence.inspect(key_of(TALK)).fail_closed
    told = repr(report.findings)
    for word in ("Oslo", "tall", "commute", "height", SUBJECT, "turn-1", "eve", FORMER, OTHER, "host"):
        assert f"'{word}" not in told


# fault -> what else it is
BESIDE: dict[str, set[FindingKind]] = {
    "an item of a message that is not there": {Is.REFERENCE_MISSING},
    "an item of a message of another turn": {Is.REFERENCE_MISSING},
    "an item of another space": {Is.REFERENCE_MISSING},
    "an item of words of somebody else": {Is.REFERENCE_MISSING},
    "a policy with words in no notebook": {Is.HEAD_MISSING},
    "an item twice": {Is.SLOT_IN_USE_TWICE},
}


def test_every_rule_about_items_is_broken_somewhere() -> None:
    """What nobody broke nobody has seen."""
    broken = {each.problem for each in PLANTED_IN_MEMORY.values() if each.finding is Is.ITEM_MALFORMED}
    assert broken == {*ITEM_RULES, "cause"}


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("DELETE FROM envelopes WHERE position = {}", Is.KEYS_MISSING),
        ("UPDATE envelopes SET sealed = zeroblob(60) WHERE position = {}", Is.KEYS_DAMAGED),
        ("UPDATE events SET content = NULL WHERE position = {}", Is.CONTENT_MISSING),
        ("UPDATE events SET content = zeroblob(40) WHERE position = {}", Is.CONTENT_DAMAGED),
        ("UPDATE events SET kind = 'turn.committed' WHERE position = {}", Is.HEADER_MISMATCH),
        ("DELETE FROM events WHERE position = {}", Is.EVENT_MISSING),
    ],
)
def test_an_item_that_was_edited_at_rest_is_named(lasting: FileWorld, statement: str, finding: FindingKind) -> None:
    """RE-06: an item that cannot be read is reported, and the others are looked at."""
    remembered(lasting)
    with lasting.edited() as raw:
        (position,) = raw.execute("SELECT max(position) FROM events WHERE kind = 'item.recorded'").fetchone()
        assert raw.execute(statement.format(position)).rowcount
    report = lasting.runtime.evidence.inspect()
    assert finding in report.kinds
    assert report.items >= 2


# --- what operations do is no finding ---------------------------------------------------------------------------------


def lived_in(world: World) -> World:
    """Return a world whose memory has seen everything that may become of an item."""
    runtime = remembered(world).runtime
    amend(world, OTHER, CorrectItem(text="Cycles to work"))
    amend(
        world, OTHER, InvalidateItem(ground=InvalidityGround.FACTUALLY_INCORRECT, evidence=candidate(turn=4).evidence)
    )
    amend(world, FORMER, RestoreItem())
    amend(world, PRESENT, SupersedeItem(text="Lives in Bern"))
    amend(world, FORMER, RestoreItem())
    amend(world, OTHER, RestoreItem())
    amend(world, OTHER, PinItem())
    remember(world, "Is odd", 4, topic="secret", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
    assert forget(world, ForgetTarget(kind="profile", topic="secret")).changed
    for text in ("Go to the lift.\nPress the button.", "Go to the lift.\nPress it twice."):
        assert remember(world, **skill(text=text)).changed
    runtime.tools.register(registry(), "host")
    for turn in (1, 2, 3):
        runtime.tools.feedback(SUBJECT, feedback(turn=turn), "host")
    for topic in ("tea", "milk", "sugar"):
        runtime.notebook.propose([candidate("Takes it", 1, topic=topic)], "seen", "host")
    open_ones = runtime.notebook.proposals(SUBJECT, View.RAW_OWNER).proposals
    runtime.notebook.decide(open_ones[0].item.id, ProposalVerdict.ACCEPT, "so", "ada")
    runtime.notebook.decide(open_ones[1].item.id, ProposalVerdict.REJECT, "no", "ada")
    selector = MemorySelector(subject=SUBJECT, topic="pay*")
    runtime.notebook.set_policy(PolicyAction.PAUSE, "asked", "ada", selector)
    runtime.memory.remember([candidate("Likes tea", 2, topic="drink")], "host", run="r")
    runtime.notebook.undo("r", "wrong", "ada")
    return world


def test_everything_that_becomes_of_memory_is_in_order(world: World) -> None:
    """RE-03: entries are counted, and so are their names; erasing turns and people leaves nothing that is wrong."""
    lived_in(world)
    report = world.runtime.evidence.inspect()
    assert report.kinds == {}
    assert report.items == 14
    world.erased(1).masked(2)
    assert world.runtime.evidence.inspect().kinds == {}
    world.erased()
    assert world.runtime.evidence.inspect().kinds == {}


def test_memory_that_an_archive_brought_or_replaced_is_in_order(tmp_path: Path) -> None:
    """Also where the turns stayed behind, and where a conversation or a notebook gave up its names."""
    source, target = lived_in(memory_world("source")), lived_in(memory_world("target"))
    exported(source.runtime, tmp_path / "x")
    imported(target.runtime, tmp_path / "x", mode=ImportMode.RESTORE)
    assert target.runtime.evidence.inspect().kinds == {}
    remember(target, "Lives in Ulm", 2)
    assert target.runtime.evidence.inspect().kinds == {}
    exported(source.with_turn(of_subject("bob", 9, TALK)).runtime, tmp_path / "of several")
    elsewhere = memory_world("elsewhere")
    brought = imported(elsewhere.runtime, tmp_path / "of several")
    assert (brought.items_inserted > 0, brought.turns_inserted) == (True, 0)
    assert elsewhere.runtime.evidence.inspect().kinds == {}


def test_topics_with_markers_are_in_order() -> None:
    """What the store replaces in a topic is not in the name of its slot."""
    marked = memory_world("marked", detect=Detect(before_commit=frozenset({DetectedType.EMAIL}))).with_turns(2)
    for number in (1, 2):
        remember(marked, f"Is number {number}", number, topic=f"mail of {number}@example.org")
    assert marked.runtime.evidence.inspect().kinds == {}
