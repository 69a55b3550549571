"""What the pictures of the documents are made of: text, boxes and arrows in SVG, in colours for light and dark pages.

A picture is a card with a ground of its own, so it stays readable where page and system disagree about light and dark.
It fetches nothing: no fonts, no scripts, no addresses. Text that does not fit its box fails when it is drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple
from xml.sax.saxutils import escape

SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
TITLE, NAME, SMALL = 17, 13.5, 12
CHARACTER = 0.54  # width of a usual character of SANS, in sizes of its font; bold ones are a twelfth wider
BOLD = 13 / 12
PADDING = 10
INKS = {"ink", "faint", "good", "bad", "accent"}
HEAD = 7  # length of the head of an arrow


class Tone(StrEnum):
    """What a shape means; a colour for light pages and one for dark pages goes with each."""

    PLAIN = "plain"
    SEALED = "sealed"
    PUBLIC = "public"
    WARNING = "warning"
    OUTSIDE = "outside"


class Colours(NamedTuple):
    """The colours of a page: the card, its frame, text, faint text, lines."""

    ground: str
    frame: str
    ink: str
    faint: str
    line: str
    good: str
    bad: str
    accent: str
    tones: dict[Tone, tuple[str, str]]  # fill and edge


LIGHT = Colours(
    *("#ffffff", "#d1d9e0", "#1f2328", "#59636e", "#6e7781", "#1a7f37", "#cf222e", "#0550ae"),
    {
        Tone.PLAIN: ("#f6f8fa", "#afb8c1"),
        Tone.SEALED: ("#ddf4ff", "#218bff"),
        Tone.PUBLIC: ("#dafbe1", "#2da44e"),
        Tone.WARNING: ("#ffebe9", "#fa4549"),
        Tone.OUTSIDE: ("#fff8c5", "#bf8700"),
    },
)
DARK = Colours(
    *("#0d1117", "#3d444d", "#f0f6fc", "#9198a1", "#818b98", "#3fb950", "#ff7b72", "#79c0ff"),
    {
        Tone.PLAIN: ("#161b22", "#57606a"),
        Tone.SEALED: ("#0a2654", "#388bfd"),
        Tone.PUBLIC: ("#0d3019", "#2ea043"),
        Tone.WARNING: ("#4c1014", "#f85149"),
        Tone.OUTSIDE: ("#3b2300", "#bb8009"),
    },
)


def picture(title: str, told: str, size: tuple[float, float], shapes: Iterable[str]) -> str:
    """Return a picture: its title and what it shows for those who cannot see it, then its shapes on a card."""
    width, height = size
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"',
        f'  height="{height:g}" role="img" aria-labelledby="title told">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="told">{escape(told)}</desc>',
        f"<style>\ntext {{ font-family: {SANS}; white-space: pre }}\n.mono {{ font: 13px {MONO} }}",
        ".bold { font-weight: 600 } .italic { font-style: italic }",
        *_rules(LIGHT),
        "@media (prefers-color-scheme: dark) {",
        *_rules(DARK),
        "}\n</style>",
        f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8" class="card"/>',
        *shapes,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _rules(colours: Colours) -> Iterable[str]:
    yield f".card {{ fill: {colours.ground}; stroke: {colours.frame} }}"
    yield f".line {{ fill: none; stroke: {colours.line}; stroke-width: 1.5 }} .head {{ fill: {colours.line} }}"
    yield f".rule, .border {{ fill: none; stroke: {colours.frame} }}"
    for name in sorted(INKS):
        yield f".{name} {{ fill: {getattr(colours, name)} }}"
    for tone, (fill, edge) in colours.tones.items():
        yield f".{tone} {{ fill: {fill}; stroke: {edge} }}"


def width_of(words: str, size: float = SMALL, *, bold: bool = False) -> float:
    """Return about how wide a line of text is."""
    return len(words) * size * CHARACTER * (BOLD if bold else 1)


def text(at: tuple[float, float], words: str, size: float = SMALL, ink: str = "ink", *, bold: bool = False) -> str:
    """Return a line of text that begins at a point of its baseline."""
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{at[0]:g}" y="{at[1]:g}" font-size="{size:g}" class="{ink}"{weight}>{escape(words)}</text>'


def terminal_text(at: tuple[float, float], words: str, width: float, look: Collection[str]) -> str:
    """Return text of a terminal, set to its width whatever font there is."""
    classes = " ".join(["mono", *sorted({"ink", *look} if not INKS & set(look) else look)])
    return f'<text x="{at[0]:g}" y="{at[1]:g}" textLength="{width:g}" class="{classes}">{escape(words)}</text>'


def rectangle(at: tuple[float, float], size: tuple[float, float], tone: Tone, *, dashed: bool = False) -> str:
    """Return a rectangle with round corners."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    (x, y), (width, height) = at, size
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" class="{tone}"{dashes}/>'


def box(
    at: tuple[float, float], size: tuple[float, float], name: str, lines: Sequence[str], tone: Tone = Tone.PLAIN
) -> list[str]:
    """Return a rectangle with a name and lines of text below it."""
    for words in (name, *lines):
        bold = words is name
        room = size[0] - 1.5 * PADDING
        assert width_of(words, NAME if bold else SMALL, bold=bold) <= room, f"too wide for its box: {words}"
    assert PADDING + 22 + 17 * len(lines) <= size[1] + 4, f"too many lines for the box of: {name}"
    x, y = at[0] + PADDING, at[1]
    return [
        rectangle(at, size, tone),
        text((x, y + 22), name, NAME, bold=True),
        *(text((x, y + 24 + 17 * number), words, ink="faint") for number, words in enumerate(lines, start=1)),
    ]


def arrow(*points: tuple[float, float]) -> list[str]:
    """Return an arrow along points; each leg goes straight across or straight down."""
    assert all(first[0] == then[0] or first[1] == then[1] for first, then in pairwise(points)), points
    (x0, y0), (x, y) = points[-2:]
    dx, dy = _sign(x - x0), _sign(y - y0)
    shaft = [*points[:-1], (x - dx * HEAD, y - dy * HEAD)]
    route = "L".join(f"{px:g} {py:g}" for px, py in shaft)
    back = (x - dx * HEAD, y - dy * HEAD)
    half = HEAD * 0.6
    corners = [(x, y), (back[0] - dy * half, back[1] - dx * half), (back[0] + dy * half, back[1] + dx * half)]
    head = "L".join(f"{px:g} {py:g}" for px, py in corners)
    return [f'<path d="M{route}" class="line"/>', f'<path d="M{head}Z" class="head"/>']


def _sign(amount: float) -> int:
    return (amount > 0) - (amount < 0)
