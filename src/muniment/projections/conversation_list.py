"""What the catalogue knows: every conversation by its turns, times and phases, and the orders in which they are listed.

A fold over events, without a clock, a store or a key: `projections.conversation_catalogue` reads the log and hands over
what it reads. It holds names, times and numbers, never a word of a turn; of titles and tags it knows where they are.
Conversations are ordered by last observed time, conversation, and for equal names channel, all descending. A
conversation of which no turn is listed stands in no order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from muniment.events.attributes import DESCRIPTIVE, AttributeRecorded
from muniment.events.records import ConversationOpened, EventKind, MetaBody, TurnMeta
from muniment.governance.listing import LISTABLE, LISTED, LifecycleFilter, has_any, moves, observed_ms, only
from muniment.governance.phases import Phase, PhaseRun
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import sha256
from muniment.log.port import EventRow
from muniment.projections.people import PeopleOfTurns, PeopleState, people_of
from muniment.projections.timed import WIDE, Timed

REBUILD_SHARE = 8  # when more than one turn in so many changes sides, the sides are rebuilt
SHORT = "H"  # 16 bits

RANKED = frozenset({EventKind.TURN_COMMITTED.value, EventKind.TURN_LIFECYCLE.value})

Rank = tuple[int, str, str, int]  # last observed time, conversation, channel, stream
Order = tuple[LifecycleFilter, str | None]  # one order for each filter, over one channel or (None) all


class ListEntry(NamedTuple):
    """A conversation as it is listed under a filter."""

    stream: int
    channel: str
    conversation: str
    turns: int
    messages: int
    first_ms: int
    last_ms: int
    archived: bool
    revision: int
    leaf: bytes


class Generation(NamedTuple):
    """The newest event that could change an order: its position, and its leaf."""

    position: int
    leaf: bytes


class ActivityCount(NamedTuple):
    """What was observed in a range: how many turns, and (time, stream, sequence) of the first and the last of them."""

    turns: int
    first: tuple[int, int, int]
    last: tuple[int, int, int]


class DescribedAt(NamedTuple):
    """Where a title or the tags of a conversation are: the position of the attribute, and its turn."""

    position: int
    turn: int


class ConversationState(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All that is known of a conversation, as it is kept at rest. Whatever it learns to know is a further field here.

    Columns are bytes of their arrays; `sides` are times, sequences and messages of each phase in `LISTABLE`.
    """

    stream: int
    names: ConversationOpened
    revision: int
    leaf: bytes
    observed: bytes
    messages: bytes
    phases: list[PhaseRun]
    sides: list[tuple[bytes, bytes, int]]
    people: PeopleState
    described: list[tuple[str, list[tuple[str, int, int]]]]


class ListState(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All that a list knows, as it is kept at rest."""

    size: int
    conversations: list[ConversationState]
    orders: list[tuple[LifecycleFilter, str | None, list[Rank]]]
    generations: list[tuple[str | None, int, bytes]]
    people: list[str]


class ListedConversation:
    """A conversation so far: its turns by sequence, and the listable ones by phase and time.

    `described` has, by key, the newest attribute of each id that describes the conversation, by that id.
    """

    __slots__ = (
        "described", "is_part", "leaf", "messages", "names", "observed", "people", "phases", "ranked", "revision",
        "sides", "stream",
    )  # fmt: skip

    def __init__(self, stream: int, names: ConversationOpened) -> None:
        self.stream = stream
        self.names = names
        self.is_part = False  # whose phases are those of some of the turns
        self.revision = 0
        self.leaf = b""
        self.observed = array(WIDE)
        self.messages = array(SHORT)
        self.phases: list[PhaseRun] = []
        self.sides: dict[Phase, Timed] = {phase: Timed() for phase in LISTABLE}
        self.ranked: dict[Order, Rank] = {}
        self.people = PeopleOfTurns()
        self.described: dict[str, dict[str, DescribedAt]] = {}

    def describe(self, row: EventRow, meta: AttributeRecorded) -> None:
        """Take an attribute, which describes the conversation when its key says so."""
        head = meta.attribute
        if head.key in DESCRIPTIVE and head.message is None and row.target_seq is not None:
            self.described.setdefault(head.key, {})[head.id] = DescribedAt(row.position, row.target_seq)

    def descriptions(self, key: str) -> list[DescribedAt]:
        """Return where the attributes of a key are, the newest first."""
        return sorted(self.described.get(key, {}).values(), reverse=True)

    def has_listed(self, lifecycle: LifecycleFilter, person: int) -> bool:
        """Return whether a person, by number, is named in a turn that a filter lists."""
        if not self.people.has(person):
            return False
        listed = self.shown(lifecycle)
        if self.people.only(person):
            return bool(listed)
        sequences = set(self.people.turns_of(person))
        return any(sequence in sequences for side in listed for sequence in side.sequences)

    def has_between(self, lifecycle: LifecycleFilter, from_ms: int, until_ms: int) -> bool:
        """Return whether a turn that a filter lists was observed in a half-open range."""
        return any(side.between(from_ms, until_ms).turns for side in self.shown(lifecycle))

    def add(self, meta: TurnMeta, committed_ms: int) -> None:
        """Take the next turn, which is active until something else is said of it."""
        observed, messages = observed_ms(meta, committed_ms), len(meta.messages)
        self.observed.append(observed)
        self.messages.append(messages)
        self.sides[Phase.ACTIVE].add(len(self.observed), observed, messages)

    def runs(self) -> list[PhaseRun]:
        """Return the phases of all turns; those that nothing was said of are active."""
        if self.is_part:
            return self.phases
        turns, known = len(self.observed), self.phases[-1].last if self.phases else 0
        return (
            [*self.phases, PhaseRun(first=known + 1, last=turns, phase=Phase.ACTIVE)] if known < turns else self.phases
        )

    def refold(self, phases: list[PhaseRun]) -> None:
        """Take the phases of all turns, and let those that changed them change sides."""
        turns, was = len(self.observed), self.runs()
        moved = [move for move in moves(was, phases) if move.was in LISTABLE or move.now in LISTABLE]
        self.phases = phases
        if sum(move.last - move.first + 1 for move in moved) * REBUILD_SHARE > turns:
            self.sides = {phase: Timed() for phase in LISTABLE}
            for run in phases:
                self._each(self.sides.get(run.phase), Timed.add, range(run.first, run.last + 1))
            return
        for move in moved:
            span = range(move.first, move.last + 1)
            self._each(self.sides.get(move.was), Timed.discard, span)
            self._each(self.sides.get(move.now), Timed.add, span)

    def _each(self, side: Timed | None, change: Callable[[Timed, int, int, int], None], sequences: range) -> None:
        if side is not None:
            for sequence in sequences:
                change(side, sequence, self.observed[sequence - 1], self.messages[sequence - 1])

    def shown(self, lifecycle: LifecycleFilter) -> list[Timed]:
        """Return the sides that a filter lists, without empty ones."""
        return [self.sides[phase] for phase in LISTED[lifecycle] if self.sides[phase]]

    def entry(self, lifecycle: LifecycleFilter) -> ListEntry | None:
        """Return the conversation as it is listed, or None when no turn of it is."""
        shown = self.shown(lifecycle)
        if not shown:
            return None
        return ListEntry(
            stream=self.stream,
            channel=self.names.channel,
            conversation=self.names.conversation,
            turns=sum(map(len, shown)),
            messages=sum(side.messages for side in shown),
            first_ms=min(side.times[0] for side in shown),
            last_ms=max(side.times[-1] for side in shown),
            archived=not self.sides[Phase.ACTIVE],
            revision=self.revision,
            leaf=self.leaf,
        )

    def first_between(self, lifecycle: LifecycleFilter, from_ms: int, until_ms: int) -> int | None:
        """Return the sequence of the first listed turn that was observed in a half-open range."""
        found = [side.between(from_ms, until_ms) for side in self.shown(lifecycle)]
        return min((within.first for within in found if within.turns), default=(0, None))[1]

    def part(self, person: int | None) -> ListedConversation:
        """Return the conversation, in no order yet; of a person, as if there were no turns of others."""
        made = ListedConversation(self.stream, self.names)
        made.revision, made.leaf, made.phases = self.revision, self.leaf, self.phases
        made.observed, made.messages = self.observed, self.messages
        made.people, made.sides, made.described = self.people, self.sides, self.described
        if person is None or self.people.only(person):
            return made
        made.is_part, made.people = True, self.people.part(person)
        own = self.people.own_turns(person)
        made.phases = list(only(self.runs(), own))
        made.sides = {phase: Timed() for phase in LISTABLE}
        for run in made.phases:
            made._each(made.sides.get(run.phase), Timed.add, range(run.first, run.last + 1))
        described = {
            key: {name: at for name, at in ids.items() if has_any(own, at.turn, at.turn)}
            for key, ids in self.described.items()
        }
        made.described = described
        return made

    def state(self) -> ConversationState:
        """Return all that is known, to be kept."""
        return ConversationState(
            stream=self.stream,
            names=self.names,
            revision=self.revision,
            leaf=self.leaf,
            observed=self.observed.tobytes(),
            messages=self.messages.tobytes(),
            phases=self.phases,
            sides=[(*side.columns(), side.messages) for side in self.sides.values()],
            people=self.people.state(),
            described=[(key, [(name, *at) for name, at in ids.items()]) for key, ids in self.described.items()],
        )

    @classmethod
    def of_state(cls, state: ConversationState) -> ListedConversation:
        """Return the conversation that was kept."""
        made = cls(state.stream, state.names)
        made.revision, made.leaf, made.phases = state.revision, state.leaf, state.phases
        made.observed.frombytes(state.observed)
        made.messages.frombytes(state.messages)
        for side, kept in zip(made.sides.values(), state.sides, strict=True):
            side.restore(*kept)
        made.people = PeopleOfTurns.of_state(state.people)
        made.described = {
            key: {name: DescribedAt(position, turn) for name, position, turn in ids} for key, ids in state.described
        }
        return made

    def row(self) -> list[object]:
        """Return all that is known as plain data."""
        sides = [[side.times.tolist(), side.sequences.tolist(), side.messages] for side in self.sides.values()]
        described = [
            [key, sorted([name, *at] for name, at in ids.items())] for key, ids in sorted(self.described.items())
        ]
        names = [self.stream, self.names.channel, self.names.conversation]
        return [*names, self.revision, self.leaf.hex(), sides, self.people.rows(), described]


class ConversationList:
    """All conversations of a space, as of the first `size` events of its log."""

    def __init__(self) -> None:
        self.size = 0
        self.touched: set[int] = set()
        self.stepped: set[int] = set()
        self.people: list[str] = []  # everybody who is named in a turn, by number
        self._numbers: dict[str, int] = {}
        self._conversations: dict[int, ListedConversation] = {}
        self._orders: dict[Order, list[Rank]] = {}
        self._generations: dict[str | None, Generation] = {}

    # --- growing ------------------------------------------------------------------------------------------------------

    def take(self, row: EventRow, meta: MetaBody, *, ranks: bool = True) -> None:
        """Take the next event. `touched` and `stepped` then say which conversations are to be settled.

        `ranks` is False for an event of a kind in `RANKED` that changes no phase: a hold, or its release.
        """
        self.size += 1
        if isinstance(meta, ConversationOpened):
            self._conversations[row.stream] = ListedConversation(row.stream, meta)
        conversation = self._conversations.get(row.stream)
        if conversation is None:
            return  # of the space itself
        if isinstance(meta, TurnMeta):
            conversation.add(meta, row.time)
            owner, others = people_of(meta)
            conversation.people.add(self._number(owner), [self._number(name) for name in others])
        elif isinstance(meta, AttributeRecorded):
            conversation.describe(row, meta)
        conversation.revision, conversation.leaf = row.seq, row.leaf
        self.touched.add(row.stream)
        if row.target_seq is not None:
            self.stepped.add(row.stream)
        if ranks and row.kind in RANKED:
            self._generations[None] = self._generations[conversation.names.channel] = Generation(row.position, row.leaf)

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.people)
            self.people.append(name)
        return number

    def settle(self, stream: int, phases: list[PhaseRun] | None) -> None:
        """Bring a conversation into its places; with phases when steps were taken on it."""
        conversation = self._conversations[stream]
        if phases is not None:
            conversation.refold(phases)
        self._rank(conversation)
        self.stepped.discard(stream)
        self.touched.discard(stream)

    def _rank(self, conversation: ListedConversation) -> None:
        names = conversation.names
        for lifecycle in LifecycleFilter:
            entry = conversation.entry(lifecycle)
            for channel in (None, names.channel):
                order = self._orders.setdefault((lifecycle, channel), [])
                was = conversation.ranked.pop((lifecycle, channel), None)
                if was is not None:
                    del order[bisect_left(order, was)]
                if entry is not None:
                    rank = (entry.last_ms, names.conversation, names.channel, conversation.stream)
                    insort(order, rank)
                    conversation.ranked[lifecycle, channel] = rank

    # --- at rest ------------------------------------------------------------------------------------------------------

    def state(self) -> ListState:
        """Return all that is known, to be kept; every conversation is in its place."""
        assert not self.touched, "it is settled first"
        return ListState(
            size=self.size,
            conversations=[self._conversations[stream].state() for stream in self.streams()],
            orders=[(lifecycle, channel, ranks) for (lifecycle, channel), ranks in self._orders.items()],
            generations=[(channel, *newest) for channel, newest in self._generations.items()],
            people=self.people,
        )

    @classmethod
    def of_state(cls, state: ListState) -> ConversationList:
        """Return the list that was kept."""
        made = cls()
        made.size = state.size
        made.people = state.people
        made._numbers = {name: number for number, name in enumerate(state.people)}
        made._conversations = {each.stream: ListedConversation.of_state(each) for each in state.conversations}
        for lifecycle, channel, ranks in state.orders:
            made._orders[lifecycle, channel] = ranks
            for rank in ranks:
                made._conversations[rank[-1]].ranked[lifecycle, channel] = rank
        made._generations = {channel: Generation(position, leaf) for channel, position, leaf in state.generations}
        return made

    # --- answering ----------------------------------------------------------------------------------------------------

    def person(self, name: str) -> int | None:
        """Return the number of somebody who is named in a turn, or None."""
        return self._numbers.get(name)

    def conversations(self) -> list[ListedConversation]:
        """Return all conversations, in log order."""
        return [one for _, one in sorted(self._conversations.items())]

    def conversation(self, stream: int) -> ListedConversation:
        """Return a conversation by its stream."""
        return self._conversations[stream]

    def has(self, stream: int) -> bool:
        """Return whether a stream is that of a conversation."""
        return stream in self._conversations

    def streams(self) -> list[int]:
        """Return the streams of all conversations, in log order."""
        return sorted(self._conversations)

    def streams_of(self, channel: str) -> list[int]:
        """Return the streams of the conversations of a channel, in log order."""
        return sorted(stream for stream, one in self._conversations.items() if one.names.channel == channel)

    def generation(self, channel: str | None) -> Generation:
        """Return the newest event that could change the order of a channel, or (None) of all of them."""
        return self._generations.get(channel, Generation(-1, b""))

    def entries(
        self,
        lifecycle: LifecycleFilter,
        channel: str | None,
        after: int | None,
        count: int,
        wanted: Callable[[ListedConversation], bool] | None = None,
    ) -> list[ListEntry]:
        """Return conversations in their order, from the first or from behind a stream that is listed."""
        order = (lifecycle, channel)
        ranks = self._orders.get(order, [])
        end = len(ranks) if after is None else bisect_left(ranks, self._conversations[after].ranked[order])
        ordered = (self._conversations[ranks[place][-1]] for place in range(end - 1, -1, -1))
        chosen = ordered if wanted is None else filter(wanted, ordered)
        entries = (one.entry(lifecycle) for one in islice(chosen, count))
        return [entry for entry in entries if entry is not None]

    def busy(
        self,
        ranges: Sequence[tuple[int, int]],
        lifecycle: LifecycleFilter,
        wanted: Callable[[ListedConversation], bool],
    ) -> list[ActivityCount | None]:
        """Return, for each of ascending half-open ranges, what was observed in it; None where nothing was."""
        found: list[ActivityCount | None] = [None] * len(ranges)
        ends = [until for _, until in ranges]
        for conversation in filter(wanted, self._conversations.values()):
            stream = conversation.stream
            for side in conversation.shown(lifecycle):
                at = bisect_right(ends, side.times[0])
                while at < len(ranges) and ranges[at][0] <= side.times[-1]:
                    turns, (first_ms, first), (last_ms, last) = side.between(*ranges[at])
                    if turns:
                        found[at] = _merged(
                            found[at], ActivityCount(turns, (first_ms, stream, first), (last_ms, stream, last))
                        )
                    at += 1
        return found

    def part(self, subject: str | None, channels: Collection[str] | None) -> ConversationList:
        """Return the list as if there were no turns of another subject, and no conversations in other channels.

        Where nothing of a conversation is left, it is not there. Numbers of people stay. The generation of an order is
        a digest of what is in it, so that what is not there changes none.
        """
        made, person = ConversationList(), None if subject is None else self.person(subject)
        made.size, made.people, made._numbers = self.size, self.people, self._numbers
        for one in self._conversations.values():
            is_of = subject is None or (person is not None and person in one.people.owned)
            if is_of and (channels is None or one.names.channel in channels):
                made._conversations[one.stream] = one.part(person)
                made._rank(made._conversations[one.stream])
        for channel in {channel for _, channel in made._orders}:
            made._generations[channel] = Generation(-1, made._digest(channel))
        return made

    def _digest(self, channel: str | None) -> bytes:
        """Return a digest of what is listed of a channel, or (None) of all of them."""
        listed = [one for one in self.conversations() if channel in {None, one.names.channel}]
        sides = [[one.stream, [[*side.times], [*side.sequences]]] for one in listed for side in one.sides.values()]
        return sha256(encode_plain(sides))

    def rows(self) -> list[object]:
        """Return all that is known as plain data, in the order of its keys."""
        conversations = [one.row() for _, one in sorted(self._conversations.items())]
        orders = sorted([lifecycle, channel or "", order] for (lifecycle, channel), order in self._orders.items())
        generations = sorted([channel or "", position] for channel, (position, _) in self._generations.items())
        return [self.size, conversations, orders, generations]


def _merged(one: ActivityCount | None, other: ActivityCount) -> ActivityCount:
    if one is None:
        return other
    return ActivityCount(one.turns + other.turns, min(one.first, other.first), max(one.last, other.last))
