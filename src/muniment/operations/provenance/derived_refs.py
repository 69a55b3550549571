"""Derived references as the reports of the lifecycle list them: what was derived from turns that a change concerns."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from msgspec import Struct

from muniment.events.changes import TurnSpan
from muniment.events.records import EventKind
from muniment.events.references import Plane, RefDerived, SourceEvidence
from muniment.log.port import Reader, StreamHead
from muniment.space.space import Space

CITED = "transcript"


def citation(source: SourceEvidence) -> str:
    """Return a source as people cite it; for showing, never to be read again."""
    place = "/".join(quote(part, safe="") for part in (source.space, source.channel, source.conversation))
    named = {"turn": source.turn, "through": source.through, "message": source.message}
    marks = "".join(f"#{name}={quote(text, safe='')}" for name, text in named.items() if text is not None)
    return f"{CITED}:{place}{marks}"


class DerivedRef(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of memory that was derived from turns that a change concerns; somebody may want to decide about it."""

    position: int
    plane: Plane
    key: str
    subject: str
    citation: str


def derived_refs(
    space: Space, reader: Reader, head: StreamHead, affected: Sequence[TurnSpan], limit: int
) -> tuple[list[DerivedRef], int]:
    """Return the references whose sources are among the affected turns, as many as fit, and how many there are."""
    noted = space.transcript.changes(reader, head).noted.get(EventKind.REF_DERIVED, ())
    concerned = [change for change in noted if any(change.span.overlaps(span) for span in affected)]
    listed: list[DerivedRef] = []
    for change in concerned[:limit]:
        row = reader.sealed(change.position)
        assert row is not None, "it was read when the changes were folded"
        meta = space.ledger.open(row).meta
        assert isinstance(meta, RefDerived), "rows of this kind have this body"
        listed.append(
            DerivedRef(
                position=change.position,
                plane=meta.plane,
                key=meta.key,
                subject=meta.subject,
                citation=citation(meta.source),
            )
        )
    return listed, len(concerned)
