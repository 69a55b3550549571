"""Reports of runs: every check with its verdict, what was measured, what was not verified. Never content.

A run passes when a check held and none failed. What nobody expected anything of is `unchecked`, which is not `held`
(RH-02).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.replay.fixture import DerivationMode
from muniment.space.options import StoreKind
from muniment.version import __version__

REPORT_FORMAT = "muniment.replay.report/1"


class CheckOutcome(StrEnum):
    """What became of a check."""

    HELD = "held"
    FAILED = "failed"
    UNCHECKED = "unchecked"


class Digested(Struct, frozen=True, kw_only=True):
    """A digest over logical rows, and one of each row by its key."""

    digest: str
    rows: dict[str, str]


class KeyCounts(Struct, frozen=True, kw_only=True):
    """How many events have keys, of how many words or their key are left, and how many versions of the space key."""

    bundles: int
    contents: int
    versions: int


class Measured(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A space at one point of a run. With `fault`, it could not be read and nothing else is known."""

    line: int
    space: str
    fault: str | None = None
    sound: bool = False
    size: int = 0
    root: str = ""
    checkpoint: str = ""
    keys: KeyCounts | None = None
    views: dict[str, Digested] = {}
    projections: dict[str, Digested] = {}


class ReplayCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was, or could have been, held to an expectation: in which line, what, and how it differs."""

    line: int
    command: str
    what: str
    verdict: CheckOutcome
    difference: str | None = None


class FixtureRun(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fixture on one store in one mode. `fixture_digest` is the SHA-256 of its bytes."""

    fixture: str
    fixture_digest: str
    store: StoreKind
    mode: DerivationMode
    passed: bool
    held: int
    failed: int
    unchecked: int
    checks: list[ReplayCheck]
    measured: list[Measured]


class ReplayReport(Struct, frozen=True, kw_only=True):
    """Everything that was run by one call, and what was not verified by it."""

    format: str
    version: str
    passed: bool
    runs: list[FixtureRun]
    not_verified: list[str]


class RecordingReport(Struct, frozen=True, kw_only=True):
    """What became of a recording: what was left out, by kind of event, and which errors its commands end in."""

    commands: int
    events: int
    left_out: dict[str, int]
    errors: dict[str, int]


def report_of(runs: list[FixtureRun], not_verified: list[str]) -> ReplayReport:
    """Return the report of runs; without a single run nothing has passed."""
    return ReplayReport(
        format=REPORT_FORMAT,
        version=__version__,
        passed=bool(runs) and all(run.passed for run in runs),
        runs=runs,
        not_verified=not_verified,
    )
