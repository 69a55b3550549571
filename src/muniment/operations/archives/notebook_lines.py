"""A notebook as the lines of a document: its events as the log has them, without what depends on the log.

A notebook belongs to the part of its subject, and is private material as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from muniment.events.memory_items import ItemMeta, ItemRetired
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
    steps = space.transcript.changes(reader, head).steps
    for row in reader.in_stream(head.stream, 2, head.seq):
        event = space.ledger.open(row)
        header, _ = space.ledger.header(row)
        is_erased = row.turn_seq is not None and phase_of(row.turn_seq, steps) is Phase.ERASED
        left_out.items(OmissionReason.ERASED, int(is_erased))
        yield EventLine(
            kind=row.kind,
            t=row.time,
            meta=Raw(encode(placed_in(event.meta, ""))),
            reason=header.reason,
            refs=dict(header.about),
            turn=row.turn_seq,
            target=row.target_seq,
            content=UNSET if row.turn_seq is None or is_erased else _content(space, event),
        )


def placed_in(meta: MetaBody, space: str) -> MetaBody:
    """Return a body of a notebook whose evidence is in a space of this name; an archive names none."""
    if isinstance(meta, ItemMeta | ItemRetired) and meta.evidence:
        return replace(meta, evidence=list(_placed(meta.evidence, space)))
    return meta


def _placed(evidence: Iterable[SourceEvidence], space: str) -> Iterator[SourceEvidence]:
    return (replace(source, space=space) for source in evidence)


def _content(space: Space, event: OpenedEvent) -> Raw | UnsetType:
    return Raw(encode(space.ledger.content(event)[1]))
