"""The name of a file is words of a person: detection and the search for a text treat it as they treat an address."""

from __future__ import annotations

from pathlib import Path

from muniment.events.changes import RedactionReason
from muniment.events.identity import TurnId
from muniment.events.message import AttachmentPart, Part
from muniment.governance.detection import DetectedType
from muniment.governance.detection.detection import Detect
from muniment.governance.views import Reason, View
from muniment.operations.attachments import AttachmentPlace
from muniment.operations.redactions.found_places import SoughtText
from muniment.operations.redactions.matching import Matching
from muniment.operations.redactions.occurrences import Extent
from tests.attachments.files import added, bytes_of, turn_with
from tests.worlds import OPERATOR, World, key_of, memory_world

KEY = key_of()
FILE = AttachmentPlace(turn=TurnId("turn-1"), message=0, part=1)
NAME, MARKED = "passport of ada@example.org.pdf", "passport of [detected: email].pdf"
EMAILS = frozenset({DetectedType.EMAIL})
DATA = bytes_of(10)


def shown(world: World, view: View) -> Part:
    return (world.replay(view).turns[0].messages[0].parts or [])[-1]


def name_in(world: World, view: View) -> str | None:
    """Return the name that a page shows."""
    part = shown(world, view)
    assert isinstance(part, AttachmentPart)
    return part.name


def with_file(detect: Detect) -> World:
    world = memory_world(detect=detect)
    world.commit(turn_with(added(world.runtime, DATA, NAME)))
    return world


def test_a_view_that_looks_for_something_looks_into_the_names_of_files(tmp_path: Path) -> None:
    """The file itself stays shown, as its message is; a proof for that view does not have the part."""
    world = with_file(Detect(views={View.EXPORT: EMAILS}))
    assert (name_in(world, View.EXPORT), name_in(world, View.HOST_UI)) == (MARKED, NAME)
    assert world.runtime.attachments.read(KEY, FILE, View.EXPORT).data == DATA
    saved = world.runtime.attachments.save(KEY, FILE, str(tmp_path / "saved"), View.EXPORT)
    assert saved.part == shown(world, View.EXPORT)
    bundle = world.runtime.evidence.export(KEY)
    assert NAME.partition(" ")[0] not in bundle.text
    assert [(item.part, item.reason) for item in world.replay(View.EXPORT).items] == [(1, Reason.DETECTED)]


def test_what_is_found_in_the_name_of_a_file_is_replaced_before_a_commit() -> None:
    world = memory_world(detect=Detect(before_commit=EMAILS))
    report = world.commit(turn_with(added(world.runtime, DATA, NAME)))
    assert report.detection is not None
    assert report.detection.detected == {DetectedType.EMAIL: 1}
    assert name_in(world, View.RAW_OWNER) == MARKED
    assert world.commit(turn_with(added(world.runtime, DATA, NAME))).reason == "turn_already_committed"


def test_a_text_in_the_name_of_a_file_is_found_and_the_file_is_withheld_with_it() -> None:
    world = with_file(Detect())
    redactions = world.runtime.redactions
    assert redactions.find(SoughtText(text="email", matching=Matching.DETECTOR)).matches == 1
    sought = SoughtText(text="ada@example.org")
    preview = redactions.find(sought)
    assert (preview.by_extent, preview.places[0].excerpt) == ({Extent.PART: 1}, NAME)
    redactions.apply(sought, preview.token, RedactionReason.PERSONAL_DATA, OPERATOR)
    assert world.runtime.attachments.read(KEY, FILE).withheld is Reason.REDACTED
    assert not redactions.find(sought).to_redact
