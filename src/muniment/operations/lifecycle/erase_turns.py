"""Erasing turns and messages: the one thing that destroys, and the receipt of it.

In one write transaction: the events are appended, content keys and ciphertext removed (also of what was recorded beside
turns that are all erased), and the space key is turned over; then the write-ahead log is emptied and the old space key
is destroyed; only then comes the answer. What goes is decided inside the transaction, by the guard; what came between
the question and the transaction is decided like everything else.

Nothing has to be decrypted to be destroyed. The content of a turn whose cells or keys do not open any more is destroyed
as well, once its header and the tree have proved which turn it is; one message alone can only be taken out of content
that opens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import Action, LifecycleRequest, Transition, TurnLifecycle, TurnSpan, span_refs
from muniment.events.records import AliasRecorded, EventKind, RotationCause
from muniment.evidence.bundle import event_line
from muniment.evidence.receipt import receipt as tlog_proof
from muniment.evidence.tree import inclusion_proof
from muniment.governance.phases import Step
from muniment.ledger.ledger import Writer, draft
from muniment.log.port import WHOLE_CONVERSATION, Reader
from muniment.operations.lifecycle.guard import Guard, Judgements
from muniment.operations.lifecycle.reporting import ErasedPlace, ErasureReceipt, LifecycleReport, Reporting
from muniment.operations.lifecycle.scope import Scope, Target, turns_of
from muniment.projections.change_fold import Changes, beside
from muniment.search.snapshots import IndexesAfterRotation
from muniment.space.healing import erase_content, erase_messages
from muniment.space.space import Rotation, Space

NAMES_BATCH = 500

# kind of event -> what left the store with it
DISCLOSED: dict[EventKind, str] = {
    EventKind.EXPORT_ISSUED: "the certified export issued",
    EventKind.CONTENT_REVEALED: "what was revealed",
    EventKind.CONTEXT_ISSUED: "the recorded context of a prompt",
}
OUTSIDE = (
    "indexes in the memory of other processes, until they search the space again",
    "copies that the host, model providers or readers of earlier replays keep",
    "backups of keyring and log made before, until they are restored or destroyed",
    "blocks that the file system or the disk keeps of overwritten key files",
)


class ErasureOutcome(NamedTuple):
    """What an erasure did in its transaction: its events, the streams they are in, and what was destroyed."""

    positions: list[int]
    streams: set[int]
    counts: Counter[str]


class Erasing:
    """One erasure of turns on its way."""

    def __init__(self, session: Session, scope: Scope, aim: Target, request: LifecycleRequest | None) -> None:
        self._space: Space = session.space
        self._budget = session.budget()
        self._scope = scope
        self._aim = aim
        self._request = request
        self._requested = True
        self._now_ms = request.requested_ms if request else session.space.sources.clock.now_ms()

    def by_policy(self) -> Erasing:
        """Let nobody have asked: only what policies call due goes."""
        self._requested = False
        return self

    def review(self) -> LifecycleReport:
        """Return what would be erased and what would be kept now."""
        self._aim.prepare()
        with self._space.ledger.reader() as reader:
            _, judged = self.judged(reader)
            return Reporting(self._space, reader, self._budget).report(Action.ERASE, self._scope, self._request, judged)

    def run(self) -> LifecycleReport:
        """Decide, destroy what is to go, and report."""
        report = self.review()
        if report.affected_turns:
            return self.carry_out(report)
        if len(self._space.keys.versions) > 1:
            self._space.rotate(RotationCause.ERASURE)  # an earlier erasure was kept from finishing
        return report

    def carry_out(self, report: LifecycleReport) -> LifecycleReport:
        """Destroy what is still to go, and complete the report."""
        receipt = self.erase()
        if receipt is None:
            return report
        return replace(report, changed=True, position=receipt.position, receipt=receipt)

    def erase(self) -> ErasureReceipt | None:
        """Destroy what is to go; return the receipt, or None when somebody was faster."""
        done = ErasureOutcome([], set(), Counter())
        rotation = self._space.rotate(RotationCause.ERASURE, partial(self._plan, done))
        return self._receipt(done, rotation) if done.positions else None

    def judged(self, reader: Reader) -> tuple[Guard, list[Judgements]]:
        """Return what becomes of everything that was asked about, in one state of the log."""
        guard = Guard(self._space, reader, self._now_ms)
        return guard, [guard.judge(lot, requested=self._requested) for lot in self._aim.lots(reader)]

    # --- inside the transaction ---------------------------------------------------------------------------------------

    def _plan(self, done: ErasureOutcome, writer: Writer) -> None:
        for so_far in done:  # of an attempt that found the disk full
            so_far.clear()
        _, judged = self.judged(writer.tx)
        going = [one for one in judged if one.spans]
        before = {one.lot.head.stream: self._space.transcript.changes(writer.tx, one.lot.head) for one in going}
        for one in going:
            done.positions.extend(self._append(writer, one))
            done.streams.add(one.lot.head.stream)
        writer.flush()
        for one in going:
            done.counts.update(self._destroyed(writer, one, before[one.lot.head.stream]))

    def _append(self, writer: Writer, one: Judgements) -> Iterator[int]:
        assert self._request is not None, "a review appends nothing"
        for span in one.events:
            refs = span_refs(span)
            if one.lot.message is not None:
                refs["message"] = one.lot.message
            event = draft(
                self._space.sources.entropy,
                EventKind.TURN_LIFECYCLE,
                self._request.requested_ms,
                TurnLifecycle(request=self._request),
                reason=Transition.ERASE,
            )
            target = refs.get("turn", WHOLE_CONVERSATION)
            yield writer.append(event, stream=one.lot.head.stream, target=target, refs=refs).position

    def _destroyed(self, writer: Writer, one: Judgements, before: Changes) -> Iterator[str]:
        """Destroy the content of what goes; yield a word for each thing that was destroyed."""
        head, message = one.lot.head, one.lot.message
        for span in one.spans:
            for row in turns_of(writer.tx, head.stream, span):
                if message is not None:
                    erase_messages(self._space.ledger, writer, row, frozenset({message}))
                    yield "message"
                    continue
                gone, blind = erase_content(writer, row)
                if gone:
                    yield "content"
                if blind:
                    yield "blind"
        for position in beside(_after(before, one), head.turns):
            row_beside = writer.tx.sealed(position)
            if row_beside is not None and writer.destroy_content(row_beside):
                yield "beside"

    # --- the receipt --------------------------------------------------------------------------------------------------

    def _receipt(self, done: ErasureOutcome, rotation: Rotation) -> ErasureReceipt:
        space, position = self._space, done.positions[0]
        signed = space.with_reserve(space.checkpoint)
        with space.ledger.reader() as reader:
            row = reader.sealed(position)
            assert row is not None, "the event was just made durable"
            shown = [f"{what} at position {at}" for what, at in self._shown(reader, done.streams)]
            aliases = list(self._aliases(reader))
            proof = inclusion_proof(reader, position, signed.checkpoint.size)
        return ErasureReceipt(
            position=position,
            leaf=row.leaf.hex(),
            turns_erased=done.counts["content"],
            places=list(_places(done.counts, rotation)),
            outside=[
                *OUTSIDE,
                *aliases,
                *shown,
            ],
            proof=tlog_proof(event_line(space.ledger.header(row)[1], {}), position, proof, signed.note),
            positions=done.positions[: space.limits.report_items_max],
        )

    def _shown(self, reader: Reader, streams: set[int]) -> Iterator[tuple[str, int]]:
        """Yield where words of these conversations left the store on record, as many as a report lists."""
        left = self._space.limits.report_items_max
        for kind, what in DISCLOSED.items():
            after = -1
            while left > 0 and (rows := reader.of_kind(kind, after, NAMES_BATCH)):
                after = rows[-1].position
                for found in rows:
                    if left > 0 and self._space.ledger.header(found)[0].refs.get("stream") in streams:
                        left -= 1
                        yield what, found.position

    def _aliases(self, reader: Reader) -> Iterator[str]:
        """Yield what stays of the name of a subject that everything was erased of."""
        subject = self._scope.subject
        if subject is None:
            return
        count, after = 0, -1
        while rows := reader.of_kind(EventKind.ALIAS_RECORDED, after, NAMES_BATCH):
            after = rows[-1].position
            for row in rows:
                meta = self._space.ledger.open(row).meta
                count += isinstance(meta, AliasRecorded) and meta.subject == subject
        yield f"the name of the subject, sealed: in who spoke, in the events of this erasure, and in {count} chat ids"


def _after(changes: Changes, one: Judgements) -> Changes:
    """Return the changes of a stream with the events of an erasure, as far as they say what is erased."""
    if one.lot.message is not None:
        turn = one.lot.spans[0].first
        alone = changes.erased.get(turn, frozenset()) | {one.lot.message}
        return replace(changes, erased={**changes.erased, turn: alone})
    steps = tuple(Step(Transition.ERASE, span.first, _last(span)) for span in one.events)
    return replace(changes, steps=changes.steps + steps)


def _last(span: TurnSpan) -> int:
    assert span.last is not None, "what is erased was there"
    return span.last


def _places(counts: Counter[str], rotation: Rotation) -> Iterator[ErasedPlace]:
    erased = counts["content"]
    if counts["message"]:
        yield ErasedPlace(place="content of the turn", done="sealed anew without the message, the former key destroyed")
    else:
        yield ErasedPlace(place="content keys", done=f"{erased} destroyed")
        yield ErasedPlace(place="content cells", done=f"{erased} removed, freed pages overwritten")
    if counts["blind"]:
        told = f"{counts['blind']} that did not open destroyed whole: of these turns only the header is left"
        yield ErasedPlace(place="key bundles", done=told)
    if counts["beside"]:
        yield ErasedPlace(place="content recorded beside the turns", done=f"{counts['beside']} destroyed")
    yield ErasedPlace(place="digest of the turn's words", done="destroyed with its content cell")
    yield ErasedPlace(place="write-ahead log", done=f"emptied, {rotation.scrub.wal_bytes} bytes left")
    yield ErasedPlace(
        place="space key", done=f"version {rotation.version} in force, {rotation.versions_destroyed} older destroyed"
    )
    yield from _indexes(rotation.indexes)
    yield ErasedPlace(place="memory of this process", done="nothing else of the words is cached")


def _indexes(carried: IndexesAfterRotation) -> Iterator[ErasedPlace]:
    told = f"taken out of {carried.in_memory}, vectors too" if carried.in_memory else "there were none"
    yield ErasedPlace(place="search indexes in memory", done=told)
    kept = f"{carried.rewritten} sealed anew without the words, {carried.removed} removed, former keys destroyed"
    told = kept if carried.rewritten or carried.removed else "there were none"
    yield ErasedPlace(place="search indexes at rest", done=told)
