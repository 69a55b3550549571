"""The rooms of the package: how large each is, how deep imports go, and whether they all point down.

`python -m tests.rooms` prints a table and what is wrong, and fails when anything is. A room is a folder with its own
`.py` files; a folder inside it is a room of its own. The layers come from import-linter's contract in `pyproject.toml`
and the imports from the code, so nothing here repeats what is written elsewhere. Imports that only type checkers follow
do not count.

The limits are those of the design. When a module needs more than `IMPORTS_MAX` of ours, a noun is missing; when a chain
of imports gets longer than `CHAIN_MAX`, a layer does too little. `EXEMPT` names modules that may import more, each with
its reason; an exemption that is not needed any more is wrong, too.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import grimp

import muniment

ROOT = Path(__file__).parents[1]
PACKAGE = "muniment"
LINES_MAX = 4_000
CHAIN_MAX = 20
IMPORTS_MAX = 15

# module -> why it may import more of ours than IMPORTS_MAX
EXEMPT: dict[str, str] = {
    "muniment.runtime.open": "the composition root: the one place that names stores, sources and pins",
    "muniment.operations.memory.memory_group": "nine verbs, each with what it takes and returns",
}


class Module(NamedTuple):
    """A file: its lines, which of our modules it imports, whether it is an `__init__.py`, how its docstring begins."""

    lines: int
    imports: frozenset[str]
    is_folder: bool = False
    summary: str = ""


class House(NamedTuple):
    """What there is to judge: modules by name, and the layers from the top down."""

    modules: Mapping[str, Module]
    layers: Sequence[frozenset[str]]
    exempt: Mapping[str, str]

    def room_of(self, module: str) -> str:
        """Return the folder that holds a module."""
        return module if self.modules[module].is_folder else module.rpartition(".")[0]

    def layer_of(self, module: str) -> int | None:
        """Return how far from the top a module stands; the folder of everything stands nowhere."""
        part = part_of(module)
        return next((place for place, layer in enumerate(self.layers) if part in layer), None)


class Room(NamedTuple):
    """A folder: its own files, the most that one of them imports, and the longest chain that begins in it."""

    name: str
    files: int
    lines: int
    imports: int
    chain: int


def part_of(module: str) -> str:
    """Return what of the package a module belongs to: `log` for `muniment.log.port`, nothing for `muniment`."""
    return module.partition(".")[2].partition(".")[0]


def chains(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Return the longest chain of imports from each module, itself included; none where imports go in a circle."""
    found: dict[str, list[str]] = {}
    if circle(modules):
        return found
    for name in _sorter(modules).static_order():
        below = [found[each] for each in sorted(modules[name].imports)]
        found[name] = [name, *max(below, key=len, default=[])]
    return found


def circle(modules: Mapping[str, Module]) -> list[str]:
    """Return modules that import each other in a circle, the first one again at the end; nothing when none do."""
    try:
        _sorter(modules).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def _sorter(modules: Mapping[str, Module]) -> TopologicalSorter[str]:
    return TopologicalSorter({name: sorted(module.imports) for name, module in sorted(modules.items())})


def rooms(house: House) -> list[Room]:
    """Return the rooms by name."""
    deepest = chains(house.modules)
    by_room: dict[str, list[str]] = {}
    for name in sorted(house.modules):
        by_room.setdefault(house.room_of(name), []).append(name)
    return [
        Room(
            room,
            len(names),
            sum(house.modules[name].lines for name in names),
            max(len(house.modules[name].imports) for name in names),
            max(len(deepest.get(name, ())) for name in names),
        )
        for room, names in sorted(by_room.items())
    ]


def findings(house: House) -> list[str]:
    """Return everything that is wrong, in sentences."""
    return [*_large(house), *_deep(house), *_wide(house), *_not_down(house)]


def _large(house: House) -> Iterator[str]:
    for room in rooms(house):
        if room.lines > LINES_MAX:
            yield f"{room.name} has {room.lines:,} lines, {LINES_MAX:,} are allowed: move a noun into a room of its own"


def _deep(house: House) -> Iterator[str]:
    if around := circle(house.modules):
        yield f"imports go in a circle: {' > '.join(around)}"
    longest = max(chains(house.modules).values(), key=len, default=[])
    if len(longest) > CHAIN_MAX:
        yield f"a chain of imports has {len(longest)} modules, {CHAIN_MAX} are allowed: {' > '.join(longest)}"


def _wide(house: House) -> Iterator[str]:
    for name, module in sorted(house.modules.items()):
        if len(module.imports) > IMPORTS_MAX and name not in house.exempt:
            yield f"{name} imports {len(module.imports)} of our modules, {IMPORTS_MAX} are allowed: a noun is missing"
    for name in sorted(house.exempt):
        if name not in house.modules or len(house.modules[name].imports) <= IMPORTS_MAX:
            yield f"{name} needs no exemption: remove it from EXEMPT"


def _not_down(house: House) -> Iterator[str]:
    for name, module in sorted(house.modules.items()):
        if part_of(name) and house.layer_of(name) is None:
            yield f"{name} is in no layer: add {part_of(name)} to the contract in pyproject.toml"
        for target in sorted(module.imports):
            above, below = house.layer_of(name), house.layer_of(target)
            if above is not None and below is not None and part_of(name) != part_of(target) and above >= below:
                yield f"{name} imports {target}, which is {'beside' if above == below else 'above'} it"


def dependencies(house: House) -> dict[str, set[str]]:
    """Return which parts of the package each part imports."""
    found: dict[str, set[str]] = {part: set() for layer in house.layers for part in sorted(layer)}
    for name, module in house.modules.items():
        found.setdefault(part_of(name), set()).update(map(part_of, module.imports))
    return {part: targets - {part} for part, targets in found.items() if part}


def layers_of(contracts: Sequence[Mapping[str, object]]) -> list[frozenset[str]]:
    """Return the layers of import-linter's contract from the top down; parts in one layer do not know each other."""
    lines = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    assert isinstance(lines, list), "the contract lists its layers"
    return [frozenset(name.strip(" ()") for name in line.split("|")) for line in lines]


def measured() -> House:
    """Return the package as it is, wherever it is installed."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return House(
        {name: _module(name, graph.find_modules_directly_imported_by(name)) for name in sorted(graph.modules)},
        layers_of(settings["tool"]["importlinter"]["contracts"]),
        EXEMPT,
    )


def _module(name: str, imports: set[str]) -> Module:
    bare = Path(muniment.__path__[0], *name.split(".")[1:])
    path = bare / "__init__.py" if bare.is_dir() else bare.with_suffix(".py")
    source = path.read_text(encoding="utf-8")
    summary = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    return Module(source.count("\n"), frozenset(imports), is_folder=bare.is_dir(), summary=summary)


def table(house: House) -> str:
    """Return the rooms as a table for people."""
    head = ["room", "files", "lines", "most imports", "longest chain"]
    listed = [
        [room.name, f"{room.files}", f"{room.lines:,}", f"{room.imports}", f"{room.chain or '-'}"]
        for room in rooms(house)
    ]
    widths = [max(map(len, column)) for column in zip(head, *listed, strict=True)]
    lines = []
    for first, *figures in [head, *listed]:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True))]
        lines.append("  ".join(cells))
    return "\n".join(lines)


def main() -> None:
    """Print the table; end with what is wrong."""
    house = measured()
    print(table(house))  # noqa: T201 - a command speaks to its caller
    if wrong := findings(house):
        raise SystemExit("\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
