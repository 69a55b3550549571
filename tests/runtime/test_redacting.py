"""Redacting through the front door: what may be named, what a repeat does, and where the words no longer are."""

from __future__ import annotations

import base64
import json
import re
from itertools import product

import pytest
from msgspec.structs import replace

from muniment.errors import (
    AccessDenied,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    UnknownConversation,
    UnknownPlace,
    WordsErased,
)
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import TurnId
from muniment.events.message import TextPart
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.access import Access, Effect
from muniment.governance.views import Reason, View
from muniment.kernel.digest import unb64url
from muniment.operations.transcripts.redact import NOTE_BYTES_MAX, Passage
from muniment.operations.transcripts.timeline import Anchor, AnchorKind
from tests.turns import RICH, asked, message_of, plain_turn, rich_turn
from tests.worlds import OPERATOR, World, key_of, memory_world

FIRST = TurnId("turn-1")
HOST, EXPORT = View.HOST_UI, View.EXPORT
LEGAL = RedactionReason.LEGAL
ADDRESS = "\U0001f600 ada@example.org"


def range_of(turn: TurnId = FIRST, message: int = 0, start: int = 0, end: int = 8) -> Passage:
    """Return the passage of a range."""
    return Passage(turn=turn, message=message, part=0, start=start, end=end)


def texts(world: World, view: View) -> list[str]:
    """Return the texts that a view shows of the conversation."""
    return [
        part.content
        for turn in world.replay(view).turns
        for message in turn.messages
        for part in message.parts or []
        if isinstance(part, TextPart)
    ]


def size(world: World) -> int:
    """Return how many events the log has."""
    return world.runtime.spaces.usage().events


# --- what it does -----------------------------------------------------------------------------------------------------


def test_a_range_is_replaced_by_a_marker_in_the_views_that_are_named(world: World) -> None:
    """The words stay for the others; the item names place, range in code points and reason."""
    world.commit(replace(plain_turn(1), messages=[asked(f"Write to {ADDRESS}, please.")]))
    report = world.redact(range_of(start=9, end=9 + len(ADDRESS)), HOST, EXPORT, reason=RedactionReason.PERSONAL_DATA)
    assert (report.changed, report.messages, report.parts, report.fields) == (True, 0, 1, 0)
    assert report.views == [EXPORT, HOST]
    for view in (HOST, EXPORT):
        assert texts(world, view) == ["Write to [redacted: personal_data], please."]
        (item,) = world.replay(view).items
        assert (item.message, item.part, item.reason) == (message_of("turn-1", 0), 0, Reason.REDACTED)
        assert (item.start, item.end, item.causes) == (9, 9 + len(ADDRESS), ("personal_data",))
        assert world.replay(view).audit.reasons == [Reason.REDACTED]
    for view in (View.RAW_OWNER, View.MODEL_CONTEXT):
        assert texts(world, view) == [f"Write to {ADDRESS}, please."]


@pytest.mark.parametrize(
    ("passage", "reach", "gone"),
    [
        (Passage(turn=RICH), (7, 11, 6), "the user words|the answer|the summary|label of|the response|argument"),
        (Passage(turn=RICH, message=6), (1, 4, 0), "the answer words|file-1|example.org"),
        (Passage(turn=RICH, message=2, part=0), (0, 1, 0), "the reasoning words"),
        (Passage(turn=RICH, message=3, part=0), (0, 1, 0), "the response"),
        (Passage(turn=RICH, field="tools/0/summary"), (0, 0, 1), "the summary words"),
        (Passage(turn=RICH, field="host_ref/1/label"), (0, 0, 1), "label of host_ui"),
        (Passage(turn=RICH, message=1, part=0, start=4, end=8), (0, 1, 0), "the user words"),
    ],
)
def test_whatever_is_named_is_gone_from_every_view(
    world: World, passage: Passage, reach: tuple[int, int, int], gone: str
) -> None:
    """And from every document: replay, timeline, exports, bundles, receipts."""
    world.commit(rich_turn())
    words = gone.split("|")
    assert all(word in everywhere(world) for word in words)
    report = world.redact(passage)
    assert (report.messages, report.parts, report.fields) == reach
    assert not [word for word in words if word in everywhere(world)]


def everywhere(world: World) -> str:
    """Return all that is shown of the conversation, to anybody, in any form."""
    runtime, found = world.runtime, ""
    for view in View:
        timeline = runtime.transcripts.timeline(key_of(), view=view)
        found += repr([world.replay(view), timeline.turns, timeline.items])
        found += "".join(runtime.spaces.export(key_of(), each, view).text for each in ExportFormat)
        found += in_clear(runtime.evidence.export(key_of(), view).text)
        found += in_clear(runtime.evidence.prove(key_of(), RICH, view).text)
    return found


def in_clear(text: str) -> str:
    """Return all disclosures in a bundle or receipt; in base64url every list starts alike."""
    extra = re.search(r"^extra (.+)$", text, re.MULTILINE)
    line = text if extra is None else base64.b64decode(extra[1]).decode()
    return "".join(unb64url(found).decode() for found in re.findall(r'"(Wy[A-Za-z0-9_-]{60,})"', line))


def test_a_redacted_turn_keeps_its_place_and_its_structure(world: World) -> None:
    world.with_turns(2)
    before = world.replay()
    world.redact(Passage(turn=FIRST))
    after = world.replay()
    assert [replace(turn, messages=[]) for turn in after.turns] == [replace(turn, messages=[]) for turn in before.turns]
    assert after.turns[1] == before.turns[1]
    assert [message.redacted for message in after.turns[0].messages] == [True, True]
    assert world.runtime.conversations.list_().conversations[0].messages == 4


def test_naming_the_raw_owner_names_every_view(world: World) -> None:
    """No view shows more than the raw owner sees."""
    report = world.with_turns(1).redact(Passage(turn=FIRST, message=0), View.RAW_OWNER)
    assert report.views == sorted(View)
    assert all("question 0001 of the user" not in texts(world, view) for view in View)
    assert not world.redact(Passage(turn=FIRST, message=0), EXPORT).changed


def test_overlapping_redactions_add_up_in_any_order() -> None:
    """The same slices, whichever was asked for first; touching ranges stand as one marker."""
    asked_for = [
        (range_of(start=0, end=8), LEGAL), (range_of(start=4, end=13), RedactionReason.SECRET),
        (range_of(start=17, end=20), LEGAL), (Passage(turn=FIRST, message=1), LEGAL),
    ]  # fmt: skip
    shown = []
    for order in (asked_for, asked_for[::-1]):
        world = memory_world().with_turns(1)
        for passage, reason in order:
            assert world.redact(passage, HOST, reason=reason).changed
        shown.append((texts(world, HOST), world.replay(HOST).items))
        world.close()
    assert shown[0] == shown[1]
    assert shown[0][0] == ["[redacted: legal, secret] of [redacted: legal] user"]


# --- repeating --------------------------------------------------------------------------------------------------------


def test_a_repeat_changes_nothing_and_a_further_view_or_reason_does(world: World) -> None:
    world.with_turns(1)
    assert world.redact(range_of(), HOST, EXPORT).changed
    before = size(world)
    for views in ((HOST,), (EXPORT, HOST), (EXPORT, EXPORT)):
        report = world.redact(range_of(), *views)
        assert (report.changed, report.position, report.parts) == (False, None, 1)
    assert size(world) == before
    assert world.redact(range_of(), HOST, View.MODEL_CONTEXT).changed
    assert world.redact(range_of(), HOST, reason=RedactionReason.OTHER).changed
    assert world.redact(range_of(end=7), HOST).changed
    assert not world.redact(range_of(), HOST, EXPORT, View.MODEL_CONTEXT).changed


def test_redactions_are_there_after_the_store_was_opened_again(lasting: World) -> None:
    world = lasting.with_turns(2).redacted(range_of(end=20), HOST)
    before = texts(world, HOST)
    assert before[0] == "[redacted: legal] user"
    assert texts(world.reopened(), HOST) == before


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED: list[tuple[Passage, type[MunimentError], str, str | None]] = [
    (Passage(turn=TurnId("nobody")), UnknownPlace, "passage.turn", None),
    (Passage(turn=RICH, message=7), UnknownPlace, "passage.message", None),
    (Passage(turn=RICH, message=6, part=4), UnknownPlace, "passage.part", None),
    (Passage(turn=RICH, field="tools/1/summary"), UnknownPlace, "passage.field", None),
    (Passage(turn=RICH, field="host_ref/5/label"), UnknownPlace, "passage.field", None),
    (Passage(turn=RICH, field="message/0/content/0"), UnknownPlace, "passage.field", None),
    (Passage(turn=RICH, message=0, field="tools/0/summary"), InvalidInput, "passage.field", "not_alone"),
    (Passage(turn=RICH, part=0), InvalidInput, "passage.message", "missing_field"),
    (Passage(turn=RICH, message=0, start=0, end=1), InvalidInput, "passage.part", "missing_field"),
    (Passage(turn=RICH, message=0, part=0, start=0), InvalidInput, "passage.end", "missing_field"),
    (Passage(turn=RICH, message=0, part=0, end=1), InvalidInput, "passage.start", "missing_field"),
    (range_of(RICH, start=3, end=3), InvalidInput, "passage.end", "empty"),
    (range_of(RICH, start=3, end=2), InvalidInput, "passage.end", "reversed"),
    (range_of(RICH, end=len("the system words") + 1), InvalidInput, "passage.end", "beyond_text"),
    (range_of(RICH, message=3, end=1), InvalidInput, "passage.part", "no_text"),
    (replace(range_of(RICH, message=6), part=1), InvalidInput, "passage.part", "no_text"),
    (Passage(turn=TurnId(" ")), InvalidInput, "passage.turn", "blank_at_end"),
]


@pytest.mark.parametrize(("passage", "error", "at", "problem"), REFUSED)
def test_what_is_not_there_cannot_be_redacted(
    world: World, passage: Passage, error: type[MunimentError], at: str, problem: str | None
) -> None:
    """A typed error with the path; nothing is appended."""
    world.commit(rich_turn())
    before = size(world)
    with pytest.raises(error) as raised:
        world.redact(passage)
    assert (raised.value.at, raised.value.problem) == (at, problem)
    assert size(world) == before


def test_the_last_character_of_a_text_is_inside_it(world: World) -> None:
    world.commit(replace(plain_turn(1), messages=[asked("ab\U0001f600")]))
    with pytest.raises(InvalidInput, match=r"range ends after the text \(found 4, limit 3\)"):
        world.redact(range_of(start=2, end=4))
    assert world.redact(range_of(start=2, end=3)).changed
    assert texts(world, View.RAW_OWNER) == ["ab[redacted: legal]"]


def test_erased_words_cannot_be_redacted_and_masked_ones_can(world: World) -> None:
    """The marker is there when the turn is unmasked."""
    world.with_turns(2).masked(1).erased(2)
    assert world.redact(range_of(), HOST).changed
    with pytest.raises(WordsErased) as raised:
        world.redact(Passage(turn=TurnId("turn-2")), HOST)
    assert raised.value.at == "passage.turn"
    world.request(Transition.UNMASK, 1)
    assert texts(world, HOST)[0] == "[redacted: legal] 0001 of the user"


def test_a_request_says_who_and_for_whom(world: World) -> None:
    world.with_turns(1)
    redact, everything = world.runtime.transcripts.redact, Passage(turn=FIRST)
    with pytest.raises(UnknownConversation):
        redact(key_of("nowhere"), everything, [HOST], LEGAL, OPERATOR)
    with pytest.raises(InvalidInput, match="views: must not be empty"):
        redact(key_of(), everything, [], LEGAL, OPERATOR)
    with pytest.raises(InvalidInput, match="requester: must not be empty"):
        redact(key_of(), everything, [HOST], LEGAL, "")
    with pytest.raises(LimitExceeded):
        redact(key_of(), everything, [HOST], LEGAL, OPERATOR, "ä" * (NOTE_BYTES_MAX // 2) + "a")
    assert redact(key_of(), everything, [HOST], LEGAL, OPERATOR, "ä" * (NOTE_BYTES_MAX // 2)).changed


def test_redacting_takes_the_right_to_append_and_the_views_that_are_named(world: World) -> None:
    world.with_turns(1)
    few = world.runtime.restricted(Access(effects=frozenset({Effect.APPEND}), views=frozenset({HOST})))
    assert few.transcripts.redact(key_of(), range_of(), [HOST], LEGAL, OPERATOR).changed
    with pytest.raises(AccessDenied):
        few.transcripts.redact(key_of(), range_of(), [HOST, EXPORT], LEGAL, OPERATOR)
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(effects=frozenset({Effect.READ}))).transcripts.redact(
            key_of(), range_of(), [HOST], LEGAL, OPERATOR
        )


# --- proofs, cursors, imports -----------------------------------------------------------------------------------------


def test_a_bundle_leaves_out_the_part_and_shows_that_it_was_redacted(world: World) -> None:
    """Commitments are per part: a part with a redacted range is withheld from that view, whole from the others."""
    world.with_turns(1).redacted(range_of(), HOST)
    evidence = world.runtime.evidence
    for view, disclosed in ((HOST, False), (EXPORT, True)):
        bundle = evidence.export(key_of(), view)
        assert evidence.verify(bundle.text.encode(), str(bundle.summary["vkey"])).complete
        lines = [json.loads(line) for line in bundle.text.splitlines()[1:]]
        reasons = [line["header"]["reason"] for line in lines if line.get("header", {}).get("kind") == "turn.redacted"]
        assert reasons == ["legal"]
        proofs = [in_clear(evidence.prove(key_of(), FIRST, each).text) for each in (view, View.RAW_OWNER)]
        assert ["question 0001" in proof for proof in proofs] == [disclosed, True]
        assert "answer 0001" in proofs[0]


def test_a_redaction_applies_to_the_next_page_and_ends_no_cursor(world: World) -> None:
    """PG-07: replay and timeline go on, and show it; the catalogue lists what it listed, in its order."""
    world.with_turns(4).with_turns(1, "other")
    transcripts, last = world.runtime.transcripts, TurnId("turn-4")
    replayed = transcripts.replay(key_of(), HOST, 2)
    walked = transcripts.timeline(key_of(), Anchor(at=AnchorKind.BEFORE, sequence=3), HOST, 2)
    listed = world.runtime.conversations.list_(limit=1)
    world.redact(Passage(turn=last))
    assert replayed.next_cursor is not None
    assert walked.newer_cursor is not None
    pages = [
        transcripts.replay(key_of(), HOST, 2, replayed.next_cursor).turns,
        transcripts.timeline(
            key_of(), Anchor(at=AnchorKind.BEFORE, sequence=3), HOST, 2, cursor=walked.newer_cursor
        ).turns,
    ]
    for page in pages:
        assert [(turn.sequence, turn.messages[0].redacted) for turn in page] == [(3, False), (4, True)]
    assert len(world.runtime.conversations.list_(limit=1, cursor=listed.next_cursor).conversations) == 1


def test_a_repeat_of_the_commit_is_still_the_same_turn(world: World) -> None:
    """TR-16: a redaction changes what is shown and nothing that was said."""
    world.with_turns(1).redact(Passage(turn=FIRST))
    assert not world.commit(plain_turn(1)).committed


def test_what_was_exported_with_a_marker_is_imported_with_it(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The marker is then words as any others; what was withheld is counted as left out."""
    world.with_turns(1).redact(range_of(), HOST)
    file = tmp_path_factory.mktemp("exported") / "talk.jsonl"
    file.write_text(world.runtime.spaces.export(key_of(), ExportFormat.OTEL, HOST).text)
    other = memory_world("other")
    assert other.runtime.spaces.import_(str(file)).left_out == {"withheld": 1}
    assert texts(other, View.RAW_OWNER) == texts(world, HOST)
    other.close()


@pytest.mark.parametrize(("first", "second"), list(product([True, False], repeat=2)))
def test_erasing_and_masking_withhold_what_was_redacted_too(world: World, first: bool, second: bool) -> None:
    """Whichever comes first, nothing is left but the fact."""
    if first:
        world.with_turns(1).redacted(range_of(), HOST)
    else:
        world.with_turns(1)
    world.erased(1) if second else world.masked(1)
    for view in View:
        reasons = {item.reason for item in world.replay(view).items}
        assert reasons == {Reason.ERASED if second else Reason.LIFECYCLE_MASKED}
