"""The memory of a subject as a folder of Markdown: what is known, and day by day what came to be known.

| file | holds |
|---|---|
| `MEMORY.md` | long-term memory by kind, apart from what is in `USER.md` |
| `USER.md` | who the subject is: profile, preferences, relationships |
| `memory/YYYY-MM-DD.md` | what was observed on a day (UTC): diary, summaries, and what was remembered |

Each item is an entry that `formats.journal_text` writes, with the turns that it rests on below it. The same items give
the same bytes: nothing depends on when or where they are written. The first line of a file says whose memory it is.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from muniment.events.memory_items import ItemKind, MemoryPlane
from muniment.formats.journal_text import JournalEntry, entry_text, within_comment
from muniment.formats.writing.markdown import span
from muniment.kernel.times import written

MEMORY_FILE, USER_FILE, DAYS = "MEMORY.md", "USER.md", "memory"
DAY_CHARS = len("2026-01-02")
NAME_CHARS_MAX, DIGEST_CHARS = 120, 32  # of the name of a folder, and of what tells longer ones apart
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")  # the others, capitals too, are alike on some system
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})

# kind -> the heading that its items stand below, in this order
HEADINGS: dict[ItemKind, str] = {
    ItemKind.PROFILE: "Profile",
    ItemKind.PREFERENCE: "Preferences",
    ItemKind.RELATIONSHIP: "Relationships",
    ItemKind.CORRECTION: "Corrections",
    ItemKind.CONSTRAINT: "Constraints",
    ItemKind.DECISION: "Decisions",
    ItemKind.PROJECT: "Projects",
    ItemKind.TASK: "Tasks",
    ItemKind.FACT: "Facts",
    ItemKind.PROCEDURE: "Procedures",
    ItemKind.EXPERIENCE: "Experience with tools",
    ItemKind.SUMMARY: "Summaries",
    ItemKind.DIARY: "Diary",
}
ABOUT_THE_SUBJECT = frozenset({ItemKind.PROFILE, ItemKind.PREFERENCE, ItemKind.RELATIONSHIP})
OF_DAYS = frozenset({MemoryPlane.DIARY, MemoryPlane.SUMMARY})  # planes whose items stand in files of days alone
REMEMBERED = "Remembered"


class JournalItem(NamedTuple):
    """An item as it is written, and where it comes from, as people cite that."""

    entry: JournalEntry
    sources: Sequence[str] = ()


class JournalFile(NamedTuple):
    """A file of a journal: its name, with slashes, and its text."""

    name: str
    text: str


def journal_files(subject: str, items: Sequence[JournalItem], day: str | None = None) -> Iterator[JournalFile]:
    """Yield the files of a journal that have anything in them; of one day (`2026-01-02`), or all."""
    if day is None:
        lasting = [item for item in items if item.entry.note.plane not in OF_DAYS]
        about = [item for item in lasting if item.entry.note.kind in ABOUT_THE_SUBJECT]
        others = [item for item in lasting if item.entry.note.kind not in ABOUT_THE_SUBJECT]
        for name, title, chosen in ((MEMORY_FILE, "Memory", others), (USER_FILE, "User", about)):
            if chosen:
                yield _file(subject, name, title, _by_kind(chosen))
    days: defaultdict[str, list[JournalItem]] = defaultdict(list)
    for item in items:
        days[_day(item)].append(item)
    for each in sorted(days):
        if day in {None, each} and len(each) == DAY_CHARS:
            yield _file(subject, f"{DAYS}/{each}.md", each, _of_day(days[each]))


def folder_name(subject: str) -> str:
    """Return a name for the folder of a subject: another one for each, on every system, and never a path."""
    raw = subject.encode()
    told = [chr(byte) if chr(byte) in _PLAIN else f"%{byte:02x}" for byte in raw]
    if told[0] in {".", "-"} or subject.partition(".")[0] in _RESERVED:
        told[0] = f"%{raw[0]:02x}"
    if told[-1] == ".":
        told[-1] = "%2e"
    name = "".join(told)
    if len(name) <= NAME_CHARS_MAX:
        return name
    return f"{name[:NAME_CHARS_MAX]}~{sha256(raw).hexdigest()[:DIGEST_CHARS]}"


def first_line(subject: str, name: str) -> str:
    """Return the first line of a file of a journal."""
    told = json.dumps({"file": name, "subject": subject}, separators=(",", ":"))
    return f"<!-- muniment journal {within_comment(told)} -->\n"


def _file(subject: str, name: str, title: str, body: Iterable[str]) -> JournalFile:
    return JournalFile(name, f"{first_line(subject, name)}# {title}\n{''.join(body)}")


def _by_kind(items: Iterable[JournalItem]) -> Iterator[str]:
    by_kind: defaultdict[ItemKind, list[JournalItem]] = defaultdict(list)
    for item in items:
        by_kind[item.entry.note.kind].append(item)
    for kind, heading in HEADINGS.items():
        if by_kind[kind]:
            yield f"\n## {heading}\n\n"
            yield from map(_entry, by_kind[kind])


def _of_day(items: Sequence[JournalItem]) -> Iterator[str]:
    for plane, heading in ((MemoryPlane.SUMMARY, "Summaries"), (MemoryPlane.DIARY, "Diary")):
        yield from _by_time(heading, [item for item in items if item.entry.note.plane is plane])
    others = [item for item in items if item.entry.note.plane not in OF_DAYS]
    if others:
        yield f"\n## {REMEMBERED}\n\n"
        yield from map(_entry, others)


def _by_time(heading: str, items: Sequence[JournalItem]) -> Iterator[str]:
    last = ""
    for item in items:
        time = written(item.entry.note.observed_ms)[DAY_CHARS + 1 :]
        if not last:
            yield f"\n## {heading}\n"
        if time != last:
            yield f"\n### {time}\n\n"
        last = time
        yield _entry(item)


def _entry(item: JournalItem) -> str:
    sources = f"  from {', '.join(map(span, item.sources))}\n" if item.sources else ""
    return f"{entry_text(item.entry)}\n{sources}"


def _day(item: JournalItem) -> str:
    """Return the day on which an item was observed; another text for a time outside the calendar."""
    return written(item.entry.note.observed_ms).partition(" ")[0]
