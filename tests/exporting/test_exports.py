"""Documents of a conversation: what they show, what they do not, and what reads them back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import AccessDenied, ForeignSpace, LimitExceeded, MunimentError, UnknownConversation
from muniment.events.identity import ConversationKey, SpaceName, TurnId
from muniment.events.message import (
    AttachmentPart,
    BlobPart,
    FilePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.events.turn import Turn
from muniment.formats.reading.import_format import Format
from muniment.formats.writing import markdown
from muniment.formats.writing.export_format import WRITERS, ExportFormat
from muniment.formats.writing.pages import ExportedTurn
from muniment.governance.access import Access, Effect
from muniment.governance.slices import RedactionItem, SliceMessage, SliceTurn
from muniment.governance.views import Reason, View
from muniment.operations.spaces import export_conversation as job
from tests.exporting.golden import EXPORTS, golden
from tests.turns import SUBJECT, TALK, plain_turn, rich_turn, turns
from tests.worlds import World, key_of, memory_world


def exported(world: World, format_: ExportFormat, view: View = View.RAW_OWNER) -> str:
    return world.runtime.spaces.export(key_of(), format_, view).text


@pytest.fixture
def world() -> Iterator[World]:
    made = memory_world()
    yield made
    made.close()


def test_the_conversation_of_the_demo_is_written_as_it_was_before() -> None:
    documents = golden()
    assert {path.name for path in EXPORTS.iterdir()} == set(documents)
    for name, text in documents.items():
        assert text == (EXPORTS / name).read_text(encoding="utf-8"), name


# --- read back --------------------------------------------------------------------------------------------------------


def essence(turn: SliceTurn) -> tuple[object, ...]:
    """Return what lines carry of a turn: all but whose it is and where it came from."""
    return turn.turn, turn.sequence, turn.delivery, turn.messages


def put_back(text: str, format_: Format) -> World:
    """Import a document into an empty space."""
    other = memory_world("other")
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "exported"
        file.write_text(text, encoding="utf-8")
        report = other.runtime.spaces.import_(str(file), format_)
    assert (report.lines_refused, report.turns_skipped) == (0, {})
    return other


@settings(max_examples=100)
@given(st.lists(turns, min_size=1, max_size=4))
def test_lines_that_were_exported_give_the_same_slices_when_they_are_imported(drawn: list[Turn]) -> None:
    """EX-09: what the raw owner is shown of a conversation survives the way out and in, turn by turn."""
    world = memory_world()
    for number, turn in enumerate(drawn, start=1):
        world.commit(replace(turn, turn=TurnId(f"t{number}"), conversation=TALK, subject=SUBJECT))
    if world.turns_of():
        text = exported(world, ExportFormat.OTEL)
        other = put_back(text, Format.OTEL)
        assert [essence(turn) for turn in other.replay().turns] == [essence(turn) for turn in world.replay().turns]
        assert exported(other, ExportFormat.OTEL) == text
        other.close()
    world.close()


@pytest.mark.parametrize("view", View)
def test_an_export_contains_exactly_what_its_view_shows(view: View, world: World) -> None:
    """EX-01: a document of a view holds what the view shows, and nothing of it is lost on the way in."""
    world.with_turns(3).with_turn(rich_turn()).masked(2).erased(3)
    shown = [
        (turn.turn, message.role, message.parts)
        for turn in world.replay(view).turns
        for message in turn.messages
        if not message.redacted
    ]
    other = memory_world("other")
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "exported.jsonl"
        file.write_text(exported(world, ExportFormat.OTEL, view))
        report = other.runtime.spaces.import_(str(file), Format.OTEL)
    back = other.replay().turns if other.turns_of() else []
    assert [(turn.turn, each.role, each.parts) for turn in back for each in turn.messages] == shown
    assert report.left_out.get("withheld", 0) == sum(item.message is not None for item in world.replay(view).items)
    other.close()


def test_a_chat_that_was_exported_is_read_back_as_a_chat(world: World) -> None:
    world.with_turns(2).with_turn(rich_turn())
    other = put_back(exported(world, ExportFormat.OPENAI), Format.OPENAI)
    before = [part for turn in world.replay().turns for each in turn.messages for part in each.parts or []]
    after = [part for turn in other.replay().turns for each in turn.messages for part in each.parts or []]

    def words(parts: list[Part]) -> list[object]:
        return [
            getattr(part, "content", None) or getattr(part, "arguments", None) or getattr(part, "file_id", None)
            for part in parts
            if not isinstance(part, ToolCallResponsePart)
        ]

    assert words(after) == words(before)
    other.close()


# --- what is withheld -------------------------------------------------------------------------------------------------


def spellings(part: Part) -> list[str]:
    """Return the words of a part as documents may spell them."""
    if isinstance(part, TextPart | ReasoningPart):
        return [part.content]
    if isinstance(part, ToolCallPart):
        return ["argument"]
    if isinstance(part, ToolCallResponsePart):
        return ["the response"]
    if isinstance(part, BlobPart):
        return ["AP9ieXRlcw=="]
    assert not isinstance(part, AttachmentPart), "these turns have no files"
    return [part.file_id if isinstance(part, FilePart) else part.uri]


@pytest.mark.parametrize("format_", ExportFormat)
@pytest.mark.parametrize("view", View)
def test_no_document_says_what_its_view_withholds(format_: ExportFormat, view: View, world: World) -> None:
    """RP-04, RP-06: what is withheld is absent, and its reason is there."""
    world.with_turns(3).with_turn(rich_turn()).masked(2).erased(3)
    whole, page = world.replay(), world.replay(view)
    text = exported(world, format_, view)
    shown = {
        spelt
        for turn in page.turns
        for message in turn.messages
        for part in message.parts or []
        for spelt in spellings(part)
    }
    every = {
        spelt
        for turn in whole.turns
        for message in turn.messages
        for part in message.parts or []
        for spelt in spellings(part)
    }
    for gone in (2, 3):
        assert f"{gone:04d} of the" not in text
    labels = {reference.label for turn in page.turns for reference in turn.host_refs}
    hidden = (every - shown) | ({f"label of {each.visibility}" for each in rich_turn().host_refs} - labels)
    assert not [spelt for spelt in hidden if spelt in text]
    if format_ is not ExportFormat.OPENAI:
        assert all(json.dumps(spelt)[1:-1] in text or spelt in text for spelt in shown - {"AP9ieXRlcw=="})
    reasons = {item.reason for item in page.items if item.message is not None}
    assert all(reason in text for reason in reasons)


def test_a_line_says_which_part_is_withheld_and_why(world: World) -> None:
    """RP-06: parts are counted with those that are not there."""
    lines = exported(world.with_turn(rich_turn()), ExportFormat.OTEL, View.MODEL_CONTEXT).splitlines()
    told = [json.loads(line) for line in lines]
    assert told[2]["withheld"] == [{"reason": "view_policy", "part": 0}]
    assert [part["type"] for part in told[2]["parts"]] == ["tool_call"]
    assert (told[5]["withheld"], told[5]["parts"]) == ([{"reason": "private_authority"}], [])
    assert "withheld" not in told[1]


def test_the_summary_counts_what_is_there(world: World) -> None:
    world.with_turns(3).masked(2)
    document = world.runtime.spaces.export(key_of(), ExportFormat.OTEL)
    assert document.media_type == "application/jsonl"
    assert document.summary == {
        "format": "otel", "view": "export", "turns": 3, "messages": 6, "withheld": 2,
        "turns_left_out": 1, "messages_left_out": 2, "messages_left_out_lifecycle_masked": 2,
        "bytes": len(document.text),
    }  # fmt: skip


@pytest.mark.parametrize("format_", ExportFormat)
def test_pages_make_one_document(format_: ExportFormat, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """PG-01: for any size of a page."""
    world.with_turns(7).masked(3)
    whole = exported(world, format_, View.HOST_UI)
    for turns_of_a_page in (1, 2, 7):
        monkeypatch.setattr(job, "PAGE_TURNS", turns_of_a_page)
        assert exported(world, format_, View.HOST_UI) == whole


def test_a_document_is_refused_and_not_cut(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.with_turn(replace(plain_turn(1), messages=[Message(role=Role.USER, content="größe" * 100)]))
    size = len(exported(world, ExportFormat.OTEL).encode())
    monkeypatch.setattr(job, "DOCUMENT_BYTES_MAX", size)
    assert exported(world, ExportFormat.OTEL)
    monkeypatch.setattr(job, "DOCUMENT_BYTES_MAX", size - 1)
    with pytest.raises(LimitExceeded) as refusal:
        exported(world, ExportFormat.OTEL)
    assert (refusal.value.problem, refusal.value.limit) == ("document_too_large", size - 1)


def test_only_what_a_caller_may_see_is_exported(world: World) -> None:
    world.with_turns(1)
    few = world.runtime.restricted(Access(effects=frozenset({Effect.READ}), views=frozenset({View.HOST_UI})))
    assert few.spaces.export(key_of(), view=View.HOST_UI).media_type == "text/markdown"
    refused: list[tuple[type[MunimentError], ConversationKey, View]] = [
        (AccessDenied, key_of(), View.EXPORT),
        (AccessDenied, key_of("nowhere"), View.EXPORT),
        (UnknownConversation, key_of("nowhere"), View.HOST_UI),
        (ForeignSpace, replace(key_of("nowhere"), space=SpaceName("other")), View.HOST_UI),
    ]
    for error, key, view in refused:
        with pytest.raises(error):
            few.spaces.export(key, view=view)


def test_every_format_has_a_writing_of_its_own() -> None:
    assert set(WRITERS) == set(ExportFormat)
    assert len({writing.media_type for writing in WRITERS.values()}) == len(ExportFormat)


# --- parts in their places --------------------------------------------------------------------------------------------


def told(
    parts: list[Part], items: list[tuple[int | None, Reason]], *ranges: tuple[int, int, int]
) -> list[Part | Reason | tuple[int | None, int]]:
    message = SliceMessage(
        id="t#0", role=Role.USER, authority="user_asserted", speaker_id="s", speaker_kind="k", observed_ms=1,  # type: ignore[arg-type]  # as a host spells it
        parts=parts,
    )  # fmt: skip
    about = [
        RedactionItem(turn="t", message="t#0", part=part, reason=reason, view=View.EXPORT) for part, reason in items
    ]
    about += [
        RedactionItem(
            turn="t", message="t#0", part=part, reason=Reason.REDACTED, view=View.EXPORT, start=start, end=end
        )
        for part, start, end in ranges
    ]
    pieces = ExportedTurn(turn=None, items=about).pieces(message)  # type: ignore[arg-type]  # it is not asked for
    return [
        piece
        if not isinstance(piece, RedactionItem)
        else piece.reason
        if piece.end is None
        else (piece.start, piece.end)
        for piece in pieces
    ]


def test_reasons_replace_the_withheld_parts() -> None:
    a, b = TextPart(content="a"), TextPart(content="b")
    policy, mask = Reason.VIEW_POLICY, Reason.LIFECYCLE_MASKED
    assert told([a, b], [(1, policy)]) == [a, policy, b]
    assert told([a], [(0, policy), (2, mask)]) == [policy, a, mask]
    assert told([a], [(3, policy)]) == [a, policy]


def test_withheld_ranges_follow_their_part() -> None:
    a, b, policy = TextPart(content="a"), TextPart(content="b"), Reason.VIEW_POLICY
    assert told([a, b], [(0, policy)], (1, 0, 1), (1, 3, 4)) == [policy, a, (0, 1), (3, 4), b]


# --- chat messages ----------------------------------------------------------------------------------------------------


def chat(*parts: Part, role: Role = Role.ASSISTANT) -> list[dict[str, Any]]:
    world = memory_world()
    turn = replace(plain_turn(1), messages=[Message(role=Role.USER, content="q"), Message(role=role, content=[*parts])])
    world.commit(turn)
    messages: list[dict[str, Any]] = json.loads(exported(world, ExportFormat.OPENAI))["messages"]
    world.close()
    return messages[1:]


def test_what_a_tool_returned_is_a_message_of_its_own() -> None:
    call, result = ToolCallPart(name="f", id="1", arguments={"a": 1}), ToolCallResponsePart(id="1", response={"b": 2})
    function = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    assert chat(ReasoningPart(content="t"), call, result, TextPart(content="a")) == [
        {"role": "assistant", "content": None, "reasoning_content": "t", "tool_calls": [function]},
        {"role": "tool", "tool_call_id": "1", "content": '{"b":2}'},
        {"role": "assistant", "content": "a"},
    ]


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (
            BlobPart(content=b"pixel", mime_type="image/png"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cGl4ZWw="}},
        ),
        (
            BlobPart(content=b"pixel", modality="image"),
            {"type": "image_url", "image_url": {"url": "data:;base64,cGl4ZWw="}},
        ),
        (
            BlobPart(content=b"pixel", mime_type="audio/wav"),
            {"type": "input_audio", "input_audio": {"data": "cGl4ZWw=", "format": "wav"}},
        ),
        (BlobPart(content=b"pixel"), {"type": "file", "file": {"file_data": "data:;base64,cGl4ZWw="}}),
        (FilePart(file_id="f"), {"type": "file", "file": {"file_id": "f"}}),
        (UriPart(uri="u", modality="image"), {"type": "image_url", "image_url": {"url": "u"}}),
        (UriPart(uri="u"), {"type": "file", "file": {"file_data": "u"}}),
    ],
)
def test_what_is_no_text_is_a_part_of_a_chat_message(part: Part, content: dict[str, Any]) -> None:
    assert chat(TextPart(content="a"), part) == [
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, content]}
    ]


# --- transcripts ------------------------------------------------------------------------------------------------------

HOSTILE = st.lists(
    st.sampled_from([*"`~#>*_<!-[](){}|\\ \n\t\r", "a", "\u2028", "\u202e", "\x1b", "```", "````", "\n# ", "\n```\n"]),
    max_size=20,
).map("".join)


def outline(document: str) -> list[str]:
    """Return the lines of a Markdown document outside its fenced blocks, as CommonMark (section 4.5) finds them."""
    outside: list[str] = []
    fence = 0
    for line in document.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        marks = len(line) - len(line.lstrip("`"))
        if fence:
            fence = 0 if marks >= fence and not line.strip("` ") else fence
        elif marks >= markdown.FENCE_MIN:
            fence = marks
        else:
            outside.append(line)
    assert not fence, "a block is left open"
    return outside


def without_spans(line: str) -> str:
    """Return a line without its code spans, as CommonMark (section 6.1) finds them."""
    kept, place = "", 0
    while place < len(line):
        if line[place] != "`":
            kept, place = kept + line[place], place + 1
            continue
        run = len(line[place:]) - len(line[place:].lstrip("`"))
        end, at = place + run, None
        while end < len(line):
            if line[end] != "`":
                end += 1
                continue
            closing = len(line[end:]) - len(line[end:].lstrip("`"))
            if closing == run:
                at = end + closing
                break
            end += closing
        assert at is not None, "a span is left open"
        place = at
    return kept


@settings(max_examples=200)
@given(HOSTILE, HOSTILE, st.sampled_from(["text", "reasoning", "call", "result", "names"]))
def test_no_content_can_fake_structure(words: str, other: str, place: str) -> None:
    """The outline of a transcript is the same whatever was said in it."""
    assert said_in(place, words, other) == said_in(place, "a", "b")


def said_in(place: str, words: str, other: str) -> list[str]:
    parts: dict[str, list[Part]] = {
        "text": [TextPart(content=words), TextPart(content=other), FilePart(file_id="f")],
        "reasoning": [ReasoningPart(content=words), FilePart(file_id="f")],
        "call": [ToolCallPart(name=words, id=f"i{other}", arguments=other)],
        "result": [ToolCallResponsePart(id=f"i{words}", response=words), ToolCallResponsePart(response=[other])],
        "names": [FilePart(file_id=words, mime_type=f"m{other}"), UriPart(uri=other), BlobPart(content=b"")],
    }
    world = memory_world()
    speaker = f"s{words}"
    turn = replace(
        plain_turn(1),
        messages=[
            Message(role=Role.USER, content="q"),
            Message(role=Role.ASSISTANT, content=parts[place], speaker_id=speaker, observed_ms=1),
            Message(role=Role.ASSISTANT, content="a"),
        ],
    )
    world.commit(turn)
    found = [without_spans(line) for line in outline(exported(world, ExportFormat.MARKDOWN))]
    world.close()
    return found


@pytest.mark.parametrize(
    ("text", "block", "span"),
    [
        ("a", "```text\na\n```\n", "`a`"),
        ("a\n", "```text\na\n```\n", "`a\\u{a}`"),
        ("", "```text\n```\n", "`  `"),
        ("```", "````text\n```\n````\n", "```` ``` ````"),
        ("a`b", "```text\na`b\n```\n", "``a`b``"),
        ("\r\n\tx", "```text\n\n\tx\n```\n", "`\\u{d}\\u{a}\\u{9}x`"),
        ("\x1b[2J\u202e\u2028", "```text\n\\u{1b}[2J\\u{202e}\\u{2028}\n```\n", "`\\u{1b}[2J\\u{202e}\\u{2028}`"),
        ("größe 👩\u200d🔧", "```text\ngröße 👩\u200d🔧\n```\n", "`größe 👩\u200d🔧`"),
    ],
)
def test_content_cannot_end_its_code_block(text: str, block: str, span: str) -> None:
    assert (markdown.block(text, "text"), markdown.span(text)) == (block, span)
