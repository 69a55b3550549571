"""The documents that are ranked, as columns: one row a document, and a document is one message as a view shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from muniment.events.message import Role

Rows = NDArray[np.int64]  # numbers of documents
Scores = NDArray[np.float64]  # one for each document

ROLES: tuple[Role, ...] = tuple(Role)  # the column `role` holds places in this
NO_ROW = -1
FEW_SHARE = 16  # for one document in so many or fewer, columns of their own cost less than the whole ones
LINKS, OF_ALL = ("previous", "following"), ("speakers",)


class Columns(NamedTuple):
    """All documents of an index, by their number.

    `alive` is False for the rows of removed documents; they have no terms. `stream` and `turn` say where a
    message was said (conversation, sequence), `message` its place in the turn, `time_ms` when (UTC milliseconds).
    `speaker` is a place in `speakers`. `previous` and `following` are the documents before and after it in the same
    session, or `NO_ROW`; `session` is the number of the first document of its session: a stretch of a conversation
    without a long pause.
    """

    alive: NDArray[np.bool_]
    archived: NDArray[np.bool_]
    stream: NDArray[np.int64]
    turn: NDArray[np.int64]
    message: NDArray[np.int64]
    time_ms: NDArray[np.int64]
    role: NDArray[np.int64]
    speaker: NDArray[np.int64]
    previous: Rows
    following: Rows
    session: Rows
    speakers: Sequence[str]

    def among(self, rows: Rows) -> tuple[Rows, Columns]:
        """Return some documents, in ascending order, with those beside them, and the columns of these alone.

        Links to any other are none, so what is two links away is still found where it is one of `rows`.
        """
        kept = np.unique(np.concatenate([rows, self.previous[rows], self.following[rows]]))
        kept = kept[kept != NO_ROW]
        selected = {name: column[kept] for name, column in self._asdict().items() if name not in OF_ALL}
        for name in LINKS:
            at = np.minimum(np.searchsorted(kept, selected[name]), len(kept) - 1)
            selected[name] = np.where(kept[at] == selected[name], at, NO_ROW)
        selected["session"] = np.unique(selected["session"], return_inverse=True)[1]
        return kept, Columns(**selected, speakers=self.speakers)


class KeywordScores(NamedTuple):
    """The bm25 of documents. Not `complete`: a very frequent term was looked up only where rarer ones were found."""

    scores: Scores
    complete: bool = True


class Corpus(Protocol):
    """What ranking needs of an index."""

    @property
    def columns(self) -> Columns:
        """The documents."""
        ...

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in their order, as they are indexed."""
        ...

    def named(self, term: str) -> list[int]:
        """Return the speakers of documents with a term in their name."""
        ...

    def beginning(self, phrase: Sequence[str], within: Rows) -> Rows:
        """Return those of some documents that begin with a phrase of one term or more; all in ascending order."""
        ...

    def scored(self, phrases: Sequence[Sequence[str]], within: Rows | None = None) -> KeywordScores:
        """Return the bm25 of each document for phrases of one term or more; that of its best passage.

        With `within`, only these rows are scored, and the statistics are theirs.
        """
        ...

    def similarity(self, text: str, within: Rows | None = None) -> Scores | None:
        """Return the cosine of each document's best passage to a text; nan where it has no vector yet, None without."""
        ...
