"""The picture of the architecture: the parts of the package by layer, what they are, how large, and what they import.

All of it comes from the code, its docstrings and import-linter's contract (`tests.rooms`). Lines are rounded, so that
the picture changes when the package does and not with every line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.pictures.drawing import NAME, TITLE, Tone, arrow, picture, rectangle, text, width_of
from tests.rooms import PACKAGE, House, dependencies, part_of, rooms

LEFT, RIGHT, WIDTH = 62, 852, 872
SUMMARY = LEFT + 150  # where the second column begins
TOP, GAP, PADDING, LINE = 84, 10, 12, 17
ROUNDED_TO = 100
ARROW = "\N{RIGHTWARDS ARROW}"
TITLE_WORDS = "The layers of muniment"
LEGEND = (
    f"Parts in one frame do not know each other. {ARROW} names the nearest parts that a part imports; "
    "all may import the lowest."
)
TOLD = "The parts of the package from the top layer down, each with what it imports: "


class Part(NamedTuple):
    """What is written about a part: its name and size on the left, what it is and imports on the right."""

    left: list[str]
    right: list[str]

    @property
    def height(self) -> int:
        """How much room it takes."""
        return LINE * max(len(self.left), len(self.right)) + PADDING


def layers(house: House) -> str:
    """Return the picture."""
    below = nearest(house)
    shapes, top = [text((LEFT, 34), TITLE_WORDS, TITLE, bold=True), text((LEFT, 58), LEGEND, ink="faint")], float(TOP)
    for layer in house.layers:
        parts = [_part(house, name, sorted(below[name])) for name in sorted(layer & below.keys())]
        shapes += _frame(parts, top)
        top += sum(part.height for part in parts) + GAP * bool(parts)
    bottom = top - GAP
    shapes += arrow((LEFT - 22, TOP), (LEFT - 22, bottom))
    shapes.append(_upright(LEFT - 32, (TOP + bottom) / 2, "imports point down"))
    told = TOLD + "; ".join(f"{name}: {', '.join(sorted(names)) or 'none'}" for name, names in below.items())
    return picture(TITLE_WORDS, told, (WIDTH, bottom + 20), shapes)


def nearest(house: House) -> dict[str, set[str]]:
    """Return what each part imports and reaches through no other part; the lowest layer is taken for granted."""
    known, lowest = dependencies(house), house.layers[-1]
    present = {part_of(name) for name in house.modules}
    return {
        part: {each for each in below if not any(each in _reached(known, other) for other in below - {each})} - lowest
        for part, below in known.items()
        if part in present
    }


def _reached(known: Mapping[str, set[str]], part: str) -> set[str]:
    found: set[str] = set()
    waiting = set(known[part])
    while waiting:
        each = waiting.pop()
        found.add(each)
        waiting |= known[each] - found
    return found


def _part(house: House, name: str, below: list[str]) -> Part:
    lines = sum(module.lines for module_name, module in house.modules.items() if part_of(module_name) == name)
    count = sum(part_of(room.name) == name for room in rooms(house))
    size = f"{round(lines / ROUNDED_TO) * ROUNDED_TO:,} lines" if lines >= ROUNDED_TO else f"under {ROUNDED_TO} lines"
    imports = [f"{ARROW} {', '.join(below)}"] if below else []
    summary = _told(name, house.modules[f"{PACKAGE}.{name}"].summary)
    return Part(
        [name, f"{size}, {count} rooms" if count > 1 else size],
        [*_folded(summary, RIGHT - SUMMARY - PADDING), *imports],
    )


def _told(name: str, summary: str) -> str:
    """Return the first sentence of a docstring; it begins with what the part is, and not with its name."""
    title = f"{name.capitalize()}: "
    if summary.startswith(title):
        summary = summary[len(title) :].capitalize()
    return summary.replace("`", "").partition(". ")[0].rstrip(".")


def _folded(words: str, width: float) -> list[str]:
    """Return lines that are no wider."""
    lines: list[str] = []
    for word in words.split():
        if lines and width_of(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _frame(parts: list[Part], top: float) -> Iterator[str]:
    if parts:
        yield rectangle((LEFT, top), (RIGHT - LEFT, sum(part.height for part in parts)), Tone.PLAIN)
    for number, part in enumerate(parts):
        if number:
            yield f'<path d="M{LEFT} {top:g}H{RIGHT}" class="rule"/>'
        name, size = part.left
        yield text((LEFT + PADDING, top + 20), name, NAME, bold=True)
        yield text((LEFT + PADDING, top + 20 + LINE), size, ink="faint")
        for line, words in enumerate(part.right):
            yield text((SUMMARY, top + 20 + LINE * line), words, ink="accent" if words.startswith(ARROW) else "ink")
        top += part.height


def _upright(x: float, y: float, words: str) -> str:
    """Return text that is read from below."""
    return f'<g transform="rotate(-90 {x:g} {y:g})">{text((x - width_of(words) / 2, y), words, ink="faint")}</g>'
