"""The certificate of an erasure: a document for the one whose content it was, which anyone can check offline.

One request may be several events, in one conversation or in several; a certificate is about all of them. It discloses
the request, the names of the conversations and the ids of the turns, but of memory items and tool registries only how
many there were. It proves with the tree that all of these are in the log (`evidence.bundle`, `evidence.verifier`). What
no log can prove is stated beside it and signed: what was found when the certificate was made, and what is outside. A
certificate is only made when nothing of the content is left.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.declaration.operation import Document
from muniment.declaration.session import Session
from muniment.errors import Corrupt, KeyMissing
from muniment.events.records import EventKind, RotationCause
from muniment.evidence.bundle import ErasureHead, bundle, event_line
from muniment.evidence.header import disclosures
from muniment.evidence.tree import root_at
from muniment.ledger.worded import readable_fields
from muniment.log.port import Reader, SealedRow
from muniment.operations.evidence.proof_document import EvidenceFormat, earlier_stamped, in_format, media_type_of
from muniment.operations.lifecycle.certified_erasure import ErasureEvent, count_of, erasure_at, experience_of
from muniment.operations.lifecycle.destroy import outside_of
from muniment.space.healing import Healing
from muniment.space.space import Space

__all__ = ["EvidenceFormat", "certificate"]

# what had content -> the kind of event that erases it
CONTENT_OF = {
    "turns": EventKind.TURN_LIFECYCLE,
    "memory items": EventKind.ITEM_RETIRED,
    "tool registries": EventKind.TOOLS_REMOVED,
}
REQUEST, DELIVERY = frozenset({"request", "request/reason"}), frozenset({"delivery"})
NAMES = frozenset({"channel", "conversation"})


def certificate(session: Session, position: int, wanted: EvidenceFormat) -> Document:
    """Return the certificate of the erasure that has an event at a position."""
    space = session.space
    size = space.checkpoint().checkpoint.size
    with space.ledger.reader() as reader:
        request, erased = erasure_at(space, reader, position, size)
        _require_gone(space, reader)
        lines = dict(_lines(space, reader, erased, size))
        experience = experience_of(space, reader, erased)
        outside = outside_of(
            space, reader, request.subject, {event.row.stream for event in erased if event.span is not None}
        )
        statement = {
            "content_left": 0,
            "made_ms": space.sources.clock.now_ms(),
            "outside": outside,
            "places": [list(place) for place in _places(space, erased, experience)],
        }
        head = ErasureHead(log=space.ledger.log, size=size, statement=statement, life=space.keys.life)
        note = space.notary.sign_erasure(reader, size, root_at(reader, size), statement)
        earlier = earlier_stamped(reader, max(lines), size)
        signers = space.notary.announced(space.ledger, reader, size)
        proved = b"".join(bundle(head, sorted(lines.items()), reader, note, earlier, signers))
    return Document(
        media_type=media_type_of(wanted),
        text=in_format(space, proved, wanted).decode(),
        summary={
            "erasures": len(erased),
            "erased_turns": count_of(erased, EventKind.TURN_LIFECYCLE),
            "erased_items": count_of(erased, EventKind.ITEM_RETIRED),
            "erased_experience": experience,
            "erased_registries": count_of(erased, EventKind.TOOLS_REMOVED),
            "erased_messages": sum(event.message is not None for event in erased),
            "size": size,
            "vkey": str(space.notary.key),
        },
    )


def _require_gone(space: Space, reader: Reader) -> None:
    """Raise when anything is left that the log calls erased: then there is nothing to certify."""
    if Healing(space.ledger, space.transcript).returned(reader):
        raise Corrupt(at="content", problem="content_left")
    if len(space.keys.versions) > 1:
        raise Corrupt(at="space key", problem="versions", found=len(space.keys.versions))


def _lines(space: Space, reader: Reader, erased: list[ErasureEvent], size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the line of each event of a certificate; turns up to the limit of a report."""
    remaining = space.limits.report_items_max
    for event in erased:
        yield event.row.position, _line(space, event.row, REQUEST)
        if event.span is None:
            continue
        opened = reader.sealed(event.row.stream)
        assert opened is not None, "a stream begins with its first event"
        yield opened.position, _line(space, opened, NAMES)
        last = min(event.span.last or 0, event.span.first + remaining - 1)
        for row in reader.turns(event.row.stream, event.span.first, last):
            remaining -= 1
            yield row.position, _line(space, row, DELIVERY)
    rotated = next(reader.of_kind(EventKind.KEY_ROTATED, erased[-1].row.position), None)
    if rotated is not None and rotated.position < size:
        header, exact = space.ledger.header(rotated)
        if header.reason == RotationCause.ERASURE:
            yield rotated.position, event_line(exact, {})


def _line(space: Space, row: SealedRow, labels: frozenset[str]) -> bytes:
    """Return the line of an event with these of its fields; one that does not open any more discloses nothing."""
    header, exact = space.ledger.header(row)
    try:
        parts = readable_fields(space.ledger, space.ledger.open(row))
    except (Corrupt, KeyMissing):
        return event_line(exact, {})
    told = [(salts, [field for field in fields if field[0] in labels]) for salts, fields in parts]
    return event_line(exact, disclosures(header, told))


def _places(space: Space, erased: list[ErasureEvent], experience: int) -> Iterator[tuple[str, str]]:
    """Yield what was found when the certificate was made, and what every erasure does before it returns."""
    messages = sum(event.message is not None for event in erased)
    for what, kind in CONTENT_OF.items():
        if count := count_of(erased, kind):
            among = (
                f", {experience} of them experience with tools" if kind is EventKind.ITEM_RETIRED and experience else ""
            )
            yield f"content of the {what}", f"{count} checked{among}: no content and no key of it is left"
    if messages:
        yield "content of the messages", f"{messages} checked: none is left; the former key of the turn was destroyed"
    yield "content recorded beside the turns", "checked: none is left of turns that were erased"
    (version,) = space.keys.versions
    yield "space key", f"version {version} in force, no older one is left"
    yield "write-ahead log", "emptied by the erasure"
    yield "search indexes", "encrypted again without the content, or removed, by the erasure"
