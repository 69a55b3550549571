"""Histories against products that are broken on purpose: each history of the repository fails for at least one.

A check that cannot fail shows nothing. `broken.toml` lists ways to break the product as a text that gives way to
another one; each is applied to a copy of the sources, and the histories that it names are run there, in a process of
its own. A way that finds its text no more, or that leaves one of its histories green, is a failure; so is a history
that no way names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from muniment.events.binding import bind

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"
HISTORIES = HERE.parent / "fixtures" / "histories"
LIST = HERE / "broken.toml"
CALM_S = 300.0
BREAKDOWNS = (b"AssertionError", b"ValueError")  # what does not fit together inside


class Broken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to break the product, and the histories that must fail."""

    what: str
    file: str
    old: str
    new: str
    red: list[str]


class Listed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of them."""

    broken: list[Broken]


def listed() -> list[Broken]:
    """Return the ways to break the product."""
    return bind(tomllib.loads(LIST.read_text(encoding="utf-8")), Listed).broken


def unnamed() -> set[str]:
    """Return the histories that no way fails."""
    return {path.stem for path in HISTORIES.glob("*.jsonl")} - {name for one in listed() for name in one.red}


def complaints(chosen: list[Broken]) -> Iterator[str]:
    """Yield what did not fail, or could not be broken."""
    with tempfile.TemporaryDirectory(prefix="muniment-broken-") as directory:
        copy = Path(shutil.copytree(SOURCES, Path(directory) / "src", ignore=shutil.ignore_patterns("__pycache__")))
        for one in chosen:
            path = copy / "muniment" / one.file
            whole = path.read_text(encoding="utf-8")
            if whole.count(one.old) != 1:
                yield f"{one.what}: {one.file} has another text by now"
                continue
            path.write_text(whole.replace(one.old, one.new), encoding="utf-8")
            yield from (f"{one.what}: {name} holds all the same" for name in one.red if not _is_red(copy, name))
            path.write_text(whole, encoding="utf-8")


def _is_red(sources: Path, name: str) -> bool:
    """Run a history against other sources; tell whether it fails by what it checks, or breaks down."""
    environment = {**os.environ, "PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "muniment", "replay", "run", str(HISTORIES / f"{name}.jsonl"), "--json"]
    ran = subprocess.run(command, env=environment, capture_output=True, timeout=CALM_S, check=False)
    try:
        return not json.loads(ran.stdout)["passed"]
    except (ValueError, KeyError):
        return any(name in ran.stderr for name in BREAKDOWNS)


def main(words: list[str]) -> int:
    """Break the product in every way, or in those whose description has one of these words; return the exit code."""
    chosen = [one for one in listed() if not words or any(word in one.what for word in words)]
    wrong = [*complaints(chosen), *(f"nothing turns {name} red" for name in sorted(unnamed()))]
    for each in wrong:
        sys.stdout.write(each + "\n")
    red = sum(len(one.red) for one in chosen)
    sys.stdout.write(f"broken: {len(chosen)} ways, {red} histories turned red, {len(wrong)} failures\n")
    return 1 if wrong else 0
