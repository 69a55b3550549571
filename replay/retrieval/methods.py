"""The methods that are scored: plain FTS5, and ours as a host uses it, on an encrypted store in a directory.

The script hands over the turns of a conversation of the set, asks its questions, and expects the ids of turns, best
first. Here one of its turns is a turn of one message, its session is a conversation, and all of them are in one space.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.operations.transcripts.hits import SearchRanking
from replay.embedders import EMBEDDERS, Named
from replay.fts5 import PORTER, WORDS, Flavour, PlainIndex
from replay.stores import opened

QUERY_CHARACTERS_MAX = 1024  # the longest question that a store takes (BEHAVIOUR CT-13)
NOTHING_SAID = "-"  # a message is never empty

Given = dict[str, Any]  # a turn of a set, as the script hands it over


class Adapter(Protocol):
    """What the script scores; a new one for each conversation. CPU seconds are those of this process."""

    append_cpu_s: float
    build_cpu_s: float

    def index(self, conversation: str, turns: list[Given]) -> None:
        """Add the turns of a conversation."""
        ...

    def search(self, question: str, most: int, asked_at: str | None) -> list[str]:
        """Return the ids of the best turns, best first."""
        ...

    def close(self) -> None:
        """Close everything."""
        ...


class Plain:
    """Plain FTS5."""

    def __init__(self, flavour: Flavour) -> None:
        self._index = PlainIndex(flavour)
        self._ids: list[str] = []
        self.append_cpu_s = self.build_cpu_s = 0.0

    def index(self, conversation: str, turns: list[Given]) -> None:
        """Index the turns in memory."""
        cpu = time.process_time()
        self._ids = [turn["id"] for turn in turns]
        self._index.put((number, conversation, said(turn)) for number, turn in enumerate(turns))
        self.build_cpu_s = time.process_time() - cpu

    def search(self, question: str, most: int, asked_at: str | None) -> list[str]:
        """Search with FTS5, which ignores the time."""
        del asked_at
        return [self._ids[number] for number in self._index.search(question, most)]

    def close(self) -> None:
        """Drop the index."""
        self._index.close()


class Ours:
    """Muniment through its front door, with or without an embedder."""

    def __init__(self, directory: Path, embedder: Named | None = None) -> None:
        self._runtime = opened(directory, options=embedder.options() if embedder else None)
        self._embedder = embedder
        self.append_cpu_s = self.build_cpu_s = 0.0

    def index(self, conversation: str, turns: list[Given]) -> None:
        """Commit the turns, then have the index built."""
        cpu = time.process_time()
        for turn in turns:
            self._runtime.transcripts.commit(turn_of(turn, SubjectId(conversation)))
        self.append_cpu_s, cpu = time.process_time() - cpu, time.process_time()
        if self._embedder:
            self._embedder.embed(self._runtime, View.HOST_UI)
        self._runtime.transcripts.search("whatever was said", limit=1)
        self.build_cpu_s = time.process_time() - cpu

    def search(self, question: str, most: int, asked_at: str | None) -> list[str]:
        """Search as a host does: its defaults, and the time of the question."""
        ranking = SearchRanking(asked_ms=when_ms(asked_at))
        page = self._runtime.transcripts.search(question[:QUERY_CHARACTERS_MAX], limit=most, ranking=ranking)
        return list(dict.fromkeys(str(hit.place.turn) for hit in page.hits))

    def close(self) -> None:
        """Close the store."""
        self._runtime.close()


class Method(NamedTuple):
    """A method: how it is made for a conversation, and what must be installed for it."""

    name: str
    make: Callable[[Path], Adapter]
    missing: Callable[[], str | None] = lambda: None
    has_model: bool = False
    is_ours: bool = True
    embedder: Named | None = None


def _with(embedder: Named) -> Method:
    name = f"muniment, {embedder.name}"
    return Method(
        name, lambda directory: Ours(directory, embedder), embedder.missing, has_model=True, embedder=embedder
    )


BASE = Method(PORTER.name, lambda _: Plain(PORTER), is_ours=False)
METHODS = (
    BASE,
    Method(WORDS.name, lambda _: Plain(WORDS), is_ours=False),
    Method("muniment, no model", Ours),
    *map(_with, EMBEDDERS),
)
PLAIN_FLAVOURS = {flavour.name: flavour for flavour in (PORTER, WORDS)}


def turn_of(given: Given, subject: SubjectId) -> Turn:
    """Return a turn of a set as a host commits it."""
    role = Role(given["role"]) if given["role"] in {Role.USER, Role.ASSISTANT} else Role.USER
    message = Message(
        role=role, content=said(given), speaker_id=given["speaker"], observed_ms=when_ms(given["date"]) or 0
    )
    return Turn(
        turn=TurnId(given["id"]), subject=subject, conversation=ConversationId(given["session"]), messages=[message]
    )


def said(given: Given) -> str:
    """Return the text of a turn, with the description of its picture where there is one."""
    caption = f"\n[image: {given['image_caption']}]" if given.get("image_caption") else ""
    return ((given["text"] or "") + caption).strip() or NOTHING_SAID


def when_ms(date: str | None) -> int | None:
    """Return a date of the sets in UTC milliseconds; they have no zone."""
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp() * 1000) if date else None
