"""Embedding: a few missing vectors before an answer, all of them with `system.reembed` (decision 0106).

A commit embeds nothing. A search waits for the newest few, so that the newest messages are found by meaning as well;
`system.reembed` makes all others, in batches. Between reading the texts of a batch and storing its vectors the index is
released, so that nobody waits for an embedder, and no erasure either: vectors of removed passages are not stored.
Imported when it is first used (numpy).
"""

from __future__ import annotations

from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.embedding.guarded import BATCH_WAIT_S, GuardedEmbedder
from muniment.errors import ModelUnavailable
from muniment.governance.views import View
from muniment.operations.transcripts.hits import SemanticCoverage
from muniment.ranking.columns import Rows
from muniment.search.index import Index
from muniment.search.index_status import Indexed, index_name
from muniment.search.meaning import Meaning
from muniment.search.view_index import CaughtUpIndex
from muniment.space.embedders import Reembedded
from muniment.space.space import Space

NEWEST_PASSAGES_MAX = 8  # embedded before an answer
NEWEST_WAIT_S = 1.0  # that an answer waits for them
BATCH_PASSAGES = 64
SAVED_BATCHES = 100  # after so many a snapshot is written, so that they need not be made again
PROGRESS_STAGE = "reembed"


def embed_newest(space: Space, name: str, caught: CaughtUpIndex) -> None:
    """Embed the newest passages of an index without a vector, as many as an answer may wait for."""
    index = caught.current
    meaning = index.meaning
    meaning.flaw = None
    if meaning.embedder is not None and len(meaning) < index.passages_count:
        pending = meaning.pending(index.present_passages(), NEWEST_PASSAGES_MAX)
        texts = space.indexes.texts(name, caught, pending)
        meaning.learn(pending, texts, NEWEST_WAIT_S)


def coverage(space: Space, index: Index) -> tuple[SemanticCoverage, str | None]:
    """Return how far meaning counted in the last search of an index, and why it did not."""
    meaning, present, unavailable = index.meaning, index.passages_count, space.lazy_indexes.embedder_fault
    if meaning.embedder is None:
        return SemanticCoverage.ABSENT, None if unavailable is None else unavailable.code
    if meaning.flaw is not None or (present and not len(meaning)):
        return SemanticCoverage.ABSENT, None if meaning.flaw is None else str(meaning.flaw)
    return (SemanticCoverage.FULL if len(meaning) == present else SemanticCoverage.PARTIAL), None


class PassageBatch(NamedTuple):
    """Passages whose texts were read, the index as it was then, and its counts."""

    read_from: Index
    meaning: Meaning
    embedder: GuardedEmbedder
    age: int
    passages: Rows
    texts: list[str]
    present: int
    pending: int


def reembed(session: Session, view: View) -> Reembedded:
    """Embed until nothing is missing; raises `ModelUnavailable` without an embedder, and when it fails."""
    session.access.require_view(view)
    embedded, last = 0, list[PassageBatch]()
    for of in Indexed:
        made, batch = _reembedded(session, view, of)
        embedded += made
        last.append(batch)
    session.space.indexes.save()
    return Reembedded(
        view=view,
        embedder=last[0].embedder.name,
        embedder_digest=last[0].embedder.digest,
        passages=sum(batch.present for batch in last),
        embedded=embedded,
        pending=sum(batch.pending for batch in last),
    )


def _reembedded(session: Session, view: View, of: Indexed) -> tuple[int, PassageBatch]:
    """Embed what is missing in one index; return how many vectors were made, and the last, empty batch."""
    indexes, embedded, batches = session.space.indexes, 0, 0
    while True:
        batch = _read_batch(session, view, of)
        batches += 1
        if batch.present:
            session.progress(PROGRESS_STAGE, batch.present - batch.pending, batch.present)
        if not batch.texts:
            return embedded, batch
        vectors, flaw = batch.embedder.encode(batch.texts, query=False, wait_s=BATCH_WAIT_S)
        if vectors is None:
            raise ModelUnavailable(at="embedder", problem=None if flaw is None else str(flaw))
        with indexes.caught_up(view, of=of) as (index, _):
            if index is batch.read_from and index.meaning is batch.meaning and index.age == batch.age:
                kept = index.are_present(batch.passages)
                batch.meaning.put(batch.passages[kept], vectors[kept])
                embedded += int(kept.sum())
        if batches % SAVED_BATCHES == 0:
            indexes.save()


def _read_batch(session: Session, view: View, of: Indexed) -> PassageBatch:
    space = session.space
    with space.indexes.caught_up(view, session.progress, of) as caught:
        index = caught.current
        meaning, embedder = index.meaning, index.meaning.embedder
        if embedder is None:
            raise space.lazy_indexes.embedder_fault or ModelUnavailable(at="embedder", problem="none_chosen")
        present = index.present_passages()
        pending = meaning.pending(present, BATCH_PASSAGES)
        texts = space.indexes.texts(index_name(view, of), caught, pending)
        missing = len(present) - len(meaning)
        return PassageBatch(index, meaning, embedder, index.age, pending, texts, len(present), missing)
