"""What is said of a request: what is affected as the operator's view shows it, what is kept and why.

Lists are cut at the limit of a report, counts are not. A turn that does not open any more is counted and has no
name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import Action, LifecycleRequest, PolicySet, TurnLifecycle, TurnSpan
from muniment.events.identity import Channel, ConversationId, ConversationKey, SpaceName, SubjectId, TurnId, message_id
from muniment.events.records import TurnMeta
from muniment.events.references import HostReference
from muniment.governance.budgets import BudgetApplied, applied, applied_to_slices
from muniment.governance.custody import PolicyInForce, Rule
from muniment.governance.detection.detection import NOWHERE
from muniment.governance.phases import Hold, Phase
from muniment.governance.profiles import NO_BUDGET, Budget, Ceiling
from muniment.governance.slices import RedactionItem, cut, hidden_references
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.operations.lifecycle.guard import Judgements, KeptTurns, length
from muniment.operations.lifecycle.scope import Scope, Turns
from muniment.operations.provenance.links import DerivedRef, derived_refs
from muniment.projections.transcript import ReadTurn
from muniment.space.space import Space


class ErasedPlace(Struct, frozen=True, kw_only=True):
    """One place where the words were, and what was done there."""

    place: str
    done: str


class ErasureReceipt(Struct, frozen=True, kw_only=True):
    """What an erasure did. `outside` lists what no store can reach; `proof` is a C2SP tlog-proof of the event.

    An erasure that had to leave turns in between, or reached several conversations, is several events: `positions` are
    all of them, `position`, `leaf` and `proof` those of the first; `lifecycle receipts` has the proofs of the others.
    """

    position: int
    leaf: str
    turns_erased: int
    places: list[ErasedPlace]
    outside: list[str]
    proof: str
    positions: list[int]


class AffectedConversation(Struct, frozen=True, kw_only=True):
    """What of a conversation a request affects, where it is about several."""

    channel: Channel
    conversation: ConversationId
    affected_turns: int
    turns: list[TurnId]


class KeptTurn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn whose words stay, and one thing that keeps it: a hold, or the policy with its legal minimum.

    `position` is that of the event; a turn that several holds keep is listed once for each. `turn` is absent where the
    turn does not open any more.
    """

    sequence: int
    rule: Rule
    position: int
    reason: str
    requester: str
    turn: TurnId | None = None
    keep_until_ms: int | None = None
    channel: Channel | None = None
    conversation: ConversationId | None = None


class HoldInForce(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hold of a turn (`first` is `last`), of a conversation (no `last`), of a subject, or of the space (no names)."""

    position: int
    reason: str
    requester: str
    requested_ms: int
    channel: Channel | None = None
    conversation: ConversationId | None = None
    first: int | None = None
    last: int | None = None
    subject: SubjectId | None = None


class RetentionInForce(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A retention policy in force: of a conversation, a channel (no conversation) or the space (neither)."""

    position: int
    reason: str
    requester: str
    channel: Channel | None = None
    conversation: ConversationId | None = None
    keep_at_least_ms: int | None = None
    erase_after_ms: int | None = None


class LifecycleReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request did. `clipped`: lists were cut at a limit or budget; the counts are whole.

    It is about `conversation`, `subject` or `whole_space`; what is about several conversations lists them.
    `kept_turns` were asked to be erased and are not, `kept` says why. `unreadable_turns` do not open any more and were
    left alone, because nobody can tell whether they were meant. `holds` and `policies` are listed by a review: those in
    force that bear on what was asked about.
    """

    conversation: ConversationKey | None = None
    subject: SubjectId | None = None
    whole_space: SpaceName | None = None
    transition: Action
    changed: bool
    affected_turns: int
    turns: list[TurnId]
    messages: list[str]
    host_refs: list[HostReference]
    host_refs_redacted: int
    items: list[RedactionItem]
    derived_refs: list[DerivedRef]
    derived_refs_total: int
    clipped: bool
    reason: str = ""
    requester: str = ""
    requested_ms: int = 0
    kept_turns: int = 0
    unreadable_turns: int = 0
    conversations: list[AffectedConversation] = []
    kept: list[KeptTurn] = []
    holds: list[HoldInForce] = []
    policies: list[RetentionInForce] = []
    position: int | None = None
    receipt: ErasureReceipt | None = None
    budget_applied: list[BudgetApplied] = []


class Reporting:
    """Makes the report about what was judged, in one state of the log."""

    def __init__(self, space: Space, reader: Reader, budget: Budget = NO_BUDGET) -> None:
        self._space = space
        self._reader = reader
        self._budget = budget
        self._most = space.limits.report_items_max

    def report(
        self, action: Action, scope: Scope, request: LifecycleRequest | None, judged: list[Judgements]
    ) -> LifecycleReport:
        """List what is affected as the operator's view shows it; the lists are cut at the limit, the counts are not."""
        most, several = self._most, scope.key is None
        total, read = sum(one.turns for one in judged), 0
        listing = ReportLists(self._budget)
        for one in judged:
            before = len(listing.turns)
            for span in one.spans:
                room = most - read
                if room <= 0:
                    break
                last = min(span.last or 0, span.first + room - 1)
                read += last - span.first + 1
                for turn in self._read(one.lot, TurnSpan(span.first, last)):
                    listing.add(turn, one.lot.message)
            if several and one.turns:
                listing.conversations.append(_affected(one, listing.turns[before:]))
        kept = list(self.kept(judged, several=several))
        derived, derived_total = self._derived(judged)
        over = applied_to_slices(self._budget, listing.items)
        over += applied(self._budget, {Ceiling.DERIVED_REFS: derived_total})
        longest = max(len(listing.messages), len(listing.host_refs), len(listing.items), len(kept))
        return LifecycleReport(
            conversation=scope.key,
            subject=scope.subject,
            whole_space=scope.whole_space,
            transition=action,
            changed=False,
            affected_turns=total,
            turns=listing.turns,
            messages=listing.messages[:most],
            host_refs=listing.host_refs[:most],
            host_refs_redacted=hidden_references(listing.items),
            items=listing.items[: self._budget.redaction_items][:most],
            derived_refs=derived,
            derived_refs_total=derived_total,
            clipped=bool(over) or read < total or max(longest, derived_total, len(listing.conversations)) > most,
            reason=request.reason if request else "",
            requester=request.requester if request else "",
            requested_ms=request.requested_ms if request else 0,
            kept_turns=sum(length(each.span) for one in judged for each in one.kept),
            unreadable_turns=sum(one.unreadable for one in judged),
            conversations=listing.conversations[:most],
            kept=kept[:most],
            budget_applied=over,
        )

    def _derived(self, judged: list[Judgements]) -> tuple[list[DerivedRef], int]:
        """Return what was derived from the turns that are affected, as much as fits, and how much there is."""
        most = self._most if self._budget.derived_refs is None else min(self._most, self._budget.derived_refs)
        listed: list[DerivedRef] = []
        total = 0
        for one in judged:
            found, count = derived_refs(self._space, self._reader, one.lot.head, one.spans, most - len(listed))
            listed += found
            total += count
        return listed, total

    def _read(self, lot: Turns, span: TurnSpan) -> Iterator[ReadTurn]:
        """Yield turns as they are; one that does not open any more is left out."""
        transcript, last = self._space.transcript, span.last or 0
        try:
            yield from transcript.page(self._reader, lot.head, span.first, last, _labelled)
        except (Corrupt, KeyMissing):
            changes = transcript.changes(self._reader, lot.head)
            rows = self._reader.turns(lot.head.stream, span.first, last)
            for row in rows:
                for wanted in (_labelled, _no_words):
                    try:
                        yield transcript.read(row, row.turn_seq or 0, changes, wanted)
                        break
                    except (Corrupt, KeyMissing):
                        continue

    # --- what is kept -------------------------------------------------------------------------------------------------

    def kept(self, judged: list[Judgements], *, several: bool) -> Iterator[KeptTurn]:
        """Yield what keeps each turn that stays, one thing after the other; one more than a report lists at most."""
        left = self._most + 1
        reasons: dict[int, LifecycleRequest] = {}
        for one in judged:
            for kept in one.kept:
                if left <= 0:
                    return
                span = TurnSpan(kept.span.first, min(kept.span.last or 0, kept.span.first + left - 1))
                read = {turn.record.sequence: turn for turn in self._read(one.lot, span)}
                for turn in range(span.first, (span.last or 0) + 1):
                    for position in kept.verdict.by:
                        if position not in reasons:
                            reasons[position] = self.request_at(position)
                        said = _kept(turn, kept, read.get(turn), reasons[position])
                        key = one.lot.key
                        named = replace(said, channel=key.channel, conversation=key.conversation) if several else said
                        yield replace(named, position=position)
                        left -= 1

    def request_at(self, position: int) -> LifecycleRequest:
        """Return who asked for what stands at a position, and why."""
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
        for each in policies:
            request, policy = self.request_at(each.position), each.policy
            yield RetentionInForce(
                position=each.position,
                reason=request.reason,
                requester=request.requester,
                channel=None if policy.channel is None else Channel(policy.channel),
                conversation=None if policy.conversation is None else ConversationId(policy.conversation),
                keep_at_least_ms=policy.keep_at_least_ms,
                erase_after_ms=policy.erase_after_ms,
            )


class ReportLists:
    """The lists of a report as they grow."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.turns: list[TurnId] = []
        self.messages: list[str] = []
        self.host_refs: list[HostReference] = []
        self.items: list[RedactionItem] = []
        self.conversations: list[AffectedConversation] = []

    def add(self, read: ReadTurn, message: int | None) -> None:
        """Take a turn, or one message of it."""
        # ids and references alone are taken from the slice, so that there is nothing to look for in its words
        shown, withheld = cut(read.record, View.OPERATOR_AUDIT, self._budget.host_refs_per_turn, detection=NOWHERE)
        self.turns.append(TurnId(shown.turn))
        if message is not None:
            self.messages.append(message_id(TurnId(shown.turn), message))
            return
        self.messages += [each.id for each in shown.messages]
        self.host_refs += shown.host_refs
        self.items += [item for item in withheld if item.host_ref is not None]


def _affected(one: Judgements, turns: list[TurnId]) -> AffectedConversation:
    key = one.lot.key
    return AffectedConversation(
        channel=key.channel, conversation=key.conversation, affected_turns=one.turns, turns=turns
    )


def _kept(sequence: int, kept: KeptTurns, read: ReadTurn | None, request: LifecycleRequest) -> KeptTurn:
    minimum_ms = kept.verdict.minimum_ms
    return KeptTurn(
        sequence=sequence,
        rule=kept.verdict.rule,
        position=kept.verdict.by[0],
        reason=request.reason,
        requester=request.requester,
        turn=None if read is None else TurnId(read.record.meta.delivery.turn),
        keep_until_ms=None if minimum_ms is None or read is None else read.record.time_ms + minimum_ms,
    )


def _labelled(phase: Phase, meta: TurnMeta) -> bool:
    """Tell whether the report needs the words of a turn: only to say that references had labels."""
    return phase is Phase.ACTIVE and bool(meta.host_refs)


def _no_words(_phase: Phase, _meta: TurnMeta) -> bool:
    return False
