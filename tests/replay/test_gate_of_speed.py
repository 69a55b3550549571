"""The gate of speed fails when a ratio is more than a quarter above its budget, twice, and says which one."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from replay.__main__ import main
from replay.bench import gate as gates
from replay.bench import gated
from replay.bench.gate import AGAIN, Verdict, budgets, gate, memory
from replay.bench.gated import EXACT, FRAMES, RATIOS, Ground, Ratio

pytestmark = pytest.mark.slow

QUIET = partial(gate, quick=True, scratch=None, tell=lambda _: None)


def test_every_row_has_a_budget_and_every_budget_a_row() -> None:
    assert budgets().ratios.keys() == RATIOS.keys()
    assert budgets().exactly.keys() == EXACT.keys()
    assert budgets().frames.keys() == FRAMES.keys()


def test_a_budget_without_a_row_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="budgets without a row: nothing"):
        budgets(_written(tmp_path, 1.0, more="nothing = 1\n"))


@pytest.mark.parametrize("name", RATIOS)
def test_every_row_is_a_ratio_of_two_things_that_were_done(
    name: str, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours costs more than the floor: it does the same, and then some."""
    for constant in ("TURNS", "DIALOGUE_TURNS"):
        monkeypatch.setattr(gated, constant, 100)
    assert all(1.0 < ratio < 200.0 for ratio in RATIOS[name].measure(ground, 1))


def test_what_is_within_its_budget_holds() -> None:
    verdicts = QUIET(("flushes", "size"))
    assert [(verdict.name, verdict.holds) for verdict in verdicts] == [("flushes", True), ("size", True)]


def test_a_regression_ends_with_1_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gates.budgets, "__defaults__", (_written(tmp_path, 0.1),))
    monkeypatch.setattr(sys, "argv", ["replay", "bench", "--gate", "--quick", "size", *FRAMES])
    assert main() == 1
    told = capsys.readouterr()
    assert told.out.count("REGRESSION") == len(told.out.splitlines()) == 1 + len(FRAMES)
    assert told.err == f"above their budgets: {', '.join((*FRAMES, 'size'))}\n"


def test_what_is_above_its_budget_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bad minute of a machine is no regression; two are."""
    budget = budgets().ratios["page"]
    for second, holds in ((budget, True), (2 * budget, False)):
        asked: list[int] = []
        monkeypatch.setitem(RATIOS, "page", Ratio("a page", partial(_given, asked, [2 * budget, second])))
        [verdict] = QUIET(("page",))
        assert verdict.holds is holds
        assert asked[1] == AGAIN * asked[0]


@pytest.mark.parametrize("is_count", [False, True])
@pytest.mark.parametrize(
    ("found", "least", "holds"),
    [(4.0, 0.0, True), (5.0, 0.0, True), (5.01, 0.0, False), (0.1, 0.0, True), (5.0, 5.0, True), (4.0, 5.0, False)],
)
def test_what_is_allowed_holds(found: float, least: float, holds: bool, is_count: bool) -> None:
    verdict = Verdict(name="a row", what="it", budget=4.0, least=least, most=5.0, found=[found], is_count=is_count)
    assert verdict.holds is holds
    assert ("REGRESSION" in verdict.told()) is not holds


def test_the_room_on_the_disk_may_hardly_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same on every machine; a tenth more is a regression, at once."""
    for grown, holds in ((1.02, True), (1.1, False)):
        asked: list[int] = []
        measured = partial(_given, asked, [grown])
        monkeypatch.setitem(RATIOS, "size", RATIOS["size"]._replace(measure=measured))
        monkeypatch.setattr(gates.budgets, "__defaults__", (_written(tmp_path, 1.0),))
        [verdict] = QUIET(("size",))
        assert (verdict.holds, len(asked)) == (holds, 1)


def test_the_frames_of_every_operation_are_within_their_budgets() -> None:
    assert [(verdict.name, verdict.holds) for verdict in QUIET(tuple(FRAMES))] == [(name, True) for name in FRAMES]


@pytest.mark.parametrize(("share", "holds"), [(1.0, True), (1.02, True), (1.04, False)])
def test_frames_may_hardly_grow(share: float, holds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted, not timed: fewer are welcome, a few in a hundred more are a regression at once."""
    monkeypatch.setitem(
        FRAMES, "page-frames", FRAMES["page-frames"]._replace(count=partial(_told, round(1000 * share)))
    )
    monkeypatch.setattr(gates.budgets, "__defaults__", (_written(tmp_path, 1.0, frames=1000),))
    [verdict] = QUIET(("page-frames",))
    assert verdict.holds is holds


def test_flushes_are_exactly_their_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    for counted, holds in ((0, False), (1, True), (2, False)):
        monkeypatch.setitem(EXACT, "flushes", EXACT["flushes"]._replace(count=partial(_told, counted)))
        [verdict] = QUIET(("flushes",))
        assert verdict.holds is holds


def test_rounds_that_were_disturbed_do_not_count() -> None:
    """A neighbour makes some rounds dearer; a regression makes all of them so."""
    disturbed = Verdict(name="a row", what="it", budget=4.0, most=5.0, found=[4.0, 4.1, 9.0, 9.0, 9.0])
    slower = Verdict(name="a row", what="it", budget=4.0, most=5.0, found=[6.0, 6.1, 6.0, 6.2, 6.0])
    assert (disturbed.holds, slower.holds) == (True, False)


def test_a_row_that_nobody_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    level = logging.getLogger("muniment").level
    monkeypatch.setattr(sys, "argv", ["replay", "bench", "--gate", "nothing"])
    assert main() == 2
    assert logging.getLogger("muniment").level == level, "a command leaves the log as it was"


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """Return stores to measure on."""
    with tempfile.TemporaryDirectory(dir=memory()) as directory:
        made = Ground(Path(directory))
        yield made
        made.close()


def _given(asked: list[int], answers: list[float], _ground: Ground, rounds: int) -> list[float]:
    asked.append(rounds)
    return [answers[len(asked) - 1]]


def _told(count: int, _ground: Ground) -> int:
    return count


def _written(directory: Path, each: float, more: str = "", frames: int = 1) -> Path:
    path = directory / "gate.toml"
    exact, allowed = ("".join(f"{name} = {one}\n" for name in rows) for rows, one in ((EXACT, 1), (FRAMES, frames)))
    ratios = "".join(f"{name} = {each}\n" for name in RATIOS)
    path.write_text(f'measured = "never"\n[exactly]\n{exact}[frames]\n{allowed}[ratios]\n{ratios}{more}')
    return path
