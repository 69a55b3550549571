"""Which earlier messages are quoted: the best hits of a search in the same view that are in no turn of the context.

What only stands beside a hit is not quoted.

Hits are taken in their order until one does not fit into the room, so that a lower one never overtakes a higher one
(BEHAVIOUR IJ-01). What is quoted is read anew, as the view shows it then: the whole message where it is short, its
excerpt where it is long or has no room, nothing where it is gone.

A query is what somebody says next: its line ends are blanks, what would be grammar to a search is words, and of a long
one the end is taken, where the question usually stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import ConversationKey
from muniment.events.message import Role, TextPart
from muniment.governance.listing import LISTED
from muniment.governance.slices import cut
from muniment.governance.views import View
from muniment.runtime.context.counting import Meter, Room
from muniment.runtime.context.lines import Line
from muniment.runtime.context.prompt import Composition, Miss, Reach
from muniment.runtime.context.quoting import Quote, block
from muniment.runtime.desk import Desk
from muniment.runtime.hits import Found, Hit, Ranking, Semantic, Within

HITS_MAX = 50
QUOTES_MAX = 20
WHOLE_CHARS_MAX = 1200  # a longer message is quoted as an excerpt
QUERY_CHARS_MAX = 1024  # of BEHAVIOUR CT-13

_BLANK = frozenset({"Cc", "Cs", "Zl", "Zp"})
_GRAMMAR = re.compile(r"[\":]|(?<!\S)-+")


class Earlier(NamedTuple):
    """What a search found, the best first."""

    hits: Sequence[Hit] = ()
    semantic: Semantic | None = None
    miss: Miss | None = None


class Asked(NamedTuple):
    """What to look for, and for which context."""

    query: str
    key: ConversationKey
    view: View
    composition: Composition


def found_earlier(desk: Desk, asked: Asked) -> Earlier:
    """Return the messages that a query finds; a query that cannot be searched for finds nothing and says so."""
    try:
        found = _found(desk, asked)
    except (InvalidInput, LimitExceeded):
        return Earlier(miss=Miss.QUERY_REFUSED)
    hits = [hit for hit in found.hits if not hit.beside and _is_within(hit.place.conversation, asked)]
    return Earlier(hits, found.semantic, None if hits else Miss.NOT_FOUND)


def quotes_of(desk: Desk, asked: Asked, hits: Iterable[Hit]) -> Iterator[Quote]:
    """Yield what a view shows of hits now; each is read when it is wanted."""
    return (quote for hit in hits if (quote := _quote(desk, asked, hit)) is not None)


def _found(desk: Desk, asked: Asked) -> Found:
    from muniment.runtime.searching import Searching  # noqa: PLC0415  # numpy is imported by who searches

    key, reach, lifecycle = asked.key, asked.composition.reach, asked.composition.lifecycle
    within = Within(
        channel=None if reach is Reach.SPACE else key.channel,
        conversation=key.conversation if reach is Reach.CONVERSATION else None,
        lifecycle=lifecycle,
    )
    limit = min(HITS_MAX, desk.space.limits.page_turns_max)
    return Searching(desk, words_of(asked.query), asked.view, within, Ranking()).run(limit, None)


def words_of(query: str) -> str:
    """Return the words of a query, without grammar, as many as may be searched for."""
    plain = "".join(" " if unicodedata.category(char) in _BLANK else char for char in query)
    end = " ".join(plain.split())[-QUERY_CHARS_MAX:]
    return " ".join(_GRAMMAR.sub(" ", end).split())


def _quote(desk: Desk, asked: Asked, hit: Hit) -> Quote | None:
    """Return what a view shows of a hit now."""
    place, space = hit.place, desk.space
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, place.conversation)
        head = None if stream is None else space.transcript.head(reader, stream)
        if head is None or place.sequence > head.turns:
            return None  # an archive took its place since
        wanted = LISTED[asked.composition.lifecycle]
        [read] = space.transcript.page(
            reader, head, place.sequence, place.sequence, lambda phase, _meta: phase in wanted
        )
    if read.record.phase not in wanted or read.record.position != place.position:
        return None
    turn, _ = cut(read.record, asked.view, 0, 0, looking=space.lookout.view(asked.view))
    shown = next((each for each in turn.messages if each.id == place.message), None)
    if shown is None or shown.parts is UNSET:
        return None
    excerpt = Quote(
        place=place,
        role=shown.role,
        speaker=shown.speaker_id,
        text=hit.excerpt.text,
        cut_before=hit.excerpt.cut_before,
        cut_after=hit.excerpt.cut_after,
        elsewhere=not _is_here(place.conversation, asked.key),
    )
    text = "\n".join(part.content for part in shown.parts if isinstance(part, TextPart))
    is_short = len(text) <= WHOLE_CHARS_MAX and bool(text.strip())
    return replace(excerpt, text=text, cut_before=False, cut_after=False, excerpt=excerpt) if is_short else excerpt


def _is_within(found: ConversationKey, asked: Asked) -> bool:
    reach, key = asked.composition.reach, asked.key
    if reach is Reach.SPACE:
        return True
    return found.channel == key.channel if reach is Reach.CHANNEL else _is_here(found, key)


def _is_here(found: ConversationKey, key: ConversationKey) -> bool:
    return (found.channel, found.conversation) == (key.channel, key.conversation)


def filled(quotes: Iterable[Quote], room: Room, meter: Meter) -> list[Quote]:
    """Return the first quotes that a room holds as one block."""
    fitting: list[Quote] = []
    for quote in islice(quotes, QUOTES_MAX):
        forms = (quote, quote.excerpt or quote)
        form = next((each for each in forms if room.holds(meter.cost([block_line([*fitting, each])]))), None)
        if form is None:
            break
        fitting.append(form)
    return fitting


def block_line(quotes: Sequence[Quote]) -> Line:
    """Return the line that quotes them."""
    return Line(Role.USER, (TextPart(content=block(quotes)),))
