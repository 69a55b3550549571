r"""A page of output: the content of a report or of the demo, without its looks.

`PlainPage` writes text for pipes, files and diffs: no colours, no boxes, nothing that depends on the width of a window.
`rich_page.RichPage` writes the same for a person at a terminal.

Conversations may hold hostile text, so characters that control a terminal, or change the direction of its text, are
spelt out (`\x1b`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import IO, NamedTuple, Protocol

PROSE_CHARS = 100
TABLE_CHARS_MAX = 140
FOLDED_COLUMNS_MAX = 5
NARROW_CHARS = 16
GAP = "  "


class TextStyle(StrEnum):
    """The meaning of a piece of text; a terminal may show it as a colour."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"
    GOOD = "good"
    BAD = "bad"


class StyledText(NamedTuple):
    """Text and its style."""

    text: str
    mood: TextStyle = TextStyle.PLAIN


class OutputPage(Protocol):
    """The pieces of a page."""

    def heading(self, text: str) -> None:
        """Start a section."""
        ...

    def prose(self, text: str) -> None:
        """Write a paragraph."""
        ...

    def line(self, *words: StyledText, indent: int = 0) -> None:
        """Write pieces on one line, with a gap between them; text with line breaks keeps its indent."""
        ...

    def joined(self, *pieces: StyledText, indent: int = 0) -> None:
        """Write pieces of one text on one line, with nothing between them."""
        ...

    def facts(self, pairs: Sequence[tuple[str, StyledText]]) -> None:
        """Write names and values, aligned."""
        ...

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[StyledText]], title: str = "") -> None:
        """Write rows of cells under the names of columns."""
        ...


_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SPELT: dict[int, str] = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"},
    **{code: f"\\u{code:04x}" for code in (*_DIRECTIONS, 0x2028, 0x2029, *range(0xD800, 0xE000))},
}


def printable(text: str) -> str:
    """Return text that cannot control a terminal."""
    return text.replace("\r\n", "\n").translate(_SPELT)


def on_one_line(text: str) -> str:
    """Return text without line breaks and tabs, which are spelt out."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


class PlainPage:
    """A page as text."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._begun = False

    def heading(self, text: str) -> None:
        """Start a section."""
        if self._begun:
            self._write("")
        self._write(printable(text))
        self._write("-" * len(text))

    def prose(self, text: str) -> None:
        """Write a paragraph."""
        self._write(textwrap.fill(printable(text), PROSE_CHARS))

    def line(self, *words: StyledText, indent: int = 0) -> None:
        """Write pieces on one line, with a gap between them; text with line breaks keeps its indent."""
        text = GAP.join(printable(said.text) for said in words if said.text)
        self._write(textwrap.indent(text, " " * indent))

    def joined(self, *pieces: StyledText, indent: int = 0) -> None:
        """Write pieces of one text on one line, with nothing between them."""
        self._write(textwrap.indent("".join(printable(said.text) for said in pieces), " " * indent))

    def facts(self, pairs: Sequence[tuple[str, StyledText]]) -> None:
        """Write names and values, aligned."""
        width = max((len(name) for name, _ in pairs), default=0)
        for name, said in pairs:
            first, *rest = printable(said.text).split("\n")
            self._write(f"{name:<{width}}{GAP}{first}".rstrip())
            for line in rest:
                self._write(f"{'':<{width}}{GAP}{line}".rstrip())

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[StyledText]], title: str = "") -> None:
        """Write rows of cells under the names of columns; a wide table is folded, or written as facts."""
        if title:
            self._write(f"{title}:")
        texts = [[printable(said.text).split("\n") for said in row] for row in rows]
        widths = [
            max(len(name), *(len(line) for row in texts for line in row[place])) if texts else len(name)
            for place, name in enumerate(columns)
        ]
        if sum(widths) + len(GAP) * len(widths) > TABLE_CHARS_MAX:
            if len(columns) > FOLDED_COLUMNS_MAX:
                for number, row in enumerate(rows):
                    if number:
                        self._write("")
                    self.facts(list(zip(columns, row, strict=True)))
                return
            widths = _shared_out(widths)
            texts = [[_folded(cell, width) for cell, width in zip(row, widths, strict=True)] for row in texts]
        apart = any(len(cell) > 1 for row in texts for cell in row)
        self._row([[name] for name in columns], widths)
        for cells in texts:
            if apart:
                self._write("")
            self._row(cells, widths)

    def _row(self, cells: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
        for line in zip_longest(*cells, fillvalue=""):
            self._write(GAP.join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip())

    def _write(self, text: str) -> None:
        self._begun = True
        self._file.write(text + "\n")


def _shared_out(widths: Sequence[int]) -> list[int]:
    """Return widths that fit the page: narrow columns keep theirs, the others share the rest."""
    wide = [width for width in widths if width > NARROW_CHARS]
    left = TABLE_CHARS_MAX - sum(width for width in widths if width <= NARROW_CHARS) - len(GAP) * len(widths)
    return [width if width <= NARROW_CHARS else min(width, left // len(wide)) for width in widths]


def _folded(lines: Sequence[str], width: int) -> list[str]:
    return [piece for line in lines for piece in textwrap.wrap(line, width) or [""]]
