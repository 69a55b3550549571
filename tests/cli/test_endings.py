"""How commands end: an exit code for every kind of error, one sentence or one document, and nothing that was typed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import muniment
from muniment.errors import Kind
from muniment.events.binding import REQUEST_BYTES_MAX
from muniment.transports.cli.failure import EXIT_CODES
from muniment.transports.cli.failure import __doc__ as table
from tests.cli.shell import Shell
from tests.cli.test_commands import CONVERSATION

SOURCE = str(Path(muniment.__path__[0]).parent)
PIPE_BYTES = 2**20  # more than a pipe holds before somebody reads from it


def test_every_kind_of_error_has_an_exit_code_of_its_own() -> None:
    assert set(EXIT_CODES) == set(Kind)
    assert len(set(EXIT_CODES.values())) == len(Kind)
    assert {0, 1, 126, 127, 128, 130, 141}.isdisjoint(EXIT_CODES.values())
    for kind, code in EXIT_CODES.items():
        assert f"| {code} | {kind}: " in (table or "")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nonsense"], 2, "Invalid request: command: unknown"),
        (["spaces", "nonsense"], 2, "Invalid request: command: unknown"),
        (["spaces", "--nonsense"], 2, "Invalid request: option: unknown"),
        (["transcripts", "replay", "c", "--vew", "x"], 2, "Did you mean --view?"),
        (["transcripts", "replay", "c", "--view", "x"], 2, "One of: raw_owner"),
        (["transcripts", "replay", "c", "--limit", "x"], 2, "A whole number is wanted."),
        (["transcripts", "replay", "c", "--limit"], 2, "limit: value is missing"),
        (["transcripts", "replay", "c", "d"], 2, "arguments: unknown"),
        (["transcripts", "replay", "c", "--json=x"], 2, "json: value is missing or not accepted"),
        (["transcripts", "replay", " c"], 2, "starts or ends with a blank"),
        (["transcripts", "replay", "c", "--cursor", "x"], 2, "cursor.invalid"),
        (["transcripts", "commit", "turns"], 4, "is a directory"),
        (["transcripts", "commit", "no\0path"], 4, "file: not found"),
        (["transcripts", "commit", "turns/1.json/x"], 4, "file: not found"),
        (["spaces", "import", "nowhere.jsonl"], 4, "file: not found"),
        (["spaces", "usage", "--store", "nowhere"], 4, "store.missing"),
        (["spaces", "usage", "--space", "nowhere"], 4, "store.missing"),
        (["evidence", "audit", "--store", "nowhere"], 4, "store.missing"),
        (["evidence", "prove", "c", "--turn", "t"], 4, "evidence.missing"),
        (["spaces", "usage", "--keys", "env:NOT_THERE"], 7, "key."),
        (["spaces", "usage", "--keys", "nonsense:"], 2, "key.invalid"),
        (["transcripts", "replay", "c", "--limit", "501"], 8, "request.limit_exceeded"),
    ],
)
def test_a_refusal_ends_with_its_code_and_one_sentence(
    arguments: list[str], code: int, words: str, filled: Shell
) -> None:
    ran = filled.run(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert ran.err.startswith("muniment: ")
    assert "Traceback" not in ran.err
    told = filled.run(*arguments, "--json")
    assert (told.code, told.err) == (code, "")
    error = json.loads(told.out)["error"]
    assert EXIT_CODES[Kind(error["kind"])] == code


def test_another_root_key_is_denied(filled: Shell) -> None:
    (filled.directory / "other.key").write_bytes((filled.directory / ".config/muniment/root.key").read_bytes())
    filled.must("transcripts", "commit", "turns/1.json", "--store", "second", "--keys", "file:second.key")
    ran = filled.run("spaces", "usage", "--keys", "file:second.key")
    assert (ran.code, "key.wrong" in ran.err) == (3, True)


def test_another_turn_of_the_same_name_is_a_conflict(filled: Shell) -> None:
    turn = json.loads((filled.directory / "turns/1.json").read_text())
    turn["messages"][1]["content"] = "Something else."
    ran = filled.run("transcripts", "commit", "-", typed=json.dumps(turn))
    assert (ran.code, "transcript.turn_conflict" in ran.err) == (5, True)


def test_an_edited_store_is_corrupt(filled: Shell) -> None:
    (log,) = (filled.directory / "store").glob("spaces/*/log.db")
    with closing(sqlite3.connect(log)) as database, database:
        database.execute("UPDATE events SET time = time + 1 WHERE turn_seq = 2")
    ran = filled.run("transcripts", "replay", *CONVERSATION)
    assert (ran.code, "store.corrupt" in ran.err, ran.out) == (6, True, "")


def test_an_edited_bundle_is_refused(filled: Shell) -> None:
    ran = filled.must("evidence", "export", *CONVERSATION)
    vkey = ran.err.split("vkey")[1].split()[0]
    edited = ran.out.replace('"seq":2', '"seq":3', 1)
    refused = filled.run("evidence", "verify", "-", "--vkey", vkey, typed=edited)
    assert (refused.code, "evidence.refused" in refused.err) == (6, True)


def test_a_document_that_is_no_text_is_refused(filled: Shell) -> None:
    """It is read as it comes, and proves nothing."""
    vkey = json.loads(filled.must("evidence", "checkpoint", "--json").out)["vkey"]
    ran = filled.run("evidence", "verify", "-", "--vkey", vkey, typed=b"\xff\xfe\n")
    assert (ran.code, "line 1: not json" in ran.err) == (6, True), ran.err


@pytest.mark.parametrize("words", [("transcripts", "commit", "-"), ("transcripts", "commit", "large")])
def test_more_than_a_request_may_hold_is_refused_unread(words: tuple[str, ...], shell: Shell) -> None:
    large = b" " * (REQUEST_BYTES_MAX + 1)
    (shell.directory / "large").write_bytes(large)
    ran = shell.run(*words, typed=large)
    assert (ran.code, "file: too large" in ran.err) == (8, True)


# --- processes --------------------------------------------------------------------------------------------------------


def _process(shell: Shell, *arguments: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": SOURCE, "HOME": str(shell.directory), "MUNIMENT_STORE": "store"}
    return subprocess.Popen(
        [sys.executable, "-m", "muniment", *arguments],
        cwd=shell.directory,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


LOADED = """
import sys
from muniment.transports.cli.__main__ import main
code = main(["--version"])
print(code, sorted({"msgspec", "cryptography", "apsw", "numpy", "rich", "pydantic"} & set(sys.modules)))
"""


def test_the_version_is_told_without_loading_anything_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, env={"PYTHONPATH": SOURCE}, check=True)
    assert done.stdout.decode().splitlines() == [f"muniment {muniment.__version__}", "0 []"]


def test_the_module_runs_like_the_command(shell: Shell) -> None:
    with _process(shell, "--version") as process:
        out, err = process.communicate()
    assert (process.returncode, out.decode(), err) == (0, f"muniment {muniment.__version__}\n", b"")


def test_a_page_that_nobody_reads_ends_quietly(filled: Shell) -> None:
    """A closed pipe is no traceback: the command ends with 141, as one that the signal ended would."""
    with _process(filled, "transcripts", "replay", *CONVERSATION, "--view", "raw_owner") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full is a file of Linux")
@pytest.mark.parametrize(
    "words", [("transcripts", "replay", *CONVERSATION), ("spaces", "usage", "--json"), ("guide", "errors"), ("--help",)]
)
def test_output_that_finds_no_room_is_a_refusal(words: tuple[str, ...], filled: Shell) -> None:
    environment = os.environ | {"PYTHONPATH": SOURCE, "HOME": str(filled.directory), "MUNIMENT_STORE": "store"}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "muniment", *words],
            cwd=filled.directory,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, b"file.unavailable: " in done.stderr) == (4, True)
    assert b"output: cannot be accessed" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("closed", "code"), [("<&-", 2), (">&-", 2), ("2>&-", 2), (">&- 2>&- <&-", 2)])
def test_closed_streams_are_no_traceback(closed: str, code: int, shell: Shell) -> None:
    environment = os.environ | {"PYTHONPATH": SOURCE, "HOME": str(shell.directory), "MUNIMENT_STORE": "store"}
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m muniment transcripts commit - {closed}', sys.executable],
        cwd=shell.directory,
        env=environment,
        input=b"",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)


def test_a_shell_can_learn_the_commands(shell: Shell) -> None:
    environment = os.environ | {"PYTHONPATH": SOURCE, "_MUNIMENT_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "muniment"],
        capture_output=True,
        env=environment | {"COMP_WORDS": "muniment tr", "HOME": str(shell.directory)},
        check=True,
    )
    assert done.stdout == b"plain,transcripts\n"


def test_an_interrupt_ends_with_its_code_and_no_traceback(shell: Shell) -> None:
    """The command waits for its standard input when it is interrupted."""
    with _process(shell, "transcripts", "commit", "-") as process:
        assert process.stdin is not None
        process.stdin.write(bytes(PIPE_BYTES))  # returns when it reads; before, it would be the interpreter's start
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, b"Traceback" in err) == (130, False)


def test_a_store_that_can_only_be_read_says_what_to_do(filled: Shell) -> None:
    """Reading takes files beside the log; where they cannot be made, a copy elsewhere helps."""
    [log] = (filled.directory / "store" / "spaces").glob("*/log.db")
    log.with_name("log.db-wal").mkdir()  # so that the system refuses to make it, whoever asks
    ran = filled.run("transcripts", "replay", "c")
    assert (ran.code, "store.read_only" in ran.err) == (7, True)
    assert "copy it to a writable directory" in ran.err
