"""Going on with an erasure that a crash interrupted between two of its steps.

Its first event says what was asked for: the turns of a subject, or those of the conversation that the event is in, and
whether memory items go along. Of the turns, what was committed after that event is left alone.
"""

from __future__ import annotations

from bisect import bisect_left

from muniment.errors import Corrupt
from muniment.events.changes import WITH_MEMORY, TurnSpan
from muniment.events.records import LifecycleBody
from muniment.log.port import Reader, SealedRow
from muniment.operations.lifecycle.erasure import Erasure
from muniment.operations.lifecycle.scope import Turns
from muniment.operations.lifecycle.targets import (
    ConversationTarget,
    SubjectTarget,
    Target,
    TurnsTarget,
    WithMemory,
    key_of,
)
from muniment.space.space import Space


def resume_erasure(space: Space, position: int) -> None:
    """Complete the erasure whose first event is at a position."""
    with space.ledger.reader() as reader:
        row = reader.sealed(position)
        meta = None if row is None else space.ledger.open(row).meta
        if row is None or not isinstance(meta, LifecycleBody):
            raise Corrupt(at=f"position {position}", problem="rows_missing")
        target = _target(space, reader, row, meta.request.subject)
    target.prepare()
    with space.ledger.reader() as reader:
        left = [_before(reader, turns, position) for turns in target.turns(reader)]
    chosen = {turns.key: (turns.head.stream, list(turns.spans)) for turns in left if turns.spans}
    rest: Target = TurnsTarget(space, chosen)
    if WITH_MEMORY in space.ledger.header(row)[0].refs:
        rest = WithMemory(rest)
    Erasure(space, rest, meta.request, resumes=position).run()


def _target(space: Space, reader: Reader, row: SealedRow, subject: str | None) -> Target:
    """Return what was asked for; of items that were forgotten one by one there is only one step."""
    if subject is not None:
        return SubjectTarget(space, subject, lambda *_: None)
    opening = reader.sealed(row.stream)
    assert opening is not None, "an event follows the opening of its stream"
    return ConversationTarget(space, key_of(space.transcript.names(opening)), None)


def _before(reader: Reader, turns: Turns, position: int) -> Turns:
    """Return what of turns was committed before a position."""
    stream = turns.head.stream
    numbers = range(1, turns.head.turns + 1)
    last = bisect_left(numbers, position, key=lambda number: reader.turns(stream, number, number)[0].position)
    spans = (TurnSpan(span.first, min(span.last or last, last)) for span in turns.spans if span.first <= last)
    return turns._replace(spans=tuple(spans))
