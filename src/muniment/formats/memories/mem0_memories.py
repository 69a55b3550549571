"""Memories that mem0 exports (what `get_all` returns, as JSON) as statements: bytes in, values out; nothing raises.

| in the export | is |
|---|---|
| `memory` (before: `text`, `data`) | a statement; its beginning is its topic |
| `updated_at`, or else `created_at` | when it was observed |
| `categories`, `metadata.category` | its kind, where one of them is a word for a kind (`WORDS`); any other is a fact |
| `user_id` | whose it is: where the export has several users, only those of the subject are taken |

A list is read, or an object whose `results` (before: `memories`) are one. What is no memory is a finding with its
number in the list, counted from 1. Hashes, scores and relations are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from muniment.events.memory_items import ItemKind
from muniment.formats.memories.memory_notes import (
    FILE_BYTES_MAX,
    STATEMENTS_MAX,
    WORDS,
    FlawedNote,
    MemoryNotes,
    NotedStatement,
    NoteFlaw,
    memory_notes,
    shortened_topic,
)

LISTS = ("results", "memories")
TEXTS = ("memory", "text", "data")
TIMES = ("updated_at", "created_at")


def noted(name: str, content: bytes, subject: str) -> MemoryNotes:
    """Return the statements of a file, by its name and bytes, for a subject: an export of mem0, or else Markdown."""
    if not name.casefold().endswith(".json"):
        return memory_notes(name, content)
    if len(content) > FILE_BYTES_MAX:
        return _unread(NoteFlaw.TOO_LARGE)
    try:
        decoded = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return _unread(NoteFlaw.NOT_MEMORIES)
    if isinstance(decoded, dict):
        decoded = next((decoded[field] for field in LISTS if isinstance(decoded.get(field), list)), None)
    if not isinstance(decoded, list):
        return _unread(NoteFlaw.NOT_MEMORIES)
    return _of_memories(decoded, subject)


def _unread(why: NoteFlaw) -> MemoryNotes:
    return MemoryNotes([], [FlawedNote(line=0, reason=why)])


def _of_memories(memories: list[Any], subject: str) -> MemoryNotes:
    users = {each["user_id"] for each in memories if isinstance(each, dict) and isinstance(each.get("user_id"), str)}
    found = MemoryNotes([], [])
    topics = _TopicsOfTexts()
    for number, each in enumerate(memories, start=1):
        text = None if not isinstance(each, dict) else _text(each)
        if text is None:
            found.flaws.append(FlawedNote(line=number, reason=NoteFlaw.NO_MEMORY))
        elif len(users) > 1 and each.get("user_id") != subject:
            found.flaws.append(FlawedNote(line=number, reason=NoteFlaw.OTHER_USER))
        elif len(found.statements) == STATEMENTS_MAX:
            found.flaws.append(FlawedNote(line=number, reason=NoteFlaw.TOO_MANY))
            break
        else:
            kind = _kind(each)
            found.statements.append(
                NotedStatement(
                    line=number,
                    kind=kind,
                    topic=topics.of(kind, text),
                    text=text,
                    observed_ms=_moment(each),
                )
            )
    return found


class _TopicsOfTexts:
    """Gives texts their topics: equal texts of a kind have one, different texts never."""

    def __init__(self) -> None:
        self._of_text: dict[tuple[ItemKind, str], str] = {}
        self._taken: set[tuple[ItemKind, str]] = set()
        self._counts: Counter[tuple[ItemKind, str]] = Counter()

    def of(self, kind: ItemKind, text: str) -> str:
        """Return the topic of a text."""
        if (kind, text) not in self._of_text:
            topic = short = shortened_topic(text)
            while (kind, topic) in self._taken:
                self._counts[kind, short] += 1
                topic = f"{short} ({self._counts[kind, short] + 1})"
            self._taken.add((kind, topic))
            self._of_text[kind, text] = topic
        return self._of_text[kind, text]


def _text(memory: Mapping[str, Any]) -> str | None:
    """Return what a memory says, without blanks around it; None for nothing."""
    texts = (memory[field].strip() for field in TEXTS if isinstance(memory.get(field), str))
    return next((text for text in texts if any(map(str.isalnum, text))), None)


def _kind(memory: Mapping[str, Any]) -> ItemKind:
    return next((WORDS[word] for word in _categories(memory) if word in WORDS), ItemKind.FACT)


def _categories(memory: Mapping[str, Any]) -> Iterator[str]:
    metadata = memory.get("metadata")
    of_metadata = [metadata.get("category")] if isinstance(metadata, dict) else []
    categories = memory.get("categories")
    for category in [*(categories if isinstance(categories, list) else [categories]), *of_metadata]:
        if isinstance(category, str):
            yield from category.casefold().replace("_", " ").split()


def _moment(memory: Mapping[str, Any]) -> int | None:
    """Return when a memory was observed, in UTC milliseconds; one without a time zone is UTC."""
    for field in TIMES:
        try:
            moment = datetime.fromisoformat(memory[field])
        except (KeyError, TypeError, ValueError):
            continue
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(0, int(moment.timestamp() * 1000))
    return None
