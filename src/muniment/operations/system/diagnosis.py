"""The report of the doctor: what was found, what to do next, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.declaration.operation import JudgedReport
from muniment.errors import Kind
from muniment.operations.system.remedies import remedy_of

GRAVEST_FIRST = (Kind.CORRUPT, Kind.MISSING, Kind.DENIED, Kind.INVALID, Kind.UNAVAILABLE, Kind.EXHAUSTED, Kind.CONFLICT)


class DoctorFinding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong and what to do next: a sentence with a command. A `warning` is no reason not to use the store."""

    kind: str
    what: str
    next: str
    warning: bool = False
    count: int = 1
    at: str | None = None


class DoctorReport(JudgedReport, Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was looked at and what was found. `healthy`: there is no finding, or there are only warnings.

    Without `with_key` less could be looked at. `checkpoint_age_s` is the time since the last event that is signed was
    written. Of memory there are counts, where there is any and nothing grave was found: items in use, those of them
    that need a review, proposals to decide about, and policies that stop what would be remembered. muniment keeps no
    record of backups.
    """

    healthy: bool
    with_key: bool
    findings: list[DoctorFinding]
    space: str | None = None
    events: int | None = None
    pinned: bool | None = None
    checkpoint_age_s: int | None = None
    items_in_use: int | None = None
    items_to_review: int | None = None
    proposals_open: int | None = None
    policies_stopping: int | None = None
    free_bytes: int | None = None
    model: str | None = None
    settings: list[str] = []

    @property
    def verdict(self) -> Kind | None:
        """Return the gravest kind of what was found."""
        found = {remedy_of(finding.kind).verdict for finding in self.findings}
        return next((kind for kind in GRAVEST_FIRST if kind in found), None)


def lines_of(report: DoctorReport) -> Iterator[tuple[DoctorFinding, str]]:
    """Yield each finding with how it is called: the grave ones first."""
    for finding in sorted(report.findings, key=lambda each: each.warning):
        yield finding, "warning" if finding.warning else "problem"
