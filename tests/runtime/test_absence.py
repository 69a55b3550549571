"""Somebody without a key makes the store forget a name: nothing is committed, erased or called absent on that ground.

What is said of something that is not there ("no such turn", `changed=False`, a new turn) rests on a name that was
proved to be missing. Each edit is made with the store closed, and under a running process by another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from muniment.errors import Kind, MunimentError
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.events.message import TextPart
from tests import names
from tests.turns import TALK, rich_turn
from tests.worlds import FileWorld, World, key_of, open_store


def furnished(world: FileWorld) -> FileWorld:
    """Fill a world with a conversation of four plain turns and one with a chat id."""
    return world.with_turns(4).with_turn(rich_turn())


@contextmanager
def vandal(world: FileWorld) -> Iterator[apsw.Connection]:
    """Give another connection to the open log; of this library, because a process has one set of locks on a file."""
    connection = apsw.Connection(str(world.database))
    yield connection
    connection.close()


def attempts(world: FileWorld) -> dict[str, Callable[[], Any]]:
    """Return what rests on a name or on its absence."""
    again = rich_turn()
    other = replace(again, messages=[replace(again.messages[0], content=[TextPart(content="never said")])])
    runtime, key = world.runtime, key_of()
    return {
        "a turn of the same id with other words": partial(world.commit, other),
        "an erasure": partial(world.request, Transition.ERASE, 4),
        "a mask of what is not there": partial(world.request, Transition.MASK, 77),
        "a replay": world.replay,
        "a conversation that is not there": partial(world.replay, conversation="nowhere"),
        "a new conversation": partial(world.with_turns, 1, "new"),
        "a proof": partial(runtime.evidence.prove, key, TurnId("turn-4")),
        "a chat id": partial(runtime.conversations.resolve, again.chat or "", subject=again.subject),
    }


def _positions(raw: names.Raw) -> dict[str, int]:
    turns = dict(raw.execute("SELECT turn_seq, position FROM events WHERE turn_seq IS NOT NULL"))
    conversation = min(stream for (stream,) in raw.execute("SELECT stream FROM events WHERE turn_seq IS NOT NULL"))
    return {"a turn": turns[4], "a repeated turn": turns[5], "a conversation and its chat id": conversation}


NAMED = ["a turn", "a repeated turn", "a conversation and its chat id"]


def refused(attempt: Callable[[], object]) -> bool:
    """Tell whether an attempt is refused because the log is not what it was."""
    try:
        attempt()
    except MunimentError as error:
        return error.kind is Kind.CORRUPT
    return False


@pytest.mark.parametrize("named", NAMED)
def test_with_the_store_closed_a_name_that_was_replaced_is_seen_at_opening(lasting: FileWorld, named: str) -> None:
    furnished(lasting)
    with lasting.edited() as raw:
        names.rewritten(raw, names.called(_positions(raw)[named], b"\x7f" * 16))
    assert not lasting.runtime.system.health().sound
    for what, attempt in attempts(lasting).items():
        assert refused(attempt), what


@pytest.mark.parametrize("named", NAMED)
def test_under_a_running_process_a_name_that_was_replaced_is_not_taken_for_absent(
    lasting: FileWorld, named: str
) -> None:
    furnished(lasting)
    with vandal(lasting) as raw:
        names.rewritten(raw, names.called(_positions(raw)[named], b"\x7f" * 16))
        for what, attempt in attempts(lasting).items():
            assert refused(attempt), what
        assert len(set(raw.execute("SELECT stream FROM events"))) == 2, "no second stream was begun"


def test_under_a_running_process_names_that_were_put_back_are_not_believed(lasting: FileWorld) -> None:
    """An older bucket has a valid tag, and lacks what was claimed since."""
    furnished(lasting)
    with vandal(lasting) as raw:
        before = raw.execute("SELECT body FROM names").fetchall()
        lasting.with_turns(1, "later")
        raw.execute("UPDATE names SET body = ?", before[0])
    assert refused(partial(lasting.replay, conversation="later"))
    assert refused(partial(lasting.with_turns, 1, "later"))
    assert refused(lasting.replay)
    assert not lasting.reopened().runtime.system.health().sound


def test_under_a_running_process_a_frontier_that_was_put_back_is_not_believed(lasting: FileWorld) -> None:
    """Nor all that goes with it: a log that is older than what this process has seen was rolled back."""
    furnished(lasting)
    with vandal(lasting) as raw:
        tables = ("frontier", "names", "streams")
        before = {table: raw.execute(f"SELECT * FROM {table}").fetchall() for table in tables}  # noqa: S608 - as above
        ((size,),) = raw.execute("SELECT count(*) FROM events")
        lasting.masked(1)
        raw.execute("DELETE FROM events WHERE position >= ?", (size,))
        for table, rows in before.items():
            raw.execute(f"DELETE FROM {table}")  # noqa: S608 - words of this file
            for row in rows:
                raw.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - as above
    for attempt in (
        lasting.replay,
        partial(lasting.with_turns, 1, "later"),
        partial(lasting.request, Transition.MASK, 2),
    ):
        assert refused(attempt)
    assert refused(lasting.close), "an older head is not signed"


def test_what_another_process_has_named_is_found_and_missed(lasting: FileWorld) -> None:
    """Names that somebody else claimed are believed, and so is what they replaced nothing with."""
    furnished(lasting)
    other = World(lambda _: open_store(lasting.home, "beside"))
    for number in range(1, 4):
        other.with_turns(20, f"of the other {number}")
        lasting.with_turns(20, f"of this one {number}")
    for world in (lasting, other):
        for number in range(1, 4):
            assert len(world.replay(conversation=f"of the other {number}").turns) == 20
            assert len(world.replay(conversation=f"of this one {number}").turns) == 20
        assert not world.request(Transition.MASK, 77).changed
    with vandal(lasting) as raw:
        before = raw.execute("SELECT body, bucket FROM names").fetchall()
        other.with_turns(1, "later")
        for row in before:
            raw.execute("UPDATE names SET body = ? WHERE bucket = ?", row)
    assert refused(partial(lasting.replay, conversation="later"))
    other.close()


def test_a_key_of_nothing_is_absent(lasting: FileWorld) -> None:
    """The control: what nobody named is not there, closed and opened again."""
    furnished(lasting)
    for _ in range(2):
        assert lasting.turns_of("nowhere") == 0
        assert not lasting.request(Transition.MASK, 77).changed
        assert lasting.replay(conversation=TALK).turns
        lasting.reopened()
