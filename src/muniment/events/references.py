"""Derived references: that an item of memory came from turns.

A reference is an event in the stream of the conversation that it leads to. Its header says which turns (and which
message, by place); its sealed meta says what was derived and names the source once more, as the host knows it. Nothing
in it is phrased by anybody: keys and subjects are ids. So it has no content, and it outlives the words of its source.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.events.message import Authority


class Plane(StrEnum):
    """Where in a host's memory an item lives."""

    LONG_TERM = "long_term"
    SHARED_FACT = "shared_fact"
    PROCEDURAL_SKILL = "procedural_skill"
    TASK_LEARNING = "task_learning"
    ARCHIVE_EVIDENCE = "archive_evidence"
    PRIVATE_GARDEN = "private_garden"
    SOUL_CANDIDATE_HANDOFF = "soul_candidate_handoff"


class SourceEvidence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What something was derived from: a turn, the turns from `turn` to `through`, or a message.

    `message` is the id of a message of the turn, `subject` whose turn it is, `authority` that of the message.
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
    empty in one that came with an archive: the leaves that it was made of are those of another log.
    """

    plane: Plane
    key: str
    subject: str
    source: SourceEvidence
    created_ms: int
    digest: str
