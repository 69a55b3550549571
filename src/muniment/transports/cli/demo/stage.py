"""The setting of the demo: a store in a directory of its own, its key, its pin, and its conversation."""

from __future__ import annotations

import importlib.resources
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from muniment.crypto.root import LocalRoot, RootKey
from muniment.crypto.secret import KEY_BYTES
from muniment.events.binding import parse_json
from muniment.events.identity import ConversationId, ConversationKey
from muniment.events.message import TextPart
from muniment.events.turn import Turn
from muniment.evidence.pin import FilePin
from muniment.kernel.sources import Sources
from muniment.runtime.open import open  # noqa: A004 - muniment.open()
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options

SPACE = "demo"


class DemoTable(Struct, frozen=True, kw_only=True):
    """A table to show: rows under the names of columns."""

    title: str
    columns: list[str]
    rows: list[list[str]]


class DemoCheck(Struct, frozen=True, kw_only=True):
    """An expectation and whether it held."""

    expected: str
    held: bool


class DemoStep(Struct, frozen=True, kw_only=True):
    """One step of the demo: its story, the tables it shows, and its expectations."""

    name: str
    title: str
    story: str
    exhibits: list[DemoTable]
    checks: list[DemoCheck]

    @property
    def held(self) -> bool:
        """Whether every expectation held; a step without any proves nothing."""
        return bool(self.checks) and all(check.held for check in self.checks)


class DemoStage:
    """The files of the demo, and what one step passes to the next."""

    def __init__(self, directory: Path, sources: Sources) -> None:
        self.directory = directory
        self.store = directory / "store"
        self.bundle = directory / "conversation.jsonl"
        self.turns = conversation()
        self.key = ConversationKey(
            conversation=self.turns[0].conversation or ConversationId(""), channel=self.turns[0].channel
        )
        self.vkey = ""
        self.sources = sources
        self._root = self.another_root()

    def another_root(self) -> RootKey:
        """Return a fresh root key."""
        return LocalRoot(self.sources.entropy.take(KEY_BYTES), self.sources.entropy)

    @contextmanager
    def opened(self, store: Path | None = None, *, root: RootKey | None = None) -> Iterator[Runtime]:
        """Open the store of the demo, or a changed copy of it, with the same pin."""
        options = Options(
            pin=FilePin(self.directory / "pins"), sources=self.sources, profile=None, policies=frozenset()
        )
        with open(store or self.store, keys=root or self._root, space=SPACE, options=options) as runtime:
            yield runtime

    def copied(self, name: str) -> Path:
        """Return a copy of the store as it is on disk."""
        copy = self.directory / name
        shutil.copytree(self.store, copy)
        return copy

    def words(self) -> list[str]:
        """Return every text of the conversation."""
        return [
            part.content
            for turn in self.turns
            for message in turn.messages
            for part in message.parts()
            if isinstance(part, TextPart)
        ]


def conversation() -> list[Turn]:
    """Return the turns of the demo."""
    file = importlib.resources.files("muniment.transports.cli.demo") / "conversation.jsonl"
    return [parse_json(line, Turn) for line in file.read_bytes().splitlines()]
