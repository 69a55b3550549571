"""Counting tokens exactly and offline: the encodings of OpenAI (extra `tokens`).

The tables of an encoding come with the package `bpe-openai`; nothing is fetched. Of other models no public encoding
exists that could be shipped: give a counter of your own (`Options.token_counter`), or take the estimate.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from muniment.errors import InvalidInput, TokensUnavailable

TokenCounter = Callable[[str], int]  # the number of tokens of a text

ENCODINGS = ("o200k_base", "cl100k_base")


class Encoding:
    """Counts the tokens of a text in an encoding."""

    def __init__(self, name: str, encoding: Any) -> None:
        self.name = name
        self._encoding = encoding

    def __call__(self, text: str) -> int:
        """Return the number of tokens; marks of the model in a text are text."""
        return len(self._encoding.encode(text, disallowed_special=()))


def token_counter(encoding: str = ENCODINGS[0]) -> Encoding:
    """Return what counts tokens in an encoding: `o200k_base` (GPT-4o and later) or `cl100k_base` (GPT-4).

    Raises `tokens.unavailable` when the extra `tokens` is not installed.
    """
    if encoding not in ENCODINGS:
        raise InvalidInput(at="encoding", problem="unknown_word", choices=sorted(ENCODINGS))
    try:
        tables = importlib.import_module("bpe_openai")
    except ImportError:
        raise TokensUnavailable(at="encoding", problem="extra_tokens_not_installed") from None
    return Encoding(encoding, tables.get_encoding(encoding))
