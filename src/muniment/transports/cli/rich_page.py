"""A page for a person at a terminal; imported only when there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, ClassVar

from rich.box import ROUNDED
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from muniment.transports.cli.plain_page import FOLDED_COLUMNS_MAX, StyledText, TextStyle, printable

BORDER_CHARS = 3  # of a column: its border, and a space on either side

STYLES: dict[TextStyle, str] = {
    TextStyle.PLAIN: "",
    TextStyle.STRONG: "bold",
    TextStyle.FAINT: "dim italic",
    TextStyle.GOOD: "green",
    TextStyle.BAD: "bold red",
}


class RichPage:
    """A page with colours and tables."""

    def __init__(self, file: IO[str]) -> None:
        self._console = Console(file=file, highlight=False)

    def heading(self, text: str) -> None:
        """Start a section."""
        self._console.print()
        self._console.print(Rule(Text(printable(text), style="bold cyan"), align="left", style="cyan"))

    def prose(self, text: str) -> None:
        """Write a paragraph."""
        self._console.print(Text(printable(text)))

    def line(self, *words: StyledText, indent: int = 0) -> None:
        """Write pieces on one line, with a gap between them; text with line breaks keeps its indent."""
        self._console.print(Padding(Text("  ").join(map(_text, words)), (0, 0, 0, indent)))

    def joined(self, *pieces: StyledText, indent: int = 0) -> None:
        """Write pieces of one text on one line, with nothing between them."""
        self._console.print(Padding(Text().join(map(_text, pieces)), (0, 0, 0, indent)))

    def facts(self, pairs: Sequence[tuple[str, StyledText]]) -> None:
        """Write names and values, aligned."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, said in pairs:
            grid.add_row(Text(name), _text(said))
        self._console.print(grid)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[StyledText]], title: str = "") -> None:
        """Say rows of cells under the names of columns; many columns that do not fit are told as facts."""
        if len(columns) > FOLDED_COLUMNS_MAX and self._too_wide(columns, rows):
            if title:
                self._console.print(Text(title, style="italic"))
            for number, row in enumerate(rows):
                if number:
                    self._console.print()
                self.facts(list(zip(columns, row, strict=True)))
            return
        table = Table(
            title=title or None, title_justify="left", header_style="bold cyan", border_style="dim", box=ROUNDED
        )
        for column in columns:
            table.add_column(Text(column), overflow="fold")
        for row in rows:
            table.add_row(*map(_text, row))
        table.show_lines = any(
            "\n" in said.text or len(said.text) > self._console.width // 3 for r in rows for said in r
        )
        self._console.print(table)

    def _too_wide(self, columns: Sequence[str], rows: Sequence[Sequence[StyledText]]) -> bool:
        """Tell whether a table would have to fold its cells."""
        widths = [
            max(cell_len(line) for text in (name, *(row[place].text for row in rows)) for line in text.split("\n"))
            for place, name in enumerate(columns)
        ]
        return sum(widths) + BORDER_CHARS * len(widths) + 1 > self._console.width


class Leaf(Markdown):
    """A page of Markdown whose tables fold what is long, such as a path, and cut nothing."""

    class Folding(TableElement):
        """A table that cuts nothing."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            """Render the table with columns that fold."""
            for table in super().__rich_console__(console, options):
                if isinstance(table, Table):
                    for column in table.columns:
                        column.overflow = "fold"
                yield table

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "table_open": Folding}


def _text(said: StyledText) -> Text:
    return Text(printable(said.text), style=STYLES[said.mood])
