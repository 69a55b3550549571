"""Attributes: structured evidence about a turn or one of its messages.

A host hands over an `Attribute`; the request names the conversation. The log keeps it in two cells (decision 0003):
`AttributeRecorded` has enumerated values, names, numbers and times, and survives an erasure. `AttributeContent` has
what somebody wrote or computed (the value, the reason, the links) and is erased with its turn. The references of the
header name the turn and the message. `governance.annotation` decides what is accepted,
`governance.attribute_visibility` who sees it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from muniment.events.name_types import TurnId
from muniment.events.references import Visibility

VALUE_BYTES = 64 * 1024  # the default limit of a value
RECORDED = "recorded"  # the reason of an attribute for which a host gives none

# Keys that describe the conversation of their turn. Their values are words: only views that show words show them.
TITLE_KEY = "memory.conversation.title"
TAGS_KEY = "memory.conversation.tags"
DESCRIPTIVE = frozenset({TITLE_KEY, TAGS_KEY})


class AttributeScope(StrEnum):
    """What an attribute is about: a turn, or one message of it."""

    TURN = "turn"
    MESSAGE = "message"


class ValueKind(StrEnum):
    """The JSON type of a value; null is not allowed."""

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
    """What happens to an attribute when its turn is masked or erased."""

    FOLLOW_TRANSCRIPT = "follow_transcript"
    METADATA_SURVIVES_MASK = "metadata_survives_mask"
    OPERATOR_AUDIT_ONLY_AFTER_MASK = "operator_audit_only_after_mask"


class AttributeTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A turn of the conversation by its id, and for scope `message` a message of it by its id."""

    turn: TurnId
    scope: AttributeScope = AttributeScope.TURN
    message: str | None = None


class AttributeSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Who wrote an attribute, where its value comes from, and why. `written_ms` 0 means "now"."""

    writer: str
    kind: SourceKind
    reason: str = RECORDED
    written_ms: int = 0


class AttributeGovernance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The maximum size of the value as canonical JSON, its policy, and whether exports may contain it."""

    value_bytes_max: int = VALUE_BYTES
    policy: AttributePolicy = AttributePolicy.FOLLOW_TRANSCRIPT
    export_allowed: bool = False


class AttributeLink(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A relation to another object, which is named by kind and id; the store never follows it."""

    relation: str
    kind: str
    id: str


class Attribute(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A statement of a host about a turn or message. `value` is any JSON value but null.

    `key` is dotted (`host.billing.tokens`), `schema` an optional name of the value's schema. A creation time of 0 means
    "now"; an update time of 0 means "now", or the creation time where that is later.
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


# --- in the log -------------------------------------------------------------------------------------------------------


class AttributeHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An attribute without its value: names, kind and times. `message` counts from 0; None means the turn."""

    id: str
    key: str
    kind: ValueKind
    created_ms: int
    updated_ms: int
    message: int | None = None
    schema: str | None = None


class AttributeOrigin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Who wrote an attribute and when, without the reason. `request` is the host's id of the request that wrote it."""

    writer: str
    kind: SourceKind
    written_ms: int
    request: str | None = None


class AttributeRecorded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An attribute of a turn (`refs.turn`) or message (`refs.message`); a later one with the same id replaces it."""

    attribute: AttributeHead
    source: AttributeOrigin
    visibility: Visibility
    governance: AttributeGovernance


class AttributeContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What somebody wrote or computed: the value, why it was recorded, and its links."""

    value: Any
    reason: str
    links: list[AttributeLink] = []


def link_label(index: int) -> str:
    """Return the label of one link of an attribute."""
    return f"link/{index}"
