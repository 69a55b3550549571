"""Time, ids and entropy, as arguments.

Three one-method protocols, each with a system and a deterministic form. Both forms are product code: a host runs on
the system ones, a replay fixture names the seeds of the deterministic ones, and the bytes of a store follow from them
alone. `Sources` bundles the three. One operation reads the clock once.

This is the only file that may call `time.time_ns` or `os.urandom` (checked by tests/test_tidy.py).
"""

from __future__ import annotations

import base64
import hashlib
import os
import time
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import force_setattr

from muniment.kernel.locks import new_lock

ID_BYTES = 16
MOMENT_MS_MAX = 253_402_300_799_999  # the end of the year 9999, the last one of the calendar


class Clock(Protocol):
    """Gives the time."""

    def now_ms(self) -> int:
        """Return UTC milliseconds since 1970-01-01."""
        ...


class Entropy(Protocol):
    """Gives bytes that nobody can guess (or, deterministic, bytes that everybody can repeat)."""

    def take(self, size: int) -> bytes:
        """Return `size` bytes."""
        ...


class IdSource(Protocol):
    """Makes opaque ids."""

    def new_id(self) -> str:
        """Return 128 bits as 22 characters of unpadded base64url."""
        ...


def within_calendar(ms: int) -> int:
    """Return a moment, or the nearest one between 1970 and the year 9999."""
    return min(max(ms, 0), MOMENT_MS_MAX)


class SystemClock:
    """The clock of the machine. It may jump; nothing in the log is ordered by it."""

    def now_ms(self) -> int:
        """Return UTC milliseconds since 1970-01-01."""
        return within_calendar(time.time_ns() // 1_000_000)


class CalendarClock:
    """A clock of somebody else, kept within the calendar."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        """Return UTC milliseconds since 1970-01-01."""
        return within_calendar(self._clock.now_ms())


class SystemEntropy:
    """The operating system's generator."""

    def take(self, size: int) -> bytes:
        """Return `size` bytes."""
        return os.urandom(size)


class FixedClock:
    """A clock that starts at `start_ms` and moves by `step_ms` at each reading."""

    def __init__(self, start_ms: int, *, step_ms: int = 0) -> None:
        self._next_ms = start_ms
        self._step_ms = step_ms
        self._lock = new_lock()

    def now_ms(self) -> int:
        """Return the present reading and move on."""
        with self._lock:
            now = self._next_ms
            self._next_ms += self._step_ms
            return within_calendar(now)


class SeededEntropy:
    """A repeatable stream: SHAKE-256 of seed and block number. For fixtures and vectors, never for a real store."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._block = 0
        self._lock = new_lock()

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes; each call starts a block of its own."""
        with self._lock:
            block = self._block
            self._block += 1
        return hashlib.shake_256(len(self._seed).to_bytes(4) + self._seed + block.to_bytes(8)).digest(size)


class EntropyIds:
    """Ids drawn from a source of entropy."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def new_id(self) -> str:
        """Return 128 bits as 22 characters of unpadded base64url."""
        return base64.urlsafe_b64encode(self._entropy.take(ID_BYTES)).decode().rstrip("=")


class Sources(Struct, frozen=True, kw_only=True):
    """The three sources an open store works with. One that is not given is that of the system."""

    clock: Clock = field(default_factory=SystemClock)
    entropy: Entropy = field(default_factory=SystemEntropy)
    ids: IdSource = field(default_factory=lambda: EntropyIds(SystemEntropy()))

    def __post_init__(self) -> None:
        """Keep every clock within the calendar, also one that is set before 1970 or past the year 9999."""
        if not isinstance(self.clock, SystemClock | FixedClock | CalendarClock):
            force_setattr(self, "clock", CalendarClock(self.clock))


def system_sources() -> Sources:
    """Return the sources of a real store."""
    return Sources()


def seeded_sources(seed: str, *, start_ms: int = 1_700_000_000_000, step_ms: int = 1000) -> Sources:
    """Return sources that give the same times, ids and bytes for the same seed."""
    root = seed.encode()
    return Sources(
        clock=FixedClock(start_ms, step_ms=step_ms),
        entropy=SeededEntropy(b"entropy:" + root),
        ids=EntropyIds(SeededEntropy(b"ids:" + root)),
    )
