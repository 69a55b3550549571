"""Whether a change is valid for its stream: what its header may name, whoever looks at it.

Writers assert it, an inspection reports what is wrong, and an archive that breaks a rule is refused. What a change says
in its sealed bodies (the passage of a redaction, an attribute, a source) has rules of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from muniment.events.approving import ApprovalStep
from muniment.events.changes import REPLACED, Custody, RedactionReason, RedactionTarget, Transition, TurnSpan, span_of
from muniment.events.memory_items import RevisionAction
from muniment.events.message import ReasoningPart, TextPart
from muniment.events.records import LIFECYCLES, EventKind, TurnContent, TurnMeta

TRANSITIONS = frozenset(Transition)
CUSTODY = frozenset(Custody)
FIELD = re.compile(r"(tools)/(\d+)/summary|(host_ref)/(\d+)/label")
NO_REASON: frozenset[str | None] = frozenset({None})

# kind of change -> the reasons that its header may name; all others have none
REASONS: dict[str, frozenset[str | None]] = {
    **dict.fromkeys(LIFECYCLES, frozenset({*Transition, *Custody})),
    EventKind.TURN_REDACTED: frozenset(RedactionReason),
    EventKind.APPROVAL_DECIDED: frozenset(ApprovalStep),
    EventKind.ITEM_REVISED: frozenset(RevisionAction),
}


class ChangeFlaw(StrEnum):
    """What of a change is not valid."""

    REASON = "reason"
    HOLD = "hold"
    TURN = "turn"
    MESSAGE = "message"


def _unknown(_turn: int) -> None:
    return None


class StreamState(NamedTuple):
    """A stream before a change: its turns, its holds by name, and how many messages a turn has. None: not known."""

    turns: int
    holds: Container[int] | None = None
    messages_of: Callable[[int], int | None] = _unknown
    is_space: bool = False  # the stream of the space, which has no turns


def flaws_of(kind: str, reason: str | None, refs: Mapping[str, int], state: StreamState) -> Iterator[ChangeFlaw]:
    """Yield what of a change is not valid for the stream that it is appended to; nothing for a valid one."""
    if reason not in REASONS.get(kind, NO_REASON):
        yield ChangeFlaw.REASON
    if (
        state.holds is not None
        and (reason == Custody.RELEASE or "hold" in refs)
        and refs.get("hold") not in state.holds
    ):
        yield ChangeFlaw.HOLD
    if state.is_space:
        if reason in TRANSITIONS:
            yield ChangeFlaw.TURN
        return
    if not _turns_exist(kind, reason, refs, state.turns):
        yield ChangeFlaw.TURN
        return
    message, turn = refs.get("message"), refs.get("turn")
    if message is not None:
        count = 0 if turn is None else state.messages_of(turn)
        if count is not None and message >= count:
            yield ChangeFlaw.MESSAGE


def _turns_exist(kind: str, reason: str | None, refs: Mapping[str, int], turns: int) -> bool:
    """Tell whether the turns are there; holds and releases may also be about turns that are still to come."""
    first, last = span_of(refs)
    if kind == EventKind.TURN_REDACTED and "turn" not in refs:
        return False
    if last is None:
        return first >= 1 and reason in CUSTODY
    return 1 <= first <= last <= turns or (REPLACED in refs and TurnSpan(first, last) == (1, turns))


def has_target(target: RedactionTarget, meta: TurnMeta, content: TurnContent | None) -> bool:
    """Tell whether a turn has what a redaction names; of erased content nothing is known."""
    if target.field is not None:
        named = FIELD.fullmatch(target.field)
        return named is not None and (
            int(named[2]) < len(meta.tools) if named[1] else int(named[4]) < len(meta.host_refs)
        )
    if target.message is None:
        return target.part is None and target.start is None
    if target.message >= len(meta.messages):
        return False
    if target.part is None or content is None:
        return target.part is not None or target.start is None
    parts = content.parts[target.message]
    if target.part >= len(parts):
        return False
    if target.start is None or target.end is None:
        return target.start is None and target.end is None
    part = parts[target.part]
    return isinstance(part, TextPart | ReasoningPart) and 0 <= target.start < target.end <= len(part.content)
