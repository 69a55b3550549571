"""Whether the open space may be trusted."""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from muniment.declaration.operation import JudgedReport
from muniment.declaration.session import Session
from muniment.errors import Corrupt, Kind, MunimentError
from muniment.projections.inspection.findings import Findings
from muniment.projections.inspection.inspection import Inspection
from muniment.search.index_status import IndexStatus

STAGE = "health"


class Health(JudgedReport, Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the open space may be trusted. With a `fault` it is open for inspection only.

    `pinned`: a checkpoint is kept outside the store, so that an older copy of it would be noticed. `unpinned` places
    for pins held none when the store was opened: it was deleted there, or the place is new.
    `indexes` are those for searching that this process has in memory. `unknown_kinds` are the events that only a newer
    release reads: while there are any, this one reads what it knows and writes nothing (`store.newer`). `events_read`:
    so many events were read whole, keys and content included: a sample, chosen at random when the space was opened, or
    all of them.
    """

    space: str
    sound: bool
    events: int
    pinned: bool
    events_read: int = 0
    checkpoint_size: int | None = None
    pinned_size: int | None = None
    unpinned: int = 0
    key_versions: int = 1
    fault: str | None = None
    fault_message: str | None = None
    unknown_kinds: list[str] = []
    indexes: list[IndexStatus] = []

    @property
    def verdict(self) -> Kind | None:
        """Return whether the space may be trusted."""
        return None if self.sound else Kind.CORRUPT


def health_of(session: Session, *, full: bool) -> Health:
    """Return the health of the open space; `full`: having read every event whole."""
    space = session.inspected
    events_read, fault = space.sample.events, space.fault or space.sample.fault
    if full:
        events_read, found = _inspected(session)
        fault = space.fault or found
    unknown: list[str] = []
    with space.ledger.store.reader() as reader:
        try:
            events, kept = reader.frontier().size, reader.latest_checkpoint()
            unknown = space.ledger.vocabulary.of(reader).unknown_kinds
        except Corrupt as damaged:
            fault, events, kept = fault or damaged, reader.count(), None
    try:
        pinned = space.notary.pinned()
    except MunimentError as unreadable:
        fault, pinned = fault or unreadable, None
    return Health(
        space=space.name,
        sound=fault is None,
        events=events,
        events_read=events_read,
        pinned=pinned is not None,
        checkpoint_size=None if kept is None else kept.size,
        pinned_size=None if pinned is None else pinned.size,
        unpinned=space.notary.unpinned,
        key_versions=len(space.keys.versions),
        fault=None if fault is None else fault.code,
        fault_message=None if fault is None else str(fault),
        unknown_kinds=unknown,
        indexes=space.lazy_indexes.statuses(),
    )


def _inspected(session: Session) -> tuple[int, Corrupt | None]:
    """Read every event whole; return how many there are, and the first thing that is wrong."""
    space, findings = session.inspected, Findings(1)
    Inspection(space.ledger, space.name, findings, partial(session.progress, STAGE)).space(space.notary)
    first = next(iter(findings.findings), None)
    if first is None:
        return findings.events, None
    at = "log" if first.position is None else f"position {first.position}"
    return findings.events, Corrupt(at=at, problem=first.kind)
