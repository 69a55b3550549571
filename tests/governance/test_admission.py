"""What a commit keeps of a turn, what it skips, and what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import Channel, ChatId, ConversationId, SpaceName, SubjectId, TurnId
from muniment.events.message import (
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    is_blank,
)
from muniment.events.references import HostReference
from muniment.events.turn import Attribution, Delivery, ToolObservation, Turn
from muniment.governance.admission import KEPT, OBSERVED_MS_MAX, AdmittedTurn, SkipReason, admit, check_sizes
from muniment.governance.limits import Limits
from tests.turns import answered, asked, plain_turn, rich_turn, turns

NOW_MS = 1_700_000_000_000
LIMITS = Limits()

CALL = Message(role=Role.ASSISTANT, content=[ToolCallPart(name="look")])
RESULT = Message(role=Role.TOOL, content=[ToolCallResponsePart(response=None)])
THOUGHT = Message(role=Role.ASSISTANT, content=[ReasoningPart(content="hm")])
SYSTEM = Message(role=Role.SYSTEM, content="rules")
EVERYTHING = [SYSTEM, asked("a"), asked(" "), THOUGHT, CALL, RESULT, answered("\n"), answered("b")]


def turn_of(messages: list[Message], delivery: Delivery = Delivery.DELIVERED) -> Turn:
    return replace(plain_turn(1), messages=messages, delivery=delivery)


def kept_of(turn: Turn, limits: Limits = LIMITS) -> AdmittedTurn:
    kept = admit(turn, limits, NOW_MS)
    assert isinstance(kept, AdmittedTurn)
    return kept


@pytest.mark.parametrize(
    ("delivery", "roles"),
    [
        (Delivery.DELIVERED, "system user assistant assistant tool assistant"),
        (Delivery.USER_ONLY, "user"),
        (Delivery.UPSTREAM_FAILED, "user"),
        (Delivery.CANCELLED, "user"),
    ],
)
def test_the_delivery_status_decides_what_is_kept(delivery: Delivery, roles: str) -> None:
    """TR-09, TR-10, TR-12: steps of a delivered turn are evidence; of any other only the user's words are kept."""
    kept = kept_of(turn_of(EVERYTHING, delivery))
    assert [head.role for head in kept.meta.messages] == roles.split()
    assert len(kept.parts) == len(kept.meta.messages)


@pytest.mark.parametrize(
    ("delivery", "messages", "reason"),
    [
        (Delivery.DELIVERED, [], SkipReason.EMPTY_DELIVERED_TURN),
        (Delivery.DELIVERED, [asked(" "), answered("\n")], SkipReason.EMPTY_DELIVERED_TURN),
        (Delivery.USER_ONLY, [answered("b"), SYSTEM, RESULT], SkipReason.EMPTY_USER_TURN),
        (Delivery.UPSTREAM_FAILED, [asked("\t"), answered("b")], SkipReason.EMPTY_FAILED_TURN),
        (Delivery.CANCELLED, [answered("b")], SkipReason.EMPTY_CANCELLED_TURN),
        (Delivery.INCOMPLETE_STREAM, EVERYTHING, SkipReason.INCOMPLETE_STREAM),
        (Delivery.REJECTED_BY_POLICY, EVERYTHING, SkipReason.REJECTED_BY_POLICY),
    ],
)
def test_a_turn_with_nothing_left_is_skipped_with_one_reason(
    delivery: Delivery, messages: list[Message], reason: SkipReason
) -> None:
    """TR-10, TR-11, TR-13."""
    assert admit(turn_of(messages, delivery), LIMITS, NOW_MS) is reason


def test_the_reasons_for_skips_are_those_of_the_catalogue() -> None:
    assert set(KEPT) == set(Delivery)
    assert " ".join(SkipReason) == (
        "empty_delivered_turn empty_user_turn empty_failed_turn empty_cancelled_turn "
        "incomplete_stream rejected_by_policy"
    )


@given(turns)
def test_what_is_kept_is_not_blank_and_no_content_is_lost(turn: Turn) -> None:
    """TR-09 to TR-13 for any turn: the kept messages are those of the kept roles that are not blank, in order."""
    kept = admit(turn, LIMITS, NOW_MS)
    roles, skip = KEPT[turn.delivery]
    said = [
        message
        for message in turn.messages
        if message.role in roles and not all(is_blank(part) for part in message.parts())
    ]
    if not said:
        assert kept is skip
        return
    assert isinstance(kept, AdmittedTurn)
    assert kept.parts == [message.parts() for message in said]
    assert [(head.role, head.speaker_id, head.observed_ms) for head in kept.meta.messages] == [
        (message.role, message.speaker_id, message.observed_ms) for message in said
    ]
    assert kept.summaries == [tool.summary for tool in turn.tools]
    assert [label or None for label in kept.labels or [None] * len(turn.host_refs)] == [
        ref.label or None for ref in turn.host_refs
    ]


def test_a_blank_part_next_to_text_is_kept_unchanged() -> None:
    """Nothing inside a message is trimmed or dropped."""
    parts: list[Part] = [TextPart(content=" "), TextPart(content="a")]
    assert kept_of(turn_of([Message(role=Role.USER, content=parts)])).parts == [parts]


def test_a_turn_with_a_value_everywhere_is_kept_whole() -> None:
    """HR-07, AC-01: references in the order given, the seven identities, observations, candidates, source."""
    turn = rich_turn()
    kept = kept_of(turn)
    assert [(ref.id, ref.relation, ref.visibility) for ref in kept.meta.host_refs] == [
        (ref.id, ref.relation, ref.visibility) for ref in turn.host_refs
    ]
    assert turn.actor is not None
    assert asdict(kept.meta.actor) == asdict(turn.actor)
    assert kept.meta.source == turn.source
    assert (kept.meta.external, kept.meta.candidates) == (True, ["candidate-1"])
    assert [(tool.id, tool.tool, tool.external) for tool in kept.meta.tools] == [("obs-1", "look", True)]
    assert kept.labels == [ref.label for ref in turn.host_refs]
    assert (kept.meta.delivery.turn, kept.meta.delivery.status) == (turn.turn, turn.delivery)


# --- time -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, OBSERVED_MS_MAX), min_size=1, max_size=4))
def test_the_time_of_a_turn_is_that_of_its_commit_whatever_was_observed(observed: list[int]) -> None:
    """Decision 0132: retention and legal minima count from it, so no host may claim it."""
    messages = [Message(role=Role.USER, content="a", observed_ms=each) for each in observed]
    kept = kept_of(turn_of(messages))
    assert kept.time_ms == NOW_MS


@pytest.mark.parametrize("observed_ms", [-1, OBSERVED_MS_MAX + 1, 2**62])
def test_a_time_that_no_calendar_has_is_refused(observed_ms: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        admit(turn_of([Message(role=Role.USER, content="a", observed_ms=observed_ms)]), LIMITS, NOW_MS)
    assert (refused.value.at, refused.value.problem) == ("messages.observed_ms", "out_of_range")


# --- names and subjects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "at"),
    [
        (replace(plain_turn(1), turn=TurnId(" t")), "turn"),
        (replace(plain_turn(1), subject=SubjectId("")), "subject"),
        (replace(plain_turn(1), channel=Channel("a\n")), "channel"),
        (replace(plain_turn(1), conversation=ConversationId("c ")), "conversation"),
        (replace(plain_turn(1), chat=ChatId("\x00")), "chat"),
        (replace(plain_turn(1), space=SpaceName("x" * 513)), "space"),
        (replace(plain_turn(1), conversation=None), "conversation"),
        (replace(plain_turn(1), actor=Attribution(subject="eve")), "actor.subject"),
        (replace(plain_turn(1), actor=Attribution(subject="")), "actor.subject"),
    ],
    ids=lambda argument: argument if isinstance(argument, str) else "turn",
)
def test_a_turn_with_a_bad_name_is_refused_with_its_path(turn: Turn, at: str) -> None:
    """SC-03: refused whatever the delivery status, before anything is decided."""
    for delivery in (Delivery.DELIVERED, Delivery.INCOMPLETE_STREAM):
        if at.startswith("actor") and delivery is Delivery.INCOMPLETE_STREAM:
            continue  # nothing of it is kept, nobody is named
        with pytest.raises(InvalidInput) as refused:
            admit(replace(turn, delivery=delivery), LIMITS, NOW_MS)
        assert refused.value.at == at


def test_a_chat_can_replace_the_conversation() -> None:
    """SC-05."""
    assert kept_of(replace(plain_turn(1), conversation=None, chat=ChatId("7"))).meta.delivery.turn == "turn-1"


def test_the_subject_of_the_actor_defaults_to_that_of_the_turn() -> None:
    """AC-02: absent values stay absent at rest and are filled when read."""
    assert kept_of(plain_turn(1)).meta.actor == Attribution(subject="ada")
    given_actor = Attribution(agent_id="agent", subject="ada")
    assert kept_of(replace(plain_turn(1), actor=given_actor)).meta.actor == given_actor


# --- limits -----------------------------------------------------------------------------------------------------------

TIGHT = Limits(
    message_bytes_max=100, message_parts_max=2, turn_bytes_max=150, turn_messages_max=3, turn_host_refs_max=1,
    turn_tools_max=1, turn_candidates_max=1,
)  # fmt: skip
REFERENCE = HostReference(host="h", type="t", id="i")
OBSERVATION = ToolObservation(id="o", tool="t")
TOO_MANY = [
    ("messages", 3, 4, turn_of([asked("a")] * 4)),
    ("host_refs", 1, 2, replace(plain_turn(1), host_refs=[REFERENCE] * 2)),
    ("tools", 1, 3, replace(plain_turn(1), tools=[OBSERVATION] * 3)),
    ("candidates", 1, 2, replace(plain_turn(1), candidates=["c"] * 2)),
    (
        "messages[1].content",
        2,
        3,
        turn_of([asked("a"), Message(role=Role.USER, content=[TextPart(content="a")] * 3)]),
    ),
]


@pytest.mark.parametrize(("at", "limit", "found", "turn"), TOO_MANY, ids=[case[0] for case in TOO_MANY])
def test_too_many_of_anything_is_refused_and_reported(at: str, limit: int, found: int, turn: Turn) -> None:
    """DESIGN §6: refused rather than cut, and the report says which limit, where, and by how much."""
    with pytest.raises(LimitExceeded) as refused:
        admit(turn, TIGHT, NOW_MS)
    assert (refused.value.at, refused.value.problem) == (at, "too_many")
    assert (refused.value.limit, refused.value.found) == (limit, found)
    assert admit(turn, LIMITS, NOW_MS)


def test_as_many_as_the_limit_says_are_allowed() -> None:
    turn = replace(
        turn_of([Message(role=Role.USER, content=[TextPart(content="a")] * 2)] * 3),
        host_refs=[REFERENCE],
        tools=[OBSERVATION],
        candidates=["c"],
    )
    assert len(kept_of(turn, TIGHT).parts) == 3


def encoded(sizes: list[list[int]]) -> list[tuple[str, bytes]]:
    """Return fields of these sizes, and one of something else that is no part."""
    return [*(("part", bytes(size)) for message in sizes for size in message), ("label", bytes(1000))]


@pytest.mark.parametrize(
    ("sizes", "at", "limit", "found"),
    [
        ([[100], [101]], "messages[1]", 100, 101),
        ([[50, 51]], "messages[0]", 100, 101),
        ([[100], [51]], "messages", 150, 151),
    ],
)
def test_too_large_a_message_or_turn_is_refused_and_reported(
    sizes: list[list[int]], at: str, limit: int, found: int
) -> None:
    """TR-14, with limits that an evidence store can live with."""
    with pytest.raises(LimitExceeded) as refused:
        check_sizes(sizes, encoded(sizes), TIGHT)
    assert (refused.value.at, refused.value.problem) == (at, "too_large")
    assert (refused.value.limit, refused.value.found) == (limit, found)


def test_sizes_at_the_limit_are_allowed() -> None:
    check_sizes([[100], [25, 25]], encoded([[100], [25, 25]]), TIGHT)
    check_sizes([], [], TIGHT)


def test_the_limits_of_a_new_space_are_those_of_the_design() -> None:
    """DESIGN §6: message 1 MiB, turn 4 MiB, 256 messages, 64 host references, page 500 turns."""
    assert (LIMITS.message_bytes_max, LIMITS.turn_bytes_max) == (1_048_576, 4_194_304)
    assert (LIMITS.turn_messages_max, LIMITS.turn_host_refs_max, LIMITS.page_turns_max) == (256, 64, 500)
