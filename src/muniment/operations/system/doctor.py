"""The doctor: every check that there is, each finding with what to do next.

Each check stands alone: what it raises is a finding, and the next one runs. Without the root key, without a store, and
in a space that is open for inspection only there are fewer checks, never an error.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

from muniment.declaration.session import Session
from muniment.errors import MunimentError, StoreMissing, StoreNewer
from muniment.log.reserve import NAME as RESERVE
from muniment.operations.evidence.verify import audit
from muniment.operations.memory.memory_counts import memory_counts
from muniment.operations.system.diagnosis import DoctorFinding, DoctorReport
from muniment.operations.system.remedies import Ailment, remedy_of
from muniment.projections.inspection.findings import Findings
from muniment.projections.inspection.inspection import Inspection
from muniment.space.space import Space

DISK_LOW_BYTES = 64 * 1024 * 1024
DISK_FULL_BYTES = 256 * 1024
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def examine(session: Session) -> DoctorReport:
    """Run every check that the session lets run."""
    return Examination(session).report()


class Examination:
    """One examination on its way."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._deployment = session.deployment
        self._found: dict[tuple[str, str | None], DoctorFinding] = {}
        self._space = session.opened
        self._facts: dict[str, object] = {}

    def report(self) -> DoctorReport:
        """Run the checks and report."""
        if self._deployment.trouble is not None:
            self._error(self._deployment.trouble)
        checks: list[Callable[[], None]] = [self._files, self._disk, self._settings]
        space = self._space
        if space is None:
            checks += [self._audit]
        else:
            checks += [partial(check, space) for check in (self._health, self._content, self._memory, self._model)]
        for check in checks:
            try:
                check()
            except MunimentError as error:
                self._error(error)
        findings = list(self._found.values())
        return DoctorReport(
            healthy=all(finding.warning for finding in findings),
            with_key=self._session.store.keys is not None,
            findings=findings,
            **self._facts,  # type: ignore[arg-type]  # each check puts the fields that it knows
        )

    def _add(self, kind: str, count: int = 1, at: str | None = None) -> None:
        remedy = remedy_of(kind)
        self._found.setdefault(
            (kind, at),
            DoctorFinding(
                kind=kind, what=remedy.what, next=remedy.next, warning=remedy.verdict is None, count=count, at=at
            ),
        )

    def _error(self, error: MunimentError) -> None:
        kind = Ailment.LOG_LOST if error.problem == Ailment.LOG_LOST else error.code
        self._add(kind, at=error.at)

    # --- the checks ---------------------------------------------------------------------------------------------------

    def _files(self) -> None:
        """Look at who may read the key file and the directory, and whether the two lie apart."""
        directory, key = self._session.store.directory, self._deployment.key_file
        if key is not None and _mode(key) & OTHERS:
            self._add(Ailment.KEY_EXPOSED)
        if key is not None and directory.resolve() in key.resolve().parents:
            self._add(Ailment.KEY_BESIDE_STORE)
        if self._deployment.at_rest and _mode(directory) & OTHERS:
            self._add(Ailment.STORE_EXPOSED)
        keys = self._session.store.keys
        if keys is not None and keys.unfinished:
            self._add(Ailment.ROOT_ROTATION_UNFINISHED)

    def _disk(self) -> None:
        directory = self._session.store.directory
        if not self._deployment.at_rest or not directory.exists():
            return
        free = shutil.disk_usage(directory).free
        self._facts["free_bytes"] = free
        if free < DISK_FULL_BYTES:
            self._add(Ailment.DISK_FULL)
        elif free < DISK_LOW_BYTES:
            self._add(Ailment.DISK_LOW)
        if self._space is not None and not any(directory.glob(f"spaces/*/{RESERVE}")):
            self._add(Ailment.RESERVE_MISSING)

    def _settings(self) -> None:
        self._facts["settings"] = self._deployment.settings
        if self._deployment.unknown_settings:
            self._add(Ailment.SETTING_UNKNOWN, self._deployment.unknown_settings)

    def _audit(self) -> None:
        """Audit what can be audited without the key."""
        if any(kind == Ailment.LOG_LOST for kind, _ in self._found):
            return
        if not self._session.store.directory.exists():
            raise StoreMissing(at="store.json")
        self._facts["events"] = sum(each.events for each in audit(self._session, None, None, None).spaces)

    def _health(self, space: Space) -> None:
        self._facts["space"] = space.name
        if space.fault is not None:
            self._error(space.fault)
        if space.is_rotation_due:
            self._add(Ailment.ROTATION_UNFINISHED)
        with space.ledger.store.reader() as reader:
            kept, events = reader.latest_checkpoint(), reader.count()
            signed = None if kept is None else next(iter(reader.events(kept.size - 1, kept.size - 1)), None)
            for kind in space.ledger.vocabulary.of(reader).unknown_kinds:
                self._error(StoreNewer(at=kind))
        self._facts["events"] = events
        if signed is not None:
            self._facts["checkpoint_age_s"] = max(0, space.sources.clock.now_ms() - signed.time) // 1000
        if kept is None or kept.size < events:
            self._add(Ailment.NOT_SIGNED)
        pinned = space.notary.pinned()
        self._facts["pinned"] = pinned is not None
        if pinned is None and self._deployment.at_rest:
            self._add(Ailment.NOT_PINNED)

    def _content(self, space: Space) -> None:
        """Inspect the whole space."""
        findings = Findings(0)
        Inspection(space.ledger, space.name, findings, partial(self._session.progress, "inspect")).space(space.notary)
        for kind, count in sorted(findings.counts.items()):
            self._add(kind.value, count)

    def _memory(self, space: Space) -> None:
        """Count what memory holds, where nothing is wrong that a count would rest on."""
        counts = memory_counts(space) if all(finding.warning for finding in self._found.values()) else None
        if counts is not None:
            self._facts |= counts._asdict()

    def _model(self, space: Space) -> None:
        try:
            embedder = self._session.store.embedders.of(space.name)
        except MunimentError:
            self._add(Ailment.MODEL_UNUSABLE)
        else:
            self._facts["model"] = None if embedder is None else embedder.name


def _mode(path: Path) -> int:
    """Return the mode of what is there, 0 where nothing can be seen."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
