"""A turn as a view shows it, as rows of the tables.

Nothing here decides what is shown: it writes down a `SliceTurn` and the report of what was withheld from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from muniment.events.attributes import ValueKind
from muniment.events.identity import ConversationKey
from muniment.events.message import TEXT_PARTS, Part, TextPart, ToolCallPart, ToolCallResponsePart
from muniment.governance.attribute_visibility import SliceAttribute
from muniment.governance.slices import RedactionItem, SliceMessage, SliceTurn
from muniment.log.port import Reader
from muniment.projections.evidence_links import Reference
from muniment.tables.table_forms import Row

TAGS: dict[type, str] = {kind: kind.__struct_config__.tag for kind in Part.__args__}
JSON_KINDS = frozenset({ValueKind.OBJECT, ValueKind.ARRAY})


class MemoryRows(NamedTuple):
    """The rows of all memory items that the view shows to a subject, or (None) to anybody, in a state of the log."""

    to: str | None
    rows: Callable[[Reader], Iterable[Row]]


def rows_of(key: ConversationKey, turn: SliceTurn, withheld: Sequence[RedactionItem]) -> Iterator[Row]:
    """Yield the rows of a turn, that of the turn first."""
    at = {"position": turn.position}
    actor = msgspec.structs.asdict(turn.actor)
    yield (
        "turns",
        {
            **at,
            "channel": key.channel,
            "conversation": key.conversation,
            "sequence": turn.sequence,
            "turn": turn.turn,
            "phase": turn.phase,
            "delivery": turn.delivery,
            "committed_ms": turn.committed_ms,
            **actor,
            "source": _json(turn.source) if turn.source else None,
            "external": int(turn.external) if isinstance(turn.external, bool) else None,
        },
    )
    for place, message in enumerate(turn.messages):
        parts = message.parts or []
        yield "messages", {**at, "place": place, **_message(message, parts)}
        for index, part in enumerate(parts):
            yield "parts", {**at, "message": place, "place": index, **_part(part)}
    for place, tool in enumerate(turn.tools or []):
        noted = {"id": tool.id, "tool": tool.tool, "external": int(tool.external), "summary": tool.summary}
        yield "tools", {**at, "place": place, **noted}
    for reference in turn.host_refs:
        yield (
            "host_refs",
            {
                **at,
                "host": reference.host,
                "type": reference.type,
                "id": reference.id,
                "relation": reference.relation,
                "label": reference.label,
            },
        )
    for attribute in turn.attributes:
        yield "attributes", {**at, **_attribute(attribute)}
    for item in withheld:
        yield (
            "withheld",
            {
                **at,
                "message": item.message,
                "part": item.part,
                "reason": item.reason,
                "attribute": item.attribute,
                "host_ref": item.host_ref,
                "tool": item.tool,
                "start": item.start,
                "stop": item.end,
            },
        )


def link_row(reference: Reference) -> Row:
    """Return the row of a derived reference."""
    meta = reference.meta
    return "links", {
        "link": reference.position,
        "plane": meta.plane,
        "key": meta.key,
        "subject": meta.subject,
        "channel": meta.source.channel,
        "conversation": meta.source.conversation,
        "first": reference.span.first,
        "last": reference.span.last,
        "message": reference.message,
        "created_ms": reference.created_ms,
    }


def _message(message: SliceMessage, parts: Sequence[Part]) -> dict[str, Any]:
    said = [part.content for part in parts if isinstance(part, TextPart)]
    return {
        "id": message.id,
        "role": message.role,
        "authority": message.authority,
        "speaker_id": message.speaker_id,
        "speaker_kind": message.speaker_kind,
        "observed_ms": message.observed_ms,
        "redacted": int(message.redacted),
        "text": "\n".join(said) if said else None,
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "type": TAGS[type(part)],
        "text": part.content if isinstance(part, TEXT_PARTS) else None,
        "name": part.name if isinstance(part, ToolCallPart) else None,
        "call": part.id if isinstance(part, ToolCallPart | ToolCallResponsePart) else None,
        "body": _json(part),
    }


def _attribute(attribute: SliceAttribute) -> dict[str, Any]:
    return {
        "message": attribute.message,
        "id": attribute.id,
        "key": attribute.key,
        "kind": attribute.kind,
        "value": _json(attribute.value) if attribute.kind in JSON_KINDS else attribute.value,
        "redacted": int(attribute.redacted),
        "created_ms": attribute.created_ms,
        "updated_ms": attribute.updated_ms,
    }


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
