"""The cursors of listings and timelines: what they are bound to, how long they live, and what ends them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import muniment
from muniment.errors import CursorInvalid, CursorStale
from muniment.events.identity import Channel
from muniment.events.message import Role
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access, Effect
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.kernel.cursor import CURSOR_CHARS_MAX, PREFIX
from muniment.kernel.digest import unb64url
from muniment.kernel.sources import seeded_sources
from muniment.ledger.ledger import Writer
from muniment.operations.transcripts.hits import SearchRanking, SearchScope, Sort
from muniment.operations.transcripts.timeline import Anchor, AnchorKind
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from muniment.space.space import Space
from tests.worlds import PINS, STORE, FileWorld, World, key_of, open_store, root_key

ACTIVE, ALL = LifecycleFilter
AROUND = Anchor(at=AnchorKind.AROUND, sequence=3)
DAY_MS = 86_400_000
START_MS = 1_700_000_000_000


class PagedQuery(NamedTuple):
    """A kind of run: how it begins, and how it goes on with a cursor, other words put in."""

    operation: str
    request: dict[str, Any]
    others: dict[str, Any]
    field: str

    def ask(self, runtime: Runtime, **change: Any) -> Any:
        group, method = self.operation.split(".")
        return getattr(getattr(runtime, group), method)(**{**self.request, **change})

    def cursor(self, runtime: Runtime) -> str:
        cursor = getattr(self.ask(runtime), self.field)
        assert isinstance(cursor, str)
        return cursor


TIMELINE: dict[str, Any] = {
    "conversation": key_of(), "anchor": AROUND, "view": View.HOST_UI, "limit": 2, "lifecycle": ACTIVE,
}  # fmt: skip
TIMELINE_OTHERS: dict[str, Any] = {
    "conversation": key_of("other"),
    "anchor": Anchor(at=AnchorKind.BEFORE, sequence=3),
    "view": View.EXPORT,
    "limit": 1,
    "lifecycle": ALL,
}
RUNS = [
    PagedQuery("transcripts.timeline", TIMELINE, TIMELINE_OTHERS, "older_cursor"),
    PagedQuery("transcripts.timeline", TIMELINE, TIMELINE_OTHERS, "newer_cursor"),
    PagedQuery(
        "conversations.list_",
        {"channel": None, "lifecycle": ACTIVE, "limit": 1},
        {"channel": Channel("default"), "lifecycle": ALL, "limit": 2},
        "next_cursor",
    ),
    PagedQuery(
        "transcripts.search",
        {"query": "question", "view": View.HOST_UI, "within": SearchScope(), "ranking": SearchRanking(), "limit": 2},
        {
            "query": "questions",
            "view": View.EXPORT,
            "within": SearchScope(role=Role.USER),
            "ranking": SearchRanking(sort=Sort.TIME),
            "limit": 1,
        },
        "next_cursor",
    ),
]
# held to a head; a search is checked against what it found
HEADED = [run for run in RUNS if run.operation != "transcripts.search"]
REPLAY = PagedQuery(
    "transcripts.replay",
    {"conversation": key_of(), "view": View.HOST_UI, "limit": 1},
    {"conversation": key_of("other"), "view": View.EXPORT},
    "next_cursor",
)
names = [f"{run.operation.partition('.')[2]}-{run.field}" for run in [*RUNS, REPLAY]]


def filled(world: World) -> Runtime:
    return world.with_turns(5).with_turns(5, "other").runtime


def at_time(world: FileWorld, start_ms: int) -> Runtime:
    """Open the store as a process would whose clock is there."""
    options = Options(sources=seeded_sources(f"at {start_ms}", start_ms=start_ms), pin=FilePin(world.home / PINS))
    return muniment.open(world.home / STORE, keys=root_key(), options=options)


def in_space(space: Space, plan: Callable[[Writer], None]) -> None:
    space.ledger.transact(plan)


@pytest.mark.parametrize("run", [*RUNS, REPLAY], ids=names)
def test_a_cursor_is_small_ascii_with_a_prefix_and_says_nothing(run: PagedQuery, world: World) -> None:
    """PG-04."""
    cursor = run.cursor(filled(world))
    assert cursor.isascii()
    assert cursor.startswith(PREFIX)
    assert len(cursor) < 256 < CURSOR_CHARS_MAX
    sealed = unb64url(cursor.removeprefix(PREFIX))
    for word in (b"talk", b"other", b"default", b"turn", b"host_ui", b"17000"):
        assert word not in sealed


@pytest.mark.parametrize("run", [*RUNS, REPLAY], ids=names)
def test_a_change_of_anything_in_the_request_is_an_error(run: PagedQuery, world: World) -> None:
    """PG-05: operation, query, filter, view, access, limit, channel, conversation; each alone, and then as it was."""
    runtime = filled(world)
    cursor = run.cursor(runtime)
    for name, other in run.others.items():
        with pytest.raises(CursorInvalid):
            run.ask(runtime, cursor=cursor, **{name: other})
    narrow = runtime.restricted(Access(effects=frozenset({Effect.READ})))
    with pytest.raises(CursorInvalid):
        run.ask(narrow, cursor=cursor)
    spoken_for = runtime.restricted(Access(subject="ada"))
    with pytest.raises(CursorInvalid):
        run.ask(spoken_for, cursor=cursor)
    for other_run in [*RUNS, REPLAY]:
        if other_run.operation != run.operation:
            with pytest.raises(CursorInvalid):
                other_run.ask(runtime, cursor=cursor)
    for broken in (cursor[:-1], cursor[:-2] + ("AA" if cursor[-2:] != "AA" else "BB"), "", PREFIX, "x" * 5000):
        with pytest.raises(CursorInvalid):
            run.ask(runtime, cursor=broken)
    run.ask(runtime, cursor=cursor)


@pytest.mark.parametrize("run", [*RUNS, REPLAY], ids=names)
def test_a_cursor_of_one_space_is_nothing_in_another(run: PagedQuery, lasting: FileWorld) -> None:
    """PG-05, SC-01."""
    cursor = run.cursor(filled(lasting))
    other = World(lambda _times: open_store(lasting.home, "elsewhere", space="elsewhere"))
    with pytest.raises(CursorInvalid):
        run.ask(filled(other), cursor=cursor)
    other.close()


@pytest.mark.parametrize("run", RUNS, ids=names[:-1])
@pytest.mark.parametrize(
    ("later_ms", "refusal"),
    [
        (7 * DAY_MS - 60_000, None),
        (7 * DAY_MS + 60_000, CursorStale),
        (-240_000, None),
        (-360_000, CursorInvalid),
    ],
)
def test_a_cursor_lives_for_seven_days(
    run: PagedQuery, later_ms: int, refusal: type[Exception] | None, lasting: FileWorld
) -> None:
    """PG-06: also across processes; one from more than 300 s ahead is refused."""
    filled(lasting)
    with at_time(lasting, START_MS) as issuer:
        cursor = run.cursor(issuer)
    with at_time(lasting, START_MS + later_ms) as later:
        if refusal is None:
            run.ask(later, cursor=cursor)
        else:
            with pytest.raises(refusal):
                run.ask(later, cursor=cursor)


def test_the_cursor_of_a_replay_does_not_expire(lasting: FileWorld) -> None:
    """DESIGN §6: each page applies the policy of its day, so there is nothing to protect from time."""
    filled(lasting)
    with at_time(lasting, START_MS) as issuer:
        cursor = REPLAY.cursor(issuer)
    with at_time(lasting, START_MS + 400 * DAY_MS) as later:
        assert [turn.sequence for turn in REPLAY.ask(later, cursor=cursor).turns] == [2]


@pytest.mark.parametrize("run", [*RUNS, REPLAY], ids=names)
def test_cursors_survive_a_restart_and_a_new_space_key(run: PagedQuery, lasting: FileWorld) -> None:
    """PG-04: rotation changes no cursor."""
    cursor = run.cursor(filled(lasting))
    lasting.runtime.spaces.rotate()
    lasting.reopened()
    run.ask(lasting.runtime, cursor=cursor)


@pytest.mark.parametrize("run", [*RUNS, REPLAY], ids=names)
def test_a_restore_ends_every_cursor(run: PagedQuery, world: World) -> None:
    """PG-08: another life of the log knows none of the cursors of the one before."""
    runtime = filled(world)
    cursor = run.cursor(runtime)
    space = runtime._session.space
    in_space(space, space.begin_epoch)
    with pytest.raises(CursorInvalid):
        run.ask(runtime, cursor=cursor)
    run.ask(runtime, cursor=run.cursor(runtime))
    cursor = run.cursor(runtime)
    in_space(space, space.begin_epoch)
    with pytest.raises(CursorInvalid):
        run.ask(runtime, cursor=cursor)


def test_cells_that_came_back_from_a_backup_end_every_cursor(lasting: FileWorld) -> None:
    """PG-08: that an erased content is there again shows that something was restored."""
    filled(lasting)
    with lasting.edited() as raw:
        cells = raw.execute("SELECT content, position FROM events").fetchall()
    lasting.erased(5, "other")
    cursors = [run.cursor(lasting.runtime) for run in [*RUNS, REPLAY]]
    with lasting.edited() as raw:
        raw.executemany("UPDATE events SET content = ? WHERE position = ?", cells)
    for run, cursor in zip([*RUNS, REPLAY], cursors, strict=True):
        with pytest.raises(CursorInvalid):
            run.ask(lasting.runtime, cursor=cursor)


def gone_back(world: FileWorld, copy: Path) -> None:
    """Put a copy in the place of the store, and let nobody remember what was there."""
    world.runtime.close()
    shutil.rmtree(world.home / PINS)
    shutil.rmtree(world.store)
    shutil.copytree(copy, world.store)
    world.reopened()


@pytest.mark.parametrize("turns", [1, 2])
def test_a_log_that_went_another_way_after_a_copy_was_put_back_knows_no_run(turns: int, lasting: FileWorld) -> None:
    """PG-08: even where nobody called it a restore, a cursor is checked against the head that it was issued on."""
    filled(lasting)
    copy = lasting.copy("copy")
    lasting.with_turns(1)
    cursors = [run.cursor(lasting.runtime) for run in HEADED]
    gone_back(lasting, copy)
    lasting.with_turns(turns)
    for run, cursor in zip(HEADED, cursors, strict=True):
        with pytest.raises((CursorInvalid, CursorStale)):
            run.ask(lasting.runtime, cursor=cursor)


def test_a_cursor_from_beyond_the_end_of_the_log_is_refused(lasting: FileWorld) -> None:
    """PG-03, PG-08: a copy that was put back is shorter than what the cursor was issued on."""
    filled(lasting)
    copy = lasting.copy("copy")
    lasting.with_turns(5)
    whole = REPLAY.ask(lasting.runtime, limit=9)
    assert whole.next_cursor is not None
    timeline = RUNS[0].cursor(lasting.runtime)
    gone_back(lasting, copy)
    with pytest.raises(CursorInvalid):
        REPLAY.ask(lasting.runtime, cursor=whole.next_cursor)
    with pytest.raises(CursorInvalid):
        RUNS[0].ask(lasting.runtime, cursor=timeline)
