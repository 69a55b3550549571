"""The histories of the repository: each passes, each checks all it measures, and together they cover the product."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.declaration.http_wire import is_served
from muniment.replay.digests import read_digests
from muniment.replay.fixture import CrashPoint, DerivationMode, HarnessCommand, parse_fixture
from muniment.replay.measuring import PROJECTIONS
from muniment.replay.replay_report import CheckOutcome
from muniment.replay.running import run_fixture
from muniment.runtime.catalogue import catalogue
from muniment.space.options import StoreKind
from replay import check as gate
from replay.check import complaints, run_over_http, runs_of
from replay.served import Server
from tests.replay_harness.histories import HISTORIES

PATHS = sorted(HISTORIES.glob("*.jsonl"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_history_holds_and_leaves_nothing_unchecked(path: Path) -> None:
    fixture = parse_fixture(path.read_bytes())
    assert fixture.header.id == path.stem
    assert fixture.header.breaks, "it says what makes it fail"
    ran = run_fixture(fixture, fixture.header.stores[0], digests=read_digests(HISTORIES).of(fixture))
    assert not [each for each in ran.checks if each.verdict is not CheckOutcome.HELD]
    assert ran.passed


@pytest.mark.parametrize("name", ["erase-then-rebuild", "crash-in-a-rotation", "two-spaces"])
def test_stores_and_modes_measure_the_same(name: str) -> None:
    fixture = parse_fixture((HISTORIES / f"{name}.jsonl").read_bytes())
    runs = runs_of(fixture, read_digests(HISTORIES))
    assert {(ran.store, ran.mode) for ran in runs} == {(store, mode) for store in StoreKind for mode in DerivationMode}
    assert not list(complaints(runs))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server().running() as running:
        yield running


@pytest.mark.no_cover  # what answers is covered by the tests of the server
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_history_is_the_same_over_http(path: Path, server: Server) -> None:
    """Whatever is served is called over HTTP: every report and every error is as expected, and so is every digest."""
    fixture, calls = parse_fixture(path.read_bytes()), server.calls
    ran = run_over_http(fixture, read_digests(HISTORIES), server)
    assert not [each for each in ran.checks if each.verdict is not CheckOutcome.HELD]
    served = {each.path for each in catalogue() if is_served(each)}
    assert server.calls - calls >= sum(command.do in served for command in fixture.commands) - 1


def test_the_histories_cover_the_product() -> None:
    """Every operation is asked for somewhere, with every word of the harness, every crash and every projection."""
    commands = [command for path in PATHS for command in parse_fixture(path.read_bytes()).commands]
    asked = {command.do for command in commands} | {command.during.do for command in commands if command.during}
    assert {operation.path for operation in catalogue()} <= asked
    assert set(HarnessCommand) <= asked
    assert {command.point for command in commands if command.do == HarnessCommand.CRASH} >= set(CrashPoint)
    assert len(PATHS) >= gate.FIXTURES_MIN
    known = read_digests(HISTORIES)
    assert set(known.versions) == set(PROJECTIONS)
    assert known.fixtures.keys() == {path.stem for path in PATHS}
