"""Evidence on the command line: files for people, files that are read, and endings by verdict."""

from __future__ import annotations

import json

import pytest

from tests.cli.shell import Shell
from tests.evidence.authorities import ANY_CA, STAMPS, Authority, certified, served

ROOT = certified("root", basic=ANY_CA, years=(-10, 30))
TALK = ("--conversation", "talk")
TURN = {
    "turn": "t-1",
    "subject": "ada",
    "conversation": "talk",
    "messages": [{"role": "user", "content": "the question \x1b[31m"}, {"role": "assistant", "content": "the answer"}],
}


@pytest.fixture
def told(shell: Shell) -> Shell:
    """Return a shell whose store has a turn, with the public key of the log in `log.key`."""
    (shell.directory / "turn.json").write_text(json.dumps(TURN))
    shell.must("transcripts", "commit", "turn.json")
    return shell


def vkey(shell: Shell) -> str:
    return str(json.loads(shell.must("evidence", "checkpoint", "--json").out)["vkey"])


def test_the_name_of_a_file_decides_the_format_of_an_export(told: Shell) -> None:
    """`.html` is a page, `.jsonl` and any other name are lines; what was typed wins."""
    for name, more, is_page in (
        ("a.html", (), True), ("b.HTML", (), True), ("c.jsonl", (), False), ("d.txt", (), False),
        ("e.html", ("--format", "jsonl"), False), ("f", ("--format", "html"), True),
    ):  # fmt: skip
        told.must("evidence", "export", "talk", "--out", name, *more)
        written = (told.directory / name).read_text()
        assert written.startswith("<!doctype html>" if is_page else '{"bundle"'), name
        shown = told.must("evidence", "verify", name, "--vkey", vkey(told), "--show").out
        assert "    the question \\x1b[31m" in shown
        assert "\x1b" not in shown
        assert ("page          yes" in shown) == is_page
        report = json.loads(told.must("evidence", "verify", name, "--vkey", vkey(told), "--show", "--json").out)
        assert report["entries"][1]["said"][1]["text"] == "the answer"


def test_a_log_is_compared_with_a_file_that_somebody_kept(told: Shell) -> None:
    """Exit code by verdict; an unreadable file is said to be one."""
    note = json.loads(told.must("evidence", "checkpoint", "--json").out)["note"]
    (told.directory / "kept").write_text(note)
    assert "against" in told.must("evidence", "audit", "--checkpoint", "kept").out
    (told.directory / "forged").write_text(note.replace("\n2\n", "\n9\n").replace("\n3\n", "\n9\n"))
    refused = told.run("evidence", "audit", "--checkpoint", "forged")
    assert (refused.code, "evidence.refused" in refused.err) == (6, True)
    (told.directory / "binary").write_bytes(b"\xff\xfe")
    assert told.run("evidence", "audit", "--checkpoint", "binary").code == 2
    assert "file.unavailable" in told.run("evidence", "audit", "--checkpoint", "absent").err


def test_a_timestamp_is_asked_for_and_checked_on_the_command_line(told: Shell) -> None:
    (told.directory / "root.pem").write_text(ROOT.pem)
    with served(Authority(certified("signer", ROOT, purposes=STAMPS, years=(-10, 30)))) as url:
        stamped = told.must("evidence", "checkpoint", "--timestamp-url", url).out
    assert "rfc3161-timestamp" in stamped
    told.must("evidence", "prove", "talk", "--turn", "t-1", "--out", "receipt.txt")
    base = ("evidence", "verify", "receipt.txt", "--vkey", vkey(told))
    assert "present, not checked" in told.must(*base).out
    assert "(checked: CN=signer)" in told.must(*base, "--timestamp-certificate", "root.pem").out
    told.must("evidence", "audit", "--timestamp-certificate", "root.pem")


def test_a_certificate_of_an_erasure_is_a_file(told: Shell) -> None:
    erased = told.must(
        "lifecycle", "request", "talk", "--turn", "t-1", "--transition", "erase", "--reason", "her right",
        "--requester", "ada", "--yes", "--json",
    )  # fmt: skip
    position = str(json.loads(erased.out)["position"])
    told.must("lifecycle", "certificate", position, "--out", "erased.html")
    shown = told.must("evidence", "verify", "erased.html", "--vkey", vkey(told), "--show").out
    assert "reason: her right" in shown
    assert "outside: " in shown
    assert "the answer" not in (told.directory / "erased.html").read_text()
    assert told.run("lifecycle", "certificate", "0").code != 0
