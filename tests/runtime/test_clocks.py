"""Clocks that somebody set before 1970, or past the last year of the calendar."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from msgspec.structs import replace

import muniment
from muniment.events.identity import TurnId
from muniment.evidence.pin import FilePin
from muniment.kernel.sources import MOMENT_MS_MAX, seeded_sources
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.turns import plain_turn
from tests.worlds import PINS, STORE, key_of, root_key


class SetClock:
    """A clock of a host, which shows what somebody set."""

    def __init__(self, at_ms: int) -> None:
        self._readings = itertools.count(at_ms)

    def now_ms(self) -> int:
        """Return what it shows."""
        return next(self._readings)


def _opened(home: Path, at_ms: int) -> Runtime:
    sources = replace(seeded_sources("clocks"), clock=SetClock(at_ms))
    return muniment.open(home / STORE, keys=root_key(), options=Options(sources=sources, pin=FilePin(home / PINS)))


@pytest.mark.parametrize("at_ms", [-(10**14), -1, 0, MOMENT_MS_MAX, MOMENT_MS_MAX + 1, 2**53, 2**63, 10**25])
def test_a_clock_outside_the_calendar_stops_nobody(tmp_path: Path, at_ms: int) -> None:
    """What it shows is taken for the nearest moment of the calendar; the store is read and written as ever."""
    with _opened(tmp_path, at_ms) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        runtime.lifecycle.hold(Scope(conversation=key_of().conversation), "why", "who")
        runtime.transcripts.commit(plain_turn(2))
        runtime.evidence.checkpoint()
        document = runtime.spaces.export(key_of()).text
        assert "1970" in document or "9999" in document
    with _opened(tmp_path, at_ms) as runtime:
        shown = runtime.transcripts.replay(key_of()).turns
        assert [turn.turn for turn in shown] == [TurnId("turn-1"), TurnId("turn-2")]
        assert all(0 <= turn.committed_ms <= MOMENT_MS_MAX for turn in shown)
        assert runtime.system.health().sound
        runtime.evidence.audit()
