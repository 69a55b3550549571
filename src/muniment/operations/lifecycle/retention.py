"""Retention: how long words are kept, said once as a policy, and carried out when somebody asks for it (decision 0050).

Nothing runs by itself. `apply_retention` looks at every conversation that a policy gives an end, and erases what is due
and neither held nor kept by a legal minimum, in batches: each is an erasure of its own, with a receipt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.changes import Action, LifecycleRequest, PolicySet, RetentionPolicy, TurnSpan
from muniment.events.identity import ConversationKey, SpaceName
from muniment.events.records import EventKind
from muniment.ledger.ledger import SPACE_STREAM, Writer, draft
from muniment.log.port import WHOLE_CONVERSATION
from muniment.operations.lifecycle.erase_turns import Erasing
from muniment.operations.lifecycle.guard import Guard, Judgements, length
from muniment.operations.lifecycle.reporting import (
    AffectedConversation,
    ErasureReceipt,
    KeptTurn,
    Reporting,
    RetentionInForce,
)
from muniment.operations.lifecycle.scope import Scope, Turns, TurnsTarget, conversations
from muniment.space.space import Space

PERIOD_MS_MAX = 1000 * 365 * 24 * 60 * 60 * 1000  # a thousand years
BATCH_TURNS = 10_000  # erased in one transaction


class RetentionPolicies(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The policies that are in force now, and whether that changed."""

    changed: bool
    policies: list[RetentionInForce]
    position: int | None = None


class RetentionReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What retention did, or (`dry_run`) what it would do. `clipped`: the lists were cut at the limit, not the counts.

    `due_turns` are those whose time is over and that nothing keeps, `left_turns` of them were left for another time by
    the limit. `kept_turns` are due and kept, `kept` says by what. `unreadable_turns` do not open any more, and nobody
    can tell how old they are. There is a receipt for each batch.
    """

    dry_run: bool
    changed: bool
    due_turns: int
    erased_turns: int
    left_turns: int
    kept_turns: int
    unreadable_turns: int
    clipped: bool
    conversations: list[AffectedConversation]
    kept: list[KeptTurn]
    policies: list[RetentionInForce]
    receipts: list[ErasureReceipt] = []


class Retaining:
    """One policy on its way."""

    def __init__(self, session: Session, policy: RetentionPolicy, request: LifecycleRequest) -> None:
        for name in ("keep_at_least_ms", "erase_after_ms"):
            period_ms = getattr(policy, name)
            if period_ms is not None and not 0 < period_ms <= PERIOD_MS_MAX:
                raise InvalidInput(at=name, problem="out_of_range", limit=PERIOD_MS_MAX, found=period_ms)
        self._space: Space = session.space
        self._policy = policy
        self._request = request

    def run(self) -> RetentionPolicies:
        """Set the policy unless it is in force, and report what is in force then."""
        position = self._space.ledger.transact(self._append)
        with self._space.ledger.reader() as reader:
            guard = Guard(self._space, reader, self._request.requested_ms)
            told = list(Reporting(self._space, reader).policies(guard.policies))
        return RetentionPolicies(changed=position is not None, policies=told, position=position)

    def _append(self, writer: Writer) -> int | None:
        new, known = self._policy, Guard(self._space, writer.tx, self._request.requested_ms).policies
        scope = (new.channel, new.conversation)
        now = [each.policy for each in known if (each.policy.channel, each.policy.conversation) == scope]
        says = [new] if new.keep_at_least_ms is not None or new.erase_after_ms is not None else []
        if now == says:
            return None
        event = draft(
            self._space.sources.entropy,
            EventKind.POLICY_SET,
            self._request.requested_ms,
            PolicySet(policy=new, request=self._request),
        )
        return writer.append(event, stream=SPACE_STREAM, target=WHOLE_CONVERSATION, refs={"first": 1}).position


class DueTurns(NamedTuple):
    """Due turns of one conversation."""

    key: ConversationKey
    stream: int
    span: TurnSpan


class Applying:
    """One run of retention."""

    def __init__(self, session: Session, request: LifecycleRequest, limit: int | None) -> None:
        if limit is not None and limit < 1:
            raise InvalidInput(at="limit", problem="not_positive", found=limit)
        self._session = session
        self._space: Space = session.space
        self._budget = session.budget()
        self._request = request
        self._limit = limit
        self._scope = Scope(whole_space=SpaceName(self._space.name))

    def run(self, *, dry_run: bool) -> RetentionReport:
        """Find what is due, erase it batch by batch, and report."""
        judged = self._judged()
        chosen = [
            DueTurns(one.lot.key, one.lot.head.stream, span) for one in judged for span in one.spans
        ]  # one after the other, so that a limit takes whole conversations first
        receipts = [] if dry_run else list(self._erased(chosen))
        with self._space.ledger.reader() as reader:
            reporting = Reporting(self._space, reader, self._budget)
            report = reporting.report(Action.ERASE, self._scope, self._request, judged)
            policies = list(reporting.policies(Guard(self._space, reader, self._request.requested_ms).policies))
        erased = sum(receipt.turns_erased for receipt in receipts)
        taken = report.affected_turns if self._limit is None else min(self._limit, report.affected_turns)
        return RetentionReport(
            dry_run=dry_run,
            changed=bool(receipts),
            due_turns=report.affected_turns,
            erased_turns=erased,
            left_turns=report.affected_turns - taken,
            kept_turns=report.kept_turns,
            unreadable_turns=report.unreadable_turns,
            clipped=report.clipped,
            conversations=report.conversations,
            kept=report.kept,
            policies=policies,
            receipts=receipts,
        )

    def _judged(self) -> list[Judgements]:
        """Judge every turn of the space, each conversation in a snapshot of its own."""
        with self._space.ledger.reader() as reader:
            known = conversations(self._space, reader)
        judged = []
        for done, (key, head) in enumerate(known, start=1):
            with self._space.ledger.reader() as reader:
                present = self._space.transcript.head(reader, head.stream)
                if present.turns:
                    guard = Guard(self._space, reader, self._request.requested_ms)
                    judged.append(guard.judge(Turns(key, present, (TurnSpan(1, present.turns),)), requested=False))
            self._session.progress("conversations looked at", done, len(known))
        return judged

    def _erased(self, chosen: list[DueTurns]) -> Iterator[ErasureReceipt]:
        """Erase what was chosen, batch by batch; yield a receipt for each."""
        due = sum(length(each.span) for each in chosen)
        total = due if self._limit is None else min(due, self._limit)
        done = 0
        for batch in _batches(chosen, total):
            aim = TurnsTarget(self._space, _by_conversation(batch))
            receipt = Erasing(self._session, self._scope, aim, self._request).by_policy().erase()
            done += sum(length(each.span) for each in batch)
            self._session.progress("turns erased", done, total)
            if receipt is not None:
                yield receipt


def _batches(chosen: list[DueTurns], total: int) -> Iterator[list[DueTurns]]:
    """Yield so many of the chosen turns in batches."""
    batch: list[DueTurns] = []
    room = BATCH_TURNS
    for key, stream, span in chosen:
        left = span
        while length(left) > 0 and total > 0:
            take = min(length(left), room, total)
            batch.append(DueTurns(key, stream, TurnSpan(left.first, left.first + take - 1)))
            left = TurnSpan(left.first + take, left.last)
            room, total = room - take, total - take
            if room == 0:
                yield batch
                batch, room = [], BATCH_TURNS
    if batch:
        yield batch


def _by_conversation(batch: list[DueTurns]) -> dict[ConversationKey, tuple[int, list[TurnSpan]]]:
    found: dict[ConversationKey, tuple[int, list[TurnSpan]]] = {}
    for key, stream, span in batch:
        found.setdefault(key, (stream, []))[1].append(span)
    return found
