"""What an index knows, as plain data that does not depend on how it came to know it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from muniment.ranking.columns import ROLES
from muniment.search.document_table import DocumentTable, Passages
from muniment.search.postings import Postings

TOLD = ("turn", "message", "time_ms", "role", "speaker", "archived", "session")


def told(rows: DocumentTable, passages: Passages, postings: Postings, speakers: list[str]) -> Iterator[list[object]]:
    """Yield each conversation with its documents, in the order of the keys; nothing of the index is dead."""
    known = list(zip(*(rows[name].tolist() for name in TOLD), strict=True))
    streams = rows["stream"].tolist()
    said = PassageTerms(passages, postings)
    order = np.lexsort((rows["message"], rows["turn"], rows["stream"])).tolist()
    for stream, each in groupby(order, streams.__getitem__):
        found: list[object] = [stream]
        for row in each:
            turn, message, time_ms, role, speaker, archived, session = known[row]
            who = [ROLES[role], speakers[speaker], bool(archived), session == row]
            found.append([turn, message, time_ms, *who, [said.of(number) for number in passages.of(row)]])
        yield found


class PassageTerms:
    """The terms of passages."""

    def __init__(self, passages: Passages, postings: Postings) -> None:
        places, self._terms = postings.by_place()
        _, firsts, ends = passages.columns()
        begins, stops = np.searchsorted(places, firsts), np.searchsorted(places, ends)
        self._is_plain = (stops - begins == ends - firsts).tolist()
        self._places, self._begins, self._stops = places.tolist(), begins.tolist(), stops.tolist()

    def of(self, number: int) -> list[object]:
        """Return the terms of a passage in their order; those of one place have no order of their own."""
        span = slice(self._begins[number], self._stops[number])
        if self._is_plain[number]:  # one at each place, as in most
            return [[term] for term in self._terms[span]]
        here = sorted(zip(self._places[span], self._terms[span], strict=True))
        return [[term for _, term in group] for _, group in groupby(here, lambda each: each[0])]
