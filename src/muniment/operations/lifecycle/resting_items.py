"""Memory items that go with the turns that they rest on: because a request says so, or a policy of memory.

An item goes when it rests on a turn that the request is about, and everything that it rests on is erased: before, or by
the same request. So does a proposal. What somebody attested rests on nothing and stays. The guard decides about them as
about turns, so that a hold keeps them. They are found through the subjects of the turns: an item only rests on turns of
its subject.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import starmap
from typing import TYPE_CHECKING

from muniment.events.changes import TurnSpan
from muniment.events.identity import SubjectId
from muniment.events.memory_governance import PolicyAction
from muniment.events.references import SourceEvidence
from muniment.governance.custody import subjects_of
from muniment.governance.phases import Phase
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem
from muniment.memory.policies import MemoryPolicy, Statement, applies, in_force
from muniment.operations.lifecycle.scope import NotebookKey, Turns
from muniment.operations.lifecycle.targets import Target, readable, spans_of, takes_memory, turns_of
from muniment.operations.memory.source_phases import SourcePhases, SourcePlace
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.operations.lifecycle.guard import Judgements


def resting_items(
    space: Space, reader: Reader, target: Target, now_ms: int, going: Iterable[Judgements] = ()
) -> list[Turns]:
    """Return the items that rest on nothing but erased turns of a target; `going` are those that are about to go."""
    takes_all = takes_memory(target)
    policies = [] if takes_all else _following(space, reader, now_ms)
    if not takes_all and not policies:
        return []
    turns, found = target.turns(reader), list[Turns]()
    leaving = Leaving(space, reader, turns, going)
    for subject in sorted(_subjects(space, reader, turns)):
        for head in space.notebooks.heads(reader, subject):
            items = [item for item in space.notebooks.items(reader, head) if leaving.takes(item)]
            chosen = [item for item in items if takes_all or _follows(space, policies, item)]
            key = NotebookKey(subject=SubjectId(subject), plane=space.notebooks.opening(reader, head.stream).plane)
            if chosen:
                found.append(Turns(key, head, tuple(spans_of(sorted(item.number for item in chosen)))))
    return found


class Leaving:
    """Tells which items rest on nothing but what is erased, or about to be, and on a turn that the request is about."""

    def __init__(self, space: Space, reader: Reader, asked: Iterable[Turns], going: Iterable[Judgements]) -> None:
        self._sources = SourcePhases(space, reader)
        self._asked = PlacesInQuestion((turns.head.stream, turns.spans, turns.message) for turns in asked)
        self._going = PlacesInQuestion((one.turns.head.stream, one.spans, one.turns.message) for one in going)

    def takes(self, item: MemoryItem) -> bool:
        """Tell whether an item with words goes."""
        if item.text is None or not item.evidence:
            return False
        places = [self._sources.place(source) for source in item.evidence]
        if not any(place is not None and self._asked.touches(place) for place in places):
            return False
        return all(starmap(self._goes, zip(item.evidence, places, strict=True)))

    def _goes(self, source: SourceEvidence, place: SourcePlace | None) -> bool:
        if place is None or self._going.covers(place):
            return True
        return self._sources.phase(source) is Phase.ERASED


class PlacesInQuestion:
    """Turns by stream, or single messages of them."""

    def __init__(self, parts: Iterable[tuple[int, Iterable[TurnSpan], int | None]]) -> None:
        self._spans: defaultdict[int, list[tuple[TurnSpan, int | None]]] = defaultdict(list)
        for stream, spans, message in parts:
            self._spans[stream] += [(span, message) for span in spans]

    def covers(self, place: SourcePlace) -> bool:
        """Tell whether everything of a place is among them."""
        return any(message in {None, place.message} for message in self._messages(place))

    def touches(self, place: SourcePlace) -> bool:
        """Tell whether anything of a place is among them."""
        return any(place.message is None or message in {None, place.message} for message in self._messages(place))

    def _messages(self, place: SourcePlace) -> Iterator[int | None]:
        return (message for span, message in self._spans[place.stream] if span.includes(place.sequence))


def _following(space: Space, reader: Reader, now_ms: int) -> list[MemoryPolicy]:
    known = in_force(space.notebooks.policies(reader), now_ms)
    return [policy for policy in known if policy.event.action is PolicyAction.FOLLOW]


def _follows(space: Space, policies: Collection[MemoryPolicy], item: MemoryItem) -> bool:
    assert item.content is not None, "an item with a text has the rest of its words"
    rests = frozenset((source.channel, source.conversation) for source in item.evidence)
    said = Statement(item.subject, item.meta.kind, item.scope, item.content.topic, rests)
    return any(applies(policy, said, space.notebooks.topic_digest) for policy in policies)


def _subjects(space: Space, reader: Reader, turns: Iterable[Turns]) -> set[str]:
    """Return whose turns these are; of one that does not open any more nobody can tell."""
    return {subject for each in turns if each.conversation is not None for subject in _of(space, reader, each)}


def _of(space: Space, reader: Reader, turns: Turns) -> Iterator[str]:
    for span in turns.spans:
        for row in turns_of(reader, turns.head.stream, span):
            meta = readable(space, row)
            if meta is not None:
                yield from subjects_of(meta.actor)
