"""Policies of memory: which future writes stop, and which items go with the last turn that they rest on (LT-23, LT-24).

A policy begins with one event and ends with another one, or by itself at a time. `in_force` folds those events.

1. A policy applies to what matches every part of its selector: subject, kind, scope, a conversation of the evidence,
   and the topic. Topics are compared as slots compare them; `*` in a pattern stands for any text.
2. What a suppression stops is refused; what only a pause stops is deferred.
3. A policy whose pattern was erased with its subject has ended: nobody can tell any more what it was about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from msgspec import Struct

from muniment.events.memory_governance import MemoryPolicySet, PolicyAction, PolicySelector
from muniment.events.memory_items import ItemKind, ItemScope
from muniment.memory.candidate import Ruling
from muniment.memory.kinds import slot_topic

SUPPRESSED_BY_POLICY = "suppressed_by_policy"
ANY_TEXT = "*"

# what stops writes -> what becomes of them, the strongest first
STOPS: dict[PolicyAction, Ruling] = {PolicyAction.SUPPRESS: Ruling.REFUSE, PolicyAction.PAUSE: Ruling.DEFER}

# what ends policies -> what it ends
ENDS: dict[PolicyAction, PolicyAction] = {
    PolicyAction.RESUME: PolicyAction.PAUSE,
    PolicyAction.LIFT: PolicyAction.SUPPRESS,
    PolicyAction.KEEP: PolicyAction.FOLLOW,
}


class MemoryPolicy(Struct, frozen=True, kw_only=True):
    """A policy as the log has it: its position, its event, and its pattern, unless there is none or it is erased."""

    position: int
    event: MemoryPolicySet
    pattern: str | None = None

    @property
    def id(self) -> str:
        """The id of the policy."""
        return self.event.policy

    @property
    def has_lost_its_pattern(self) -> bool:
        """Whether the pattern was erased with the subject."""
        return self.event.selector.has_pattern and self.pattern is None

    def is_over(self, now_ms: int) -> bool:
        """Tell whether it has ended by itself."""
        return 0 < self.event.until_ms <= now_ms or self.has_lost_its_pattern


class Statement(NamedTuple):
    """What a policy looks at: a statement, whose it is, and the conversations that it rests on, with their channels."""

    subject: str
    kind: ItemKind
    scope: ItemScope
    topic: str
    conversations: Collection[tuple[str, str]]


TopicDigest = Callable[[str], str]  # the keyed digest of a topic, as slots compare topics


def in_force(policies: Iterable[MemoryPolicy], now_ms: int) -> list[MemoryPolicy]:
    """Return the policies that are in force at a time, given all in log order, in log order."""
    known: dict[str, MemoryPolicy] = {}
    for policy in policies:
        for ended in policy.event.ends:
            known.pop(ended, None)
        if policy.event.action not in ENDS:
            known[policy.id] = policy
    return [policy for policy in known.values() if not policy.is_over(now_ms)]


def stopped_by(policies: Iterable[MemoryPolicy], statement: Statement, digest: TopicDigest) -> MemoryPolicy | None:
    """Return the policy that stops a statement from being remembered, or None: a suppression before a pause."""
    found = [policy for policy in policies if policy.event.action in STOPS and applies(policy, statement, digest)]
    return min(found, key=lambda policy: list(STOPS).index(policy.event.action), default=None)


def applies(policy: MemoryPolicy, statement: Statement, digest: TopicDigest) -> bool:
    """Tell whether a statement matches every part of the selector of a policy."""
    selector = policy.event.selector
    return (
        selector.subject in {None, statement.subject}
        and selector.kind in {None, statement.kind}
        and selector.scope in {None, statement.scope}
        and (selector.conversation is None or _names(selector) in statement.conversations)
        and (selector.topic is None or selector.topic == digest(statement.topic))
        and (policy.pattern is None or fits(policy.pattern, statement.topic))
    )


def _names(selector: PolicySelector) -> tuple[str, str]:
    return selector.channel or "", selector.conversation or ""


def fits(pattern: str, topic: str) -> bool:
    """Tell whether a topic fits a pattern, in which `*` stands for any text; both as slots compare topics."""
    first, *others = slot_topic(pattern).split(ANY_TEXT)
    told = slot_topic(topic)
    if not others:
        return told == first
    last, at = others.pop(), len(first)
    if not told.startswith(first) or not told.endswith(last) or len(told) < len(first) + len(last):
        return False
    end = len(told) - len(last)
    for part in others:  # the first place that fits leaves most room for what follows
        found = told.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
