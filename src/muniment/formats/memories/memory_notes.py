"""Memory that people and programs keep in Markdown, as statements: bytes in, values out; nothing raises.

An entry of a journal of ours is the item that it was. All other text is read as it is usually written:

| in the file | is |
|---|---|
| a heading with a kind in it (`Preferences`, `Open tasks`) | the kind of what follows |
| a heading or the name of the file with a date, a heading with a time | when what follows was observed |
| any other heading below the first, an entry above an indented one | what a statement is about, before its topic |
| an entry of a list, or a paragraph | a statement |
| `**Topic:** text`, `**Topic**: text`, `Topic: text` | a statement with its topic |
| `- [ ] text` | a task |

Done tasks, code, tables, quotations, HTML, pictures and front matter are no statements: each is a finding with its
line. What a file is for, its name says: `USER.md` is about the subject, a file of a day is a diary, any other is facts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.events.memory_items import ItemKind, MemoryPlane
from muniment.formats.journal_text import JournalEntry, goes_on, is_of_ours, read_entry

FILE_BYTES_MAX = 1 << 20
STATEMENTS_MAX = 10_000  # of a file
TOPIC_CHARS_MAX = 80
SPLIT_CHARS_MAX = 60  # of a topic before a colon; longer ones are part of the sentence
DEPTH_MAX = 8  # entries below each other

# word of a heading, in lower case -> the kind of what stands below it
WORDS: dict[str, ItemKind] = {
    **{kind.value: kind for kind in ItemKind if kind not in {ItemKind.SUMMARY, ItemKind.DIARY}},
    "preferences": ItemKind.PREFERENCE, "likes": ItemKind.PREFERENCE, "dislikes": ItemKind.PREFERENCE,
    "about": ItemKind.PROFILE, "identity": ItemKind.PROFILE, "user": ItemKind.PROFILE,
    "relationships": ItemKind.RELATIONSHIP, "people": ItemKind.RELATIONSHIP, "family": ItemKind.RELATIONSHIP,
    "contacts": ItemKind.RELATIONSHIP, "projects": ItemKind.PROJECT, "context": ItemKind.PROJECT,
    "tasks": ItemKind.TASK, "todo": ItemKind.TASK, "todos": ItemKind.TASK, "goals": ItemKind.TASK,
    "constraints": ItemKind.CONSTRAINT, "rules": ItemKind.CONSTRAINT, "boundaries": ItemKind.CONSTRAINT,
    "decisions": ItemKind.DECISION, "corrections": ItemKind.CORRECTION, "lessons": ItemKind.CORRECTION,
    "facts": ItemKind.FACT, "knowledge": ItemKind.FACT, "procedures": ItemKind.PROCEDURE,
    "experience": ItemKind.EXPERIENCE,
}  # fmt: skip
# kind -> the plane of a statement of it; all others are long-term
PLANES: dict[ItemKind, MemoryPlane] = {
    ItemKind.PROCEDURE: MemoryPlane.RUNTIME_SKILL,
    ItemKind.EXPERIENCE: MemoryPlane.TOOL_EXPERIENCE,
    ItemKind.DIARY: MemoryPlane.DIARY,
}


class NoteFlaw(StrEnum):
    """Why a line of a file is no statement, or a file is not read."""

    CODE = "code"
    TABLE = "table"
    QUOTATION = "quotation"
    HTML = "html"
    PICTURE = "picture"
    FRONT_MATTER = "front_matter"
    DONE = "done_task"
    TOO_DEEP = "too_deep"
    DAMAGED_ENTRY = "damaged_entry"
    TOO_MANY = "too_many"
    TOO_LARGE = "too_large"
    NOT_UTF8 = "not_utf8"
    NOT_MEMORIES = "not_memories"
    NO_MEMORY = "no_memory"
    OTHER_USER = "other_user"


class FlawedNote(Struct, frozen=True, kw_only=True):
    """A line that is no statement, or (0) a whole file, and why."""

    line: int
    reason: NoteFlaw


class NotedStatement(Struct, frozen=True, kw_only=True):
    """A statement of a file; `own` when it is an entry of a journal of ours. Without `observed_ms` no time is known."""

    line: int
    kind: ItemKind
    topic: str
    text: str
    observed_ms: int | None = None
    own: JournalEntry | None = None

    @property
    def plane(self) -> MemoryPlane:
        """The plane of memory that it belongs to."""
        return PLANES.get(self.kind, MemoryPlane.LONG_TERM) if self.own is None else self.own.note.plane


class MemoryNotes(NamedTuple):
    """The statements of a file in their order, and what is no statement."""

    statements: list[NotedStatement]
    flaws: list[FlawedNote]


_DATE = re.compile(r"\b(\d{4}-\d\d-\d\d)(?!\d)(?:[T ](\d\d?:\d\d))?", re.ASCII)
_TIME = re.compile(r"(\d\d?:\d\d)(?::\d\d)?Z?\b", re.ASCII)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_ENTRY = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")
_TASK = re.compile(r"\[([ xX])\][ \t]+(.*)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*)")
_TOPICS = (
    re.compile(rf"\*\*([^*]{{1,{SPLIT_CHARS_MAX}}}?):\*\*\s*(.+)", re.DOTALL),
    re.compile(rf"\*\*([^*]{{1,{SPLIT_CHARS_MAX}}})\*\*:\s*(.+)", re.DOTALL),
    re.compile(rf"([^:*`\[\]<>\n]{{1,{SPLIT_CHARS_MAX}}}?):\s+(.+)", re.DOTALL),
)
_WORD = re.compile(r"\w+")


def memory_notes(name: str, content: bytes) -> MemoryNotes:
    """Return the statements of a file by its name and bytes."""
    if len(content) > FILE_BYTES_MAX:
        return MemoryNotes([], [FlawedNote(line=0, reason=NoteFlaw.TOO_LARGE)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return MemoryNotes([], [FlawedNote(line=0, reason=NoteFlaw.NOT_UTF8)])
    return _Reading(name).read(text.replace("\r\n", "\n").split("\n"))


class _Block(NamedTuple):
    """Lines that belong together: a paragraph, or an entry of a list with its indentation."""

    line: int
    indent: int | None
    text: list[str]


class _Reading:
    """Reads one file, line by line."""

    def __init__(self, name: str) -> None:
        stem = name.rpartition("/")[2].casefold().removesuffix(".md")
        day = _DATE.match(stem)
        self._kind = ItemKind.DIARY if day else ItemKind.PROFILE if stem == "user" else ItemKind.FACT
        self._is_of_days = day is not None
        self._date, self._time = "" if day is None else day[1], ""
        self._headings: list[tuple[int, str, ItemKind | None]] = []
        self._above: list[tuple[int, str]] = []
        self._block: _Block | None = None
        self._topics: defaultdict[tuple[ItemKind, str], dict[str, str]] = defaultdict(dict)
        self._found = MemoryNotes([], [])

    def read(self, lines: list[str]) -> MemoryNotes:
        """Return what is in the file."""
        for number, line in self._prose(lines):
            heading, entry = _HEADING.fullmatch(line), _ENTRY.fullmatch(line)
            if self._block is not None and self._goes_on():
                self._block.text.append(line)  # the text of an entry of ours
            elif not line.strip() or _RULE.fullmatch(line):
                self._end()
            elif heading is not None:
                self._end()
                self._heading(len(heading[1]), heading[2].rstrip(" \t#"))
            elif entry is not None:
                self._end()
                self._block = _Block(number, len(entry[1].expandtabs(4)), [entry[2]])
            elif (why := _why_not(line)) is not None:
                self._end()
                self._flaw(number, why)
            elif self._block is not None:
                self._block.text.append(line.strip())
            else:
                self._block = _Block(number, None, [line.strip()])
        self._end()
        return self._found

    def _prose(self, lines: list[str]) -> Iterator[tuple[int, str]]:
        """Yield lines with their numbers, but for front matter, code and comments, which are findings."""
        until, why = "", NoteFlaw.CODE
        for number, line in enumerate(lines, start=1):
            if until:
                is_end = line.strip().startswith(until) if why is NoteFlaw.CODE else until in line
                until = "" if is_end else until
                continue
            if self._goes_on():
                yield number, line
                continue
            if number == 1 and line.rstrip() == "---" and any(each.rstrip() == "---" for each in lines[1:]):
                until, why = "---", NoteFlaw.FRONT_MATTER
            elif (fence := _FENCE.match(line)) is not None:
                until, why = fence[1], NoteFlaw.CODE
            elif line.lstrip().startswith("<!--"):
                if line.startswith("<!-- muniment journal "):
                    continue
                until, why = "" if "-->" in line else "-->", NoteFlaw.HTML
            else:
                yield number, line
                continue
            self._end()
            self._flaw(number, why)

    def _goes_on(self) -> bool:
        """Tell whether the next line belongs to the text of an entry of ours, whatever it looks like."""
        text = [] if self._block is None else self._block.text
        return bool(text) and text[0].startswith("**") and goes_on(text[-1])

    def _flaw(self, line: int, reason: NoteFlaw) -> None:
        self._found.flaws.append(FlawedNote(line=line, reason=reason))

    def _heading(self, level: int, text: str) -> None:
        self._headings = [each for each in self._headings if each[0] < level]
        self._above.clear()
        date, time = _DATE.search(text), _TIME.match(text)
        if date is not None:
            self._date, self._time = date[1], date[2] or ""
        elif time is not None:
            self._time = time[1]
        kinds = [WORDS[word] for word in _WORD.findall(text.casefold()) if word in WORDS]
        is_context = level > 1 and date is None and time is None and not kinds
        self._headings.append((level, text.strip(" *") if is_context else "", kinds[0] if kinds else None))

    def _end(self) -> None:
        """Take the lines that belong together as a statement."""
        block, self._block = self._block, None
        if block is None:
            return
        if len(self._found.statements) == STATEMENTS_MAX:
            self._flaw(block.line, NoteFlaw.TOO_MANY)
            return
        own = read_entry("- " + "\n".join(block.text)) or read_entry("- " + " ".join(block.text))
        if own is not None:
            self._found.statements.append(
                NotedStatement(
                    line=block.line,
                    kind=own.note.kind,
                    topic=own.topic,
                    text=own.text,
                    observed_ms=own.note.observed_ms,
                    own=own,
                )
            )
        elif any(map(is_of_ours, block.text)):
            self._flaw(block.line, NoteFlaw.DAMAGED_ENTRY)
        else:
            self._statement(block, "\n".join(block.text).strip())

    def _statement(self, block: _Block, text: str) -> None:
        task = _TASK.fullmatch(text)
        if task is not None and task[1] != " ":
            self._flaw(block.line, NoteFlaw.DONE)
            return
        text = text if task is None else task[2].strip()
        if not any(map(str.isalnum, text)):
            return
        self._above = [each for each in self._above if block.indent is not None and each[0] < block.indent]
        if len(self._above) == DEPTH_MAX:
            self._flaw(block.line, NoteFlaw.TOO_DEEP)
            return
        split = next((found for each in _TOPICS if (found := each.fullmatch(text)) is not None), None)
        topic, said = (text, text) if split is None else (split[1].strip(), split[2].strip())
        topic = shortened_topic(topic)
        kind = self._kind_of(is_task=task is not None)
        context = [name for _, name, _ in self._headings if name] + [name for _, name in self._above]
        whole = " / ".join([*([self._date] if kind is ItemKind.DIARY and self._date else []), *context, topic])
        if block.indent is not None:
            self._above.append((block.indent, topic))
        self._found.statements.append(
            NotedStatement(
                line=block.line, kind=kind, topic=self._once(kind, whole, said), text=said, observed_ms=self._moment()
            )
        )

    def _kind_of(self, *, is_task: bool) -> ItemKind:
        if self._is_of_days:
            return self._kind
        kinds = [kind for _, _, kind in self._headings if kind is not None]
        return ItemKind.TASK if is_task else kinds[-1] if kinds else self._kind

    def _once(self, kind: ItemKind, topic: str, text: str) -> str:
        """Return a topic that no other text of the file has had: one must not take the place of another."""
        told = self._topics[kind, topic]
        return told.setdefault(text, topic if not told else f"{topic} ({len(told) + 1})")

    def _moment(self) -> int | None:
        """Return when what follows was observed, if a date says so."""
        hour, _, minute = self._time.partition(":")
        try:
            day = datetime.fromisoformat(self._date) if self._date else None
            moment = None if day is None else day.replace(hour=int(hour or 0), minute=int(minute or 0), tzinfo=UTC)
        except ValueError:  # the 31st of February
            return None
        return None if moment is None else max(0, int(moment.timestamp()) * 1000)


def _why_not(line: str) -> NoteFlaw | None:
    """Return why a line is no statement, by how it begins."""
    start = line.lstrip()
    begins = {"|": NoteFlaw.TABLE, ">": NoteFlaw.QUOTATION, "<": NoteFlaw.HTML, "![": NoteFlaw.PICTURE}
    return next((why for sign, why in begins.items() if start.startswith(sign)), None)


def shortened_topic(text: str) -> str:
    """Return the beginning of a text, up to the end of a word where there is one."""
    line = " ".join(text.split())
    if len(line) <= TOPIC_CHARS_MAX:
        return line
    return line[:TOPIC_CHARS_MAX].rpartition(" ")[0] or line[:TOPIC_CHARS_MAX]
