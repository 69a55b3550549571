"""The items that a recall finds: those of the planes of its subject, as they are or as they were known at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain

from muniment.declaration.session import Session
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem, evidence_state
from muniment.memory.recall_scoring import AskedQuestion, ItemCircumstances, ages, item_parts
from muniment.operations.memory.item_index import ItemIndex
from muniment.operations.memory.recall_report import AskedRecall, RecallPlane
from muniment.operations.memory.recalled import POOL_FACTOR, PlaneCount, Recalled, RecalledBatch
from muniment.operations.memory.recalled_messages import index_weights
from muniment.operations.memory.source_phases import is_gone, is_retelling_hidden, source_phase
from muniment.ranking.question import ParsedQuestion, Question
from muniment.search.found_documents import FoundDocument, found_documents
from muniment.search.index import Index
from muniment.search.item_documents import known_partitions
from muniment.space.space import Space


def recalled_items(session: Session, asked: AskedRecall, opened: ItemIndex, question: Question) -> RecalledBatch:
    """Return the best items of the planes that are asked for."""
    space, (index, reader, semantic, reason) = session.space, opened
    shown = {plane: known_partitions(index, plane, asked.subject) for plane in asked.item_planes}
    hidden = {plane: known_partitions(index, plane, asked.subject, is_hidden=True) for plane in asked.item_planes}
    rows, weights = index.within(chain(*shown.values()), question.asked_ms), index_weights(asked.weights, linked=False)
    found = found_documents(index, question, rows, weights, POOL_FACTOR * asked.limit)
    withheld = index.counts(index.within(chain(*hidden.values()), question.asked_ms))
    items = _read(space, reader, found.documents, asked.scope.as_of_ms)
    compared = _compared(found.question, question.text, index)
    candidates = [
        _candidate(space, reader, item, document, compared, asked)
        for document in found.documents
        if not is_retelling_hidden(space, reader, item := items[document.stream, document.entry])
    ]
    counts = {
        RecallPlane(plane): PlaneCount(
            _total(found.candidates, names), _total(found.matched, names), _total(withheld, hidden[plane])
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


def _compared(parsed: ParsedQuestion, text: str, index: Index) -> AskedQuestion:
    terms = frozenset(term for phrase in parsed.searched for term in phrase)
    return AskedQuestion(text, terms, index.terms)


def _candidate(
    space: Space,
    reader: Reader,
    item: MemoryItem,
    document: FoundDocument,
    question: AskedQuestion,
    asked: AskedRecall,
) -> Recalled:
    gone = [is_gone(source_phase(space, reader, source)) for source in item.meta.evidence]
    circumstances = ItemCircumstances(
        state=evidence_state(item, space.sources.clock.now_ms(), is_source_gone=any(gone)),
        sources_shown=gone.count(False),
        is_of_conversation=any(map(asked.scope.goes_on_in, item.meta.evidence)),
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
