"""The benchmark runs, says what it measured, and names what it could not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from replay.bench import run as runs
from replay.bench.append import flushes
from replay.bench.figures import Figure
from replay.bench.profile import Hot, hottest
from replay.bench.report import markdown
from replay.bench.run import NAMES, Order, Result
from replay.bench.scene import Scene

MISSED = Figure(subject="page", what="a page", measured="2 ms", target="<= 1 ms", met=False)


def test_one_append_is_one_flush_of_the_disk(tmp_path: Path) -> None:
    """Counted below SQLite; a pass of the log into the database is told apart."""
    [measured] = flushes(Scene(tmp_path, quick=True))
    assert measured.figure.met, measured.figure


@pytest.mark.slow
def test_every_benchmark_yields_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SIZES_QUICK", (500,))
    told: list[Figure] = []
    result = runs.run(Order(quick=True, scratch=tmp_path), told.append)
    assert {figure.subject for figure in result.figures} == set(runs.SUBJECTS)
    assert sorted(figure.what for figure in told) == sorted(figure.what for figure in result.figures)
    assert msgspec.json.decode(msgspec.json.encode(result), type=Result) == result
    report = markdown(result)
    for figure in result.figures:
        assert figure.told() in report
        assert figure.met is not False or f"### {figure.what}" in report
    assert str(tmp_path) not in report


def test_a_missed_figure_says_so_and_shows_its_profile() -> None:
    hot = hottest(lambda: [sorted(range(1000)) for _ in range(10)])
    report = markdown(_result(figures=[MISSED], profiles={MISSED.what: hot}))
    assert "**missed**" in report
    assert "## What the profile shows" in report
    assert "sorted" in report


def test_a_report_without_a_miss_has_no_profile() -> None:
    assert "profile" not in markdown(_result(figures=[], profiles={}))


def test_no_place_on_this_machine_is_in_a_profile() -> None:
    def path() -> None:
        Path("somewhere").exists()

    assert all(not hot.function.startswith("/") for hot in hottest(path))


def test_every_benchmark_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES)


def _result(*, figures: list[Figure], profiles: dict[str, list[Hot]]) -> Result:
    return Result(
        machine={"processor": "one"},
        at="then",
        words="generated",
        quick=False,
        peers="",
        peers_missing=["all"],
        figures=figures,
        profiles=profiles,
    )
