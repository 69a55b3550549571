"""Approvals: that some operations take a second person, and what was asked and decided, in the stream of the space.

`approval.set` says which operations need the confirmation of a second person, and how long a request waits for it.
`approval.requested` is a request that waits. `approval.decided` names it in its references (`"approval"`), and says in
the reason of its header what became of it: confirmed, refused, or used. An approval that was used is spent
(decision 0132). All of them are changes of the space, so that the head of its stream counts them and none can be left
out unnoticed.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.events.caller import Caller
from muniment.events.changes import ERASED, LifecycleRequest

APPROVAL = "approval"  # the reference that names a request


class GuardedAct(StrEnum):
    """What may take a second person. `approvals` is a change of these rules, which takes one where any rule is set."""

    ERASE = "erase"
    REVEAL = "reveal"
    APPROVALS = "approvals"


class ApprovalStep(StrEnum):
    """What became of a request; the header of `approval.decided` names it in `reason`."""

    CONFIRMED = "confirmed"
    REFUSED = "refused"
    USED = "used"


class ApprovalRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The acts that take a second person, sorted, and the time in which a request is confirmed and used."""

    acts: list[GuardedAct]
    within_ms: int


class ApprovalSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """From this event on, the rule is in force and replaces an earlier one. A rule without acts ends it."""

    rule: ApprovalRule
    request: LifecycleRequest


class ExactRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The keyed digest of the exact request: act, `about`, reason, requester, and the subject the access spoke for.

    It would confirm a guess at the reason, and is kept like words (`events.wording`).
    """

    digest: str = ERASED


class ApprovalRequested(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Somebody asked for an act that takes a second person.

    `about` names what it is about, by the fields of the request; nothing that was said.
    """

    act: GuardedAct
    about: dict[str, str]
    exact: ExactRequest
    expires_ms: int
    request: LifecycleRequest
    caller: Caller


class ApprovalDecided(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A request was confirmed or refused by this person, or used by the one who asked."""

    request: LifecycleRequest
    caller: Caller
