"""Who is in the turns of a conversation: the subject of each, and who else speaks in it or is named by it.

People are numbers here; `projections.conversation_list` knows their names. The others of a turn are its speakers and
those that its attribution names.
"""

from __future__ import annotations

from array import array
from collections import Counter

from msgspec import Struct

from muniment.events.records import TurnMeta

NUMBER = "I"  # 32 bits


def people_of(meta: TurnMeta) -> tuple[str, list[str]]:
    """Return the subject of a turn, and everybody else whom it names, in order."""
    actor = meta.actor
    owner = actor.subject or ""
    others: list[str] = []
    for name in (actor.speaker_id, actor.acting_subject, actor.mounted_subject, actor.agent_id):
        if name is not None and name != owner and name not in others:
            others.append(name)
    for head in meta.messages:
        name = head.speaker_id
        if name is not None and name != owner and name not in others:
            others.append(name)
    return owner, others


class PeopleState(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The people of the turns of one conversation, as they are kept at rest: bytes of arrays."""

    owners: bytes
    others: list[tuple[int, bytes]]


class PeopleOfTurns:
    """The people of the turns of one conversation, turn by turn."""

    __slots__ = ("others", "owned", "owners")

    def __init__(self) -> None:
        self.owners = array(NUMBER)  # by sequence
        self.owned: dict[int, int] = {}  # how many turns are whose
        self.others: dict[int, array[int]] = {}  # the sequences of turns that name somebody else

    def add(self, owner: int, others: list[int]) -> None:
        """Take the next turn."""
        self.owners.append(owner)
        self.owned[owner] = self.owned.get(owner, 0) + 1
        for other in others:
            self.others.setdefault(other, array(NUMBER)).append(len(self.owners))

    def has(self, person: int) -> bool:
        """Return whether a person is in any of the turns."""
        return person in self.owned or person in self.others

    def only(self, person: int) -> bool:
        """Return whether all turns are those of a person."""
        return self.owned.get(person) == len(self.owners)

    def turns_of(self, person: int) -> list[int]:
        """Return the sequences of all turns that a person is in, in order."""
        return sorted([*self.own_turns(person), *self.others.get(person, ())])

    def own_turns(self, person: int) -> list[int]:
        """Return the sequences of all turns whose subject a person is, in order."""
        if person not in self.owned:
            return []
        return [place for place, owner in enumerate(self.owners, start=1) if owner == person]

    def part(self, person: int) -> PeopleOfTurns:
        """Return the people of the turns of one person, where there are no others."""
        made, own = PeopleOfTurns(), set(self.own_turns(person))
        made.owners, made.owned = self.owners, {person: len(own)}
        for other, turns in self.others.items():
            if kept := array(NUMBER, (turn for turn in turns if turn in own)):
                made.others[other] = kept
        return made

    def state(self) -> PeopleState:
        """Return all that is known, to be kept."""
        return PeopleState(self.owners.tobytes(), [(one, turns.tobytes()) for one, turns in self.others.items()])

    @classmethod
    def of_state(cls, state: PeopleState) -> PeopleOfTurns:
        """Return the people that were kept."""
        made = cls()
        made.owners.frombytes(state.owners)
        made.owned = dict(Counter(made.owners))
        for person, kept in state.others:
            made.others[person] = array(NUMBER)
            made.others[person].frombytes(kept)
        return made

    def rows(self) -> list[object]:
        """Return all that is known as plain data, in the order of its keys."""
        return [self.owners.tolist(), [[person, turns.tolist()] for person, turns in sorted(self.others.items())]]
