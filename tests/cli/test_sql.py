"""`muniment sql` on the command line: a table for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json

from tests.cli.shell import Shell

COUNT = "SELECT conversation, turns FROM conversations"


def test_sql_answers_as_a_table_as_json_and_as_csv(filled: Shell) -> None:
    """The same rows, whatever the form."""
    shown = filled.must("sql", COUNT).out
    assert "conversation" in shown.splitlines()[0]
    rows = json.loads(filled.must("sql", COUNT, "--json").out)["rows"]
    assert rows
    parsed = list(csv.reader(io.StringIO(filled.must("sql", COUNT, "--csv").out)))
    assert parsed[0] == ["conversation", "turns"]
    assert [[name, int(turns)] for name, turns in parsed[1:]] == rows


def test_a_mistake_in_a_statement_is_explained_on_standard_error_alone(filled: Shell) -> None:
    """What SQLite says may quote the statement: a person reads it, no document holds it."""
    failed = filled.run("sql", "SELECT sevret FROM turns")
    assert failed.code == 2
    assert "no such column: sevret" in failed.err
    as_json = filled.run("sql", "SELECT sevret FROM turns", "--json")
    assert "sevret" not in as_json.out


def test_parameters_are_bound_from_a_file(filled: Shell) -> None:
    """Values never become part of the statement."""
    (filled.directory / "values.json").write_text('{"who": "x\' OR 1 = 1 --"}')
    given = ("--bindings", "values.json", "--json")
    counted = filled.must("sql", "SELECT count(*) FROM turns WHERE subject = :who", *given)
    assert json.loads(counted.out)["rows"] == [[0]]


def test_the_tables_are_listed_without_a_store(shell: Shell) -> None:
    """Whoever writes a statement first asks what there is."""
    assert "conversations" in shell.must("tables", "describe").out
