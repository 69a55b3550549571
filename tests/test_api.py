"""The text of the public API says what a caller relies on (the machinery of `schemas/api.txt`)."""

from __future__ import annotations

from collections.abc import Iterator
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


def test_everything_that_a_turn_is_made_of_has_a_public_name() -> None:
    """A host writes turns: no type of a field of one is found only by who reads the sources."""
    left: list[type] = [muniment.Turn]
    seen = set[type]()
    while left:
        kind = left.pop()
        seen.add(kind)
        info = msgspec.inspect.type_info(kind)
        if isinstance(info, msgspec.inspect.StructType):
            left += [each for field in info.fields for each in _named(field.type) if each not in seen]
    assert {each.__name__ for each in seen} - set(muniment.__all__) == set()


def _named(info: msgspec.inspect.Type) -> Iterator[type]:
    """Yield the structs and enums in a type."""
    if isinstance(info, msgspec.inspect.StructType | msgspec.inspect.EnumType):
        yield info.cls
    elif isinstance(info, msgspec.inspect.UnionType):
        yield from (each for one in info.types for each in _named(one))
    elif isinstance(info, msgspec.inspect.CollectionType):
        yield from _named(info.item_type)
