"""Words to work with: texts of a wanted length, real ones where the public corpora are beside the checkout.

The corpora are not part of the repository. Without them texts are drawn, by seed, from a small list of our own; every
report says which it was, because real words compress and index differently.
"""

from __future__ import annotations

import functools
import gzip
import random
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from muniment.events.identity import ConversationId, ConversationKey, SubjectId, TurnId
from muniment.events.message import AttachmentPart, Message, Role
from muniment.events.turn import Turn

CORPORA = Path(__file__).resolve().parents[2] / "shared" / "corpora"
NAMES = ("sgd.jsonl.gz", "taskmaster4.jsonl.gz", "tau_bench_airline.jsonl.gz")
CHARACTERS_MAX = 16_000_000
SYLLABLES = ("ka", "lo", "mi", "ren", "so", "ta", "vel", "no", "shi", "dar", "que", "in", "ost", "er", "ab", "ul")
MESSAGE_CHARACTERS = 400


class Words:
    """An endless text, taken piece by piece; the same pieces in every run, and with `invented` on every machine."""

    def __init__(self, *, small: bool = False, invented: bool = False) -> None:
        text = "" if invented else _of_corpora(NAMES[1:2] if small else NAMES)
        self.source = "real dialogues (public corpora)" if text else "generated"
        self._text = text or _generated()
        self._at = 0

    def take(self, characters: int) -> str:
        """Return the next piece."""
        pieces, missing = [], characters
        while missing:
            piece = self._text[self._at : self._at + missing]
            self._at = (self._at + len(piece)) % len(self._text)
            pieces.append(piece)
            missing -= len(piece)
        return "".join(pieces)

    def turn(self, conversation: str, number: int | str, *, characters: int = MESSAGE_CHARACTERS) -> Turn:
        """Return a turn of a question and an answer, each of so many characters."""
        return Turn(
            turn=TurnId(f"turn-{number}"),
            subject=SubjectId("anna"),
            conversation=ConversationId(conversation),
            messages=[
                Message(role=Role.USER, content=self.take(characters)),
                Message(role=Role.ASSISTANT, content=self.take(characters)),
            ],
        )

    def turns(self, conversation: str, first: int, count: int) -> list[Turn]:
        """Return turns of the usual size, numbered from `first`."""
        return [self.turn(conversation, number) for number in range(first, first + count)]


def with_files(turn: Turn, *files: AttachmentPart) -> Turn:
    """Return a turn whose first message has files, too."""
    first, *others = turn.messages
    return replace(turn, messages=[replace(first, content=[*first.parts(), *files]), *others])


def key_of(conversation: str) -> ConversationKey:
    """Return the key of a conversation in the default channel."""
    return ConversationKey(conversation=ConversationId(conversation))


def plain(turn: Turn) -> dict[str, Any]:
    """Return a turn as a host without a store of evidence would keep it: as JSON data."""
    built: dict[str, Any] = msgspec.to_builtins(turn)
    return built


@functools.cache
def _of_corpora(names: tuple[str, ...]) -> str:
    found: list[str] = []
    size = 0
    for path in (CORPORA / name for name in names):
        if not path.exists():
            continue
        with gzip.open(path) as lines:
            for line in lines:
                texts = [part["content"] for part in msgspec.json.decode(line)["parts"] if part["type"] == "text"]
                found += texts
                size += sum(map(len, texts))
                if size > CHARACTERS_MAX:
                    break
    return " ".join(found)


def _generated() -> str:
    chance = random.Random("words")  # noqa: S311 - not a secret, and the same in every run
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(5000)]
    return " ".join(chance.choices(words, k=200_000))
