"""Everything about a subject as one page of HTML, for people: no script, nothing loaded, every text escaped.

What is withheld is marked as withheld, with its reason. Invisible characters are spelt out, as in a transcript.
"""

from __future__ import annotations

import html
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
from muniment.formats.writing.markdown import escaped
from muniment.formats.writing.pages import ExportedTurn, as_json
from muniment.formats.writing.subject_pages import SubjectConversation, SubjectDocument, SubjectItem, SubjectTurn
from muniment.governance.slices import RedactionItem, SliceMessage
from muniment.kernel.times import written

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Everything about a subject</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: .5rem; margin: .25rem 0; }
section { border-top: 1px solid #ccc; margin-top: 2rem; }
.faint { color: #666; } .withheld { color: #8a4b00; font-style: italic; }
</style></head><body>
"""
HEADING = frozenset({"subject", "plane", "kind", "topic", "text"})  # members of an item that stand above the others
TIME = "_ms"
END = "</body></html>\n"


def subject_html(document: SubjectDocument) -> Iterator[str]:
    """Yield the pieces of the page."""
    yield HEAD
    yield f"<h1>Everything about {_text(document.subject)}</h1>\n"
    facts = [
        ("Space", document.space),
        ("View", document.view),
        ("Exported", written(document.exported_ms)),
        ("Conversations", str(len(document.conversations))),
        ("Turns", str(sum(len(one.turns) for one in document.conversations))),
        ("Memory items", str(len(document.memory))),
        ("Recipient", document.recipient),
        ("Purpose", document.purpose),
    ]
    yield from _list(f"{name}: {_text(value)}" for name, value in facts if value is not None)
    if not document.conversations and not document.memory and not document.memory_withheld:
        yield "<p>There is nothing about this subject.</p>\n"
    for conversation in document.conversations:
        yield from _conversation(conversation)
    if document.memory or document.memory_withheld:
        yield from _memory(document)
    yield END


def _memory(document: SubjectDocument) -> Iterator[str]:
    yield "<section><h2>What was remembered</h2>\n"
    for one in document.memory:
        yield from _item(one)
    yield from _list(
        f'<span class="withheld">Withheld: {each.items} items, {_text(each.reason)}</span>'
        for each in document.memory_withheld
    )
    yield "</section>\n"


def _item(one: SubjectItem) -> Iterator[str]:
    item = one.item
    about = f"{item['plane']}, {item['kind']}: {item.get('topic', item['id'])}"
    yield f"<h3>{_text(about)}</h3>\n"
    if "text" in item:
        yield _pre(item["text"])
    yield from _list(_fact(name, value) for name, value in item.items() if name not in HEADING)
    if one.revisions:
        yield "<p>What happened to it:</p>\n"
        yield from _list("; ".join(_fact(name, value) for name, value in each.items()) for each in one.revisions)


def _fact(name: str, value: object) -> str:
    """Return a member of an item or of its history; times for people, everything else as it is."""
    shown = value if isinstance(value, str) else as_json(value)
    if name.endswith(TIME) and isinstance(value, int):
        name, shown = name.removesuffix(TIME), written(value)
    if name == "evidence" and isinstance(value, list):
        shown = ", ".join(f"{source['citation']} ({source['phase']})" for source in value)
    return f"{name.replace('_', ' ').capitalize()}: {_text(shown)}"


def _conversation(one: SubjectConversation) -> Iterator[str]:
    key = one.conversation
    yield f"<section><h2>{_text(one.title or key.conversation)}</h2>\n"
    yield f'<p class="faint">{_text(key.channel)}/{_text(key.conversation)}</p>\n'
    yield from _list(f"Chat id: {_text(chat)}" for chat in one.chats)
    for turn in one.turns:
        yield from _turn(turn)
    if one.changes:
        yield "<h3>What was done to these turns</h3>\n"
        yield from _list(
            f"{written(fact.at_ms)}: {_text(fact.what)}, {_turns(fact.turns)}{_named('by', fact.requester)}"
            f"{_named('because', fact.reason)}"
            for fact in one.changes
        )
    if one.received:
        yield "<h3>Who received these turns</h3>\n"
        yield from _list(
            f"{written(each.at_ms)}: {_text(each.kind)}, {_turns(each.turns)}, view {_text(', '.join(each.views))}"
            f"{_named('recipient', each.recipient)}{_named('requested by', each.requester)}"
            f"{_named('purpose', each.purpose)}"
            for each in one.received
        )
    yield "</section>\n"


def _turn(one: SubjectTurn) -> Iterator[str]:
    turn, exported = one.turn, ExportedTurn(one.turn, one.withheld)
    yield f"<h3>{turn.sequence}. {_text(turn.turn)}</h3>\n"
    how = ", ".join(role.replace("_", " ") for role in one.roles)
    yield f'<p class="faint">{turn.phase}, {turn.delivery}, {written(turn.committed_ms)}, as {_text(how)}</p>\n'
    for message in turn.messages:
        yield from _message(exported, message)
    yield from _list(f"Observed {_text(tool.tool)}: {_text(tool.summary)}" for tool in turn.tools or [])
    yield from _list(
        f"Refers to {_text(f'{each.host}/{each.type}/{each.id}')}{_named('', each.label)}" for each in turn.host_refs
    )
    yield from _list(
        f"Attribute {_text(each.key)}: {_text(as_json(each.value))}" + (" (withheld)" if each.redacted else "")
        for each in turn.attributes
    )
    yield from _list(_withheld(item) for item in one.withheld if item.message is None)


def _message(exported: ExportedTurn, message: SliceMessage) -> Iterator[str]:
    yield f"<p><strong>{message.role}</strong> {_text(message.speaker_id)} "
    yield f'<span class="faint">{written(message.observed_ms)}</span></p>\n'
    for piece in exported.pieces(message):
        yield f"<p>{_withheld(piece)}</p>\n" if isinstance(piece, RedactionItem) else _part(piece)


def _withheld(item: RedactionItem) -> str:
    what = f"attribute {item.attribute_key}" if item.attribute is not None else "content"
    if item.host_ref is not None:
        what = f"reference {item.host_ref}"
    if item.tool is not None:
        what = f"summary of observation {item.tool}"
    where = "" if item.start is None else f", characters {item.start} to {item.end}"
    causes = f" ({', '.join(item.causes)})" if item.causes else ""
    return f'<span class="withheld">Withheld: {_text(what + where)}, {_text(item.reason + causes)}</span>'


def _part(part: Part) -> str:
    if isinstance(part, TextPart):
        return _pre(part.content)
    if isinstance(part, ReasoningPart):
        return "<p>Reasoning:</p>" + _pre(part.content)
    if isinstance(part, ToolCallPart):
        return f"<p>Calls {_text(part.name)}:</p>" + _pre(as_json(part.arguments))
    if isinstance(part, ToolCallResponsePart):
        return "<p>Returned:</p>" + _pre(part.response if isinstance(part.response, str) else as_json(part.response))
    if isinstance(part, BlobPart):
        return f"<p>Data, {len(part.content):,} bytes</p>\n"
    if isinstance(part, FilePart):
        return f"<p>File {_text(part.file_id)}</p>\n"
    if isinstance(part, AttachmentPart):
        return f"<p>Attached {_text(str(part))}</p>\n"
    return f"<p>At {_text(part.uri)}</p>\n"


def _list(lines: Iterator[str]) -> Iterator[str]:
    told = [f"<li>{line}</li>\n" for line in lines]
    if told:
        yield "<ul>\n" + "".join(told) + "</ul>\n"


def _turns(sequences: list[int]) -> str:
    return f"turn {sequences[0]}" if len(sequences) == 1 else f"turns {', '.join(map(str, sequences))}"


def _named(before: str, name: str | None) -> str:
    return f", {before} {_text(name)}".replace(",  ", ": ") if name else ""


def _pre(text: str) -> str:
    return f"<pre>{_text(text)}</pre>\n"


def _text(text: str) -> str:
    return html.escape(escaped(text))
