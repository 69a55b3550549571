"""Walking through a conversation in both directions, held to the same in plain Python."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import AccessDenied, CursorStale, InvalidInput, LimitExceeded, UnknownConversation, UnknownPlace
from muniment.events.changes import Transition
from muniment.events.identity import ConversationKey, TurnId
from muniment.governance.access import Access
from muniment.governance.listing import LifecycleFilter
from muniment.governance.phases import Phase
from muniment.governance.views import View
from muniment.operations.transcripts.timeline import PLACE_NAMES, RANGE_NAMES, TAKES, Anchor, AnchorKind, Timeline
from tests.plain import KEYS, TIMES_MS, Act, Plain, acts, heads, lifecycles, name_of
from tests.turns import message_of, rich_turn
from tests.worlds import World, key_of, memory_world

KEY = KEYS[0]
ACTIVE, ALL = LifecycleFilter
limits = st.integers(1, 4)
anchors = st.one_of(
    st.just(Anchor()),
    st.builds(
        Anchor, at=st.sampled_from([AnchorKind.BEFORE, AnchorKind.AFTER, AnchorKind.AROUND]), sequence=st.integers(1, 5)
    ),
    st.builds(
        lambda low, length: Anchor(at=AnchorKind.FIRST_IN_RANGE, from_ms=low, until_ms=low + length),
        st.integers(0, TIMES_MS + 1),
        st.integers(0, 4),
    ),
)


def shown(timeline: Timeline) -> list[int]:
    return [turn.sequence for turn in timeline.turns]


class Walk:
    """A run of pages: the same request, with the cursors of the pages before."""

    def __init__(self, world: World, anchor: Anchor, limit: int, lifecycle: LifecycleFilter = ACTIVE) -> None:
        self._world = world
        self._request = (KEY, anchor, View.HOST_UI, limit, lifecycle)
        self.first = self.page(None)

    def page(self, cursor: str | None) -> Timeline:
        """Return a page, in order, with a cursor wherever there is more."""
        page = self._world.runtime.transcripts.timeline(*self._request, cursor)
        assert shown(page) == sorted(shown(page))
        assert len(page.turns) <= self._request[3]
        assert (page.has_older, page.has_newer) == (page.older_cursor is not None, page.newer_cursor is not None)
        return page


def page_of(turns: list[int], anchor: Anchor, limit: int, times: dict[int, int]) -> list[int] | None:
    """Return the first page in plain Python; None for an anchor that finds nothing."""
    if anchor.at is AnchorKind.LATEST:
        return turns[-limit:]
    if anchor.at is AnchorKind.FIRST_IN_RANGE:
        assert anchor.from_ms is not None
        assert anchor.until_ms is not None
        found = sorted((times[turn], turn) for turn in turns if anchor.from_ms <= times[turn] < anchor.until_ms)
        return [turn for turn in turns if turn >= found[0][1]][:limit] if found else None
    centre = anchor.sequence or 0
    older, newer = [turn for turn in turns if turn < centre], [turn for turn in turns if turn >= centre]
    if anchor.at is AnchorKind.BEFORE:
        return older[-limit:]
    if anchor.at is AnchorKind.AFTER:
        return [turn for turn in newer if turn != centre][:limit]
    half = limit // 2
    return (older[-half:] if half else []) + newer[: limit - half]


# --- the law ----------------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(acts, anchors, limits, lifecycles, st.lists(st.sampled_from(KEYS), max_size=6))
def test_a_run_in_both_directions_shows_every_turn_once(
    done: list[Act], anchor: Anchor, limit: int, lifecycle: LifecycleFilter, meanwhile: list[ConversationKey]
) -> None:
    """CT-04, CT-05, CT-06, PG-07: pages concatenate to the whole exactly once, whatever is committed meanwhile.

    The first page is where plain Python has it; older and newer pages go on to both ends of the conversation as it was
    at first, each turn once and in order.
    """
    world = memory_world()
    plain = Plain(world)
    for time in range(1, 6):
        plain.commit(KEY, time)
    for act in done:
        plain.act(act)
    listed = plain.listed(KEY, lifecycle)
    turns, times = [turn.sequence for turn in listed], {turn.sequence: turn.observed_ms for turn in listed}
    walk = Walk(world, anchor, limit, lifecycle)
    wanted = page_of(turns, anchor, limit, times)
    assert shown(walk.first) == (wanted or [])
    if wanted is None:
        assert (walk.first.has_older, walk.first.has_newer, walk.first.anchor) == (False, False, None)
        turns = []
    appended = iter(meanwhile)
    seen, older, newer = shown(walk.first), walk.first.older_cursor, walk.first.newer_cursor
    while older is not None or newer is not None:
        key = next(appended, None)
        if key is not None:
            plain.commit(key, TIMES_MS)
        if older is not None:
            page = walk.page(older)
            assert page.turns, "a cursor leads to something"
            seen, older = shown(page) + seen, page.older_cursor
        if newer is not None:
            page = walk.page(newer)
            assert page.turns, "a cursor leads to something"
            seen, newer = seen + shown(page), page.newer_cursor
    assert seen == turns
    world.close()


@given(limits, st.integers(1, 7))
def test_a_run_can_be_walked_back(limit: int, centre: int) -> None:
    """CT-04: the page behind the newer page's older cursor is what stood before it."""
    world = memory_world()
    plain = Plain(world)
    for time in range(1, 8):
        plain.commit(KEY, time)
    walk = Walk(world, Anchor(at=AnchorKind.AROUND, sequence=centre), limit)
    page = walk.first
    while page.newer_cursor is not None:
        before, page = page, walk.page(page.newer_cursor)
        assert page.older_cursor is not None
        back = walk.page(page.older_cursor)
        assert shown(back)[-len(before.turns) :] == shown(before)[-len(back.turns) :]
    world.close()


@pytest.mark.parametrize("limit", range(1, 7))
def test_around_takes_half_of_the_limit_rounded_down_before(limit: int, world: World) -> None:
    """CT-05."""
    world.with_turns(11)
    page = Walk(world, Anchor(at=AnchorKind.AROUND, sequence=6), limit).first
    assert shown(page) == list(range(6 - limit // 2, 6 - limit // 2 + limit))


# --- stale ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transition", list(Transition))
def test_a_lifecycle_change_ends_a_run(transition: Transition, world: World) -> None:
    """PG-07: the timeline's cursor becomes stale on a change of its conversation, not on one of another."""
    world.with_turns(4).with_turns(2, "other").archived(1).masked(2).archived(1, "other")
    walk = Walk(world, Anchor(), 1)
    world.masked(2, "other")
    assert shown(walk.page(walk.first.older_cursor)) == [3]
    number = {Transition.RESTORE: 1, Transition.UNMASK: 2}.get(transition, 4)
    assert world.request(transition, number).changed
    with pytest.raises(CursorStale, match="the data has changed since"):
        walk.page(walk.first.older_cursor)


def test_a_request_that_changed_nothing_ends_no_run(world: World) -> None:
    """PG-07, LC-05."""
    world.with_turns(3).masked(1)
    walk = Walk(world, Anchor(), 1)
    assert not world.request(Transition.MASK, 1).changed
    assert shown(walk.page(walk.first.older_cursor)) == [2]


# --- places -----------------------------------------------------------------------------------------------------------


def test_a_place_is_found_by_any_of_its_names(world: World) -> None:
    """CT-04, CT-08: turn, message, sequence and position lead to the same place."""
    world.with_turns(4)
    position = world.replay().turns[1].position
    for names in (
        {"turn": "turn-2"}, {"sequence": 2}, {"position": position}, {"message": message_of("turn-2", 1)},
        {"turn": "turn-2", "message": message_of("turn-2", 0), "sequence": 2, "position": position},
    ):  # fmt: skip
        page = Walk(world, Anchor(at=AnchorKind.AFTER, **names), 1).first
        assert shown(page) == [3]
        assert page.anchor is not None
        assert (page.anchor.sequence, page.anchor.turn, page.anchor.position) == (2, "turn-2", position)
        assert page.anchor.message == names.get("message")
        assert (page.anchor.revision, page.anchor.digest) == (page.revision, page.digest) == heads(world)[name_of(KEY)]


def test_the_place_of_a_message_has_the_time_of_the_message(world: World) -> None:
    """CT-08."""
    plain = Plain(world)
    plain.commit(KEY, 9, messages=2)
    for message, observed_ms in (("turn-1#0", 9), ("turn-1#1", 6)):
        place = Walk(world, Anchor(at=AnchorKind.AROUND, message=message), 1).first.anchor
        assert place is not None
        assert place.observed_ms == observed_ms


@pytest.mark.parametrize(
    "names",
    [
        {"turn": "turn-9"},
        {"turn": "elsewhere"},
        {"sequence": 4},
        {"position": 99},
        {"position": 0},
        {"position": 1},
        {"message": "turn-2"},
        {"message": "turn-2#2"},
        {"message": "turn-2#01"},
        {"message": "turn-2#"},
        {"turn": "turn-1", "sequence": 2},
        {"message": "turn-1#0", "turn": "turn-2"},
    ],
    ids=str,
)
def test_a_place_that_is_none_of_this_conversation_is_refused(names: dict[str, str | int], world: World) -> None:
    """CT-07: also a place of another conversation, and names that lead to different places."""
    world.with_turns(3).with_turns(1, "other")
    with pytest.raises(UnknownPlace) as refused:
        Walk(world, Anchor(at=AnchorKind.AROUND, **names), 1)  # type: ignore[arg-type]  # names of a place
    assert refused.value.at in {f"anchor.{name}" for name in names}


def test_the_position_of_a_turn_elsewhere_is_no_place_here(world: World) -> None:
    """CT-07."""
    world.with_turns(3).with_turns(1, "other")
    elsewhere = world.replay(conversation="other").turns[0].position
    with pytest.raises(UnknownPlace):
        Walk(world, Anchor(at=AnchorKind.BEFORE, position=elsewhere), 1)


def test_a_conversation_that_does_not_exist_has_no_timeline(world: World) -> None:
    """CT-07."""
    with pytest.raises(UnknownConversation):
        world.runtime.transcripts.timeline(key_of("nowhere"))
    with pytest.raises(UnknownConversation):
        world.runtime.transcripts.timeline(
            key_of("nowhere"), Anchor(at=AnchorKind.FIRST_IN_RANGE, from_ms=0, until_ms=1)
        )


@pytest.mark.parametrize("at", AnchorKind)
def test_an_anchor_has_what_its_kind_takes_and_nothing_else(at: AnchorKind, world: World) -> None:
    """CT-04: the table of anchors, walked."""
    world.with_turns(1)
    values = {
        "turn": TurnId("turn-1"),
        "message": "turn-1#0",
        "sequence": 1,
        "position": 2,
        "from_ms": 1,
        "until_ms": 2,
    }
    assert set(values) == {*PLACE_NAMES, *RANGE_NAMES}
    needed = values if not TAKES[at] else {name: values[name] for name in TAKES[at]}
    for name, value in values.items():
        if name not in TAKES[at]:
            given_names = {**(needed if TAKES[at] else {}), name: value}
            with pytest.raises(InvalidInput, match="not accepted here") as refused:
                Walk(world, Anchor(at=at, **given_names), 1)  # type: ignore[arg-type]  # names of a place or a range
            assert refused.value.at == f"anchor.{name}"
    if TAKES[at]:
        with pytest.raises(InvalidInput, match="missing"):
            Walk(world, Anchor(at=at), 1)


def test_a_range_runs_forward(world: World) -> None:
    """CT-04: half-open; from after until is refused, and half a range is none."""
    world.with_turns(1)
    with pytest.raises(InvalidInput, match="the end is before the start"):
        Walk(world, Anchor(at=AnchorKind.FIRST_IN_RANGE, from_ms=2, until_ms=1), 1)
    with pytest.raises(InvalidInput, match="missing") as refused:
        Walk(world, Anchor(at=AnchorKind.FIRST_IN_RANGE, until_ms=1), 1)
    assert refused.value.at == "anchor.from_ms"


@pytest.mark.parametrize("names", [{"sequence": 0}, {"position": -1}, {"from_ms": -1}], ids=str)
def test_numbers_of_an_anchor_are_in_their_bounds(names: dict[str, int], world: World) -> None:
    """CT-04: a sequence is above 0."""
    with pytest.raises(InvalidInput):
        Walk(world, Anchor(at=AnchorKind.AROUND, **names), 1)  # type: ignore[arg-type]  # numbers of a place or a range


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_a_timeline_shows_what_the_view_shows(world: World) -> None:
    """CT-06, RP-03: the slices of a replay under the same view, item by item, without what is masked or erased."""
    world.with_turns(4).with_turn(rich_turn()).masked(1).erased(2).archived(3)
    for view in View:
        whole = world.replay(view)
        page = world.runtime.transcripts.timeline(key_of(), Anchor(), view, 10, ALL)
        assert page.turns == whole.turns[2:]
        assert page.items == [item for item in whole.items if item.turn not in {"turn-1", "turn-2"}]
        assert page.audit.view is view
        phases = {turn.phase for turn in page.turns}
        assert phases == {Phase.ACTIVE, Phase.ARCHIVED}
    assert shown(world.runtime.transcripts.timeline(key_of())) == [4, 5]


def test_a_view_that_was_not_granted_has_no_timeline(world: World) -> None:
    """RP-14."""
    world.with_turns(1)
    narrow = world.runtime.restricted(Access(views=frozenset({View.EXPORT})))
    assert shown(narrow.transcripts.timeline(key_of(), view=View.EXPORT)) == [1]
    with pytest.raises(AccessDenied):
        narrow.transcripts.timeline(key_of())


def test_a_page_of_no_turns_is_refused_and_so_are_other_limits(world: World) -> None:
    """PG-02: the timeline refuses 0."""
    world.with_turns(1)
    for limit in (0, -1):
        with pytest.raises(InvalidInput):
            Walk(world, Anchor(), limit)
    with pytest.raises(LimitExceeded):
        Walk(world, Anchor(), 501)


def test_a_conversation_of_which_nothing_is_listed_has_an_empty_page(world: World) -> None:
    """CT-06, CT-07: without cursors, under every anchor that finds its place."""
    world.with_turns(3).masked()
    for anchor in (
        Anchor(),
        Anchor(at=AnchorKind.AROUND, sequence=2),
        Anchor(at=AnchorKind.FIRST_IN_RANGE, from_ms=0, until_ms=99),
    ):
        page = Walk(world, anchor, 2).first
        assert (page.turns, page.older_cursor, page.newer_cursor) == ([], None, None)


# --- the newest turns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", View)
def test_the_latest_turns_are_the_last_page_of_a_timeline(view: View) -> None:
    """The newest ones, the oldest of them first; what is masked or archived is not counted as one of them."""
    world = memory_world().with_turns(7).masked(6).archived(5)
    latest = world.runtime.transcripts.latest
    assert shown(latest(key_of(), 3, view)) == [3, 4, 7]
    assert shown(latest(key_of(), 3, view, ALL)) == [4, 5, 7]
    assert shown(latest(key_of(), view=view)) == [1, 2, 3, 4, 7]
    page = latest(key_of(), 2, view)
    same = world.runtime.transcripts.timeline(key_of(), Anchor(), view, 2)
    assert replace(page, older_cursor=None) == replace(same, older_cursor=None)
    older = world.runtime.transcripts.timeline(key_of(), Anchor(), view, 2, cursor=page.older_cursor)
    assert shown(older) == [2, 3]
    world.close()


def test_the_latest_turns_are_refused_as_a_timeline_is(world: World) -> None:
    world.with_turns(1)
    latest = world.runtime.transcripts.latest
    with pytest.raises(UnknownConversation):
        latest(key_of("nowhere"), 5)
    with pytest.raises(InvalidInput):
        latest(key_of(), 0)
    with pytest.raises(LimitExceeded):
        latest(key_of(), 501)
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(views=frozenset({View.HOST_UI}))).transcripts.latest(key_of(), 1, View.EXPORT)
