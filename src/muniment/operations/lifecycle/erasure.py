"""Destroying turns and messages in steps: the one thing that destroys.

In one write transaction: the events are appended, content keys and ciphertext removed (also of what was recorded beside
turns that are all erased). What goes is decided by the guard inside the transaction. In the last one the space key is
rotated, and what was committed meanwhile is decided, too, as is what goes along with the turns (`going_along`). Then
the write-ahead log is emptied and the old space key is destroyed; only then the caller gets its report.

At most `STEP_TURNS` turns are looked at in one transaction, so that other writers do not wait for long. Before the last
one the log notes that the erasure goes on (`ledger.owed`), and the next opening completes it after a crash.

Nothing has to be decrypted to be destroyed. Content whose cells or keys do not open any more is destroyed as well, once
the header of its turn and the tree have proved which turn it is. Only one message alone cannot be taken out of content
that does not open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from muniment.events.changes import LifecycleRequest, TurnSpan
from muniment.events.records import RotationCause
from muniment.ledger.ledger import Writer
from muniment.operations.lifecycle.destroyed_contents import destroy_contents, destroy_lost_words
from muniment.operations.lifecycle.erasing_events import erasing_events
from muniment.operations.lifecycle.going_along import Asking, going_along
from muniment.operations.lifecycle.guard import Judgements, judged_turns, length
from muniment.operations.lifecycle.owned_registries import erase_registries
from muniment.operations.lifecycle.refusals import append_refusals
from muniment.operations.lifecycle.retold import retire_retold
from muniment.operations.lifecycle.scope import Turns
from muniment.operations.lifecycle.targets import Target, takes_memory
from muniment.space.rotation import Rotation
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.operations.approvals.gate import GuardedRequest

STEP_TURNS = 500  # looked at in one transaction: about 50 ms of work


class ErasureOutcome(NamedTuple):
    """What an erasure did: its events, the streams they are in, what was destroyed, and what was kept."""

    positions: tuple[int, ...]
    streams: frozenset[int]
    counts: Counter[str]
    kept: tuple[Judgements, ...] = ()
    registries: tuple[str, ...] = ()

    def joined(self, later: ErasureOutcome) -> ErasureOutcome:
        """Return what was done up to a later step."""
        return ErasureOutcome(
            self.positions + later.positions,
            self.streams | later.streams,
            self.counts + later.counts,
            self.kept + later.kept,
            self.registries + later.registries,
        )

    def refused(self) -> Iterator[Judgements]:
        """Yield what was kept in all steps, stream by stream."""
        of_streams: dict[int, Judgements] = {}
        for judgements in self.kept:
            stream = judgements.turns.head.stream
            before = of_streams.get(stream, judgements._replace(kept=()))
            of_streams[stream] = judgements._replace(kept=before.kept + judgements.kept)
        yield from of_streams.values()


NOTHING_DONE = ErasureOutcome((), frozenset(), Counter())


class Erasure:
    """One erasure of the turns of a target.

    Without `is_requested` only what policies call due is destroyed, which was approved with the policy. What was
    requested and is kept is recorded. `resumes` is the first event of an erasure that a crash interrupted.
    """

    def __init__(
        self,
        space: Space,
        target: Target,
        request: LifecycleRequest,
        *,
        is_requested: bool = True,
        guarded: GuardedRequest | None = None,
        resumes: int | None = None,
    ) -> None:
        self._space = space
        self._target = target
        self._request = request
        self._is_requested = is_requested
        self._guarded = guarded
        self._first = self._resumes = resumes
        self._done = NOTHING_DONE

    def run(self) -> Rotation[ErasureOutcome]:
        """Destroy what is to go; an exception leaves what is not destroyed yet to a repeat, or the next opening."""
        space = self._space
        with space.ledger.reader() as reader:
            since = reader.frontier().size
            steps = list(steps_of(self._target.turns(reader)))
        for turns in steps[:-1]:
            self._done = space.with_reserve(partial(space.ledger.transact, partial(self._step, turns)))
            if self._first is None and self._done.positions:
                self._first = self._done.positions[0]
        return space.rotate(RotationCause.ERASURE, partial(self._last, steps[-1] if steps else [], since), since)

    def _step(self, turns: list[Turns], writer: Writer) -> ErasureOutcome:
        done, owed = self._destroyed(writer, turns, self._done), self._space.ledger.segments.owed
        if done.positions:
            first = done.positions[0] if self._first is None else self._first
            going_on = owed.of(writer.tx).within(first, writer.touched)
            owed.put(writer.tx, going_on if self._is_requested else going_on.without(first))
        return done

    def _last(self, turns: list[Turns], since: int, writer: Writer) -> ErasureOutcome:
        done = self._destroyed(writer, [*turns, *self._target.since(writer.tx, since)], self._done)
        asking = Asking(self._request.requested_ms, self._request.subject, self._resumes)
        along = going_along(self._space, writer.tx, self._target, asking)
        if along.items:
            done = self._destroyed(writer, along.items, done, requested=True)
        if along.registries.going:
            done = self._removed(writer, along.registries.going, done)
        if self._is_requested:
            append_refusals(self._space, writer, done.refused(), self._request)
        if self._first is not None:
            owed = self._space.ledger.segments.owed
            owed.put(writer.tx, owed.of(writer.tx).without(self._first))
        return done

    def _destroyed(
        self, writer: Writer, turns: Iterable[Turns], before: ErasureOutcome, *, requested: bool = False
    ) -> ErasureOutcome:
        """Judge turns as they are now, and destroy what goes of them; return what was done up to here.

        Items that follow their turns are `requested`, whoever asked for the erasure of these.
        """
        space, transcript = self._space, self._space.transcript
        is_requested = requested or self._is_requested
        judged = judged_turns(space, writer.tx, turns, self._request.requested_ms, requested=is_requested)
        going = [judgements for judgements in judged if judgements.spans]
        if going:
            self._spend(writer, before)
        after = {head.stream: transcript.changes(writer.tx, head) for head in (each.turns.head for each in going)}
        positions: list[int] = []
        for judgements in going:
            stream = judgements.turns.head.stream
            events = erasing_events(judgements, self._request, with_memory=takes_memory(self._target))
            appended = [writer.change(event, stream).position for event in events]
            if judgements.turns.conversation is not None:
                retold = judgements.turns._replace(spans=judgements.spans)
                retire_retold(space, writer, retold, self._request, [one for one in going if one is not judgements])
            after[stream] = after[stream].erasing(judgements.events, judgements.turns.message, appended[0])
            positions += appended
        writer.flush()
        counts = Counter(word for judgements in going for word in destroy_contents(space, writer, judgements))
        counts["beside"] += sum(destroy_lost_words(space, writer, after))
        kept = tuple(judgements for judgements in judged if judgements.kept)
        return before.joined(ErasureOutcome(tuple(positions), frozenset(after), counts, kept))

    def _removed(self, writer: Writer, registries: dict[str, list[int]], before: ErasureOutcome) -> ErasureOutcome:
        """Remove tool registries, and destroy their words; return what was done up to here."""
        self._spend(writer, before)
        positions = tuple(erase_registries(self._space, writer, registries, self._request))
        counts = Counter(registry=len(registries))
        return before.joined(ErasureOutcome(positions, frozenset(), counts, registries=tuple(registries)))

    def _spend(self, writer: Writer, before: ErasureOutcome) -> None:
        """Use up the approval of a second person with the first thing that goes."""
        if self._guarded is not None and not before.positions:
            self._guarded.spend(writer)


def steps_of(turns: Iterable[Turns]) -> Iterator[list[Turns]]:
    """Yield turns in steps of at most `STEP_TURNS`; of a message there is one turn."""
    step: list[Turns] = []
    free = STEP_TURNS
    for of_stream in turns:
        spans: list[TurnSpan] = []
        for span in of_stream.spans:
            rest = span
            while (left := length(rest)) > 0:
                taken = TurnSpan(rest.first, rest.first + min(left, free) - 1)
                spans.append(taken)
                rest = rest._replace(first=rest.first + length(taken))
                free -= length(taken)
                if free == 0:
                    yield [*step, of_stream._replace(spans=tuple(spans))]
                    step, spans, free = [], [], STEP_TURNS
        if spans:
            step.append(of_stream._replace(spans=tuple(spans)))
    if step:
        yield step
