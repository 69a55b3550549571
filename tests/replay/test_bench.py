"""The benchmark runs, says what it measured, and names what it could not."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from msgspec.structs import replace

from replay.__main__ import main
from replay.bench import hosts
from replay.bench import run as runs
from replay.bench.append import flushes
from replay.bench.charts import CHARTS, TICKS_MAX, WIDTH, charts, ticks
from replay.bench.figures import Amount, Figure, Mark
from replay.bench.gate import memory
from replay.bench.profile import Hot, hottest
from replay.bench.report import HEADLINES, headlines, markdown, write
from replay.bench.run import NAMES, Order, Result, joined
from replay.bench.scene import Scene
from replay.bench.search import corpora
from replay.machine import is_installed

pytestmark = pytest.mark.slow

MISSED = Figure(subject="page", what="a page", measured="2 ms", target="<= 1 ms", met=False)


MARKED = [
    Figure(
        subject="append",
        what=f"{bar}, {group}",
        measured=Amount(median=median, low=median / 2, high=2 * median, unit="a second", digits=0),
        mark=Mark(chart=chart, bar=bar, group=group),
    )
    for chart, group, bar, median in (
        ("callers", "this disk", "1 caller", 600.0),
        ("callers", "this disk", "4 callers", 1200.0),
        ("callers", "a slow <disk>", "1 caller", 300.0),
        ("append", "", "muniment", 0.5),
    )
]
SVG = "{http://www.w3.org/2000/svg}"


def test_one_append_is_one_flush_of_the_disk(tmp_path: Path) -> None:
    """Counted below SQLite; a pass of the log into the database is told apart."""
    [measured] = flushes(Scene(tmp_path, quick=True))
    assert measured.figure.met, measured.figure


def test_every_benchmark_yields_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, on stores as small as they can be and in memory: what is shown is that each one runs and reports."""
    monkeypatch.setattr(runs, "SIZES_QUICK", (100,))
    monkeypatch.setattr(corpora, "TURNS_QUICK", 100)
    monkeypatch.setattr(corpora, "SGD", tmp_path / "nothing")  # another corpus takes the same ways
    told: list[Figure] = []
    with tempfile.TemporaryDirectory(dir=memory() or tmp_path) as scratch:
        result = runs.run(Order(quick=True, scratch=Path(scratch)), told.append)
    absent = set() if any(is_installed(pair.needs) for pair in hosts.PAIRS.values()) else {"hosts"}
    assert {figure.subject for figure in result.figures} == set(runs.SUBJECTS) - absent
    assert len({figure.what for figure in told}) == len(told)
    assert all((figure.target is None) == (figure.met is None) for figure in told)
    assert sorted(figure.what for figure in told) == sorted(figure.what for figure in result.figures)
    assert msgspec.json.decode(msgspec.json.encode(result), type=Result) == result
    report = markdown(result)
    for figure in result.figures:
        assert figure.told() in report
        assert figure.met is not False or f"### {figure.what}" in report
    assert scratch not in report
    assert charts(result.figures).keys() == CHARTS.keys()
    assert headlines(result.figures).keys() == HEADLINES.keys()
    summary = report.partition("## Machine")[0]
    assert all(f": {figure.told()}" in summary for figure in headlines(result.figures).values())


def test_a_missed_figure_says_so_and_shows_its_profile() -> None:
    hot = hottest(lambda: [sorted(range(1000)) for _ in range(10)])
    report = markdown(_result(figures=[MISSED], profiles={MISSED.what: hot}))
    assert "**missed**" in report
    assert "## Profiles of missed targets" in report
    assert "sorted" in report


def test_a_missed_count_shows_what_is_called_most() -> None:
    missed = replace(MISSED, what="frames of a page", calls={"a.py:Most.called": 1200, "b.py:other": 7})
    report = markdown(_result(figures=[missed], profiles={}))
    assert "### frames of a page" in report
    assert report.index("| 1,200 | `a.py:Most.called` |") < report.index("| 7 | `b.py:other` |")


def test_the_summary_counts_targets_and_compares_an_append_with_those_of_others() -> None:
    append = MARKED[-1]
    ours, other = (replace(append, what=what) for what in ("durable append", "the same turns: a peer: CPU"))
    met = replace(MISSED, what="another page", met=True)
    slower = Amount(median=0.25, unit="ms")
    report = markdown(_result(figures=[ours, replace(other, measured=slower), MISSED, met], profiles={}))
    assert "- 1 of 2 targets are met; missed: page (1 of 2)." in report
    assert "- CPU time of one durable append: 0 a second" in report
    assert "- CPU time of an append compared with others: 2.0 x a peer" in report


def test_a_report_without_a_miss_has_no_profile() -> None:
    assert "profile" not in markdown(_result(figures=[], profiles={}))


def test_a_report_is_drawn_again_from_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without measuring anything: the same document and the same charts."""
    result, kept = _result(figures=[*MARKED, MISSED], profiles={}), tmp_path / "figures.json"
    kept.write_bytes(msgspec.json.encode(result))
    for name in ("once", "again"):
        (tmp_path / name).mkdir()
    write(result, tmp_path / "once" / "BENCH.md")
    monkeypatch.setattr(
        sys, "argv", ["replay", "bench", "--from", str(kept), "--out", str(tmp_path / "again" / "BENCH.md")]
    )
    assert main() == 0
    once, again = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("once", "again")
    )
    assert once == again
    assert Path("charts/append.svg") in once
    assert b"![Bar chart: CPU time of one append" in once[Path("BENCH.md")]


def test_runs_of_the_same_code_are_one_report_in_which_the_later_figure_counts() -> None:
    met = replace(MISSED, measured="1 ms", met=True)
    one, other = _result(figures=[MISSED, *MARKED], profiles={}), _result(figures=[met], profiles={})
    assert joined([one, other]).figures == [*MARKED, met]
    for different in (replace(other, quick=not other.quick), replace(other, machine={"commit": "another"})):
        with pytest.raises(ValueError, match="runs of different code"):
            joined([one, different])


def test_a_chart_has_a_bar_with_its_value_for_every_figure_of_it_inside_its_frame() -> None:
    drawn = charts([MISSED, *MARKED])
    assert drawn.keys() == {"append", "callers"}
    svg = ET.fromstring(drawn["callers"])  # noqa: S314 - it was just drawn here
    texts = ["".join(text.itertext()) for text in svg.findall(f"{SVG}text")]
    assert {"this disk", "a slow <disk>", "1 caller", "4 callers", "1,200", "300", CHARTS["callers"].axis} <= set(texts)
    for place in svg.findall(f"{SVG}rect"):
        assert 0 <= float(place.attrib["x"]) <= float(place.attrib["x"]) + float(place.attrib["width"]) <= WIDTH


def test_bars_are_as_long_as_what_was_measured() -> None:
    svg = ET.fromstring(charts(MARKED)["callers"])  # noqa: S314 - as above
    _frame, one, four, slow = [float(place.attrib["width"]) for place in svg.findall(f"{SVG}rect")]
    assert four / one == pytest.approx(2.0, rel=0.01)
    assert slow / one == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize("most", [0.0004, 0.09, 0.25, 0.999, 1.0, 7, 99, 2400, 12_586])
def test_an_axis_is_longer_than_its_longest_bar_and_has_few_steps(most: float) -> None:
    step, count = ticks(most)
    assert most < step * count <= 2.5 * most
    assert 2 <= count <= TICKS_MAX


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
