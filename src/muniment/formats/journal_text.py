r"""Entries of a journal: what an item says as an entry of a Markdown list that nothing in it can end, and back.

    - **home city**: Lives in Rome <!-- muniment {"id":"i-2","kind":"profile",...} -->

Punctuation that means something in Markdown has a backslash before it, a character that nobody sees is spelt
`\u{202e}`, and a line break is a backslash at the end of the line with the text going on, indented, on the next one.
All of it is exactly reversed by reading. The comment is JSON without hyphens and angle brackets, so that it ends where
it should; it says what a list cannot show, and which item the entry is of.
"""

from __future__ import annotations

import json
import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from muniment.events.memory_items import Audience, Freshness, ItemKind, ItemPrivacy, ItemScope, MemoryPlane
from muniment.kernel.hidden_characters import escaped_hidden

Share = Annotated[float, Meta(ge=0, le=1)]
TimeMs = Annotated[int, Meta(ge=0, le=2**53 - 1)]

BREAK, INDENT = "\\\n", "  "
BLANK = " "

_MARKED = re.compile(r"[\\`*_\[\]<>&~|@]|:(?=//)|(?<=[wW]{3})\.")
_AT_START = re.compile(r"(\d*)([-#+=:.)])")
_ESCAPED = re.compile(r"\\u\{([0-9a-f]{1,6})\}|\\([!-/:-@\[-`{-~])")
_ENTRY = re.compile(r"- \*\*((?:[^\\*\n]|\\.)+)\*\*: ((?:[^\\<]|\\.)*?) (<!-- muniment \{[^\n>]*\} -->)", re.DOTALL)
OPENING, CLOSING = "<!-- muniment ", " -->"
_UNSAFE = str.maketrans({"-": "\\u002d", "<": "\\u003c", ">": "\\u003e"})


class ItemNote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the comment of an entry says of its item. Without an `audience` everybody may know of a shared fact."""

    id: str
    plane: MemoryPlane
    kind: ItemKind
    observed_ms: TimeMs
    confidence: Share
    name: str | None = None
    title: str | None = None
    summary: str | None = None
    audience: Audience = Audience()
    importance: Share = 0.5
    privacy: ItemPrivacy = ItemPrivacy.SHARED_WITH_SUBJECT
    scope: ItemScope = ItemScope.USER
    freshness: Freshness = Freshness.STABLE
    expires_ms: TimeMs | None = None
    pinned: bool = False
    keywords: list[str] = []
    tags: list[str] = []
    entities: list[str] = []


class JournalEntry(Struct, frozen=True, kw_only=True):
    """An item as an entry shows it."""

    topic: str
    text: str
    note: ItemNote


def entry_text(entry: JournalEntry) -> str:
    """Return the lines of an entry, without the end of the last one."""
    return f"- **{_escaped(entry.topic)}**: {_lines(entry.text)} {_comment(entry.note)}"


def read_entry(text: str) -> JournalEntry | None:
    """Return the entry that some lines are; None for anything that `entry_text` did not write."""
    found = _ENTRY.match(text)
    note = None if found is None else _note(found[3])
    if found is None or note is None:
        return None
    return JournalEntry(topic=_plain(found[1]), text=_plain(found[2].replace(BREAK + INDENT, "\n")), note=note)


def within_comment(told: str) -> str:
    """Return JSON in ASCII as it may stand in a comment: nothing in its texts ends that."""
    return told.translate(_UNSAFE)


def is_of_ours(line: str) -> bool:
    """Tell whether a line has the comment of an entry, or a part of it."""
    return OPENING + "{" in line


def goes_on(line: str) -> bool:
    """Tell whether the text of an entry goes on in the next line: it ends with a backslash that is not escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _escaped(text: str) -> str:
    """Return one line of foreign text; hidden characters and blanks at its ends are spelt out."""
    marked = _MARKED.sub(r"\\\g<0>", text)
    marked = escaped_hidden(marked, _spelled).replace("\n", _spelled("\n"))
    if marked.startswith(BLANK):
        marked = _spelled(BLANK) + marked[1:]
    return marked[:-1] + _spelled(BLANK) if marked.endswith(BLANK) else marked


def _lines(text: str) -> str:
    first, *more = (_escaped(line) for line in text.split("\n"))
    return (BREAK + INDENT).join([first, *map(_started, more)])


def _started(line: str) -> str:
    """Return a line that begins nothing: no heading, list, rule or definition."""
    found = _AT_START.match(line)
    return line if found is None else f"{found[1]}\\{line[len(found[1]) :]}"


def _spelled(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: found[2] or chr(min(int(found[1], 16), 0x10FFFF)), text)


def _comment(note: ItemNote) -> str:
    told = json.dumps(msgspec.to_builtins(note), separators=(",", ":"), sort_keys=True)
    return OPENING + within_comment(told) + CLOSING


def _note(comment: str) -> ItemNote | None:
    try:
        return msgspec.json.decode(comment.removeprefix(OPENING).removesuffix(CLOSING), type=ItemNote)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
