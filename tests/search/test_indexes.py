"""Indexes: memory that is shared, views that do not wait for each other, processes that see each other's turns."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import muniment
from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import Transition
from muniment.evidence.pin import FilePin
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.runtime.runtime import Runtime
from muniment.search.index_memory import IndexMemory
from muniment.space.options import Options
from tests.search.asking import digest, found, rebuilt, said, snapshot, standing
from tests.worlds import PINS, FileWorld, World, memory_world, open_store, root_key

spawn = multiprocessing.get_context("spawn")


# --- memory -----------------------------------------------------------------------------------------------------------


class Cached:
    """Something in memory that can be evicted, unless it is in use."""

    def __init__(self, *, in_use: bool = False) -> None:
        self.in_use = in_use

    def evict(self) -> bool:
        """Give up the memory, or do not."""
        return not self.in_use


def test_the_least_recently_used_index_is_evicted_first() -> None:
    """Those in use stay, and so does the last one, however large."""
    memory, in_use, (one, two, three) = IndexMemory(100), Cached(in_use=True), (Cached() for _ in range(3))
    for index in (in_use, one, two):
        memory.use(index, 30)
    memory.use(one, 35)
    memory.use(three, 50)
    assert memory.memory_bytes == 30 + 35 + 50  # `in_use` would be first, and `two` was evicted
    memory.use(three, 500)
    assert memory.memory_bytes == 30 + 500
    memory.remove(three)
    memory.remove(three)
    assert memory.memory_bytes == 30


def test_an_evicted_index_comes_back_from_its_snapshot(kept: FileWorld) -> None:
    """Also for one of another space of the same store: they share the memory."""
    kept.commit(said(1, "harbour lights"))
    kept.runtime.close()
    options = Options(sources=seeded_sources("small"), pin=FilePin(kept.home / PINS), index_bytes_max=1)
    with muniment.open(kept.store, keys=root_key(), options=options) as runtime:
        for _ in range(2):
            assert found(runtime, "harbour")
            assert found(runtime, "harbour", View.EXPORT)
            assert [each.view for each in runtime.system.health().indexes] == [View.EXPORT]
        assert standing(runtime, View.EXPORT).from_snapshot
        home = runtime._session.store
        other = home.space("another", create=True)
        with other.indexes.caught_up(View.HOST_UI):
            pass
        assert runtime.system.health().indexes == []
        assert found(runtime, "harbour")
        assert other.lazy_indexes.statuses() == []


def test_two_views_do_not_wait_for_each_other(kept: FileWorld) -> None:
    kept.commit(said(1, "harbour lights"))
    with kept.runtime._session.space.indexes.caught_up(View.RAW_OWNER) as caught:
        assert len(caught.current) == 2
        assert found(kept.runtime, "harbour") == ["harbour lights"]


# --- several threads and processes ------------------------------------------------------------------------------------


def test_threads_that_ask_at_once_are_answered_the_same(kept: FileWorld) -> None:
    for number in range(1, 30):
        kept.commit(said(number, f"harbour {number}"))
    answers: list[list[str]] = []

    def ask() -> None:
        answers.append(found(kept.runtime, "harbour"))

    asking = [threading.Thread(target=ask) for _ in range(6)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert answers == [answers[0]] * 6
    assert len(answers[0]) == 29


def search_and_commit(home: Path, number: int, heard: Connection, told: Connection) -> None:
    """Search, commit a turn, tell both; and search again when asked to."""
    runtime = open_store(home, f"process {number}")
    before = found(runtime, "harbour")
    runtime.transcripts.commit(said(number, f"harbour {number}", f"talk {number}"))
    told.send(before)
    heard.recv()
    told.send(found(runtime, "harbour"))
    runtime.close()


def test_processes_that_make_indexes_at_once_see_each_others_turns(kept: FileWorld) -> None:
    """Each sees all that was committed when it asked, whoever wrote the snapshot that is there."""
    for number in range(1, 30):
        kept.commit(said(number, f"harbour {number}"))
    pipes = [(spawn.Pipe(duplex=False), spawn.Pipe(duplex=False)) for _ in range(2)]
    others = [
        spawn.Process(target=search_and_commit, args=(kept.home, 100 + at, asked[0], told[1]))
        for at, (asked, told) in enumerate(pipes)
    ]
    for process in others:
        process.start()
    for _, told in pipes:
        assert set(told[0].recv()) >= {f"harbour {number}" for number in range(1, 30)}
    everything = sorted(f"harbour {number}" for number in [*range(1, 30), 100, 101])
    assert found(kept.runtime, "harbour") == everything
    for asked, told in pipes:
        asked[1].send("again")
        assert told[0].recv() == everything
    for process in others:
        process.join()
        assert process.exitcode == 0
    kept.reopened()
    assert found(kept.runtime, "harbour") == everything
    assert digest(kept.runtime) == rebuilt(kept.runtime)


def test_what_another_process_erases_is_found_no_more_at_the_next_search(kept: FileWorld) -> None:
    for number in (1, 2):
        kept.commit(said(number, f"harbour {number}"))
    with open_store(kept.home, "other") as other:
        assert found(other, "harbour") == ["harbour 1", "harbour 2"]
        kept.request(Transition.ERASE, 1)
        assert found(other, "harbour") == ["harbour 2"]
        with other._session.space.indexes.caught_up(View.HOST_UI) as caught:
            assert "1" not in caught.current.postings._numbers  # of no other turn: it is not only hidden
        kept.request(Transition.MASK, 2)
        assert found(other, "harbour") == []


# --- recovery ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, kept: FileWorld) -> Iterator[World]:
    """Return a world over each store."""
    made = memory_world() if request.param == "memory" else kept
    yield made
    made.close()


def recovered(runtime: Runtime) -> dict[str, bool]:
    return {one.projection: one.unchanged for one in runtime.system.recover().projections}


def test_a_recovery_makes_the_indexes_that_there_are_anew(world: World) -> None:
    """Those in memory and those at rest, and says whether they are what they were."""
    world.with_turns(8).masked(2).archived(3).erased(4)
    folds = {"catalogue", "changes", "links"}
    assert set(recovered(world.runtime)) == folds
    found(world.runtime, "words")
    told = recovered(world.runtime)
    assert set(told) == {*folds, "search host_ui"}
    assert all(told.values())


def test_a_recovery_takes_up_an_index_at_rest_and_drops_it(kept: FileWorld) -> None:
    kept.with_turns(4)
    found(kept.runtime, "words", View.EXPORT)
    kept.reopened()
    told = recovered(kept.runtime)
    assert told["search export"]
    assert not snapshot(kept, View.EXPORT).exists()


def test_a_recovery_says_that_an_index_was_not_what_the_log_says(kept: FileWorld) -> None:
    kept.with_turns(4)
    with kept.runtime._session.space.indexes.caught_up(View.HOST_UI) as caught:
        stream = int(caught.current.columns.stream[0])
        caught.current.remove([(stream, 2)])
    told = recovered(kept.runtime)
    assert not told["search host_ui"]
    assert told["catalogue"]


DAMAGE = {
    "a row is missing": "DELETE FROM events WHERE turn_seq = 2",
    "a cell is missing": "UPDATE events SET content = NULL WHERE turn_seq = 2",
    "a kind was edited": "UPDATE events SET kind = 'export.issued' WHERE kind = 'turn.lifecycle'",
    "a turn is called none": "UPDATE events SET turn_seq = NULL WHERE turn_seq = 4",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_an_index_of_a_damaged_log_is_not_made(kept: FileWorld, name: str) -> None:
    """It is refused as corrupt, before and after what is there was searched, and never silently smaller."""
    kept.with_turns(3)
    found(kept.runtime, "words", View.EXPORT)
    kept.with_turns(2).masked(1)
    kept.edited_while_open(DAMAGE[name])
    for view in (View.HOST_UI, View.HOST_UI):
        with pytest.raises((Corrupt, KeyMissing)):
            found(kept.runtime, "words", view)
