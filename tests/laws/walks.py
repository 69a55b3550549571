"""Walks: any sequence of commands done to a store, and a plain model of what every view may show afterwards.

A walk is drawn as numbers; each step names a command of `COMMANDS` and gives it two numbers to choose with. The model
is lists and sets: it knows the table of the life of a turn by hand and nothing of events, cells or folds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import TurnConflict
from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.references import Plane
from muniment.governance.views import View
from muniment.runtime.operation import Upload
from muniment.runtime.provenance import Derivation
from tests.laws.marked import PLACES, SPEAKERS, Mark, Marked, seen
from tests.turns import asked
from tests.worlds import OPERATOR, World

KEYS = [
    ConversationKey(conversation=ConversationId(name), channel=Channel(channel))
    for name, channel in (("talk", "default"), ("other", "mail"))
]

MOVES: dict[Transition, dict[str, str]] = {
    Transition.ARCHIVE: {"active": "archived", "masked": "masked archived"},
    Transition.RESTORE: {"archived": "active"},
    Transition.MASK: {"active": "masked", "archived": "masked archived"},
    Transition.UNMASK: {"masked": "active", "masked archived": "archived"},
    Transition.DELETE_RAW: dict.fromkeys(("active", "archived", "masked", "masked archived"), "erased"),
}

steps = st.tuples(st.integers(0, 999), st.integers(0, 999), st.integers(0, 999))


@dataclass
class Kept:
    """A turn as the model has it."""

    marked: Marked
    state: str = "active"

    def shown(self, view: View) -> set[Mark]:
        """Return the marks that a view shows of it."""
        if self.state not in {"active", "archived"}:
            return set()
        return {Mark(self.marked.number, place) for place, (_, views) in PLACES.items() if view in views}


@dataclass
class Walk:
    """A world, what was done to it, and what it must show."""

    world: World
    turns: list[Kept] = field(default_factory=list)
    said: int = 0

    def of(self, key: ConversationKey) -> list[Kept]:
        """Return the turns of a conversation in order."""
        return [turn for turn in self.turns if turn.marked.key == key]

    def shown(self, key: ConversationKey, view: View) -> set[Mark]:
        """Return the marks that a view must show of a conversation."""
        return set[Mark]().union(*(turn.shown(view) for turn in self.of(key)))

    def step(self, choice: int, one: int, other: int) -> ConversationKey:
        """Do a step; return the conversation that it was about."""
        return list(COMMANDS.values())[choice % len(COMMANDS)](self, one, other)

    def check(self, key: ConversationKey, limit: int) -> None:
        """Hold what every view shows of a conversation to the model."""
        for view in View:
            assert seen(self.world.runtime, key, view, limit) == self.shown(key, view), view


Command = Callable[[Walk, int, int], ConversationKey]


def commit(walk: Walk, one: int, other: int) -> ConversationKey:
    """Commit a turn."""
    walk.said += 1
    marked = Marked(walk.said, KEYS[one % len(KEYS)], TurnId(f"turn {walk.said}"), SPEAKERS[other % len(SPEAKERS)])
    assert walk.world.commit(marked.handed_over()).committed
    walk.turns.append(Kept(marked))
    return marked.key


def repeat(walk: Walk, one: int, other: int) -> ConversationKey:
    """Commit a turn again: nothing happens."""
    if not walk.turns:
        return commit(walk, one, other)
    kept = walk.turns[one % len(walk.turns)]
    again = walk.world.commit(kept.marked.handed_over())
    assert not again.committed
    assert again.sequence == walk.of(kept.marked.key).index(kept) + 1
    return kept.marked.key


def contradict(walk: Walk, one: int, other: int) -> ConversationKey:
    """Commit another turn under the id of one that is there: a conflict, or of an erased one nothing."""
    if not walk.turns:
        return commit(walk, one, other)
    kept = walk.turns[one % len(walk.turns)]
    turn = kept.marked.handed_over()
    another = replace(turn, messages=[asked("something else"), *turn.messages[1:]])
    if kept.state == "erased":
        assert not walk.world.commit(another).committed
    else:
        with pytest.raises(TurnConflict):
            walk.world.commit(another)
    return kept.marked.key


def request(walk: Walk, one: int, other: int) -> ConversationKey:
    """Ask for a transition of a turn, or now and then of a conversation; a repeat changes nothing."""
    transition = list(Transition)[other % len(Transition)]
    if not walk.turns:
        return commit(walk, one, other)
    chosen = walk.turns[one % len(walk.turns)]
    key = chosen.marked.key
    kept = walk.of(key) if other % 7 == 0 else [chosen]
    turn = None if other % 7 == 0 else chosen.marked.turn
    changes = [each for each in kept if each.state in MOVES[transition]]
    for expected in (len(changes), 0):
        report = walk.world.runtime.lifecycle.request(key, transition, "asked for", OPERATOR, turn)
        assert (report.changed, report.affected_turns) == (expected > 0, expected)
        for each in changes:
            each.state = MOVES[transition].get(each.state, each.state)
        changes = []
    return key


def export(walk: Walk, one: int, other: int) -> ConversationKey:
    """Export a conversation and verify the export."""
    if not walk.turns:
        return commit(walk, one, other)
    key = walk.turns[one % len(walk.turns)].marked.key
    runtime, view = walk.world.runtime, list(View)[other % len(View)]
    bundle = runtime.evidence.export(key, view)
    assert runtime.evidence.verify(Upload(bundle.text), str(bundle.summary["vkey"])).complete
    return key


def derive(walk: Walk, one: int, other: int) -> ConversationKey:
    """Record what was derived from a turn, or from all up to it: once, whatever became of their words."""
    if not walk.turns:
        return commit(walk, one, other)
    kept = walk.turns[one % len(walk.turns)]
    key, turn = kept.marked.key, kept.marked.handed_over()
    first = walk.of(key)[0].marked.turn if other % 3 == 0 else kept.marked.turn
    derivation = Derivation(
        plane=list(Plane)[other % len(Plane)], key=f"item {other % 5}", subject=turn.subject, conversation=key,
        turn=first, through=kept.marked.turn,
    )  # fmt: skip
    told = [walk.world.runtime.provenance.record([derivation]).references[0] for _ in range(2)]
    assert told[0].position == told[1].position
    assert not told[1].changed
    return key


def rotate(walk: Walk, one: int, other: int) -> ConversationKey:
    """Replace the key of the space."""
    walk.world.runtime.spaces.rotate()
    return KEYS[(one + other) % len(KEYS)]


# name -> command; what is to come more often stands here more than once
COMMANDS: dict[str, Command] = {
    "commit": commit,
    "commit another": commit,
    "request": request,
    "request another": request,
    "repeat": repeat,
    "contradict": contradict,
    "export": export,
    "rotate": rotate,
    "derive": derive,
}
