"""What may be said of turns after they were committed: the events that change what a view shows of them.

Which turns a change is about stands in the references of its header, as one of:

| refs | turns |
|---|---|
| `{"turn": n}` | turn n |
| `{"turn": n, "message": m}` | message m of turn n, counted from 0 |
| `{"through": b}` | all turns from the first to b, as many as there were then |
| `{"first": a, "through": b}` | the turns a to b |
| `{"first": 1}` | all turns, those that are still to come too |

In the stream of the space, which has no turns, `{"first": 1}` means those of all conversations.
An erasure with `{"replaced": 1}` beside them was made because an archive took the place of the conversation: its stream
is not found by its names any more, and nobody asked for the words to be erased. One with `{"omitted": 1}` says that an
archive did not take this message along.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

REPLACED = "replaced"
OMITTED = "omitted"


class Transition(StrEnum):
    """What may be asked of a turn or conversation; the header of its event names it in `reason`."""

    ARCHIVE = "archive"
    RESTORE = "restore"
    MASK = "mask"
    UNMASK = "unmask"
    ERASE = "erase"


class Custody(StrEnum):
    """Whether content must be kept; the header of its event names it in `reason`. A release names its hold in refs."""

    HOLD = "hold"
    RELEASE = "release"


class Action(StrEnum):
    """What may be asked of turns, and what may stand in the header of a lifecycle event: `Transition` and `Custody`."""

    ARCHIVE = Transition.ARCHIVE.value
    RESTORE = Transition.RESTORE.value
    MASK = Transition.MASK.value
    UNMASK = Transition.UNMASK.value
    ERASE = Transition.ERASE.value
    HOLD = Custody.HOLD.value
    RELEASE = Custody.RELEASE.value


class RedactionReason(StrEnum):
    """Why a redaction was made; the header of `turn.redacted` names it in `reason`."""

    PERSONAL_DATA = "personal_data"
    SECRET = "secret"  # noqa: S105 -- a word of the vocabulary
    LEGAL = "legal"
    POLICY = "policy"
    SAFETY = "safety"
    OTHER = "other"


class LifecycleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Who asked for a change, why and when. What and which is in the header.

    `subject` is there when it was asked of every turn of a subject, in whatever conversation.
    """

    reason: str
    requester: str
    requested_ms: int
    subject: str | None = None


class TurnLifecycle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A transition, a hold or a release; of a turn, of several, or of one message of a turn (erasing alone)."""

    request: LifecycleRequest


class RetentionPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """How long words are kept: of a conversation (both names), of a channel (its name), or of the space (neither).

    Milliseconds since a turn was committed. A policy that says neither takes back what was said of its scope before.
    """

    channel: str | None = None
    conversation: str | None = None
    keep_at_least_ms: int | None = None
    erase_after_ms: int | None = None


class PolicySet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """From here on this policy is in force for its scope, in place of an earlier one; in the stream of the space."""

    policy: RetentionPolicy
    request: LifecycleRequest


class RedactionTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What of a turn is redacted; nothing given: all of it.

    `message` and `part` count from 0. `start` and `end` are code points of the text of a part, the end not included.
    `field` is the label of a tool summary or of the label of a host reference (`tools/0/summary`, `host_ref/1/label`).
    """

    message: int | None = None
    part: int | None = None
    start: int | None = None
    end: int | None = None
    field: str | None = None


class TurnRedacted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Something of a turn (`refs.turn`) is withheld from these views. The words stay until they are erased."""

    target: RedactionTarget
    views: list[str]
    request: LifecycleRequest


class TurnSpan(NamedTuple):
    """Consecutive turns, both ends included; without `last` also those that are still to come."""

    first: int
    last: int | None

    def holds(self, turn: int) -> bool:
        """Tell whether a turn is among them."""
        return self.first <= turn and (self.last is None or turn <= self.last)

    def overlaps(self, other: TurnSpan) -> bool:
        """Tell whether any turn is in both."""
        return (other.last is None or self.first <= other.last) and (self.last is None or other.first <= self.last)


def span_of(refs: Mapping[str, int]) -> TurnSpan:
    """Return the turns that the references of a change are about."""
    turn = refs.get("turn")
    if turn is not None:
        return TurnSpan(turn, turn)
    return TurnSpan(refs.get("first", 1), refs.get("through"))


def span_refs(span: TurnSpan) -> dict[str, int]:
    """Return the references that say this of a change; the reverse of `span_of`."""
    if span.last is None:
        return {"first": span.first}
    if span.first == span.last:
        return {"turn": span.first}
    return {"through": span.last} if span.first == 1 else {"first": span.first, "through": span.last}
