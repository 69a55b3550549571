"""How long messages are cut into passages: a message is found by its best passage, not by its average."""

from __future__ import annotations

PASSAGE_CHARS = 500  # about 80 words
SHORT_CHARS = 800  # not worth cutting


def passages(text: str) -> list[str]:
    """Return a text in passages of about `PASSAGE_CHARS`, cut behind lines, else sentences, else words."""
    if len(text) <= SHORT_CHARS:
        return [text]
    found: list[str] = []
    at = 0
    while len(text) - at > SHORT_CHARS:
        end = _end(text, at)
        found.append(text[at:end])
        at = end
    found.append(text[at:])
    return found


def _end(text: str, at: int) -> int:
    low, high = at + PASSAGE_CHARS // 2, at + PASSAGE_CHARS
    for mark in ("\n", ". ", " "):
        end = text.rfind(mark, low, high)
        if end >= 0:
            return end + len(mark)
    return high
