"""Erasures that were asked for and kept from happening: recorded in the stream of the space, and listed later.

One event for each conversation in which something was kept, or one for the whole space. A request that is repeated
while the same holds and policies keep the same turns is one request, and adds nothing. It says who asked, why and what
keeps it; nothing that was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from muniment.errors import Corrupt
from muniment.events.changes import LifecycleRequest, TurnSpan, span_of
from muniment.events.disclosures import ErasureRefusal, ErasureRefused
from muniment.events.identity import ConversationKey, SubjectId
from muniment.events.records import EventKind
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.log.port import Reader
from muniment.operations.lifecycle.guard import Judgements, last_of, length
from muniment.operations.lifecycle.report import RefusedErasure
from muniment.space.space import Space

KEPT_BY_MAX = 64  # holds and policies that an event names


class NotedRefusal(NamedTuple):
    """A refusal as the log has it: its position, the references of its header, its body."""

    position: int
    refs: Mapping[str, int]
    body: ErasureRefused


def append_refusals(space: Space, writer: Writer, judged: Iterable[Judgements], request: LifecycleRequest) -> None:
    """Record what was kept of a request, conversation by conversation; runs inside the write transaction."""
    for judgements in judged:
        if not judgements.kept:
            continue
        spans = [kept.span for kept in judgements.kept]
        refs = {"stream": judgements.turns.head.stream, "first": spans[0].first, "through": last_of(spans[-1])}
        if judgements.turns.message is not None:
            refs["message"] = judgements.turns.message
        positions = sorted({position for kept in judgements.kept for position in kept.verdict.by})
        _append(space, writer, request, refs, ErasureRefusal(turns=sum(map(length, spans)), kept_by=positions))


def append_space_refusal(
    space: Space, writer: Writer, judged: Iterable[Judgements], holds: list[int], request: LifecycleRequest
) -> None:
    """Record that the space was to be erased and was kept; runs inside the write transaction."""
    kept = [kept for judgements in judged for kept in judgements.kept]
    positions = sorted({*holds, *(position for each in kept for position in each.verdict.by)})
    refusal = ErasureRefusal(turns=sum(length(each.span) for each in kept), kept_by=positions)
    _append(space, writer, request, {"first": 1}, refusal)


def _append(
    space: Space, writer: Writer, request: LifecycleRequest, refs: dict[str, int], refusal: ErasureRefusal
) -> None:
    body = ErasureRefused(request=request, refusal=replace(refusal, kept_by=refusal.kept_by[:KEPT_BY_MAX]))
    for known in noted_refusals(space, writer.tx):
        again = replace(body, request=replace(request, requested_ms=known.body.request.requested_ms))
        if (dict(known.refs), known.body) == (refs, again):
            return
    writer.change(Change(EventKind.ERASURE_REFUSED, request.requested_ms, body, refs))
    writer.flush()  # what is folded next includes it


# --- reading ----------------------------------------------------------------------------------------------------------


def noted_refusals(space: Space, reader: Reader) -> Iterator[NotedRefusal]:
    """Yield every refusal of the space, complete or `Corrupt`, the newest first."""
    noted = space.transcript.changes(reader, space.transcript.head(reader, SPACE_STREAM)).noted
    for change in reversed(noted.get(EventKind.ERASURE_REFUSED, ())):
        row = reader.sealed(change.position)
        body = None if row is None else space.ledger.open(row).meta
        if row is None or not isinstance(body, ErasureRefused):
            raise Corrupt(at=f"position {change.position}", problem="rows_missing")
        yield NotedRefusal(change.position, space.ledger.header(row)[0].about, body)


def refused(noted: NotedRefusal, key: ConversationKey | None) -> RefusedErasure:
    """Return a refusal as reports list it."""
    request, span = noted.body.request, span_of(noted.refs)
    of_turns = "stream" in noted.refs
    return RefusedErasure(
        position=noted.position,
        requester=request.requester,
        reason=request.reason,
        requested_ms=request.requested_ms,
        kept_turns=noted.body.refusal.turns,
        kept_by=noted.body.refusal.kept_by,
        conversation=key,
        first=span.first if of_turns else None,
        last=span.last if of_turns else None,
        message=noted.refs.get("message"),
        subject=None if request.subject is None else SubjectId(request.subject),
    )


def concerns(noted: NotedRefusal, stream: int, spans: Iterable[TurnSpan]) -> bool:
    """Return whether a refusal is about any of these turns of a stream, or about the whole space."""
    if "stream" not in noted.refs:
        return True
    return noted.refs["stream"] == stream and any(span_of(noted.refs).overlaps(span) for span in spans)
