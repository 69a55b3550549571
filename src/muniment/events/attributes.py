"""Attributes: structured evidence beside the words of a turn or of one of its messages.

What a host hands over is an `Attribute`; the conversation is that of the request. What the log keeps of it stands in
two cells, as decision 0003 wants it: `AttributeRecorded` has closed words, names, numbers and times, and outlives an
erasure; `AttributeContent` has what somebody phrased or computed (the value, the reason, the links) and dies with its
turn. Which turn, and which message, is in the references of the header. What is taken, and who sees it, is decided in
`governance.attribute_visibility`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from muniment.events.identity import TurnId
from muniment.events.message import Visibility

VALUE_BYTES = 64 * 1024  # what a value may take when its governance says nothing else


class AttributeScope(StrEnum):
    """What an attribute is about: a turn, or one message of it."""

    TURN = "turn"
    MESSAGE = "message"


class ValueKind(StrEnum):
    """What a value is; null is none of these."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"


class SourceKind(StrEnum):
    """Where a value comes from."""

    HOST_REPORTED = "host_reported"
    PROVIDER_REPORTED = "provider_reported"
    GATEWAY_COUNTED = "gateway_counted"
    HOST_ESTIMATED = "host_estimated"
    MEMORY_COMPUTED = "memory_computed"
    UNAVAILABLE = "unavailable"


class AttributePolicy(StrEnum):
    """What becomes of an attribute when its turn is masked or erased."""

    FOLLOW_TRANSCRIPT = "follow_transcript"
    METADATA_SURVIVES_MASK = "metadata_survives_mask"
    OPERATOR_AUDIT_ONLY_AFTER_MASK = "operator_audit_only_after_mask"


class AttributeTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A turn of the conversation by its id, and for scope `message` a message of it by its id."""

    turn: TurnId
    scope: AttributeScope = AttributeScope.TURN
    message: str | None = None


class AttributeSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Who wrote an attribute, where its value comes from, and why; all three are said. `written_ms` 0 means "now"."""

    writer: str
    kind: SourceKind
    reason: str = ""
    written_ms: int = 0


class AttributeGovernance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """How large the value may be as canonical JSON, what becomes of it, and whether it may leave in an export."""

    value_bytes_max: int = VALUE_BYTES
    policy: AttributePolicy = AttributePolicy.FOLLOW_TRANSCRIPT
    export_allowed: bool = False


class AttributeLink(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """How an attribute relates to another thing, and that thing by kind and id; the store never follows it."""

    relation: str
    kind: str
    id: str


class Attribute(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What a host says of a turn or message. `value` is any JSON value but null.

    `key` is dotted (`host.billing.tokens`), `schema` an optional name of the value's schema. A creation time of 0 means
    "now", an update time of 0 the same, or the creation time where that is later.
    """

    id: str
    target: AttributeTarget
    key: str
    kind: ValueKind
    value: Any
    source: AttributeSource
    visibility: Visibility = Visibility.INTERNAL
    governance: AttributeGovernance = AttributeGovernance()
    links: list[AttributeLink] = []
    schema: str | None = None
    created_ms: int = 0
    updated_ms: int = 0


# --- what the log keeps -----------------------------------------------------------------------------------------------


class AttributeHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An attribute without its value: its names, its kind, its times. `message` counts from 0; without it, the turn."""

    id: str
    key: str
    kind: ValueKind
    created_ms: int
    updated_ms: int
    message: int | None = None
    schema: str | None = None


class AttributeOrigin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Who wrote an attribute and when, without the reason. `request` is what the host calls the write it came with."""

    writer: str
    kind: SourceKind
    written_ms: int
    request: str | None = None


class AttributeRecorded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What is said of a turn (`refs.turn`), or of a message of it (`refs.message`). The next of its id replaces it."""

    attribute: AttributeHead
    source: AttributeOrigin
    visibility: Visibility
    governance: AttributeGovernance


class AttributeContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What somebody phrased or computed: the value, why it was written, and to what it is linked in which words."""

    value: Any
    reason: str
    links: list[AttributeLink] = []


def link_label(place: int) -> str:
    """Return the label under which one link of an attribute is committed."""
    return f"link/{place}"
