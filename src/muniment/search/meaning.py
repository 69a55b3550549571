"""What an index knows of meaning: the vectors of its passages, made by one embedder, and which of them are missing.

Vectors come later than words (decision 0106): a passage without one is found by its words alone. Vectors of two
embedders are never compared: those of another one are dropped. Without an embedder (`Meaning()`) nothing is embedded
and nothing is similar; vectors of a snapshot are kept for a process that has their embedder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from muniment.embedding.guarded import EmbedderFlaw, GuardedEmbedder
from muniment.ranking.columns import Rows, Scores
from muniment.search.vectors import Floats, Vectors, empty_vectors, stored_vectors

MOST_SHARE = 2  # for one in so many documents or more it is quicker to compare all


class Meaning:
    """The vectors of an index, and the embedder that makes them, or None. For one thread at a time."""

    def __init__(self, embedder: GuardedEmbedder | None = None, vectors: Vectors | None = None) -> None:
        self.embedder = embedder
        self.flaw: EmbedderFlaw | None = None  # of the last call
        if vectors is None and embedder is not None:
            vectors = Vectors(embedder.digest, embedder.dimension, embedder.centre)
        self._vectors = empty_vectors() if vectors is None else vectors

    @classmethod
    def of_sections(cls, embedder: GuardedEmbedder | None, sections: Mapping[str, bytes]) -> Meaning:
        """Return the vectors of a snapshot, unless another embedder made them."""
        if embedder is None:
            return cls(vectors=stored_vectors(sections))
        meaning = cls(embedder)
        meaning._vectors.restore(sections)
        return meaning

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def memory_bytes(self) -> int:
        """How much memory is taken, about."""
        return self._vectors.memory_bytes

    # --- as the index changes -----------------------------------------------------------------------------------------

    def drop(self, passages: Sequence[int] | Rows) -> None:
        """Drop the vectors of passages; nothing of them stays."""
        self._vectors.drop(passages)

    def renumber(self, kept: Rows) -> None:
        """Keep the vectors of these passages, whose new numbers are their places in `kept`."""
        if len(self._vectors):
            self._vectors.renumber(kept)

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield the vectors as named pieces for a snapshot."""
        if self.embedder is not None or len(self._vectors):
            yield from self._vectors.sections()

    # --- making vectors -----------------------------------------------------------------------------------------------

    def pending(self, alive: Rows, limit: int) -> Rows:
        """Return passages without a vector, the newest first; `alive` are the numbers of all existing passages."""
        if len(alive) == len(self._vectors):  # only existing passages have one
            return alive[:0]
        return self.lacking(alive)[::-1][:limit]

    def lacking(self, passages: Rows) -> Rows:
        """Return those passages that have no vector."""
        return passages[~self._vectors.have(passages)]

    def learn(self, passages: Rows, texts: list[str], wait_s: float) -> bool:
        """Embed the texts of passages; return False, with the flaw kept, when the embedder made no vectors."""
        if self.embedder is None:
            return False
        vectors, self.flaw = self.embedder.encode(texts, query=False, wait_s=wait_s)
        if vectors is None:
            return False
        self._vectors.put(passages, vectors)
        return True

    def put(self, passages: Rows, vectors: Floats) -> None:
        """Store vectors that the embedder has made for passages."""
        self._vectors.put(passages, vectors)

    # --- comparing ----------------------------------------------------------------------------------------------------

    def similarity(self, text: str, row_of: Rows, rows: int, within: Rows | None) -> Scores | None:
        """Return the cosine of each document's best passage to a text, nan where it has no vector.

        None without an embedder or vectors, and with a flaw. `row_of` is the document of each passage, ascending; there
        are `rows` documents. With `within` only these are compared, in their order.
        """
        if self.embedder is None or not len(self._vectors):
            return None
        if not text.strip():
            return np.full(rows if within is None else len(within), np.nan)
        query, self.flaw = self.embedder.encode([text], query=True, wait_s=self.embedder.query_wait_s)
        if query is None:
            return None
        if within is None or MOST_SHARE * len(within) >= rows:
            similar = self._vectors.similar(query[0])
            best = _best(similar.cosines, row_of[similar.passages], rows)
            return best if within is None else best[within]
        firsts = np.searchsorted(row_of, within, "left")
        counts = np.searchsorted(row_of, within, "right") - firsts
        places = np.repeat(np.arange(len(within)), counts)
        passages = np.arange(len(places)) + np.repeat(firsts - (np.cumsum(counts) - counts), counts)
        known = self._vectors.have(passages)
        similar = self._vectors.similar(query[0], passages[known])
        return _best(similar.cosines, places[known], len(within))


def _best(cosines: Scores, places: Rows, count: int) -> Scores:
    """Return the greatest cosine at each place, nan where there is none."""
    best = np.full(count, -np.inf)
    np.maximum.at(best, places, cosines)
    best[np.isneginf(best)] = np.nan
    return best
