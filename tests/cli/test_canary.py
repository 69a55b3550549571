"""The canary property: what was typed, read from a file or stored never comes back in the text of an error.

A hint on standard error may name the file that could not be read, so that whoever typed it sees where it was looked
for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Ran, Shell
from tests.cli.test_commands import CONVERSATION, VALID

CANARY = "Canary7f3a"  # no plain identifier: one that names an unknown field is shown, so that typos are found
REPORTED = (0, 1)  # no error: a report, which may name the files that were typed
FORMS = [
    CANARY,
    f" {CANARY}",
    f"{CANARY}\x07",
    f"-{CANARY}",
    f"--{CANARY}",
    f"--{CANARY}=x",
    f"--limit={CANARY}",
    f"{CANARY}\udcff",
    CANARY * 60,
    f"file:/{CANARY}",
    f"mc1.{CANARY}",
]


ATTRIBUTES = [
    {
        "id": "a",
        "target": {"turn": "turn-2", "scope": "message", "message": "turn-2#0"},
        "key": "host.desk.tone",
        "kind": "object",
        "value": {"tone": "calm"},
        "visibility": "export",
        "source": {"writer": "desk", "kind": "host_estimated", "reason": "routing", "written_ms": 7},
        "governance": {"value_bytes_max": 100, "policy": "follow_transcript", "export_allowed": True},
        "links": [{"relation": "of", "kind": "case", "id": "17"}],
        "schema": "tone/1",
    }
]


def _bundle(shell: Shell) -> None:
    """Write the files that the valid calls name."""
    ran = shell.must("evidence", "export", "order-LF-20418", "--channel", "web-chat")
    (shell.directory / "bundle.jsonl").write_text(ran.out)
    (shell.directory / "attributes.json").write_text(json.dumps(ATTRIBUTES))
    (shell.directory / "chat.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "Hello"}]}))


@pytest.mark.slow
@pytest.mark.parametrize("path", list(VALID))
def test_no_argument_of_a_failed_call_comes_back_in_its_error(path: str, filled: Shell) -> None:
    _bundle(filled)
    words = [*path.split("."), *VALID[path]]
    failed = 0
    for place in range(len(words)):
        for number, form in enumerate(FORMS, start=place):
            ran = filled.run(*words[:place], form, *words[place + 1 :], "--yes")
            if ran.code:
                failed += 1
                assert CANARY not in told(ran), (place, form)
            told_as = ["--json"] * (number % 2)  # each form both ways, at one place or the next
            ran = filled.run(*words[:place], form, *told_as, *words[place:])
            assert ran.code in REPORTED or CANARY not in told(ran), (place, form)
    assert failed


def told(ran: Ran) -> str:
    """Return what a command said, without the hint that names the file which could not be read."""
    return ran.out + "\n".join(line for line in ran.err.splitlines() if not line.startswith("The file is "))


def _mutants(value: Any, canary: Any) -> Iterator[Any]:
    """Yield the value with one leaf replaced, and with one name of a member replaced."""
    if isinstance(value, dict):
        for name, member in value.items():
            for mutant in _mutants(member, canary):
                yield value | {name: mutant}
            yield {(CANARY if each == name else each): member for each, member in value.items()}
    elif isinstance(value, list):
        for place, member in enumerate(value):
            for mutant in _mutants(member, canary):
                yield [*value[:place], mutant, *value[place + 1 :]]
    yield canary


LEAVES = [CANARY, {CANARY: CANARY}, [CANARY], f"{CANARY}\x00", f" {CANARY}"]


def test_no_leaf_of_a_refused_turn_comes_back_in_its_error(shell: Shell) -> None:
    turn = json.loads((shell.directory / "turns/2.json").read_text())
    refused = 0
    for canary in LEAVES:
        for mutant in _mutants(turn, canary):
            ran = shell.run("transcripts", "commit", "-", typed=json.dumps(mutant))
            refused += bool(ran.code)
            assert not ran.code or CANARY not in ran.said
    assert refused > 100


def test_no_leaf_of_a_refused_annotation_comes_back_in_its_error(filled: Shell) -> None:
    """What is malformed as a whole is an error; an attribute that is refused alone is told by its id and a reason."""
    refused = 0
    words = ("transcripts", "annotate", *CONVERSATION, "--attributes", "-")
    for canary in LEAVES:
        for mutant in _mutants(ATTRIBUTES, canary):
            ran = filled.run(*words, typed=json.dumps(mutant))
            refused += bool(ran.code)
            assert not ran.code or CANARY not in ran.said
    assert refused > 100


def test_no_line_of_a_bundle_comes_back_when_it_is_refused(filled: Shell) -> None:
    _bundle(filled)
    lines = (filled.directory / "bundle.jsonl").read_text().splitlines()
    vkey = json.loads(filled.must("evidence", "checkpoint", "--json").out)["vkey"]
    for place, line in enumerate(lines):
        for mutant in _mutants(json.loads(line), CANARY):
            edited = [*lines[:place], json.dumps(mutant, separators=(",", ":")), *lines[place + 1 :]]
            ran = filled.run("evidence", "verify", "-", "--vkey", vkey, typed="\n".join(edited) + "\n")
            assert ran.code == 6
            assert CANARY not in ran.said


def test_refused_lines_are_told_by_number_and_never_by_what_they_say(shell: Shell, tmp_path: Path) -> None:
    line = {"conversation_id": "c", "role": "user", "parts": [{"type": "text", "content": "Hello"}], "ts": 1}
    mutants = [mutant for leaf in LEAVES for mutant in _mutants(line, leaf)]
    (tmp_path / "file.jsonl").write_text("\n".join(json.dumps(one) for one in mutants) + f'\n{{"{CANARY}')
    told = json.loads(shell.run("import", "file.jsonl", "--format", "otel", "--json").out)
    assert told["lines_refused"] > len(mutants) // 2
    assert CANARY not in json.dumps(told["refused_lines"])
