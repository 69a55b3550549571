"""Committing turns through the front door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from muniment.errors import (
    AccessDenied,
    AliasConflict,
    ForeignSpace,
    InvalidInput,
    LimitExceeded,
    NotCanonical,
    TurnConflict,
    UnknownPlace,
)
from muniment.events.changes import Action, Transition
from muniment.events.identity import Channel, ChatId, ConversationId, SpaceName, SubjectId, TurnId
from muniment.events.message import Authority, Message, Role, TextPart, ToolCallPart
from muniment.events.references import HostReference
from muniment.events.turn import Attribution, Delivery, Source, ToolObservation, Turn
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.hits import SearchScope
from muniment.operations.transcripts.timeline import Anchor, AnchorKind
from tests.turns import TALK, answered, asked, plain_turn, rich_turn
from tests.worlds import FileWorld, World, key_of, memory_world


def events_of(world: World) -> int:
    return world.runtime.spaces.usage().events


def test_turns_are_numbered_from_one_without_a_gap(world: World) -> None:
    """TR-15: in each conversation by itself."""
    for number in (1, 2, 3):
        for conversation in ("talk", "other"):
            assert world.commit(plain_turn(number, conversation)).sequence == number
    assert [turn.sequence for turn in world.replay().turns] == [1, 2, 3]


def test_the_report_counts_the_messages_before_and_after(world: World) -> None:
    """TR-25."""
    first, second = world.commit(plain_turn(1)), world.commit(rich_turn())
    assert (first.messages_before, first.messages_after) == (0, 2)
    assert (second.messages_before, second.messages_after) == (2, 9)
    assert (first.conversation.conversation, first.turn, first.committed, first.reason) == (TALK, "turn-1", True, None)
    assert first.position == 2
    assert first.leaf is not None


def test_a_repeat_returns_the_first_receipt_and_adds_nothing(world: World) -> None:
    """TR-16."""
    first = world.with_turns(1).commit(rich_turn())
    world.with_turns(1)
    before = events_of(world)
    again = world.commit(rich_turn())
    assert (again.committed, again.reason) == (False, "turn_already_committed")
    assert (again.sequence, again.position, again.leaf) == (first.sequence, first.position, first.leaf)
    assert again.messages_before == again.messages_after == 11
    assert events_of(world) == before


def test_a_repeat_after_a_restart_is_still_a_repeat(lasting: FileWorld) -> None:
    """TR-16: idempotence is in the log, not in the process."""
    first = lasting.commit(rich_turn())
    again = lasting.reopened().commit(rich_turn())
    assert (again.committed, again.sequence, again.leaf) == (False, first.sequence, first.leaf)


def test_text_and_a_single_text_part_are_the_same_words(world: World) -> None:
    """TR-16: a host may spell a message either way and still repeats itself."""
    world.commit(plain_turn(1))
    spelt = [replace(each, content=[TextPart(content=str(each.content))]) for each in plain_turn(1).messages]
    assert not world.commit(replace(plain_turn(1), messages=spelt)).committed


ACTOR = rich_turn().actor or Attribution()

# Every field of a turn that is evidence -> the same turn with another value there.
DIFFERENCES: dict[str, Turn] = {
    "subject": replace(rich_turn(), subject=SubjectId("ada2"), actor=replace(ACTOR, subject="ada2")),
    "chat": replace(rich_turn(), chat=ChatId("chat-8")),
    "delivery": replace(rich_turn(), delivery=Delivery.CANCELLED),
    "external": replace(rich_turn(), external=False),
    "candidates": replace(rich_turn(), candidates=["candidate-2"]),
    "tools": replace(rich_turn(), tools=[ToolObservation(id="obs-1", tool="look", summary="other", external=True)]),
    "tool external": replace(rich_turn(), tools=[replace(rich_turn().tools[0], external=False)]),
    "host_refs": replace(rich_turn(), host_refs=rich_turn().host_refs[:-1]),
    "order of host_refs": replace(rich_turn(), host_refs=rich_turn().host_refs[::-1]),
    "label": replace(rich_turn(), host_refs=[replace(ref, label="other") for ref in rich_turn().host_refs]),
    "no actor": replace(rich_turn(), actor=None),
    "fewer messages": replace(rich_turn(), messages=rich_turn().messages[:-1]),
    "more messages": replace(rich_turn(), messages=[*rich_turn().messages, answered("more")]),
    "order of messages": replace(rich_turn(), messages=rich_turn().messages[::-1]),
}
DIFFERENCES |= {
    f"source {name}": replace(rich_turn(), source=replace(rich_turn().source, **{name: "other"}))
    for name in ("channel", "provider", "endpoint", "model_alias", "model", "request_id", "conversation_hint")
}
DIFFERENCES |= {
    f"actor {name}": replace(rich_turn(), actor=replace(ACTOR, **{name: "other"}))
    for name in ("speaker_id", "speaker_kind", "acting_subject", "agent_id", "trigger")
}
SPOKEN: dict[str, Any] = {
    "role": Role.SYSTEM, "content": "other", "authority": Authority.EXTERNAL_CONTENT, "speaker_id": "other",
    "speaker_kind": "other", "observed_ms": 8,
}  # fmt: skip
DIFFERENCES |= {
    f"message {name}": replace(
        rich_turn(),
        messages=[
            replace(each, **{name: value}) if place == 1 else each for place, each in enumerate(rich_turn().messages)
        ],
    )
    for name, value in SPOKEN.items()
}
DIFFERENCES["argument"] = replace(
    rich_turn(),
    messages=[
        replace(each, content=[each.parts()[0], ToolCallPart(name="look", id="call-1", arguments={"größe": 1.25})])
        if place == 2
        else each
        for place, each in enumerate(rich_turn().messages)
    ],
)


@pytest.fixture(scope="module")
def rich_world() -> Iterator[World]:
    """Return a world that holds the rich turn, for attempts that change nothing."""
    made = memory_world().with_turn(rich_turn())
    yield made
    made.close()


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_same_turn_id_with_one_difference_is_a_conflict(rich_world: World, name: str) -> None:
    """TR-17, TR-20: whatever the difference; nothing is written."""
    before = events_of(rich_world)
    with pytest.raises(TurnConflict) as refused:
        rich_world.commit(DIFFERENCES[name])
    assert refused.value.at == "turn"
    assert events_of(rich_world) == before
    assert not rich_world.commit(rich_turn()).committed


def test_every_field_of_a_turn_was_varied() -> None:
    """TR-20: a field that is added later must be named here, or be part of the key."""
    keys = {"turn", "conversation", "channel", "space"}
    varied = {name.split()[0] for name in DIFFERENCES} | {"messages", "host_refs", "tools"}
    assert set(Turn.__struct_fields__) - keys <= varied
    varied_of_source = {name.split()[1] for name in DIFFERENCES if name.startswith("source ")}
    assert set(Source.__struct_fields__) - varied_of_source == {"ingress", "protocol"}


@pytest.mark.parametrize("name", ["ingress", "protocol"])
def test_a_difference_in_an_enumeration_is_a_difference(rich_world: World, name: str) -> None:
    """TR-17."""
    other = replace(rich_turn().source, **{name: Source().ingress if name == "ingress" else Source().protocol})
    with pytest.raises(TurnConflict):
        rich_world.commit(replace(rich_turn(), source=other))


def test_identical_words_under_two_ids_are_two_turns(world: World) -> None:
    """TR-18, TR-19: and the same id in two conversations, or two channels, is two turns."""
    world.commit(plain_turn(1))
    assert world.commit(replace(plain_turn(1), turn=TurnId("turn-b"))).sequence == 2
    assert world.commit(plain_turn(1, "other")).sequence == 1
    assert world.commit(replace(plain_turn(1), channel=Channel("mail"))).sequence == 1


def test_message_ids_are_the_same_on_every_replay_and_unique(world: World) -> None:
    """TR-21."""
    world.with_turns(3)
    once = [message.id for turn in world.replay().turns for message in turn.messages]
    assert once == [message.id for turn in world.replay(View.EXPORT).turns for message in turn.messages]
    assert len(set(once)) == len(once) == 6


def test_message_ids_are_unique_in_a_space(world: World) -> None:
    """TR-19, TR-21: the same turn id in two conversations, or in two channels, is two turns of other messages."""
    for conversation, channel in (("talk", "default"), ("other", "default"), ("talk", "mail")):
        world.commit(replace(plain_turn(1, conversation), channel=Channel(channel)))
    shown = [
        message.id
        for key in (key_of(), key_of("other"), key_of("talk", "mail"))
        for turn in world.runtime.transcripts.replay(key, View.HOST_UI).turns
        for message in turn.messages
    ]
    assert len(set(shown)) == len(shown) == 6


def test_the_id_of_a_message_is_taken_whole_or_for_short_and_never_in_another_conversation(world: World) -> None:
    """An operation that takes a message id takes the one that is shown; one of another conversation names nothing."""
    world.with_turns(1).with_turns(1, "other")
    whole = world.replay().turns[0].messages[1].id
    foreign = world.replay(conversation="other").turns[0].messages[1].id
    for given in (whole, "turn-1#1"):
        place = world.runtime.transcripts.timeline(key_of(), Anchor(at=AnchorKind.AROUND, message=given)).anchor
        assert place is not None
        assert place.message == whole
        report = world.runtime.lifecycle.review(Action.ERASE, Scope(conversation=TALK, message=given))
        assert (report.affected_turns, report.messages) == (1, [whole])
    with pytest.raises(UnknownPlace):
        world.runtime.transcripts.timeline(key_of(), Anchor(at=AnchorKind.AROUND, message=foreign))
    assert world.runtime.lifecycle.review(Action.ERASE, Scope(conversation=TALK, message=foreign)).affected_turns == 0


# --- speakers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actor", [None, Attribution(speaker_id="ada"), Attribution(agent_id="ada"), Attribution()])
@pytest.mark.parametrize("view", View)
def test_what_others_say_is_never_shown_as_what_the_user_says(
    world: World, actor: Attribution | None, view: View
) -> None:
    """AC-02 is about what is stored: what is shown and what `from:` finds follows the role."""
    spoken = [Message(role=role, content=f"zephyr {role}") for role in Role]
    world.commit(Turn(turn=TurnId("t"), subject=SubjectId("ada"), conversation=TALK, messages=spoken, actor=actor))
    (turn,) = world.replay(view).turns
    assert [(message.role, message.speaker_id) for message in turn.messages] == [
        ("user", "ada"), ("assistant", "assistant"), ("tool", "tool"), ("system", "system"),
    ]  # fmt: skip
    assert [message.speaker_kind for message in turn.messages] == ["subject", "assistant", "tool", "system"]
    found = world.runtime.transcripts.search("zephyr from:ada", View.RAW_OWNER).hits
    assert [(hit.role, hit.speaker) for hit in found] == [(Role.USER, "ada")]
    found = world.runtime.transcripts.search("zephyr", View.RAW_OWNER, SearchScope(speaker="assistant")).hits
    assert [hit.role for hit in found] == [Role.ASSISTANT]
    document = world.runtime.spaces.export(key_of(), ExportFormat.OTEL, View.RAW_OWNER).text
    lines = [json.loads(line) for line in document.splitlines()]
    assert [line["actor"] for line in lines if "role" in line] == [message.speaker_id for message in turn.messages]


def test_an_agent_and_an_own_speaker_are_shown_by_their_names(world: World) -> None:
    """The agent of the turn speaks for the assistant; a message that names its speaker keeps it, whatever its role."""
    own = Message(role=Role.ASSISTANT, content="c", speaker_id="ada", speaker_kind="person")
    kind = Message(role=Role.TOOL, content="d", speaker_kind="probe")
    named = Message(role=Role.SYSTEM, content="e", speaker_id="desk")
    actor = Attribution(speaker_id="bob", speaker_kind="person", agent_id="helper")
    turn = Turn(turn=TurnId("t"), subject=SubjectId("ada"), conversation=TALK, actor=actor,
                messages=[asked("a"), answered("b"), own, kind, named])  # fmt: skip
    (shown,) = world.with_turn(turn).replay().turns
    assert [(message.speaker_id, message.speaker_kind) for message in shown.messages] == [
        ("bob", "person"), ("helper", "assistant"), ("ada", "person"), ("tool", "probe"), ("desk", "system"),
    ]  # fmt: skip


@pytest.mark.parametrize("delivery", [Delivery.INCOMPLETE_STREAM, Delivery.REJECTED_BY_POLICY])
def test_a_skipped_turn_uses_no_sequence_and_leaves_no_trace(world: World, delivery: Delivery) -> None:
    """TR-11, TR-13: also in a conversation that does not exist, which then still does not exist."""
    skipped = replace(plain_turn(1), delivery=delivery)
    report = world.commit(skipped)
    assert (report.committed, report.reason, report.sequence, report.messages_after) == (False, delivery, None, 0)
    assert events_of(world) == 1
    world.with_turns(1)
    report = world.commit(replace(skipped, turn=TurnId("other")))
    assert (report.messages_before, report.messages_after) == (2, 2)
    assert world.commit(plain_turn(2)).sequence == 2


@pytest.mark.parametrize("delivery", [Delivery.INCOMPLETE_STREAM, Delivery.REJECTED_BY_POLICY, Delivery.DELIVERED])
def test_a_known_turn_that_keeps_nothing_now_is_a_conflict(world: World, delivery: Delivery) -> None:
    """TR-17 beside TR-11 and TR-13: the same turn id with any difference is a conflict, whatever is kept of it."""
    world.with_turns(1)
    differing = replace(plain_turn(1), delivery=delivery, messages=[asked(" ")])
    before = events_of(world)
    with pytest.raises(TurnConflict):
        world.commit(differing)
    assert events_of(world) == before
    assert not world.commit(replace(differing, conversation=ConversationId("other"))).committed


@pytest.mark.parametrize("message", [None, "turn-1#0"])
def test_a_known_turn_with_nothing_to_compare_is_the_repeat_that_it_is(world: World, message: str | None) -> None:
    """TR-16: with the sequence, position and leaf of the first receipt."""
    first = world.with_turns(1).commit(plain_turn(1))
    world.runtime.lifecycle.erase(Scope(conversation=TALK, turn=TurnId("turn-1"), message=message), "why", "who")
    again = world.commit(replace(plain_turn(1), delivery=Delivery.INCOMPLETE_STREAM))
    assert (again.sequence, again.position, again.leaf) == (1, first.position, first.leaf)
    assert (again.committed, again.reason) == (False, "turn_already_committed_and_erased")
    assert (again.messages_before, again.messages_after) == (2, 2)


def test_what_came_of_a_failed_exchange_keeps_only_the_question(world: World) -> None:
    """TR-10."""
    world.commit(replace(plain_turn(1), delivery=Delivery.UPSTREAM_FAILED))
    (turn,) = world.replay().turns
    assert [message.role for message in turn.messages] == ["user"]
    assert turn.delivery == "upstream_failed"


@pytest.mark.parametrize("claimed_ms", [1, 4_100_000_000_000])
def test_a_claimed_time_is_shown_and_moves_no_other_time(world: World, claimed_ms: int) -> None:
    """TR-22: zero means now, which is the time of the commit; a claim of 1970 or 2100 is that of its message alone."""
    later = claimed_ms
    turn = Turn(
        turn=TurnId("t"),
        subject=SubjectId("ada"),
        conversation=TALK,
        messages=[asked("zephyr now"), Message(role=Role.USER, content="zephyr then", observed_ms=later)],
    )
    world.commit(turn)
    (shown,) = world.replay().turns
    with world.runtime._session.space.ledger.reader() as reader:
        row = reader.sealed(shown.position)
    now_ms = world.runtime._session.space.sources.clock.now_ms()
    assert row is not None
    assert shown.committed_ms == row.time != later
    assert row.time <= now_ms
    assert shown.messages[1].observed_ms == later
    assert shown.messages[0].observed_ms == shown.committed_ms
    listed = world.runtime.conversations.list_().conversations[0]
    assert (listed.first_observed_ms, listed.last_observed_ms) == (max(later, row.time), max(later, row.time))
    for place, at_ms in enumerate((row.time, later)):
        scope = SearchScope(from_ms=at_ms, until_ms=at_ms + 1)
        (hit,) = world.runtime.transcripts.search("zephyr", View.RAW_OWNER, scope).hits
        assert (hit.place.message, hit.place.observed_ms) == (shown.messages[place].id, at_ms)


# --- scope and aliases ------------------------------------------------------------------------------------------------


def test_names_with_separators_inside_never_meet(world: World) -> None:
    """SC-04."""
    for conversation, channel in [("b", "a__"), ("__b", "a"), ("a/b", "c"), ("b", "c/a"), ("100%", "x"), ("%", "x100")]:
        turn = replace(plain_turn(1), conversation=ConversationId(conversation), channel=Channel(channel))
        assert world.commit(turn).sequence == 1
    assert len(world.runtime.conversations.list_().conversations) == 6


def test_a_chat_id_alone_serves_as_conversation_id(world: World) -> None:
    """SC-05."""
    report = world.commit(replace(plain_turn(1), conversation=None, chat=ChatId("chat-7")))
    assert report.conversation.conversation == "chat-7"
    assert world.turns_of("chat-7") == 1


def test_a_chat_id_stands_for_one_conversation_of_a_subject(world: World) -> None:
    """SC-06, SC-07: another subject may map it elsewhere; a contradiction refuses the whole commit."""
    chat = ChatId("chat-7")
    world.commit(replace(plain_turn(1, "one"), chat=chat))
    world.commit(replace(plain_turn(2, "one"), chat=chat))
    world.commit(replace(plain_turn(1, "two"), chat=chat, subject=SubjectId("bob")))
    before = events_of(world)
    for conversation in ("two", "new"):
        with pytest.raises(AliasConflict):
            world.commit(replace(plain_turn(7, conversation), chat=chat))
    assert events_of(world) == before
    assert world.turns_of("new") == 0
    world.commit(replace(plain_turn(3, "two"), chat=chat, actor=Attribution(mounted_subject="bob")))
    world.commit(replace(plain_turn(3, "three"), chat=chat, channel=Channel("mail")))


def test_a_repeat_that_brings_a_new_chat_id_is_another_turn(world: World) -> None:
    """SC-08, TR-17."""
    world.commit(plain_turn(1))
    with pytest.raises(TurnConflict):
        world.commit(replace(plain_turn(1), chat=ChatId("chat-7")))


def test_another_space_is_refused_by_name_wherever_it_is_named(world: World) -> None:
    """SC-11, SC-12."""
    foreign = SpaceName("elsewhere")
    key = replace(key_of(), space=foreign)
    for attempt in (
        lambda: world.commit(replace(plain_turn(1), space=foreign)),
        lambda: world.runtime.transcripts.replay(key),
        lambda: world.runtime.lifecycle.request(key, Transition.MASK, "why", "who"),
        lambda: world.runtime.lifecycle.receipts(key),
        lambda: world.runtime.evidence.export(key),
        lambda: world.runtime.evidence.prove(key, TurnId("turn-1")),
    ):
        with pytest.raises(ForeignSpace) as refused:
            attempt()
        assert refused.value.at == "space"
        assert "elsewhere" not in str(refused.value)
    assert events_of(world) == 1
    assert world.commit(replace(plain_turn(1), space=SpaceName("default"))).committed


def test_nobody_speaks_for_another_subject_through_a_narrow_door(world: World) -> None:
    """AC-05, AC-06: nothing of it is written but that it was refused, once; a speaker's name is only a label."""
    narrow = world.runtime.restricted(Access(subject="ada"))
    for turn in [
        replace(plain_turn(1), subject=SubjectId("eve")),
        replace(plain_turn(1), actor=Attribution(acting_subject="eve")),
        replace(plain_turn(1), actor=Attribution(mounted_subject="eve")),
        replace(plain_turn(1), actor=Attribution(subject="eve")),
    ]:
        with pytest.raises(AccessDenied):
            narrow.transcripts.commit(turn)
    assert events_of(world) == 2
    (refused,) = world.runtime.evidence.disclosures().disclosures
    assert (refused.operation, refused.right, refused.subject) == ("transcripts.commit", "subject", "ada")
    spoken = [replace(asked("hello"), speaker_id="eve", speaker_kind="person")]
    assert narrow.transcripts.commit(replace(plain_turn(1), messages=spoken)).committed


# --- refusals ---------------------------------------------------------------------------------------------------------


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def call_with(arguments: Any) -> Turn:
    message = Message(role=Role.ASSISTANT, content=[ToolCallPart(name="look", arguments=arguments)])
    return replace(plain_turn(1), messages=[asked("a"), message])


BAD: dict[str, tuple[Turn, type[Exception]]] = {
    "not a number": (call_with(float("nan")), NotCanonical),
    "65 bits": (call_with(2**64), InvalidInput),
    "65 deep": (call_with(deep(65)), NotCanonical),
    "10,000 deep": (call_with(deep(10_000)), InvalidInput),
    "lone surrogate": (replace(plain_turn(1), messages=[asked("\ud800")]), InvalidInput),
    "surrogate key": (call_with({"\udfff": 1}), InvalidInput),
    "control character": (replace(plain_turn(1), conversation=ConversationId("a\x00")), InvalidInput),
    "a message too large": (replace(plain_turn(1), messages=[asked("x" * 2**20)]), LimitExceeded),
    "a turn too large": (replace(plain_turn(1), messages=[asked("x" * (2**20 - 100))] * 5), LimitExceeded),
    "17 MiB": (replace(plain_turn(1), messages=[asked("x" * (17 * 2**20))]), LimitExceeded),
    "100,000 parts": (
        replace(plain_turn(1), messages=[Message(role=Role.USER, content=[TextPart(content="a")] * 100_000)]),
        LimitExceeded,
    ),
    "65 references": (
        replace(plain_turn(1), host_refs=[HostReference(host="h", type="t", id="i")] * 65),
        LimitExceeded,
    ),
    "a name too large": (replace(plain_turn(1), candidates=["x" * 5 * 2**20]), LimitExceeded),
    "a summary too large": (
        replace(plain_turn(1), tools=[ToolObservation(id="o", tool="t", summary="x" * 5 * 2**20)]),
        LimitExceeded,
    ),
    "a speaker too large": (replace(plain_turn(1), actor=Attribution(agent_id="x" * 5 * 2**20)), LimitExceeded),
    "no conversation": (replace(plain_turn(1), conversation=None), InvalidInput),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_turn_is_refused_and_nothing_is_written(world: World, name: str) -> None:
    """Typed errors, bounded memory, nothing written, nothing lost."""
    turn, error = BAD[name]
    world.with_turns(1, "before")
    before = events_of(world)
    with pytest.raises(error):
        world.commit(turn)
    assert events_of(world) == before
    world.with_turns(1)


def test_words_of_any_script_and_control_characters_inside_come_back(world: World) -> None:
    """What a message holds is not ours to clean."""
    words = "\x00 zero, \u202e turned, 🙂, \U0010ffff, ä\u0308\r\n"
    world.commit(replace(plain_turn(1), messages=[asked(words)]))
    (turn,) = world.replay().turns
    assert turn.messages[0].parts == [TextPart(content=words)]


def test_limits_of_a_space_may_be_others(world: World) -> None:
    """DESIGN §6: configurable, refused rather than cut."""
    tight = memory_world(limits=Limits(turn_messages_max=1, page_turns_max=2))
    with pytest.raises(LimitExceeded) as refused:
        tight.commit(plain_turn(1))
    assert (refused.value.limit, refused.value.found) == (1, 2)
    with pytest.raises(LimitExceeded):
        tight.runtime.transcripts.replay(key_of(), limit=3)
    assert world.commit(plain_turn(1)).committed
    tight.close()
