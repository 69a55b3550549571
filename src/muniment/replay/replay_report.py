"""Reports of runs: every check with its verdict, what was measured, what was not verified. Never content.

A run passes when a check held and none failed. What nobody expected anything of is `unchecked`, which is not `held`
(RH-02).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.replay.fixture import DerivationMode
from muniment.replay.measuring import Measured
from muniment.runtime.open import StoreKind
from muniment.version import __version__

REPORT_FORMAT = "muniment.replay.replay_report/1"


class CheckOutcome(StrEnum):
    """What became of a check."""

    HELD = "held"
    FAILED = "failed"
    UNCHECKED = "unchecked"


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


def report_of(runs: list[FixtureRun], not_verified: list[str]) -> ReplayReport:
    """Return the report of runs; without a single run nothing has passed."""
    return ReplayReport(
        format=REPORT_FORMAT,
        version=__version__,
        passed=bool(runs) and all(run.passed for run in runs),
        runs=runs,
        not_verified=not_verified,
    )
