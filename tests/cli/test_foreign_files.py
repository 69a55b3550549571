"""Files of others on the command line: in by `import`, out by `spaces export`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import Shell

IMPORTS = Path(__file__).parents[2] / "fixtures/imports"


def test_an_export_of_chatgpt_comes_in_and_goes_out_as_a_transcript(shell: Shell) -> None:
    ran = shell.run("import", str(IMPORTS / "chatgpt.json"), "--format", "chatgpt")
    assert ran.code == 1, "one line of it is refused"
    assert "turns committed" in ran.out
    assert "content type 1" in ran.out
    told = shell.must("spaces", "export", "6a31-seeds", "--format", "markdown", "--out", "seeds.md")
    assert told.out == ""
    written = shell.directory / "seeds.md"
    assert written.read_text().startswith("# Transcript of `6a31-seeds`\n")
    assert written.stat().st_mode & 0o777 == 0o600
    assert "turns" in told.err


def test_what_was_exported_comes_in_again(filled: Shell) -> None:
    key = ("order-LF-20418", "--channel", "web-chat", "--view", "raw_owner")
    out = filled.must("spaces", "export", *key, "--format", "otel").out
    (filled.directory / "talk.jsonl").write_text(out)
    report = json.loads(filled.must("import", "talk.jsonl", "--channel", "copy", "--json").out)
    assert (report["turns_committed"], report["lines_refused"]) == (5, 0)


def test_a_conversation_that_is_not_there_is_said_to_be_missing(filled: Shell) -> None:
    ran = filled.run("spaces", "export", "nowhere")
    assert ran.code == 4
    assert "transcript.unknown_conversation" in ran.err
