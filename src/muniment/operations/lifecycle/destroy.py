"""Erasing turns and messages: the one thing that destroys, and its receipt.

In one write transaction: the events are appended, content keys and ciphertext removed (also of what was recorded beside
turns that are all erased), and the space key is rotated. Then the write-ahead log is emptied and the old space key is
destroyed; only then the caller gets its report. What goes is decided by the guard inside the transaction, so that
everything that was committed in between is decided, too.

Nothing has to be decrypted to be destroyed. Content whose cells or keys do not open any more is destroyed as well, once
the header of its turn and the tree have proved which turn it is. Only one message alone cannot be taken out of content
that does not open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from muniment.events.changes import LifecycleRequest, Transition, TurnLifecycle, span_refs
from muniment.events.records import AliasRecorded, EventKind, RotationCause
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.operations.lifecycle.guard import Guard, Judgements
from muniment.operations.lifecycle.receipt import OUTSIDE, erased_places, event_proof
from muniment.operations.lifecycle.refusals import append_refusals
from muniment.operations.lifecycle.report import ErasureReceipt
from muniment.operations.lifecycle.scope import Target, turns_of
from muniment.projections.change_fold import Changes, lost_in_conversation
from muniment.projections.space_words import lost_in_space
from muniment.space.healing import erase_content, erase_messages
from muniment.space.rotation import Rotation
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.operations.approvals.gate import GuardedRequest

# kind of event -> what left the store with it
DISCLOSED: dict[EventKind, str] = {
    EventKind.EXPORT_ISSUED: "the certified export issued",
    EventKind.CONTENT_REVEALED: "what was revealed",
    EventKind.CONTEXT_ISSUED: "the recorded context of a prompt",
}


class ErasureOutcome(NamedTuple):
    """What an erasure did in its transaction: its events, the streams they are in, and what was destroyed."""

    positions: list[int]
    streams: set[int]
    counts: Counter[str]


def destroy_turns(
    space: Space,
    target: Target,
    request: LifecycleRequest,
    *,
    requested: bool = True,
    guarded: GuardedRequest | None = None,
) -> ErasureReceipt | None:
    """Destroy content; return the receipt, or None when nothing was left to destroy.

    Without `requested` only what policies call due is destroyed, which was approved with the policy. What was requested
    and is kept is recorded.
    """

    def plan(writer: Writer) -> ErasureOutcome:
        judged = judged_turns(space, writer.tx, target, request.requested_ms, requested=requested)
        going = [judgements for judgements in judged if judgements.spans]
        if going and guarded is not None:
            guarded.spend(writer)
        if requested:
            append_refusals(space, writer, judged, request)
        streams = {judgements.turns.head.stream for judgements in going}
        before = [space.transcript.changes(writer.tx, judgements.turns.head) for judgements in going]
        positions = [position for judgements in going for position in _append(writer, judgements, request)]
        writer.flush()
        counts: Counter[str] = Counter()
        for judgements, changes in zip(going, before, strict=True):
            counts.update(_destroy(space, writer, judgements, changes, positions[0]))
        return ErasureOutcome(positions, streams, counts)

    rotation = space.rotate(RotationCause.ERASURE, plan)
    return _receipt(space, request.subject, rotation) if rotation.outcome.positions else None


# --- inside the transaction -------------------------------------------------------------------------------------------


def judged_turns(space: Space, reader: Reader, target: Target, now_ms: int, *, requested: bool) -> list[Judgements]:
    """Judge the turns of a target in one state of the log: requested by somebody, or only due under the policies."""
    guard = Guard(space, reader, now_ms)
    return [guard.judge(turns, requested=requested) for turns in target.turns(reader)]


def _append(writer: Writer, judgements: Judgements, request: LifecycleRequest) -> Iterator[int]:
    turns = judgements.turns
    for span in judgements.events:
        refs = span_refs(span)
        if turns.message is not None:
            refs["message"] = turns.message
        body = TurnLifecycle(request=request)
        change = Change(EventKind.TURN_LIFECYCLE, request.requested_ms, body, refs, Transition.ERASE)
        yield writer.change(change, turns.head.stream).position


def _destroy(space: Space, writer: Writer, judgements: Judgements, before: Changes, first: int) -> Iterator[str]:
    """Destroy the content of turns; yield a word for each thing that was destroyed."""
    head, message = judgements.turns.head, judgements.turns.message
    for span in judgements.spans:
        for row in turns_of(writer.tx, head.stream, span):
            if message is not None:
                erase_messages(space.ledger, writer, row, frozenset({message}))
                yield "message"
                continue
            is_destroyed, is_blind = erase_content(writer, row)
            if is_destroyed:
                yield "content"
            if is_blind:
                yield "blind"
    after = before.erasing(judgements.events, message, first)
    told = lost_in_space(space.ledger, writer.tx, lambda stream: after if stream == head.stream else None)
    for position in (*lost_in_conversation(after), *told):
        row_beside = writer.tx.sealed(position)
        if row_beside is not None and writer.destroy_content(row_beside):
            yield "beside"


# --- the receipt ------------------------------------------------------------------------------------------------------


def _receipt(space: Space, subject: str | None, rotation: Rotation[ErasureOutcome]) -> ErasureReceipt:
    outcome = rotation.outcome
    position = outcome.positions[0]
    signed = space.with_reserve(space.checkpoint)
    with space.ledger.reader() as reader:
        outside = outside_of(space, reader, subject, outcome.streams)
        leaf, proof = event_proof(space, reader, position, signed.checkpoint.size, signed.note)
    return ErasureReceipt(
        position=position,
        leaf=leaf,
        turns_erased=outcome.counts["content"],
        places=list(erased_places(outcome.counts, rotation)),
        outside=outside,
        proof=proof,
        positions=outcome.positions[: space.limits.report_items_max],
    )


def outside_of(space: Space, reader: Reader, subject: str | None, streams: set[int]) -> list[str]:
    """Return what an erasure in these conversations cannot reach."""
    disclosed = islice(_disclosed(space, reader, streams), space.limits.report_items_max)
    return [*OUTSIDE, *_aliases(space, reader, subject), *disclosed]


def _disclosed(space: Space, reader: Reader, streams: set[int]) -> Iterator[str]:
    """Yield where content of these conversations left the store on record."""
    for kind, what in DISCLOSED.items():
        for row in reader.of_kind(kind):
            if space.ledger.header(row)[0].about.get("stream") in streams:
                yield f"{what} at position {row.position}"


def _aliases(space: Space, reader: Reader, subject: str | None) -> Iterator[str]:
    """Yield what stays of the name of a subject whose turns were all erased."""
    if subject is None:
        return
    metas = (space.ledger.open(row).meta for row in reader.of_kind(EventKind.ALIAS_RECORDED))
    count = sum(isinstance(meta, AliasRecorded) and meta.subject == subject for meta in metas)
    yield f"the name of the subject, sealed: in who spoke, in the events of this erasure, and in {count} chat ids"
