"""Looking for personal data through the front door: in views, in proofs and exports, and before a commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from msgspec.structs import replace

from muniment.errors import LimitExceeded, TurnConflict
from muniment.events.attributes import AttributeSource, SourceKind, ValueKind
from muniment.events.identity import TurnId
from muniment.events.message import Message, Role, TextPart, ToolCallPart
from muniment.events.references import HostReference, Visibility
from muniment.events.turn import ToolObservation
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.detection import ALL, DetectedType
from muniment.governance.detection.detection import Detect
from muniment.governance.detection.scan import TEXT_CHARACTERS_MAX
from muniment.governance.limits import Limits
from muniment.governance.views import Reason, View
from muniment.operations.transcripts.commit import CommitReceipt
from muniment.operations.transcripts.replay import Slice
from muniment.transports.cli.turn_page import message_words, withheld_field
from tests.archives.documents import exported, imported
from tests.attributes import attribute
from tests.importing.files import line, turns_in, written
from tests.turns import answered, asked, message_of, plain_turn
from tests.worlds import DEFAULT_LIMITS, DETECT_NOTHING, World, key_of, memory_world

MAIL, IBAN = "ada@example.org", "DE89 3704 0044 0532 0130 00"
TURN = replace(plain_turn(1), messages=[asked(f"I am {MAIL}."), answered(f"Sent to {MAIL}; pay {IBAN}.")])
IN_VIEWS = Detect(views={View.EXPORT: frozenset({DetectedType.EMAIL}), View.HOST_UI: ALL})
FOUND_BY_HOSTS = {DetectedType.PERSON, DetectedType.LOCATION, DetectedType.OTHER}
BEFORE = Detect(before_commit=frozenset({DetectedType.EMAIL, DetectedType.IBAN}))


class Opening(Protocol):
    """Opens a world that is closed when the test ends."""

    def __call__(self, detect: Detect = DETECT_NOTHING, limits: Limits = DEFAULT_LIMITS) -> World: ...


@pytest.fixture
def world_that() -> Iterator[Opening]:
    """Return what opens a world that looks for something."""
    opened: list[World] = []

    def opening(detect: Detect = DETECT_NOTHING, limits: Limits = DEFAULT_LIMITS) -> World:
        opened.append(memory_world(detect=detect, limits=limits))
        return opened[-1]

    yield opening
    for world in opened:
        world.close()


def texts(page: Slice) -> list[str]:
    """Return the texts that a page shows."""
    parts = [part for turn in page.turns for message in turn.messages for part in message.parts or []]
    return [part.content for part in parts if isinstance(part, TextPart)]


def found_by(report: CommitReceipt) -> dict[DetectedType, int]:
    """Return how much of each type a commit replaced."""
    assert report.detection is not None
    return report.detection.detected


def test_each_view_withholds_what_it_looks_for(world_that: Opening) -> None:
    world = world_that(IN_VIEWS).with_turn(TURN)
    assert texts(world.replay(View.RAW_OWNER)) == [f"I am {MAIL}.", f"Sent to {MAIL}; pay {IBAN}."]
    page = world.replay(View.EXPORT)
    assert texts(page) == ["I am [detected: email].", f"Sent to [detected: email]; pay {IBAN}."]
    assert [(item.message, item.part, item.reason, item.start, item.end, item.causes) for item in page.items] == [
        (message_of("turn-1", 0), 0, Reason.DETECTED, 5, 20, ("email",)),
        (message_of("turn-1", 1), 0, Reason.DETECTED, 8, 23, ("email",)),
    ]
    assert [one.type for one in page.audit.coverage] == [DetectedType.EMAIL]
    assert page.audit.reasons == [Reason.DETECTED]
    assert texts(world.replay(View.HOST_UI))[1] == "Sent to [detected: email]; pay [detected: iban]."
    found_here = [each for each in DetectedType if each not in FOUND_BY_HOSTS]
    assert [one.type for one in world.replay(View.HOST_UI).audit.coverage] == found_here


def test_a_timeline_looks_for_the_same(world_that: Opening) -> None:
    world = world_that(IN_VIEWS).with_turn(TURN)
    around = world.runtime.transcripts.timeline(key_of(), view=View.EXPORT)
    page = world.replay(View.EXPORT)
    assert (around.turns, around.items, around.audit) == (page.turns, page.items, page.audit)


def test_no_proof_and_no_export_of_the_view_has_what_it_withholds(world_that: Opening) -> None:
    """A commitment covers a whole part, so a part in which something was found is not disclosed at all."""
    world, plain = world_that(IN_VIEWS).with_turn(TURN), world_that().with_turn(TURN)
    disclosed = {}
    for name, one in [("looking", world), ("plain", plain)]:
        evidence = one.runtime.evidence
        bundle, receipt = evidence.export(key_of()), evidence.prove(key_of(), TurnId("turn-1"))
        verified = evidence.verify(bundle.text.encode(), str(bundle.summary["vkey"]))
        disclosed[name] = (verified.disclosed, int(receipt.summary["disclosed"] or 0))
        told = {"email"} if one is world else {None}
        assert {each.summary.get("looked_for") for each in (bundle, receipt)} == told
    assert disclosed["looking"] == tuple(count - 2 for count in disclosed["plain"])  # both messages have an address
    raw = [one.runtime.evidence.prove(key_of(), TurnId("turn-1"), View.RAW_OWNER) for one in (world, plain)]
    assert raw[0].summary["disclosed"] == raw[1].summary["disclosed"]
    for one_format in ExportFormat:
        document = world.runtime.spaces.export(key_of(), one_format, View.EXPORT)
        assert MAIL not in document.text
        assert "[detected: email]" in document.text
        assert document.summary["looked_for"] == "email"


def test_attributes_are_looked_into_in_views_and_proofs(world_that: Opening) -> None:
    """In value and reason; what has a marker is not disclosed, and a number that is found becomes a string."""
    world = world_that(Detect(views={View.RAW_OWNER: frozenset({DetectedType.EMAIL, DetectedType.PAYMENT_CARD})}))
    world.with_turns(1)
    why = AttributeSource(writer="host", kind=SourceKind.HOST_REPORTED, reason=f"said {MAIL}")
    noted = [
        attribute("a", {"to": [MAIL, 7]}, source=why),
        attribute("b", 4111111111111111),
        attribute("c", "nothing to find"),
    ]
    for one in noted:
        world.runtime.transcripts.annotate(key_of(), [one])
    page = world.replay()
    shown = [(each.value, each.kind, each.reason) for each in page.turns[0].attributes]
    assert shown == [
        ({"to": ["[detected: email]", 7]}, ValueKind.OBJECT, "said [detected: email]"),
        ("[detected: payment_card]", ValueKind.STRING, "monthly bill"),
        ("nothing to find", ValueKind.STRING, "monthly bill"),
    ]
    assert [(item.attribute, item.path, item.start, item.end, item.causes) for item in page.items] == [
        ("a", "/to/0", 0, 15, ("email",)),
        ("a", "reason", 5, 20, ("email",)),
        ("b", None, 0, 16, ("payment_card",)),
    ]
    plain = world_that().with_turns(1)
    for one in noted:
        plain.runtime.transcripts.annotate(key_of(), [one])
    disclosed = []
    for each in (world, plain):
        bundle = each.runtime.evidence.export(key_of(), View.RAW_OWNER)
        disclosed.append(each.runtime.evidence.verify(bundle.text.encode(), str(bundle.summary["vkey"])).disclosed)
    assert disclosed[0] == disclosed[1] - 3  # two values and a reason


def test_a_person_is_told_which_characters_of_what_are_withheld(world_that: Opening) -> None:
    """On the command line and in Markdown, of texts, of strings in calls, of labels and of summaries."""
    call = Message(role=Role.ASSISTANT, content=[ToolCallPart(name="send", arguments={"to": f"x {MAIL}"})])
    label = HostReference(host="crm", type="case", id="1", visibility=Visibility.HOST_UI, label=f"of {MAIL}")
    seen = ToolObservation(id="o", tool="send", summary=f"to {MAIL}")
    turn = replace(plain_turn(1), messages=[asked(MAIL), call], host_refs=[label], tools=[seen])
    world = world_that(Detect(views={View.RAW_OWNER: frozenset({DetectedType.EMAIL})})).with_turn(turn)
    page = world.replay()
    assert page.audit.host_refs_redacted == 0
    spoken = [said.text for message in page.turns[0].messages for said in message_words(message, page.items)]
    assert spoken == [
        "[detected: email]",
        "[characters 0 to 15 withheld: detected (email)]",
        'calls send {"to":"x [detected: email]"}',
        "[characters 2 to 17 of /to withheld: detected (email)]",
    ]
    assert [withheld_field(item).text for item in page.items if item.message is None] == [
        "[characters 3 to 18 of the label of reference 0 withheld: detected (email)]",
        "[characters 3 to 18 of the summary of observation 0 withheld: detected (email)]",
    ]
    told = world.runtime.spaces.export(key_of(), ExportFormat.MARKDOWN, View.RAW_OWNER).text
    for expected in (
        "*Withheld of this text, characters 0 to 15: `detected` (email).*",
        "*Withheld of the text at `/to`, characters 2 to 17: `detected` (email).*",
        "- *Withheld of reference 0, characters 3 to 18: `detected` (email).*",
        "- *Withheld of observation 0, characters 3 to 18: `detected` (email).*",
    ):
        assert expected in told.splitlines()


def test_what_is_found_before_a_commit_is_never_written(world_that: Opening) -> None:
    """The report says how much of what was replaced and what was looked for; no view has the words."""
    world = world_that(BEFORE)
    report = world.commit(TURN)
    assert report.detection is not None
    assert report.detection.detected == {DetectedType.EMAIL: 2, DetectedType.IBAN: 1}
    assert report.detection.failed == 0
    assert [one.type for one in report.detection.coverage] == [DetectedType.IBAN, DetectedType.EMAIL]
    assert texts(world.replay()) == ["I am [detected: email].", "Sent to [detected: email]; pay [detected: iban]."]
    assert world.replay().items == []
    receipt = world.runtime.evidence.prove(key_of(), TurnId("turn-1"))
    assert receipt.summary["disclosed"] == 6  # all that the view shows: actor, delivery, two messages and their texts


def test_a_turn_in_which_nothing_is_found_is_kept_as_it_is(world_that: Opening) -> None:
    world = world_that(BEFORE)
    report = world.commit(plain_turn(1))
    assert report.detection is not None
    assert (report.detection.detected, report.detection.failed, len(report.detection.coverage)) == ({}, 0, 2)
    assert texts(world.replay()) == texts(world_that().with_turns(1).replay())
    assert world_that().commit(TURN).detection is None


def test_repeats_and_conflicts_are_judged_by_what_was_handed_over(world_that: Opening) -> None:
    """TR-16, TR-17: also where two turns differ only in what was replaced."""
    world = world_that(BEFORE)
    first = world.commit(TURN)
    again = world.commit(TURN)
    assert (again.committed, again.sequence, again.leaf) == (False, first.sequence, first.leaf)
    assert again.detection is None
    other = replace(TURN, messages=[asked("I am bob@example.org."), TURN.messages[1]])
    with pytest.raises(TurnConflict):
        world.commit(other)


def test_a_text_that_detection_cannot_take_is_withheld_before_a_commit(world_that: Opening) -> None:
    """Fails closed: a text above the bound of the detectors is replaced as a whole, and the report counts it."""
    limits = Limits(message_bytes_max=4 * TEXT_CHARACTERS_MAX)
    world = world_that(BEFORE, limits)
    report = world.commit(replace(plain_turn(1), messages=[asked("x" * (TEXT_CHARACTERS_MAX + 1)), answered("y")]))
    assert report.detection is not None
    assert (report.detection.detected, report.detection.failed) == ({}, 1)
    assert texts(world.replay()) == ["[detection_failed: mailbox, mod97]", "y"]


def test_limits_are_held_against_what_was_handed_over(world_that: Opening) -> None:
    """A marker may be longer than what it stands for; that makes no turn too large, and none small enough."""
    size = len('{"content":"","type":"text"}') + 6
    fits, too_large = asked("a@b.cd"), asked("aa@b.cde")
    world = world_that(BEFORE, Limits(message_bytes_max=size))
    assert found_by(world.commit(replace(plain_turn(1), messages=[fits]))) == {DetectedType.EMAIL: 1}
    with pytest.raises(LimitExceeded):
        world.commit(replace(plain_turn(2), messages=[too_large]))


def test_calls_are_looked_into_before_a_commit(world_that: Opening) -> None:
    call = Message(role=Role.ASSISTANT, content=[ToolCallPart(name="send", arguments={"to": MAIL, "n": 1.5})])
    world = world_that(BEFORE)
    assert found_by(world.commit(replace(plain_turn(1), messages=[asked("x"), call]))) == {DetectedType.EMAIL: 1}
    [turn] = world.replay().turns
    assert turn.messages[1].parts == [ToolCallPart(name="send", arguments={"to": "[detected: email]", "n": 1.5})]


def test_an_import_counts_what_it_replaced(world_that: Opening, tmp_path: Path) -> None:
    """Of all its turns together; what is there already counts nothing."""
    world = world_that(BEFORE)
    lines = [line("c", role, f"{role} of {MAIL}") for role in ("user", "assistant") * 2]
    file = written(tmp_path / "file.jsonl", lines)
    first, second = world.runtime.spaces.import_(file), world.runtime.spaces.import_(file)
    assert first.detection is not None
    assert (first.detection.detected, first.detection.failed) == ({DetectedType.EMAIL: 4}, 0)
    assert [one.type for one in first.detection.coverage] == [DetectedType.IBAN, DetectedType.EMAIL]
    assert (second.turns_already_there, second.detection) == (2, None)
    assert turns_in(world.runtime, "c")[1][0] == ("user", "user of [detected: email]")


@pytest.mark.parametrize("source", [BEFORE, DETECT_NOTHING], ids=["replaced there", "as said there"])
def test_a_repeat_of_a_turn_from_an_archive_is_found_whichever_store_looked(
    source: Detect, world_that: Opening, tmp_path: Path
) -> None:
    """TR-16, TR-17: an archive brings the words as they stand, and no digest of what was handed over."""
    exported(world_that(source).with_turn(TURN).runtime, tmp_path / "archive")
    target = world_that(BEFORE)
    imported(target.runtime, tmp_path / "archive")
    assert (MAIL in texts(target.replay())[0]) == (source is DETECT_NOTHING)
    assert target.commit(TURN).reason == "turn_already_committed"
    with pytest.raises(TurnConflict):
        target.commit(replace(TURN, messages=[asked("I am somebody else."), TURN.messages[1]]))


def test_nobody_looks_unless_asked(world_that: Opening) -> None:
    world = world_that().with_turn(TURN)
    page = world.replay(View.EXPORT)
    assert texts(page) == [f"I am {MAIL}.", f"Sent to {MAIL}; pay {IBAN}."]
    assert page.audit.coverage == []
