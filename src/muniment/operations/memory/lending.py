"""What messages lend the items that rest on them: a question often has the words of a turn, and an item its answer.

Only messages that the view shows to the subject are found, and only items are lent something that are among the
candidates by themselves, so no gate is passed. Views that do not show where something was said lend nothing, because
an order would tell it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.memory.recall_scoring import score, weighted
from muniment.memory.recall_weights import RecallWeights
from muniment.operations.memory.hit_evidence import SHOWS_PLACES
from muniment.operations.memory.recalled import RecalledBatch
from muniment.operations.memory.source_phases import SourcePhases
from muniment.operations.transcripts.hits import Hit
from muniment.ranking.columns import Rows
from muniment.search.index import Index
from muniment.space.space import Space

LINKS_MAX = 8  # that are looked at for one message
LENT_MAX = 16  # items that are lent something


class Lent(NamedTuple):
    """What an item gets from the best message that it rests on: a share of the best score, and its relevance."""

    share: float
    relevance: float


class Lending(NamedTuple):
    """A message that was found, and what it lends."""

    message: Hit
    lent: Lent


def lends(view: View, weights: RecallWeights) -> bool:
    """Tell whether messages lend anything."""
    return weights.source > 0 and view in SHOWS_PLACES


def lendings(messages: RecalledBatch, weights: RecallWeights) -> list[Lending]:
    """Return what messages lend, the best first."""
    scored = [(score(weighted(one.parts, weights), weights, None), one) for one in messages.candidates]
    best = max((value for value, _ in scored), default=0.0)
    scored.sort(key=lambda each: -each[0])
    return [
        Lending(one.source, Lent(value / best, one.relevance))
        for value, one in scored
        if value and isinstance(one.source, Hit)
    ]


class LentItems:
    """Which items rest on messages, in one state of the log; `rows` are the candidates of an index."""

    def __init__(self, space: Space, reader: Reader, sources: SourcePhases, index: Index, rows: Rows) -> None:
        self._notebooks = space.notebooks
        self._reader = reader
        self._sources = sources
        self._index = index
        self._rows = rows

    def lent(self, lendings: list[Lending]) -> Mapping[tuple[int, int], Lent]:
        """Return what items get, by stream and number; each from the best message."""
        found: dict[tuple[int, int], Lent] = {}
        for message, lent in lendings:
            place = self._sources.place_of(message.place.conversation, message.place.turn)
            if place is None or len(found) >= LENT_MAX:
                continue
            now, looked_at = place.conversation, 0
            for named, stream, number in self._notebooks.resting_on(
                self._reader, now.head, now.changes, place.sequence
            ):
                at, looked_at = (stream, number), looked_at + 1
                if named in {None, message.place.message} and self._index.among(stream, number, self._rows):
                    found.setdefault(at, lent)
                if looked_at == LINKS_MAX:
                    break
        return found
