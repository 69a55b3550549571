"""What an erasure does to the keys of segments: as much as it touched, in steps, and whole after any crash."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.crypto import files
from muniment.crypto.segment import SEGMENT_EVENTS
from muniment.errors import Corrupt, KeyMissing, MunimentError, StoreFull
from muniment.events.changes import Transition
from muniment.events.records import EventKind, KeyRotated, RotationCause
from muniment.evidence.pin import FilePin
from muniment.kernel.sources import seeded_sources
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.log.port import SealedRow
from muniment.log.sqlite import SqliteStore
from muniment.log.sqlite_transaction import SqliteTransaction
from muniment.runtime.runtime import Runtime
from muniment.space import rotation
from muniment.space.options import Options
from muniment.space.space import Space
from tests.turns import TALK
from tests.worlds import PINS, STORE, FileWorld, key_of, root_key, sqlite_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FileWorld]:
    made = sqlite_world(tmp_path)
    yield made
    made.close()


@pytest.fixture
def spread(world: FileWorld) -> FileWorld:
    """Return a store whose conversation has a turn in each of three segments."""
    for number in range(3):
        world.with_turns(1)
        grown(space_of(world.runtime), (number + 1) * SEGMENT_EVENTS)
    return world


def space_of(runtime: Runtime) -> Space:
    return runtime._session.space


def grown(space: Space, size: int) -> None:
    """Append small events until the log has this size."""

    def plan(writer: Writer) -> None:
        for _ in range(size - writer.tx.frontier().size):
            writer.change(rotated())

    space.ledger.transact(plan)


def rotated() -> Change:
    """Return a small event."""
    return Change(EventKind.KEY_ROTATED, 1, KeyRotated(version=1), reason=RotationCause.REQUESTED)


def turns_of(runtime: Runtime) -> list[SealedRow]:
    ledger = space_of(runtime).ledger
    with ledger.reader() as reader:
        lookup = space_of(runtime).transcript.stream_of(reader, key_of())
        assert lookup is not None
        return reader.turns(lookup, 1, 99)


def envelopes_of(world: FileWorld) -> dict[int, bytes]:
    with space_of(world.runtime).ledger.reader() as reader:
        rows = reader.envelopes(0, reader.frontier().size)
    return {row.position: row.envelope for row in rows if row.envelope is not None}


def is_due(runtime: Runtime) -> bool:
    return space_of(runtime).is_rotation_due


# --- how much ---------------------------------------------------------------------------------------------------------


def test_an_erasure_reaches_the_segments_that_it_touched_and_no_other(spread: FileWorld) -> None:
    """One turn: the envelopes of its segment are sealed again, from the first to the last; no other is."""
    before = envelopes_of(spread)
    spread.erased(2)
    after = envelopes_of(spread)
    changed = [position for position, envelope in before.items() if after[position] != envelope]
    assert changed == list(range(SEGMENT_EVENTS, 2 * SEGMENT_EVENTS))


def test_many_turns_are_one_rotation(spread: FileWorld) -> None:
    """A conversation that is spread over the log is erased under one new version of the space key."""
    spread.erased()
    assert space_of(spread.runtime).keys.versions == (2,)
    assert all(row.content is None for row in turns_of(spread.runtime))


def test_a_rotation_on_demand_reaches_every_segment(spread: FileWorld) -> None:
    """Whoever knew a former key of the space, and all rows of then, opens nothing of the rows of now."""
    before = envelopes_of(spread)
    report = spread.runtime.spaces.rotate()
    after = envelopes_of(spread)
    assert report.segments_rekeyed == len({position >> 10 for position in before})
    assert not [position for position, envelope in before.items() if after[position] == envelope]


def test_old_rows_and_old_keys_of_segments_open_nothing_that_was_erased(spread: FileWorld) -> None:
    """Law: with a copy of every row of before, nobody who has the present keys reads what was erased."""
    old = spread.copy("old")
    spread.erased(2)
    erased = turns_of(spread.runtime)[1]
    spread.runtime.close()
    (copy,) = old.glob("spaces/*/log.db")
    shutil.copy(copy, spread.database)
    shutil.rmtree(spread.home / PINS)
    spread.reopened()
    space = space_of(spread.runtime)
    with space.ledger.reader() as reader:
        row = reader.sealed(erased.position)
    assert row is not None
    assert row.content is not None
    with pytest.raises((Corrupt, KeyMissing)):
        space.ledger.open(row)


# --- in steps ---------------------------------------------------------------------------------------------------------


def test_a_large_erasure_lets_others_write(spread: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two transactions another writer commits; the receipt comes when the former key of the space is gone."""
    monkeypatch.setattr(rotation, "SEGMENTS_AT_ONCE", 1)
    space, part, seen = space_of(spread.runtime), rotation.Rotator._part, []

    def watched(self: rotation.Rotator, *arguments: Any) -> rotation.Part:
        done = part(self, *arguments)
        seen.append((done.rekeyed, done.version))
        return done

    transact = space.ledger.transact

    def between(plan: Callable[[Writer], Any]) -> Any:
        outcome = transact(plan)
        if 0 < len(seen) < 3:
            transact(lambda writer: writer.change(rotated()))
            with space.ledger.reader() as reader:
                assert space.ledger.segments.owed(reader)
        return outcome

    monkeypatch.setattr(rotation.Rotator, "_part", watched)
    monkeypatch.setattr(space.ledger, "transact", between)
    receipt = spread.request(Transition.ERASE).receipt
    assert seen == [(1, None), (1, None), (1, 2)]
    assert receipt is not None
    assert not is_due(spread.runtime)
    assert spread.reopened().runtime.system.health().sound
    assert spread.runtime.evidence.inspect().findings == []


@pytest.mark.parametrize("steps", [1, 2])
def test_what_a_crash_interrupts_between_two_steps_is_completed_by_the_next_opening(
    spread: FileWorld, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """The segments that are left are remembered in the log; when they are done, the former space key is destroyed."""
    before, done = envelopes_of(spread), list[int]()
    part = rotation.Rotator._part

    def stopping(self: rotation.Rotator, *arguments: Any) -> rotation.Part:
        if len(done) == steps:
            raise StoreFull
        done.append(1)
        return part(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(rotation, "SEGMENTS_AT_ONCE", 1)
        patch.setattr(rotation.Rotator, "_part", stopping)
        with pytest.raises(StoreFull):
            spread.erased()
    assert is_due(spread.runtime)
    spread.crashed().reopened()
    assert not is_due(spread.runtime)
    after = envelopes_of(spread)
    assert not [position for position in before if before[position] == after[position]]
    assert len(space_of(spread.runtime).keys.versions) == 1
    assert spread.runtime.evidence.inspect().findings == []


@pytest.mark.parametrize("edit", ["DELETE FROM meta", "UPDATE meta SET value = x''"])
def test_an_erasure_that_was_interrupted_is_not_hidden(
    spread: FileWorld, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    """Who takes away what is still to be replaced, without a key, gets no key destroyed under which it is left."""
    part, done = rotation.Rotator._part, list[int]()

    def stopping(self: rotation.Rotator, *arguments: Any) -> rotation.Part:
        if done:
            raise StoreFull
        done.append(1)
        return part(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(rotation, "SEGMENTS_AT_ONCE", 1)
        patch.setattr(rotation.Rotator, "_part", stopping)
        with pytest.raises(StoreFull):
            spread.erased()
    with spread.edited() as raw:
        raw.execute(f"{edit} WHERE name = 'rekeying'")
    assert not spread.runtime.system.health().sound


def test_asking_again_completes_what_was_interrupted(spread: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are gone with the first step, so a repeat erases nothing, and replaces the keys that are left."""
    part, done = rotation.Rotator._part, list[int]()

    def stopping(self: rotation.Rotator, *arguments: Any) -> rotation.Part:
        if done:
            raise StoreFull
        done.append(1)
        return part(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(rotation, "SEGMENTS_AT_ONCE", 1)
        patch.setattr(rotation.Rotator, "_part", stopping)
        with pytest.raises(StoreFull):
            spread.erased()
    assert is_due(spread.runtime)
    assert not spread.request(Transition.ERASE).changed
    assert not is_due(spread.runtime)


# --- whole ------------------------------------------------------------------------------------------------------------


@contextmanager
def copying(world: FileWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Copy the store as a kill would leave it, before every statement that writes and every change of the key file."""
    copies: list[Path] = []

    def copied(call: Callable[..., Any]) -> Callable[..., Any]:
        def copies_first(*arguments: Any, **named: Any) -> Any:
            target = world.home / f"copy-{len(copies)}"
            shutil.copytree(world.store, target / STORE)
            shutil.copytree(world.home / PINS, target / PINS)
            copies.append(target)
            return call(*arguments, **named)

        return copies_first

    with monkeypatch.context() as patch:
        patch.setattr(SqliteTransaction, "_write", copied(SqliteTransaction._write))
        patch.setattr(SqliteStore, "scrub", copied(SqliteStore.scrub))
        patch.setattr(files, "replace", copied(files.replace))
        yield copies


def test_an_erasure_that_is_killed_anywhere_is_whole_at_the_next_opening(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law: either nothing was erased, or the words and every key that ever opened them are gone."""
    world.with_turns(3)
    old = turns_of(world.runtime)[1]
    monkeypatch.setattr(SqliteStore, "keep_reserve", lambda _: None)  # a file of zeros, copied each time
    with copying(world, monkeypatch) as copies:
        world.erased(2)
    assert len(copies) > 15
    found = {_after_the_kill(copy, old) for copy in copies}
    assert found == {True, False}


def _after_the_kill(home: Path, old: SealedRow) -> bool:
    """Open a copy; return whether the turn was erased, having checked that it was erased whole."""
    options = Options(sources=seeded_sources("after"), pin=FilePin(home / PINS))
    with muniment.open(home / STORE, keys=root_key(), options=options) as runtime:
        space = space_of(runtime)
        assert space.fault is None
        assert not is_due(runtime)
        assert len(space.keys.versions) == 1
        page = runtime.transcripts.replay(key_of(TALK))
        is_erased = page.turns[1].phase == "erased"
        assert not runtime.evidence.inspect().findings
        if is_erased:
            with pytest.raises(MunimentError):
                space.ledger.content(space.ledger.open(old))
        else:
            assert page.turns[1].messages[0].parts
    shutil.rmtree(home)
    return is_erased


def test_who_reads_an_older_state_opens_it_while_an_erasure_replaces_its_keys(world: FileWorld) -> None:
    """The keys that a state was sealed under are in that state; they are destroyed when nobody reads it any more."""
    world.with_turns(5)
    space = world.runtime._session.space
    with space.ledger.reader() as reader:
        stream = next(head.stream for head in reader.stream_heads() if head.type == "conversation")
        rows, size = reader.turns(stream, 1, 5), reader.frontier().size
        erasing = threading.Thread(target=world.erased, args=(2,))
        erasing.start()
        while size_of(space) == size:
            time.sleep(0.001)
        space.ledger.segments.forget()
        words = [space.ledger.words(space.ledger.open(row))[1] for row in rows]
    erasing.join()
    assert len(words) == 5
    assert world.runtime.system.health().sound


def size_of(space: Space) -> int:
    """Return the size of the present log."""
    with space.ledger.store.reader() as reader:
        return reader.frontier().size
