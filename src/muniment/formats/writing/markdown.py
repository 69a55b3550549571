r"""A transcript for people, in Markdown: what we say is prose, and what anybody else said stands in code.

Nothing that was said can look like something that we say. Words stand in a fenced block whose fence is longer than any
run of its character inside; names stand in code spans, on one line, delimited in the same way. Characters that move
the cursor, end a line unseen or turn the direction of writing are spelled out (`\u{202e}`). So a transcript is for
reading; for the exact characters export `otel`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime

from muniment.events.message import (
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from muniment.events.references import HostReference
from muniment.formats.writing.pages import ExportedConversation, ExportedTurn, as_json
from muniment.governance.slices import RedactionItem, SliceMessage

FENCE = "`"
FENCE_MIN = 3
SPELLED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # categories of characters that are not seen as they are
KEPT = frozenset("\n\t\u200d")  # the joiner is part of many a visible sign


def markdown(told: ExportedConversation) -> Iterator[str]:
    """Yield the pieces of the transcript."""
    yield f"# Transcript of {span(told.conversation)}\n\nChannel {span(told.channel)}, view `{told.view}`.\n"
    for each in told.turns:
        yield from _turn(each)


def _turn(told: ExportedTurn) -> Iterator[str]:
    turn = told.turn
    yield f"\n## {turn.sequence}. {span(turn.turn)}\n"
    yield f"\n`{turn.phase}`, `{turn.delivery}`, committed {_moment(turn.committed_ms)}.\n"
    for message in turn.messages:
        yield from _message(told, message)
    references = [f"- Refers to {_named(reference)}.\n" for reference in turn.host_refs]
    hidden = [f"- *Withheld of {_place(item)}: {_why(item)}.*\n" for item in _about_fields(told)]
    observed = [f"- Observed {span(tool.tool)}{_words(': ', tool.summary)}.\n" for tool in turn.tools or []]
    if notes := observed + references + hidden:
        yield "\n" + "".join(notes)


def _about_fields(told: ExportedTurn) -> list[RedactionItem]:
    return [item for item in told.items if item.message is None]


def _place(item: RedactionItem) -> str:
    place = f"observation {item.tool}" if item.tool is not None else f"reference {item.host_ref}"
    return place if item.start is None else f"{place}, characters {item.start:,} to {item.end:,}"


def _why(item: RedactionItem) -> str:
    return f"`{item.reason}`" + (f" ({', '.join(item.causes)})" if item.causes else "")


def _message(told: ExportedTurn, message: SliceMessage) -> Iterator[str]:
    yield f"\n### {message.role}, {span(message.speaker_id)}, {_moment(message.observed_ms)}\n"
    for piece in told.pieces(message):
        yield "\n" + (_withheld(piece) if isinstance(piece, RedactionItem) else _part(piece))


def _withheld(item: RedactionItem) -> str:
    if item.start is None:
        return f"*Withheld: {_why(item)}.*\n"
    text = f"the text at {span(item.path)}" if item.path else "this text"
    return f"*Withheld of {text}, characters {item.start:,} to {item.end:,}: {_why(item)}.*\n"


def _part(part: Part) -> str:
    if isinstance(part, TextPart):
        return block(part.content, "text")
    if isinstance(part, ReasoningPart):
        return "Reasoning:\n\n" + block(part.content, "text")
    if isinstance(part, ToolCallPart):
        return f"Calls {span(part.name)}{_words(' as ', part.id)}:\n\n{block(as_json(part.arguments), 'json')}"
    if isinstance(part, ToolCallResponsePart):
        told = f"Returned{_words(' to ', part.id)}:\n\n"
        if isinstance(part.response, str):
            return told + block(part.response, "text")
        return told + block(as_json(part.response), "json")
    kind = _words(" ", part.mime_type or part.modality)
    if isinstance(part, BlobPart):
        return f"Data{kind}, {len(part.content):,} bytes.\n"
    if isinstance(part, FilePart):
        return f"File{kind} {span(part.file_id)}.\n"
    return f"At{kind} {span(part.uri)}.\n"


def _named(reference: HostReference) -> str:
    named = ", ".join(span(each) for each in (reference.host, reference.type, reference.id))
    return f"{named} (`{reference.relation}`){_words(': ', reference.label)}"


def _words(before: str, text: str | None) -> str:
    return f"{before}{span(text)}" if text else ""


def _moment(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}Z"


def block(text: str, kind: str) -> str:
    """Return text as a fenced block that it cannot leave."""
    shown = seen(text.replace("\r\n", "\n"))
    fence = FENCE * max(FENCE_MIN, _longest_run(shown) + 1)
    end = "" if shown.endswith("\n") or not shown else "\n"
    return f"{fence}{kind}\n{shown}{end}{fence}\n"


def span(text: str) -> str:
    """Return text as a code span on one line that it cannot leave."""
    shown = seen(text).replace("\n", "\\u{a}").replace("\t", "\\u{9}")
    fence = FENCE * (_longest_run(shown) + 1)
    space = " " if not shown or shown.isspace() or shown[0] in " `" or shown[-1] in " `" else ""
    return f"{fence}{space}{shown}{space}{fence}"


def seen(text: str) -> str:
    """Spell out the characters that are not seen as they are."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        f"\\u{{{ord(char):x}}}" if unicodedata.category(char) in SPELLED and char not in KEPT else char for char in text
    )


def _longest_run(text: str) -> int:
    return max(map(len, re.findall(f"{FENCE}+", text)), default=0)
