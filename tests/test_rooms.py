"""Rooms stay small, chains of imports short, and imports point down (how it is measured: tests/rooms.py)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

import muniment
from tests import rooms
from tests.rooms import CHAIN_MAX, IMPORTS_MAX, LINES_MAX, ROOT, House, Module

LAYERS = [frozenset({"top"}), frozenset({"left", "right"}), frozenset({"low"})]


def house(lines: int = 10, *, exempt: Mapping[str, str] | None = None, **imports: str) -> House:
    """Return a package: `top__a="low low__b"` is a module `muniment.top.a` that imports two others."""
    return built({name: wanted.split() for name, wanted in imports.items()}, lines, exempt or {})


def built(imports: Mapping[str, list[str]], lines: int, exempt: Mapping[str, str]) -> House:
    """Return a package of modules that are all equally long, with the folders that they are in."""
    named = {_name(name): frozenset(map(_name, wanted)) for name, wanted in imports.items()}
    every = named.keys() | frozenset[str]().union(*named.values())
    folders = {"muniment"} | {name.rpartition(".")[0] for name in every}
    modules = {name: Module(lines, named.get(name, frozenset()), is_folder=name in folders) for name in every | folders}
    return House(modules, LAYERS, exempt)


def _name(short: str) -> str:
    return "muniment." + short.replace("__", ".")


def long_chain(length: int) -> House:
    """Return a package whose longest chain of imports has that many modules."""
    return built({f"low__m{number}": [f"low__m{number + 1}"] for number in range(1, length)}, 10, {})


def wide_module(imports: int, exempt: Mapping[str, str] | None = None) -> House:
    """Return a package with one module that imports so many."""
    return built({"top__a": [f"low__m{number}" for number in range(imports)]}, 10, exempt or {})


REASON = {"muniment.top.a": "a reason"}


@pytest.mark.parametrize(
    "sound",
    [
        house(top__a="left__a right__a low__a", left__a="low__a", low__a="low__b"),
        house(lines=LINES_MAX // 3, low__a="low__b", low__inner__a="low__inner__b"),  # a folder inside is another room
        long_chain(CHAIN_MAX),
        wide_module(IMPORTS_MAX),
        wide_module(IMPORTS_MAX + 1, REASON),
    ],
)
def test_a_package_within_its_limits_is_left_alone(sound: House) -> None:
    assert rooms.findings(sound) == []


@pytest.mark.parametrize(
    ("offence", "told"),
    [
        (house(lines=LINES_MAX // 3 + 1, low__a="low__b"), "muniment.low has 4,002 lines, 4,000 are allowed"),
        (long_chain(CHAIN_MAX + 1), "a chain of imports has 21 modules, 20 are allowed: muniment.low.m1 > "),
        (wide_module(IMPORTS_MAX + 1), "muniment.top.a imports 16 of our modules, 15 are allowed"),
        (wide_module(IMPORTS_MAX, REASON), "muniment.top.a needs no exemption"),
        (house(exempt=REASON, low__a="low__b"), "muniment.top.a needs no exemption"),
        (house(low__a="top__a"), "muniment.low.a imports muniment.top.a, which is above it"),
        (house(left__a="right__a"), "muniment.left.a imports muniment.right.a, which is beside it"),
        (house(cellar__a="low__a"), "muniment.cellar.a is in no layer"),
        (house(low__a="low__b", low__b="low__c", low__c="low__a"), "imports go in a circle: "),
    ],
)
def test_a_package_beyond_a_limit_is_told_so(offence: House, told: str) -> None:
    assert [found for found in rooms.findings(offence) if found.startswith(told)]


def test_a_circle_is_told_in_the_order_of_its_imports() -> None:
    around = rooms.circle(house(low__a="low__b", low__b="low__c", low__c="low__a").modules)
    assert around[0] == around[-1]
    assert "".join(name[-1] for name in around * 2).find("abca") >= 0


def test_the_longest_of_several_chains_is_measured() -> None:
    made = house(top__a="low__c left__a", left__a="low__a", low__a="low__b", low__b="low__c")
    assert [name[9:] for name in rooms.chains(made.modules)["muniment.top.a"]] == [
        "top.a",
        "left.a",
        "low.a",
        "low.b",
        "low.c",
    ]
    assert {room.name[9:]: room.chain for room in rooms.rooms(made)} == {"": 1, "top": 5, "left": 4, "low": 3}


def test_a_room_is_a_folder_with_its_own_files() -> None:
    made = house(lines=7, low__a="low__b", low__inner__a="low__b")
    sizes = {room.name: (room.files, room.lines) for room in rooms.rooms(made)}
    assert sizes == {"muniment": (1, 7), "muniment.low": (3, 21), "muniment.low.inner": (2, 14)}


def test_parts_import_what_any_of_their_modules_imports() -> None:
    made = house(top__a="left__a", top__inner__b="low__a top__a", left__a="low__a")
    assert rooms.dependencies(made) == {"top": {"left", "low"}, "left": {"low"}, "right": set(), "low": set()}


def test_the_layers_are_those_of_the_contract() -> None:
    layers = ["(top)", "(left) | right", "low"]
    contracts: list[Mapping[str, object]] = [{"id": "other"}, {"id": "layers", "layers": layers}]
    assert rooms.layers_of(contracts) == LAYERS


def test_the_table_lists_every_room_of_a_package() -> None:
    head, *lines = rooms.table(house(lines=1000, low__a="low__b")).splitlines()
    assert head.split() == ["room", "files", "lines", "most", "imports", "longest", "chain"]
    assert [line.split() for line in lines] == [
        ["muniment", "1", "1,000", "0", "1"],
        ["muniment.low", "3", "3,000", "1", "2"],
    ]


def test_the_command_fails_when_a_limit_is_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rooms, "measured", lambda: house(low__a="low__b"))
    rooms.main()
    monkeypatch.setattr(rooms, "measured", lambda: house(low__a="top__b"))
    with pytest.raises(SystemExit, match="which is above it"):
        rooms.main()
    assert capsys.readouterr().out.count("longest chain") == 2


# --- the package itself -----------------------------------------------------------------------------------------------


def test_what_is_measured_is_the_package_and_its_contract() -> None:
    made = rooms.measured()
    files = {path.relative_to(muniment.__path__[0]) for path in Path(muniment.__path__[0]).rglob("*.py")}
    assert len(made.modules) == len(files)
    assert "muniment.errors" in made.modules["muniment.kernel.cursor"].imports
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    assert made.layers == rooms.layers_of(contracts)


def test_the_package_keeps_the_limits_of_its_rooms() -> None:
    """Run `python -m tests.rooms` for the whole table."""
    found = rooms.findings(rooms.measured())
    assert not found, "\n".join(found)


def test_the_page_about_the_architecture_names_folders_that_are_there() -> None:
    page = (ROOT / ".github/ARCHITECTURE.md").read_text(encoding="utf-8")
    named = {name.rstrip("/") for name in re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", page)}
    assert named
    assert sorted(name for name in named if not Path(muniment.__path__[0], name).exists()) == []
