"""What the command line says is what is on record (how: tests/cli/transcripts.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.runtime.catalogue import catalogue
from tests.cli import transcripts
from tests.cli.transcripts import play


@pytest.mark.parametrize("path", transcripts.transcripts(), ids=lambda path: path.stem)
def test_the_command_line_says_what_the_transcript_says(path: Path) -> None:
    recorded = path.read_text(encoding="utf-8")
    assert transcripts.played(path) == recorded, "run `python -m tests.cli.transcripts --write` and look at the diff"


def test_every_operation_is_in_a_transcript() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in transcripts.transcripts())
    commands = {tuple(line.split()[2:4]) for line in text.splitlines() if line.startswith("$ muniment ")}
    missing = [each.path for each in catalogue() if (each.group, each.name.replace("_", "-")) not in commands]
    assert missing == []


def test_a_transcript_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    assert play("$ muniment --version\nmuniment 99\n", tmp_path) != "$ muniment --version\nmuniment 99\n"
