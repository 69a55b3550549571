"""Chance of a run: sources that are turned to a new stream for every command.

What a command draws follows from the seeds and its line alone. So a command may be put off by a crash, and a store may
be opened once more in between, without anything behind it becoming another thing.
"""

from __future__ import annotations

from muniment.kernel.sources import EntropyIds, SeededEntropy, Sources
from muniment.replay.fixture import FixtureHeader


class _Turning:
    """The present stream of bytes."""

    def __init__(self) -> None:
        self.stream = SeededEntropy(b"")

    def take(self, size: int) -> bytes:
        """Return `size` bytes of the present stream."""
        return self.stream.take(size)


class _Standing:
    """A clock that stands still until it is set."""

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
        self._clock = _Standing(header.clock.start_ms)
        self._entropy, self._ids = _Turning(), _Turning()
        self.sources = Sources(clock=self._clock, entropy=self._entropy, ids=EntropyIds(self._ids))

    def command(self, label: str) -> None:
        """Turn to what a command draws."""
        self._turn(self._seeds.entropy, label)

    def opening(self, label: str) -> None:
        """Turn to what opening a store draws: the signing key and the first keys, when it is made."""
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
