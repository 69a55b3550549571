"""Reports that say whether a store is in order: on the command line the exit code says it, too."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.cli.shell import Shell

VERDICTS = [("system", "health"), ("evidence", "inspect"), ("system", "recover")]


def broken(shell: Shell) -> None:
    (log,) = (shell.directory / "store").glob("spaces/*/log.db")
    with closing(sqlite3.connect(log)) as database, database:
        database.execute("DELETE FROM events WHERE turn_seq = 2")


@pytest.mark.parametrize("words", VERDICTS)
def test_an_unsound_store_ends_the_command_with_1(words: tuple[str, ...], filled: Shell) -> None:
    """With the whole report on standard output all the same, for people and for machines."""
    assert filled.run(*words).code == 0
    broken(filled)
    ran, told = filled.run(*words), filled.run(*words, "--json")
    assert (ran.code, told.code, ran.err) == (1, 1, "")
    assert "error" not in json.loads(told.out)


@pytest.mark.parametrize("words", VERDICTS)
def test_it_is_said_when_nothing_is_pinned(words: tuple[str, ...], filled: Shell) -> None:
    assert json.loads(filled.must(*words, "--json").out)["pinned"] is True
    shutil.rmtree(filled.directory / ".local/state/muniment/pins")
    ran = filled.must(*words)
    assert json.loads(filled.must(*words, "--json").out)["pinned"] is False
    assert any(line.split() == ["pinned", "no"] for line in ran.out.splitlines())
