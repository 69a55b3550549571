"""Turns on a page: messages part by part, with a marker for everything that a view withholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from muniment.events.identity import short_message_id
from muniment.events.message import (
    AttachmentPart,
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    UriPart,
)
from muniment.governance.attribute_visibility import SliceAttribute
from muniment.governance.slices import OF_LABELS, RedactionItem, SliceMessage, SliceTurn
from muniment.governance.views import Reason
from muniment.operations.disclosure import Revealed
from muniment.operations.transcripts.replay import Slice
from muniment.operations.transcripts.timeline import Timeline
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle, on_one_line
from muniment.transports.cli.scalars import label, moment, said, tell_budget, tell_cursors


def _tell_slice(page_of_turns: Slice, page: OutputPage) -> None:
    _tell_turns(page_of_turns, page)
    tell_cursors([("next cursor", page_of_turns.next_cursor)], page)


def _tell_timeline(timeline: Timeline, page: OutputPage) -> None:
    _tell_turns(timeline, page)
    if timeline.anchor is not None:
        place = timeline.anchor
        page.line(
            StyledText(f"around turn {place.sequence}"),
            StyledText(on_one_line(short_message_id(place.message or place.turn))),
        )
    tell_cursors([("older cursor", timeline.older_cursor), ("newer cursor", timeline.newer_cursor)], page)


def _tell_turns(shown: Slice | Timeline, page: OutputPage) -> None:
    for turn in shown.turns:
        _tell_turn(turn, [item for item in shown.items if item.turn == turn.turn], page)
    counts = shown.audit
    page.line(
        StyledText(f"view {counts.view}"),
        StyledText(f"turns {counts.turns_returned}"),
        StyledText(f"withheld: messages {counts.messages_redacted}, references {counts.host_refs_redacted}"),
        StyledText(", ".join(counts.reasons), TextStyle.FAINT),
    )
    tell_budget(shown.budget_applied, page)


def _tell_turn(turn: SliceTurn, items: list[RedactionItem], page: OutputPage) -> None:
    page.heading(
        f"{turn.sequence}  {on_one_line(turn.turn)}  {turn.phase}  {turn.delivery}  {moment(turn.committed_ms)}"
    )
    for message in turn.messages:
        role = message.role
        speaker = on_one_line(message.speaker_id)
        page.line(
            StyledText(role if speaker == role else f"{role} {speaker}", TextStyle.STRONG),
            StyledText(moment(message.observed_ms)),
        )
        for words in message_words(message, items):
            page.line(words, indent=2)
    for observed in turn.tools:
        page.line(
            StyledText("observation", TextStyle.STRONG),
            StyledText(f"{observed.tool} {observed.id} {observed.summary}".rstrip()),
        )
    for reference in turn.host_refs:
        named = f"{reference.host}/{reference.type}/{reference.id} ({reference.relation})"
        page.line(
            StyledText("refers to", TextStyle.STRONG), StyledText(on_one_line(named)), StyledText(reference.label or "")
        )
    for item in items:
        if item.message is None and item.attribute is None:
            page.line(withheld_field(item))
    for attribute in turn.attributes:
        place = "" if attribute.message is None else f" of {short_message_id(attribute.message)}"
        named = on_one_line(f"{attribute.key}{place}")
        page.line(StyledText("attribute", TextStyle.STRONG), StyledText(named), attribute_words(attribute))
    shown = {attribute.id for attribute in turn.attributes}
    for item in items:
        if item.attribute is not None and item.attribute not in shown:
            page.line(withheld(f"attribute {on_one_line(item.attribute_key or '')}", item))


def message_words(message: SliceMessage, items: list[RedactionItem]) -> list[StyledText]:
    """Return what a view shows of a message, part by part, with a marker for everything withheld."""
    of_it = [item for item in items if item.message == message.id]
    whole = {item.part: item for item in of_it if item.start is None}
    if message.redacted:
        return [withheld("content", whole.get(None))]
    shown = iter(message.parts)
    said: list[StyledText] = []
    for place in range(len(whole) + len(message.parts)):
        said.append(withheld("part", whole[place]) if place in whole else part_words(next(shown)))
        ranges = [item for item in of_it if item.part == place and item.start is not None]
        said += [withheld(_range(item), item) for item in ranges]
    return said


def _range(item: RedactionItem) -> str:
    """Return the range of characters of an item, and the path of its text where there are several."""
    return f"characters {item.start:,} to {item.end:,}" + (f" of {on_one_line(item.path)}" if item.path else "")


def withheld(what: str, item: RedactionItem | Reason | None) -> StyledText:
    """Return the marker for something that a view does not show. A budget may have left out its item: then None."""
    if item is None:
        return StyledText(f"[{what} withheld]", TextStyle.FAINT)
    if isinstance(item, Reason):
        return StyledText(f"[{what} withheld: {item}]", TextStyle.FAINT)
    why = f" ({', '.join(item.causes)})" if item.causes else ""
    return StyledText(f"[{what} withheld: {item.reason}{why}]", TextStyle.FAINT)


def withheld_field(item: RedactionItem) -> StyledText:
    """Return the marker for a host reference, its label, or a tool summary that a view does not show."""
    of_it = "" if item.start is None else f"{_range(item)} of the "
    if item.tool is not None:
        return withheld(f"{of_it}summary of observation {item.tool}", item)
    what = "label of reference" if of_it or item.reason in OF_LABELS else "reference"
    return withheld(f"{of_it}{what} {item.host_ref}", item)


def attribute_words(attribute: SliceAttribute) -> StyledText:
    """Return the value of an attribute, or the marker for one that was replaced."""
    if attribute.redacted:
        return withheld("value", Reason.ATTR_LIFECYCLE_POLICY)
    return StyledText(on_one_line(_json(attribute.value)))


def part_words(part: Part) -> StyledText:
    """Return a part of a message as text."""
    if isinstance(part, TextPart):
        return StyledText(part.content)
    if isinstance(part, ReasoningPart):
        return StyledText(f"(reasoning) {part.content}", TextStyle.FAINT)
    if isinstance(part, ToolCallPart):
        return StyledText(f"calls {part.name} {_json(part.arguments)}")
    if isinstance(part, BlobPart):
        return StyledText(f"{part.mime_type or part.modality or 'data'}, {len(part.content):,} bytes")
    if isinstance(part, FilePart):
        return StyledText(f"file {part.file_id}")
    if isinstance(part, UriPart):
        return StyledText(f"link {part.uri}")
    if isinstance(part, AttachmentPart):
        return StyledText(f"attached {part}")
    return StyledText(f"returned {_json(part.response)}")


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _tell_revealed(revealed: Revealed, page: OutputPage) -> None:
    page.facts([
        (label(name), said(name, getattr(revealed, name)))
        for name in ("position", "reason", "requester", "requested_ms")
    ])  # fmt: skip
    _tell_turn(revealed.turn, revealed.items, page)


TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {
    Slice: _tell_slice,
    Timeline: _tell_timeline,
    Revealed: _tell_revealed,
}
