"""The items that a recall finds: those of the planes of its subject, as they are or as they were known at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from muniment.declaration.session import Session
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem, evidence_state
from muniment.memory.recall_scoring import AskedQuestion, ItemCircumstances, ages, item_parts
from muniment.operations.memory.item_index import ItemIndex
from muniment.operations.memory.lending import Lending, Lent, LentItems
from muniment.operations.memory.recall_report import AskedRecall, RecallPlane
from muniment.operations.memory.recalled import POOL_FACTOR, PlaneCount, Recalled, RecalledBatch
from muniment.operations.memory.recalled_messages import index_weights
from muniment.operations.memory.source_phases import SourcePhases, is_gone
from muniment.ranking.question import Question
from muniment.search.found_documents import FoundDocument, found_documents
from muniment.search.index import Index
from muniment.search.item_documents import known_partitions
from muniment.space.space import Space


def recalled_items(
    session: Session, asked: AskedRecall, opened: ItemIndex, question: Question, lending: list[Lending]
) -> RecalledBatch:
    """Return the best items of the planes that are asked for, and those that rest on what was found (`lending`)."""
    space, (index, reader, sources, semantic, reason) = session.space, opened
    shown = {plane: known_partitions(index, plane, asked.subject) for plane in asked.item_planes}
    hidden = {plane: known_partitions(index, plane, asked.subject, is_hidden=True) for plane in asked.item_planes}
    rows, weights = index.within(chain(*shown.values()), question.asked_ms), index_weights(asked.weights, linked=False)
    found = found_documents(index, question, rows, weights, POOL_FACTOR * asked.limit)
    withheld = index.counts(index.within(chain(*hidden.values()), question.asked_ms))
    lent = LentItems(space, reader, sources, index, rows).lent(lending) if lending else {}
    documents = [*found.documents, *_linked(index, found.documents, lent)]
    items, now_ms = _read(space, reader, documents, asked.scope.as_of_ms), space.sources.clock.now_ms()
    asked_for = AskedQuestion.of(question.text, found.question.searched, index.terms)
    candidates = [
        _with_lent(
            _candidate(sources, item, document, asked_for, asked, now_ms),
            lent.get((document.stream, document.entry)),
        )
        for document in documents
        if not sources.hides_retelling(item := items[document.stream, document.entry])
    ]
    resting = documents[len(found.documents) :]
    linked = Counter(RecallPlane(items[document.stream, document.entry].plane) for document in resting)
    counts = {
        RecallPlane(plane): PlaneCount(
            _total(found.candidates, names),
            _total(found.matched, names) + linked[RecallPlane(plane)],
            _total(withheld, hidden[plane]),
        )
        for plane, names in shown.items()
    }
    best = found.words_best, found.ranked.semantic_best
    return RecalledBatch(candidates, counts, *best, semantic, reason)


def _total(counts: Mapping[str, int], names: Iterable[str]) -> int:
    return sum(counts.get(name, 0) for name in names)


def _read(
    space: Space, reader: Reader, documents: list[FoundDocument], as_of_ms: int | None
) -> dict[tuple[int, int], MemoryItem]:
    """Return the items of documents by stream and number."""
    numbers: defaultdict[int, list[int]] = defaultdict(list)
    for document in documents:
        numbers[document.stream].append(document.entry)
    return {
        (stream, item.number): item
        for stream, of_stream in numbers.items()
        for item in space.notebooks.items(reader, space.transcript.head(reader, stream), of_stream, as_of_ms)
    }


def _linked(index: Index, found: list[FoundDocument], lent: Mapping[tuple[int, int], Lent]) -> Iterator[FoundDocument]:
    """Yield the documents of items that are lent something and are not among those that were found by themselves."""
    known = {(document.stream, document.entry) for document in found}
    for stream, entry in lent:
        if (stream, entry) not in known:
            yield FoundDocument(-1, stream, entry, index.time_of(stream, entry), 0.0, 0.0, {})


def _with_lent(candidate: Recalled, lent: Lent | None) -> Recalled:
    if lent is None:
        return candidate
    parts = candidate.parts | {"source": lent.share}
    return candidate._replace(parts=parts, relevance=max(candidate.relevance, lent.relevance))


def _candidate(
    sources: SourcePhases,
    item: MemoryItem,
    document: FoundDocument,
    question: AskedQuestion,
    asked: AskedRecall,
    now_ms: int,
) -> Recalled:
    gone = [is_gone(phase) for phase in sources.left(item)]
    circumstances = ItemCircumstances(
        state=evidence_state(item, now_ms, is_source_gone=sources.rests_on_lost(item.evidence)),
        sources_shown=gone.count(False),
        is_of_conversation=any(map(asked.scope.goes_on_in, item.evidence)),
    )
    return Recalled(
        plane=RecallPlane(item.plane),
        id=item.id,
        position=item.position,
        observed_ms=document.time_ms,
        relevance=document.relevance,
        parts=document.parts | item_parts(item, question, circumstances),
        ages=ages(item),
        source=item,
    )
