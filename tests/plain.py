"""The transcripts of a space in plain Python: what listings, timelines and counts are checked against.

`Plain` does to a world what it is told and remembers it as lists of turns; what it answers is computed turn by turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.message import Message, Role
from muniment.governance.listing import LifecycleFilter
from muniment.governance.phases import Phase, after
from muniment.governance.views import View
from tests.turns import plain_turn
from tests.worlds import OPERATOR, World

KEYS = [
    ConversationKey(conversation=ConversationId(name), channel=Channel(channel))
    for name, channel in [("talk", "default"), ("other", "default"), ("talk", "mail")]
]
TIMES_MS = 12  # turns are observed in the first milliseconds of 1970, so that many are observed at once
LISTED = {
    LifecycleFilter.ACTIVE: {Phase.ACTIVE},
    LifecycleFilter.ACTIVE_AND_ARCHIVED: {Phase.ACTIVE, Phase.ARCHIVED},
}

Act = tuple[Transition | None, ConversationKey, int, int]  # None: commit; turn (0: all); observed time

acts = st.lists(
    st.tuples(
        st.none() | st.sampled_from(Transition) | st.none(),
        st.sampled_from(KEYS),
        st.integers(0, 6),
        st.integers(1, TIMES_MS),
    ),
    max_size=14,
)
lifecycles = st.sampled_from(LifecycleFilter)


@dataclass
class PlainTurn:
    """A turn as far as it is listed."""

    sequence: int
    observed_ms: int
    messages: int
    phase: Phase = Phase.ACTIVE


@dataclass
class Plain:
    """What was done to a world."""

    world: World
    turns: dict[tuple[str, str], list[PlainTurn]] = field(default_factory=dict)

    def act(self, act: Act) -> None:
        """Do it to the world, and remember it."""
        transition, key, number, observed_ms = act
        if transition is None:
            self.commit(key, observed_ms, messages=1 + number % 3)
        else:
            self.change(key, transition, number)

    def commit(self, key: ConversationKey, observed_ms: int, *, messages: int = 2) -> None:
        """Commit a turn of so many messages, the first of which was observed then and the others earlier."""
        turns = self.turns.setdefault(name_of(key), [])
        times = [observed_ms, *[max(1, observed_ms - 3)] * (messages - 1)]
        turn = replace(
            plain_turn(len(turns) + 1, key.conversation),
            channel=key.channel,
            messages=[Message(role=Role.USER, content=f"words at {time}", observed_ms=time) for time in times],
        )
        self.world.commit(turn)
        turns.append(PlainTurn(len(turns) + 1, observed_ms, messages))

    def change(self, key: ConversationKey, transition: Transition, number: int) -> None:
        """Ask for a transition of a turn, or (0) of all."""
        turn = TurnId(f"turn-{number}") if number else None
        self.world.runtime.lifecycle.request(key, transition, "asked for", OPERATOR, turn)
        for each in self.turns.get(name_of(key), []):
            if number in {0, each.sequence}:
                each.phase = after(each.phase, transition)

    def listed(self, key: ConversationKey, lifecycle: LifecycleFilter) -> list[PlainTurn]:
        """Return the turns of a conversation that a filter lists."""
        return [turn for turn in self.turns.get(name_of(key), []) if turn.phase in LISTED[lifecycle]]

    def conversations(self, lifecycle: LifecycleFilter, channel: str | None = None) -> list[tuple[object, ...]]:
        """Return the catalogue: channel, conversation, turns, messages, first, last, archived."""
        entries = []
        for key in KEYS:
            turns = self.listed(key, lifecycle)
            if turns and channel in {None, key.channel}:
                times = [turn.observed_ms for turn in turns]
                archived = all(turn.phase is Phase.ARCHIVED for turn in turns)
                counts = (len(turns), sum(turn.messages for turn in turns))
                entries.append((key.channel, key.conversation, *counts, min(times), max(times), archived))
        return sorted(entries, key=lambda entry: (entry[5], entry[1], entry[0]), reverse=True)

    def within(
        self, from_ms: int, until_ms: int, lifecycle: LifecycleFilter, keys: list[ConversationKey]
    ) -> list[tuple[int, int, int]]:
        """Return (time, order of the conversation's opening, sequence) of the listed turns in a range, sorted."""
        opened = list(self.turns)
        return sorted(
            (turn.observed_ms, opened.index(name_of(key)), turn.sequence)
            for key in keys
            for turn in self.listed(key, lifecycle)
            if from_ms <= turn.observed_ms < until_ms
        )


def name_of(key: ConversationKey) -> tuple[str, str]:
    """Return channel and conversation."""
    return key.channel, key.conversation


def all_conversations(
    world: World, lifecycle: LifecycleFilter, limit: int, channel: str | None = None
) -> list[tuple[object, ...]]:
    """Return the catalogue of a world, read page by page, as `Plain` tells it."""
    listing, cursor = world.runtime.conversations.list_, None
    found: list[tuple[object, ...]] = []
    for _ in islice(iter(int, 1), 100):
        page = listing(None if channel is None else Channel(channel), lifecycle, limit, cursor)
        assert page.has_more == (page.next_cursor is not None)
        assert len(page.conversations) == limit or not page.has_more
        found += [
            (
                one.channel, one.conversation, one.turns, one.messages, one.first_observed_ms, one.last_observed_ms,
                one.archived,
            )
            for one in page.conversations
        ]  # fmt: skip
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise AssertionError("the pages have no end")


def heads(world: World) -> dict[tuple[str, str], tuple[int, str]]:
    """Return revision and digest of every conversation with a turn, as the log has them."""
    space = world.runtime._session.space
    with space.ledger.reader() as reader:
        rows = space.transcript.conversations(reader)
        found = [(space.transcript.names(row), space.transcript.head(reader, row.stream)) for row in rows]
    return {(names.channel, names.conversation): (head.seq, head.leaf.hex()) for names, head in found}


def sequences(world: World, key: ConversationKey) -> list[int]:
    """Return the sequences of all turns of a conversation."""
    return [turn.sequence for turn in world.runtime.transcripts.replay(key, View.OPERATOR_AUDIT, 500).turns]
