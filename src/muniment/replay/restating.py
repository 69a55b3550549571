"""Turns and attributes of a live log as requests that would commit them again, in synthetic text; and any command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from muniment.events.attributes import AttributeContent, AttributeRecorded, ValueKind
from muniment.events.message import Part, TextPart
from muniment.events.records import ContentBody, MessageHead, TurnContent, TurnMeta
from muniment.events.turn import Attribution, Source
from muniment.replay.fixture import Command
from muniment.replay.synthetic import Synthetic

# fields of an attribution that name somebody -> the kind of name; subjects are of one kind, whatever they act as
ACTOR = {
    "speaker_id": "subject",
    "acting_subject": "subject",
    "mounted_subject": "subject",
    "agent_id": "subject",
    "speaker_kind": "speaker-kind",
    "trigger": "trigger",
}
SOURCE = ("channel", "provider", "endpoint", "model_alias", "model", "request_id", "conversation_hint")
# what replaces an erased value
LOST_VALUES: dict[ValueKind, Any] = {
    ValueKind.OBJECT: {"lost": 1},
    ValueKind.ARRAY: [1],
    ValueKind.STRING: "lost",
    ValueKind.NUMBER: 1,
    ValueKind.BOOLEAN: True,
}

Moved = Callable[[int], int]  # a time of the live log -> one of the fixture


def restated_turn(words: Synthetic, meta: TurnMeta, content: TurnContent | None, moved: Moved) -> dict[str, Any]:
    """Return a turn as JSON; the caller adds its id and its conversation."""
    spoken = content.parts if content is not None else [[] for _ in meta.messages]
    pairs = zip(meta.messages, spoken, strict=False)
    turn: dict[str, Any] = {
        "subject": words.name("subject", meta.actor.subject or ""),
        "messages": [_message(words, head, parts, moved) for head, parts in pairs],
        "delivery": meta.delivery.status,
        "actor": _actor(words, meta.actor),
        "source": _source(words, meta.source),
        "external": meta.external,
        "candidates": [words.name("candidate", each) for each in meta.candidates],
    }
    summaries = content.summaries if content is not None else []
    labels = content.labels if content is not None else []
    turn["tools"] = [
        {
            "id": words.name("observation", tool.id),
            "tool": words.name("tool", tool.tool),
            "external": tool.external,
            "summary": words.text(summaries[place]) if place < len(summaries) else words.lost(),
        }
        for place, tool in enumerate(meta.tools)
    ]
    turn["host_refs"] = [
        {
            "host": words.name("host", ref.host),
            "type": words.name("type", ref.type),
            "id": words.name("object", ref.id),
            "relation": ref.relation,
            "visibility": ref.visibility,
            **_label(words, labels[place] if place < len(labels) else None),
        }
        for place, ref in enumerate(meta.host_refs)
    ]
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(turn))
    return {name: value for name, value in plain.items() if value not in ([], {})}


def _message(words: Synthetic, head: MessageHead, parts: list[Part], moved: Moved) -> dict[str, Any]:
    said: dict[str, Any] = {
        "role": head.role,
        "content": [words.part(part) for part in parts] or [TextPart(content=words.lost())],
        "authority": head.authority,
        "speaker_id": words.maybe("subject", head.speaker_id),
        "speaker_kind": words.maybe("speaker-kind", head.speaker_kind),
        "observed_ms": moved(head.observed_ms) if head.observed_ms else 0,
    }
    return {name: value for name, value in said.items() if value not in (None, 0)}


def _actor(words: Synthetic, actor: Attribution) -> dict[str, str]:
    named = {field: words.maybe(kind, getattr(actor, field)) for field, kind in ACTOR.items()}
    return {field: name for field, name in named.items() if name is not None}


def _source(words: Synthetic, source: Source) -> dict[str, Any]:
    named = {field: words.maybe(field.replace("_", "-"), getattr(source, field)) for field in SOURCE}
    known = {field: name for field, name in named.items() if name is not None}
    return {"ingress": source.ingress, "protocol": source.protocol, **known}


def _label(words: Synthetic, label: str | None) -> dict[str, str]:
    return {} if label is None else {"label": words.text(label)}


def restated_attribute(words: Synthetic, meta: AttributeRecorded, content: ContentBody | None) -> dict[str, Any]:
    """Return an attribute as JSON; the caller says what it is about."""
    head = meta.attribute
    said = content if isinstance(content, AttributeContent) else None
    attribute: dict[str, Any] = {
        "id": words.name("attribute", head.id),
        "key": f"host.recorded.{words.name('key', head.key)}",
        "kind": head.kind,
        "value": LOST_VALUES[head.kind] if said is None else words.value(said.value),
        "visibility": meta.visibility,
        "governance": meta.governance,
        "source": {
            "writer": words.name("writer", meta.source.writer),
            "kind": meta.source.kind,
            "reason": words.text(said.reason) if said is not None and said.reason.strip() else "lost",
        },
        "links": [
            {
                "relation": words.name("relation", each.relation),
                "kind": words.name("kind", each.kind),
                "id": words.name("id", each.id),
            }
            for each in (said.links if said is not None else [])
        ],
    }
    if head.schema is not None:
        attribute["schema"] = words.name("schema", head.schema)
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(attribute))
    return plain


def command_of(do: str, **given: Any) -> Command:
    """Return the command of an operation; what is None is not given."""
    return Command(do=do, given={name: value for name, value in given.items() if value is not None})
