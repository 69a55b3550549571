"""Nothing is lost in silence: what was read is what was kept, skipped and refused, whatever the file looks like."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.formats.reading.import_format import PARSERS, Format
from muniment.governance.limits import Limits
from muniment.kernel.sources import seeded_sources
from muniment.operations.importing.import_report import ImportReport
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.importing.files import line, talk, turns_in, written

IMPORTS = Path(__file__).parents[2] / "fixtures/imports"


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Return an empty space in memory."""
    with muniment.open("memory:", options=Options(sources=seeded_sources("import"))) as runtime:
        yield runtime


def adds_up(report: ImportReport) -> None:
    """Check every equation of the module `import_report`."""
    outcomes = {name: getattr(report.messages, name) for name in report.messages.__struct_fields__}
    assert outcomes.pop("read") == sum(outcomes.values())
    assert all(count >= 0 for count in outcomes.values())
    assert report.lines_read == report.lines_kept + report.lines_refused
    assert report.lines_kept >= 0
    assert report.lines_read == sum(each.lines_read for each in report.files)
    assert report.turns_committed == sum(each.turns_committed for each in report.files)
    if not report.clipped:
        of_no_format = sum(each.lines_refused for each in report.files if each.refused)
        assert len(report.refused_lines) == report.lines_refused + report.messages_refused - of_no_format
        assert len(report.refused_turns) == sum(report.turns_skipped.values())


def messages_of(runtime: Runtime) -> int:
    """Return how many messages the space has."""
    return runtime.spaces.usage().messages


FILES = [*sorted(path for path in IMPORTS.iterdir() if path.is_file()), IMPORTS.parent / "demo.jsonl"]


def damaged(kind: str, data: bytes) -> bytes:
    """Return a file in another state."""
    packed = gzip.compress(data)
    return {
        "whole": data,
        "packed": packed,
        "cut": data[: len(data) * 2 // 3],
        "packed and cut": packed[: len(packed) * 2 // 3],
        "packed with a wrong checksum": packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:],
        "with other lines before": b'{"not": "a conversation"}\n\xff\xfe\n' + data,
    }[kind]


KINDS = ["whole", "packed", "cut", "packed and cut", "packed with a wrong checksum", "with other lines before"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", FILES, ids=lambda path: path.name)
def test_every_record_of_every_format_is_accounted_for(
    runtime: Runtime, tmp_path: Path, source: Path, kind: str
) -> None:
    """Twice, so that what is there already is counted, too; and the space has what the counts say."""
    good = written(tmp_path / "good.jsonl", talk("good", 1))
    (tmp_path / "file").write_bytes(damaged(kind, source.read_bytes()))
    first = runtime.spaces.import_([tmp_path / "file", good])
    adds_up(first)
    assert messages_of(runtime) == first.messages.committed
    again = runtime.spaces.import_([tmp_path / "file", good])
    adds_up(again)
    assert again.messages.committed == 0
    assert again.messages.already_there + again.messages.refused >= first.messages.committed
    if kind not in {"whole", "packed"}:
        assert not first.complete, "what is damaged is not complete"
    assert first.complete == again.complete


def test_a_damaged_archive_is_not_complete(runtime: Runtime, tmp_path: Path) -> None:
    data = gzip.compress(Path(written(tmp_path / "plain", talk("a", 50))).read_bytes())
    report = runtime.spaces.import_(data[: len(data) // 2])
    adds_up(report)
    assert (report.complete, report.files[0].damaged) == (False, True)
    assert runtime.spaces.import_(data).complete


def test_repeated_messages_of_requests_are_counted(runtime: Runtime, tmp_path: Path) -> None:
    system = "Answer."
    history = [{"role": role, "content": f"{role} {turn}"} for turn in range(4) for role in ("user", "assistant")]
    lines: list[Any] = [
        {"model": "claude-x", "max_tokens": 9, "system": system, "messages": history[: 2 * turns + 1]}
        for turns in range(4)
    ]
    report = runtime.spaces.import_(written(tmp_path / "log.jsonl", lines))
    adds_up(report)
    assert (report.messages.read, report.messages.repeated) == (1 + 3 + 5 + 7 + 4, 1 + 3 + 5 + 3)


def test_blank_messages_are_counted_and_no_loss(runtime: Runtime, tmp_path: Path) -> None:
    lines = [line("a", "user", "q"), line("a", "tool", " "), line("a", "assistant", "so"), line("b", "user", "")]
    report = runtime.spaces.import_(written(tmp_path / "f.jsonl", lines))
    adds_up(report)
    assert (report.messages.committed, report.messages.blank, report.messages.skipped) == (2, 1, 1)
    assert (report.complete, report.turns_skipped) == (True, {"empty_user_turn": 1})


def test_a_conflict_is_not_complete(runtime: Runtime, tmp_path: Path) -> None:
    runtime.spaces.import_(written(tmp_path / "file.jsonl", talk("a", 2)[:-1]))
    grown = runtime.spaces.import_(written(tmp_path / "file.jsonl", talk("a", 3)))
    adds_up(grown)
    assert (grown.complete, grown.messages.refused) == (False, 2)


def long_run(steps: int) -> list[dict[str, Any]]:
    """Return a turn with many tool steps, and a short one."""
    steps_taken = [line("run", "tool", f"step {step}") for step in range(steps)]
    return [line("run", "user", "Go."), *steps_taken, line("run", "assistant", "Done."), *talk("short", 1)]


def test_a_turn_above_the_limit_is_refused_with_the_limit_and_accepted_under_another(tmp_path: Path) -> None:
    file = written(tmp_path / "run.jsonl", long_run(400))
    with muniment.open("memory:") as runtime:
        report = runtime.spaces.import_(file)
        adds_up(report)
        assert (report.complete, report.turns_committed, report.messages.refused) == (False, 1, 402)
        (refused,) = report.refused_turns
        assert (refused.file, refused.line, refused.problem, refused.limit) == ("run.jsonl", 1, "too_many", 256)
    with muniment.open("memory:", options=Options(limits=Limits(turn_messages_max=500))) as runtime:
        assert runtime.spaces.import_(file).complete
        assert len(turns_in(runtime, "run")[0]) == 402


def test_a_line_is_told_with_its_file(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("a", "b"):
        written(tmp_path / "logs" / f"{name}.jsonl", [*talk(name, 1), "{broken"])
    report = runtime.spaces.import_(tmp_path / "logs")
    adds_up(report)
    told = [(each.file, each.line, each.problem) for each in report.refused_lines]
    assert told == [("logs/a.jsonl", 4, "not_json"), ("logs/b.jsonl", 4, "not_json")]


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("chatgpt", {"title": "Parcels", "id": "c", "mapping": {}}),
        ("claude", {"name": " Parcels ", "uuid": "c", "chat_messages": []}),
        ("openai", {"title": "Parcels", "messages": []}),
        ("langchain", {"title": "Parcels", "messages": [{"type": "human", "content": "q"}]}),
    ],
)
def test_a_parsed_conversation_has_the_title_of_the_file(name: str, item: dict[str, Any]) -> None:
    parser = PARSERS[Format(name)]
    assert parser(json.dumps(item).encode()).title == "Parcels"
    named = "name" if name == "claude" else "title"
    assert parser(json.dumps(item | {named: 3}).encode()).title is None
