"""How the documents of the repository are executed.

A fenced block of a document is one of:

- `python`: run in order, in one namespace a document; a block that starts with `>>>` is compared with what it shows.
- `console`: lines that start with `$ ` are commands (`> ` continues one), the lines below are the output that they must
  give, where `...` stands for anything; a last line `[3]` is an exit code other than zero. All blocks of a document
  share a directory that is empty at its beginning. The product must be installed, because its commands are run.
- `sh`: the commands of README.md that make an environment. `.ci/run` runs them as they stand; a test cannot.
- one of `PLAIN`: shown, never run.

A `python` block that imports an agent framework (`FRAMEWORKS`) which is not installed is left out: none of them is a
dependency. `python -m replay hosts` installs each and has its examples run.

Examples in docstrings of the product are doctests.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sybil import Document, Example
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

ROOT = Path(__file__).parents[1]
PLAIN = {"text", "json", "sql", "sh"}
RUN = {"python", "console"}
FRAMEWORKS = (
    "agents",
    "anthropic",
    "google.adk",
    "langchain",
    "langgraph",
    "langgraph.store.sqlite",
    "openai",
    "pydantic_ai",
)
COMMAND_SECONDS_MAX = 120
SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_EXIT = re.compile(r"^\[(\d+)\]$")
_IMPORT = re.compile(r"(?m)^(?:from|import) ([\w.]+)")


def documents() -> list[Path]:
    """Return the documents that promise something that runs."""
    places = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / ".github").rglob("*.md")]
    return sorted([*places, *(ROOT / "src/muniment/guide").rglob("*.md")])


def docstring_files() -> list[Path]:
    """Return the files of the product whose docstrings show examples."""
    return sorted(path for path in (ROOT / "src").rglob("*.py") if ">>>" in path.read_text(encoding="utf-8"))


def languages(path: Path) -> Iterator[str]:
    """Yield the language of every fenced block of a document."""
    fence = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,})(.*)", line)
        if not mark:
            continue
        if not fence:
            fence = mark.group(1)
            yield mark.group(2).strip()
        elif mark.group(1).startswith(fence) and not mark.group(2).strip():
            fence = ""


class Step:
    """A command of a `console` block, what it shows and the exit code it ends with."""

    def __init__(self, command: str, lines: list[str]) -> None:
        code = _EXIT.match(lines[-1]) if lines else None
        self.command = command
        self.exit_code = int(code.group(1)) if code else 0
        self.shown = "\n".join(lines[:-1] if code else lines)


def steps(block: str) -> Iterator[Step]:
    """Yield the steps of a `console` block in order."""
    for chunk in re.split(r"(?m)^\$ ", block)[1:]:
        first, *rest = chunk.rstrip("\n").split("\n")
        while rest and rest[0].startswith("> "):
            first += "\n" + rest.pop(0).removeprefix("> ")
        yield Step(first, rest)


def execute(block: str, directory: Path) -> str | None:
    """Run a `console` block; return None, or what differs from what is shown."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(directory),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    for step in steps(block):
        done = subprocess.run(
            ["/bin/bash", "-o", "pipefail", "-c", step.command],
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
        output = done.stdout.decode(errors="replace")
        if done.returncode != step.exit_code:
            return f"`{step.command}` ended with {done.returncode}, not {step.exit_code}:\n{output}"
        checker = doctest.OutputChecker()
        if not checker.check_output(step.shown, output, SHOWN):
            shown = checker.output_difference(doctest.Example("", step.shown), output, SHOWN)
            return f"`{step.command}` shows something else:\n{shown}"
    return None


def examples(path: Path, directory: Path) -> list[Example]:
    """Return the examples of a document in order, ready to be evaluated."""

    def console(example: Example) -> str | None:
        return execute(str(example.parsed), directory)

    python = PythonCodeBlockParser(doctest_optionflags=SHOWN)
    found = Document.parse(str(path), python, CodeBlockParser("console", console)).examples()
    return [example for example in found if not absent_frameworks(str(example.parsed))]


def frameworks(program: str) -> list[str]:
    """Return the agent frameworks that a program imports."""
    imported = _IMPORT.findall(program)
    return [each for each in FRAMEWORKS if any(f"{name}.".startswith(f"{each}.") for name in imported)]


def absent_frameworks(program: str) -> list[str]:
    """Return the agent frameworks that a program imports and that are not installed."""
    return [each for each in frameworks(program) if not _is_installed(each)]


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even what it is in
        return False


def docstring_examples(path: Path) -> list[Example]:
    """Return the examples in the docstrings of a file."""
    return list(PythonDocStringDocument.parse(str(path), DocTestParser(SHOWN)).examples())
