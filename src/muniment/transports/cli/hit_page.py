"""Search results on a page: a line with the location of a hit, and below it the excerpt.

At a terminal the highlights are bold; in a pipe an excerpt is plain text. `neighbour` marks a message that did not
match and is next to one that did. Where scores are explained, a table lists the signals of each.
"""

from __future__ import annotations

from muniment.events.identity import short_message_id, spelled
from muniment.operations.transcripts.hits import Excerpt, Hit, QueryReading, SearchPage
from muniment.search.query import Cap
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle, on_one_line
from muniment.transports.cli.scalars import label, moment, said, tell_budget, tell_cursors

CUT = StyledText("…", TextStyle.FAINT)


def tell_found(found: SearchPage, page: OutputPage) -> None:
    """Write a page of hits."""
    for hit in found.hits:
        _tell_hit(hit, page)
    if any(hit.signals is not None for hit in found.hits):
        _tell_signals(found.hits, page)
    if found.understood is not None:
        _tell_understood(found.understood, page)
    page.line(
        StyledText(f"found {'at least ' if found.total_is_least else ''}{found.total:,}"),
        StyledText(f"semantic {found.semantic}"),
        *[StyledText(_cap(cap), TextStyle.FAINT) for cap in found.capped],
    )
    tell_budget(found.budget_applied, page)
    tell_cursors([("next cursor", found.next_cursor)], page)


def _tell_hit(hit: Hit, page: OutputPage) -> None:
    place, speaker = hit.place, on_one_line(hit.speaker)
    page.line(
        StyledText(on_one_line(spelled(place.conversation.channel, place.conversation.conversation)), TextStyle.STRONG),
        StyledText(f"{place.sequence}"),
        StyledText(on_one_line(short_message_id(place.message or place.turn))),
        StyledText(f"{hit.role} {speaker}".strip()),
        StyledText(moment(place.observed_ms)),
        StyledText(f"{hit.score:.3f}", TextStyle.FAINT),
        StyledText("context" if hit.is_context else "", TextStyle.FAINT),
    )
    page.joined(*excerpt_words(hit.excerpt), indent=2)


def excerpt_words(excerpt: Excerpt) -> list[StyledText]:
    """Return an excerpt on one line, its highlights strong, with an ellipsis where it is cut."""
    pieces, shown = [CUT] if excerpt.cut_before else list[StyledText](), 0
    for start, end in excerpt.highlights:
        pieces += [StyledText(excerpt.text[shown:start]), StyledText(excerpt.text[start:end], TextStyle.STRONG)]
        shown = end
    pieces.append(StyledText(excerpt.text[shown:]))
    pieces += [CUT] if excerpt.cut_after else []
    return [
        StyledText(" ".join(piece.text.splitlines()) + " " * piece.text.endswith("\n"), piece.mood) for piece in pieces
    ]


def _tell_understood(told: QueryReading, page: OutputPage) -> None:
    """Write how the query was read, without what is empty."""
    dates = [f"{moment(begins)} to {moment(ends)}" for begins, ends in told.dates]
    members = {name: getattr(told, name) for name in told.__struct_fields__} | {"dates": dates}
    listed = {name: value if isinstance(value, list) else [value] for name, value in members.items() if value}
    page.facts([(label(name), StyledText(on_one_line(", ".join(map(str, values))))) for name, values in listed.items()])


def _tell_signals(hits: list[Hit], page: OutputPage) -> None:
    """Write the signals of each score, without those that are zero everywhere."""
    names = list(dict.fromkeys(name for hit in hits for name, value in (hit.signals or {}).items() if value))
    rows = [
        [
            StyledText(on_one_line(short_message_id(hit.place.message or hit.place.turn))),
            *[StyledText(f"{(hit.signals or {}).get(name, 0.0):.3f}") for name in names],
            StyledText(f"{hit.score:.3f}"),
        ]
        for hit in hits
    ]
    page.table(["hit", *map(label, names), "total"], rows, "scores")


def _cap(cap: Cap) -> str:
    return f"{label(cap.what)} {said('', cap.limit).text} of {said('', cap.found).text}"
