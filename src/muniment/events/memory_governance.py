"""Governing memory: policies that stop what would be remembered, and what each run of a writer did.

Both are in the stream of the space, and changes of it, so that its head counts them and none can be left out unnoticed.
They hold ids and names. What a person writes about a policy of one subject (the pattern of its topics) is the content
of an entry in a notebook of that subject, which the event names in its references, and is destroyed with it; the reason
of the event goes at the same time (`projections.space_words`). A policy for all subjects has no such entry, and no
pattern: it knows its one topic by a keyed digest, as slots do.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.events.changes import LifecycleRequest


class PolicyAction(StrEnum):
    """What a policy does, or what ends one."""

    PAUSE = "pause"
    RESUME = "resume"
    SUPPRESS = "suppress"
    LIFT = "lift"
    FOLLOW = "follow"
    KEEP = "keep"


class PolicySelector(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What a policy is about, by names; what is None is not looked at.

    `topic` is the keyed digest of a topic, in hex; `has_pattern` says that the entry of the policy has a pattern.
    """

    subject: str | None = None
    kind: str | None = None
    scope: str | None = None
    channel: str | None = None
    conversation: str | None = None
    topic: str | None = None
    has_pattern: bool = False


class MemoryPolicySet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A policy begins (`policy` is its id), and policies end (`ends` are their ids).

    `until_ms` is when it ends by itself (0: never). The words of a policy of one subject are in the entry of its id.
    """

    policy: str
    action: PolicyAction
    request: LifecycleRequest
    selector: PolicySelector = PolicySelector()
    until_ms: int = 0
    ends: list[str] = []


class RunRecorded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What one request of a run did: the ids of the items that it recorded, retired and revised, and its decisions."""

    run: str
    writer: str
    recorded: list[str] = []
    retired: list[str] = []
    revised: list[str] = []
    decisions: dict[str, int] = {}
