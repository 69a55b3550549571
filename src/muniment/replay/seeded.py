"""Seeded randomness of a run: every command draws from a stream of its own.

What a command draws follows only from the seeds and its line. So a crash may delay a command, and a store may be opened
in between, without a change to what later commands draw.
"""

from __future__ import annotations

from muniment.kernel.sources import EntropyIds, SeededEntropy, Sources
from muniment.replay.fixture import FixtureHeader


class _CurrentStream:
    """The present stream of bytes."""

    def __init__(self) -> None:
        self.stream = SeededEntropy(b"")

    def take(self, size: int) -> bytes:
        """Return `size` bytes of the present stream."""
        return self.stream.take(size)


class _SetClock:
    """A clock that only moves when it is set."""

    def __init__(self, now_ms: int) -> None:
        self.at_ms = now_ms

    def now_ms(self) -> int:
        """Return the time that it was set to."""
        return self.at_ms


class SeededSources:
    """All sources of a run."""

    def __init__(self, header: FixtureHeader) -> None:
        self._seeds = header.seeds
        self._step_ms = header.clock.step_ms
        self._clock = _SetClock(header.clock.start_ms)
        self._entropy, self._ids = _CurrentStream(), _CurrentStream()
        self.sources = Sources(clock=self._clock, entropy=self._entropy, ids=EntropyIds(self._ids))

    def command(self, label: str) -> None:
        """Switch to the stream of a command."""
        self._turn(self._seeds.entropy, label)

    def opening(self, label: str) -> None:
        """Switch to the stream of opening a store: the signing key and the first keys, when it is created."""
        self._turn(self._seeds.signing, label)

    def tick(self) -> None:
        """Move the clock on by a step."""
        self._clock.at_ms += self._step_ms

    def set(self, at_ms: int) -> None:
        """Set the clock."""
        self._clock.at_ms = at_ms

    def _turn(self, seed: str, label: str) -> None:
        self._entropy.stream = SeededEntropy(f"{seed}\0{label}".encode())
        self._ids.stream = SeededEntropy(f"{self._seeds.ids}\0{seed}\0{label}".encode())
