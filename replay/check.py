"""The gate over histories: every fixture on every store in every mode, and the stores of every release.

1. Each fixture is run on each of its stores, with derived data grown, rebuilt and reopened. Every expectation must
   hold, and all runs must measure the same. What differs first is told by point, projection and key. One more run
   calls whatever is served over HTTP (`replay.served`), and must measure the same, too.
2. The digests of the projections must be those of `fixtures/histories/digests.toml`, unless a projection has another
   version than they were written for: then they are written again, by hand, and seen as a diff.
3. Every store under `fixtures/stores/` is copied, opened with its key, audited, and held to what it was when it was
   written (`replay.releases`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from muniment.replay.comparing import first_difference
from muniment.replay.digests import FILE, KnownDigests, digests_of, digests_text, read_digests
from muniment.replay.fixture import DerivationMode, Fixture, parse_fixture
from muniment.replay.measuring import PROJECTIONS
from muniment.replay.replay_report import CheckOutcome, FixtureRun
from muniment.replay.running import run_fixture
from replay.releases import RELEASES, complaints_about
from replay.served import Server

HISTORIES = Path(__file__).resolve().parents[1] / "fixtures" / "histories"
FIXTURES_MIN = 25
# Flushing a real disk takes ten times as long as all the rest, and durability is not what is shown here.
MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - directories in it are made by tempfile
SCRATCH = MEMORY_DISK if MEMORY_DISK.is_dir() else None

Say = Callable[[str], object]


def fixtures(names: Sequence[str] = ()) -> list[Fixture]:
    """Return the fixtures of these names, or all of them."""
    paths = [HISTORIES / f"{name}.jsonl" for name in names] or sorted(HISTORIES.glob("*.jsonl"))
    return [parse_fixture(path.read_bytes()) for path in paths]


def runs_of(fixture: Fixture, known: KnownDigests) -> list[FixtureRun]:
    """Run a fixture on each of its stores in each of its modes."""
    digests = known.of(fixture)
    return [
        run_fixture(fixture, store, mode, digests, SCRATCH)
        for store in fixture.header.stores
        for mode in DerivationMode
        if mode in fixture.header.modes
    ]


def run_over_http(fixture: Fixture, known: KnownDigests, server: Server) -> FixtureRun:
    """Run a fixture on the first of its stores, behind a server."""
    return run_fixture(
        fixture, fixture.header.stores[0], digests=known.of(fixture), scratch=SCRATCH, reach=server.reached
    )


def complaints(runs: Sequence[FixtureRun], over_http: Sequence[FixtureRun] = ()) -> Iterator[str]:
    """Yield what is wrong with the runs of one fixture."""
    told = {id(run): f"{run.fixture} on {run.store}, {run.mode}" for run in runs}
    told |= {id(run): f"{run.fixture} over HTTP" for run in over_http}
    for run in (*runs, *over_http):
        where = told[id(run)]
        for check in run.checks:
            if check.verdict is CheckOutcome.FAILED:
                yield f"{where}: line {check.line}, {check.what}: {check.difference}"
            elif check.verdict is CheckOutcome.UNCHECKED:
                yield f"{where}: line {check.line}, {check.what} is not checked"
        difference = first_difference(runs[0], run)
        if difference is not None:
            yield f"{where}, and on {runs[0].store}, {runs[0].mode}: {difference.told()}"


def check(names: Sequence[str], say: Say) -> bool:
    """Check fixtures, all of them and the released stores when none is named; return whether everything held."""
    known, chosen, wrong, count = read_digests(HISTORIES), fixtures(names), 0, 0
    outdated = [name for name in PROJECTIONS if not known.counts(name)]
    for name in outdated:
        wrong += 1
        say(f"projection {name} has another version than {FILE}: python -m replay check --write")
    with Server().running() as server:
        for fixture in chosen:
            runs, over_http = runs_of(fixture, known), run_over_http(fixture, known, server)
            count += len(runs) + 1
            for complaint in complaints(runs, [over_http]):
                wrong += 1
                say(complaint)
    if not names:
        if len(chosen) < FIXTURES_MIN:
            wrong += 1
            say(f"{len(chosen)} fixtures, at least {FIXTURES_MIN} are wanted")
        for complaint in complaints_about(RELEASES):
            wrong += 1
            say(complaint)
    say(f"check: {len(chosen)} fixtures, {count} runs, {server.calls} calls over HTTP, {wrong} failures")
    return not wrong


def write(say: Say) -> bool:
    """Write the digests again: for new fixtures, changed fixtures and projections of another version. Nothing else."""
    known = read_digests(HISTORIES)
    found = digests_of([run_fixture(each, each.header.stores[0], scratch=SCRATCH) for each in fixtures()])
    refused = [
        f"{name}, line {line}: {projection} differs and has the version it had"
        for name, one in found.fixtures.items()
        if name in known.fixtures and known.fixtures[name].fixture == one.fixture
        for line, digests in one.lines.items()
        for projection, digest in digests.items()
        if known.counts(projection) and known.fixtures[name].lines.get(line, {}).get(projection) != digest
    ]
    for each in refused:
        say(each)
    if not refused:
        (HISTORIES / FILE).write_text(digests_text(found), encoding="utf-8")
    return not refused


def main(names: Sequence[str], *, writes: bool) -> int:
    """Run the gate, or write the digests; return the exit code."""
    passed = write(_say) if writes else check(names, _say)
    return 0 if passed else 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
