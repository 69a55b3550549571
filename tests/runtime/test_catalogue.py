"""Listing conversations and counting activity, held to the same in plain Python."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from itertools import zip_longest
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import Corrupt, CursorStale, InvalidInput, LimitExceeded, UnknownConversation
from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.ledger.ledger import Ledger
from muniment.operations.conversations.activity import Activity, TimeRange
from muniment.projections import conversation_catalogue as catalogue
from muniment.runtime.runtime import Runtime
from tests.plain import KEYS, TIMES_MS, Act, Plain, acts, all_conversations, heads, lifecycles, name_of
from tests.turns import plain_turn
from tests.worlds import FileWorld, World, memory_world, open_store, sqlite_world

ACTIVE, ALL = LifecycleFilter
cuts = st.lists(st.integers(0, TIMES_MS + 2), min_size=2, max_size=6)


def digest(world: World) -> bytes:
    return world.runtime._session.space.catalogue.digest()


def ranges_of(borders: list[int]) -> list[TimeRange]:
    borders = sorted(borders)
    return [TimeRange(from_ms=low, until_ms=high) for low, high in zip(borders[::2], borders[1::2], strict=False)]


# --- conversations ----------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(acts, lifecycles, st.integers(1, 4), st.none() | st.sampled_from(["default", "mail", "nowhere"]))
def test_conversations_are_listed_as_they_would_be_in_plain_python(
    done: list[Act], lifecycle: LifecycleFilter, limit: int, channel: str | None
) -> None:
    """CT-01, CT-02, CT-03: the pages of any limit, after any history, asked in between or not, are the model's list."""
    world = memory_world()
    plain = Plain(world)
    for place, act in enumerate(done):
        plain.act(act)
        if place % 3 == 0:
            all_conversations(world, lifecycle, limit, channel)
    assert all_conversations(world, lifecycle, limit, channel) == plain.conversations(lifecycle, channel)
    world.close()


@settings(max_examples=60)
@given(acts, st.integers(1, 5))
def test_a_catalogue_that_grew_is_a_catalogue_that_was_rebuilt(done: list[Act], every: int) -> None:
    """CT-16: incremental equals rebuilt, also after erasure, however often it was asked in between."""
    world = memory_world()
    plain = Plain(world)
    for place, act in enumerate(done):
        plain.act(act)
        if place % every == 0:
            digest(world)
    grown = digest(world)
    world.runtime._session.space.catalogue.drop()
    assert digest(world) == grown
    world.close()


def test_large_conversations_change_sides_turn_by_turn(world: World) -> None:
    """CT-16: what moves a few of many turns at once leaves the same catalogue as one that is made again."""
    plain = Plain(world)
    for number in range(40):
        plain.commit(KEYS[0], 1 + number % TIMES_MS)
    digest(world)
    for transition, number in [(Transition.ARCHIVE, 3), (Transition.MASK, 15), (Transition.ERASE, 27)]:
        plain.change(KEYS[0], transition, number)
        assert all_conversations(world, ALL, 5) == plain.conversations(ALL)
    for transition, number in [(Transition.RESTORE, 3), (Transition.UNMASK, 15)]:
        plain.change(KEYS[0], transition, number)
    plain.commit(KEYS[0], 1)
    assert all_conversations(world, ACTIVE, 5) == plain.conversations(ACTIVE)
    grown = digest(world)
    world.runtime._session.space.catalogue.drop()
    assert digest(world) == grown


def test_an_entry_has_the_head_of_its_conversation(world: World) -> None:
    """CT-01: revision and digest are those of the newest event, whatever it was."""
    plain = Plain(world)
    for key in KEYS:
        plain.commit(key, 5)
    plain.change(KEYS[1], Transition.ARCHIVE, 0)
    entries = world.runtime.conversations.list_(lifecycle=ALL).conversations
    assert {(one.channel, one.conversation): (one.revision, one.digest) for one in entries} == heads(world)
    assert {(one.conversation, one.channel): one.archived for one in entries} == {
        ("talk", "default"): False, ("other", "default"): True, ("talk", "mail"): False,
    }  # fmt: skip


def test_a_turn_makes_an_archived_conversation_active_again(world: World) -> None:
    """LC-09, CT-01: archived turns stay out of the count until they are asked for."""
    plain = Plain(world)
    for time in (3, 7):
        plain.commit(KEYS[0], time)
    plain.change(KEYS[0], Transition.ARCHIVE, 0)
    assert all_conversations(world, ACTIVE, 1) == []
    plain.commit(KEYS[0], 5)
    assert all_conversations(world, ACTIVE, 1) == [("default", "talk", 1, 2, 5, 5, False)]
    assert all_conversations(world, ALL, 1) == [("default", "talk", 3, 6, 3, 7, False)]


def test_a_page_of_nothing_is_refused_and_so_are_other_limits(world: World) -> None:
    """PG-02: the catalogue refuses 0."""
    listing = world.runtime.conversations.list_
    for limit, problem in [(0, "must be at least 1"), (-1, "negative")]:
        with pytest.raises(InvalidInput, match=problem):
            listing(limit=limit)
    with pytest.raises(LimitExceeded):
        listing(limit=501)
    with pytest.raises(InvalidInput):
        listing(channel=Channel(" padded"))
    assert listing().conversations == []


@settings(max_examples=30)
@given(acts, st.integers(1, 2), st.lists(st.integers(1, TIMES_MS), min_size=3, max_size=3), acts)
def test_a_run_shows_each_conversation_once_or_says_that_it_went_stale(
    done: list[Act], limit: int, times: list[int], between: list[Act]
) -> None:
    """PG-07: whatever is done between two pages, a run is the list as it was at its beginning, or ends as stale."""
    world = memory_world()
    plain = Plain(world)
    for key, time in zip(KEYS, times, strict=True):
        plain.commit(key, time)
    for act in done:
        plain.act(act)
    wanted, seen, cursor = plain.conversations(ALL), 0, None
    for meanwhile in between:
        page = world.runtime.conversations.list_(None, ALL, limit, cursor)
        names = [(one.channel, one.conversation) for one in page.conversations]
        assert names == [entry[:2] for entry in wanted[seen : seen + limit]]
        seen, cursor = seen + len(names), page.next_cursor
        if cursor is None:
            assert seen == len(wanted)
            break
        before = heads(world)
        plain.act(meanwhile)
        if heads(world) != before:
            with pytest.raises(CursorStale):
                world.runtime.conversations.list_(None, ALL, limit, cursor)
            break
    world.close()


def test_only_what_is_ranked_makes_a_cursor_stale(world: World) -> None:
    """PG-07: another channel is not ranked in a listing of one; keys and exports change nothing that is."""
    plain = Plain(world)
    for key in KEYS:
        plain.commit(key, 5)
    listing = world.runtime.conversations.list_
    whole = listing(limit=1).next_cursor
    of_channel = listing(channel=Channel("default"), limit=1).next_cursor
    world.runtime.spaces.rotate()
    world.runtime.evidence.export(KEYS[0])
    listing(limit=1, cursor=whole)
    plain.commit(KEYS[2], 9)
    with pytest.raises(CursorStale):
        listing(limit=1, cursor=whole)
    assert len(listing(channel=Channel("default"), limit=1, cursor=of_channel).conversations) == 1
    plain.change(KEYS[1], Transition.MASK, 0)
    with pytest.raises(CursorStale):
        listing(channel=Channel("default"), limit=1, cursor=of_channel)


# --- activity ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(acts, lifecycles, cuts, st.sampled_from([None, "default", "mail"]), st.booleans())
def test_activity_counts_what_plain_python_counts(
    done: list[Act], lifecycle: LifecycleFilter, borders: list[int], channel: str | None, one_alone: bool
) -> None:
    """CT-15: for any ranges, the count of listed turns with the first and the last of them; none has no places."""
    world = memory_world()
    plain = Plain(world)
    plain.commit(KEYS[0], 4)
    plain.commit(KEYS[2], 4)
    for act in done:
        plain.act(act)
    keys = [key for key in KEYS if channel in {None, key.channel}]
    if one_alone:
        keys = [KEYS[2] if channel == "mail" else KEYS[0]]
    ranges = ranges_of(borders)
    activity = world.runtime.conversations.activity(
        ranges, None if channel is None else Channel(channel), ConversationId("talk") if one_alone else None, lifecycle
    )
    opened = list(plain.turns)
    for asked, told in zip(ranges, activity.ranges, strict=True):
        wanted = plain.within(asked.from_ms, asked.until_ms, lifecycle, keys)
        assert (told.from_ms, told.until_ms, told.turns) == (asked.from_ms, asked.until_ms, len(wanted))
        places = [
            None if place is None
            else (place.observed_ms, opened.index(name_of(place.conversation)), place.sequence)
            for place in (told.first, told.last)
        ]  # fmt: skip
        assert places == ([wanted[0], wanted[-1]] if wanted else [None, None])
    world.close()


def test_a_place_says_where_it_is_and_what_was_the_head_then(world: World) -> None:
    """CT-08, CT-15."""
    plain = Plain(world)
    for time in (2, 4):
        plain.commit(KEYS[2], time)
    (told,) = world.runtime.conversations.activity([TimeRange(from_ms=0, until_ms=3)]).ranges
    place, turn = told.first, world.runtime.transcripts.replay(KEYS[2]).turns[0]
    assert place is not None
    assert (place, told.turns) == (told.last, 1)
    assert (place.conversation, place.subject, place.turn, place.message) == (KEYS[2], "ada", "turn-1", None)
    assert (place.sequence, place.position, place.observed_ms) == (1, turn.position, 2)
    assert (place.revision, place.digest) == heads(world)["mail", "talk"]


@pytest.mark.parametrize(
    ("ranges", "at"),
    [
        ([], "ranges"),
        ([(5, 4)], "ranges[0]"),
        ([(1, 3), (2, 4)], "ranges[1]"),
        ([(3, 4), (1, 2)], "ranges[1]"),
        ([(1, 2), (2, 2), (2, 3), (0, 9)], "ranges[3]"),
        ([(-1, 2)], "ranges[0].from_ms"),
        ([(0, 253_402_300_800_000)], "ranges[0].until_ms"),
    ],
)
def test_ranges_are_sorted_apart_and_at_least_one(ranges: list[tuple[int, int]], at: str, world: World) -> None:
    """CT-15."""
    given_ranges = [TimeRange(from_ms=low, until_ms=high) for low, high in ranges]
    with pytest.raises(InvalidInput) as refused:
        world.runtime.conversations.activity(given_ranges)
    assert refused.value.at == at


def test_ranges_may_touch_and_may_be_empty(world: World) -> None:
    """CT-15: half-open, so that a border belongs to the later range alone."""
    plain = Plain(world)
    for time in (4, 5, 6):
        plain.commit(KEYS[0], time)
    ranges = [TimeRange(from_ms=low, until_ms=high) for low, high in [(0, 5), (5, 5), (5, 6), (6, 7)]]
    assert [each.turns for each in world.runtime.conversations.activity(ranges).ranges] == [1, 0, 1, 1]


def test_activity_of_what_is_not_there_and_of_too_much_is_refused() -> None:
    """CT-07, CT-15."""
    world = memory_world(limits=Limits(activity_ranges_max=2))
    plain = Plain(world)
    plain.commit(KEYS[0], 4)
    conversations, ranges = world.runtime.conversations, ranges_of([0, 9])
    with pytest.raises(UnknownConversation):
        conversations.activity(ranges, conversation=ConversationId("nowhere"))
    with pytest.raises(UnknownConversation):
        conversations.activity(ranges, Channel("mail"), ConversationId("talk"))
    with pytest.raises(InvalidInput):
        conversations.activity(ranges, Channel(" padded"))
    with pytest.raises(LimitExceeded) as refused:
        conversations.activity([*ranges_of(list(range(6)))])
    assert (refused.value.limit, refused.value.found) == (2, 3)
    world.close()


def elsewhere_in(home: Path, times: int) -> Runtime:
    return open_store(home, f"elsewhere-{times}", space="elsewhere")


# --- stores, processes, spaces ----------------------------------------------------------------------------------------


def answers(runtime: Runtime) -> bytes:
    """Return everything that the catalogue answers, cursors included."""
    ranges = [TimeRange(from_ms=0, until_ms=6), TimeRange(from_ms=6, until_ms=TIMES_MS + 2)]
    conversations, transcripts = runtime.conversations, runtime.transcripts
    listed = [conversations.list_(None, lifecycle, 1) for lifecycle in LifecycleFilter]
    counted: list[Activity] = [conversations.activity(ranges, lifecycle=lifecycle) for lifecycle in LifecycleFilter]
    walked = [transcripts.timeline(key, limit=2) for key in KEYS[:1]]
    return msgspec.json.encode([listed, counted, walked])


@settings(max_examples=15)
@given(acts, acts)
def test_what_another_space_does_changes_no_answer(
    tmp_path_factory: pytest.TempPathFactory, done: list[Act], elsewhere: list[Act]
) -> None:
    """SC-01: twin runs with and without the traffic of another space in the same store give byte-equal answers."""
    told = []
    for traffic in (False, True):
        world = sqlite_world(tmp_path_factory.mktemp("twin"))
        plain = Plain(world)
        plain.commit(KEYS[0], 3)
        other = World(partial(elsewhere_in, world.home))
        across = Plain(other)
        for act, act_elsewhere in zip_longest(done, elsewhere):
            if act is not None:
                plain.act(act)
            if traffic and act_elsewhere is not None:
                across.act(act_elsewhere)
        told.append(answers(world.runtime))
        other.close()
        world.close()
    assert told[0] == told[1]


@settings(max_examples=15)
@given(acts)
def test_either_store_and_every_opening_give_the_same_answers(
    tmp_path_factory: pytest.TempPathFactory, done: list[Act]
) -> None:
    """CT-16: memory and SQLite answer alike, and a restart changes no answer."""
    memory, lasting = memory_world(), sqlite_world(tmp_path_factory.mktemp("twin"))
    for world in (memory, lasting):
        plain = Plain(world)
        plain.commit(KEYS[0], 3)
        for act in done:
            plain.act(act)
    assert digest(memory) == digest(lasting)
    before = digest(lasting)
    told = all_conversations(lasting, ALL, 2)
    lasting.reopened()
    assert digest(lasting) == before
    assert all_conversations(lasting, ALL, 2) == told
    memory.close()
    lasting.close()


def test_processes_see_the_turns_of_each_other_at_their_next_question(lasting: FileWorld) -> None:
    """CT-16: caught up when asked."""
    plain = Plain(lasting)
    plain.commit(KEYS[0], 3)
    with open_store(lasting.home, "second") as second:
        listing = second.conversations.list_
        assert [one.turns for one in listing().conversations] == [1]
        plain.commit(KEYS[0], 4)
        plain.commit(KEYS[1], 5)
        assert [(one.conversation, one.turns) for one in listing().conversations] == [("other", 1), ("talk", 2)]
        second.transcripts.commit(plain_turn(9, "third"))
        assert lasting.runtime.conversations.list_().conversations[0].conversation == "third"
        plain.change(KEYS[0], Transition.ERASE, 0)
        assert [one.conversation for one in listing().conversations] == ["third", "other"]


def test_a_long_log_is_read_in_parts_and_tells_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, lasting: FileWorld
) -> None:
    """Each part is a snapshot of its own; what comes meanwhile is read too."""
    plain = Plain(lasting)
    for time in range(1, 8):
        plain.commit(KEYS[0], time)
    monkeypatch.setattr(catalogue, "PART_EVENTS", 3)
    said: list[tuple[str, int, int]] = []

    def progress(stage: str, done: int, total: int) -> None:
        said.append((stage, done, total))
        if len(said) == 1:
            plain.commit(KEYS[1], 1)

    space = lasting.runtime._session.space
    space.catalogue.drop()
    with space.catalogue.caught_up(progress) as caught:
        assert caught.listing.size == caught.reader.frontier().size == 11
    assert said == [("catalogue", 3, 9), ("catalogue", 6, 11), ("catalogue", 9, 11)]
    space.catalogue.drop()
    assert all_conversations(lasting, ACTIVE, 5) == plain.conversations(ACTIVE)


def test_a_catalogue_reads_no_words(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """The cells of what was said stay closed."""
    plain = Plain(world)
    plain.commit(KEYS[0], 3)

    def refuse(*_: object) -> None:
        raise AssertionError("words were opened")

    monkeypatch.setattr(Ledger, "content", refuse)
    runtime = world.runtime.restricted(Access(views=frozenset({View.OPERATOR_AUDIT})))
    (listed,) = runtime.conversations.list_().conversations
    assert (listed.turns, listed.first) == (1, None)
    assert [each.turns for each in world.runtime.conversations.activity(ranges_of([0, 9])).ranges] == [1]


def test_recovering_a_space_makes_its_catalogue_anew(world: World) -> None:
    """CT-16."""
    plain = Plain(world)
    plain.commit(KEYS[0], 3)
    before = digest(world)
    world.runtime.system.recover()
    assert world.runtime._session.space.catalogue._listing.size == 0
    assert digest(world) == before


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM events WHERE position = 3",
        "UPDATE streams SET turns = turns - 1, seq = seq - 1 WHERE stream = 1",
        "UPDATE events SET time = 1 WHERE position = 3",
    ],
)
def test_what_was_edited_while_it_was_open_is_not_listed(edit: str, lasting: FileWorld) -> None:
    """A row that is missing or was edited is found when the catalogue comes to it, never shown."""
    plain = Plain(lasting)
    for time in (3, 4, 5):
        plain.commit(KEYS[0], time)
    with closing(sqlite3.connect(lasting.database)) as raw:
        raw.execute(edit)
        raw.commit()
    for _ in range(2):
        with pytest.raises(Corrupt):
            lasting.runtime.conversations.list_()


def test_a_head_of_another_length_is_not_believed(lasting: FileWorld) -> None:
    """The head of a conversation, which is proved, must be what was read."""
    plain = Plain(lasting)
    plain.commit(KEYS[0], 3)
    listing = lasting.runtime._session.space.catalogue._listing
    lasting.runtime.conversations.list_()
    plain.commit(KEYS[0], 4)
    listing.conversation(1).observed.append(9)
    with pytest.raises(Corrupt, match="turns missing"):
        lasting.runtime.conversations.list_()


def test_a_name_may_be_in_two_channels(world: World) -> None:
    """CT-02, SC-04: same time, same conversation id: the channels decide, and each has its own turns."""
    for channel in ("a", "b"):
        turn = plain_turn(1)
        world.commit(
            replace(turn, channel=Channel(channel), messages=[replace(one, observed_ms=5) for one in turn.messages])
        )
    assert [name[:2] for name in all_conversations(world, ACTIVE, 1)] == [("b", "talk"), ("a", "talk")]
