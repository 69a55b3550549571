"""Making the vectors that are missing: a few before an answer, all of them when that is asked for (decision 0106).

A commit embeds nothing. A question waits for the newest few, so that what was just said is found by meaning as well;
`system.reembed` makes all others, in batches. Between reading the words of a batch and keeping its vectors the index is
let go, so that nobody waits for an embedder, and no erasure for us: vectors of what is gone by then are not kept.
Imported when it is first asked for (numpy).
"""

from __future__ import annotations

from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.embedding.guarded import BATCH_WAIT_S
from muniment.errors import ModelUnavailable
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.operations.transcripts.hits import SemanticCoverage
from muniment.ranking.columns import Rows
from muniment.search.index import Index
from muniment.search.meaning import Meaning
from muniment.search.passage_reader import PassageReader
from muniment.space.embedders import Reembedded
from muniment.space.space import Space

NEWEST_PASSAGES_MAX = 8  # embedded before an answer
NEWEST_WAIT_S = 1.0  # that an answer waits for them
BATCH_PASSAGES = 64
KEPT_BATCHES = 100  # are written to the snapshot, so that they need not be made again
PROGRESS_STAGE = "reembed"


class Embedding:
    """What an index of a view knows of meaning, and may learn, while the index is held."""

    def __init__(self, space: Space, view: View, index: Index) -> None:
        self._space = space
        self._index = index
        self._meaning = index.vectors if isinstance(index.vectors, Meaning) else None
        self._reading = PassageReader(space.transcript, view, space.detection.view(view))

    def learn_newest(self, reader: Reader) -> None:
        """Embed the newest of what has no vector yet, as much as an answer may wait for."""
        meaning = self._meaning
        if meaning is not None:
            meaning.flaw = None
            if len(meaning) < self._index.passages_count:
                pending = meaning.pending(self._index.passages_there(), NEWEST_PASSAGES_MAX)
                meaning.learn(pending, self._reading.texts(self._index, reader, pending), NEWEST_WAIT_S)

    def semantic(self) -> tuple[SemanticCoverage, str | None]:
        """Return how far meaning counted in what was just asked, and why it did not."""
        fault = self._space.lazy_indexes.embedder_fault
        if self._meaning is None:
            return SemanticCoverage.ABSENT, None if fault is None else fault.code
        flaw = self._meaning.flaw
        there = self._index.passages_count
        if flaw is not None or (there and not len(self._meaning)):
            return SemanticCoverage.ABSENT, None if flaw is None else str(flaw)
        return (SemanticCoverage.FULL if len(self._meaning) == there else SemanticCoverage.PARTIAL), None


class PassageBatch(NamedTuple):
    """Passages whose words were read, in an index as it was then."""

    of: Index
    age: int
    passages: Rows
    texts: list[str]
    there: int
    pending: int


class Reembedding:
    """Makes all vectors of a view that are missing."""

    def __init__(self, session: Session, view: View) -> None:
        session.access.require_view(view)
        self._session = session
        self._view = view
        self._space = session.space

    def run(self) -> Reembedded:
        """Embed until nothing is missing; raises `ModelUnavailable` without an embedder, and when it is of no use."""
        embedded = batches = 0
        while True:
            batch, meaning = self._read()
            batches += 1
            self._session.progress(PROGRESS_STAGE, batch.there - batch.pending, batch.there)
            if not batch.texts:
                break
            vectors, flaw = meaning.embedder.encode(batch.texts, query=False, wait_s=BATCH_WAIT_S)
            if vectors is None:
                raise ModelUnavailable(at="embedder", problem=None if flaw is None else str(flaw))
            with self._space.indexes.caught_up(self._view) as (index, _):
                if index is batch.of and index.vectors is meaning and index.age == batch.age:
                    kept = index.are_there(batch.passages)
                    meaning.take(batch.passages[kept], vectors[kept])
                    embedded += int(kept.sum())
            if batches % KEPT_BATCHES == 0:
                self._space.indexes.keep()
        self._space.indexes.keep()
        return Reembedded(
            view=self._view,
            embedder=meaning.embedder.name,
            embedder_digest=meaning.embedder.digest,
            passages=batch.there,
            embedded=embedded,
            pending=batch.pending,
        )

    def _read(self) -> tuple[PassageBatch, Meaning]:
        space = self._space
        with space.indexes.caught_up(self._view, self._session.progress) as (index, reader):
            meaning = index.vectors
            if not isinstance(meaning, Meaning):
                raise space.lazy_indexes.embedder_fault or ModelUnavailable(at="embedder", problem="none_chosen")
            there = index.passages_there()
            pending = meaning.pending(there, BATCH_PASSAGES)
            reading = PassageReader(space.transcript, self._view, space.detection.view(self._view))
            texts = reading.texts(index, reader, pending)
            return PassageBatch(index, index.age, pending, texts, len(there), len(there) - len(meaning)), meaning
