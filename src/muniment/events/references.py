"""References: from a turn to an object of the host, and from an item of memory to the turns it was derived from.

A derived reference is an event in the stream of the conversation that it refers to. Its header names the turns (and the
message, by index). Its encrypted meta names the derived item, and names the source as the host does. It contains ids
only and no text, so it has no content cell and survives the erasure of its source.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.events.message import Authority


class Relation(StrEnum):
    """How a business object relates to the turn."""

    ORIGIN = "origin"
    EVIDENCE_FOR = "evidence_for"
    TRIGGER = "trigger"
    RELATED = "related"


class Visibility(StrEnum):
    """The audience of a host reference or attribute."""

    INTERNAL = "internal"
    HOST_UI = "host_ui"
    MODEL_CONTEXT = "model_context"
    OPERATOR_AUDIT = "operator_audit"
    EXPORT = "export"


class HostReference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An opaque pointer into the host's own data; the store never parses it."""

    host: str
    type: str
    id: str
    relation: Relation = Relation.RELATED
    visibility: Visibility = Visibility.INTERNAL
    label: str | None = None


class Plane(StrEnum):
    """The part of a host's memory that contains an item."""

    LONG_TERM = "long_term"
    SHARED_FACT = "shared_fact"
    PROCEDURAL_SKILL = "procedural_skill"
    TASK_LEARNING = "task_learning"
    ARCHIVE_EVIDENCE = "archive_evidence"
    PRIVATE_GARDEN = "private_garden"
    SOUL_CANDIDATE_HANDOFF = "soul_candidate_handoff"


class SourceEvidence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The source of a derivation: a turn, the turns from `turn` to `through`, or a message.

    `message` is the id of a message of the turn, `subject` the turn's subject, `authority` that of the message.
    """

    space: str
    channel: str
    conversation: str
    turn: str
    through: str | None = None
    message: str | None = None
    subject: str | None = None
    authority: Authority | None = None


class RefDerived(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An item of memory, by plane and key, was derived from transcript evidence.

    `digest` is the source digest over the leaves of the turns that `refs` names (`evidence.verifier.source_digest`),
    empty in an imported reference, whose source leaves belong to another log.
    """

    plane: Plane
    key: str
    subject: str
    source: SourceEvidence
    created_ms: int
    digest: str
