"""What the guide shows for a framework, and its example: each a program, run where the framework is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT, absent_frameworks, frameworks

PAGE = ROOT / "src/muniment/guide/hosts.md"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
LINES_MAX = 10  # of a block: what adding it to an agent may take
SECONDS_MAX = 120


def run(program: str, directory: Path) -> None:
    """Run a program in a directory of its own, without any address that it could send something to."""
    absent = absent_frameworks(program)
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    path = directory / "program.py"
    path.write_text(program, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment = {**kept, "HOME": str(directory), "http_proxy": NOWHERE, "https_proxy": NOWHERE}
    ran = subprocess.run(
        [sys.executable, str(path)],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


NOWHERE = "http://127.0.0.1:9"


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_ends_without_an_error(path: Path, tmp_path: Path) -> None:
    run(path.read_text(encoding="utf-8"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: "-".join(frameworks(block)))
def test_the_block_of_the_page_is_a_program(block: str, tmp_path: Path) -> None:
    run(block, tmp_path)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: "-".join(frameworks(block)))
def test_the_block_of_the_page_is_short_and_for_a_framework(block: str) -> None:
    assert frameworks(block)
    assert len([line for line in block.splitlines() if line.strip()]) <= LINES_MAX


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_page_names_the_example(path: Path) -> None:
    assert f"`examples/{path.name}`" in PAGE.read_text(encoding="utf-8")
    assert frameworks(path.read_text(encoding="utf-8"))


def test_every_example_that_the_page_names_is_there() -> None:
    named = re.findall(r"`examples/(\w+\.py)`", PAGE.read_text(encoding="utf-8"))
    assert sorted(set(named)) == [path.name for path in EXAMPLES]
