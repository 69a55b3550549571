"""Which turns may be erased and which are kept: the rules of `governance.custody` for one state of a log.

Holds of turns and conversations are events of the conversation; holds of subjects and of the space, and the policies,
are events of the space. Rows of turns are only read where the decision depends on when a turn was committed or whose it
is. The owner of a turn that no longer opens is unknown, so every hold of a subject keeps it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import PolicySet, TurnSpan
from muniment.events.identity import SubjectId
from muniment.events.records import EventKind, TurnMeta
from muniment.governance.custody import (
    KEEPS,
    PolicyInForce,
    RetentionTerms,
    Rule,
    in_force,
    ruling,
    subjects_of,
    terms_of,
)
from muniment.governance.phases import Hold, Phase, PhaseRun, runs
from muniment.ledger.ledger import SPACE_STREAM
from muniment.log.port import Reader, SealedRow
from muniment.operations.lifecycle.scope import NotebookKey, Turns
from muniment.operations.lifecycle.targets import SpaceTarget, turns_of
from muniment.projections.change_fold import NOTHING, Changes
from muniment.space.space import Space


class Verdict(NamedTuple):
    """The rule that decides about a turn, and what it rests on: the positions of holds, or of a policy."""

    rule: Rule
    by: tuple[int, ...] = ()
    minimum_ms: int | None = None


class KeptTurns(NamedTuple):
    """Turns in question that stay, and the verdict that keeps them."""

    span: TurnSpan
    verdict: Verdict


class Judgements(NamedTuple):
    """What becomes of turns in question: those that go, the events that record it, those that are kept.

    `spans` are exactly the turns that go. `events` may include turns between them that were erased before.
    `unreadable` counts the turns about which nothing can be decided.
    """

    turns: Turns
    spans: tuple[TurnSpan, ...] = ()
    events: tuple[TurnSpan, ...] = ()
    kept: tuple[KeptTurns, ...] = ()
    unreadable: int = 0

    @property
    def affected(self) -> int:
        """How many turns go."""
        return sum(map(length, self.spans))


class Guard:
    """The holds and policies of a space in one state of its log."""

    def __init__(self, space: Space, reader: Reader, now_ms: int) -> None:
        self._space = space
        self._reader = reader
        self._now_ms = now_ms
        transcript = space.transcript
        own = transcript.changes(reader, transcript.head(reader, SPACE_STREAM))
        self.holds = list(own.holds.values())
        self.policies = in_force(self._policies(own))

    def _policies(self, own: Changes) -> Iterator[PolicyInForce]:
        for noted in own.noted.get(EventKind.POLICY_SET, ()):
            row = self._reader.sealed(noted.position)
            meta = None if row is None else self._space.ledger.open(row).meta
            if not isinstance(meta, PolicySet):
                raise Corrupt(at=f"position {noted.position}", problem="rows_missing")
            yield PolicyInForce(position=noted.position, policy=meta.policy)

    def judge(self, turns: Turns, *, requested: bool) -> Judgements:
        """Decide about every turn that has content: requested by somebody, or only due under the policies."""
        changes = self._space.transcript.changes(self._reader, turns.head)
        key = turns.conversation
        terms = RetentionTerms() if key is None else terms_of(self.policies, key.channel, key.conversation)
        phases = runs(turns.head.turns, changes.steps)
        unreadable = sum(phase_at(phases, turn) is not Phase.ERASED for turn in turns.unreadable)
        if not requested and terms.erase_after_ms is None:
            return Judgements(turns, unreadable=unreadable)
        if turns.message is not None and turns.message in changes.erased.get(turns.spans[0].first, NOTHING):
            return Judgements(turns)
        whose = turns.key.subject if isinstance(turns.key, NotebookKey) else None
        deciding = Deciding(self, changes, terms, whose, requested=requested)
        spans: list[TurnSpan] = []
        events: list[TurnSpan] = []
        kept: list[KeptTurns] = []
        for run in pieces(turns.spans, phases):
            if run.phase is Phase.ERASED:
                continue
            for span, verdict in deciding.about(turns, TurnSpan(run.first, run.last)):
                if verdict is None:
                    unreadable += length(span)
                elif not KEEPS[verdict.rule]:
                    spans.append(span)
                elif verdict.rule is not Rule.DEFAULT:
                    kept.append(KeptTurns(span, verdict))
        for span in spans:
            if events and _all_erased(phases, (events[-1].last or 0) + 1, span.first - 1):
                events[-1] = TurnSpan(events[-1].first, span.last)
            else:
                events.append(span)
        return Judgements(turns, tuple(spans), tuple(events), tuple(kept), unreadable)

    def judge_everything(self, *, requested: bool) -> list[Judgements]:
        """Decide about every turn and memory item of the space, stream by stream."""
        turns = SpaceTarget(self._space).turns(self._reader)
        return [self.judge(each, requested=requested) for each in turns]

    # --- one turn -----------------------------------------------------------------------------------------------------

    def facts(self, row: SealedRow) -> tuple[int, TurnMeta | None]:
        """Return when a turn was committed, and what it says of itself; None of one that does not open any more."""
        try:
            meta = self._space.ledger.open(row).meta
        except (Corrupt, KeyMissing):
            return self._space.ledger.prove_place(self._reader, row).t, None
        assert isinstance(meta, TurnMeta), "only turns have a turn sequence"
        return row.time, meta

    def rows(self, turns: Turns, span: TurnSpan) -> Iterator[SealedRow]:
        """Yield the rows of turns."""
        return turns_of(self._reader, turns.head.stream, span)

    @property
    def now_ms(self) -> int:
        """The time that ages are counted to."""
        return self._now_ms


def judged_turns(
    space: Space, reader: Reader, turns: Iterable[Turns], now_ms: int, *, requested: bool
) -> list[Judgements]:
    """Judge turns in one state of the log: requested by somebody, or only due under the policies."""
    guard = Guard(space, reader, now_ms)
    present = (each._replace(head=space.transcript.head(reader, each.head.stream)) for each in turns)
    return [guard.judge(each, requested=requested) for each in present]


class Deciding:
    """Decides about the turns of one conversation, or about the memory items of a subject (`whose`)."""

    def __init__(
        self, guard: Guard, changes: Changes, terms: RetentionTerms, whose: SubjectId | None, *, requested: bool
    ) -> None:
        self._guard = guard
        self._terms = terms
        self._requested = requested
        everybody = [hold for hold in guard.holds if hold.subject is None or hold.subject == whose]
        self._holds = sorted([*changes.holds.values(), *everybody], key=lambda hold: hold.position)
        self._of_subjects = [hold for hold in guard.holds if hold.subject is not None and whose is None]
        self._by_row = bool(self._of_subjects) or terms.keep_at_least_ms is not None or not requested

    def about(self, turns: Turns, span: TurnSpan) -> Iterator[tuple[TurnSpan, Verdict | None]]:
        """Yield what is decided of turns, alike ones together; None for those about which nothing can be decided."""
        so_far: tuple[TurnSpan, Verdict | None] | None = None
        for part, verdict in self._about(turns, span):
            if so_far is not None and so_far[1] == verdict:
                so_far = (TurnSpan(so_far[0].first, part.last), verdict)
                continue
            if so_far is not None:
                yield so_far
            so_far = (part, verdict)
        if so_far is not None:
            yield so_far

    def _about(self, turns: Turns, span: TurnSpan) -> Iterator[tuple[TurnSpan, Verdict | None]]:
        if not self._by_row:
            for part in cut(span, self._holds):
                yield part, self._verdict(self._on(part.first), None)
            return
        for row in self._guard.rows(turns, span):
            turn = row.turn_seq or 0
            time_ms, meta = self._guard.facts(row)
            if meta is None and not self._requested:
                yield TurnSpan(turn, turn), None
                continue
            subjects = None if meta is None else subjects_of(meta.actor)
            theirs = [hold for hold in self._of_subjects if subjects is None or hold.subject in subjects]
            holds = sorted([*self._on(turn), *theirs], key=lambda hold: hold.position)
            yield TurnSpan(turn, turn), self._verdict(holds, self._guard.now_ms - time_ms)

    def _on(self, turn: int) -> list[Hold]:
        return [hold for hold in self._holds if hold.span.includes(turn)]

    def _verdict(self, holds: list[Hold], age_ms: int | None) -> Verdict:
        due = age_ms is not None and self._terms.due(age_ms)
        if not self._requested and not due:
            return Verdict(Rule.DEFAULT)
        applying = {Rule.ERASE_REQUEST} if self._requested else {Rule.RETENTION}
        if holds:
            applying.add(Rule.HOLD)
        if age_ms is not None and self._terms.kept_by_law(age_ms):
            applying.add(Rule.LEGAL_MINIMUM)
        rule = ruling(applying)
        if rule is Rule.HOLD:
            return Verdict(rule, tuple(hold.position for hold in holds))
        if rule is Rule.LEGAL_MINIMUM:
            assert self._terms.policy is not None, "a minimum is that of a policy"
            return Verdict(rule, (self._terms.policy,), self._terms.keep_at_least_ms)
        return Verdict(rule)


# --- spans ------------------------------------------------------------------------------------------------------------


def last_of(span: TurnSpan) -> int:
    """Return the last turn of a closed span."""
    assert span.last is not None, "only turns that are there are counted"
    return span.last


def length(span: TurnSpan) -> int:
    """Return how many turns a closed span has."""
    return last_of(span) - span.first + 1


def cut(span: TurnSpan, holds: list[Hold]) -> Iterator[TurnSpan]:
    """Yield the parts of a span in which no hold begins or ends."""
    assert span.last is not None, "only turns that are there have holds"
    borders = {span.first, span.last + 1}
    for hold in holds:
        ends = (hold.span.first, None if hold.span.last is None else hold.span.last + 1)
        borders.update(end for end in ends if end is not None and span.first < end <= span.last)
    for first, beyond in pairwise(sorted(borders)):
        yield TurnSpan(first, beyond - 1)


def pieces(spans: tuple[TurnSpan, ...], phases: list[PhaseRun]) -> Iterator[PhaseRun]:
    """Yield what spans have of each run, in order."""
    for span in spans:
        assert span.last is not None, "only turns that are there have phases"
        for run in phases[_place(phases, span.first) :]:
            if run.first > span.last:
                break
            yield PhaseRun(first=max(run.first, span.first), last=min(run.last, span.last), phase=run.phase)


def phase_at(phases: list[PhaseRun], turn: int) -> Phase:
    """Return the phase of a turn."""
    return phases[_place(phases, turn)].phase


def _place(phases: list[PhaseRun], turn: int) -> int:
    return max(0, bisect_right(phases, turn, key=lambda run: run.first) - 1)


def _all_erased(phases: list[PhaseRun], first: int, last: int) -> bool:
    return first > last or all(run.phase is Phase.ERASED for run in pieces((TurnSpan(first, last),), phases))
