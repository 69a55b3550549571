r"""A transcript for people, in Markdown: our own text is prose, all content is code.

So no content can imitate our text. Content is in a fenced block whose fence is longer than any run of its character
inside; names are in code spans on one line, delimited in the same way. Characters that move the cursor, end a line
invisibly or change the direction of writing are escaped (`\u{202e}`). A transcript is for reading; the format `otel`
has the exact characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from muniment.events.message import (
    AttachmentPart,
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
from muniment.kernel.times import written

FENCE = "`"
FENCE_MIN = 3
ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # categories of invisible characters
KEPT = frozenset("\n\t\u200d")  # the joiner is part of visible signs


def markdown(export: ExportedConversation) -> Iterator[str]:
    """Yield the pieces of the transcript."""
    yield f"# Transcript of {span(export.conversation)}\n\nChannel {span(export.channel)}, view `{export.view}`.\n"
    for turn in export.turns:
        yield from _turn(turn)


def _turn(exported: ExportedTurn) -> Iterator[str]:
    turn = exported.turn
    yield f"\n## {turn.sequence}. {span(turn.turn)}\n"
    yield f"\n`{turn.phase}`, `{turn.delivery}`, committed {written(turn.committed_ms)}.\n"
    for message in turn.messages:
        yield from _message(exported, message)
    references = [f"- Refers to {_named(reference)}.\n" for reference in turn.host_refs]
    fields = [item for item in exported.items if item.message is None]
    hidden = [f"- *Withheld of {_field(item)}: {_reason(item)}.*\n" for item in fields]
    observed = [f"- Observed {span(tool.tool)}{_prefixed(': ', tool.summary)}.\n" for tool in turn.tools]
    if notes := observed + references + hidden:
        yield "\n" + "".join(notes)


def _field(item: RedactionItem) -> str:
    field = f"observation {item.tool}" if item.tool is not None else f"reference {item.host_ref}"
    return field if item.start is None else f"{field}, characters {item.start:,} to {item.end:,}"


def _reason(item: RedactionItem) -> str:
    return f"`{item.reason}`" + (f" ({', '.join(item.causes)})" if item.causes else "")


def _message(exported: ExportedTurn, message: SliceMessage) -> Iterator[str]:
    yield f"\n### {message.role}, {span(message.speaker_id)}, {written(message.observed_ms)}\n"
    for piece in exported.pieces(message):
        yield "\n" + (_withheld(piece) if isinstance(piece, RedactionItem) else _part(piece))


def _withheld(item: RedactionItem) -> str:
    if item.start is None:
        return f"*Withheld: {_reason(item)}.*\n"
    text = f"the text at {span(item.path)}" if item.path else "this text"
    return f"*Withheld of {text}, characters {item.start:,} to {item.end:,}: {_reason(item)}.*\n"


def _part(part: Part) -> str:
    if isinstance(part, TextPart):
        return block(part.content, "text")
    if isinstance(part, ReasoningPart):
        return "Reasoning:\n\n" + block(part.content, "text")
    if isinstance(part, ToolCallPart):
        return f"Calls {span(part.name)}{_prefixed(' as ', part.id)}:\n\n{block(as_json(part.arguments), 'json')}"
    if isinstance(part, ToolCallResponsePart):
        heading = f"Returned{_prefixed(' to ', part.id)}:\n\n"
        if isinstance(part.response, str):
            return heading + block(part.response, "text")
        return heading + block(as_json(part.response), "json")
    kind = _prefixed(" ", part.mime_type or part.modality)
    if isinstance(part, BlobPart):
        return f"Data{kind}, {len(part.content):,} bytes.\n"
    if isinstance(part, FilePart):
        return f"File{kind} {span(part.file_id)}.\n"
    if isinstance(part, AttachmentPart):
        return f"Attached {span(str(part))}.\n"
    return f"At{kind} {span(part.uri)}.\n"


def _named(reference: HostReference) -> str:
    names = ", ".join(span(name) for name in (reference.host, reference.type, reference.id))
    return f"{names} (`{reference.relation}`){_prefixed(': ', reference.label)}"


def _prefixed(before: str, text: str | None) -> str:
    return f"{before}{span(text)}" if text else ""


def block(text: str, kind: str) -> str:
    """Return text as a fenced block that the text cannot end."""
    shown = escaped(text.replace("\r\n", "\n"))
    fence = FENCE * max(FENCE_MIN, _longest_run(shown) + 1)
    end = "" if shown.endswith("\n") or not shown else "\n"
    return f"{fence}{kind}\n{shown}{end}{fence}\n"


def span(text: str) -> str:
    """Return text as a code span on one line that the text cannot end."""
    shown = escaped(text).replace("\n", "\\u{a}").replace("\t", "\\u{9}")
    fence = FENCE * (_longest_run(shown) + 1)
    space = " " if not shown or shown.isspace() or shown[0] in " `" or shown[-1] in " `" else ""
    return f"{fence}{space}{shown}{space}{fence}"


def escaped(text: str) -> str:
    """Return the text with its invisible characters escaped."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        f"\\u{{{ord(char):x}}}" if unicodedata.category(char) in ESCAPED and char not in KEPT else char for char in text
    )


def _longest_run(text: str) -> int:
    return max(map(len, re.findall(f"{FENCE}+", text)), default=0)
