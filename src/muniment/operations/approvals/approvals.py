"""The noun group `approvals`: erasing and revealing by two persons (decision 0132)."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.operation import Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.approving import ApprovalDecided, ApprovalRule, ApprovalSet, ApprovalStep, GuardedAct
from muniment.events.changes import LifecycleRequest
from muniment.events.records import EventKind
from muniment.governance.approval_rules import (
    APPROVAL_MS_MAX,
    APPROVAL_MS_MIN,
    Approvals,
    ApprovalState,
    KnownApproval,
    is_another_person,
    is_stricter,
)
from muniment.kernel.times import DAY_MS, DURATION
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.operations.approvals.gate import GuardedRequest, caller_of, decide, known_approvals
from muniment.operations.parameters import Requester, Why, requested

Approver = Annotated[str, Meta(description="Who decides; recorded. A name of at most 512 bytes.")]
ApprovalPosition = Annotated[int, Meta(description="Position of the request in the log.")]


class ApprovalEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request for what takes two persons: what for, by whom, until when, and what became of it."""

    position: int
    act: GuardedAct
    state: ApprovalState
    about: dict[str, str]
    requester: str
    reason: str
    requested_ms: int
    expires_ms: int
    subject: str | None = None
    decided_by: str | None = None
    decided_ms: int | None = None
    decided_for: str | None = None


class ApprovalRuleInForce(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which acts take two persons, and how long a request waits. Without `position` no rule was ever set."""

    changed: bool
    acts: list[GuardedAct]
    within_ms: int = 0
    position: int | None = None


class ApprovalList(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rule in force and the newest requests. `clipped`: there are older ones."""

    rule: ApprovalRuleInForce
    approvals: list[ApprovalEntry]
    clipped: bool = False


class ApprovalReport(Struct, frozen=True, kw_only=True):
    """What was decided about a request; `changed` is false when that had been decided before."""

    changed: bool
    approval: ApprovalEntry


class ApprovalGroup(Group):
    """Erase and reveal by two persons: set the rule, list requests, confirm, refuse."""

    name = "approvals"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.LIFECYCLE, request="ListApprovalsRequest")
    def list_(
        self,
        limit: Annotated[int, Meta(description="Maximum of requests to list; above 0.")] = 50,
    ) -> ApprovalList:
        """List which operations take two persons, and the newest requests with what became of them.

        Shows who asked for what and why, until when, and who decided. Shows no content. Appends nothing.
        """
        if limit < 1:
            raise InvalidInput(at="limit", problem="not_positive", found=limit)
        space, now_ms = self._session.space, self._now_ms()
        with space.ledger.reader() as reader:
            known = known_approvals(space, reader)
        newest = islice(reversed(known.requests.values()), min(limit, space.limits.report_items_max))
        entries = [_entry(each, now_ms) for each in newest]
        clipped = len(entries) < len(known.requests)
        return ApprovalList(rule=_rule(known, changed=False), approvals=entries, clipped=clipped)

    @operation(Effect.ADMIN, family=Family.LIFECYCLE, idempotent=True, request="RequireApprovalsRequest")
    def require(
        self,
        acts: Annotated[list[GuardedAct], Meta(description="What takes two persons: erase, reveal. None: nothing.")],
        reason: Why,
        requester: Requester,
        within_ms: Annotated[
            int,
            Meta(description="Milliseconds in which a request is confirmed and used. Default: a day.", extra=DURATION),
        ] = DAY_MS,
    ) -> ApprovalRuleInForce:
        """Set which operations take the confirmation of a second person, in this space.

        Appends `approval.set`; it replaces the former rule. `erase` covers every erasure on request, and retention
        policies under which content is erased. Making a rule stricter takes one person; whatever else changes a rule
        that is in force takes two, like the acts themselves. Setting the same again changes nothing. Raises
        `approval.needed`.
        """
        if not APPROVAL_MS_MIN <= within_ms <= APPROVAL_MS_MAX:
            raise InvalidInput(at="within_ms", problem="out_of_range", limit=APPROVAL_MS_MAX, found=within_ms)
        if GuardedAct.APPROVALS in acts:
            raise InvalidInput(at="acts", problem="not_taken")
        rule = ApprovalRule(acts=sorted(set(acts)), within_ms=within_ms)
        return self._set(rule, requested(self._session, reason, requester))

    @operation(Effect.ADMIN, family=Family.LIFECYCLE, idempotent=True, request="ConfirmApprovalRequest")
    def confirm(self, approval: ApprovalPosition, reason: Why, approver: Approver) -> ApprovalReport:
        """Confirm a request of somebody else; it runs when they repeat it, once, before it expires.

        Appends `approval.decided`. The one who asked cannot confirm, neither by the same name nor through an access
        that speaks for the same subject. Confirming again changes nothing. Raises `request.invalid` for a request that
        does not exist, has expired, was refused or was used.
        """
        return self._decide(approval, ApprovalStep.CONFIRMED, requested(self._session, reason, approver, "approver"))

    @operation(Effect.ADMIN, family=Family.LIFECYCLE, idempotent=True, request="RefuseApprovalRequest")
    def refuse(self, approval: ApprovalPosition, reason: Why, approver: Approver) -> ApprovalReport:
        """Refuse a request, or withdraw a confirmation that was not used yet.

        Appends `approval.decided`. The one who asked may refuse their own request. Refusing again changes nothing.
        Raises `request.invalid` for a request that does not exist, has expired or was used.
        """
        return self._decide(approval, ApprovalStep.REFUSED, requested(self._session, reason, approver, "approver"))

    def _set(self, rule: ApprovalRule, request: LifecycleRequest) -> ApprovalRuleInForce:
        space = self._session.space
        about = {"acts": " ".join(rule.acts), "within_ms": str(rule.within_ms)}
        guarded = GuardedRequest(session=self._session, act=GuardedAct.APPROVALS, about=about, request=request)
        with space.ledger.reader() as reader:
            takes_two = _takes_two(known_approvals(space, reader), rule)
        if takes_two:
            guarded.ask()

        def plan(writer: Writer) -> bool:
            known = known_approvals(space, writer.tx)
            if _is_set(known, rule):
                return False
            if _takes_two(known, rule):
                guarded.spend(writer)
            body = ApprovalSet(rule=rule, request=request)
            writer.change(Change(EventKind.APPROVAL_SET, request.requested_ms, body, {"first": 1}))
            return True

        changed = space.ledger.transact(plan)
        with space.ledger.reader() as reader:
            return _rule(known_approvals(space, reader), changed=changed)

    def _decide(self, position: int, step: ApprovalStep, request: LifecycleRequest) -> ApprovalReport:
        space, caller = self._session.space, caller_of(self._session)

        def plan(writer: Writer) -> bool:
            approval = known_approvals(space, writer.tx).requests.get(position)
            if approval is None:
                raise InvalidInput(at="approval", problem="no_such_request")
            if approval.step is step:
                return False
            state = approval.state(request.requested_ms)
            allowed = {ApprovalState.PENDING} | ({ApprovalState.CONFIRMED} if step is ApprovalStep.REFUSED else set())
            if state not in allowed:
                raise InvalidInput(at="approval", problem=state)
            if step is ApprovalStep.CONFIRMED and not is_another_person(
                approval.asked, request.requester, caller.subject
            ):
                raise InvalidInput(at="approver", problem="asked_for_it")
            decide(writer, approval, step, ApprovalDecided(request=request, caller=caller))
            return True

        changed = space.ledger.transact(plan)
        with space.ledger.reader() as reader:
            approval = known_approvals(space, reader).requests[position]
        return ApprovalReport(changed=changed, approval=_entry(approval, self._now_ms()))

    def _now_ms(self) -> int:
        return self._session.space.sources.clock.now_ms()


def _is_set(known: Approvals, rule: ApprovalRule) -> bool:
    return known.rule == rule or (known.rule is None and not rule.acts)


def _takes_two(known: Approvals, rule: ApprovalRule) -> bool:
    """Tell whether a change to a rule takes two persons: any that does not only make it stricter."""
    return known.rule is not None and not _is_set(known, rule) and not is_stricter(rule, known.rule)


def _rule(known: Approvals, *, changed: bool) -> ApprovalRuleInForce:
    acts, within_ms = ([], 0) if known.rule is None else (known.rule.acts, known.rule.within_ms)
    return ApprovalRuleInForce(changed=changed, acts=acts, within_ms=within_ms, position=known.position)


def _entry(approval: KnownApproval, now_ms: int) -> ApprovalEntry:
    asked, decided = approval.asked, approval.decided
    return ApprovalEntry(
        position=approval.position,
        act=asked.act,
        state=approval.state(now_ms),
        about=asked.about,
        requester=asked.request.requester,
        reason=asked.request.reason,
        requested_ms=asked.request.requested_ms,
        expires_ms=asked.expires_ms,
        subject=asked.caller.subject,
        decided_by=None if decided is None else decided.request.requester,
        decided_ms=None if decided is None else decided.request.requested_ms,
        decided_for=None if decided is None else decided.request.reason,
    )
