"""When the head of a log is signed and pinned besides every `CHECKPOINT_EVENTS` events and at closing.

An older copy of a store is noticed as far as its pin knows. So whatever takes something away, protects it or changes
the rules is pinned at once, and everything else after a while. Time is that of the events: there is no other clock.
"""

from __future__ import annotations

from collections.abc import Collection

from muniment.events.records import EventKind

PIN_INTERVAL_S = 600  # of a log that grows, where nobody sets another
SECOND_MS = 1000
PINNED_AT_ONCE = frozenset(
    {
        EventKind.TURN_REDACTED,
        EventKind.TURN_LIFECYCLE,  # masks, erasures, holds and their releases
        EventKind.POLICY_SET,
        EventKind.APPROVAL_SET,
    }
)


class PinTimes:
    """Tells after which events the head is signed, so that it can be pinned."""

    def __init__(self, interval_s: int = PIN_INTERVAL_S) -> None:
        self._interval_ms = interval_s * SECOND_MS
        self._since_ms: int | None = None

    def is_due(self, kinds: Collection[str], now_ms: int) -> bool:
        """Tell whether the head is signed after events of these kinds; the time counts from the first that is asked."""
        since = self._since_ms
        is_due = not PINNED_AT_ONCE.isdisjoint(kinds)
        is_due |= since is not None and not since <= now_ms < since + self._interval_ms
        if is_due or since is None:
            self._since_ms = now_ms
        return is_due
