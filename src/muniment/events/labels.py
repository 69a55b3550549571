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

An attribute has, beside the members of its meta body:

| label | value | cell |
|---|---|---|
| `value` | any JSON value | content |
| `reason` | text | content |
| `link/<i>` | relation, kind and id of another object | content |
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.events.attributes import AttributeContent, link_label
from muniment.events.message import Part, ToolCallPart, ToolCallResponsePart, part_label
from muniment.events.records import ContentBody, MetaBody, TurnContent, TurnMeta
from muniment.events.turn import Source
from muniment.kernel.canonical import encode, encode_plain, scan

USUAL_SOURCE = Source()


def meta_fields(body: MetaBody) -> Iterator[tuple[str, bytes]]:
    """Yield label and canonical JSON of every field in a meta body."""
    if not isinstance(body, TurnMeta):
        for label in body.__struct_fields__:
            yield label, encode_plain(getattr(body, label))
        return
    yield "actor", encode_plain(body.actor)
    yield "delivery", encode_plain(body.delivery)
    if body.source != USUAL_SOURCE:
        yield "source", encode_plain(body.source)
    if body.tools:
        yield "tools", encode_plain(body.tools)
    if body.external:
        yield "external", encode_plain(body.external)
    if body.candidates:
        yield "candidates", encode_plain(body.candidates)
    for place, reference in enumerate(body.host_refs):
        yield f"host_ref/{place}", encode_plain(reference)
    for place, head in enumerate(body.messages):
        yield f"message/{place}", encode_plain(head)


def content_fields(body: ContentBody) -> Iterator[tuple[str, bytes]]:
    """Yield label and canonical JSON of every field in a content body."""
    return _attribute_fields(body) if isinstance(body, AttributeContent) else _turn_fields(body)


def _turn_fields(body: TurnContent) -> Iterator[tuple[str, bytes]]:
    for place, parts in enumerate(body.parts):
        for index, part in enumerate(parts):
            yield part_label(place, index), encode_part(part)
    for place, summary in enumerate(body.summaries):
        yield f"tools/{place}/summary", encode_plain(summary)
    for place, label in enumerate(body.labels):
        if label is not None:
            yield f"host_ref/{place}/label", encode_plain(label)


def _attribute_fields(body: AttributeContent) -> Iterator[tuple[str, bytes]]:
    yield "value", encode(body.value)
    yield "reason", encode_plain(body.reason)
    for place, link in enumerate(body.links):
        yield link_label(place), encode_plain(link)


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
