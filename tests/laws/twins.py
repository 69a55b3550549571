"""Two stores: one with turns of two subjects in several channels, and its twin with what a caller may see of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

import muniment
from muniment.events.attributes import Attribute, AttributeTarget
from muniment.events.changes import Transition
from muniment.events.identity import Channel, ChatId, ConversationId, ConversationKey, SubjectId, TurnId
from muniment.events.memory_items import MemoryPlane
from muniment.events.message import Message, Role
from muniment.events.references import Visibility
from muniment.events.turn import Turn
from muniment.governance.access import Access
from muniment.kernel.cursor import PREFIX
from muniment.kernel.sources import seeded_sources
from muniment.memory.candidate import ItemAudience, ItemSource
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.attributes import attribute
from tests.memory.items import candidate
from tests.worlds import OPERATOR, World, root_key

START_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
PLAIN_WORDS = ("tea", "harbour", "lamp", "garden")
OF_BOB, OF_DESK = "canaryofbob", "canaryofdesk"  # words of what some are not shown

# What the log numbers, dates or proves, and what is drawn by chance: it differs between two stores of the same turns.
NUMBERED = frozenset({
    "position", "positions", "sequence", "revision", "digest", "leaf", "events", "recorded", "first_sequence",
    "last_sequence", "receipt",
    "included",  # in a checkpoint, which events of others sign as well
})  # fmt: skip
CURSORS = frozenset({"cursor", "state", "next_cursor", "older_cursor", "newer_cursor", "next_after"})


class SpokenTurn(NamedTuple):
    """A turn: whose it is, where it was said, with which words and when, and what became of it."""

    subject: str
    conversation: str
    channel: str
    words: tuple[str, ...]
    hours: int
    became: Transition | None
    is_noted: bool
    is_learned: bool


said = st.builds(
    SpokenTurn,
    subject=st.sampled_from(["ada", "bob"]),
    conversation=st.sampled_from(["talk", "hall"]),
    channel=st.sampled_from(["default", "desk"]),
    words=st.lists(st.sampled_from(PLAIN_WORDS), min_size=1, max_size=4).map(tuple),
    hours=st.sampled_from([0, 1, 5, 7]),
    became=st.sampled_from([None, None, Transition.ARCHIVE, Transition.MASK, Transition.ERASE]),
    is_noted=st.booleans(),
    is_learned=st.booleans(),
)


def is_shown(access: Access, one: SpokenTurn) -> bool:
    """Tell by hand whether an access shows a turn."""
    return access.subject in {None, one.subject} and (access.channels is None or one.channel in access.channels)


def store_of(turns: list[tuple[int, SpokenTurn]]) -> World:
    """Return a store in which these turns were said, each under its number."""

    def opened(_times: int) -> Runtime:
        sources = seeded_sources("twins", start_ms=START_MS + 1000 * HOUR_MS, step_ms=0)
        return muniment.open("memory:", keys=root_key(), options=Options(sources=sources))

    world = World(opened)
    for number, one in turns:
        key = ConversationKey(conversation=ConversationId(one.conversation), channel=Channel(one.channel))
        turn, subject = TurnId(f"t-{number}"), SubjectId(one.subject)
        world.commit(_turn(number, one, key))
        runtime = world.runtime
        if one.is_noted:
            runtime.transcripts.annotate(key, [_note(number, one)])
        if one.is_learned:
            text = f"{' '.join(one.words)} {_secret(one)}{number}"
            fields: dict[str, Any] = {"topic": f"topic {number}", "id": f"i-{number}", "subject": subject}
            fields["evidence"] = [ItemSource(conversation=key, turn=turn)]
            own: dict[str, Any] = {"topic": f"fact {number}", "id": f"f-{number}", "plane": MemoryPlane.SHARED_FACT}
            own |= {"audience": ItemAudience(only=[subject])}
            runtime.memory.remember([candidate(text, **fields), candidate(text, **fields | own)], "host")
        if one.became is not None:
            runtime.lifecycle.request(key, one.became, "asked for", OPERATOR, turn)
    return world


def _turn(number: int, one: SpokenTurn, key: ConversationKey) -> Turn:
    at_ms = START_MS + HOUR_MS * one.hours * (number + 1) + number  # of equal times the log decides
    texts = [(Role.USER, f"{' '.join(one.words)} {_secret(one)}"), (Role.ASSISTANT, f"noted {one.words[0]}")]
    return Turn(
        turn=TurnId(f"t-{number}"),
        subject=SubjectId(one.subject),
        conversation=key.conversation,
        channel=key.channel,
        chat=ChatId(f"chat-{one.conversation}"),
        messages=[
            Message(role=role, content=text, observed_ms=at_ms, speaker_id=one.subject if role is Role.USER else None)
            for role, text in texts
        ],
    )


def _secret(one: SpokenTurn) -> str:
    return " ".join(["plainly", *[OF_BOB] * (one.subject == "bob"), *[OF_DESK] * (one.channel == "desk")])


def hidden_words(access: Access) -> list[str]:
    """Return the words that only turns have which an access does not show."""
    return [OF_BOB] * (access.subject is not None) + [OF_DESK] * (access.channels is not None)


def _note(number: int, one: SpokenTurn) -> Attribute:
    target = AttributeTarget(turn=TurnId(f"t-{number}"))
    return attribute(f"a-{number}", f"{_secret(one)} {number}", target, visibility=Visibility.HOST_UI)


def alike(told: Any) -> Any:
    """Return a report without what differs between two stores of the same turns."""
    if isinstance(told, dict):
        kept = {name: value for name, value in told.items() if name not in NUMBERED}
        return {name: value is not None if name in CURSORS else alike(value) for name, value in kept.items()}
    if isinstance(told, list):
        return [alike(each) for each in told]
    return "a cursor" if isinstance(told, str) and told.startswith(PREFIX) else told


def plain(report: object) -> Any:
    """Return a report as plain data."""
    return msgspec.json.decode(msgspec.json.encode(report))
