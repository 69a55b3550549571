"""Canaries in a crowd: messages with words that nobody else said, among real dialogues where they are there.

A canary is a word of a shared beginning and a tail by chance, because an index that keeps only where words differ would
hide whole words from a search by their beginning. Each is said by a speaker of its own, on a day of its own.
"""

from __future__ import annotations

import gzip
import json
import random
import string
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from replay.drills.governed import CORPUS, lines_of
from replay.zipf import Dialogues

BEGINNING = "zwq"
TAIL_CHARACTERS = 24
DAY_MS = 86_400_000
FIRST_MS = 1_600_000_000_000
CONVERSATION_CANARIES = 5
ALPHABET = string.ascii_lowercase + string.digits


class Canary(Struct, frozen=True, kw_only=True):
    """A turn to be found: what was said in it, by whom, when, and the tool that it called."""

    conversation: str
    turn: int
    word: str
    answer: str
    tool: str
    speaker: str
    at_ms: int

    @property
    def texts(self) -> list[str]:
        """All words that were said in this turn alone."""
        return [self.word, self.answer, self.tool]

    @property
    def phrase(self) -> str:
        """Words that stand side by side nowhere else."""
        return f"remember {self.word} please"

    def lines(self) -> Iterator[bytes]:
        """Yield its messages."""
        call = {"type": "tool_call", "id": f"call-{self.turn}", "name": self.tool, "arguments": {"number": self.turn}}
        result = {"type": "tool_call_response", "id": f"call-{self.turn}", "response": {"found": True}}
        spoken = [
            ("user", self.speaker, [{"type": "text", "content": f"Would you {self.phrase}, for the other day?"}]),
            ("assistant", "agent", [call]),
            ("tool", "agent", [result]),
            ("assistant", "agent", [{"type": "text", "content": f"Certainly, {self.answer} was noted."}]),
        ]
        for role, actor, parts in spoken:
            line = {"conversation_id": self.conversation, "role": role, "actor": actor, "ts": self.at_ms}
            yield json.dumps({**line, "parts": parts}).encode() + b"\n"


def planted(chance: random.Random, count: int) -> list[Canary]:
    """Return so many canaries."""
    return [
        Canary(
            conversation=f"planted-{number // CONVERSATION_CANARIES}",
            turn=number,
            word=_word(chance),
            answer=_word(chance),
            tool=_word(chance),
            speaker=f"Speaker {number}",
            at_ms=FIRST_MS + number * DAY_MS,
        )
        for number in range(count)
    ]


def written(file: Path, canaries: list[Canary], turns: int) -> str:
    """Write canaries among so many other turns as an import reads them; return what the crowd is."""
    is_real = CORPUS.exists()
    crowd = lines_of(CORPUS, turns) if is_real else Dialogues().lines(turns)
    with gzip.open(file, "wb", compresslevel=1) as out:
        out.writelines(crowd)
        for canary in canaries:
            out.writelines(canary.lines())
    return "real dialogues" if is_real else "generated ones"


def _word(chance: random.Random) -> str:
    """Return a word that ends in a digit: no rule of a language takes its ending away."""
    return BEGINNING + "".join(chance.choices(ALPHABET, k=TAIL_CHARACTERS)) + chance.choice(string.digits)
