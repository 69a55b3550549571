"""The text of the public API says what a caller relies on (the machinery of `schemas/api.txt`)."""

from __future__ import annotations

from enum import StrEnum

import msgspec
import pytest

import muniment
from tests import api


class Colour(StrEnum):
    RED = "red"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    x: int
    colour: Colour = Colour.RED
    notes: tuple[str, ...] = ()


class Group:
    size: int

    def draw(self, point: Point, *, colour: Colour = Colour.RED) -> list[Point]:
        """Draw."""
        return [point] if colour else []

    @property
    def first(self) -> Point:
        """First."""
        return Point(x=1)


def test_signatures_fields_and_mentioned_types_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(muniment, "Group", Group, raising=False)
    monkeypatch.setattr(muniment, "__all__", ["Group"])
    monkeypatch.setattr(api, "OURS", __name__.partition(".")[0])
    text = api.api_text()
    assert (
        "muniment.Group: class\n    size: int\n    draw(point: Point, *, colour: Colour = Colour.RED) -> list[Point]"
        in text
    )
    assert "    first: Point" in text
    assert (
        f"{__name__}.Point: struct\n    x: int\n    colour: Colour = Colour.RED\n    notes: tuple[str, ...] = ()"
        in text
    )


def test_every_error_is_listed_with_its_code() -> None:
    assert "    store.corrupt = Corrupt, corrupt\n" in api.api_text()
