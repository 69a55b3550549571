"""Erasing a whole space: its log ends, its keys are destroyed, and what is left proves that and nothing else.

1. In one transaction: everything sealed is removed, cells and keys, and the last event is appended (`space.erased`);
   from then on the log takes no events, of no process. The head is signed.
2. The write-ahead log is emptied, and the final checkpoint is pinned.
3. All keys of the space are destroyed in `keys.json`: the space key, the index key, by which names were found, the
   signing key, and the name. Headers, tree and checkpoints stay, so that the audit and everything that was handed out
   before still verify.

A crash behind step 1 is completed by the next opening. Opening the space afterwards raises `space.erased` (decision
0052). A hold or a legal minimum anywhere in the space refuses all of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import Action, LifecycleRequest
from muniment.events.identity import SpaceName
from muniment.events.records import EventKind, SpaceErasure
from muniment.evidence.bundle import event_line
from muniment.evidence.receipt import receipt as tlog_proof
from muniment.evidence.tree import inclusion_proof
from muniment.governance.access import Effect
from muniment.ledger.ledger import SPACE_STREAM, Writer, draft
from muniment.log.port import Reader, ScrubReport
from muniment.operations.lifecycle.erase_turns import OUTSIDE
from muniment.operations.lifecycle.guard import Guard, Judgements
from muniment.operations.lifecycle.reporting import ErasedPlace, ErasureReceipt, HoldInForce, LifecycleReport, Reporting
from muniment.operations.lifecycle.scope import Scope, SpaceTarget
from muniment.space.space import Space

BATCH = 1000


class ErasingSpace:
    """The erasure of the open space on its way."""

    def __init__(self, session: Session, request: LifecycleRequest | None) -> None:
        self._session = session
        self._space: Space = session.space
        self._budget = session.budget()
        self._scope = Scope(whole_space=SpaceName(self._space.name))
        self._request = request

    def review(self) -> LifecycleReport:
        """Return what would be erased now, and what keeps it."""
        with self._space.ledger.reader() as reader:
            return self._report(reader)

    def run(self) -> LifecycleReport:
        """Erase the space unless something keeps any of it, and report."""
        self._session.access.require(Effect.ADMIN)
        report = self.review()
        position = self._space.with_reserve(lambda: self._space.ledger.transact(self._plan))
        if position is None:
            return report
        scrub = self._space.destroy_keys()
        receipt = self._receipt(position, report.affected_turns, scrub)
        return replace(report, changed=True, position=position, receipt=receipt)

    def _judged(self, reader: Reader) -> tuple[Guard, list[Judgements]]:
        now_ms = self._request.requested_ms if self._request else self._space.sources.clock.now_ms()
        guard = Guard(self._space, reader, now_ms)
        return guard, [guard.judge(lot, requested=True) for lot in SpaceTarget(self._space).lots(reader)]

    def _holds(self, reader: Reader, guard: Guard, judged: list[Judgements]) -> list[HoldInForce]:
        """Return every hold in force, also those that have no words to keep yet."""
        reporting = Reporting(self._space, reader)
        found = list(reporting.holds(guard.holds))
        for one in judged:
            own = self._space.transcript.changes(reader, one.lot.head).holds.values()
            found += reporting.holds(own, one.lot.key)
        return found

    def _report(self, reader: Reader) -> LifecycleReport:
        guard, judged = self._judged(reader)
        reporting = Reporting(self._space, reader, self._budget)
        report = reporting.report(Action.ERASE, self._scope, self._request, judged)
        most = self._space.limits.report_items_max
        return replace(
            report,
            holds=self._holds(reader, guard, judged)[:most],
            policies=list(reporting.policies(guard.policies))[:most],
        )

    def _plan(self, writer: Writer) -> int | None:
        """End the log, unless something keeps any of it by now; return where."""
        assert self._request is not None, "a review appends nothing"
        guard, judged = self._judged(writer.tx)
        if any(one.kept for one in judged) or self._holds(writer.tx, guard, judged):
            return None
        for position in range(writer.tx.frontier().size):
            writer.destroy_sealed(position)
        event = draft(
            self._space.sources.entropy,
            EventKind.SPACE_ERASED,
            self._request.requested_ms,
            SpaceErasure(request=self._request),
        )
        placed = writer.append(event, stream=SPACE_STREAM)
        writer.end()
        return placed.position

    def _receipt(self, position: int, erased: int, scrub: ScrubReport) -> ErasureReceipt:
        with self._space.ledger.reader() as reader:
            row, signed = reader.sealed(position), reader.latest_checkpoint()
            assert row is not None, "the event was just made durable"
            assert signed is not None, "it was signed with the event"
            exports = sum(1 for _ in self._exports(reader))
            proof = inclusion_proof(reader, position, signed.size)
        return ErasureReceipt(
            position=position,
            leaf=row.leaf.hex(),
            turns_erased=erased,
            places=[
                ErasedPlace(place="cells of all events", done="removed, freed pages overwritten"),
                ErasedPlace(place="key bundles of all events", done="removed, freed pages overwritten"),
                ErasedPlace(place="write-ahead log", done=f"emptied, {scrub.wal_bytes} bytes left"),
                ErasedPlace(place="space key", done="every version destroyed"),
                ErasedPlace(place="index key", done="destroyed: no name leads anywhere, no digest can be tried"),
                ErasedPlace(place="signing key and name of the space", done="destroyed"),
                ErasedPlace(place="headers, tree, checkpoints", done="kept: they hold no words and no names"),
                ErasedPlace(place="search indexes", done="forgotten in memory, removed at rest"),
                ErasedPlace(place="memory of this process", done="keys forgotten by the key ring of this space"),
            ],
            outside=[*OUTSIDE, "pins, which hold the origin of the log and its root", *exported(exports)],
            proof=tlog_proof(event_line(self._space.ledger.header(row)[1], {}), position, proof, signed.note),
            positions=[position],
        )

    def _exports(self, reader: Reader) -> Iterator[int]:
        after = -1
        while rows := reader.of_kind(EventKind.EXPORT_ISSUED, after, BATCH):
            after = rows[-1].position
            yield from (row.position for row in rows)


def exported(count: int) -> list[str]:
    """Return what is said of certified exports that were handed out."""
    return [f"{count} certified exports that were handed out"] if count else []
