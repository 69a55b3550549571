"""Annotation: which attributes are accepted; each is decided separately, with a reason for a refusal.

`admit_attribute` returns the bodies for the log, or the refusal. `flaw` checks the bodies, so that the same rules apply
when an attribute is read. `refused_by_target` checks the state of the conversation (does the turn exist, is the id
free).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.errors import InvalidInput, NotCanonical
from muniment.events.attributes import (
    TAGS_KEY,
    TITLE_KEY,
    Attribute,
    AttributeContent,
    AttributeHead,
    AttributeLink,
    AttributeOrigin,
    AttributeRecorded,
    AttributeScope,
    ValueKind,
)
from muniment.events.identity import NAME_BYTES_MAX, check_name, named_message
from muniment.events.labels import content_fields
from muniment.governance.admission import OBSERVED_MS_MAX
from muniment.governance.limits import Limits
from muniment.governance.phases import Phase
from muniment.kernel.canonical import encode

ATTRIBUTE_REASON_BYTES_MAX = 4096
ATTRIBUTE_LINKS_MAX = 64

_KEY = re.compile(r"(?:host|memory)(?:\.[A-Za-z0-9_-]+){2,}")


class AttributeRecord(Struct, frozen=True, kw_only=True, gc=False):
    """An attribute as the log has it: the newest of its id. `content` is None when it was not read."""

    position: int
    meta: AttributeRecorded
    content: AttributeContent | None


class AttributeState(NamedTuple):
    """The phase of the turn or message that an attribute is about, and whether the view is barred from it."""

    phase: Phase
    barred: bool


class AttributeRefusal(StrEnum):
    """Why an attribute was not recorded."""

    ID_MALFORMED = "id_malformed"
    ID_REPEATED = "id_repeated"
    KEY_MALFORMED = "key_malformed"
    SCHEMA_MALFORMED = "schema_malformed"
    KIND_DIFFERS = "kind_differs"
    DESCRIPTION_MALFORMED = "description_malformed"
    VALUE_NOT_CANONICAL = "value_not_canonical"
    VALUE_TOO_LARGE = "value_too_large"
    SIZE_OUT_OF_RANGE = "size_out_of_range"
    MESSAGE_MISSING = "message_missing"
    MESSAGE_NOT_TAKEN = "message_not_taken"
    WRITER_MALFORMED = "writer_malformed"
    REASON_MALFORMED = "reason_malformed"
    LINK_MALFORMED = "link_malformed"
    TOO_MANY_LINKS = "too_many_links"
    TIME_OUT_OF_RANGE = "time_out_of_range"
    UPDATED_BEFORE_CREATED = "updated_before_created"
    UNKNOWN_TURN = "unknown_turn"
    UNKNOWN_MESSAGE = "unknown_message"
    ERASED = "erased"
    TARGET_DIFFERS = "target_differs"
    TOO_MANY_OF_TURN = "too_many_of_turn"


class AcceptedAttribute(NamedTuple):
    """An accepted attribute: both bodies, and the fields of the content with their canonical JSON."""

    meta: AttributeRecorded
    content: AttributeContent
    fields: list[tuple[str, bytes]]


class ResolvedTarget(NamedTuple):
    """The target of an attribute in the log: sequence of the turn, index of the message, and whether it was erased."""

    turn: int
    message: int | None
    messages: int
    erased: bool


class KnownAttribute(NamedTuple):
    """The recorded state: the target of the id when it is known, and the number of other ids of the turn."""

    known: tuple[int, int | None] | None
    others: int


def admit_attribute(
    given: Attribute, mark: str, now_ms: int, request: str | None, limits: Limits
) -> AcceptedAttribute | AttributeRefusal:
    """Return the bodies for an attribute, or the refusal; does not depend on the state of the conversation.

    `mark` is that of the conversation in message ids.
    """
    message = _message_of(given, mark)
    if isinstance(message, AttributeRefusal):
        return message
    updated_ms = given.updated_ms or max(now_ms, given.created_ms)
    meta = AttributeRecorded(
        attribute=AttributeHead(
            id=given.id,
            key=given.key,
            kind=given.kind,
            created_ms=given.created_ms or min(now_ms, updated_ms),
            updated_ms=updated_ms,
            message=message,
            schema=given.schema,
        ),
        source=AttributeOrigin(
            writer=given.source.writer,
            kind=given.source.kind,
            written_ms=given.source.written_ms or now_ms,
            request=request,
        ),
        visibility=given.visibility,
        governance=given.governance,
    )
    content = AttributeContent(value=given.value, reason=given.source.reason, links=given.links)
    refusal = flaw(meta, content)
    if refusal is not None:
        return refusal
    fields = list(content_fields(content))
    too_large = len(dict(fields)["value"]) > limits.attribute_bytes_max
    return AttributeRefusal.VALUE_TOO_LARGE if too_large else AcceptedAttribute(meta, content, fields)


def _message_of(given: Attribute, mark: str) -> int | AttributeRefusal | None:
    """Return the index of the message that an attribute names; it is not checked against the conversation."""
    target = given.target
    if target.scope is AttributeScope.TURN:
        return None if target.message is None else AttributeRefusal.MESSAGE_NOT_TAKEN
    if target.message is None:
        return AttributeRefusal.MESSAGE_MISSING
    named = named_message(target.message, mark)
    return AttributeRefusal.UNKNOWN_MESSAGE if named is None or named.turn != target.turn else named.place


# --- rules of an attribute itself -------------------------------------------------------------------------------------

KINDS: dict[ValueKind, tuple[type, ...]] = {
    ValueKind.OBJECT: (dict,),
    ValueKind.ARRAY: (list,),
    ValueKind.STRING: (str,),
    ValueKind.NUMBER: (int, float),
    ValueKind.BOOLEAN: (bool,),
}


class MeasuredAttribute(NamedTuple):
    """An attribute and the size of its value as canonical JSON, None when it has no such form."""

    meta: AttributeRecorded
    content: AttributeContent
    value_bytes: int | None


def flaw_without_content(meta: AttributeRecorded) -> AttributeRefusal | None:
    """Return the first refusal of an attribute whose content is erased: by the rules about the rest, or None."""
    attribute = MeasuredAttribute(meta, AttributeContent(value=None, reason=""), None)
    return next((refusal for refusal, is_broken in RULES if refusal not in OF_CONTENT and is_broken(attribute)), None)


def flaw(meta: AttributeRecorded, content: AttributeContent) -> AttributeRefusal | None:
    """Return the first refusal of an attribute by its own rules, or None."""
    try:
        size: int | None = len(encode(content.value))
    except NotCanonical:
        size = None
    attribute = MeasuredAttribute(meta, content, size)
    for refusal, is_broken in RULES:
        if is_broken(attribute):
            return refusal
    return None


def _kind_differs(measured: MeasuredAttribute) -> bool:
    kind, value = measured.meta.attribute.kind, measured.content.value
    return not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind is not ValueKind.BOOLEAN)


def _is_no_description(measured: MeasuredAttribute) -> bool:
    """Return whether what calls itself a title is no text, or what calls itself tags no list of names."""
    key, value = measured.meta.attribute.key, measured.content.value
    if key == TITLE_KEY:
        return not isinstance(value, str)
    if key == TAGS_KEY:
        return not isinstance(value, list) or any(not isinstance(tag, str) or _is_no_name(tag) for tag in value)
    return False


def _is_no_key(text: str) -> bool:
    return _KEY.fullmatch(text) is None or len(text) > NAME_BYTES_MAX


def _is_no_name(text: str) -> bool:
    try:
        check_name(text, at="")
    except InvalidInput:
        return True
    return False


def _is_no_reason(text: str) -> bool:
    return not text.strip() or len(text.encode()) > ATTRIBUTE_REASON_BYTES_MAX


def _is_malformed_link(link: AttributeLink) -> bool:
    return any(map(_is_no_name, (link.relation, link.kind, link.id)))


def _is_out_of_range(meta: AttributeRecorded) -> bool:
    low, _, high = sorted((meta.attribute.created_ms, meta.attribute.updated_ms, meta.source.written_ms))
    return low < 0 or high > OBSERVED_MS_MAX


# The rules of an attribute itself, in this order.
RULES: list[tuple[AttributeRefusal, Callable[[MeasuredAttribute], bool]]] = [
    (AttributeRefusal.ID_MALFORMED, lambda it: _is_no_name(it.meta.attribute.id)),
    (AttributeRefusal.KEY_MALFORMED, lambda it: _is_no_key(it.meta.attribute.key)),
    (
        AttributeRefusal.SCHEMA_MALFORMED,
        lambda it: it.meta.attribute.schema is not None and _is_no_name(it.meta.attribute.schema),
    ),
    (AttributeRefusal.KIND_DIFFERS, _kind_differs),
    (AttributeRefusal.DESCRIPTION_MALFORMED, _is_no_description),
    (AttributeRefusal.VALUE_NOT_CANONICAL, lambda it: it.value_bytes is None),
    (AttributeRefusal.SIZE_OUT_OF_RANGE, lambda it: it.meta.governance.value_bytes_max < 1),
    (AttributeRefusal.VALUE_TOO_LARGE, lambda it: (it.value_bytes or 0) > it.meta.governance.value_bytes_max),
    (AttributeRefusal.WRITER_MALFORMED, lambda it: _is_no_name(it.meta.source.writer)),
    (AttributeRefusal.REASON_MALFORMED, lambda it: _is_no_reason(it.content.reason)),
    (AttributeRefusal.TOO_MANY_LINKS, lambda it: len(it.content.links) > ATTRIBUTE_LINKS_MAX),
    (AttributeRefusal.LINK_MALFORMED, lambda it: any(map(_is_malformed_link, it.content.links))),
    (AttributeRefusal.TIME_OUT_OF_RANGE, lambda it: _is_out_of_range(it.meta)),
    (AttributeRefusal.UPDATED_BEFORE_CREATED, lambda it: it.meta.attribute.updated_ms < it.meta.attribute.created_ms),
]

# The rules that take the content.
OF_CONTENT = frozenset({
    AttributeRefusal.KIND_DIFFERS,
    AttributeRefusal.VALUE_NOT_CANONICAL,
    AttributeRefusal.VALUE_TOO_LARGE,
    AttributeRefusal.REASON_MALFORMED,
    AttributeRefusal.TOO_MANY_LINKS,
    AttributeRefusal.LINK_MALFORMED,
})  # fmt: skip


# --- rules of the conversation ----------------------------------------------------------------------------------------


def refused_by_target(target: ResolvedTarget, known: KnownAttribute, limits: Limits) -> AttributeRefusal | None:
    """Return why an attribute cannot be recorded for its target, or None (decision 0060)."""
    if target.message is not None and target.message >= target.messages:
        return AttributeRefusal.UNKNOWN_MESSAGE
    if target.erased:
        return AttributeRefusal.ERASED
    if known.known is not None and known.known != (target.turn, target.message):
        return AttributeRefusal.TARGET_DIFFERS
    if known.others >= limits.turn_attributes_max:
        return AttributeRefusal.TOO_MANY_OF_TURN
    return None


def is_erased(phase: Phase, message: int | None, erased: frozenset[int]) -> bool:
    """Return whether the target of an attribute was erased: its turn, or only its message."""
    return phase is Phase.ERASED or message in erased
