"""What a commit keeps of a turn.

| delivery status | kept |
|---|---|
| delivered | every message that says something: user input, steps, answer |
| user_only, upstream_failed, cancelled | the user messages that say something |
| incomplete_stream, rejected_by_policy | nothing |

A turn of which nothing is left is not an error; it is skipped with one reason. Too large is refused, never cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import check_name
from muniment.events.message import DEFAULT_AUTHORITY, Part, Role, is_blank
from muniment.events.records import DeliveryRecord, MessageHead, ReferenceRecord, ToolRecord, TurnMeta
from muniment.events.turn import Attribution, Delivery, Turn
from muniment.governance.limits import Limits

OBSERVED_MS_MAX = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


class SkipReason(StrEnum):
    """Why nothing of a turn was kept."""

    EMPTY_DELIVERED_TURN = "empty_delivered_turn"
    EMPTY_USER_TURN = "empty_user_turn"
    EMPTY_FAILED_TURN = "empty_failed_turn"
    EMPTY_CANCELLED_TURN = "empty_cancelled_turn"
    INCOMPLETE_STREAM = "incomplete_stream"
    REJECTED_BY_POLICY = "rejected_by_policy"


ALL_ROLES = frozenset(Role)
USER_ALONE = frozenset({Role.USER})

# delivery status -> the roles kept, and the reason when that leaves nothing
KEPT: dict[Delivery, tuple[frozenset[Role], SkipReason]] = {
    Delivery.DELIVERED: (ALL_ROLES, SkipReason.EMPTY_DELIVERED_TURN),
    Delivery.USER_ONLY: (USER_ALONE, SkipReason.EMPTY_USER_TURN),
    Delivery.UPSTREAM_FAILED: (USER_ALONE, SkipReason.EMPTY_FAILED_TURN),
    Delivery.CANCELLED: (USER_ALONE, SkipReason.EMPTY_CANCELLED_TURN),
    Delivery.INCOMPLETE_STREAM: (frozenset(), SkipReason.INCOMPLETE_STREAM),
    Delivery.REJECTED_BY_POLICY: (frozenset(), SkipReason.REJECTED_BY_POLICY),
}


class AdmittedTurn(Struct, frozen=True, kw_only=True):
    """What is written: the meta body, the words beside it, and the time of the commit.

    The time is the clock's alone (decision 0132): what a host claims to have observed moves neither retention nor a
    legal minimum.
    """

    time_ms: int
    meta: TurnMeta
    parts: list[list[Part]]
    summaries: list[str]
    labels: list[str | None]


def admit(turn: Turn, limits: Limits, now_ms: int) -> AdmittedTurn | SkipReason:
    """Decide what is kept of a turn at a time; raise `InvalidInput` or `LimitExceeded` for one that is refused."""
    _check_counts(turn, limits)
    _check_names(turn)
    roles, skip = KEPT[turn.delivery]
    heads: list[MessageHead] = []
    kept: list[list[Part]] = []
    for message in turn.messages:
        parts = message.parts()
        if message.role not in roles or all(map(is_blank, parts)):
            continue
        if not 0 <= message.observed_ms <= OBSERVED_MS_MAX:
            raise InvalidInput(at="messages.observed_ms", problem="out_of_range", limit=OBSERVED_MS_MAX)
        heads.append(
            MessageHead(
                role=message.role,
                authority=None if message.authority is DEFAULT_AUTHORITY[message.role] else message.authority,
                speaker_id=message.speaker_id,
                speaker_kind=message.speaker_kind,
                observed_ms=message.observed_ms,
            )
        )
        kept.append(parts)
    if not kept:
        return skip
    return AdmittedTurn(
        time_ms=now_ms,
        meta=TurnMeta(
            actor=_actor(turn),
            source=turn.source,
            delivery=DeliveryRecord(turn=turn.turn, status=turn.delivery),
            messages=heads,
            tools=[ToolRecord(id=tool.id, tool=tool.tool, external=tool.external) for tool in turn.tools]
            if turn.tools
            else [],
            host_refs=[
                ReferenceRecord(
                    host=ref.host, type=ref.type, id=ref.id, relation=ref.relation, visibility=ref.visibility
                )
                for ref in turn.host_refs
            ]
            if turn.host_refs
            else [],
            external=turn.external,
            candidates=turn.candidates,
        ),
        parts=kept,
        summaries=[tool.summary for tool in turn.tools] if turn.tools else [],
        labels=_labels(turn) if turn.host_refs else [],
    )


def _labels(turn: Turn) -> list[str | None]:
    labels = [ref.label for ref in turn.host_refs]
    return labels if any(labels) else []


def _actor(turn: Turn) -> Attribution:
    given = turn.actor
    if given is None:
        return Attribution(subject=turn.subject)
    if given.subject not in (None, turn.subject):
        raise InvalidInput(at="actor.subject", problem="differs")
    return replace(given, subject=turn.subject)


def _check_counts(turn: Turn, limits: Limits) -> None:
    counts = [
        ("messages", len(turn.messages), limits.turn_messages_max),
        ("host_refs", len(turn.host_refs), limits.turn_host_refs_max),
        ("tools", len(turn.tools), limits.turn_tools_max),
        ("candidates", len(turn.candidates), limits.turn_candidates_max),
    ]
    for place, message in enumerate(turn.messages):
        if not isinstance(message.content, str):
            counts.append((f"messages[{place}].content", len(message.content), limits.message_parts_max))
    for at, found, limit in counts:
        if found > limit:
            raise LimitExceeded(at=at, problem="too_many", limit=limit, found=found)


def _check_names(turn: Turn) -> None:
    check_name(turn.turn, at="turn")
    check_name(turn.subject, at="subject")
    check_name(turn.channel, at="channel")
    named = {"conversation": turn.conversation, "chat": turn.chat, "space": turn.space}
    for at, name in named.items():
        if name is not None:
            check_name(name, at=at)
    if turn.conversation is None and turn.chat is None:
        raise InvalidInput(at="conversation", problem="missing_field")


def check_sizes(parts: Sequence[Sequence[object]], fields: Sequence[tuple[str, bytes]], limits: Limits) -> None:
    """Refuse a message or a turn whose parts are too large; the fields begin with them, as canonical JSON."""
    total = end = 0
    for place, message in enumerate(parts):
        start, end, size = end, end + len(message), 0
        for _, value in fields[start:end]:
            size += len(value)
        total += size
        if size > limits.message_bytes_max:
            at = f"messages[{place}]"
            raise LimitExceeded(at=at, problem="too_large", limit=limits.message_bytes_max, found=size)
    if total > limits.turn_bytes_max:
        raise LimitExceeded(at="messages", problem="too_large", limit=limits.turn_bytes_max, found=total)
