"""Custody: whether content is kept or erased, and which of several rules decides.

Several rules may apply to a turn at once: a legal hold, a legal minimum of retention, a request to erase it, a policy
under which it has expired. `KEEPS` has the order in which they decide; nothing else decides what is erased (decision
0050).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.events.changes import RetentionPolicy
from muniment.events.turn import Attribution, attributed


class Rule(StrEnum):
    """A reason to keep or erase the content of a turn."""

    HOLD = "hold"
    LEGAL_MINIMUM = "legal_minimum"
    ERASE_REQUEST = "erase_request"
    RETENTION = "retention"
    DEFAULT = "default"


# The first rule that applies decides: True keeps the content. guide/lifecycle.md is generated from it.
KEEPS: dict[Rule, bool] = {
    Rule.HOLD: True,
    Rule.LEGAL_MINIMUM: True,
    Rule.ERASE_REQUEST: False,
    Rule.RETENTION: False,
    Rule.DEFAULT: True,
}


def ruling(applying: Collection[Rule]) -> Rule:
    """Return the deciding rule of those that apply to a turn; the default applies to every turn."""
    return next(rule for rule in KEEPS if rule in applying or rule is Rule.DEFAULT)


# --- retention --------------------------------------------------------------------------------------------------------


class PolicyInForce(Struct, frozen=True, kw_only=True):
    """A policy of the space, identified by the position of the event that set it."""

    position: int
    policy: RetentionPolicy


class RetentionTerms(NamedTuple):
    """The retention of a conversation: the minimum and its policy, and the age at which turns expire."""

    keep_at_least_ms: int | None = None
    policy: int | None = None
    erase_after_ms: int | None = None

    def kept_by_law(self, age_ms: int) -> bool:
        """Return whether a turn of this age must be kept."""
        return self.keep_at_least_ms is not None and age_ms < self.keep_at_least_ms

    def due(self, age_ms: int) -> bool:
        """Return whether a turn of this age has expired."""
        return self.erase_after_ms is not None and age_ms >= self.erase_after_ms


def in_force(policies: Iterable[PolicyInForce]) -> list[PolicyInForce]:
    """Return the policies in force after these, which are in log order: the last one of each scope."""
    last: dict[tuple[str | None, str | None], PolicyInForce] = {}
    for current in policies:
        scope = (current.policy.channel, current.policy.conversation)
        last.pop(scope, None)
        if current.policy.keep_at_least_ms is not None or current.policy.erase_after_ms is not None:
            last[scope] = current
    return list(last.values())


def terms_of(policies: Iterable[PolicyInForce], channel: str, conversation: str) -> RetentionTerms:
    """Return the retention of a conversation under the policies in force.

    The longest applicable minimum applies, so that no narrower scope shortens it. The expiry is that of the narrowest
    scope with one: conversation, channel, space.
    """
    scopes = [(None, None), (channel, None), (channel, conversation)]
    applying = {(current.policy.channel, current.policy.conversation): current for current in policies}
    narrowing = [applying[scope] for scope in scopes if scope in applying]
    minima = [(rule.policy.keep_at_least_ms, rule.position) for rule in narrowing if rule.policy.keep_at_least_ms]
    longest, policy = max(minima, default=(None, None))
    ends = [rule.policy.erase_after_ms for rule in narrowing if rule.policy.erase_after_ms is not None]
    return RetentionTerms(longest, policy, ends[-1] if ends else None)


# --- subjects ---------------------------------------------------------------------------------------------------------


def subjects_of(actor: Attribution) -> frozenset[str]:
    """Return the subjects of a turn: its own, the acting and the mounted one; speakers are not subjects."""
    filled = attributed(actor)
    named = (filled.subject, filled.acting_subject, filled.mounted_subject)
    return frozenset(name for name in named if name is not None)
