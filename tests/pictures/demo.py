"""The picture of the demo: three of its acts as `muniment demo` shows them at a terminal, taken from a run of it.

`SHOWN` names the acts; of each the first table is shown, and what was expected. Nothing there differs from run to run.
What an act tells before its table is left out, and marked so. Borders of tables are drawn as lines, because fonts leave
gaps in them.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from rich.console import Console, ConsoleDimensions

from muniment.kernel.sources import seeded_sources
from muniment.transports.cli.demo.play import ACTS, _tell
from muniment.transports.cli.demo.stage import DemoStage, DemoStep
from muniment.transports.cli.plain_page import StyledText, TextStyle
from muniment.transports.cli.rich_page import RichPage
from tests.pictures.drawing import picture, terminal_text

COLUMNS, ROWS = 112, 25  # of the terminal
CELL, LINE = 7.8, 18  # size of a character
MARGIN, TOP = 20, 40
TOLD = (
    "A terminal with three steps of the demo: one turn as three audiences see it, the receipt of an erasure, and two "
    "forged exports that are refused."
)


class Excerpt(NamedTuple):
    """What is shown of an act: its last checks, and rows of its first table, by their first two cells."""

    act: str
    checks: int
    rows: frozenset[tuple[str, str]] = frozenset()  # none: all of them


SHOWN = [
    Excerpt("replay", 3, frozenset({("2", "user"), ("2", "assistant"), ("2", "tool")})),
    Excerpt("erase", 2),
    Excerpt("forge", 2),
]

# code of a terminal -> class of the picture
LOOKS = {"1": "bold", "2": "faint", "3": "italic", "31": "bad", "32": "good", "36": "accent"}
HALF_CELL, HALF_LINE = CELL / 2, LINE / 2
ACROSS, DOWN = f"m{-HALF_CELL:g} 0h{CELL:g}", f"m0 {-HALF_LINE:g}v{LINE:g}"
RIGHT, LEFT, BELOW, ABOVE = f"h{HALF_CELL:g}", f"h{-HALF_CELL:g}", f"v{HALF_LINE:g}", f"v{-HALF_LINE:g}"


def _corner(across: float, down: float) -> tuple[str]:
    return (f"m0 {down:g}q0 {-down:g} {across:g} {-down:g}",)


# character of a border -> paths that begin in the middle of its cell
BORDERS: dict[str, tuple[str, ...]] = {
    "─": (ACROSS,),
    "│": (DOWN,),
    "├": (DOWN, RIGHT),
    "┤": (DOWN, LEFT),
    "┼": (DOWN, ACROSS),
    "┬": (ACROSS, BELOW),
    "┴": (ACROSS, ABOVE),
    "╭": _corner(HALF_CELL, HALF_LINE),
    "╮": _corner(-HALF_CELL, HALF_LINE),
    "╰": _corner(HALF_CELL, -HALF_LINE),
    "╯": _corner(-HALF_CELL, -HALF_LINE),
}
_CODES = re.compile(r"\x1b\[([\d;]*)m")
_PIECES = re.compile(rf"[{''.join(BORDERS)}]+|[^{''.join(BORDERS)}]+")


class Run(NamedTuple):
    """Characters that look the same, where they begin in their line."""

    column: int
    words: str
    look: frozenset[str]


class Window(RichPage):
    """A page at a terminal of a fixed width, whatever this process runs in."""

    def __init__(self, file: io.StringIO) -> None:
        self._console = Console(
            file=file, force_terminal=True, color_system="standard", no_color=False, highlight=False
        )
        self._console.size = ConsoleDimensions(COLUMNS, ROWS)


def demo() -> str:
    """Return the picture."""
    lines = list(map(_runs, said().splitlines()))
    shapes = [shape for number, runs in enumerate(lines) for shape in _drawn(runs, TOP + number * LINE)]
    size = (2 * MARGIN + COLUMNS * CELL, TOP + (len(lines) - 1) * LINE + MARGIN)
    return picture("What muniment demo shows", TOLD, size, shapes)


@cache
def said() -> str:
    """Return what the demo says of the acts that are shown, with the colours of a terminal."""
    file = io.StringIO()
    page = Window(file)
    with tempfile.TemporaryDirectory() as directory:
        stage = DemoStage(Path(directory), seeded_sources("picture"))
        acts = [play(stage) for play in ACTS]
    page.line(StyledText("$ muniment demo", TextStyle.STRONG))
    by_name = {act.name: (number, act) for number, act in enumerate(acts, start=1)}
    for excerpt in SHOWN:
        number, act = by_name[excerpt.act]
        _tell(number, _shortened(act, excerpt), page)
    page.line(StyledText("..."))
    assert all(act.held for act in acts), "a picture shows a demo that holds"
    return file.getvalue()


def _shortened(act: DemoStep, excerpt: Excerpt) -> DemoStep:
    table = act.exhibits[0]
    rows = [row for row in table.rows if not excerpt.rows or tuple(row[:2]) in excerpt.rows]
    table = replace(table, title="", rows=rows)
    return replace(act, story="...", exhibits=[table], checks=act.checks[-excerpt.checks :])


def _runs(line: str) -> list[Run]:
    """Return a line as runs, borders apart from words."""
    found: list[Run] = []
    look, column = frozenset[str](), 0
    for number, piece in enumerate(_CODES.split(line)):
        if number % 2:
            look = frozenset(LOOKS[code] for code in piece.split(";") if code.strip("0"))
            continue
        for words in _PIECES.findall(piece):
            if words.strip():
                found.append(Run(column + len(words) - len(words.lstrip()), words.strip(), look))
            column += len(words)
    return found


def _drawn(runs: Sequence[Run], baseline: float) -> Iterator[str]:
    borders = ""
    for run in runs:
        if run.words[0] in BORDERS:
            for place, sign in enumerate(run.words, start=run.column):
                middle = f"M{MARGIN + (place + 0.5) * CELL:g} {baseline - 4.5:g}"
                borders += "".join(f"{middle}{side}" for side in BORDERS[sign])
        else:
            at = (MARGIN + run.column * CELL, baseline)
            yield terminal_text(at, run.words, len(run.words) * CELL, run.look)
    if borders:
        yield f'<path d="{borders}" class="border"/>'
