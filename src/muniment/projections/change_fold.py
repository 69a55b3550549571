"""What was said of the turns of a conversation after they were committed, folded from its events.

A change is an event of the stream with a target. Few streams have many, so all of a stream are read once and then kept
and grown; the head of the stream counts them (decision 0008). The fold keeps the steps and redactions that decide what
a page shows, and the position of the newest event of each attribute. Of every other kind it keeps positions, for those
who read them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from muniment.errors import Corrupt
from muniment.events.attributes import AttributeRecorded
from muniment.events.changes import (
    REPLACED,
    Custody,
    RedactionReason,
    Transition,
    TurnLifecycle,
    TurnRedacted,
    TurnSpan,
    span_of,
)
from muniment.events.records import CONTENT_BODIES, LIFECYCLES, EventKind
from muniment.governance.phases import Hold, Phase, PhaseRun, Step, runs
from muniment.governance.redaction import Redaction
from muniment.governance.views import View
from muniment.ledger.ledger import Ledger
from muniment.log.port import SealedRow
from muniment.projections.attribute_index import AttributeIndex, AttributeIndexBuilder, LatestAttribute

NOTHING: frozenset[int] = frozenset()


class OtherChange(NamedTuple):
    """The position of a change of another kind, the turns that it is about, and the message if it names one."""

    position: int
    span: TurnSpan
    message: int | None = None


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
    noted: Mapping[str, tuple[OtherChange, ...]] = {}
    attributes: AttributeIndex = AttributeIndex()

    def rows(self) -> list[object]:
        """Return all that is known as plain data, in the order of its keys."""
        noted = [
            [kind, [[change.position, *change.span, change.message] for change in changes]]
            for kind, changes in sorted(self.noted.items())
        ]
        redactions = [
            [turn, [[change.position, change.target, sorted(change.views), change.reason] for change in changes]]
            for turn, changes in sorted(self.redactions.items())
        ]
        return [
            self.seq,
            self.count,
            self.replaced,
            [[step.transition, step.first, step.last] for step in self.steps],
            [[at, *hold.span, hold.subject] for at, hold in sorted(self.holds.items())],
            [[turn, sorted(places)] for turn, places in sorted(self.erased.items())],
            redactions,
            noted,
            self.attributes.rows(),
        ]


def beside(changes: Changes, turns: int) -> list[int]:
    """Return the positions of changes that have content of their own about turns, or messages, that are all erased.

    Content about several turns goes with the last of them; content about turns that are still to come stays.
    """
    noted = [change for kind in CONTENT_BODIES for change in changes.noted.get(kind, ())]
    if not noted:
        return []
    gone = [run for run in runs(turns, changes.steps) if run.phase is Phase.ERASED]
    return sorted(change.position for change in noted if _is_erased(change, gone, changes.erased))


def _is_erased(noted: OtherChange, gone: list[PhaseRun], erased: Mapping[int, frozenset[int]]) -> bool:
    if noted.message is not None and noted.message in erased.get(noted.span.first, NOTHING):
        return True
    if noted.span.last is None:
        return False
    first = noted.span.first
    for run in gone[max(0, bisect_right(gone, first, key=_first) - 1) :]:
        if not run.first <= first <= run.last:
            return False
        first = run.last + 1
        if first > noted.span.last:
            return True
    return False


def _first(run: PhaseRun) -> int:
    return run.first


class NewestChange(NamedTuple):
    """The newest change of a stream that was folded: its seq, its position and its leaf."""

    seq: int
    position: int
    leaf: bytes


class ChangesBuilder:
    """Grows the changes of a stream by further events; `newest` is the last of them that was taken."""

    def __init__(self, ledger: Ledger, known: Changes, newest: NewestChange | None = None) -> None:
        self.newest = newest
        self._ledger = ledger
        self._count = known.count
        self._replaced = known.replaced
        self._steps = list(known.steps)
        self._holds = dict(known.holds)
        self._erased = dict(known.erased)
        self._redactions = dict(known.redactions)
        self._known = known.noted
        self._noted: defaultdict[str, list[OtherChange]] = defaultdict(list)
        self._attributes = AttributeIndexBuilder(known.attributes)

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
            noted={**self._known, **{kind: (*self._known.get(kind, ()), *new) for kind, new in self._noted.items()}},
            attributes=self._attributes.grown(),
        )

    def _take(self, row: SealedRow) -> None:
        self._count += 1
        try:
            self._fold(row)
        except (KeyError, ValueError):  # an unknown word, or nothing that it is about
            raise Corrupt(at=f"position {row.position}", problem="change") from None
        self.newest = NewestChange(row.seq, row.position, row.leaf)

    def _fold(self, row: SealedRow) -> None:
        if row.kind in LIFECYCLES:
            self._lifecycle(row)
        elif row.kind == EventKind.TURN_REDACTED:
            self._redacted(row)
        elif row.kind == EventKind.ATTR_RECORDED:
            self._attribute(row)
        else:
            self._ledger.unsealed(row)
            self._note(row)

    def _note(self, row: SealedRow) -> OtherChange:
        header, _ = self._ledger.header(row)
        noted = OtherChange(row.position, span_of(header.about), header.about.get("message"))
        self._noted[row.kind].append(noted)
        return noted

    def _attribute(self, row: SealedRow) -> None:
        meta, noted = self._ledger.open(row).meta, self._note(row)
        assert isinstance(meta, AttributeRecorded), "rows of this kind have this body"
        self._attributes.add(noted.span.first, meta.attribute.id, LatestAttribute(row.position, noted.message))

    def _lifecycle(self, row: SealedRow) -> None:
        self._ledger.unsealed(row)
        header, _ = self._ledger.header(row)
        span, message = span_of(header.about), header.about.get("message")
        self._replaced = self._replaced or REPLACED in header.about
        if header.reason == Custody.HOLD:
            self._holds[row.position] = Hold(position=row.position, span=span, subject=self._subject(row))
        elif header.reason == Custody.RELEASE:
            self._holds.pop(header.about["hold"], None)
        elif message is not None:
            self._erased[span.first] = self._erased.get(span.first, NOTHING) | {message}
        else:
            if span.last is None:  # a transition is of turns that are there
                raise Corrupt(at=f"position {row.position}", problem="change")
            self._steps.append(Step(Transition(header.reason or ""), span.first, span.last))

    def _subject(self, row: SealedRow) -> str | None:
        meta = self._ledger.open(row).meta
        assert isinstance(meta, TurnLifecycle), "rows of this kind have this body"
        return meta.request.subject

    def _redacted(self, row: SealedRow) -> None:
        opened = self._ledger.open(row)
        header, _ = self._ledger.header(row)
        meta, turn = opened.meta, header.about["turn"]
        assert isinstance(meta, TurnRedacted), "rows of this kind have this body"
        redaction = Redaction(
            position=row.position,
            target=meta.target,
            views=frozenset(View(view) for view in meta.views),
            reason=RedactionReason(header.reason or ""),
        )
        self._redactions[turn] = (*self._redactions.get(turn, ()), redaction)
