"""What drills found at the size of a release is kept drill by drill, and the report is made of it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from replay.drills.results import Result, Results, markdown
from replay.drills.table import DRILLS
from replay.machine import REPOSITORY

ROW = Result(
    name="clock",
    number=10,
    figure=100,
    share=0.1,
    seed=1,
    seconds=2.5,
    commit="abc",
    date="2026-01-01",
    machine={"processor": "one"},
    said="ten | rounds",
    passed=True,
    control="one action more: detected",
)


def kept(tmp_path: Path) -> Results:
    """Return results in a directory of their own."""
    return Results(tmp_path / "drills.json", tmp_path / "DRILLS.md")


def test_a_row_takes_the_place_of_its_own_drill_alone(tmp_path: Path) -> None:
    results = kept(tmp_path)
    assert results.rows() == {}
    for row in (ROW, replace(ROW, name="soak"), replace(ROW, said="again")):
        results.put(row)
    assert results.rows() == {"clock": replace(ROW, said="again"), "soak": replace(ROW, name="soak")}
    assert list(results.rows()) == ["soak", "clock"], "in the order of the table"
    assert (tmp_path / "DRILLS.md").read_text() == markdown(results.rows())


def test_no_row_is_lost_when_many_are_put_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: kept(tmp_path).put(replace(ROW, name=name)), DRILLS))
    assert set(kept(tmp_path).rows()) == set(DRILLS)


def test_the_report_has_every_drill_beside_the_figure_that_it_owes() -> None:
    """What was run smaller, what failed and what was never run is said."""
    rows = {"clock": ROW, "soak": replace(ROW, name="soak", share=1.0, passed=False, machine={"processor": "two"})}
    told = {line.split("`")[1]: line for line in markdown(rows).splitlines() if line.startswith("| `")}
    assert list(told) == list(DRILLS)
    assert "| passed | 10 rounds (0.1 of it) | 100 rounds | ten / rounds |" in told["clock"]
    assert "| 2026-01-01 | `abc` | 1 |" in told["clock"]
    assert "FAILED" in told["soak"]
    assert "of it" not in told["soak"]
    assert "| not run | | 1,000,000 power cuts |" in told["powercut"].replace("|  |", "| |")
    assert markdown(rows).count("processor: ") == 2


def test_the_summary_counts_drills_and_names_those_that_failed_or_were_run_smaller() -> None:
    rows = {
        "wrongkey": replace(ROW, name="wrongkey", number=7),
        "soak": replace(ROW, name="soak", passed=False, share=1.0),
    }
    summary = markdown(rows).partition("## ")[0]
    assert f"- 1 of {len(DRILLS)} drills passed" in summary
    assert "- Failed: soak." in summary
    assert "- Not run: powercut, " in summary
    assert "- Smaller than a release requires: wrongkey (0.1 of it)." in summary
    assert "- The drills that passed include 7 wrong keys." in summary


def test_a_row_stands_for_the_same_commit_and_seed_and_no_larger_share() -> None:
    assert ROW.stands_for("abc", 1, 0.1)
    assert not ROW.stands_for("abc", 1, 0.2)
    assert not ROW.stands_for("abd", 1, 0.1)
    assert not ROW.stands_for("abc", 2, 0.1)
    assert not replace(ROW, passed=False).stands_for("abc", 1, 0.1)


def test_the_report_that_is_committed_is_made_of_the_rows_that_are() -> None:
    file, report = REPOSITORY / "replay" / "drills.json", REPOSITORY / "replay" / "DRILLS.md"
    results = Results(file, report)
    assert not file.exists() or report.read_text() == markdown(results.rows())


def test_a_drill_tells_machines_what_it_tells_people(tmp_path: Path) -> None:
    told = tmp_path / "outcome.json"
    command = [sys.executable, "-m", "replay", "drill", "wrongkey", "--n", "1", "--json", str(told)]
    said = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert said.startswith("wrongkey: passed")
    assert b'"name":"wrongkey"' in told.read_bytes()
