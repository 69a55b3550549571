"""Help: each command shows a call that is complete, and what is in the files that it takes."""

from __future__ import annotations

import json
from enum import Enum

import msgspec
import pytest

from muniment.declaration.operation import Operation
from muniment.declaration.surfaces import DESTROYS
from muniment.runtime.catalogue import catalogue
from muniment.transports.cli.fields import JSON_FILES, fields_of, word_for
from muniment.transports.cli.store_options import SHARED
from tests.cli.shell import Shell


@pytest.mark.parametrize("operation", catalogue(), ids=lambda operation: operation.path)
def test_the_help_shows_a_complete_call_on_a_page_of_80_columns(operation: Operation, shell: Shell) -> None:
    verb = operation.name.replace("_", "-")
    told = shell.must(operation.group, verb, "--help").out
    required = [field for field in fields_of(operation.request, SHARED) if field.is_shown]
    assert ("At least:" in told) == bool(required or operation.upload)
    example = told.partition("At least:")[2].partition("The FILE of")[0]
    assert all(len(line) <= 80 for line in example.splitlines())
    words = example.replace("\\\n", " ").split()
    assert words[:3] == ["muniment", operation.group, verb] or not example
    assert all(field.name.upper() in words or f"--{field.name.replace('_', '-')}" in words for field in required)


@pytest.mark.parametrize("operation", catalogue(), ids=lambda operation: operation.path)
def test_the_help_shows_what_is_in_each_file(operation: Operation, shell: Shell) -> None:
    """As JSON that the operation takes, on a page of 80 columns."""
    told = shell.must(operation.group, operation.name.replace("_", "-"), "--help").out
    files = [field for field in fields_of(operation.request, SHARED) if field.read in JSON_FILES]
    for field in files:
        _, named, rest = told.partition(f"The FILE of {field.flag}, for example:\n")
        assert bool(named) == field.required or field.example is not None
        if named:
            text = rest.partition("\n\nThe FILE of")[0]
            assert all(len(line) <= 80 for line in text.splitlines())
            (type_of,) = (each.type for each in msgspec.structs.fields(operation.request) if each.name == field.name)
            assert msgspec.json.decode(text, type=type_of)


@pytest.mark.slow
@pytest.mark.parametrize("operation", catalogue(), ids=lambda operation: operation.path)
def test_the_shortest_call_is_not_refused_as_incomplete(operation: Operation, filled: Shell) -> None:
    """Whatever else is wrong with it, nothing that the help leaves out is missing."""
    told: list[str] = []
    for field in fields_of(operation.request, SHARED):
        if field.is_shown and field.read is None:
            told += [field.flag, word_for(field) if issubclass(field.kind, Enum) else str(field.example or 1)]
        elif field.is_shown:
            (filled.directory / "example.json").write_text(json.dumps(field.example))
            told += [field.flag, "example.json"]
    upload = [] if operation.upload is None else ["turns/1.json"]
    destroys = ["--yes"] if DESTROYS[operation.effect] else []
    ran = filled.run(operation.group, operation.name.replace("_", "-"), *upload, *told, *destroys, "--json")
    if ran.code == 2:
        problem = json.loads(ran.out)["error"].get("problem")
        assert problem not in {"missing_field", "says_nothing", "not_one_of_these", "empty"}


def test_the_first_help_shows_what_to_try(shell: Shell) -> None:
    told = shell.must("--help").out
    assert "muniment transcripts replay" in told
    assert "..." not in told.partition("Commands:")[2]
    assert "1 a check found something wrong" in " ".join(told.split())
