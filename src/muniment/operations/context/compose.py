"""Making a context: read, quote, fit, write (decision 0107).

1. The system text with which the conversation begins is included first, when all of it fits.
2. Turns are read from the newest on until the budget is full (`recent`).
3. The share for earlier messages is reserved; a search fills it with messages of turns that did not fit. What it does
   not use goes to older turns; a message that is quoted but whose turn fits then is not quoted.
4. The lines are counted and written.

The counted total is never above the budget, nor its characters above what profile and provider allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.governance.access import Effect
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.profiles import Budget, Ceiling
from muniment.operations.context.cost import Meter, RemainingBudget
from muniment.operations.context.earlier import EarlierHits, QuoteQuery, block_line, filled, found_earlier, quotes_of
from muniment.operations.context.fit import Fitted, opens, system_lines
from muniment.operations.context.prompt import (
    Context,
    ContextPart,
    MissingReason,
    PromptRequest,
    Quoted,
    QuoteScope,
    Section,
    StopReason,
)
from muniment.operations.context.prompt_lines import OPENING, Line
from muniment.operations.context.quotes import Quote
from muniment.operations.context.recent import Layout, Recent, read_recent
from muniment.operations.context.record import issue
from muniment.operations.place import Place


def compose_context(session: Session, request: PromptRequest) -> Context:
    """Return a context, on record when the request says so."""
    session.access.require_view(request.view)
    session.check_key(request.conversation)
    if request.budget_tokens < 0:
        raise InvalidInput(at="budget_tokens", problem="negative", found=request.budget_tokens)
    composition = request.composition
    if composition.record:
        session.access.require(Effect.APPEND)
    budget = session.budget()
    meter = Meter(session.token_counter, composition.overhead_tokens, composition.file_tokens)
    whole = RemainingBudget(tokens=request.budget_tokens, chars=budget.rendered_chars)
    layout = Layout(request, meter, whole)
    recent = read_recent(session, layout)
    room = layout.without(recent.system)
    reserved = whole.share(0 if request.query is None else composition.reference_percent).within(room)
    fitted = recent.fit(layout, room.without(reserved))
    query = QuoteQuery(request.query or "", request.conversation, request.view, composition)
    earlier = _earlier(session, request, query, recent)
    outside = [hit for hit in earlier.hits if _is_outside(hit.place, request, recent, fitted)]
    quotes = filled(quotes_of(session, query, outside), reserved, meter)
    used = meter.cost(_reference(quotes)).room
    fitted = recent.fit(layout, room.without(used))
    remaining = [quote for quote in quotes if _is_outside(quote.place, request, recent, fitted)]
    context = _context(layout, recent, fitted, earlier, filled(remaining, used, meter), budget)
    if not composition.record:
        return context
    stream = None if recent.head is None else recent.head.stream
    return replace(context, recorded=issue(session, context, stream, recent.leaves))


def _earlier(session: Session, request: PromptRequest, query: QuoteQuery, recent: Recent) -> EarlierHits:
    if request.query is None:
        return EarlierHits(miss=MissingReason.NOT_ASKED)
    if recent.head is None and request.composition.reach is QuoteScope.CONVERSATION:
        return EarlierHits(miss=MissingReason.NOTHING_THERE)
    return found_earlier(session, query)


def _is_outside(place: Place, request: PromptRequest, recent: Recent, fitted: Fitted) -> bool:
    """Tell whether a turn is not in the context itself."""
    key = request.conversation
    is_here = (place.conversation.channel, place.conversation.conversation) == (key.channel, key.conversation)
    return not is_here or place.sequence < recent.first(fitted)


def _context(
    layout: Layout, recent: Recent, fitted: Fitted, earlier: EarlierHits, quotes: Sequence[Quote], budget: Budget
) -> Context:
    request, meter, shape = layout.request, layout.meter, layout.shape
    fitting = recent.units[fitted.first :]
    turns = [turn for unit in fitting for turn in unit.turns]
    texts = dict.fromkeys([*recent.system, *(text for turn in turns for text in turn.system)])
    system, reference = system_lines(texts), _reference(quotes)
    lines = [line for unit in fitting for line in unit.lines]
    if not reference and lines and opens(lines[0], shape.user_first):
        lines = [OPENING, *lines]
    no_turns = MissingReason.NO_ROOM if recent.turns else MissingReason.NOTHING_THERE
    sections = [
        _section(meter, ContextPart.SYSTEM, system, recent.system_miss),
        _section(meter, ContextPart.REFERENCE, reference, _unquoted_reason(request, earlier, recent, fitted)),
        _section(meter, ContextPart.TURNS, lines, no_turns),
    ]
    first = recent.first(fitted)
    before = recent.before(first)
    apart = system if shape.system_field else []
    return Context(
        conversation=request.conversation,
        shape=request.shape,
        view=request.view,
        messages=shape.messages([*([] if apart else system), *reference, *lines]),
        system=[{"type": "text", "text": text} for text in texts] if apart else [],
        sections=sections,
        tokens=sum(section.tokens for section in sections),
        budget_tokens=request.budget_tokens,
        chars=sum(section.chars for section in sections),
        counter=meter.name,
        turns=sum(bool(turn.spoken or turn.system) for turn in turns),
        turns_before=before,
        first_sequence=first if turns else None,
        last_sequence=turns[-1].sequence if turns else None,
        cut_by=fitted.bound if fitted.bound is not None or not before else StopReason.TURNS,
        withheld=_summed(turn.withheld for turn in turns),
        left_out=_summed(unit.left_out for unit in fitting),
        quoted=[
            Quoted(place=quote.place, role=quote.role, cut=quote.cut_before or quote.cut_after) for quote in quotes
        ],
        hits=len(earlier.hits),
        semantic=earlier.semantic,
        revision=0 if recent.head is None else recent.head.seq,
        digest=None if recent.head is None else recent.head.leaf.hex(),
        budget_applied=_applied(budget, layout.budget, fitted),
    )


def _section(meter: Meter, part: ContextPart, lines: Sequence[Line], miss: MissingReason) -> Section:
    cost = meter.cost(lines)
    return Section(
        part=part,
        included=bool(lines),
        messages=cost.lines,
        tokens=cost.tokens,
        chars=cost.chars,
        miss=None if lines else miss,
    )


def _applied(budget: Budget, whole: RemainingBudget, fitted: Fitted) -> list[BudgetApplied]:
    """Report what the ceiling of the profile left out: how much there would be with one unit more."""
    if fitted.bound is not StopReason.CHARS:
        return []
    assert whole.chars is not None, "there is no other bound on characters"
    return applied(budget, {Ceiling.RENDERED_CHARS: whole.chars + fitted.chars_over})


def _unquoted_reason(request: PromptRequest, earlier: EarlierHits, recent: Recent, fitted: Fitted) -> MissingReason:
    """Return why nothing earlier is quoted."""
    if earlier.miss is not None:
        return earlier.miss
    outside = any(_is_outside(hit.place, request, recent, fitted) for hit in earlier.hits)
    return MissingReason.NO_ROOM if outside else MissingReason.ALL_INCLUDED


def _reference(quotes: Sequence[Quote]) -> list[Line]:
    return [block_line(quotes)] if quotes else []


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return counts by name, summed up, without zeros."""
    total: Counter[str] = Counter()
    for part in counts:
        total.update(part)
    return {name: count for name, count in sorted(total.items()) if count}
