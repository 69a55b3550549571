"""What was said of the turns of a conversation after they were committed, folded from its events.

A change is an event of the stream with a target. Few streams have many, so all of a stream are read once and then kept
and grown; the head of the stream tells how many there must be (decision 0008). Kept are the steps and redactions that
decide what a page shows. Of every other kind only the places are kept, for those who read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from muniment.events.changes import REPLACED, Custody, RedactionReason, Span, Transition, TurnRedacted, span_of
from muniment.events.records import EventKind
from muniment.governance.lifecycle import Hold, Step
from muniment.governance.redaction import Redaction
from muniment.governance.views import View
from muniment.log.ledger import Ledger
from muniment.log.port import SealedRow

NOTHING: frozenset[int] = frozenset()


class Noted(NamedTuple):
    """Where a change of another kind stands, and the turns that it is about."""

    position: int
    span: Span


class Changes(Struct, frozen=True, kw_only=True):
    """All changes of a stream up to an event of it: `count` of them, up to `seq`. Whatever is by turn has its sequence.

    `replaced`: the stream is not found by its names any more. `steps` are transitions in log order, `holds` those in
    force by position, `erased` the messages that were erased alone, `redactions` and `noted` in log order.
    """

    seq: int = 0
    count: int = 0
    replaced: bool = False
    steps: tuple[Step, ...] = ()
    holds: Mapping[int, Hold] = {}
    erased: Mapping[int, frozenset[int]] = {}
    redactions: Mapping[int, tuple[Redaction, ...]] = {}
    noted: Mapping[EventKind, tuple[Noted, ...]] = {}

    def holds_on(self, turn: int) -> list[Hold]:
        """Return the holds in force on a turn, in log order."""
        return [hold for hold in self.holds.values() if hold.span.holds(turn)]


class Folding:
    """Grows the changes of a stream by further events."""

    def __init__(self, ledger: Ledger, known: Changes) -> None:
        self._ledger = ledger
        self._count = known.count
        self._replaced = known.replaced
        self._steps = list(known.steps)
        self._holds = dict(known.holds)
        self._erased = dict(known.erased)
        self._redactions = dict(known.redactions)
        self._noted = dict(known.noted)

    def grown(self, rows: Iterable[SealedRow], seq: int) -> Changes:
        """Return the changes with those rows taken, which end at a seq."""
        for row in rows:
            self._take(row)
        return Changes(
            seq=seq,
            count=self._count,
            replaced=self._replaced,
            steps=tuple(self._steps),
            holds=self._holds,
            erased=self._erased,
            redactions=self._redactions,
            noted=self._noted,
        )

    def _take(self, row: SealedRow) -> None:
        self._count += 1
        if row.kind == EventKind.TURN_LIFECYCLE:
            self._lifecycle(row)
        elif row.kind == EventKind.TURN_REDACTED:
            self._redacted(row)
        else:
            self._ledger.keys_of(row)
            header, _ = self._ledger.header(row)
            kind = EventKind(row.kind)
            self._noted[kind] = (*self._noted.get(kind, ()), Noted(row.position, span_of(header.refs)))

    def _lifecycle(self, row: SealedRow) -> None:
        self._ledger.keys_of(row)
        header, _ = self._ledger.header(row)
        assert header.reason is not None, "a change names what it does"
        span, message = span_of(header.refs), header.refs.get("message")
        self._replaced = self._replaced or REPLACED in header.refs
        if header.reason == Custody.HOLD:
            self._holds[row.position] = Hold(position=row.position, span=span)
        elif header.reason == Custody.RELEASE:
            self._holds.pop(header.refs["hold"], None)
        elif message is not None:
            self._erased[span.first] = self._erased.get(span.first, NOTHING) | {message}
        else:
            assert span.last is not None, "a transition is of turns that are there"
            self._steps.append(Step(Transition(header.reason), span.first, span.last))

    def _redacted(self, row: SealedRow) -> None:
        opened = self._ledger.open(row)
        header, _ = self._ledger.header(row)
        meta, turn = opened.meta, header.refs["turn"]
        assert isinstance(meta, TurnRedacted), "rows of this kind have this body"
        redaction = Redaction(
            position=row.position,
            target=meta.target,
            views=frozenset(View(view) for view in meta.views),
            reason=RedactionReason(header.reason or ""),
        )
        self._redactions[turn] = (*self._redactions.get(turn, ()), redaction)
