"""A notebook as the lines of a document: its events as the log has them, without what depends on the log.

A notebook belongs to the part of its subject, and is private material as a whole. Proposals and the words of policies
are entries of this space and stay: the others are numbered without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from muniment.events.changes import TurnSpan, span_of, span_refs
from muniment.events.memory_items import EntryRole, ItemMeta, ItemRetired, ItemRevised
from muniment.events.records import MetaBody
from muniment.events.references import SourceEvidence
from muniment.governance.phases import Phase, phase_of
from muniment.ledger.ledger import OpenedEvent
from muniment.log.port import Reader, StreamHead
from muniment.operations.archives.document import EventLine, NotebookLine, encode
from muniment.operations.archives.omissions import ArchiveOmissions, OmissionReason
from muniment.space.space import Space


def notebook_lines(
    space: Space, reader: Reader, head: StreamHead, left_out: ArchiveOmissions
) -> Iterator[NotebookLine | EventLine]:
    """Yield the line of a notebook and those of its events, as one snapshot has them."""
    opened, first = space.notebooks.opening(reader, head.stream), reader.sealed(head.stream)
    assert first is not None, "it was opened"
    yield NotebookLine(subject=opened.subject, plane=opened.plane, t=first.time)
    steps, numbers = space.transcript.changes(reader, head).steps, dict[int, int]()
    for row in reader.in_stream(head.stream, 2, head.seq):
        event = space.ledger.open(row)
        header, _ = space.ledger.header(row)
        if isinstance(event.meta, ItemMeta):
            if event.meta.entry.role is not EntryRole.ITEM:
                left_out.items(OmissionReason.NO_ITEM, 1)
                continue
            numbers[row.turn_seq or 0] = len(numbers) + 1
        refs = _renumbered(header.about, numbers) if row.turn_seq is None else {}
        if refs is None:
            continue
        is_erased = row.turn_seq is not None and phase_of(row.turn_seq, steps) is Phase.ERASED
        left_out.items(OmissionReason.ERASED, int(is_erased))
        yield EventLine(
            kind=row.kind,
            t=row.time,
            meta=Raw(encode(placed_in(event.meta, ""))),
            reason=header.reason,
            refs=refs,
            turn=numbers.get(row.turn_seq or 0),
            target=row.target_seq if not row.target_seq else refs.get("turn", row.target_seq),
            content=UNSET if row.turn_seq is None or is_erased else _content(space, event),
        )


def _renumbered(about: Mapping[str, int], numbers: Mapping[int, int]) -> dict[str, int] | None:
    """Return what a change is about in the numbers of the document, or None where that is nothing in it."""
    span = span_of(about)
    kept = [number for entry, number in numbers.items() if span.includes(entry)]
    return span_refs(TurnSpan(kept[0], kept[-1])) if kept else None


def placed_in(meta: MetaBody, space: str) -> MetaBody:
    """Return a body of a notebook whose evidence is in a space of this name; an archive names none."""
    if isinstance(meta, ItemMeta | ItemRetired) and meta.evidence:
        return replace(meta, evidence=list(_placed(meta.evidence, space)))
    if isinstance(meta, ItemRevised) and meta.revision.evidence:
        evidence = list(_placed(meta.revision.evidence, space))
        return replace(meta, revision=replace(meta.revision, evidence=evidence))
    return meta


def _placed(evidence: Iterable[SourceEvidence], space: str) -> Iterator[SourceEvidence]:
    return (replace(source, space=space) for source in evidence)


def _content(space: Space, event: OpenedEvent) -> Raw | UnsetType:
    return Raw(encode(space.ledger.content(event)[1]))
