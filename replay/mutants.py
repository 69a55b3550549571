"""Break the code in ways that matter, one at a time, in a copy: each break must turn at least one named check red.

A mutant is a text that stands exactly once in one file, what is put in its place, and the checks that should notice
(`mutants.toml`). A text that is not there any more, or twice, fails: then the table has to follow the code. The copy is
in a temporary directory; what is checked out is not touched. Each check is first seen green on an unbroken copy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from msgspec import Struct

from muniment.events.binding import bind

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
PACKAGE = Path("src/muniment")
LIST = HERE / "mutants.toml"
COPIED = ("src", "tests", "replay", "fixtures", "schemas", "pyproject.toml", "README.md")
CHECK_TIMEOUT_S = 300
AT_ONCE = 2


class Mutant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One break: texts and what stands instead. `checks` are tests, or drills with a number (`drill powercut 500`)."""

    name: str
    breaks: str
    file: str  # below src/muniment
    edits: list[tuple[str, str]]
    checks: list[str]


class Listed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of them, as they stand in `mutants.toml`."""

    mutant: list[Mutant]


MUTANTS = {mutant.name: mutant for mutant in bind(tomllib.loads(LIST.read_text(encoding="utf-8")), Listed).mutant}


def unmade(mutant: Mutant, root: Path = REPOSITORY) -> list[str]:
    """Return the texts of a mutant that do not stand exactly once where they should."""
    source = (root / PACKAGE / mutant.file).read_text()
    return [text for text, _ in mutant.edits if source.count(text) != 1]


def markdown() -> str:
    """Return the table of all mutants, as it stands in MUTANTS.md."""
    rows = [
        f"| `{name}` | {mutant.breaks} | `{mutant.file}` | {', '.join(f'`{check}`' for check in mutant.checks)} |"
        for name, mutant in MUTANTS.items()
    ]
    lines = [
        "# Mutants",
        "",
        "A mutant is the code with one serious mistake. The table lists the mutants, and the checks that must fail for",
        "each. `python -m replay mutants` makes each mistake in a copy of the code and runs the checks.",
        "",
        "Generated from `mutants.toml`; do not edit.",
        "",
        "| mutant | mistake | file | detected by |",
        "|---|---|---|---|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def run_mutants(names: Sequence[str]) -> bool:
    """Run the mutants of these names, or all; print a line for each; return whether each was noticed."""
    chosen = {name: mutant for name, mutant in MUTANTS.items() if not names or name in names}
    checks = sorted({check for mutant in chosen.values() for check in mutant.checks})
    with tempfile.TemporaryDirectory(prefix="muniment-mutants-") as scratch:
        sound = _copied(Path(scratch) / "sound")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            red = [
                check
                for check, green in zip(checks, pool.map(partial(_is_green, sound), checks), strict=True)
                if not green
            ]
            for check in red:
                print(f"red without any break: {check}")
            noticed = list(pool.map(partial(_noticed, Path(scratch)), chosen, chosen.values()))
    print(f"{sum(noticed)} of {len(noticed)} breaks noticed")
    return bool(noticed) and all(noticed) and not red


def _noticed(scratch: Path, name: str, mutant: Mutant) -> bool:
    """Break a copy; tell whether a check fails."""
    began = time.monotonic()
    copy = _copied(scratch / name)
    path = copy / PACKAGE / mutant.file
    source = path.read_text()
    if missing := unmade(mutant, copy):
        print(f"{name}: NOT MADE: not once in {mutant.file}: {missing[0].strip()!r}")
        return False
    for text, instead in mutant.edits:
        source = source.replace(text, instead)
    path.write_text(source)
    by = next((check for check in mutant.checks if not _is_green(copy, check)), None)
    shutil.rmtree(copy)
    said = f"noticed by {by}" if by else f"NOT NOTICED by {', '.join(mutant.checks)}"
    print(f"{name}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return by is not None


def _copied(target: Path) -> Path:
    """Copy what the checks need."""
    target.mkdir()
    for name in COPIED:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.md.tmp"))
        else:
            shutil.copy(source, target / name)
    return target


def _is_green(copy: Path, check: str) -> bool:
    """Run a check in a copy; a break that hangs has been noticed."""
    kind, _, rest = check.partition(" ")
    if kind == "drill":
        name, number = rest.split()
        command = [sys.executable, "-m", "replay", "drill", name, "--n", number]
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", check]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), str(copy / "src")])}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, check=False, timeout=CHECK_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
