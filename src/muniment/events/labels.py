"""An event's fields: the labels under which its values are committed, one commitment each.

A label is ASCII and never changes. For most kinds the labels are the field names of the meta body. A turn has:

| label | value | cell |
|---|---|---|
| `actor`, `delivery` | as in `TurnMeta` | meta |
| `tools` | list of tool observations without summaries, when there are any | meta |
| `source`, `external`, `candidates` | as in `TurnMeta`, unless they have their default | meta |
| `host_ref/<i>` | a reference without its label | meta |
| `message/<i>` | role, authority, speaker, observed time | meta |
| `message/<i>/content/<j>` | one part | content |
| `tools/<i>/summary`, `host_ref/<i>/label` | text | content |

Words of an event that speaks of turns (`events.wording`) have the label `<member>/<field>`, as `request/reason`; they
are in the content cell.

An attribute has, beside the members of its meta body:

| label | value | cell |
|---|---|---|
| `value` | any JSON value | content |
| `reason` | text | content |
| `link/<i>` | relation, kind and id of another object | content |

A memory item and a snapshot of a tool registry have the members of their meta bodies, and those of their contents that
are not null.
"""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import asdict, astuple

from muniment.events.attributes import AttributeContent, link_label
from muniment.events.memory_items import ItemContent
from muniment.events.message import Part, ToolCallPart, ToolCallResponsePart
from muniment.events.records import WORDS, ContentBody, MetaBody, TurnMeta
from muniment.events.tool_registries import RegistryContent
from muniment.events.turn import Source
from muniment.events.wording import Words, bare
from muniment.kernel.canonical import encode, encode_each, encode_plain, scan

USUAL_SOURCE = Source()


def meta_fields(body: MetaBody) -> list[tuple[str, bytes]]:
    """Return label and canonical JSON of every field in a meta body."""
    if not isinstance(body, TurnMeta):
        words = WORDS.get(type(body))
        told = body if words is None else bare(body, words)
        return list(zip(told.__struct_fields__, encode_each(astuple(told)), strict=True))
    values: dict[str, object] = {"actor": body.actor, "delivery": body.delivery}
    if body.source != USUAL_SOURCE:
        values["source"] = body.source
    if body.tools:
        values["tools"] = body.tools
    if body.external:
        values["external"] = body.external
    if body.candidates:
        values["candidates"] = body.candidates
    for place, reference in enumerate(body.host_refs):
        values[f"host_ref/{place}"] = reference
    for place, head in enumerate(body.messages):
        values[f"message/{place}"] = head
    return list(zip(values, encode_each(values.values()), strict=True))


def content_fields(body: ContentBody) -> list[tuple[str, bytes]]:
    """Return label and canonical JSON of every field in a content body."""
    values: dict[str, object] = {}
    if isinstance(body, Words):
        return list(zip(body.words, encode_each(body.words.values()), strict=True))
    if isinstance(body, ItemContent | RegistryContent):
        values |= {label: value for label, value in asdict(body).items() if value is not None}
        return list(zip(values, encode_each(values.values()), strict=True))
    if isinstance(body, AttributeContent):
        values |= {"value": Raw(encode(body.value)), "reason": body.reason}
        values |= {link_label(place): link for place, link in enumerate(body.links)}
        return list(zip(values, encode_each(values.values()), strict=True))
    for place, parts in enumerate(body.parts):
        for index, part in enumerate(parts):
            foreign = isinstance(part, ToolCallPart | ToolCallResponsePart)
            values[f"message/{place}/content/{index}"] = Raw(encode_part(part)) if foreign else part
    for place, summary in enumerate(body.summaries):
        values[f"tools/{place}/summary"] = summary
    for place, label in enumerate(body.labels):
        if label is not None:
            values[f"host_ref/{place}/label"] = label
    return list(zip(values, encode_each(values.values()), strict=True))


def encode_part(part: Part) -> bytes:
    """Return the canonical JSON of a part.

    Only arguments and results of tools are JSON from outside: they may need more than the plain profile (floats, keys
    that are not ASCII) and are then encoded by the general encoder.
    """
    if isinstance(part, ToolCallPart) and not _is_plain(part.arguments):
        named = {"id": part.id} if part.id is not None else {}
        return encode({"type": "tool_call", "name": part.name, "arguments": part.arguments, **named})
    if isinstance(part, ToolCallResponsePart) and not _is_plain(part.response):
        named = {"id": part.id} if part.id is not None else {}
        return encode({"type": "tool_call_response", "response": part.response, **named})
    return encode_plain(part)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str) or scan(value)
