"""A log that comes in is checked against every rule before anything of it is believed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple, replace

from muniment.crypto.keyring import UnwrappedKeys
from muniment.crypto.stream import SealedReader, SealedWriter
from muniment.errors import Corrupt, KeyMissing, StoreNewer
from muniment.evidence.tree import Frontier
from muniment.ledger.frames import (
    FORMAT,
    BeginFrame,
    CheckpointsFrame,
    EventsFrame,
    Frame,
    HeadsFrame,
    NamesFrame,
    frames,
)
from muniment.ledger.giving import FRAME_ROWS, given
from muniment.ledger.name_buckets import NameRow
from muniment.ledger.receiving import Discard, LogReceiver, ReceivedLog
from muniment.log.port import CheckpointRow, SealedRow, StreamHead
from tests.worlds import FileWorld, sqlite_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileWorld]:
    made = sqlite_world(tmp_path_factory.mktemp("transfer")).with_turns(3).with_turns(2, "second").masked(1).erased(2)
    made.runtime.evidence.checkpoint()
    yield made.with_turns(1)
    made.close()


def telling(_done: int, _total: int) -> None:
    """Tell nobody."""


def all_frames(world: FileWorld) -> list[Frame]:
    """Return the log of a world as frames."""
    return list(frames(stream_of(b"".join(given(world.runtime._session.space.ledger, telling)))))


def stream_of(data: bytes) -> SealedReader:
    """Return bytes as what comes out of a sealed stream."""
    file = io.BytesIO()
    writer = SealedWriter(file, b"k" * 32, b"s" * 32, b"")
    writer.write(data)
    writer.finish()
    file.seek(0)
    return SealedReader(file, b"k" * 32, b"")


def taken(
    world: FileWorld, incoming: list[Frame], ring: UnwrappedKeys | None = None, marks: tuple[int, ...] = ()
) -> ReceivedLog:
    """Take frames in."""
    space = world.runtime._session.space
    receiver = LogReceiver(ring or space.keys.unwrapped, space.notary.signers.succession, marks)
    return receiver.run(iter(incoming), Discard())


def test_a_log_is_taken_as_it_was_given(world: FileWorld) -> None:
    """Its head, its turns, and the roots at the sizes that were asked for."""
    with world.runtime._session.space.ledger.reader() as reader:
        head = reader.frontier()
    found = taken(world, all_frames(world), marks=(head.size,))
    assert (found.checkpoint.size, found.checkpoint.root, found.turns) == (head.size, head.root(), 6)
    assert found.roots == {0: Frontier().root(), head.size: head.root()}
    assert found.cells_damaged == 0


def row(change: Callable[[SealedRow], SealedRow], place: int = 2) -> Callable[[list[Frame]], list[Frame]]:
    """Return an edit of one event."""

    def edit(told: list[Frame]) -> list[Frame]:
        (at,) = [at for at, frame in enumerate(told) if isinstance(frame, EventsFrame)]
        events = told[at]
        assert isinstance(events, EventsFrame)
        rows = [change(one) if one.position == place else one for one in events.rows]
        return [*told[:at], EventsFrame(rows, events.segments), *told[at + 1 :]]

    return edit


def rows_of(kind: Any, change: Callable[[Any], Any]) -> Callable[[list[Frame]], list[Frame]]:
    """Return an edit of all rows of a kind of frame."""

    def edit(told: list[Any]) -> list[Frame]:
        return [kind(change(frame.rows), *astuple(frame)[1:]) if isinstance(frame, kind) else frame for frame in told]

    return edit


def swapped(told: list[Frame]) -> list[Frame]:
    return [told[0], *reversed(told[1:])]


FAULTS: dict[str, Callable[[list[Frame]], list[Frame]]] = {
    "another header": row(lambda one: replace(one, header=one.header[:-1] + b"\x00")),
    "another leaf": row(lambda one: replace(one, leaf=bytes(32))),
    "another time": row(lambda one: replace(one, time=one.time + 1)),
    "another target": row(lambda one: replace(one, target_seq=1)),
    "another turn": row(lambda one: replace(one, turn_seq=2)),
    "another envelope": row(lambda one: replace(one, envelope=bytes(60))),
    "an envelope that does not open": row(lambda one: replace(one, envelope=(one.envelope or b"")[:-1] + b"\x00")),
    "segment keys left out": lambda told: [
        EventsFrame(frame.rows, []) if isinstance(frame, EventsFrame) else frame for frame in told
    ],
    "segment keys that do not open": lambda told: [
        EventsFrame(frame.rows, [replace(one, sealed=bytes(60)) for one in frame.segments])
        if isinstance(frame, EventsFrame)
        else frame
        for frame in told
    ],
    "an event left out": rows_of(EventsFrame, lambda rows: rows[:-1]),
    "an event in the middle left out": rows_of(EventsFrame, lambda rows: rows[:3] + rows[4:]),
    "an event twice": rows_of(EventsFrame, lambda rows: rows + rows[-1:]),
    "a head left out": rows_of(HeadsFrame, lambda rows: rows[:-1]),
    "a head twice": rows_of(HeadsFrame, lambda rows: rows + rows[-1:]),
    "a head of more turns": rows_of(HeadsFrame, lambda rows: [replace(rows[0], turns=9), *rows[1:]]),
    "a head of more messages": rows_of(HeadsFrame, lambda rows: [replace(rows[0], messages=9), *rows[1:]]),
    "a head of no stream": rows_of(HeadsFrame, lambda rows: [*rows, StreamHead(stream=99)]),
    "a name left out": rows_of(NamesFrame, lambda rows: rows[:-1]),
    "a name twice": rows_of(NamesFrame, lambda rows: [*rows, rows[-1]]),
    "a name of no event": rows_of(NamesFrame, lambda rows: [*rows, NameRow(digest=b"\xff" * 16, position=99)]),
    "a checkpoint nobody signed": rows_of(CheckpointsFrame, lambda rows: [replace(rows[0], note="note"), *rows[1:]]),
    "a checkpoint of another size": rows_of(
        CheckpointsFrame, lambda rows: [CheckpointRow(size=rows[-1].size + 1, note=rows[-1].note)]
    ),
    "a checkpoint behind the end": rows_of(
        CheckpointsFrame, lambda rows: [CheckpointRow(size=999, note=rows[-1].note)]
    ),
    "no end": lambda told: told[:-1],
    "the end of another state": lambda told: [
        *told[:-1],
        replace(told[-1], note=next(frame for frame in told if isinstance(frame, CheckpointsFrame)).rows[-1].note),
    ],
    "a vocabulary nobody wrote": lambda told: [*told[:-1], replace(told[-1], vocabulary=bytes(32) + b"[]")],
    "no beginning": lambda told: told[1:],
    "another beginning": lambda told: [BeginFrame(FORMAT, "another log"), *told[1:]],
    "two beginnings": lambda told: [told[0], *told],
    "two ends": lambda told: [*told, told[-1]],
    "frames in another order": swapped,
    "nothing": lambda _: [],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_log_with_a_fault_is_refused(world: FileWorld, fault: str) -> None:
    with pytest.raises((Corrupt, KeyMissing)):
        taken(world, FAULTS[fault](all_frames(world)))


def test_a_log_of_a_newer_release_is_refused_as_that(world: FileWorld) -> None:
    told = all_frames(world)
    with pytest.raises(StoreNewer):
        taken(world, [BeginFrame(FORMAT + 1, world.runtime._session.space.ledger.log), *told[1:]])


def test_an_event_without_its_keys_is_refused(world: FileWorld) -> None:
    told = all_frames(world)
    with pytest.raises(KeyMissing):
        taken(world, row(lambda one: replace(one, envelope=None))(told))
    ring = world.runtime._session.space.keys.unwrapped
    with pytest.raises(KeyMissing):
        taken(world, told, replace(ring, space={99: ring.current}))


@pytest.mark.parametrize(
    "change",
    [
        lambda one: replace(one, content=bytes(80)),
        lambda one: replace(one, content=None),
    ],
    ids=["content", "no content"],
)
def test_a_cell_that_does_not_open_is_counted(world: FileWorld, change: Callable[[SealedRow], SealedRow]) -> None:
    """A position of a turn that is there: what it holds besides is not lost for it."""
    assert taken(world, row(change)(all_frames(world))).cells_damaged == 1


def test_a_cell_whose_key_is_gone_is_counted(world: FileWorld) -> None:
    told = all_frames(world)
    (erased,) = [
        one.position
        for frame in told
        if isinstance(frame, EventsFrame)
        for one in frame.rows
        if one.turn_seq and one.content is None
    ]
    assert taken(world, row(lambda one: replace(one, content=b"back"), erased)(told)).cells_damaged == 1


@pytest.mark.parametrize("data", [b"\x00", b"\x00\x00\x00\x05abc", b"\xff\xff\xff\xffabc", b"\x00\x00\x00\x01\x00"])
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(Corrupt):
        list(frames(stream_of(data)))


def test_a_long_log_is_given_in_frames_of_bounded_size(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path)
    for number in range(FRAME_ROWS // 100 + 2):
        world.with_turns(100, f"talk {number}")
    told = all_frames(world)
    assert sum(isinstance(frame, EventsFrame) for frame in told) > 5
    assert sum(isinstance(frame, NamesFrame) for frame in told) == 2
    assert taken(world, told).turns == 700
    world.close()
