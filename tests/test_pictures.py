"""The pictures of the documents are whole, fetch nothing, and can be read on light and dark pages."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests import documents
from tests.pictures import demo, drawing, layers
from tests.pictures.drawing import Tone
from tests.pictures.life import life
from tests.rooms import House, Module
from tests.schemas import PICTURES, ROOT

SVG = "{http://www.w3.org/2000/svg}"
FILES = sorted((ROOT / PICTURES).glob("*.svg"))
CONTRAST_MIN = 4.5  # WCAG 2.2, level AA, for text of this size


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_picture_fetches_nothing_and_runs_nothing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"\w+://[^\s\"']+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"url\(|@import|@font-face|<script|<image|<foreignObject|\bon\w+=|href", text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_picture_says_what_it_shows_to_those_who_cannot_see_it(path: Path) -> None:
    picture = ET.parse(path).getroot()  # noqa: S314 - a file of this repository
    told = [(picture.findtext(f"{SVG}{name}") or "").strip() for name in ("title", "desc")]
    assert all(told)
    assert picture.get("role") == "img"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_lies_inside_its_picture(path: Path) -> None:
    picture = ET.parse(path).getroot()  # noqa: S314 - a file of this repository
    width, height = map(float, (picture.get("viewBox") or "").split()[2:])
    for text in picture.iter(f"{SVG}text"):
        words, size = text.text or "", float(text.get("font-size", 0))
        right = float(text.get("x", 0)) + float(text.get("textLength", 0) or drawing.width_of(words, size))
        assert right <= width, words
        assert 0 < float(text.get("y", 0)) < height, words


@pytest.mark.parametrize("colours", [drawing.LIGHT, drawing.DARK], ids=["light", "dark"])
def test_every_ink_can_be_read_on_every_ground(colours: drawing.Colours) -> None:
    grounds = [colours.ground, *(fill for fill, _ in colours.tones.values())]
    inks = {name: getattr(colours, name) for name in drawing.INKS}
    low = [
        (name, ground, round(ratio, 2))
        for name, ink in inks.items()
        for ground in (grounds if name in {"ink", "faint", "accent"} else grounds[:1])
        if (ratio := _contrast(ink, ground)) < CONTRAST_MIN
    ]
    assert low == []


def _contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG defines it."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("path", documents.documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_shows_pictures_that_are_there(path: Path) -> None:
    shown = re.findall(r"!\[[^]]*\]\(([^)]+)\)|<img[^>]*\ssrc=\"([^\"]+)\"", path.read_text(encoding="utf-8"))
    assert [name for names in shown for name in names if name and not (path.parent / name).is_file()] == []


def test_text_that_is_too_wide_or_too_long_for_its_box_is_refused() -> None:
    with pytest.raises(AssertionError, match="too wide"):
        drawing.box((0, 0), (100, 80), "A name that is far too wide", [])
    with pytest.raises(AssertionError, match="too many lines"):
        drawing.box((0, 0), (100, 40), "Name", ["one", "two"], Tone.SEALED)


def test_the_life_of_a_turn_is_told_in_numbered_steps() -> None:
    steps = [int(number) for number in re.findall(r">(\d+)  ", life())]
    assert steps == list(range(1, len(steps) + 1))


def test_the_demo_is_shown_as_a_terminal_shows_it() -> None:
    assert [(run.column, run.words, run.look) for run in demo._runs("\x1b[32mok\x1b[0m  held ╭─╮")] == [
        (0, "ok", {"good"}),
        (4, "held", frozenset()),
        (9, "╭─╮", frozenset()),
    ]
    assert [excerpt.act for excerpt in demo.SHOWN] == ["replay", "erase", "forge"]


def test_the_nearest_parts_leave_out_what_they_bring_along() -> None:
    """An arrow says something new: nothing that another arrow leads to, and nothing that everybody may import."""
    modules = {
        "muniment.a": Module(120, frozenset({"muniment.b", "muniment.c", "muniment.d"}), summary="A: The top. More."),
        "muniment.b": Module(40, frozenset({"muniment.c"}), summary="`B` serves."),
        "muniment.c": Module(40, frozenset({"muniment.d"})),
        "muniment.d": Module(40, frozenset()),
    }
    made = House(modules, [frozenset(name) for name in "abcd"], {})
    assert layers.nearest(made) == {"a": {"b"}, "b": {"c"}, "c": set(), "d": set()}
    drawn = layers.layers(made)
    assert all(f">{words}<" in drawn for words in ("100 lines", "under 100 lines", "The top", "B serves", "→ b"))
