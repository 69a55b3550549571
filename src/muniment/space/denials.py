"""Refused attempts on record: who asked for what their access does not include.

The first refusal of an operation for want of a right is appended at once, as `access.denied` in the stream of the
space. Those that follow within a minute are only counted, in this process and, when it closes the space, in the store,
so that several processes share the count; the next event of the same operation and right tells how many there were. So
a flood costs one event a minute for each operation and right, of which there are few. A refusal that cannot be written
down is counted likewise, and refused all the same. Only a process that is killed takes its count of a minute along.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Struct

from muniment.errors import MunimentError
from muniment.events.disclosures import AccessRefused, Denial
from muniment.events.records import EventKind
from muniment.kernel.locks import new_lock
from muniment.kernel.sources import Sources
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Ledger, Writer

QUIET_MS = 60_000


class DeniedAttempt(NamedTuple):
    """What was refused: an operation, for want of a right, by a policy or (empty) by none."""

    operation: str
    right: str
    policy: str = ""


class PendingDenials(Struct, frozen=True, array_like=True):
    """Attempts that are in no event yet, since the first of them, and when they were last written down."""

    attempts: int = 0
    since_ms: int = 0
    written_ms: int | None = None

    def with_more(self, attempts: int, since_ms: int) -> PendingDenials:
        """Return the same with further attempts."""
        return PendingDenials(self.attempts + attempts, self.since_ms if self.attempts else since_ms, self.written_ms)

    def is_quiet(self, now_ms: int) -> bool:
        """Tell whether it is too early for another event."""
        return self.written_ms is not None and 0 <= now_ms - self.written_ms < QUIET_MS


NOTHING = PendingDenials()


class Denials:
    """The refused attempts of one space, as far as this process has seen them. Thread-safe."""

    def __init__(self, ledger: Ledger, sources: Sources) -> None:
        self._ledger = ledger
        self._sources = sources
        self._lock = new_lock()
        self._waiting: dict[DeniedAttempt, PendingDenials] = {}

    def note(self, refusal: DeniedAttempt, subject: str | None) -> None:
        """Put an attempt on record, or count it."""
        now_ms = self._sources.clock.now_ms()
        with self._lock:
            waiting = self._waiting.get(refusal, NOTHING).with_more(1, now_ms)
            self._waiting[refusal] = waiting
            if not waiting.is_quiet(now_ms):
                self._write(refusal, subject, now_ms)

    def settle(self) -> None:
        """Hand on to the store what was only counted."""
        with self._lock:
            left = [refusal for refusal, waiting in self._waiting.items() if waiting.attempts]
            if left:
                now_ms = self._sources.clock.now_ms()
                for refusal in left:
                    self._write(refusal, None, now_ms)

    def _write(self, refusal: DeniedAttempt, subject: str | None, now_ms: int) -> None:
        mine = self._waiting[refusal]
        name = f"denials/{self._ledger.name_digest('denials', *refusal).hex()}"

        def plan(writer: Writer) -> None:
            known = _read(writer.tx.meta(name))
            waiting = known.with_more(mine.attempts, mine.since_ms)
            if not known.is_quiet(now_ms):
                denial = Denial(
                    operation=refusal.operation,
                    right=refusal.right,
                    policy=refusal.policy or None,
                    subject=subject,
                    attempts=waiting.attempts,
                    since_ms=waiting.since_ms,
                )
                writer.change(Change(EventKind.ACCESS_DENIED, now_ms, AccessRefused(denial=denial)))
                waiting = PendingDenials(written_ms=now_ms)
            writer.tx.put_meta(name, msgspec.json.encode(waiting))

        try:
            self._ledger.transact(plan)
        except MunimentError:  # the attempt is refused whether this can be written or not; the next event counts it
            return
        self._waiting[refusal] = PendingDenials(written_ms=now_ms)


def _read(kept: bytes | None) -> PendingDenials:
    """Return what the store has counted; what is no count, as somebody may have made of it, counts nothing."""
    try:
        return NOTHING if kept is None else msgspec.json.decode(kept, type=PendingDenials)
    except msgspec.DecodeError:
        return NOTHING
