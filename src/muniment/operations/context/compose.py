"""One context on its way: read, quote, fit, write (decision 0107).

1. The system text with which the conversation begins takes its place first, when there is room for all of it.
2. Turns are read from the newest on until the budget is full, in one snapshot, and a little further, so that calls and
   results that belong together are seen.
3. The share for earlier messages is set aside; what a search finds in turns that did not fit fills it. What it does not
   take goes to older turns; a quoted message whose turn has room then is not quoted.
4. The lines are counted and written.

The counted total is never above the budget, nor its characters above what profile and provider allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import ConversationKey
from muniment.governance.access import Effect
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.judgement import needs_content
from muniment.governance.profiles import Ceiling
from muniment.governance.views import View
from muniment.log.port import Reader, StreamHead
from muniment.operations.context.counting import Meter, RemainingBudget
from muniment.operations.context.earlier import EarlierHits, QuoteQuery, block_line, filled, found_earlier, quotes_of
from muniment.operations.context.fitting import Fitted, Rules, fit, opens, system_lines
from muniment.operations.context.issuing import issue
from muniment.operations.context.pairs import PAIR_TURNS_MAX, Unit, units
from muniment.operations.context.prompt import (
    CONTEXT_TURNS_MAX,
    Composition,
    Context,
    ContextPart,
    MissingReason,
    Quoted,
    QuoteScope,
    Section,
    Shape,
    StopReason,
    SystemText,
)
from muniment.operations.context.prompt_lines import OPENING, Line, TurnLines, is_wanted, quieted, told
from muniment.operations.context.quoting import Quote
from muniment.operations.context.shapes import WRITINGS
from muniment.operations.place import Place

BATCH_TURNS = 32  # read at first; each further batch is twice as large, until one has more than fit


class PromptRequest(Struct, frozen=True, kw_only=True):
    """What was asked for."""

    conversation: ConversationKey
    budget_tokens: int
    query: str | None
    shape: Shape
    view: View
    composition: Composition


class Recent(NamedTuple):
    """The newest turns as units, as many as were read, and the head of the conversation, if there is one."""

    units: Sequence[Unit] = ()
    head: StreamHead | None = None

    @property
    def turns(self) -> int:
        """How many turns the conversation has."""
        return 0 if self.head is None else self.head.turns

    def first(self, fitted: Fitted) -> int:
        """Return the sequence of the oldest turn that fits; one behind the last when none does."""
        fitting = self.units[fitted.first :]
        return fitting[0].turns[0].sequence if fitting else self.turns + 1


class Composing:
    """One context on its way."""

    def __init__(self, session: Session, request: PromptRequest) -> None:
        session.access.require_view(request.view)
        session.check_key(request.conversation)
        if request.budget_tokens < 0:
            raise InvalidInput(at="budget_tokens", problem="negative", found=request.budget_tokens)
        composition = request.composition
        if composition.record:
            session.access.require(Effect.APPEND)
        self._session, self._space, self._request, self._composition = session, session.space, request, composition
        self._writing = WRITINGS[request.shape]
        self._carries = self._writing.carries(files=composition.file_tokens is not None)
        self._meter = Meter(session.token_counter, composition.overhead_tokens, composition.file_tokens)
        self._budget = session.budget()
        self._whole = RemainingBudget(tokens=request.budget_tokens, chars=self._budget.rendered_chars)
        self._detection = self._space.detection.view(request.view)
        self._asked = QuoteQuery(request.query or "", request.conversation, request.view, composition)
        self._leaves: dict[int, bytes] = {}
        self._system_miss = (
            MissingReason.NOTHING_THERE if composition.system is SystemText.KEEP else MissingReason.NOT_ASKED
        )
        self._base: tuple[str, ...] = ()  # system text that has its place whatever turns fit

    def run(self) -> Context:
        """Return the context, on record when that is asked for."""
        recent = self._recent()
        room = self._room()
        percent = 0 if self._request.query is None else self._composition.reference_percent
        aside = self._whole.share(percent).within(room)
        fitted = self._fit(recent, room.without(aside))
        earlier = self._earlier(recent)
        outside = [hit for hit in earlier.hits if self._is_outside(hit.place, recent, fitted)]
        quotes = filled(quotes_of(self._session, self._asked, outside), aside, self._meter)
        taken = self._room_of(quotes)
        fitted = self._fit(recent, room.without(taken))
        left = [quote for quote in quotes if self._is_outside(quote.place, recent, fitted)]
        quotes = filled(left, taken, self._meter)
        context = self._context(recent, fitted, earlier, quotes)
        if not self._composition.record:
            return context
        stream = None if recent.head is None else recent.head.stream
        return replace(context, recorded=issue(self._session, context, stream, self._leaves))

    # --- what there is ------------------------------------------------------------------------------------------------

    def _recent(self) -> Recent:
        """Read turns from the newest on until there are more than fit; find the system text of the first one."""
        with self._space.ledger.reader() as reader:
            stream = self._space.transcript.stream_of(reader, self._request.conversation)
            if stream is None:
                return Recent()
            head = self._space.transcript.head(reader, stream)
            if self._composition.system is SystemText.KEEP and head.turns:
                self._begin(self._told(reader, head, 1, 1))
            turns: list[TurnLines] = []
            first, batch = head.turns + 1, BATCH_TURNS
            while True:
                last, first = first - 1, max(1, first - batch)
                turns = [*self._told(reader, head, first, last), *turns] if last else turns
                recent = Recent(units(quieted(turns), self._carries), head)
                fitted = self._fit(recent, self._room())
                if first == 1 or recent.first(fitted) - first >= PAIR_TURNS_MAX or len(turns) >= CONTEXT_TURNS_MAX:
                    return recent
                batch = PAIR_TURNS_MAX if recent.first(fitted) > first else 2 * batch

    def _told(self, reader: Reader, head: StreamHead, first: int, last: int) -> list[TurnLines]:
        page = self._space.transcript.page(
            reader,
            head,
            first,
            last,
            lambda phase, meta: is_wanted(phase, self._composition) and needs_content(self._request.view, phase, meta),
        )
        self._leaves.update((read.record.sequence, read.opened.row.leaf) for read in page)
        return [told(read.record, self._request.view, self._detection, self._composition) for read in page]

    def _begin(self, first: Sequence[TurnLines]) -> None:
        """Give the system text of the first turn its place, all of it or nothing."""
        texts = tuple(dict.fromkeys(text for turn in first for text in turn.system))
        if self._whole.holds(self._meter.cost(system_lines(texts))):
            self._base = texts
        else:
            self._system_miss = MissingReason.NO_ROOM

    def _room(self) -> RemainingBudget:
        """Return the room beside the system text that has its place."""
        return self._whole.without(self._meter.cost(system_lines(self._base)).room)

    # --- what fits ----------------------------------------------------------------------------------------------------

    def _fit(self, recent: Recent, room: RemainingBudget) -> Fitted:
        return fit(recent.units, room, Rules(self._meter, self._writing.user_first, self._base))

    def _earlier(self, recent: Recent) -> EarlierHits:
        request, reach = self._request, self._composition.reach
        if request.query is None:
            return EarlierHits(miss=MissingReason.NOT_ASKED)
        if recent.head is None and reach is QuoteScope.CONVERSATION:
            return EarlierHits(miss=MissingReason.NOTHING_THERE)
        return found_earlier(self._session, self._asked)

    def _is_outside(self, place: Place, recent: Recent, fitted: Fitted) -> bool:
        """Tell whether a turn is not in the context itself."""
        key = self._request.conversation
        here = (place.conversation.channel, place.conversation.conversation) == (key.channel, key.conversation)
        return not here or place.sequence < recent.first(fitted)

    def _room_of(self, quotes: Sequence[Quote]) -> RemainingBudget:
        """Return exactly the room that quotes take."""
        return self._meter.cost(_reference(quotes)).room

    # --- what is answered ---------------------------------------------------------------------------------------------

    def _context(self, recent: Recent, fitted: Fitted, earlier: EarlierHits, quotes: Sequence[Quote]) -> Context:
        fitting = recent.units[fitted.first :]
        turns = [turn for unit in fitting for turn in unit.turns]
        texts = dict.fromkeys([*self._base, *(text for turn in turns for text in turn.system)])
        system, reference = system_lines(texts), _reference(quotes)
        lines = [line for unit in fitting for line in unit.lines]
        if not reference and lines and opens(lines[0], self._writing.user_first):
            lines = [OPENING, *lines]
        sections = [
            self._section(ContextPart.SYSTEM, system, self._system_miss),
            self._section(ContextPart.REFERENCE, reference, self._missing(earlier, recent, fitted)),
            self._section(
                ContextPart.TURNS, lines, MissingReason.NOTHING_THERE if not recent.turns else MissingReason.NO_ROOM
            ),
        ]
        first = recent.first(fitted)
        beside = system if self._writing.system_field else []
        spoken = [*([] if beside else system), *reference, *lines]
        return Context(
            conversation=self._request.conversation,
            shape=self._request.shape,
            view=self._request.view,
            messages=self._writing.messages(spoken),
            system=[{"type": "text", "text": text} for text in texts] if beside else [],
            sections=sections,
            tokens=sum(each.tokens for each in sections),
            budget_tokens=self._request.budget_tokens,
            chars=sum(each.chars for each in sections),
            counter=self._meter.name,
            turns=sum(bool(turn.spoken or turn.system) for turn in turns),
            turns_before=first - 1,
            first_sequence=first if turns else None,
            last_sequence=recent.turns if turns else None,
            cut_by=fitted.bound if fitted.bound is not None or first == 1 else StopReason.TURNS,
            withheld=_summed(turn.withheld for turn in turns),
            left_out=_summed(unit.left_out for unit in fitting),
            quoted=[Quoted(place=each.place, role=each.role, cut=each.cut_before or each.cut_after) for each in quotes],
            hits=len(earlier.hits),
            semantic=earlier.semantic,
            revision=0 if recent.head is None else recent.head.seq,
            digest=None if recent.head is None else recent.head.leaf.hex(),
            budget_applied=self._applied(fitted),
        )

    def _section(self, part: ContextPart, lines: Sequence[Line], miss: MissingReason) -> Section:
        cost = self._meter.cost(lines)
        return Section(
            part=part,
            included=bool(lines),
            messages=cost.lines,
            tokens=cost.tokens,
            chars=cost.chars,
            miss=None if lines else miss,
        )

    def _applied(self, fitted: Fitted) -> list[BudgetApplied]:
        """Say what the ceiling of the profile left out: what there would be with one unit more."""
        if fitted.bound is not StopReason.CHARS:
            return []
        assert self._whole.chars is not None, "there is no other bound on characters"
        return applied(self._budget, {Ceiling.RENDERED_CHARS: self._whole.chars + fitted.chars_over})

    def _missing(self, earlier: EarlierHits, recent: Recent, fitted: Fitted) -> MissingReason:
        """Return why nothing earlier is quoted."""
        if earlier.miss is not None:
            return earlier.miss
        outside = any(self._is_outside(hit.place, recent, fitted) for hit in earlier.hits)
        return MissingReason.NO_ROOM if outside else MissingReason.ALL_INCLUDED


def _reference(quotes: Sequence[Quote]) -> list[Line]:
    return [block_line(quotes)] if quotes else []


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return counts by name, summed up; what there is none of is not named."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return {name: count for name, count in sorted(total.items()) if count}
