"""Runs of fixture files: what to run, what that leaves unverified, and where two files differ first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from muniment.errors import FileUnavailable, InvalidInput, LimitExceeded
from muniment.events.binding import parse_json
from muniment.operations.outfile import reading
from muniment.replay.comparing import ComparisonReport, first_difference
from muniment.replay.digests import read_digests
from muniment.replay.fixture import FIXTURE_BYTES_MAX, DerivationMode, Fixture, parse_fixture
from muniment.replay.replay_report import REPORT_FORMAT, CheckOutcome, FixtureRun, ReplayReport, report_of
from muniment.replay.running import run_fixture
from muniment.space.options import StoreKind


def run_files(paths: Sequence[Path], stores: Sequence[StoreKind], modes: Sequence[DerivationMode]) -> ReplayReport:
    """Run each fixture on each store in each mode; what a fixture does not support is reported as not verified."""
    runs: list[FixtureRun] = []
    skipped: list[str] = []
    for path in paths:
        fixture = read_fixture(path)
        header, digests = fixture.header, read_digests(path.parent).of(fixture)
        for store in stores:
            if store not in header.stores:
                skipped.append(f"{header.id} is not for {store}")
                continue
            for mode in modes:
                if mode in header.modes:
                    runs.append(run_fixture(fixture, store, mode, digests))
                else:
                    skipped.append(f"{header.id} is not for {mode}")
    return report_of(runs, [*skipped, *_unchecked(runs)])


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
