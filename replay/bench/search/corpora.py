"""What is searched: dialogues as a file, the store that they are imported into, and the same texts in plain FTS5."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby, islice
from pathlib import Path

import msgspec

from muniment.events.message import Role
from muniment.formats.reading.otel import OtelInputLine
from muniment.runtime.runtime import Runtime
from muniment.search.documents import SEARCHED, searched_text
from replay.bench.scene import Scene
from replay.embedders import Named
from replay.fts5 import PlainIndex
from replay.stores import opened
from replay.words import CORPORA
from replay.zipf import Dialogues

SGD = CORPORA / "sgd.jsonl.gz"
SGD_CONVERSATIONS_QUICK = 100
SHORT = "sgd (short messages)"
KEYWORD_MS_MAX, KEYWORD_MS_MAX_SHORT = 25, 15  # the latter for short messages, as people write them
TURNS, TURNS_MILLION, TURNS_QUICK = 100_000, 1_000_000, 1_000


class Corpus:
    """Dialogues, in a store of their own; a search in them by words should take at most `keyword_ms_max`."""

    def __init__(
        self, name: str, directory: Path, lines: Callable[[], Iterator[bytes]], keyword_ms_max: int = KEYWORD_MS_MAX
    ) -> None:
        self.keyword_ms_max = keyword_ms_max
        self._lines = lines
        self._directory = directory
        self._copies = 0
        self.home = directory / "home"
        self.home.mkdir()
        file = directory / "dialogues.jsonl"
        with file.open("wb") as out:
            out.writelines(lines())
        with opened(self.home) as runtime:
            self.turns = runtime.spaces.import_(str(file)).turns_committed
        file.unlink()
        self.name = f"{name}, {self.turns:,} turns"
        self._files = set(self._present())

    def messages(self) -> Iterator[OtelInputLine]:
        """Yield what users and assistants said, in the order in which it was imported."""
        decoder = msgspec.json.Decoder(OtelInputLine)
        for line in self._lines():
            message = decoder.decode(line)
            if message.role in SEARCHED:
                yield message

    def texts(self) -> Iterator[tuple[int, str, str]]:
        """Yield what is searched as plain FTS5 takes it: number, conversation, words."""
        for number, message in enumerate(self.messages()):
            yield number, message.conversation_id, searched_text(message.parts)

    def plain(self) -> PlainIndex:
        """Return a new plain FTS5 index of the same texts, in memory."""
        index = PlainIndex()
        index.put(self.texts())
        return index

    def opened(self, embedder: Named | None = None) -> Runtime:
        """Open the store."""
        return opened(self.home, options=embedder.options() if embedder else None)

    def copied(self) -> Path:
        """Return a copy of the store, as it was imported, closed."""
        self._copies += 1
        copy = self._directory / f"copy-{self._copies}"
        shutil.copytree(self.home, copy)
        return copy

    def only_imported(self) -> int:
        """Remove what was made of the log since it was imported; return its bytes."""
        made = [path for path in self._present() if path not in self._files]
        size = sum(path.stat().st_size for path in made)
        for path in made:
            path.unlink()
        return size

    def made_bytes(self) -> int:
        """Return the bytes of what was made of the log since it was imported."""
        return sum(path.stat().st_size for path in self._present() if path not in self._files)

    def remove(self) -> None:
        """Leave nothing on the disk."""
        shutil.rmtree(self._directory)

    def _present(self) -> list[Path]:
        return [path for path in sorted(self.home.rglob("*")) if path.is_file()]


def corpora(scene: Scene) -> Iterator[Corpus]:
    """Yield each available corpus; it is removed before the next one."""
    made: list[tuple[str, Callable[[], Iterator[bytes]]]] = []
    if SGD.exists():
        made.append((SHORT, partial(_sgd, SGD_CONVERSATIONS_QUICK if scene.quick else None)))
    sizes = [TURNS_QUICK] if scene.quick else [TURNS, *([TURNS_MILLION] if scene.million else [])]
    dialogues = Dialogues()
    made += [("generated, 2 x 400 characters", partial(dialogues.lines, size)) for size in sizes]
    for number, (name, lines) in enumerate(made):
        most = KEYWORD_MS_MAX_SHORT if name == SHORT else KEYWORD_MS_MAX
        corpus = Corpus(name, scene.fresh(f"search-{number}"), lines, most)
        yield corpus
        corpus.remove()


def _sgd(conversations: int | None) -> Iterator[bytes]:
    with gzip.open(SGD) as lines:
        said = groupby(lines, key=lambda line: msgspec.json.decode(line, type=OtelInputLine).conversation_id)
        for _, one in islice(said, conversations):
            yield from one


def is_user(message: OtelInputLine) -> bool:
    """Tell whether a user said it."""
    return message.role is Role.USER
