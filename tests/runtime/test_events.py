"""The feed of events: what a caller sees happen, once and in order, from wherever they were."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import AccessDenied, Corrupt, CursorInvalid, InvalidInput, LimitExceeded, SpaceErased
from muniment.events.attributes import AttributePolicy
from muniment.events.changes import Action, Transition
from muniment.events.identity import Channel, ConversationId, SpaceName, SubjectId, TurnId
from muniment.events.memory_items import ItemPrivacy
from muniment.events.records import EventKind
from muniment.events.references import Visibility
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.governance.policy import Policy
from muniment.governance.views import View
from muniment.kernel.digest import unb64url
from muniment.memory.amendment import PinItem
from muniment.operations.events import seen_turns
from muniment.operations.events.space_event import (
    OPERATOR_TOPICS,
    TOPICS,
    EventPage,
    EventTopic,
    SpaceEvent,
)
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from tests.attributes import ruled
from tests.laws.twins import SpokenTurn, said, store_of
from tests.memory.items import candidate
from tests.turns import SUBJECT, TALK, plain_turn
from tests.worlds import OPERATOR, World, key_of, memory_world, sqlite_world

OF_BOB = Access(subject="bob")


def pages(runtime: Runtime, limit: int = 50, after: str | None = None, **asked: Any) -> list[EventPage]:
    """Return all pages behind a cursor."""
    found = [runtime.events.read(after, limit, **asked)]
    while found[-1].has_more:
        found.append(runtime.events.read(found[-1].cursor, limit, **asked))
    return found


def events(runtime: Runtime, limit: int = 50, after: str | None = None, **asked: Any) -> list[SpaceEvent]:
    """Return all events behind a cursor."""
    return [event for page in pages(runtime, limit, after, **asked) for event in page.events]


def told(runtime: Runtime, **asked: Any) -> list[tuple[str, str | None]]:
    """Return what is told, by type and by turn or item."""
    return [(event.type, event.turn or event.item) for event in events(runtime, **asked)]


@given(turns=st.lists(said, min_size=1, max_size=5), limit=st.integers(1, 7), view=st.sampled_from(View))
@settings(max_examples=15, deadline=None)
def test_whoever_comes_back_gets_exactly_the_rest(turns: list[SpokenTurn], limit: int, view: View) -> None:
    """Behind every event, in pages of any size: nothing is lost, nothing is told twice, and ids stay the same."""
    world = store_of(list(enumerate(turns)))
    with contextlib.closing(world):
        whole = events(world.runtime, 500, view=view)
        assert len({event.id for event in whole}) == len(whole)
        assert events(world.runtime, limit, view=view) == whole
        for place, event in enumerate(whole):
            assert events(world.runtime, limit, event.id, view=view) == whole[place + 1 :]
        places = [(event.position, event.sequence or 0) for event in whole]
        assert places == sorted(places)


def test_a_change_of_many_turns_is_told_turn_by_turn(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(7).masked().erased()
    with contextlib.closing(world):
        change = events(world.runtime, 2, topics=[EventTopic.TRANSCRIPT])[7:]
        gone = events(world.runtime, 2, topics=[EventTopic.ERASURES])
        assert [event.turn for event in change] == [event.turn for event in gone]
        assert [event.turn for event in gone] == [f"turn-{number}" for number in range(1, 8)]
        assert len({event.position for event in gone}) == len({event.position for event in change}) == 1


def test_a_cursor_outlives_the_process_rotations_and_erasures(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(3)
    with contextlib.closing(world):
        first = world.runtime.events.read(limit=2)
        world.erased(1).reopened().with_turns(1)
        assert told(world.runtime, after=first.cursor) == [
            ("turn.committed", "turn-3"),
            ("turn.erased", "turn-1"),
            ("turn.committed", "turn-4"),
        ]
        assert told(world.runtime, after=first.events[0].id)[0] == ("turn.committed", "turn-2")


def test_a_cursor_is_of_one_log_access_view_and_conversation(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    with contextlib.closing(world):
        read = world.runtime.events.read
        cursor = read(limit=1).cursor
        assert read(cursor, 9, topics=[EventTopic.TRANSCRIPT]).events[0].turn == "turn-2"
        elsewhere = world.runtime.space("other").events.read
        foreign: list[Callable[[], object]] = [
            lambda: read(cursor, view=View.EXPORT),
            lambda: read(cursor, conversation=ConversationId(TALK)),
            lambda: read(cursor, channel=Channel("default")),
            lambda: world.runtime.restricted(OF_BOB).events.read(cursor),
            lambda: elsewhere(cursor),
            lambda: read(cursor[:-2]),
            lambda: read(world.runtime.transcripts.replay(key_of(), limit=1).next_cursor),
        ]
        for ask in foreign:
            with pytest.raises(CursorInvalid):
                ask()
        backup = tmp_path / "backup"
        world.runtime.spaces.backup(str(backup))
        world.runtime.spaces.restore(str(backup), replace=True)
        with pytest.raises(CursorInvalid):
            world.runtime.events.read(cursor)


def test_from_now_on_and_long_polling() -> None:
    world = memory_world().with_turns(2)
    with contextlib.closing(world):
        page = world.runtime.events.read("now")
        assert (page.events, page.has_more) == ([], False)
        world.with_turns(1)
        assert told(world.runtime, after=page.cursor) == [("turn.committed", "turn-3")]


def test_whoever_sees_nothing_learns_nothing() -> None:
    """No event, no sign of more, and cursors that differ whether something happened or not."""
    world = memory_world()
    with contextlib.closing(world):
        mine = world.runtime.restricted(OF_BOB)
        seen = [mine.events.read(limit=1)]
        for number in range(1, 4):
            world.commit(plain_turn(number))
            seen += [mine.events.read(seen[-1].cursor, 1), mine.events.read(seen[-1].cursor, 1)]
        assert all(page.events == [] and not page.has_more for page in seen)
        assert len({page.cursor for page in seen}) == len(seen)
        assert len({len(page.cursor) for page in seen}) == 1
        world.commit(replace(plain_turn(4), subject=SubjectId("bob")))
        world.commit(plain_turn(5))
        last = mine.events.read(limit=1)
        assert ([event.turn for event in last.events], last.has_more) == (["turn-4"], False)


@given(turns=st.lists(said, min_size=1, max_size=6))
@settings(max_examples=10, deadline=None)
def test_what_is_passed_over_has_nothing_to_tell(turns: list[SpokenTurn]) -> None:
    """Conversations without a turn of the caller are not looked at where the log is long; the answer is the same."""
    world = store_of(list(enumerate(turns)))
    with contextlib.closing(world), pytest.MonkeyPatch.context() as patch:
        for subject in ("ada", "bob", "nobody"):
            mine = world.runtime.restricted(Access(subject=subject))
            patch.setattr(seen_turns, "FEW", 10**6)
            whole = events(mine)
            patch.setattr(seen_turns, "FEW", 0)
            assert events(mine) == whole


def test_a_conversation_of_others_is_as_empty_as_none() -> None:
    world = memory_world().with_turns(2).with_turns(1, "other")
    with contextlib.closing(world):
        assert len(events(world.runtime, conversation=ConversationId("other"))) == 1
        assert len(events(world.runtime, conversation=ConversationId(TALK), limit=1)) == 2
        assert len(events(world.runtime, channel=Channel("default"))) == 3
        for name in (TALK, "nowhere"):
            assert events(world.runtime.restricted(OF_BOB), conversation=ConversationId(name)) == []


# --- what a view shows ------------------------------------------------------------------------------------------------


def test_a_turn_is_shown_as_it_is_now_and_as_pages_show_it() -> None:
    world = memory_world().with_turns(2).masked(1).erased(2)
    with contextlib.closing(world):
        for view in View:
            page = world.runtime.transcripts.replay(key_of(), view)
            shown = {event.turn: event.shown for event in events(world.runtime, view=view) if event.shown}
            assert list(shown.values()) == page.turns
            withheld = [item for event in events(world.runtime, view=view)[:2] for item in event.withheld]
            assert withheld == page.items


def test_a_redaction_is_told_to_the_views_that_it_is_for() -> None:
    world = memory_world().with_turns(1)
    with contextlib.closing(world):
        world.redact(Passage(turn=TurnId("turn-1"), message=0), View.HOST_UI)
        named = {view: [each.type for each in events(world.runtime, view=view)] for view in View}
        knowing = {view for view, types in named.items() if "turn.redacted" in types}
        assert knowing == {View.HOST_UI, View.RAW_OWNER, View.OPERATOR_AUDIT}
        [change] = [each for each in events(world.runtime) if each.type == "turn.redacted"]
        assert (change.action, change.message is not None) == ("legal", True)


def test_an_attribute_is_told_to_the_views_that_show_it() -> None:
    world = memory_world().with_turns(1)
    with contextlib.closing(world):
        policy = AttributePolicy.FOLLOW_TRANSCRIPT
        noted = [ruled(f"of-{visibility}", visibility, policy) for visibility in Visibility]
        world.runtime.transcripts.annotate(key_of(), noted)
        for view in View:
            shown = world.runtime.transcripts.replay(key_of(), view).turns[0].attributes
            named = [each.attribute for each in events(world.runtime, view=view) if each.attribute]
            assert sorted(named) == sorted(each.id for each in shown)


def test_memory_is_told_as_lists_show_it() -> None:
    world = memory_world().with_turns(1)
    with contextlib.closing(world):
        private = candidate("secret", id="i-2", topic="pin", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
        world.runtime.memory.remember([candidate(id="i-1"), private], "who")
        world.runtime.memory.amend("i-1", PinItem(), "why", "who")
        world.runtime.memory.forget(SUBJECT, ForgetTarget(item="i-1"), "why", "who")
        topics = [EventTopic.MEMORY, EventTopic.ERASURES]
        mine = [("item.recorded", "i-1"), ("item.revised", "i-1"), ("item.erased", "i-1")]
        assert told(world.runtime, topics=topics) == mine
        assert ("item.recorded", "i-2") in told(world.runtime, topics=topics, view=View.OPERATOR_AUDIT)
        assert told(world.runtime.restricted(Access(subject=SUBJECT)), topics=topics) == mine
        assert told(world.runtime.restricted(OF_BOB), topics=topics) == []
        item = events(world.runtime, topics=topics)[0].item_shown
        assert item is not None
        assert item.text is None  # as it is now


def test_operators_are_told_of_findings_and_governance() -> None:
    world = memory_world().with_turns(2)
    with contextlib.closing(world):
        runtime = world.runtime
        hold = runtime.lifecycle.hold(Scope(conversation=TALK), "why", "who").position
        with contextlib.suppress(AccessDenied):
            runtime.restricted(Access(effects=frozenset())).transcripts.replay(key_of())
        runtime.lifecycle.request(key_of(), Transition.ERASE, "why", "who")  # refused: it is held
        runtime.lifecycle.release(hold or 0, "why", "who")
        runtime.disclosure.reveal(key_of(), TurnId("turn-1"), "why", "who")
        found = events(runtime, topics=sorted(OPERATOR_TOPICS), view=View.OPERATOR_AUDIT)
        assert [(each.topic, each.type, each.action, each.operation) for each in found] == [
            ("governance", "turn.lifecycle", Action.HOLD, None),
            ("findings", "access.denied", None, "transcripts.replay"),
            ("findings", "erasure.refused", None, None),
            ("governance", "turn.lifecycle", Action.RELEASE, None),
            ("governance", "content.revealed", None, None),
        ]
        assert (found[0].conversation, found[-1].conversation) == (TALK, None)
        assert [each.topic for each in events(runtime)] == [EventTopic.TRANSCRIPT] * 2


def test_every_topic_has_news_and_every_kind_is_known() -> None:
    assert set(TOPICS.values()) | {EventTopic.ERASURES} == set(EventTopic)
    assert set(TOPICS) <= set(EventKind)


def test_what_a_caller_may_not_follow_is_refused_when_it_is_named() -> None:
    world = memory_world().with_turns(1)
    with contextlib.closing(world):
        read = world.runtime.events.read
        of_channel = world.runtime.restricted(Access(channels=frozenset({"default"}))).events.read
        operator = [EventTopic.GOVERNANCE]
        refused: list[tuple[Callable[[], object], str]] = [
            (lambda: read(topics=operator), View.HOST_UI),
            (lambda: world.runtime.restricted(OF_BOB).events.read(topics=operator, view=View.RAW_OWNER), "subject"),
            (lambda: of_channel(topics=[EventTopic.MEMORY]), "channels"),
            (world.runtime.restricted(Access(views=frozenset())).events.read, View.HOST_UI),
        ]
        for ask, at in refused:
            with pytest.raises(AccessDenied) as denied:
                ask()
            assert denied.value.at == at
        wrong: list[dict[str, Any]] = [
            {"topics": []},
            {"topics": [EventTopic.MEMORY], "channel": Channel("default")},
            {"limit": 0},
        ]
        for asked in wrong:
            with pytest.raises(InvalidInput):
                read(**asked)
        with pytest.raises(LimitExceeded):
            read(limit=Limits().page_turns_max + 1)


# --- erasures ---------------------------------------------------------------------------------------------------------


def verified(world: World, event: SpaceEvent) -> dict[str, Any]:
    """Return the header of the event that a receipt proves with the public key of the log."""
    assert event.receipt is not None
    vkey = world.runtime.evidence.checkpoint().vkey
    assert world.runtime.evidence.verify(BytesIO(event.receipt.encode()), vkey).erasures == 1
    extra = event.receipt.splitlines()[1].removeprefix("extra ")
    line: dict[str, Any] = json.loads(unb64url(extra.rstrip("=").replace("+", "-").replace("/", "_")).split(b"\n")[0])
    return line


def test_an_erasure_is_told_with_a_receipt_that_anyone_can_check(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(3)
    with contextlib.closing(world):
        world.runtime.memory.remember([candidate(id="i-1")], "who")
        world.erased(2)
        world.runtime.lifecycle.erase(Scope(conversation=TALK, message="turn-3#0"), "asked for", OPERATOR)
        world.runtime.memory.forget(SUBJECT, ForgetTarget(item="i-1"), "why", "who")
        gone = events(world.runtime, topics=[EventTopic.ERASURES])
        assert [(each.type, each.turn, each.item) for each in gone] == [
            ("turn.erased", "turn-2", None),
            ("message.erased", "turn-3", None),
            ("item.erased", None, "i-1"),
        ]
        assert (gone[0].subject, gone[1].message is not None) == (SUBJECT, True)
        for event in gone:
            line = verified(world, event)
            assert (line["header"]["pos"], line["header"]["reason"]) == (event.position, "erase")
            assert line["disclosures"] == []
        assert verified(world, gone[0])["header"]["target"] == 2
        told_why = events(world.runtime, topics=[EventTopic.ERASURES], view=View.OPERATOR_AUDIT)[0]
        assert any("asked for" in str(unb64url(each)) for each in verified(world, told_why)["disclosures"])


def test_a_receipt_says_nothing_of_turns_of_others() -> None:
    world = memory_world()
    with contextlib.closing(world):
        for number, subject in enumerate(["ada", "bob", "bob"], start=1):
            world.commit(replace(plain_turn(number), subject=SubjectId(subject)))
        world.erased(2).erased()
        mine = events(world.runtime.restricted(OF_BOB), topics=[EventTopic.ERASURES])
        assert [(each.turn, each.receipt is not None) for each in mine] == [("turn-2", True), ("turn-3", False)]
        everything = events(world.runtime, topics=[EventTopic.ERASURES])
        assert [each.turn for each in everything] == ["turn-2", "turn-1", "turn-3"]  # each once
        assert all(each.receipt for each in everything)


def test_only_what_is_shown_is_recorded_as_read() -> None:
    """Where reads are on record, waiting for events does not fill the log."""
    world = memory_world().with_turns(1)
    with contextlib.closing(world):
        reader = world.runtime.restricted(Access(policies=frozenset({Policy.RECORD_READS})))
        before = world.runtime.system.health().events
        page = reader.events.read()
        for _ in range(3):
            page = reader.events.read(page.cursor)
        assert world.runtime.system.health().events == before + 1


# --- when something is wrong ------------------------------------------------------------------------------------------


def test_a_feed_of_an_erased_space_says_so(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(1)
    with contextlib.closing(world):
        cursor = world.runtime.events.read().cursor
        world.runtime.lifecycle.erase(Scope(whole_space=SpaceName("default")), "why", "who")
        with pytest.raises(SpaceErased):
            world.runtime.events.read(cursor)


def test_a_damaged_event_is_corruption_and_not_skipped(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    with contextlib.closing(world):
        first = world.runtime.events.read(limit=1)
        world.edited_while_open("UPDATE events SET turn_seq = 7 WHERE turn_seq = 2")
        with pytest.raises(Corrupt):
            world.runtime.events.read(first.cursor)


def test_a_listener_hears_every_commit_of_this_process_until_it_leaves() -> None:
    world = memory_world()
    heard: list[int] = []
    with contextlib.closing(world):
        with world.runtime.on_commit(lambda: heard.append(1)), world.runtime.on_commit(lambda: heard.append(2)):
            world.with_turns(1)
        world.with_turns(1)
    assert heard == [1, 2]
