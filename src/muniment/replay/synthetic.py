"""Synthetic text with the shape of real text, drawn from seeded randomness.

Kept are lengths, blanks, and the kind of every character: lower or upper case Latin letter, digit, sign, or the number
of bytes of any other. Structure is kept, too: parts, members of objects, lengths of lists. A name always becomes the
same pseudonym; pseudonyms are numbered in the order of their first use.
"""

from __future__ import annotations

from typing import Any

from muniment.events.message import (
    AttachmentPart,
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.kernel.sources import Entropy

SMALL, LARGE, DIGITS, SIGNS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", ".,;:!?-()"
# bytes of a character in UTF-8 -> the letters and the signs that replace one of that size
FOREIGN: dict[int, tuple[str, str]] = {
    2: ("äéñøşžαβжя", "§°±"),
    3: ("語文字話言葉書学", "—…•"),
    4: ("𐌰𐌱𐌲𐌳", "😀😁🙂🎈"),
}
LOST_CHARS = 16  # length of the text in place of an erased one


class Synthetic:
    """Draws synthetic text and assigns pseudonyms."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._names: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def name(self, kind: str, name: str) -> str:
        """Return the pseudonym of a name of a kind."""
        known = self._names.get((kind, name))
        if known is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._names[kind, name] = f"{kind}-{self._counts[kind]}"
        return known

    def maybe(self, kind: str, name: str | None) -> str | None:
        """Return the pseudonym of a name that may be absent."""
        return None if name is None else self.name(kind, name)

    def text(self, text: str) -> str:
        """Return a text of the same shape."""
        chance = self._entropy.take(len(text)) if text else b""
        return "".join(_stand_in(char, byte) for char, byte in zip(text, chance, strict=True))

    def lost(self) -> str:
        """Return a text in place of an erased one."""
        return self.text("x" * LOST_CHARS)

    def value(self, value: Any) -> Any:
        """Return a JSON value of the same structure."""
        if isinstance(value, dict):
            return {self.name("key", name): self.value(child) for name, child in value.items()}
        if isinstance(value, list):
            return [self.value(child) for child in value]
        if isinstance(value, str):
            return self.text(value)
        if value is None:
            return None
        if isinstance(value, bool):
            return self._entropy.take(1)[0] % 2 == 0
        number = int("1" + self.text("0" * (min(len(str(abs(int(value)))), 15) - 1)))
        return (number if isinstance(value, int) else number + 0.5) * (-1 if value < 0 else 1)

    def part(self, part: Part) -> Part:
        """Return a part of the same type and shape."""
        match part:
            case TextPart():
                return TextPart(content=self.text(part.content))
            case ReasoningPart():
                return ReasoningPart(content=self.text(part.content))
            case ToolCallPart():
                return ToolCallPart(
                    name=self.name("tool", part.name),
                    id=self.maybe("call", part.id),
                    arguments=self.value(part.arguments),
                )
            case ToolCallResponsePart():
                return ToolCallResponsePart(response=self.value(part.response), id=self.maybe("call", part.id))
            case BlobPart():
                content = self._entropy.take(len(part.content)) if part.content else b""
                return BlobPart(content=content, mime_type=self._mime(part.mime_type), modality=self._modality(part))
            case FilePart():
                file = self.name("file", part.file_id)
                return FilePart(file_id=file, mime_type=self._mime(part.mime_type), modality=self._modality(part))
            case UriPart():
                uri = f"https://example.org/{self.name('uri', part.uri)}"
                return UriPart(uri=uri, mime_type=self._mime(part.mime_type), modality=self._modality(part))
            case AttachmentPart():  # a fixture has no files
                file, mime = self.name("file", part.name or ""), self._mime(part.mime_type)
                return FilePart(file_id=file, mime_type=mime, modality=self._modality(part))

    def _mime(self, mime: str | None) -> str | None:
        return None if mime is None else f"application/{self.name('type', mime)}"

    def _modality(self, part: BlobPart | FilePart | UriPart | AttachmentPart) -> str | None:
        return self.maybe("modality", part.modality)


def _stand_in(char: str, chance: int) -> str:
    pool = _pool(char)
    return pool[chance % len(pool)]


def _pool(char: str) -> str:
    """Return the characters that may replace one."""
    if char.isspace():
        return char if char in " \n\t" else " "
    if char.isascii():
        if char.isalpha():
            return SMALL if char.islower() else LARGE
        return DIGITS if char.isdigit() else SIGNS
    letters, signs = FOREIGN[len(char.encode())]
    return letters if char.isalpha() else signs
