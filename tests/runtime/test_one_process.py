"""A store that is open belongs to the process that opened it, and to nobody once it is closed."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import muniment
from muniment import aio
from muniment.declaration.operation import Group
from muniment.errors import MunimentError, StoreClosed
from muniment.kernel.sources import Sources
from muniment.runtime.catalogue import GROUPS, catalogue
from muniment.runtime.runtime import Runtime
from tests.turns import plain_turn
from tests.worlds import key_of, memory_world, sqlite_world

CHILD_MS = 20_000


def in_child(story: Callable[[], object]) -> str:
    """Fork; return what the child says of its story: what was raised, or nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        said = "something else"
        try:
            story()
            said = ""
        except MunimentError as error:
            said = f"{error.code} {error.problem}"
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_a_child_that_was_forked_is_refused_and_the_parent_goes_on(is_on_disk: bool, tmp_path: Path) -> None:
    """Whatever the child calls: reading, writing, another space, what was made before the fork."""
    world = (sqlite_world(tmp_path) if is_on_disk else memory_world()).with_turns(2)
    runtime, transcripts = world.runtime, world.runtime.transcripts
    for story in (
        lambda: transcripts.replay(key_of()),
        lambda: transcripts.commit(plain_turn(9)),
        runtime.system.health,
        lambda: runtime.space("other"),
        runtime._session.inspected.ledger.reader().__enter__,
        lambda: runtime._session.inspected.store.transact(lambda _: None),
        runtime._session.inspected.store.scrub,
    ):
        assert in_child(story) == "store.closed forked"
    assert in_child(runtime.close) == ""
    world.with_turns(2)
    assert len(transcripts.replay(key_of()).turns) == 4
    assert runtime.system.health().sound
    world.close()


def test_a_child_opens_the_store_anew(tmp_path: Path) -> None:
    """What the parent has open is no hindrance, and what the child writes is there."""
    os.environ["MUNIMENT_PINS"] = str(tmp_path / "pins")
    try:
        with muniment.open(tmp_path / "store", keys=tmp_path / "root.key") as parent:
            parent.transcripts.commit(plain_turn(1))

            def story() -> None:
                with muniment.open(tmp_path / "store", keys=tmp_path / "root.key") as mine:
                    mine.transcripts.commit(plain_turn(2))

            assert in_child(story) == ""
            parent.transcripts.commit(plain_turn(3))
            assert len(parent.transcripts.replay(key_of()).turns) == 3
    finally:
        del os.environ["MUNIMENT_PINS"]


ENDING = """
import os, sys, muniment
from tests.turns import plain_turn
runtime = muniment.open(sys.argv[1], keys=None if sys.argv[1] == "memory:" else sys.argv[1] + ".key")
runtime.transcripts.commit(plain_turn(1))
if os.fork() == 0:
    sys.exit(0)  # runs all that runs at the end of an interpreter
os.wait()
runtime.transcripts.commit(plain_turn(2))
runtime.spaces.rotate()
print(runtime.system.health().sound, len(runtime.conversations.list_().conversations))
runtime.close()
"""


@pytest.mark.parametrize("where", ["memory:", "store"])
def test_a_child_that_ends_takes_nothing_of_its_parent_along(where: str, tmp_path: Path) -> None:
    """Neither the write-ahead log nor the private directory of a store in memory."""
    environment = os.environ | {"HOME": str(tmp_path), "MUNIMENT_PINS": str(tmp_path / "pins")}
    place = where if where == "memory:" else str(tmp_path / where)
    done = subprocess.run(
        [sys.executable, "-c", ENDING, place], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.count("Error")) == (0, "True 1", 0), done.stderr


def test_nothing_that_is_open_can_be_pickled_or_copied(tmp_path: Path) -> None:
    """The error says what to do instead; it comes before a child of a pool gets anything."""
    for world in (sqlite_world(tmp_path), memory_world()):
        session = world.runtime._session
        opened = session.inspected
        things: list[object] = [world.runtime, session, session.store, opened, opened.store, world.runtime.transcripts]
        for thing in things:
            for way in (pickle.dumps, copy.deepcopy):
                with pytest.raises(TypeError, match="open it again"):
                    way(thing)
        world.close()


def test_after_a_close_every_operation_says_so(tmp_path: Path) -> None:
    """All of the catalogue, through the groups that were there before and through those that are made later."""
    for world in (sqlite_world(tmp_path).with_turns(1), memory_world().with_turns(1)):
        runtime = world.runtime
        before: dict[str, Group] = {name: getattr(runtime, name) for name in GROUPS}
        window = runtime.restricted(runtime.access)
        runtime.close()
        for operation in catalogue():
            for group in (before[operation.group], getattr(window, operation.group)):
                with pytest.raises(StoreClosed):
                    getattr(group, operation.method)()
        with pytest.raises(StoreClosed):
            runtime.space("other")
        with pytest.raises(StoreClosed):
            runtime.restricted(runtime.access).system.health()
        runtime.close()


def test_after_a_close_asyncio_says_so() -> None:
    async def story() -> None:
        runtime = await aio.open("memory:")
        await runtime.close()
        with pytest.raises(StoreClosed):
            await runtime.transcripts.replay(key_of())

    asyncio.run(story())


def test_a_runtime_is_where_its_sources_are() -> None:
    """`Sources` and `FixedClock` are public: a host sets the time of a test, and the rest is the system's."""
    options = muniment.Options(sources=Sources(clock=muniment.FixedClock(1_000)))
    with muniment.open("memory:", options=options) as runtime:
        assert isinstance(runtime, Runtime)
        receipt = runtime.transcripts.commit(plain_turn(1))
        assert receipt.sequence == 1
        [turn] = runtime.transcripts.replay(key_of()).turns
        assert turn.committed_ms == 1_000
    assert muniment.Sources is Sources
