"""What every store has to pass. Needs `muniment[conformance]` (hypothesis).

A store proves itself in three lines of a test module:

    from muniment.log.conformance import conformance
    TestMine = conformance(lambda place: MyStore(place / "log.db"))

`open` is given an empty directory and opens the store in it; given the same directory again after `close`, it must find
what was there (`durable=False` for a store that ends when it is closed). The machine drives the store with random plans
(good ones, ones that raise after they have written, ones that write what does not fit) and holds every answer, in the
present state and in snapshots of the past, to a model made of plain Python.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any
from unittest import TestCase

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muniment.errors import Conflict, StoreClosed
from muniment.log.model import CHANGE, MISFITS, OPENED, TURN, LogModel, ModelBatch, ModelDraft, check_all, event, placed
from muniment.log.port import PartRow, Reader, ScrubReport, Store, Transaction

SNAPSHOTS_MAX = 3
SETTINGS = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

blobs = st.binary(min_size=0, max_size=80)
drafts = st.builds(
    ModelDraft,
    stream=st.integers(0, 4),
    kind=st.sampled_from([TURN, TURN, CHANGE, OPENED]),
    target=st.integers(0, 4),
    time=st.integers(0, 2**45),
    leaf=st.binary(min_size=32, max_size=32),
    header=st.binary(min_size=1, max_size=400),
    envelope=st.none() | blobs,
    content=st.none() | st.binary(max_size=6000),
)
names = st.sampled_from(["format", "état", "x" * 100])


class StoreMachine(RuleBasedStateMachine):
    """The state machine. `open_store` and `durable` are set by `conformance`."""

    open_store: Callable[[Path], Store]
    durable: bool

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="muniment-conformance-"))
        self.store = type(self).open_store(self.place)
        self.model = LogModel()
        self.snapshots: list[tuple[ExitStack, Reader, LogModel]] = []

    def teardown(self) -> None:
        """Close everything and leave no file."""
        self.forget_snapshots()
        self.store.close()
        self.store.close()
        shutil.rmtree(self.place)

    def refused(self, plan: Callable[[Transaction], Any]) -> None:
        """Run a plan whose write does not fit."""
        try:
            self.store.transact(plan)
        except Conflict:
            return
        raise AssertionError("what does not fit is refused")

    # --- what is done to the store ------------------------------------------------------------------------------------

    @initialize(wanted=st.lists(drafts, max_size=40))
    def begin(self, wanted: list[ModelDraft]) -> None:
        """Start with a log of some length, so that the tree has stored nodes."""
        self.append(wanted)

    @rule(wanted=st.lists(drafts, max_size=4))
    def append(self, wanted: list[ModelDraft]) -> None:
        """Check that a plan sees the state before and its own writes, and that what it returns is returned."""
        batch = placed(self.model, wanted)

        def plan(tx: Transaction) -> int:
            assert tx.frontier() == self.model.frontier
            batch.write(tx)
            assert (tx.frontier(), tx.log_seal()) == (batch.frontier, batch.seal)
            assert [tx.sealed(row.position) for row in batch.rows] == batch.rows
            assert [tx.stream_head(head.stream) for head in batch.heads] == batch.heads
            return len(batch.rows)

        assert self.store.transact(plan) == len(wanted)
        self.model.append(batch)

    @rule(wanted=st.lists(drafts, min_size=1, max_size=3), body=blobs)
    def append_and_raise(self, wanted: list[ModelDraft], body: bytes) -> None:
        """Check that a plan that raises leaves nothing, and that its caller gets its error."""
        batch = placed(self.model, wanted)

        def plan(tx: Transaction) -> None:
            batch.write(tx)
            tx.put_meta("format", body)
            tx.put_buckets([(0, body), (1, body)])
            for row in self.model.rows:
                tx.destroy_content(row.position)
                tx.destroy_envelope(row.position)
            raise LookupError

        try:
            self.store.transact(plan)
        except LookupError:
            return
        raise AssertionError("the error of a plan reaches its caller")

    @rule(wanted=st.lists(drafts, min_size=1, max_size=2))
    def append_what_does_not_fit(self, wanted: list[ModelDraft]) -> None:
        """Check that rows that are not the next ones, and heads that say otherwise, are refused whole."""
        fitting = placed(self.model, wanted)

        def plan(tx: Transaction, batch: ModelBatch) -> None:
            with suppress(Conflict):  # even a plan that swallows the refusal is undone
                batch.write(tx)

        for spoil in MISFITS.values():
            self.refused(partial(plan, batch=spoil(fitting)))

    @rule(buckets=st.dictionaries(st.integers(0, 40), blobs, max_size=4))
    def put_buckets(self, buckets: dict[int, bytes]) -> None:
        """Check that a bucket of names is what it was set to last."""

        def plan(tx: Transaction) -> None:
            tx.put_buckets(list(buckets.items()))
            assert {number: tx.bucket(number) for number in buckets} == buckets

        self.store.transact(plan)
        self.model.buckets.update(buckets)

    @rule(name=names, value=blobs)
    def put_meta(self, name: str, value: bytes) -> None:
        """Check that a named value is what it was set to last."""
        self.store.transact(lambda tx: tx.put_meta(name, value))
        self.model.meta[name] = value

    @rule(size=st.integers(0, 60), note=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
    def put_checkpoint(self, size: int, note: str) -> None:
        """Check that a checkpoint is never ahead of the log."""
        if size > len(self.model.rows):
            self.refused(lambda tx: tx.put_checkpoint(size, note))
        else:
            self.store.transact(lambda tx: tx.put_checkpoint(size, note))
            self.model.checkpoints[size] = note

    @rule(position=st.integers(0, 50))
    def destroy_content(self, position: int) -> None:
        """Check that destroyed content is gone, and that a second time nothing happens."""
        row = self.model.rows[position] if position < len(self.model.rows) else None
        there = row is not None and row.content is not None
        assert self.store.transact(lambda tx: tx.destroy_content(position)) == there
        self.model.let_go(position)
        if row is not None:
            self.model.rows[position] = msgspec.structs.replace(row, content=None)

    @rule(part=st.integers(1, 6), time=st.integers(1, 60), chunks=st.lists(blobs, max_size=3), kept=st.booleans())
    def add_part(self, part: int, time: int, chunks: list[bytes], kept: bool) -> None:
        """Check that an attachment is begun once, and that its chunks are there when its plan succeeded."""

        def plan(tx: Transaction) -> None:
            tx.begin_part(part, time)
            tx.put_chunks(part, 0, chunks, time)
            assert tx.chunks(part, 0, 3) == chunks
            if not kept:
                raise LookupError

        if part in self.model.parts:
            self.refused(plan)
            return
        with suppress(LookupError):
            self.store.transact(plan)
        if kept:
            self.model.parts[part] = time
            self.model.chunks |= {(part, number): chunk for number, chunk in enumerate(chunks)}

    @rule(part=st.integers(1, 6), time=st.integers(1, 60), first=st.integers(0, 4), chunks=st.lists(blobs, max_size=3))
    def grow_part(self, part: int, time: int, first: int, chunks: list[bytes]) -> None:
        """Check that an attachment grows while it is there, and that each growth renews its time."""
        known, more = self.model.parts.get(part, 0), {(part, at): chunk for at, chunk in enumerate(chunks, first)}
        if known == 0 or more.keys() & self.model.chunks.keys():
            self.refused(lambda tx: tx.put_chunks(part, first, chunks, time))
            return
        self.store.transact(lambda tx: tx.put_chunks(part, first, chunks, time))
        self.model.parts[part] = time if isinstance(known, int) else known
        self.model.chunks |= more

    @rule(part=st.integers(1, 6), position=st.integers(0, 5), field=st.sampled_from(["a", "b"]))
    def attach(self, part: int, position: int, field: str) -> None:
        """Check that an attachment that belongs to nothing can be attached once."""
        row, known = PartRow(part=part, position=position, field=field), self.model.parts.get(part)
        is_free = isinstance(known, int) and known > 0
        assert self.store.transact(lambda tx: tx.attach(row)) == is_free
        if is_free:
            self.model.parts[part] = row

    @rule(parts=st.lists(st.integers(1, 6), max_size=2))
    def let_go(self, parts: list[int]) -> None:
        """Check that what was let go of belongs to nothing."""
        self.store.transact(lambda tx: tx.let_go(parts))
        self.model.parts |= {part: 0 for part in parts if part in self.model.parts}

    @rule(before=st.integers(0, 60), most=st.integers(1, 4))
    def drop_chunks(self, before: int, most: int) -> None:
        """Check that what belongs to nothing is removed in steps, the oldest first."""
        loose = sorted((row, part) for part, row in self.model.parts.items() if isinstance(row, int) and row < before)
        gone, dropped = {part for _, part in loose}, 0
        while self.store.transact(lambda tx: tx.has_loose_parts(before)):
            step = self.store.transact(lambda tx: tx.drop_chunks(before, most))
            assert step <= most
            dropped += step
        assert dropped == sum(part in gone for part, _ in self.model.chunks)
        self.model.parts = {part: row for part, row in self.model.parts.items() if part not in gone}
        self.model.chunks = {at: chunk for at, chunk in self.model.chunks.items() if at[0] not in gone}

    @rule(position=st.integers(0, 50), cell=blobs)
    def put_content(self, position: int, cell: bytes) -> None:
        """Check that content can be replaced, not made."""
        row = self.model.rows[position] if position < len(self.model.rows) else None
        if row is None or row.content is None:
            self.refused(lambda tx: tx.put_content(position, cell))
        else:
            self.store.transact(lambda tx: tx.put_content(position, cell))
            self.model.rows[position] = msgspec.structs.replace(row, content=cell)

    @rule(envelopes=st.dictionaries(st.integers(0, 50), blobs, max_size=3))
    def put_envelopes(self, envelopes: dict[int, bytes]) -> None:
        """Check that envelopes can be replaced, not made."""
        rows = {row.position: row for row in self.model.rows if row.envelope is not None}
        if envelopes.keys() - rows.keys():
            self.refused(lambda tx: tx.put_envelopes(list(envelopes.items())))
            return
        self.store.transact(lambda tx: tx.put_envelopes(list(envelopes.items())))
        for position, envelope in envelopes.items():
            self.model.rows[position] = msgspec.structs.replace(rows[position], envelope=envelope)

    @rule(segments=st.dictionaries(st.integers(0, 3), blobs, max_size=2), kept=st.booleans())
    def put_segments(self, segments: dict[int, bytes], kept: bool) -> None:
        """Check that a row of segment keys is what it was set to last by a plan that succeeded."""

        def plan(tx: Transaction) -> None:
            for row, sealed in segments.items():
                tx.put_segments(row, sealed)
                assert tx.segments(row) == sealed
            if not kept:
                raise LookupError

        with suppress(LookupError):
            self.store.transact(plan)
        if kept:
            self.model.segments |= segments

    @rule(wanted=st.lists(drafts, min_size=1, max_size=4), kept=st.booleans(), name=names, value=blobs)
    def clear(self, wanted: list[ModelDraft], kept: bool, name: str, value: bytes) -> None:
        """Check that a plan that clears the log leaves what it writes afterwards alone, or, undone, everything."""
        fresh = LogModel()
        batch = placed(fresh, wanted)

        def plan(tx: Transaction) -> None:
            tx.put_meta(name, value)
            tx.clear()
            assert tx.frontier() == fresh.frontier
            batch.write(tx)
            tx.put_checkpoint(1, "again")
            if not kept:
                raise LookupError

        if kept:
            self.store.transact(plan)
            fresh.append(batch)
            fresh.checkpoints[1] = "again"
            self.model = fresh
        else:
            with suppress(LookupError):
                self.store.transact(plan)

    @rule(position=st.integers(0, 50))
    def destroy_envelope(self, position: int) -> None:
        """Check that a destroyed envelope is gone, and that a second time nothing happens."""
        row = self.model.rows[position] if position < len(self.model.rows) else None
        there = row is not None and row.envelope is not None
        assert self.store.transact(lambda tx: tx.destroy_envelope(position)) == there
        if row is not None:
            self.model.rows[position] = msgspec.structs.replace(row, envelope=None)

    @precondition(lambda self: self.model.heads)
    @rule(choice=st.integers(0, 9), tag=st.binary(min_size=16, max_size=16))
    def put_stream_head(self, choice: int, tag: bytes) -> None:
        """Check that a head may be signed again."""
        stream = sorted(self.model.heads)[choice % len(self.model.heads)]
        head = msgspec.structs.replace(self.model.heads[stream], tag=tag)
        self.store.transact(lambda tx: tx.put_stream_head(head))
        self.model.heads[stream] = head

    # --- what is seen -------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.snapshots) < SNAPSHOTS_MAX)
    @rule()
    def take_snapshot(self) -> None:
        """Begin to read; nothing that happens later shows."""
        stack = ExitStack()
        self.snapshots.append((stack, stack.enter_context(self.store.reader()), deepcopy(self.model)))

    @precondition(lambda self: self.snapshots)
    @rule(choice=st.integers(0, 9), first=st.integers(-2, 50), length=st.integers(0, 60))
    def end_snapshot(self, choice: int, first: int, length: int) -> None:
        """Check that a snapshot still answers as it did, and once it is closed no more."""
        stack, reader, model = self.snapshots.pop(choice % len(self.snapshots))
        check_all(reader, model, first, first + length)
        stack.close()
        try:
            reader.frontier()
        except StoreClosed:
            return
        raise AssertionError("a closed snapshot is not read")

    @rule(after=st.integers(-1, 60))
    def subscribe(self, after: int) -> None:
        """Check that a subscription catches up with the head."""
        batches = list(self.store.subscribe(after))
        assert all(batches)
        assert [row for batch in batches for row in batch] == [event(row) for row in self.model.rows[after + 1 :]]

    @rule(first=st.integers(-2, 50), length=st.integers(0, 60))
    def read(self, first: int, length: int) -> None:
        """Check that the present state is what was written, by every way to find it."""
        with self.store.reader() as reader:
            check_all(reader, self.model, first, first + length)

    @precondition(lambda self: not self.snapshots)
    @rule()
    def scrub(self) -> None:
        """Check that a scrub changes nothing that can be read."""
        assert isinstance(self.store.scrub(), ScrubReport)

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        """Check that what was acknowledged is there when the store is opened again."""
        self.forget_snapshots()
        self.store.close()
        self.store = type(self).open_store(self.place)

    @invariant()
    def the_head_is_the_last_append(self) -> None:
        """Check that the head is never behind an acknowledged plan."""
        with self.store.reader() as reader:
            assert reader.frontier() == self.model.frontier
            assert reader.size_bytes() >= 0

    def forget_snapshots(self) -> None:
        """Close the snapshots that are open."""
        while self.snapshots:
            self.snapshots.pop()[0].close()


def conformance(
    open_store: Callable[[Path], Store], *, durable: bool = True, settings: settings = SETTINGS
) -> type[TestCase]:
    """Return the test case that a store has to pass."""

    class Conformance(StoreMachine):
        pass

    Conformance.open_store = staticmethod(open_store)
    Conformance.durable = durable
    case: type[TestCase] = Conformance.TestCase
    Conformance.TestCase.settings = settings
    return case
