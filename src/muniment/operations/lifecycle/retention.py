"""Retention: a policy says how long content is kept, and it is applied when somebody asks for it (decision 0050).

Nothing runs by itself. `apply_retention` judges every conversation and erases what is due and neither held nor kept by
a legal minimum, in batches: each is an erasure of its own, with a receipt. Where erasing takes two persons, so does
every change of policies under which content is erased, because applying them takes one (decision 0132).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.changes import Action, LifecycleRequest, PolicySet, RetentionPolicy, TurnSpan
from muniment.events.identity import SpaceName
from muniment.events.records import EventKind
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.operations.approvals.gate import GuardedAct, GuardedRequest
from muniment.operations.lifecycle.destroy import destroy_turns
from muniment.operations.lifecycle.guard import Guard, Judgements, length
from muniment.operations.lifecycle.report import AffectedConversation, ErasureReceipt, KeptTurn, RetentionInForce
from muniment.operations.lifecycle.reporting import Reporting
from muniment.operations.lifecycle.scope import Scope, StreamKey, Turns
from muniment.operations.lifecycle.targets import TurnsTarget, conversations

PERIOD_MS_MAX = 1000 * 365 * 24 * 60 * 60 * 1000  # a thousand years
BATCH_TURNS = 10_000  # erased in one transaction


class RetentionPolicies(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The policies that are in force now, and whether that changed."""

    changed: bool
    policies: list[RetentionInForce]
    position: int | None = None


class RetentionReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What retention did, or (`dry_run`) what it would do. `clipped`: the lists were cut at the limit, not the counts.

    `due_turns` have expired and nothing keeps them, `left_turns` of them were left for another time by the limit.
    `kept_turns` are due and kept, `kept` says by what. `unreadable_turns` do not open any more, and nobody can tell how
    old they are. There is a receipt for each batch.
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


def set_policy(session: Session, policy: RetentionPolicy, request: LifecycleRequest) -> RetentionPolicies:
    """Set a policy unless it is in force, and report what is in force then."""
    for name in ("keep_at_least_ms", "erase_after_ms"):
        period_ms = getattr(policy, name)
        if period_ms is not None and not 0 < period_ms <= PERIOD_MS_MAX:
            raise InvalidInput(at=name, problem="out_of_range", limit=PERIOD_MS_MAX, found=period_ms)
    space = session.space

    guarded = GuardedRequest(session=session, act=GuardedAct.ERASE, about=_about(policy), request=request)
    with space.ledger.reader() as reader:
        is_erasure = _erases(_after(Guard(space, reader, request.requested_ms), policy))
    if is_erasure:
        guarded.ask()

    def plan(writer: Writer) -> int | None:
        after = _after(Guard(space, writer.tx, request.requested_ms), policy)
        if after is None:
            return None
        if _erases(after):
            guarded.spend(writer)
        body = PolicySet(policy=policy, request=request)
        return writer.change(Change(EventKind.POLICY_SET, request.requested_ms, body, {"first": 1})).position

    position = space.ledger.transact(plan)
    with space.ledger.reader() as reader:
        policies = list(Reporting(space, reader).policies(Guard(space, reader, request.requested_ms).policies))
    return RetentionPolicies(changed=position is not None, policies=policies, position=position)


def _after(guard: Guard, policy: RetentionPolicy) -> list[RetentionPolicy] | None:
    """Return the policies in force after another one is set, or None where that changes nothing."""
    scope = (policy.channel, policy.conversation)
    known = [in_force.policy for in_force in guard.policies]
    others = [former for former in known if (former.channel, former.conversation) != scope]
    is_term = policy.keep_at_least_ms is not None or policy.erase_after_ms is not None
    after = [*others, policy] if is_term else others
    return None if len(after) == len(known) and all(each in known for each in after) else after


def _erases(policies: list[RetentionPolicy] | None) -> bool:
    """Tell whether content is erased under policies; to change them is then an erasure to come."""
    return any(policy.erase_after_ms is not None for policy in policies or ())


def _about(policy: RetentionPolicy) -> dict[str, str]:
    return {"retention": "policy"} | {name: str(value) for name, value in asdict(policy).items() if value is not None}


class DueTurns(NamedTuple):
    """Due turns of one conversation."""

    key: StreamKey
    stream: int
    span: TurnSpan


def apply_policies(session: Session, request: LifecycleRequest, limit: int | None, *, dry_run: bool) -> RetentionReport:
    """Find what is due, erase it batch by batch, and report."""
    if limit is not None and limit < 1:
        raise InvalidInput(at="limit", problem="not_positive", found=limit)
    space, budget = session.space, session.budget()
    judged = _judged(session, request.requested_ms)
    due = [
        DueTurns(judgements.turns.key, judgements.turns.head.stream, span)
        for judgements in judged
        for span in judgements.spans
    ]  # one conversation after the other, so that a limit takes whole conversations first
    receipts = [] if dry_run else list(_erased(session, request, due, limit))
    with space.ledger.reader() as reader:
        reporting = Reporting(space, reader, budget, session.access.open_views)
        report = reporting.report(Action.ERASE, Scope(whole_space=SpaceName(space.name)), request, judged)
        policies = list(reporting.policies(Guard(space, reader, request.requested_ms).policies))
    taken = report.affected_turns if limit is None else min(limit, report.affected_turns)
    return RetentionReport(
        dry_run=dry_run,
        changed=bool(receipts),
        due_turns=report.affected_turns,
        erased_turns=sum(receipt.turns_erased for receipt in receipts),
        left_turns=report.affected_turns - taken,
        kept_turns=report.kept_turns,
        unreadable_turns=report.unreadable_turns,
        clipped=report.clipped,
        conversations=report.conversations,
        kept=report.kept,
        policies=policies,
        receipts=receipts,
    )


def _judged(session: Session, now_ms: int) -> list[Judgements]:
    """Judge every turn of the space, each conversation in a snapshot of its own."""
    space = session.space
    with space.ledger.reader() as reader:
        known = conversations(space, reader)
    judged = []
    for done, (key, head) in enumerate(known, start=1):
        with space.ledger.reader() as reader:
            present = space.transcript.head(reader, head.stream)
            if present.turns:
                guard = Guard(space, reader, now_ms)
                judged.append(guard.judge(Turns(key, present, (TurnSpan(1, present.turns),)), requested=False))
        session.progress("conversations looked at", done, len(known))
    return judged


def _erased(
    session: Session, request: LifecycleRequest, due: list[DueTurns], limit: int | None
) -> Iterator[ErasureReceipt]:
    """Erase due turns, batch by batch; yield a receipt for each."""
    space, all_due = session.space, sum(length(turns.span) for turns in due)
    total = all_due if limit is None else min(all_due, limit)
    done = 0
    for batch in _batches(due, total):
        target = TurnsTarget(space, _by_conversation(batch))
        receipt = destroy_turns(space, target, request, requested=False)
        done += sum(length(turns.span) for turns in batch)
        session.progress("turns erased", done, total)
        if receipt is not None:
            yield receipt


def _batches(due: list[DueTurns], total: int) -> Iterator[list[DueTurns]]:
    """Yield so many due turns in batches."""
    batch: list[DueTurns] = []
    free = BATCH_TURNS
    for key, stream, span in due:
        rest = span
        while length(rest) > 0 and total > 0:
            take = min(length(rest), free, total)
            batch.append(DueTurns(key, stream, TurnSpan(rest.first, rest.first + take - 1)))
            rest = TurnSpan(rest.first + take, rest.last)
            free, total = free - take, total - take
            if free == 0:
                yield batch
                batch, free = [], BATCH_TURNS
    if batch:
        yield batch


def _by_conversation(batch: list[DueTurns]) -> dict[StreamKey, tuple[int, list[TurnSpan]]]:
    chosen: dict[StreamKey, tuple[int, list[TurnSpan]]] = {}
    for key, stream, span in batch:
        chosen.setdefault(key, (stream, []))[1].append(span)
    return chosen
