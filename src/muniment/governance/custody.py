"""Whether words are kept or erased: which rules apply to a turn, and which of them decides.

Several things may be said of one turn at once: somebody holds it, a law says how long it is kept at least, somebody
asks for it to be erased, a policy says that its time is over. `KEEPS` says who is heard, from the first rule to the
last; nothing else decides what is erased (decision 0050).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.events.changes import RetentionPolicy
from muniment.events.turn import Attribution, attributed


class Rule(StrEnum):
    """Why the words of a turn are kept or erased."""

    HOLD = "hold"
    LEGAL_MINIMUM = "legal_minimum"
    ERASE_REQUEST = "erase_request"
    RETENTION = "retention"
    DEFAULT = "default"


# The first rule that applies decides: True keeps the words. guide/lifecycle.md is generated from it.
KEEPS: dict[Rule, bool] = {
    Rule.HOLD: True,
    Rule.LEGAL_MINIMUM: True,
    Rule.ERASE_REQUEST: False,
    Rule.RETENTION: False,
    Rule.DEFAULT: True,
}


def ruling(applying: Collection[Rule]) -> Rule:
    """Return the rule that decides, of those that apply to a turn; the default applies to all of them."""
    return next(rule for rule in KEEPS if rule in applying or rule is Rule.DEFAULT)


# --- retention --------------------------------------------------------------------------------------------------------


class PolicyInForce(Struct, frozen=True, kw_only=True):
    """A policy of the space, named by the position of the event that set it."""

    position: int
    policy: RetentionPolicy


class RetentionTerms(NamedTuple):
    """What policies say of a conversation: how long at least, by which policy, and when its time is over."""

    keep_at_least_ms: int | None = None
    policy: int | None = None
    erase_after_ms: int | None = None

    def kept_by_law(self, age_ms: int) -> bool:
        """Tell whether a turn of this age has to be kept."""
        return self.keep_at_least_ms is not None and age_ms < self.keep_at_least_ms

    def due(self, age_ms: int) -> bool:
        """Tell whether the time of a turn of this age is over."""
        return self.erase_after_ms is not None and age_ms >= self.erase_after_ms


def in_force(policies: Iterable[PolicyInForce]) -> list[PolicyInForce]:
    """Return the policies that are in force after all of these were set, in log order: of each scope the last one."""
    last: dict[tuple[str | None, str | None], PolicyInForce] = {}
    for each in policies:
        scope = (each.policy.channel, each.policy.conversation)
        last.pop(scope, None)
        if each.policy.keep_at_least_ms is not None or each.policy.erase_after_ms is not None:
            last[scope] = each
    return list(last.values())


def terms_of(policies: Iterable[PolicyInForce], channel: str, conversation: str) -> RetentionTerms:
    """Return what policies in force say of a conversation.

    The longest minimum of all that apply holds, so that nobody shortens it by a narrower scope. The end is that of the
    narrowest scope that names one: conversation, channel, space.
    """
    scopes = [(None, None), (channel, None), (channel, conversation)]
    applying = {(each.policy.channel, each.policy.conversation): each for each in policies}
    narrowing = [applying[scope] for scope in scopes if scope in applying]
    minima = [(each.policy.keep_at_least_ms, each.position) for each in narrowing if each.policy.keep_at_least_ms]
    longest, policy = max(minima, default=(None, None))
    ends = [each.policy.erase_after_ms for each in narrowing if each.policy.erase_after_ms is not None]
    return RetentionTerms(longest, policy, ends[-1] if ends else None)


# --- subjects ---------------------------------------------------------------------------------------------------------


def subjects_of(actor: Attribution) -> frozenset[str]:
    """Return whose turn this is: its subject, the acting and the mounted one; speakers own nothing."""
    filled = attributed(actor)
    named = (filled.subject, filled.acting_subject, filled.mounted_subject)
    return frozenset(name for name in named if name is not None)
