"""`muniment replay` on the command line: what it says, how it ends, and what it leaves alone."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from muniment.replay.replay_report import ReplayReport
from tests.cli.shell import Shell
from tests.replay_harness.histories import HEADER, HISTORIES, Line, commit, measured, replayed
from tests.turns import plain_turn

ONE = str(HISTORIES / "views.jsonl")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a shell in an empty directory."""
    return Shell(tmp_path)


def written(shell: Shell, name: str, *lines: Line, **header: object) -> str:
    """Write a fixture; return its name."""
    said = [json.dumps(line) for line in ({**HEADER, "id": name, **header}, *lines)]
    (shell.directory / name).write_text("\n".join(said))
    return name


def test_a_run_that_holds_ends_with_zero(shell: Shell) -> None:
    ran = shell.must("replay", "run", ONE)
    assert "2 of 2 runs passed with muniment" in ran.out
    assert not list(shell.directory.iterdir()), "no store of anybody is touched"


def test_a_run_that_does_not_hold_says_where_and_ends_with_one(shell: Shell) -> None:
    name = written(shell, "wrong", commit(1, report={"sequence": 2}))
    ran = shell.run("replay", "run", name, "--store", "memory", "--mode", "rebuilt")
    assert ran.code == 1
    assert "wrong on memory, rebuilt, line 2, transcripts.commit: report: report.sequence: 1, not 2" in ran.out
    assert "0 of 1 runs passed" in ran.out


def test_what_was_not_verified_is_told(shell: Shell) -> None:
    name = written(
        shell, "odd", commit(1, report={"committed": True}), measured(), stores=["memory"], modes=["rebuilt"]
    )
    ran = shell.must("replay", "run", name, "--mode", "rebuilt", "--mode", "reopened")
    for told in ("odd is not for sqlite", "odd is not for reopened", "odd, line 3: log.root"):
        assert told in ran.out


def test_lines_in_a_row_that_were_not_verified_are_told_together(shell: Shell) -> None:
    name = written(shell, "long", *(commit(number) for number in range(1, 6)), measured(sound=True), commit(6))
    told = json.loads(shell.must("replay", "run", name, "--json").out)["not_verified"]
    assert [each for each in told if each.endswith("report")] == ["long, lines 2 to 6: report", "long, line 8: report"]


def test_a_run_that_held_nothing_says_why_it_failed(shell: Shell) -> None:
    """RH-02: what nobody expects anything of has not passed, and somebody must be told."""
    ran = shell.run("replay", "run", written(shell, "idle", commit(1)), "--store", "memory")
    assert ran.code == 1
    assert "FAILED  idle on memory, incremental: the fixture expects nothing" in ran.out


def test_a_fixture_that_is_not_understood_is_told_by_its_file(shell: Shell) -> None:
    good, bad = written(shell, "good", measured(sound=True)), written(shell, "bad", {"do": "expect", "what": 1})
    for name, at in ((bad, "NOT READ  bad, line 2"), ("none", "NOT READ  none: not found")):
        ran = shell.run("replay", "run", good, name)
        assert (ran.code, at in ran.out) == (1, True)


def test_a_report_for_machines_is_what_the_schema_says(shell: Shell) -> None:
    told = msgspec.json.decode(shell.must("replay", "run", ONE, "--json").out, type=ReplayReport)
    assert told.passed
    assert [run.store for run in told.runs] == ["memory", "sqlite"]
    assert all(len(run.fixture_digest) == 64 for run in told.runs)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["replay"], 2),
        (["replay", "run"], 2),
        (["replay", "run", "nothing"], 4),
        (["replay", "run", ONE, "--store", "postgres"], 2),
        (["replay", "diff", ONE], 2),
        (["replay", "record", "x.jsonl"], 4),
    ],
)
def test_misuse_ends_with_the_code_of_its_kind(shell: Shell, arguments: list[str], code: int) -> None:
    assert shell.run(*arguments).code == code


def test_a_live_space_is_recorded_once_and_runs(shell: Shell) -> None:
    for number in (1, 2):
        (shell.directory / "turn.json").write_bytes(msgspec.json.encode(plain_turn(number)))
        shell.must("transcripts", "commit", "turn.json")
    before = shell.must("evidence", "checkpoint").out
    assert "events read" in shell.must("replay", "record", "mine.jsonl").out
    assert shell.run("replay", "record", "mine.jsonl").code == 5, "nothing is written over"
    assert (
        json.loads(shell.must("replay", "record", "again.jsonl", "--seed", "s", "--json").out)["recorded"]["events"]
        == 4
    )
    assert shell.must("evidence", "checkpoint").out == before, "recording appends nothing"
    assert "2 of 2 runs passed" in shell.must("replay", "run", "mine.jsonl").out


def test_what_a_recording_leaves_out_is_told(shell: Shell) -> None:
    (shell.directory / "turn.json").write_bytes(msgspec.json.encode(plain_turn(1)))
    shell.must("transcripts", "commit", "turn.json")
    scope = ["--kind", "shared"]
    (shell.directory / "scope.json").write_text('{"kind": "shared"}')
    shell.must("archives", "export", "a.archive", *scope)
    assert "1 archive.exported" in shell.must("replay", "record", "mine.jsonl").out


def test_two_histories_are_told_apart_by_line_and_key(shell: Shell) -> None:
    one = written(shell, "one", commit(1), measured())
    other = written(shell, "other", commit(1), {"do": "reopen"}, measured())
    assert "No differences." in shell.must("replay", "diff", one, one).out
    assert shell.must("replay", "diff", one, other).code == 0
    more = written(shell, "more", commit(1), commit(2), measured())
    ran = shell.run("replay", "diff", one, more)
    assert (ran.code, "line 3: size" in ran.out) == (1, True)
    told = json.loads(shell.run("replay", "diff", one, more, "--json").out)
    assert told == {"same": False, "difference": {"line": 3, "what": "size", "one": "3", "other": "4"}}


def test_reports_are_compared_without_running_anything(shell: Shell) -> None:
    one = written(shell, "one", commit(1), measured())
    (shell.directory / "report").write_text(shell.run("replay", "run", one, "--json").out)
    (shell.directory / "short").write_text(shell.run("replay", "run", one, "--json", "--store", "memory").out)
    shell.must("replay", "diff", "report", "report")
    ran = shell.run("replay", "diff", "report", "short")
    assert (ran.code, "one has more runs" in ran.out) == (1, True)


def test_the_history_of_the_guide_holds(shell: Shell) -> None:
    text = files("muniment").joinpath("guide/replay.md").read_text(encoding="utf-8")
    (shell.directory / "guide.jsonl").write_text(text.split("```json\n")[1].split("```")[0])
    ran = shell.must("replay", "run", "guide.jsonl")
    assert "2 of 2 runs passed" in ran.out


# --- many files, for a CI system --------------------------------------------------------------------------------------


def test_one_file_that_cannot_be_run_does_not_hide_the_others(shell: Shell) -> None:
    good, bad = written(shell, "good", measured(sound=True)), written(shell, "bad", {"do": "expect", "what": 1})
    wrong = written(shell, "wrong", measured(sound=False))
    ran = shell.run("replay", "run", bad, "missing", good, wrong, "--store", "memory")
    assert ran.code == 1
    for told in (
        "NOT READ  bad, line 2",
        "NOT READ  missing: not found",
        "FAILED  wrong on memory, incremental, line 2, expect: sound: true, not false",
        "1 of 2 runs passed",
        "2 of the files could not be run.",
    ):
        assert told in ran.out
    report = json.loads(shell.run("replay", "run", bad, "missing", good, "--json").out)
    assert (report["passed"], [each["file"] for each in report["not_read"]]) == (False, ["bad", "missing"])


def test_a_folder_stands_for_the_fixtures_in_it(shell: Shell) -> None:
    for name in ("histories/b.jsonl", "histories/deep/a.jsonl", "histories/notes.txt"):
        (shell.directory / name).parent.mkdir(exist_ok=True, parents=True)
        written(shell, name, measured(sound=True))
    (shell.directory / "empty").mkdir()
    report = json.loads(shell.must("replay", "run", "histories", "--store", "memory", "--json").out)
    assert [run["fixture"] for run in report["runs"]] == ["histories/b.jsonl", "histories/deep/a.jsonl"]
    ran = shell.run("replay", "run", "histories", "empty")
    assert (ran.code, "NOT READ  empty: no fixture" in ran.out) == (1, True)


def test_a_digest_that_was_left_empty_does_not_pass_beside_one_that_held(shell: Shell) -> None:
    """RH-02: it is not checked, and must not look as if it were."""
    empty = {"log": {"root": ""}, "checkpoint": "", "views": {"export": ""}, "projections": {"links": ""}}
    name = written(shell, "empty", commit(1, report={"committed": True}), measured(sound=True, **empty))
    ran = shell.run("replay", "run", name, "--store", "memory")
    assert ran.code == 1
    for what in ("log.root", "checkpoint", "view export", "projection links"):
        assert f"line 3, expect: {what}: the expectation is empty; found " in ran.out


def test_results_are_written_as_junit(shell: Shell) -> None:
    good, bad = written(shell, "good", measured(sound=True)), written(shell, "bad\x07", {"do": "expect", "what": 1})
    wrong, idle = written(shell, "wrong", measured(sound=False)), written(shell, "idle", commit(1))
    arguments = ["replay", "run", good, bad, wrong, idle, "--store", "memory", "--junit", "results.xml"]
    assert shell.run(*arguments).code == 1
    root = ET.fromstring((shell.directory / "results.xml").read_bytes())  # noqa: S314 - written above
    suites = {suite.get("name", ""): suite for suite in root}
    assert list(suites) == [*(f"{name} on memory, incremental" for name in ("good", "wrong", "idle")), "bad\ufffd"]
    assert [suite.get("failures") for suite in root] == ["0", "1", "0", "0"]
    assert [suite.get("errors") for suite in root] == ["0", "0", "1", "1"]
    (failure,) = root.iter("failure")
    assert failure.get("message") == "true, not false"
    for suite in root:
        assert int(suite.get("tests", "")) == len(suite)
        assert int(suite.get("skipped", "")) == len(list(suite.iter("skipped")))
    assert root.get("tests") == str(sum(map(len, suites.values())))
    assert shell.run("replay", "run", good, "--junit", "no/such/folder.xml").code == 4


def test_a_word_of_ours_that_differs_is_told_and_words_of_a_host_are_not(shell: Shell) -> None:
    said: list[Any] = [{"role": "user", "parts": [{"content": "a CANARY"}]}, {}]
    wrong: dict[str, Any] = {"turns": [{"phase": "masked", "messages": said}]}
    name = written(shell, "wrong", commit(1), replayed(report=wrong))
    assert "report.turns[0].phase: active, not masked" in shell.run("replay", "run", name, "--store", "memory").out
    wrong["turns"][0]["phase"] = "active"
    name = written(shell, "wrong", commit(1), replayed(report=wrong))
    ran = shell.run("replay", "run", name, "--store", "memory")
    assert "content: another text, not another text" in ran.out
    assert "CANARY" not in ran.said
