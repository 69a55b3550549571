"""How commands end: an exit code for every kind of error, one sentence or one document, and nothing that was typed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import muniment
from muniment.errors import Kind, MunimentError
from muniment.events.binding import REQUEST_BYTES_MAX
from muniment.transports.cli.__main__ import COMPLETION
from muniment.transports.cli.app import tree
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
        (
            ["spaces", "usage", "--profile", "desk"],
            2,
            "profile: unknown (one of: embedded, desktop, server, developer)",
        ),
        (["transcripts", "commit", "misspelt.json"], 2, "turn.convesation: unknown field (did you mean conversation?)"),
        (["spaces", "--nonsense"], 2, "Invalid request: option: unknown"),
        (["transcripts", "replay", "c", "--vew", "x"], 2, "did you mean --view?"),
        (["transcripts", "replay", "c", "--view", "x"], 2, "one of: raw_owner"),
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
        (["evidence", "prove", "c", "--turn", "t"], 4, "transcript.unknown_conversation"),
        (["evidence", "prove", *CONVERSATION, "--turn", "t"], 4, "evidence.missing"),
        (["lifecycle", "certificate", "0"], 4, "evidence.missing"),
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


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["transcript"], "Did you mean transcripts?"),
        (["search", "parcel"], "Did you mean transcripts search?"),
        (["spaces", "replay"], "Did you mean transcripts replay?"),
        (["transcripts", "repaly", "c"], "Did you mean replay?"),
        (["replay", "rn"], "Did you mean run?"),
        (["guide", "erasur"], "Did you mean erasure?"),
        (["transcripts", "replay", "c", "--view", "hostui"], "Did you mean host_ui?"),
        (["transcripts", "replay"], "Run 'muniment transcripts replay --help'."),
        (["evidence", "verify"], "Run 'muniment evidence verify --help'."),
        (["spaces", "usage", "--store", "nowhere"], "No store at nowhere,"),
        (["spaces", "usage", "--keys", "file:no.key"], "Cannot read the root key from no.key."),
    ],
)
def test_what_was_probably_meant_is_a_hint_on_standard_error(arguments: list[str], hint: str, filled: Shell) -> None:
    """A hint holds words of ours and paths that were typed; it is no part of the error itself."""
    ran = filled.run(*arguments)
    assert hint in ran.err.splitlines()[1]
    told = filled.run(*arguments, "--json")
    assert hint not in told.said


def test_a_store_that_was_rolled_back_says_how_to_accept_it(filled: Shell) -> None:
    """What is lost is counted, and the command that gives it up is the one that works."""
    shutil.copytree(filled.directory / "store", filled.directory / "older")
    later = json.loads((filled.directory / "turns/1.json").read_text()) | {"turn": "later"}
    (filled.directory / "turns/6.json").write_text(json.dumps(later))
    filled.must("transcripts", "commit", "turns/6.json")
    shutil.rmtree(filled.directory / "store")
    (filled.directory / "older").rename(filled.directory / "store")
    ran = filled.run("conversations", "list")
    assert ran.code == 6
    assert "Store lost events that its pinned checkpoint knows (8 events pinned, 7 found); restore a newer" in ran.err
    *_, command = ran.err.splitlines()[1].partition(": ")
    assert command.startswith("rm ")
    subprocess.run(shlex.split(command), check=True)
    filled.must("conversations", "list")


def test_an_error_in_json_is_the_report_that_python_gives(filled: Shell) -> None:
    told = json.loads(filled.run("transcripts", "commit", "misspelt.json", "--json").out)["error"]
    with muniment.open("memory:") as runtime, pytest.raises(MunimentError) as refused:
        runtime.transcripts.commit(json.loads((filled.directory / "misspelt.json").read_text()))
    assert told == refused.value.report()
    assert told["choices"] == ["conversation"]


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
    # Coverage holds a lock of its own now and then, which an interrupt would leave locked for good.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    environment = inherited | {"PYTHONPATH": SOURCE, "HOME": str(shell.directory), "MUNIMENT_STORE": "store"}
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


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("muniment", "li"), {"lifecycle"}),
        (("muniment", "transcripts", "re"), {"replay", "redact"}),
        (("muniment", "transcripts", "replay", "c", "--vi"), {"--view"}),
        (("muniment", "transcripts", "replay", "c", "--view", "h"), {"host_ui"}),
        (("muniment", "guide", "er"), {"erasure", "errors"}),
        (("muniment", "spaces", "usage", "--profile", "de"), {"desktop", "developer"}),
        (("muniment", "completion", "z"), {"zsh"}),
    ],
)
def test_a_shell_completes_groups_commands_options_and_choices(
    typed: tuple[str, ...], offered: set[str], tmp_path: Path
) -> None:
    """A real bash with the script of `muniment completion`, in a shell without any settings."""
    program = tmp_path / "muniment"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m muniment "$@"\n')
    program.chmod(0o755)
    script = (
        f'eval "$({program} completion bash)"; COMP_WORDS=({shlex.join(typed)}); COMP_CWORD={len(typed) - 1}; '
        f'_muniment_completion {program}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    bash = ["/bin/bash", "--norc", "-c", script]
    ran = subprocess.run(bash, env=os.environ | {"PYTHONPATH": SOURCE}, capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) == offered


@pytest.mark.parametrize("option", ["--store", "--weights", "--out"])
def test_a_shell_completes_paths_itself(option: str) -> None:
    command = {"--store": "transcripts.search", "--weights": "transcripts.search", "--out": "evidence.export"}[option]
    group, verb = command.split(".")
    done = ShellComplete(tree(), {}, "muniment", COMPLETION).get_completions([group, verb, option], "")
    assert [item.type for item in done] == ["dir" if option == "--store" else "file"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_one_command_away(name: str, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    told = shell.must("completion", name).out
    assert "_MUNIMENT_COMPLETE" in told
    monkeypatch.setenv("SHELL", f"/usr/bin/{name}")
    assert shell.must("completion").out == told


def test_a_shell_that_is_not_known_has_to_be_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/dash")
    ran = shell.run("completion")
    assert ran.code == 2
    assert "shell: missing (one of: bash, zsh, fish)" in ran.err


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
