"""Approval by two persons: which rule is in force, what became of a request, and who may confirm it.

1. A request is pending until somebody else confirms or refuses it; it expires at a time that is set when it is made.
2. A confirmation comes from another person: no name and no subject of the one is a name or subject of the other.
   Names are compared without regard to case and to the spelling of their characters.
3. A confirmed request may be used once, by the exact request, before it expires.
4. A rule may be made stricter by one person. Whatever else changes a rule in force is itself an act that takes two.

Names are what a host says. A host that does not authenticate its users gains nothing from this.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.approving import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRule,
    ApprovalSet,
    ApprovalStep,
    GuardedAct,
)

APPROVAL_MS_MIN, APPROVAL_MS_MAX = 60_000, 365 * 24 * 60 * 60 * 1000


class ApprovalState(StrEnum):
    """Where a request stands."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    USED = "used"
    EXPIRED = "expired"


class KnownApproval(Struct, frozen=True, kw_only=True):
    """A request with its position, the last step, and the last decision about it of a person who may decide."""

    position: int
    asked: ApprovalRequested
    step: ApprovalStep | None = None
    decided: ApprovalDecided | None = None

    def state(self, now_ms: int) -> ApprovalState:
        """Return where the request stands at a time. A clock that was set back does not prolong it."""
        if self.step in {ApprovalStep.REFUSED, ApprovalStep.USED}:
            return ApprovalState(self.step)
        if not self.asked.request.requested_ms <= now_ms < self.asked.expires_ms:
            return ApprovalState.EXPIRED
        return ApprovalState.PENDING if self.step is None else ApprovalState.CONFIRMED


class Approvals(Struct, frozen=True, kw_only=True):
    """The rule in force, with the position of its event, and all requests by position, in log order."""

    rule: ApprovalRule | None = None
    position: int | None = None
    requests: dict[int, KnownApproval] = {}

    def takes_two(self, act: GuardedAct) -> bool:
        """Return whether an act takes a second person."""
        return self.rule is not None and (act is GuardedAct.APPROVALS or act in self.rule.acts)

    def open_request(self, digest: str, now_ms: int) -> KnownApproval | None:
        """Return the newest request of this digest that is pending or confirmed."""
        known = [each for each in self.requests.values() if each.asked.exact.digest == digest]
        waiting = {ApprovalState.PENDING, ApprovalState.CONFIRMED}
        return next((each for each in reversed(known) if each.state(now_ms) in waiting), None)


ApprovalBody = ApprovalSet | ApprovalRequested | tuple[int, ApprovalStep, ApprovalDecided]


def approvals_of(events: Iterable[tuple[int, ApprovalBody]]) -> Approvals:
    """Return the approvals after events in log order: position and body; a decision names its request and the step."""
    known = Approvals(requests={})
    requests = known.requests
    for position, body in events:
        if isinstance(body, ApprovalSet):
            known = replace(known, rule=body.rule if body.rule.acts else None, position=position)
        elif isinstance(body, ApprovalRequested):
            requests[position] = KnownApproval(position=position, asked=body)
        else:
            named, step, decided = body
            last = requests[named].decided if step is ApprovalStep.USED else decided
            requests[named] = replace(requests[named], step=step, decided=last)
    return known


def is_another_person(asked: ApprovalRequested, approver: str, subject: str | None) -> bool:
    """Return whether somebody, by name and by the subject that the access speaks for, is not the one who asked."""
    theirs = _names(asked.request.requester, asked.caller.subject)
    return theirs.isdisjoint(_names(approver, subject))


def is_stricter(rule: ApprovalRule, former: ApprovalRule) -> bool:
    """Return whether a rule asks for a second person wherever the former does, and waits as long.

    A shorter time is not stricter: nobody could confirm anything within it, nor change it back.
    """
    return set(former.acts) <= set(rule.acts) and rule.within_ms == former.within_ms


def _names(*names: str | None) -> set[str]:
    return {unicodedata.normalize("NFKC", name).casefold().strip() for name in names if name is not None}
