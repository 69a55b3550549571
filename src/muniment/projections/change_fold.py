"""What was said of the turns of a conversation after they were committed, folded from its events.

A change is an event of the stream with a target. Few streams have many, so all of a stream are read once and then kept
and grown; the head of the stream counts them (decision 0008). The fold keeps the steps and redactions that decide what
a page shows, and the position of the newest event of each attribute. Of every change it keeps the position and the
turns that its header names, whatever its kind: what a person wrote in it goes with them (decision 0158).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

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
from muniment.events.records import LIFECYCLES, EventKind
from muniment.governance.phases import Hold, Step
from muniment.governance.redaction import Redaction
from muniment.governance.views import View
from muniment.ledger.ledger import Ledger
from muniment.log.port import SealedRow
from muniment.projections.attribute_index import AttributeIndex, AttributeIndexBuilder, LatestAttribute

NOTHING: frozenset[int] = frozenset()


class NotedChange(NamedTuple):
    """The position of a change, the turns that it is about, and the message if it names one."""

    position: int
    span: TurnSpan
    message: int | None = None


class Changes(Struct, frozen=True, kw_only=True):
    """All changes of a stream up to an event of it: `count` of them, up to `seq`. Whatever is by turn has its sequence.

    `replaced`: the stream is not found by its names any more. `steps` are transitions in log order, `holds` those in
    force by position, `erased` the messages that were erased alone, `erasures` those of whole turns, `redactions` and
    `noted` (all but `erasures`) in log order.
    """

    seq: int = 0
    count: int = 0
    replaced: bool = False
    steps: tuple[Step, ...] = ()
    holds: Mapping[int, Hold] = {}
    erased: Mapping[int, frozenset[int]] = {}
    erasures: tuple[NotedChange, ...] = ()
    redactions: Mapping[int, tuple[Redaction, ...]] = {}
    noted: Mapping[str, tuple[NotedChange, ...]] = {}
    attributes: AttributeIndex = AttributeIndex()

    def erasing(self, spans: Sequence[TurnSpan], message: int | None, position: int) -> Changes:
        """Return the changes with an erasure, whose events follow from this position on, as far as they say what went.

        It is of these turns, or of one message of the one turn.
        """
        if message is not None:
            turn = spans[0].first
            return replace(self, erased={**self.erased, turn: self.erased.get(turn, NOTHING) | {message}})
        steps = tuple(Step(Transition.ERASE, span.first, span.last or span.first) for span in spans)
        erasures = tuple(NotedChange(position, span) for span in spans)
        return replace(self, steps=self.steps + steps, erasures=self.erasures + erasures)

    def rows(self) -> list[object]:
        """Return all that is known as plain data, in the order of its keys."""
        noted = [
            [kind, [[change.position, *change.span, change.message] for change in changes]]
            for kind, changes in sorted(self.noted.items())
        ]
        erasures = [[erasure.position, *erasure.span] for erasure in self.erasures]
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
            erasures,
            redactions,
            noted,
            self.attributes.rows(),
        ]


def lost_in_conversation(changes: Changes) -> list[int]:
    """Return the positions of changes whose own content is gone with a turn, or message, that they are about.

    It goes with the first of those turns that is erased later: what was said of several may be about any. What is said
    of turns after they were erased stays. An erasure says why something is gone and keeps that; one of a message goes
    with its turn.
    """
    noted = [change for changes_of_kind in changes.noted.values() for change in changes_of_kind]
    if not noted or not (changes.erasures or changes.erased):
        return []
    alone = {erasure.span.first: erasure.position for erasure in changes.erasures if erasure.span.is_single}
    several = [erasure for erasure in changes.erasures if not erasure.span.is_single]

    def is_lost(change: NotedChange) -> bool:
        span, later = change.span, several if change.span.is_single else changes.erasures
        if change.message is not None and change.message in changes.erased.get(span.first, NOTHING):
            return True
        if span.is_single and alone.get(span.first, -1) > change.position:
            return True
        return any(erasure.position > change.position and erasure.span.overlaps(span) for erasure in later)

    return sorted(change.position for change in noted if is_lost(change))


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
        self._erasures = list(known.erasures)
        self._redactions = dict(known.redactions)
        self._known = known.noted
        self._noted: defaultdict[str, list[NotedChange]] = defaultdict(list)
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
            erasures=tuple(self._erasures),
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

    def _note(self, row: SealedRow) -> NotedChange:
        header, _ = self._ledger.header(row)
        return self._keep(row, NotedChange(row.position, span_of(header.about), header.refs.get("message")))

    def _keep(self, row: SealedRow, noted: NotedChange) -> NotedChange:
        self._noted[row.kind].append(noted)
        return noted

    def _attribute(self, row: SealedRow) -> None:
        meta, noted = self._ledger.open(row).meta, self._note(row)
        assert isinstance(meta, AttributeRecorded), "rows of this kind have this body"
        self._attributes.add(noted.span.first, meta.attribute.id, LatestAttribute(row.position, noted.message))

    def _lifecycle(self, row: SealedRow) -> None:
        self._ledger.unsealed(row)
        header, _ = self._ledger.header(row)
        span, message = span_of(header.about), header.refs.get("message")
        self._replaced = self._replaced or REPLACED in header.refs
        noted = NotedChange(row.position, span)
        if header.reason == Transition.ERASE and message is None:
            self._erasures.append(noted)
        else:
            self._keep(row, noted)
        if header.reason == Custody.HOLD:
            self._holds[row.position] = Hold(position=row.position, span=span, subject=self._subject(row))
        elif header.reason == Custody.RELEASE:
            self._holds.pop(header.about["hold"], None)
        elif message is not None:
            self._erased[span.first] = self._erased.get(span.first, NOTHING) | {message}
            self._forget_ranges(span, message)
        else:
            if span.last is None:  # a transition is of turns that are there
                raise Corrupt(at=f"position {row.position}", problem="change")
            step = Step(Transition(header.reason or ""), span.first, span.last)
            self._steps.append(step)
            if step.transition is Transition.ERASE:
                self._forget_ranges(span, None)

    def _forget_ranges(self, span: TurnSpan, message: int | None) -> None:
        """Forget where redactions of erased words began and ended."""
        for turn in [turn for turn in self._redactions if span.includes(turn)]:
            self._redactions[turn] = tuple(
                replace(known, target=replace(known.target, start=None, end=None))
                if message in {None, known.target.message}
                else known
                for known in self._redactions[turn]
            )

    def _subject(self, row: SealedRow) -> str | None:
        meta = self._ledger.open(row).meta
        assert isinstance(meta, TurnLifecycle), "rows of this kind have this body"
        return meta.request.subject

    def _redacted(self, row: SealedRow) -> None:
        meta, turn = self._ledger.open(row).meta, self._note(row).span.first
        header, _ = self._ledger.header(row)
        assert isinstance(meta, TurnRedacted), "rows of this kind have this body"
        redaction = Redaction(
            position=row.position,
            target=meta.target,
            views=frozenset(View(view) for view in meta.views),
            reason=RedactionReason(header.reason or ""),
        )
        self._redactions[turn] = (*self._redactions.get(turn, ()), redaction)
