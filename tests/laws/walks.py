"""Walks: any sequence of commands done to a store, and a plain model of what every view may show afterwards.

A walk is drawn as numbers; each step names a command of `COMMANDS` and gives it two numbers to choose with. The model
is lists and sets: it knows the table of the life of a turn by hand and nothing of events, cells or folds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec
import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.errors import TurnConflict, WordsErased
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.events.attributes import AttributePolicy, AttributeScope, AttributeTarget
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey, SubjectId, TurnId
from muniment.events.references import Plane
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.provenance.derivations import Derivation
from muniment.operations.transcripts.hits import SearchScope
from muniment.operations.transcripts.redact import Passage
from tests.attributes import RULED, SEES, ruled
from tests.laws.marked import PLACES, SPEAKERS, Mark, Marked, marks_in, seen
from tests.turns import asked
from tests.worlds import OPERATOR, World, root_key

KEYS = [
    ConversationKey(conversation=ConversationId(name), channel=Channel(channel))
    for name, channel in (("talk", "default"), ("other", "mail"))
]

MOVES: dict[Transition, dict[str, str]] = {
    Transition.ARCHIVE: {"active": "archived", "masked": "masked archived"},
    Transition.RESTORE: {"archived": "active"},
    Transition.MASK: {"active": "masked", "archived": "masked archived"},
    Transition.UNMASK: {"masked": "active", "masked archived": "archived"},
    Transition.ERASE: dict.fromkeys(("active", "archived", "masked", "masked archived"), "erased"),
}

SEARCHED = {"user", "reasoning", "argument", "answer", "more"}  # what users and assistants said, and called
NOTED = "noted"  # the place of a mark that stands in an attribute

steps = st.tuples(st.integers(0, 999), st.integers(0, 999), st.integers(0, 999))


@dataclass
class Kept:
    """A turn as the model has it."""

    marked: Marked
    state: str = "active"
    gone: set[int] = field(default_factory=set)  # messages that were erased alone
    noted: dict[str, tuple[Mark, set[View], bool, int | None]] = field(default_factory=dict)
    redacted: set[tuple[str, View]] = field(default_factory=set)  # places that a view does not show any more

    def shown(self, view: View) -> set[Mark]:
        """Return the marks that a view shows of it."""
        noted = {
            mark
            for mark, views, survives, of in self.noted.values()
            if view in views and self.keeps(survives, of) and (NOTED, view) not in self.redacted
        }
        if self.state not in {"active", "archived"}:
            return noted
        return noted | {
            Mark(self.marked.number, place)
            for place, (message, views) in PLACES.items()
            if view in views and message not in self.gone and (place, view) not in self.redacted
        }

    def keeps(self, survives: bool, message: int | None) -> bool:
        """Tell whether the value of an attribute is still shown, by whether its policy lets it survive a mask."""
        if message in self.gone:
            return False
        return self.state in {"active", "archived"} or (survives and self.state != "erased")


@dataclass
class Walk:
    """A world, what was done to it, and what it must show."""

    world: World
    turns: list[Kept] = field(default_factory=list)
    said: int = 0
    holds: dict[int, Callable[[Kept], bool]] = field(default_factory=dict)

    def held(self, kept: Kept) -> bool:
        """Tell whether a hold keeps the words of a turn."""
        return any(holds(kept) for holds in self.holds.values())

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
    if kept.state == "erased" or kept.gone:
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
    erasing = transition is Transition.ERASE
    changes = [each for each in kept if each.state in MOVES[transition] and not (erasing and walk.held(each))]
    for expected in (len(changes), 0):
        report = walk.world.runtime.lifecycle.request(key, transition, "asked for", OPERATOR, turn)
        assert (report.changed, report.affected_turns) == (expected > 0, expected)
        for each in changes:
            each.state = MOVES[transition].get(each.state, each.state)
        changes = []
    return key


def annotate(walk: Walk, one: int, other: int) -> ConversationKey:
    """Annotate a turn or its first message, now and then under an id that it has; an erased turn takes nothing."""
    if not walk.turns:
        return commit(walk, one, other)
    kept = walk.turns[one % len(walk.turns)]
    walk.said += 1
    visibility, policy = RULED[other % len(RULED)]
    target, place = AttributeTarget(turn=kept.marked.turn), 0 if other % 2 else None
    if place is not None:
        message = f"{kept.marked.turn}#0"
        target = AttributeTarget(turn=kept.marked.turn, scope=AttributeScope.MESSAGE, message=message)
    mark, name = Mark(walk.said, NOTED), f"{kept.marked.turn} {other % 4}"
    given = replace(ruled(name, visibility, policy), target=target, value=f"some {mark} words")
    report = walk.world.runtime.transcripts.annotate(kept.marked.key, [given])
    assert report.accepted == (kept.state != "erased" and place not in kept.gone)
    if report.accepted:
        assert (report.attributes[0].replaces is not None) is (name in kept.noted)
        kept.noted[name] = (mark, SEES[visibility], policy is AttributePolicy.METADATA_SURVIVES_MASK, place)
    return kept.marked.key


def erase_message(walk: Walk, one: int, other: int) -> ConversationKey:
    """Erase one message of a turn; a repeat changes nothing."""
    if not walk.turns:
        return commit(walk, one, other)
    kept = walk.turns[one % len(walk.turns)]
    key, place = kept.marked.key, other % 5
    scope = Scope(conversation=key.conversation, channel=key.channel, message=f"{kept.marked.turn}#{place}")
    goes = kept.state != "erased" and place not in kept.gone and not walk.held(kept)
    for expected in (goes, False):
        assert walk.world.runtime.lifecycle.erase(scope, "asked for", OPERATOR).changed is expected
        if expected:
            kept.gone.add(place)
    return key


def erase_subject(walk: Walk, one: int, other: int) -> ConversationKey:
    """Now and then, erase every turn of a subject."""
    if one % 4 or not walk.turns:
        return erase_message(walk, one, other)
    subject = SPEAKERS[other % len(SPEAKERS)]
    going = [
        kept for kept in walk.turns if kept.marked.subject == subject and kept.state != "erased" and not walk.held(kept)
    ]
    report = walk.world.runtime.lifecycle.erase(Scope(subject=SubjectId(subject)), "asked for", OPERATOR)
    assert (report.changed, report.affected_turns) == (bool(going), len(going))
    for kept in going:
        kept.state = "erased"
    return KEYS[one % len(KEYS)]


def hold(walk: Walk, one: int, other: int) -> ConversationKey:
    """Hold a turn, its conversation, or a subject; or release the oldest hold, so that they stay few."""
    if not walk.turns:
        return commit(walk, one, other)
    lifecycle, chosen = walk.world.runtime.lifecycle, walk.turns[one % len(walk.turns)]
    key, subject = chosen.marked.key, SPEAKERS[other % len(SPEAKERS)]
    if walk.holds and (other % 2 or len(walk.holds) > 1):
        oldest = min(walk.holds)
        assert lifecycle.release(oldest, "over", OPERATOR).changed
        del walk.holds[oldest]
        return key
    whole = Scope(conversation=key.conversation, channel=key.channel)
    held: tuple[Scope, Callable[[Kept], bool]] = [
        (replace(whole, turn=chosen.marked.turn), lambda kept: kept is chosen),
        (whole, lambda kept: kept.marked.key == key),
        (Scope(subject=SubjectId(subject)), lambda kept: kept.marked.subject == subject),
    ][one % 3]  # fmt: skip
    position = lifecycle.hold(held[0], "a dispute", OPERATOR).position
    assert position is not None
    walk.holds[position] = held[1]
    return key


def redact(walk: Walk, one: int, other: int) -> ConversationKey:
    """Redact something of a turn for some views; naming the raw owner names all. A repeat changes nothing."""
    if not walk.turns:
        return commit(walk, one, other)
    kept = walk.turns[one % len(walk.turns)]
    passages = passages_of(kept.marked)
    passage, places = passages[other % len(passages)]
    views = [view for at, view in enumerate(View) if other >> at & 1] or [View.EXPORT]
    transcripts, key = walk.world.runtime.transcripts, kept.marked.key
    asking = partial(transcripts.redact, key, passage, views, RedactionReason.LEGAL, OPERATOR)
    if kept.state == "erased" or passage.message in kept.gone:
        with pytest.raises(WordsErased):
            asking()
        return key
    asking()
    assert not asking().changed
    kept.redacted |= {(place, view) for place in places for view in (View if View.RAW_OWNER in views else views)}
    return key


def reveal(walk: Walk, one: int, other: int) -> ConversationKey:
    """Reveal a turn: everything of it, whatever was done to it, unless it is erased."""
    if not walk.turns:
        return commit(walk, one, other)
    kept = walk.turns[one % len(walk.turns)]
    asking = partial(walk.world.runtime.disclosure.reveal, kept.marked.key, kept.marked.turn, "asked for", OPERATOR)
    if kept.state == "erased":
        with pytest.raises(WordsErased):
            asking()
    else:
        left = {mark for mark in kept.marked.marks() if PLACES[mark.place][0] not in kept.gone}
        assert {mark for mark in marks_in(msgspec.json.encode(asking()).decode()) if mark.place != NOTED} == left
    return kept.marked.key


def passages_of(marked: Marked) -> list[tuple[Passage, set[str]]]:
    """Return what may be redacted of a turn, and the places that are gone with it."""
    turn = marked.turn
    found: list[tuple[Passage, set[str]]] = [
        (Passage(turn=turn), {*PLACES, NOTED}),
        (Passage(turn=turn, message=1), {"reasoning", "argument"}),
        (Passage(turn=turn, message=2, part=0), {"response"}),
        (Passage(turn=turn, message=4, part=1), {"more"}),
        (Passage(turn=turn, field="tools/0/summary"), {"summary"}),
        (Passage(turn=turn, field="host_ref/0/label"), {"label"}),
    ]
    for message, place in ((0, "user"), (1, "reasoning"), (4, "answer")):
        start = len("some ")
        end = start + len(str(Mark(marked.number, place)))
        found.append((Passage(turn=turn, message=message, part=0, start=start, end=end), {place}))
        found.append((Passage(turn=turn, message=message, part=0, start=0, end=start + 1), {place}))
    return found


def export(walk: Walk, one: int, other: int) -> ConversationKey:
    """Export a conversation and verify the export."""
    if not walk.turns:
        return commit(walk, one, other)
    key = walk.turns[one % len(walk.turns)].marked.key
    runtime, view = walk.world.runtime, list(View)[other % len(View)]
    bundle = runtime.evidence.export(key, view)
    assert runtime.evidence.verify(bundle.text.encode(), str(bundle.summary["vkey"])).complete
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


def archive(walk: Walk, one: int, other: int) -> ConversationKey:
    """Take a conversation into another space: it shows the same there but for what was under soul governance."""
    if not walk.turns:
        return commit(walk, one, other)
    key = walk.turns[one % len(walk.turns)].marked.key
    scope = ArchiveScope(kind=ScopeKind.CONVERSATION, channel=key.channel, conversation=key.conversation)
    with tempfile.TemporaryDirectory() as home, muniment.open("memory:", keys=root_key(), space="another") as target:
        archives = [walk.world.runtime.archives, target.archives]
        out = archives[0].export(f"{home}/one", scope, PrivateMaterial.INCLUDE)
        target.archives.import_(f"{home}/one", scope, PrivateMaterial.INCLUDE)
        assert archives[1].export(f"{home}/two", scope, PrivateMaterial.INCLUDE).root == out.root
        assert target.evidence.inspect().kinds == {}
        for view in View:
            assert seen(target, key, view) == {mark for mark in walk.shown(key, view) if mark.place != "private"}
    return key


def restore(walk: Walk, one: int, other: int) -> ConversationKey:
    """Back up, go on, and put the backup back: what was erased since stays erased, everything else is as it was."""
    if not walk.turns:
        return commit(walk, one, other)
    runtime, kept = walk.world.runtime, walk.turns[one % len(walk.turns)]
    with tempfile.TemporaryDirectory() as home:
        runtime.spaces.backup(home)
        if other % 2:
            erase_message(walk, one, other)
        elif kept.state != "erased" and not walk.held(kept):
            runtime.lifecycle.request(kept.marked.key, Transition.ERASE, "asked for", OPERATOR, kept.marked.turn)
            kept.state = "erased"
        assert runtime.spaces.restore(home, replace=True).sound
    return kept.marked.key


def rotate(walk: Walk, one: int, other: int) -> ConversationKey:
    """Replace the key of the space."""
    walk.world.runtime.spaces.rotate()
    return KEYS[(one + other) % len(KEYS)]


def search(walk: Walk, one: int, other: int) -> ConversationKey:
    """Search for every piece of text of a turn, in every view: found exactly where the view shows it."""
    if not walk.turns:
        return commit(walk, one, other)
    kept = walk.turns[one % len(walk.turns)]
    for view in View:
        shown = {mark for mark in kept.shown(view) if mark.place in SEARCHED}
        for mark in kept.marked.marks():
            assert (mark in hits(walk, str(mark), view)) is (mark in shown), (mark.place, view)
    return kept.marked.key


def hits(walk: Walk, query: str, view: View) -> set[Mark]:
    """Return the marks in what is found for words."""
    within = SearchScope(lifecycle=LifecycleFilter.ACTIVE_AND_ARCHIVED)
    found = walk.world.runtime.transcripts.search(query, view, within, limit=50)
    return marks_in(msgspec.json.encode([hit.excerpt for hit in found.hits]).decode())


# name -> command; what is to come more often stands here more than once
COMMANDS: dict[str, Command] = {
    "commit": commit,
    "commit another": commit,
    "request": request,
    "request another": request,
    "redact": redact,
    "redact another": redact,
    "reveal": reveal,
    "repeat": repeat,
    "contradict": contradict,
    "annotate": annotate,
    "erase a message": erase_message,
    "erase a subject": erase_subject,
    "hold": hold,
    "export": export,
    "rotate": rotate,
    "derive": derive,
    "archive": archive,
    "restore": restore,
    "search": search,
}
