"""Reports of runs: every check with its verdict, what was measured, what was not verified. Never content.

A run passes when a check held and none failed. What has no expectation is `unchecked`, which is not `held`. So is what
has an empty one; but then the run has not passed, because somebody meant to expect something.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from muniment.replay.fixture import DerivationMode
from muniment.space.options import StoreKind
from muniment.version import __version__

REPORT_FORMAT = "muniment.replay.report/1"


class CheckOutcome(StrEnum):
    """The verdict of a check."""

    HELD = "held"
    FAILED = "failed"
    UNCHECKED = "unchecked"


class Digested(Struct, frozen=True, kw_only=True):
    """A digest over logical rows, and one of each row by its key."""

    digest: str
    rows: dict[str, str]


class KeyCounts(Struct, frozen=True, kw_only=True):
    """How many events have keys, how many still have content, and how many versions of the space key there are."""

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
    """One thing that was, or could have been, checked: in which line, what, and how it differs.

    `difference` of what was not checked says that the expectation is there and empty.
    """

    line: int
    command: str
    what: str
    verdict: CheckOutcome
    difference: str | None = None

    @property
    def fails(self) -> bool:
        """Whether the run has not passed because of it: it failed, or is expected and was left empty."""
        return self.verdict is CheckOutcome.FAILED or self.difference is not None


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


class FixtureNotRead(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that is no fixture, or cannot be read: its name and the error."""

    file: str
    code: str
    at: str | None = None
    problem: str | None = None


class ReplayReport(Struct, frozen=True, kw_only=True):
    """All runs of one call, the files that could not be run, and what was not verified."""

    format: str
    version: str
    passed: bool
    runs: list[FixtureRun]
    not_verified: list[str]
    not_read: list[FixtureNotRead] = []


class RecordingReport(Struct, frozen=True, kw_only=True):
    """The counts of a recording: events left out, by kind, and errors that its commands end in."""

    commands: int
    events: int
    left_out: dict[str, int]
    errors: dict[str, int]


def report_of(runs: list[FixtureRun], not_verified: list[str], not_read: Sequence[FixtureNotRead] = ()) -> ReplayReport:
    """Return the report of runs; without any run, or with a file that could not be run, it has not passed."""
    return ReplayReport(
        format=REPORT_FORMAT,
        version=__version__,
        passed=bool(runs) and not not_read and all(run.passed for run in runs),
        runs=runs,
        not_verified=not_verified,
        not_read=list(not_read),
    )
