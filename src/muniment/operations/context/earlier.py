"""Which earlier messages are quoted: the best hits of a search in the same view that are in no turn of the context.

Hits that are only the context of a match are not quoted. Hits are quoted in their order until one does not fit, so that
a lower one never overtakes a higher one. A quoted message is read again, as the view shows it then: the whole message
where it is short, its excerpt where it is long or does not fit, nothing where it is hidden by then.

A query is the next message of a user: its line ends become blanks, the syntax of queries is removed, and the end of a
long one is used, where the question usually is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import ConversationKey
from muniment.events.message import Role, TextPart
from muniment.governance.listing import LISTED
from muniment.governance.slices import cut
from muniment.governance.views import View
from muniment.operations.context.cost import Meter, RemainingBudget
from muniment.operations.context.prompt import Composition, MissingReason, QuoteScope
from muniment.operations.context.prompt_lines import Line
from muniment.operations.context.quotes import Quote, block
from muniment.operations.transcripts.hits import (
    Hit,
    SearchPage,
    SearchRanking,
    SearchRequest,
    SearchScope,
    SemanticCoverage,
)
from muniment.search.query import without_syntax

HITS_MAX = 50
QUOTES_MAX = 20
WHOLE_CHARS_MAX = 1200  # a longer message is quoted as an excerpt


class EarlierHits(NamedTuple):
    """The hits of a search, the best first."""

    hits: Sequence[Hit] = ()
    semantic: SemanticCoverage | None = None
    miss: MissingReason | None = None


class QuoteQuery(NamedTuple):
    """What to search for, and for which context."""

    text: str
    key: ConversationKey
    view: View
    composition: Composition


def found_earlier(session: Session, query: QuoteQuery) -> EarlierHits:
    """Return the messages that a query finds; an invalid query finds none and is reported."""
    try:
        page = _search(session, query)
    except (InvalidInput, LimitExceeded):
        return EarlierHits(miss=MissingReason.QUERY_REFUSED)
    hits = [hit for hit in page.hits if not hit.is_context and _is_within(hit.place.conversation, query)]
    return EarlierHits(hits, page.semantic, None if hits else MissingReason.NOT_FOUND)


def quotes_of(session: Session, query: QuoteQuery, hits: Iterable[Hit]) -> Iterator[Quote]:
    """Yield what a view shows of hits now; each is read when it is needed."""
    return (quote for hit in hits if (quote := _quote(session, query, hit)) is not None)


def _search(session: Session, query: QuoteQuery) -> SearchPage:
    from muniment.operations.transcripts.search import search  # noqa: PLC0415 - numpy is imported when it is needed

    key, reach, lifecycle = query.key, query.composition.reach, query.composition.lifecycle
    within = SearchScope(
        channel=None if reach is QuoteScope.SPACE else key.channel,
        conversation=key.conversation if reach is QuoteScope.CONVERSATION else None,
        lifecycle=lifecycle,
    )
    limit = min(HITS_MAX, session.space.limits.page_turns_max)
    request = SearchRequest(
        query=without_syntax(query.text), view=query.view, within=within, ranking=SearchRanking(), limit=limit
    )
    return search(session, request, None)


def _quote(session: Session, query: QuoteQuery, hit: Hit) -> Quote | None:
    """Return what a view shows of a hit now."""
    place, space = hit.place, session.space
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, place.conversation)
        head = None if stream is None else space.transcript.head(reader, stream)
        if head is None or place.sequence > head.turns:
            return None  # an archive took its place since
        wanted = LISTED[query.composition.lifecycle]
        [read] = space.transcript.page(
            reader, head, place.sequence, place.sequence, lambda phase, _meta: phase in wanted
        )
    if read.record.phase not in wanted or read.record.position != place.position:
        return None
    turn, _ = cut(read.record, query.view, 0, 0, detection=space.detection.view(query.view))
    shown = next((message for message in turn.messages if message.id == place.message), None)
    if shown is None or shown.redacted:
        return None
    excerpt = Quote(
        place=place,
        role=shown.role,
        speaker=shown.speaker_id,
        text=hit.excerpt.text,
        cut_before=hit.excerpt.cut_before,
        cut_after=hit.excerpt.cut_after,
        elsewhere=not _is_here(place.conversation, query.key),
    )
    text = "\n".join(part.content for part in shown.parts if isinstance(part, TextPart))
    is_short = len(text) <= WHOLE_CHARS_MAX and bool(text.strip())
    return replace(excerpt, text=text, cut_before=False, cut_after=False, excerpt=excerpt) if is_short else excerpt


def _is_within(conversation: ConversationKey, query: QuoteQuery) -> bool:
    reach, key = query.composition.reach, query.key
    if reach is QuoteScope.SPACE:
        return True
    return conversation.channel == key.channel if reach is QuoteScope.CHANNEL else _is_here(conversation, key)


def _is_here(conversation: ConversationKey, key: ConversationKey) -> bool:
    return (conversation.channel, conversation.conversation) == (key.channel, key.conversation)


def filled(quotes: Iterable[Quote], room: RemainingBudget, meter: Meter) -> list[Quote]:
    """Return the first quotes that fit into a budget as one block."""
    fitting: list[Quote] = []
    for quote in islice(quotes, QUOTES_MAX):
        forms = (quote, quote.excerpt or quote)
        form = next((form for form in forms if room.holds(meter.cost([block_line([*fitting, form])]))), None)
        if form is None:
            break
        fitting.append(form)
    return fitting


def block_line(quotes: Sequence[Quote]) -> Line:
    """Return the line that quotes them."""
    return Line(Role.USER, (TextPart(content=block(quotes)),))
