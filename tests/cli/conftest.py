"""A shell for each test, and one whose store holds the conversation of the demo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a shell in an empty directory, where `turns/1.json` to `turns/5.json` are the turns of the demo."""
    (tmp_path / "turns").mkdir()
    for number, line in enumerate((ROOT / "fixtures/demo.jsonl").read_text().splitlines(), start=1):
        (tmp_path / f"turns/{number}.json").write_text(json.dumps(json.loads(line)))
    (tmp_path / "misspelt.json").write_text('{"turn": "t", "subject": "s", "convesation": "c", "messages": []}')
    return Shell(tmp_path)


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """Return a shell whose store holds the five turns of the demo."""
    for number in range(1, 6):
        shell.must("transcripts", "commit", f"turns/{number}.json")
    return shell
