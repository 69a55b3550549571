"""The report about a request: what is affected as the views of the caller show it, what is kept and why.

Lists are cut at the limit of a report, counts are not. A turn that does not open any more is counted and has no name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import Action, LifecycleRequest, PolicySet, TurnLifecycle, TurnSpan
from muniment.events.identity import Channel, ConversationId, ConversationKey, SubjectId, TurnId
from muniment.events.records import TurnMeta
from muniment.governance.custody import PolicyInForce
from muniment.governance.phases import Hold, Phase
from muniment.governance.profiles import NO_BUDGET, Budget
from muniment.governance.views import View, shown_planes, structure_view
from muniment.log.port import Reader
from muniment.operations.lifecycle.guard import Judgements, KeptTurns, length
from muniment.operations.lifecycle.report import (
    AffectedConversation,
    HoldInForce,
    KeptTurn,
    LifecycleReport,
    ReportLists,
    RetentionInForce,
)
from muniment.operations.lifecycle.scope import Scope, Turns
from muniment.operations.provenance.derived_refs import AffectedTurns, ConcernedRefs, derived_refs
from muniment.projections.transcript import ReadTurn
from muniment.space.space import Space

NO_VIEWS: frozenset[View] = frozenset()


class Reporting:
    """Makes the report about what was judged, in one state of the log."""

    def __init__(
        self, space: Space, reader: Reader, budget: Budget = NO_BUDGET, views: Collection[View] = NO_VIEWS
    ) -> None:
        self._space = space
        self._reader = reader
        self._budget = budget
        self._views = views
        self._limit = space.limits.report_items_max

    def report(
        self, action: Action, scope: Scope, request: LifecycleRequest | None, judged: list[Judgements]
    ) -> LifecycleReport:
        """List what is affected as the views show it; the lists are cut at the limit, the counts are not."""
        limit, several = self._limit, scope.key is None
        judged, of_items = _apart(judged)
        total, read = sum(judgements.affected for judgements in judged), 0
        listing = ReportLists(self._budget, structure_view(self._views))
        for judgements in judged:
            before = len(listing.turns)
            for span in judgements.spans:
                if read >= limit:
                    break
                last = min(span.last or 0, span.first + limit - read - 1)
                read += last - span.first + 1
                for turn in self._read(judgements.turns, TurnSpan(span.first, last)):
                    listing.add(turn, judgements.turns.message)
            if several and judgements.affected:
                listing.conversations.append(_affected(judgements, listing.turns[before:]))
        kept = list(self.kept(judged, several=several))
        derived = self._derived(judged)
        over = listing.over_budget(derived.total)
        longest = max(len(listing.messages), len(listing.host_refs), len(listing.items), len(kept))
        return LifecycleReport(
            conversation=scope.key,
            subject=scope.subject,
            whole_space=scope.whole_space,
            transition=action,
            changed=False,
            affected_turns=total,
            turns=listing.turns,
            messages=listing.messages[:limit],
            host_refs=listing.host_refs[:limit],
            host_refs_redacted=listing.host_refs_redacted,
            items=listing.items[: self._budget.redaction_items][:limit],
            derived_refs=derived.listed,
            derived_refs_total=derived.total,
            derived_refs_redacted=derived.redacted,
            clipped=bool(over) or read < total or max(longest, derived.total, len(listing.conversations)) > limit,
            reason=request.reason if request else "",
            requester=request.requester if request else "",
            requested_ms=request.requested_ms if request else 0,
            kept_turns=sum(length(turns.span) for judgements in judged for turns in judgements.kept),
            affected_items=sum(judgements.affected for judgements in of_items),
            kept_items=sum(length(items.span) for judgements in of_items for items in judgements.kept),
            unreadable_turns=sum(judgements.unreadable for judgements in judged),
            conversations=listing.conversations[:limit],
            kept=kept[:limit],
            budget_applied=over,
        )

    def _derived(self, judged: list[Judgements]) -> ConcernedRefs:
        """Return what was derived from the turns that are affected, as the views show it and as much as fits."""
        limit = self._limit if self._budget.derived_refs is None else min(self._limit, self._budget.derived_refs)
        planes = shown_planes(self._views)
        of_all = ConcernedRefs([], 0, 0)
        for judgements in judged:
            affected = AffectedTurns(judgements.turns.head, judgements.spans, judgements.turns.message)
            more = derived_refs(self._space, self._reader, affected, planes, limit - len(of_all.listed))
            of_all = ConcernedRefs(
                of_all.listed + more.listed, of_all.total + more.total, of_all.redacted + more.redacted
            )
        return of_all

    def _read(self, turns: Turns, span: TurnSpan) -> Iterator[ReadTurn]:
        """Yield turns as they are; one that does not open any more is left out."""
        transcript, last = self._space.transcript, span.last or 0
        try:
            yield from transcript.page(self._reader, turns.head, span.first, last, _labelled)
        except (Corrupt, KeyMissing):
            changes = transcript.changes(self._reader, turns.head)
            mark = transcript.mark(self._reader, turns.head)
            rows = self._reader.turns(turns.head.stream, span.first, last)
            for row in rows:
                for wanted in (_labelled, _no_words):
                    try:
                        yield transcript.read(row, row.turn_seq or 0, changes, mark, wanted)
                        break
                    except (Corrupt, KeyMissing):
                        continue

    # --- what is kept -------------------------------------------------------------------------------------------------

    def kept(self, judged: list[Judgements], *, several: bool) -> Iterator[KeptTurn]:
        """Yield what keeps each turn that stays, one thing after the other; one more than a report lists at most."""
        remaining = self._limit + 1
        reasons: dict[int, LifecycleRequest] = {}
        for judgements in judged:
            for kept in judgements.kept:
                if remaining <= 0:
                    return
                span = TurnSpan(kept.span.first, min(kept.span.last or 0, kept.span.first + remaining - 1))
                read = {turn.record.sequence: turn for turn in self._read(judgements.turns, span)}
                for turn in range(span.first, (span.last or 0) + 1):
                    for position in kept.verdict.by:
                        if position not in reasons:
                            reasons[position] = self.request_at(position)
                        key = judgements.turns.conversation if several else None
                        yield _kept(turn, kept, read.get(turn), position, reasons[position], key)
                        remaining -= 1

    def request_at(self, position: int) -> LifecycleRequest:
        """Return the request of the event at a position: who asked, and why."""
        row = self._reader.sealed(position)
        meta = None if row is None else self._space.ledger.open(row).meta
        if isinstance(meta, TurnLifecycle | PolicySet):
            return meta.request
        raise Corrupt(at=f"position {position}", problem="rows_missing")

    # --- what is in force ---------------------------------------------------------------------------------------------

    def holds(self, holds: Iterable[Hold], key: ConversationKey | None = None) -> Iterator[HoldInForce]:
        """Yield holds with who asked for them and why: those of a conversation, or (None) those of the space."""
        for hold in holds:
            request = self.request_at(hold.position)
            yield HoldInForce(
                position=hold.position,
                reason=request.reason,
                requester=request.requester,
                requested_ms=request.requested_ms,
                channel=key.channel if key else None,
                conversation=key.conversation if key else None,
                first=hold.span.first if key else None,
                last=hold.span.last,
                subject=None if hold.subject is None else SubjectId(hold.subject),
            )

    def policies(self, policies: Iterable[PolicyInForce]) -> Iterator[RetentionInForce]:
        """Yield policies with who asked for them and why."""
        for in_force in policies:
            request, policy = self.request_at(in_force.position), in_force.policy
            yield RetentionInForce(
                position=in_force.position,
                reason=request.reason,
                requester=request.requester,
                channel=None if policy.channel is None else Channel(policy.channel),
                conversation=None if policy.conversation is None else ConversationId(policy.conversation),
                keep_at_least_ms=policy.keep_at_least_ms,
                erase_after_ms=policy.erase_after_ms,
            )


def _apart(judged: list[Judgements]) -> tuple[list[Judgements], list[Judgements]]:
    """Return what was judged of turns, and what was judged of memory items, which are only counted."""
    turns = [judgements for judgements in judged if judgements.turns.conversation is not None]
    return turns, [judgements for judgements in judged if judgements.turns.conversation is None]


def _affected(judgements: Judgements, turns: list[TurnId]) -> AffectedConversation:
    key, affected = judgements.turns.conversation, judgements.affected
    assert key is not None, "items are counted alone"
    return AffectedConversation(
        channel=key.channel, conversation=key.conversation, affected_turns=affected, turns=turns
    )


def _kept(
    sequence: int,
    kept: KeptTurns,
    read: ReadTurn | None,
    position: int,
    request: LifecycleRequest,
    key: ConversationKey | None,
) -> KeptTurn:
    minimum_ms = kept.verdict.minimum_ms
    return KeptTurn(
        sequence=sequence,
        rule=kept.verdict.rule,
        position=position,
        reason=request.reason,
        requester=request.requester,
        turn=None if read is None else TurnId(read.record.meta.delivery.turn),
        keep_until_ms=None if minimum_ms is None or read is None else read.record.time_ms + minimum_ms,
        channel=None if key is None else key.channel,
        conversation=None if key is None else key.conversation,
    )


def _labelled(phase: Phase, meta: TurnMeta) -> bool:
    """Tell whether the report needs the words of a turn: only to say that references had labels."""
    return phase is Phase.ACTIVE and bool(meta.host_refs)


def _no_words(_phase: Phase, _meta: TurnMeta) -> bool:
    return False
