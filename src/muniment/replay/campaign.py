"""Runs of fixture files: what to run, what that leaves unverified, and where two files differ first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from muniment.errors import FileUnavailable, InvalidInput, LimitExceeded
from muniment.events.binding import parse_json
from muniment.operations.outfile import reading
from muniment.replay.comparing import ComparisonReport, first_difference
from muniment.replay.digests import read_digests
from muniment.replay.fixture import FIXTURE_BYTES_MAX, DerivationMode, Fixture, parse_fixture
from muniment.replay.replay_report import (
    REPORT_FORMAT,
    CheckOutcome,
    FixtureNotRead,
    FixtureRun,
    ReplayCheck,
    ReplayReport,
    report_of,
)
from muniment.replay.running import Digests, run_fixture
from muniment.space.options import StoreKind

FIXTURE_SUFFIX = ".jsonl"


def run_files(paths: Sequence[Path], stores: Sequence[StoreKind], modes: Sequence[DerivationMode]) -> ReplayReport:
    """Run each fixture on each store in each mode; a folder stands for all fixtures in it.

    What a fixture does not support is reported as not verified, a file that cannot be run as not read. One that was
    named alone raises instead.
    """
    runs: list[FixtureRun] = []
    skipped: list[str] = []
    not_read: list[FixtureNotRead] = []
    for path in _files_of(paths, not_read):
        try:
            fixture = read_fixture(path)
            digests = read_digests(path.parent).of(fixture)
        except (InvalidInput, LimitExceeded, FileUnavailable) as refused:
            if [path] == list(paths):
                raise
            not_read.append(FixtureNotRead(file=path.name, code=refused.code, at=refused.at, problem=refused.problem))
            continue
        runs += _runs_alike(_runs_in(fixture, digests, stores, modes, skipped))
    return report_of(runs, [*skipped, *_unchecked(runs)], not_read)


def _files_of(paths: Sequence[Path], not_read: list[FixtureNotRead]) -> list[Path]:
    """Return the files; those of a folder in the order of their names. An empty folder is not read."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(path.rglob(f"*{FIXTURE_SUFFIX}"))
        if not found:
            not_read.append(FixtureNotRead(file=path.name, code=FileUnavailable.code, problem="no_fixture"))
        files += found
    return files


def _runs_in(
    fixture: Fixture,
    digests: Digests,
    stores: Sequence[StoreKind],
    modes: Sequence[DerivationMode],
    skipped: list[str],
) -> list[FixtureRun]:
    header, runs = fixture.header, list[FixtureRun]()
    for store in stores:
        if store not in header.stores:
            skipped.append(f"{header.id} is not for {store}")
            continue
        for mode in modes:
            if mode in header.modes:
                runs.append(run_fixture(fixture, store, mode, digests))
            else:
                skipped.append(f"{header.id} is not for {mode}")
    return runs


def _runs_alike(runs: list[FixtureRun]) -> list[FixtureRun]:
    """Return the runs of a fixture; one that measures something else than the first has failed, and where."""
    alike = runs[:1]
    for run in runs[1:]:
        differs = first_difference(runs[0], run)
        if differs is None:
            alike.append(run)
            continue
        what = f"the same as on {runs[0].store}, {runs[0].mode}"
        told = f"{differs.what}, {differs.key}" if differs.key else differs.what
        sides = f"{differs.other or 'absent'}, not {differs.one or 'absent'}"
        failed = ReplayCheck(
            line=differs.line, command="expect", what=what, verdict=CheckOutcome.FAILED, difference=f"{told}: {sides}"
        )
        alike.append(replace(run, passed=False, failed=run.failed + 1, checks=[*run.checks, failed]))
    return alike


def compare_files(one: Path, other: Path) -> ComparisonReport:
    """Return the first difference between two fixtures, which are run in memory, or two reports of runs."""
    mine, theirs = _runs_of(one), _runs_of(other)
    differences = (first_difference(*pair) for pair in zip(mine, theirs, strict=False))
    difference = next((each for each in differences if each is not None), None)
    return ComparisonReport(same=difference is None and len(mine) == len(theirs), difference=difference)


def read_fixture(path: Path) -> Fixture:
    """Return a fixture, or raise an error that names its file."""
    try:
        return parse_fixture(_bytes_of(path))
    except (InvalidInput, LimitExceeded, FileUnavailable) as refused:
        at = path.name if refused.at in {None, "file"} else f"{path.name}, {refused.at}"
        raise type(refused)(at=at, problem=refused.problem, limit=refused.limit, found=refused.found) from None


def _unchecked(runs: Sequence[FixtureRun]) -> list[str]:
    """Return what was run and not checked, once for each fixture; adjacent lines are reported together."""
    lines: dict[tuple[str, str], set[int]] = {}
    for run in runs:
        for check in run.checks:
            if check.verdict is CheckOutcome.UNCHECKED:
                lines.setdefault((run.fixture, check.what), set()).add(check.line)
    return [
        f"{fixture}, {rows}: {what}" for (fixture, what), numbers in lines.items() for rows in _ranges(sorted(numbers))
    ]


def _ranges(lines: Sequence[int]) -> Iterator[str]:
    """Yield line numbers, adjacent ones as one range."""
    for _, group in itertools.groupby(enumerate(lines), lambda pair: pair[1] - pair[0]):
        row = [line for _, line in group]
        yield f"line {row[0]}" if len(row) == 1 else f"lines {row[0]} to {row[-1]}"


def _runs_of(path: Path) -> list[FixtureRun]:
    """Return the runs of a report, or run a fixture in memory."""
    data = _bytes_of(path)
    if _is_report(data):
        return parse_json(data, ReplayReport, limit=FIXTURE_BYTES_MAX).runs
    fixture = read_fixture(path)
    return [run_fixture(fixture, fixture.header.stores[0])]


def _is_report(data: bytes) -> bool:
    try:
        document = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return False
    return isinstance(document, Mapping) and document.get("format") == REPORT_FORMAT


def _bytes_of(path: Path) -> bytes:
    with reading(path, "file") as file:
        data = file.read(FIXTURE_BYTES_MAX + 1)
    if len(data) > FIXTURE_BYTES_MAX:
        raise LimitExceeded(at="file", problem="request_too_large", limit=FIXTURE_BYTES_MAX)
    return data
