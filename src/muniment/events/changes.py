"""Changes: the events that change what a view shows of turns after their commit.

The references in the header of a change name its turns, in one of these forms:

| refs | turns |
|---|---|
| `{"turn": n}` | turn n |
| `{"turn": n, "message": m}` | message m of turn n, counted from 0 |
| `{"through": b}` | all turns from the first to b, the last turn at that time |
| `{"first": a, "through": b}` | the turns a to b |
| `{"first": 1}` | all turns, also future ones |

In the stream of the space, which has no turns, `{"first": 1}` means those of all conversations.

An erasure that also has `{"replaced": 1}` was made because an archive replaced the conversation: lookups no longer lead
to this stream, and nobody requested the erasure. One with `{"omitted": 1}` says that an archive did not contain this
message. One with `{"with_memory": 1}` belongs to a request that also takes memory items that rest on nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

REPLACED = "replaced"
OMITTED = "omitted"
WITH_MEMORY = "with_memory"
ERASED = "erased"  # instead of words that are gone (`events.wording`); nobody needs a cell to say it


class Transition(StrEnum):
    """A requested change of the phase of turns; the header of its event names it in `reason`."""

    ARCHIVE = "archive"
    RESTORE = "restore"
    MASK = "mask"
    UNMASK = "unmask"
    ERASE = "erase"


class Custody(StrEnum):
    """Placing and releasing a legal hold; the header of the event names it in `reason`, a release its hold in refs."""

    HOLD = "hold"
    RELEASE = "release"


class Action(StrEnum):
    """What a lifecycle event can do to turns: every `Transition` and `Custody`."""

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
    """Who requested a change, why and when. The header says which change, and of which turns.

    The reason is words (`events.wording`). `subject` is set when the request was about every turn of a subject, in any
    conversation.
    """

    reason: str = ERASED
    requester: str
    requested_ms: int
    subject: str | None = None


class TurnLifecycle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A transition, a hold or a release of one or more turns; an erasure also of one message."""

    request: LifecycleRequest


class RetentionPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """How long content is kept: of a conversation (both names), of a channel (its name), or of the space (neither).

    Milliseconds since a turn was committed. A policy without both ends the earlier policy of its scope.
    """

    channel: str | None = None
    conversation: str | None = None
    keep_at_least_ms: int | None = None
    erase_after_ms: int | None = None


class PolicySet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """From this event on, the policy applies to its scope and replaces an earlier one; in the stream of the space."""

    policy: RetentionPolicy
    request: LifecycleRequest


class RedactionTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The redacted part of a turn; without any value: the whole turn.

    `message` and `part` count from 0. `start` and `end` are code points of the text of a part, `end` not included.
    They tell how long words are, and are kept like words (`events.wording`).
    `field` is the label of a tool summary or of the label of a host reference (`tools/0/summary`, `host_ref/1/label`).
    """

    message: int | None = None
    part: int | None = None
    start: int | None = None
    end: int | None = None
    field: str | None = None


class TurnRedacted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Part of a turn (`refs.turn`) is withheld from these views. The content stays until it is erased."""

    target: RedactionTarget
    views: list[str]
    request: LifecycleRequest


def refs_of(turn: int, target: RedactionTarget) -> dict[str, int]:
    """Return the references for a redaction: its turn, and the message where it is of one."""
    return {"turn": turn} if target.message is None else {"turn": turn, "message": target.message}


class TurnSpan(NamedTuple):
    """Consecutive turns, both ends included; without `last`, also future turns."""

    first: int
    last: int | None

    @property
    def is_single(self) -> bool:
        """Whether it is one turn."""
        return self.first == self.last

    def includes(self, turn: int) -> bool:
        """Return whether a turn is in the span."""
        return self.first <= turn and (self.last is None or turn <= self.last)

    def overlaps(self, other: TurnSpan) -> bool:
        """Tell whether any turn is in both."""
        return (other.last is None or self.first <= other.last) and (self.last is None or other.first <= self.last)


def span_of(refs: Mapping[str, int]) -> TurnSpan:
    """Return the turns that the references of a change name."""
    turn = refs.get("turn")
    if turn is not None:
        return TurnSpan(turn, turn)
    return TurnSpan(refs.get("first", 1), refs.get("through"))


def span_refs(span: TurnSpan) -> dict[str, int]:
    """Return the references for a span; the reverse of `span_of`."""
    if span.last is None:
        return {"first": span.first}
    if span.first == span.last:
        return {"turn": span.first}
    return {"through": span.last} if span.first == 1 else {"first": span.first, "through": span.last}
