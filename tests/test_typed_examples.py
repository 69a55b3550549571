"""Whoever copies an example into a typed program gets no complaint from `mypy --strict`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import muniment
from tests.documents import frameworks
from tests.guide import documents

PACKAGE = Path(muniment.__path__[0])
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def program_of(document: Path) -> str:
    """Return the examples of a page as one program, without dialogues and what needs the types of a framework."""
    blocks = _BLOCK.findall(document.read_text(encoding="utf-8"))
    return "\n".join(block for block in blocks if not block.startswith(">>>") and not frameworks(block))


def complaints(directory: Path, programs: dict[str, str]) -> str:
    """Return what `mypy --strict` says about programs that use the package as it is installed."""
    for name, text in programs.items():
        (directory / f"{name}.py").write_text(text, encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent"]
    files = [f"{name}.py" for name in programs]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)} if PACKAGE.parent.name == "src" else {**os.environ}
    run = subprocess.run([*mypy, *files], cwd=directory, env=environment, capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else run.stdout + run.stderr


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.slow
def test_the_examples_of_the_readme_and_the_guide_are_typed(tmp_path: Path) -> None:
    """Names are plain strings for a type checker, too (decision 0139)."""
    programs = {f"{page.stem.lower()}_example": program_of(page) for page in documents()}
    assert "readme_example" in programs
    assert complaints(tmp_path, {name: text for name, text in programs.items() if text}) == ""


@pytest.mark.slow
def test_a_wrong_type_in_an_example_would_be_seen(tmp_path: Path) -> None:
    program = "import muniment\n\nwith muniment.open() as runtime:\n    runtime.transcripts.search(7)\n"
    assert "arg-type" in complaints(tmp_path, {"wrong": program})
