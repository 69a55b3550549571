"""`muniment import`: what can be typed, how it ends, and what a person reads."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.importing.files import line, talk, written

NOT_COMPLETE = 1  # what the verdict of a report ends a command with
COMMITTED_BYTES_MIN = 300_000  # more than an empty store has
CONVERSATIONS = Path(__file__).parents[2] / "fixtures/imports/claude.json"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a shell in an empty directory."""
    return Shell(tmp_path)


def test_standard_input_is_a_file(shell: Shell) -> None:
    typed = "".join(json.dumps(each) + "\n" for each in talk("a", 2))
    assert json.loads(shell.must("import", "-", "--json", typed=typed).out)["turns_committed"] == 2
    assert json.loads(shell.must("import", "--file", "-", "--json", typed=typed).out)["turns_already_there"] == 2


def test_a_process_reads_its_standard_input_and_names_nothing_after_it(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"}]}
    ran = _started(tmp_path, "import", "-", "--json")
    out, _ = ran.communicate(json.dumps(chat).encode() + b"\n", timeout=60)
    assert ran.returncode == 0
    assert json.loads(out)["files"][0]["file"] == "import"


def test_several_files_folders_and_archives_at_once(shell: Shell) -> None:
    (shell.directory / "logs").mkdir()
    written(shell.directory / "logs" / "a.jsonl", talk("a", 1))
    written(shell.directory / "logs" / ".hidden", talk("hidden", 1))
    written(shell.directory / "b.jsonl", talk("b", 1))
    with zipfile.ZipFile(shell.directory / "export.zip", "w") as archive:
        archive.writestr("conversations.json", CONVERSATIONS.read_bytes())
        archive.writestr("users.json", "[]")
    ran = shell.run("import", "b.jsonl", "logs", "export.zip")
    files = ran.out.split("outcome\n")[1].split("\n\n")[0]
    table = [row.split("  ") for row in files.splitlines()]
    told = {row[0]: row[-1].strip() for row in table}
    assert told["b.jsonl"] == told["logs/a.jsonl"] == "imported"
    assert told["logs/.hidden"] == "skipped: hidden"
    assert told["export.zip/users.json"] == "skipped: no conversations of this export"
    assert told["export.zip/conversations.json"] == "1 message refused"


def test_what_was_refused_is_told_with_its_place_and_ends_with_one(shell: Shell) -> None:
    written(shell.directory / "a.jsonl", [*talk("a", 1), "{broken CANARY", *talk("b", 1)])
    ran = shell.run("import", "a.jsonl")
    assert ran.code == NOT_COMPLETE
    assert "Not complete: 1 line refused. What could be kept was kept." in ran.out
    assert ["a.jsonl", "4", "no JSON"] in [row.split(maxsplit=2) for row in ran.out.splitlines()]
    assert "CANARY" not in ran.said
    assert shell.run("import", "a.jsonl", "--json").code == NOT_COMPLETE
    written(shell.directory / "a.jsonl", talk("a", 1))
    assert "Complete: nothing was refused." in shell.must("import", "a.jsonl").out


def test_a_truncated_archive_does_not_end_with_zero(shell: Shell) -> None:
    noisy = [one | {"noise": os.urandom(100).hex()} for one in talk("a", 100)]
    data = gzip.compress(Path(written(shell.directory / "plain", noisy)).read_bytes())
    (shell.directory / "cut.gz").write_bytes(data[: len(data) // 2])
    ran = shell.run("import", "cut.gz")
    assert ran.code == NOT_COMPLETE
    assert "Not complete: 1 file damaged, 1 line refused, 1 turn skipped" in ran.out


def test_a_run_above_the_limit_says_how_to_allow_it(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [line("run", "tool", f"step {step}") for step in range(300)]
    written(shell.directory / "run.jsonl", [line("run", "user", "Go."), *steps, line("run", "assistant", "Done.")])
    ran = shell.run("import", "run.jsonl")
    assert ran.code == NOT_COMPLETE
    assert "too many (limit 256)" in ran.out
    assert "MUNIMENT_LIMITS=turn_messages_max=1024" in ran.out
    monkeypatch.setenv("MUNIMENT_LIMITS", "turn_messages_max=1024")
    assert "Complete" in shell.must("import", "run.jsonl").out
    for wrong in ("turn_messages_max=many", "turn_messages=3", "turn_messages_max=0", "turn_messages_max"):
        monkeypatch.setenv("MUNIMENT_LIMITS", wrong)
        ran = shell.run("import", "run.jsonl")
        assert (ran.code, "MUNIMENT_LIMITS" in ran.err) == (2, True)


def test_an_interrupted_import_says_where_it_stopped(tmp_path: Path) -> None:
    ran = _started(tmp_path, "import", "-")
    assert ran.stdin is not None
    ran.stdin.write("".join(json.dumps(each) + "\n" for each in talk("CANARY", 400)).encode())
    ran.stdin.flush()
    deadline = time.monotonic() + 60
    while _bytes_in(tmp_path / "store" / "spaces") < COMMITTED_BYTES_MIN and time.monotonic() < deadline:
        time.sleep(0.1)
    ran.send_signal(signal.SIGINT)
    out, err = ran.communicate(timeout=60)
    assert ran.returncode == 130
    told = err.decode()
    assert "Stopped in file 1 after" in told
    assert "Repeat the command to go on: it skips what is there." in told
    assert b"CANARY" not in out + err
    assert "Traceback" not in told


def _bytes_in(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("log.db*"))


def _started(directory: Path, *arguments: str) -> subprocess.Popen[bytes]:
    # Coverage holds a lock of its own now and then, and an interrupt in it would leave it locked for good.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    environment = {**inherited, "HOME": str(directory), "MUNIMENT_STORE": str(directory / "store")}
    return subprocess.Popen(  # the program itself, with what the test typed
        [sys.executable, "-m", "muniment", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


@pytest.mark.parametrize("arguments", [["import"], ["import", ""], ["import", "--file", "a", "b"]])
def test_misuse_ends_with_the_code_of_its_kind(shell: Shell, arguments: list[str]) -> None:
    assert shell.run(*arguments).code == 2
    assert shell.run("import", "nowhere.jsonl").code == 4
