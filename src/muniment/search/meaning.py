"""What an index knows of meaning: the vectors of its passages, made by one embedder, and which of them are missing.

Vectors come later than words (decision 0106): what has none yet is found by its words alone. Of two embedders nothing
is ever compared: vectors of another one are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from muniment.embedding.guarded import EmbedderFlaw, GuardedEmbedder
from muniment.ranking.columns import Rows, Scores
from muniment.search.vectors import Floats, Vectors

MOST_SHARE = 2  # of one in so many documents or more it is quicker to look at all


class Meaning:
    """The vectors of an index, and the embedder that makes them. For one thread at a time."""

    def __init__(self, embedder: GuardedEmbedder) -> None:
        self.embedder = embedder
        self.flaw: EmbedderFlaw | None = None  # of what was asked last
        self._vectors = Vectors(embedder.digest, embedder.dimension, embedder.centre)

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def memory_bytes(self) -> int:
        """How much memory is taken, about."""
        return self._vectors.memory_bytes

    # --- as the index changes -----------------------------------------------------------------------------------------

    def drop(self, passages: Sequence[int] | Rows) -> None:
        """Forget passages; nothing of their vectors stays."""
        self._vectors.drop(passages)

    def renumber(self, kept: Rows) -> None:
        """Keep what is known of these passages, whose numbers are from now on their places in `kept`."""
        self._vectors.renumber(kept)

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield the vectors as named pieces for a snapshot."""
        yield from self._vectors.sections()

    def restore(self, sections: Mapping[str, bytes]) -> bool:
        """Take the vectors of a snapshot, unless another embedder made them."""
        return self._vectors.restore(sections)

    # --- making vectors -----------------------------------------------------------------------------------------------

    def pending(self, alive: Rows, most: int) -> Rows:
        """Return passages that have no vector yet, the newest first; `alive` are the numbers of all that are there."""
        if len(alive) == len(self._vectors):  # what is not there has none
            return alive[:0]
        return self.lacks(alive)[::-1][:most]

    def lacks(self, passages: Rows) -> Rows:
        """Return those of some passages that have no vector."""
        return passages[~self._vectors.have(passages)]

    def learn(self, passages: Rows, texts: list[str], wait_s: float) -> bool:
        """Let passages have the vectors of their texts; False, with the flaw kept, when the embedder made none."""
        vectors, self.flaw = self.embedder.encode(texts, query=False, wait_s=wait_s)
        if vectors is None:
            return False
        self._vectors.put(passages, vectors)
        return True

    def take(self, passages: Rows, vectors: Floats) -> None:
        """Let passages have vectors that the embedder has made."""
        self._vectors.put(passages, vectors)

    # --- asking -------------------------------------------------------------------------------------------------------

    def similarity(self, text: str, row_of: Rows, rows: int, within: Rows | None) -> Scores | None:
        """Return the cosine of each document's best passage to a text, nan where it has no vector.

        None where no vector is, and with a flaw. `row_of` is the document of each passage, ascending; there are `rows`
        documents. With `within` only these are looked at, in their order.
        """
        if not len(self._vectors):
            return None
        if not text.strip():
            return np.full(rows if within is None else len(within), np.nan)
        query, self.flaw = self.embedder.encode([text], query=True, wait_s=self.embedder.query_wait_s)
        if query is None:
            return None
        if within is None or MOST_SHARE * len(within) >= rows:
            found = self._vectors.alike(query[0])
            whole = _best(found.cosines, row_of[found.passages], rows)
            return whole if within is None else whole[within]
        firsts = np.searchsorted(row_of, within, "left")
        counts = np.searchsorted(row_of, within, "right") - firsts
        places = np.repeat(np.arange(len(within)), counts)
        passages = np.arange(len(places)) + np.repeat(firsts - (np.cumsum(counts) - counts), counts)
        known = self._vectors.have(passages)
        found = self._vectors.alike(query[0], passages[known])
        return _best(found.cosines, places[known], len(within))


def _best(cosines: Scores, places: Rows, count: int) -> Scores:
    """Return the greatest cosine at each place, nan where there is none."""
    found = np.full(count, -np.inf)
    np.maximum.at(found, places, cosines)
    found[np.isneginf(found)] = np.nan
    return found
