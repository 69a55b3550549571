"""Replaying conversations: pages, cursors, views, and what two stores show of the same history."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import AccessDenied, CursorInvalid, InvalidInput, LimitExceeded, UnknownConversation
from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationKey
from muniment.events.message import ReasoningPart, TextPart, ToolCallPart
from muniment.governance.access import Access, Effect
from muniment.governance.slices import SliceTurn
from muniment.governance.views import Reason, View
from muniment.operations.transcripts.replay import Slice
from muniment.projections.conversation import TURNS_AT_A_TIME
from tests.turns import answer, plain_turn, question, rich_turn, short
from tests.worlds import FileWorld, World, key_of, memory_world, open_store, sqlite_world


def pages(
    world: World, limits: list[int], view: View = View.RAW_OWNER, key: ConversationKey | None = None
) -> list[Slice]:
    """Replay a conversation page by page; the last limit is used until the end."""
    transcripts = world.runtime.transcripts
    found = [transcripts.replay(key or key_of(), view, limits[0])]
    while found[-1].next_cursor is not None:
        limit = limits[min(len(found), len(limits) - 1)]
        found.append(transcripts.replay(key or key_of(), view, limit, found[-1].next_cursor))
    return found


def words(turn: SliceTurn) -> list[str]:
    return [
        part.content
        for message in turn.messages
        for part in message.parts
        if isinstance(part, TextPart | ReasoningPart)
    ]


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [TURNS_AT_A_TIME, TURNS_AT_A_TIME + 1, 2 * TURNS_AT_A_TIME + 3])
def test_a_page_is_whole_in_however_many_pieces_it_is_opened(turns: int) -> None:
    """Turns are opened some at a time; a page has each of them once, in order, and what is withheld of each."""
    world = memory_world().with_turns(turns).masked(turns)
    page = world.runtime.transcripts.replay(key_of(), View.HOST_UI, 500)
    world.close()
    assert [turn.sequence for turn in page.turns] == list(range(1, turns + 1))
    assert {item.turn for item in page.items} == {page.turns[-1].turn}
    assert not page.has_more


@settings(max_examples=50)
@given(
    st.integers(1, 9),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.lists(st.sampled_from(["commit", "mask", "erase", "other"]), max_size=6),
    st.sampled_from(View),
)
def test_pages_give_every_turn_exactly_once_whatever_happens_meanwhile(
    turns: int, limits: list[int], meanwhile: list[str], view: View
) -> None:
    """PG-01, PG-02: for any limits, with appends and lifecycle changes in between, nothing twice or missed."""
    world = memory_world().with_turns(turns)
    transcripts = world.runtime.transcripts
    happenings = iter(meanwhile)
    seen: list[int] = []
    page = transcripts.replay(key_of(), view, limits[0])
    for number in range(100):
        assert len(page.turns) <= max(limits[min(number, len(limits) - 1)], 1)
        seen += [turn.sequence for turn in page.turns]
        assert page.has_more == (page.next_cursor is not None)
        if page.next_cursor is None:
            break
        happening = next(happenings, "nothing")
        if happening == "commit":
            world.with_turns(1)
        elif happening == "other":
            world.with_turns(1, "other")
        elif happening in {"mask", "erase"}:
            world.request(Transition.MASK if happening == "mask" else Transition.ERASE, turns)
        page = transcripts.replay(key_of(), view, limits[min(number + 1, len(limits) - 1)], page.next_cursor)
    assert seen == list(range(1, world.turns_of() + 1))
    world.close()


def test_the_pages_together_are_the_whole(world: World) -> None:
    """PG-01: turn by turn, item by item, in every view."""
    world.with_turns(3).with_turn(rich_turn()).masked(2)
    for view in View:
        whole = world.replay(view)
        for limits in ([1], [2], [3, 1], [100]):
            parts = pages(world, limits, view)
            assert [turn for page in parts for turn in page.turns] == whole.turns
            assert [item for page in parts for item in page.items] == whole.items


def test_a_limit_of_zero_counts_as_one_and_other_limits_are_held(world: World) -> None:
    """PG-02."""
    world.with_turns(2)
    transcripts = world.runtime.transcripts
    assert [len(page.turns) for page in pages(world, [0])] == [1, 1]
    with pytest.raises(InvalidInput):
        transcripts.replay(key_of(), limit=-1)
    with pytest.raises(LimitExceeded) as refused:
        transcripts.replay(key_of(), limit=501)
    assert (refused.value.limit, refused.value.found) == (500, 501)
    assert len(transcripts.replay(key_of(), limit=500).turns) == 2


def test_a_conversation_that_does_not_exist_is_unknown(world: World) -> None:
    """RP-13: without a cursor; a cursor of another conversation is the error that it is anywhere."""
    world.with_turns(2)
    with pytest.raises(UnknownConversation):
        world.runtime.transcripts.replay(key_of("nowhere"))
    cursor = world.runtime.transcripts.replay(key_of(), limit=1).next_cursor
    with pytest.raises(CursorInvalid):
        world.runtime.transcripts.replay(key_of("nowhere"), limit=1, cursor=cursor)


def test_a_cursor_leads_on_only_where_it_was_issued(world: World) -> None:
    """PG-03: another conversation, channel, view or access, another space, or one that was tampered with."""
    world.with_turns(3).with_turns(3, "other")
    runtime = world.runtime
    runtime.transcripts.commit(replace(plain_turn(1), channel=Channel("mail")))
    cursor = runtime.transcripts.replay(key_of(), View.HOST_UI, 1).next_cursor
    assert cursor is not None
    assert runtime.transcripts.replay(key_of(), View.HOST_UI, 2, cursor).turns[0].sequence == 2
    narrow = runtime.restricted(Access(effects=frozenset({Effect.READ})))
    for transcripts, key, view, mark in [
        (runtime.transcripts, key_of("other"), View.HOST_UI, cursor),
        (runtime.transcripts, key_of(channel="mail"), View.HOST_UI, cursor),
        (runtime.transcripts, key_of(), View.EXPORT, cursor),
        (narrow.transcripts, key_of(), View.HOST_UI, cursor),
        (runtime.transcripts, key_of(), View.HOST_UI, cursor[:-1]),
        (runtime.transcripts, key_of(), View.HOST_UI, cursor[:-2] + ("AA" if cursor[-2:] != "AA" else "BB")),
        (runtime.transcripts, key_of(), View.HOST_UI, "mc1." + cursor[4:].swapcase()),
        (runtime.transcripts, key_of(), View.HOST_UI, ""),
        (runtime.transcripts, key_of(), View.HOST_UI, "mc1."),
        (runtime.transcripts, key_of(), View.HOST_UI, "x" * 5000),
        (runtime.transcripts, key_of(), View.HOST_UI, "🙂"),
    ]:
        with pytest.raises(CursorInvalid):
            transcripts.replay(key, view, 1, mark)
    listing = runtime.conversations.list_(limit=1).next_cursor
    with pytest.raises(CursorInvalid):
        runtime.transcripts.replay(key_of(), View.HOST_UI, 1, listing)
    with pytest.raises(CursorInvalid):
        runtime.conversations.list_(cursor=cursor)
    with pytest.raises(CursorInvalid):
        runtime.conversations.list_(channel=Channel("mail"), cursor=listing)


def test_a_cursor_of_one_space_is_nothing_in_another(lasting: FileWorld) -> None:
    """PG-03, SC-01."""
    lasting.with_turns(3)
    cursor = lasting.runtime.transcripts.replay(key_of(), limit=1).next_cursor
    with open_store(lasting.home, "elsewhere", space="elsewhere") as other:
        for number in (1, 2, 3):
            other.transcripts.commit(plain_turn(number))
        with pytest.raises(CursorInvalid):
            other.transcripts.replay(key_of(), limit=1, cursor=cursor)


def test_a_cursor_survives_a_restart_and_a_new_key(lasting: FileWorld) -> None:
    """DESIGN §6: replay cursors survive; each page applies the policy of its day."""
    lasting.with_turns(3)
    cursor = lasting.runtime.transcripts.replay(key_of(), View.RAW_OWNER, limit=1).next_cursor
    lasting.runtime.spaces.rotate()
    lasting.reopened().masked(2)
    page = lasting.runtime.transcripts.replay(key_of(), View.RAW_OWNER, 5, cursor)
    assert [words(turn) for turn in page.turns] == [[], [question(3), answer(3)]]


# --- views ------------------------------------------------------------------------------------------------------------


def test_each_view_shows_its_part_of_a_turn(world: World) -> None:
    """RP-01, RP-03, RP-08, RP-10, RP-11, RP-12, through the front door."""
    world.with_turn(rich_turn())
    shown = {view: world.replay(view).turns[0] for view in View}
    assert {view: [not message.redacted for message in turn.messages] for view, turn in shown.items()} == {
        View.RAW_OWNER: [True] * 7,
        View.MODEL_CONTEXT: [True, True, True, True, False, False, True],
        View.HOST_UI: [False, True, False, False, False, False, True],
        View.OPERATOR_AUDIT: [False] * 7,
        View.EXPORT: [False, True, False, False, False, False, True],
    }
    model = shown[View.MODEL_CONTEXT].messages[2].parts
    assert isinstance(model, list)
    assert [type(part) for part in model] == [ToolCallPart]
    assert {view: len(turn.host_refs) for view, turn in shown.items()} == {
        View.RAW_OWNER: 5, View.MODEL_CONTEXT: 1, View.HOST_UI: 2, View.OPERATOR_AUDIT: 3, View.EXPORT: 1,
    }  # fmt: skip
    assert {view for view, turn in shown.items() if turn.source is not None} == {View.RAW_OWNER, View.OPERATOR_AUDIT}


def test_the_report_of_a_page_says_what_was_withheld_and_why(world: World) -> None:
    """RP-02, RP-06, RP-07."""
    world.with_turns(2).with_turn(rich_turn()).masked(1).erased(2)
    page = world.replay(View.HOST_UI)
    assert (page.audit.turns_read, page.audit.turns_returned) == (3, 3)
    assert page.audit.messages_redacted == sum(message.redacted for turn in page.turns for message in turn.messages)
    assert page.audit.host_refs_redacted == 3
    assert {item.reason for item in page.items} == {
        Reason.LIFECYCLE_MASKED, Reason.ERASED, Reason.PRIVATE_AUTHORITY, Reason.OPERATOR_ONLY,
        Reason.VIEW_POLICY, Reason.HOST_REF_VISIBILITY, Reason.HOST_REF_LABEL,
    }  # fmt: skip
    assert set(page.audit.reasons) == {item.reason for item in page.items}
    assert [short(item.message) for item in page.items if item.reason is Reason.LIFECYCLE_MASKED] == [
        "turn-1#0",
        "turn-1#1",
    ]


def test_a_view_that_was_not_granted_is_denied(world: World) -> None:
    """RP-14: host_ui stays open where a debugging view is denied; what was taken does not come back."""
    world.with_turns(1)
    host = world.runtime.restricted(Access(views=frozenset({View.HOST_UI}), effects=frozenset({Effect.READ})))
    assert len(host.transcripts.replay(key_of()).turns) == 1
    for view in set(View) - {View.HOST_UI}:
        with pytest.raises(AccessDenied):
            host.transcripts.replay(key_of(), view)
    again = host.restricted(Access())
    with pytest.raises(AccessDenied):
        again.transcripts.replay(key_of(), View.RAW_OWNER)
    with pytest.raises(AccessDenied):
        again.transcripts.commit(plain_turn(2))


# --- twins ------------------------------------------------------------------------------------------------------------

ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["commit", "commit", "rich", *Transition, "rotate"]),
        st.sampled_from(["talk", "other"]),
        st.none() | st.integers(1, 3),
    ),
    max_size=10,
)


def act(world: World, action: str, conversation: str, number: int | None) -> None:
    if action == "commit":
        world.with_turns(1, conversation)
    elif action == "rich":
        world.commit(rich_turn())
    elif action == "rotate":
        world.runtime.spaces.rotate()
    else:
        world.request(Transition(action), number, conversation)


@settings(max_examples=30)
@given(ACTIONS)
def test_the_same_history_shows_the_same_slices_over_either_store(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, int | None]]
) -> None:
    """Twin run: memory and SQLite, with equal sources, give byte-equal slices in every view; so does coming back."""
    memory, lasting = memory_world(), sqlite_world(tmp_path_factory.mktemp("twin"))
    for conversation in ("talk", "other"):
        memory.with_turns(1, conversation)
        lasting.with_turns(1, conversation)
    for action in actions:
        act(memory, *action)
        act(lasting, *action)
    for view in View:
        for conversation in ("talk", "other"):
            left, right = memory.replay(view, conversation), lasting.replay(view, conversation)
            assert msgspec.json.encode(left) == msgspec.json.encode(right)
    assert memory.runtime.evidence.checkpoint().root == lasting.runtime.evidence.checkpoint().root
    before = [lasting.replay(view) for view in View]
    assert [lasting.reopened().replay(view) for view in View] == before
    memory.close()
    lasting.close()
