"""Dialogues that nobody held, as many as are wanted: the same ones in every run, words as frequent as words are.

For sizes that no public corpus has. Words follow the law of Zipf and Mandelbrot over a large vocabulary; now and then
somebody names a case by its number, which is said nowhere else, or a tool is called. Chance comes from seeded sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from muniment.kernel.sources import SeededEntropy
from replay.words import SYLLABLES

VOCABULARY = 120_000
EXPONENT, OFFSET = 1.05, 2.7
MESSAGE_CHARACTERS = 400
MESSAGE_WORDS = 110  # drawn for each; what is too long is cut
CONVERSATION_TURNS = 50
CASE_EACH, CALL_EACH = 25, 10  # turns
SPEAKERS = 40
START_MS = 1_700_000_000_000
BETWEEN_CONVERSATIONS_MS, BETWEEN_TURNS_MS = 3 * 60 * 60 * 1000, 2 * 60 * 1000
TOOLS = ("find_parcel", "book_table", "check_balance", "cancel_order")


class Dialogues:
    """Lines of messages in OpenTelemetry parts, conversation by conversation."""

    def __init__(self, seed: str = "zipf") -> None:
        self._seed = seed
        self._words = [_spelled(rank) for rank in range(VOCABULARY)]
        weights = 1 / (np.arange(VOCABULARY) + OFFSET) ** EXPONENT
        self._shares = np.cumsum(weights / weights.sum())

    def lines(self, turns: int) -> Iterator[bytes]:
        """Yield the messages of so many turns."""
        for first in range(0, turns, CONVERSATION_TURNS):
            number = first // CONVERSATION_TURNS
            texts = iter(self._texts(number, 2 * CONVERSATION_TURNS))
            for turn in range(first, min(turns, first + CONVERSATION_TURNS)):
                for line in self._turn(number, turn, next(texts), next(texts)):
                    yield json.dumps(line).encode() + b"\n"

    def _turn(self, conversation: int, turn: int, asked: str, answered: str) -> Iterator[dict[str, Any]]:
        if turn % CASE_EACH == 0:
            asked = f"case-{turn:07d} {asked}"
        common = {
            "conversation_id": f"dialogue-{conversation}",
            "ts": START_MS + conversation * BETWEEN_CONVERSATIONS_MS + turn % CONVERSATION_TURNS * BETWEEN_TURNS_MS,
        }
        speaker = self._words[1000 + conversation % SPEAKERS].capitalize()
        yield {**common, "role": "user", "actor": speaker, "parts": [{"type": "text", "content": asked}]}
        if turn % CALL_EACH == 0:
            call = {"type": "tool_call", "id": f"call-{turn}", "name": TOOLS[turn // CALL_EACH % len(TOOLS)]}
            result = {"type": "tool_call_response", "id": f"call-{turn}", "response": {"found": turn % 7}}
            yield {**common, "role": "assistant", "parts": [{**call, "arguments": {"number": turn}}]}
            yield {**common, "role": "tool", "parts": [result]}
        yield {**common, "role": "assistant", "parts": [{"type": "text", "content": answered}]}

    def _texts(self, conversation: int, count: int) -> list[str]:
        drawn = SeededEntropy(f"{self._seed}:{conversation}".encode()).take(4 * count * MESSAGE_WORDS)
        ranks = np.searchsorted(self._shares, np.frombuffer(drawn, "<u4") / 2**32)
        words = [self._words[rank] for rank in np.minimum(ranks, VOCABULARY - 1).tolist()]
        whole = [" ".join(words[at : at + MESSAGE_WORDS]) for at in range(0, len(words), MESSAGE_WORDS)]
        return [text[:MESSAGE_CHARACTERS].rstrip() for text in whole]


def _spelled(rank: int) -> str:
    """Return a word for a rank; the frequent ones are short."""
    found = SYLLABLES[rank % len(SYLLABLES)]
    while rank := rank // len(SYLLABLES):
        found += SYLLABLES[rank % len(SYLLABLES)]
    return found
