"""Frames are counted the same way every time, and a report names the functions that they are made of."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import FrameType

import pytest

from muniment import Access, Effect
from replay.__main__ import main
from replay.bench import frames
from replay.bench.frames import FUNCTIONS_MAX, OPERATIONS, Calls, calls_of, counted

EVERYTHING = Access()


@pytest.fixture(autouse=True, scope="module")
def _small_stage() -> Iterator[None]:
    """Count in a small store; the gate of speed counts in the usual one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "READ_TURNS", 60)
        patch.setattr(frames, "BESIDE_TURNS", 20)
        yield


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Calls]:
    """Count every operation once."""
    return counted(tmp_path_factory.mktemp("frames"))


def test_counts_are_the_same_every_time(counts: dict[str, Calls], tmp_path: Path) -> None:
    """In another directory, after other work: to the last call of the last function."""
    assert counted(tmp_path) == counts
    assert all(calls.total() > 100 for calls in counts.values())


def test_calls_of_ours_are_counted_and_nobody_elses() -> None:
    def work() -> None:
        for _ in range(3):
            sorted(map(str, range(3)), key=lambda text: text)
            EVERYTHING.require(Effect.READ)

    [(function, count)] = calls_of(work).items()
    assert function.endswith("access.py:Access.require")
    assert count == 3


def test_what_another_thread_does_is_not_counted() -> None:
    def work() -> None:
        beside = Thread(target=EVERYTHING.narrowed, args=(EVERYTHING,))
        beside.start()
        beside.join()

    assert not calls_of(work)


def test_counting_leaves_the_interpreter_as_it_was() -> None:
    """Also when the work fails."""

    def profiler(_frame: FrameType, _event: str, _: object) -> None:
        pass

    before = sys.getprofile()
    sys.setprofile(profiler)
    try:
        with pytest.raises(ZeroDivisionError):
            calls_of(lambda: 1 // 0)
        assert sys.getprofile() is profiler
        assert gc.isenabled()
    finally:
        sys.setprofile(before)


def test_the_benchmark_prints_which_functions_each_operation_calls_most(
    counts: dict[str, Calls], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["replay", "bench", "frames"])
    assert main() == 0
    lines = iter(capsys.readouterr().out.splitlines())
    for name, calls in counts.items():
        assert f"{OPERATIONS[name][0]}: {calls.total():,} frames" in next(lines)
        for function, count in calls.most_common(FUNCTIONS_MAX):
            assert next(lines).split() == [f"{count:,}", function]
    assert not list(lines)
