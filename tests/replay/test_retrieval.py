"""Searches are scored by sets that are beside a checkout; a small one is invented here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from replay.__main__ import main
from replay.embedders import EMBEDDERS
from replay.fts5 import PORTER, WORDS, PlainIndex
from replay.retrieval.report import markdown
from replay.retrieval.run import Order, Result, run
from replay.retrieval.sets import SCRIPT
from tests.shared import need_shared

SAID = (
    ("Ada", "I have bought a blue canoe for the lake."),
    ("Ben", "My sister keeps bees on her roof in Ghent."),
    ("Ada", "We had soup again tonight, nothing to tell."),
    ("Ben", "The train was late, so I read the whole way."),
    ("Ada", "A heron sat beside the boathouse this morning."),
    ("Ben", "Rehearsal was moved to Thursday, bring the cello."),
)
ASKED = (
    ("What colour is the canoe that Ada bought?", "single-hop", ["t0"], "cobalt"),
    ("Where do the bees of the sister live?", "single-hop", ["t1"], "upstairs"),
    ("Which instrument is needed on Thursday?", "temporal", ["t5"], "strings"),
    ("Who stole the submarine?", "adversarial", ["t3"], "nobody"),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a directory with a set of one conversation under the name of a known one, and the script."""
    (tmp_path / SCRIPT).symlink_to(need_shared(f"retrieval/{SCRIPT}"))
    turns = [
        {"id": f"t{n}", "session": f"s{n // 3}", "date": f"2024-05-0{n + 1}T09:00:00", "speaker": speaker,
         "role": "user", "text": text, "image_caption": None}
        for n, (speaker, text) in enumerate(SAID)
    ]  # fmt: skip
    questions = [
        {"qid": f"q{n}", "conv_id": "c", "question": question, "category": category, "evidence": evidence,
         "answer": answer, "evidence_sessions": [f"s{int(evidence[0][1:]) // 3}"]}
        for n, (question, category, evidence, answer) in enumerate(ASKED)
    ]  # fmt: skip
    _written(tmp_path / "realtalk.conversations.jsonl.gz", [{"conv_id": "c", "turns": turns}])
    _written(tmp_path / "realtalk.questions.jsonl.gz", questions)
    return tmp_path


def test_what_was_said_is_found_by_every_method(data: Path) -> None:
    """Each question shares words with its evidence, so that nobody may miss it; adversarial ones do not count."""
    result = _run(data)
    [table] = result.tables
    assert table.turns == len(SAID)
    for scored in table.scored:
        answerable = [row for row in scored.rows if row["category"] != "adversarial"]
        assert table.mean(answerable, "R@5") == 1.0, scored.method.name
    assert {scored.method.name for scored in table.scored} >= {PORTER.name, WORDS.name, "muniment, no model"}


def test_the_report_has_every_method_and_nothing_of_what_was_said(data: Path) -> None:
    result = _run(data)
    report = markdown(result)
    for scored in result.tables[0].scored:
        assert f"| {scored.method.name} |" in report
    assert all(text not in report for _, text in SAID)
    assert all(question not in report for question, *_ in ASKED)
    assert all(answer not in report for *_, answer in ASKED)
    assert str(data) not in report
    assert "locomo: not there" in report


def test_an_item_is_found_by_the_words_of_the_turn_that_it_rests_on(data: Path) -> None:
    """No answer has a word of its question: plain FTS5 finds an item by the name of a speaker, or not at all."""
    [table] = _run(data).items
    found = {one.name: one.found for one in table.scored}
    assert not all(found[WORDS.name])
    assert found["muniment, no model"] == [True] * 3


def test_two_runs_give_the_same_scores(data: Path) -> None:
    first, second = _run(data), _run(data)
    for one, other in zip(first.tables[0].scored, second.tables[0].scored, strict=True):
        assert one.rows == other.rows
        assert one.gains == other.gains


def test_an_embedder_that_cannot_be_used_is_named(data: Path) -> None:
    """It is either scored or missing with a reason, never left out in silence."""
    result = _run(data)
    scored = {one.method.name for one in result.tables[0].scored}
    for embedder in EMBEDDERS:
        is_missing = any(line.startswith(f"muniment, {embedder.name}: ") for line in result.missing)
        assert is_missing is not (f"muniment, {embedder.name}" in scored)


def test_without_the_sets_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["replay", "retrieval", "--data", str(tmp_path)])
    assert main() == 2
    assert "realtalk: not there" in capsys.readouterr().err


def test_a_floor_that_is_missed_ends_the_command_with_one(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever runs this in CI learns from the exit code alone that search found less than it should."""
    command = ["replay", "retrieval", "realtalk", "--method", "no model", "--data", str(data)]
    monkeypatch.setattr("sys.argv", command)
    assert main() == 0
    path = data / "realtalk.questions.jsonl.gz"
    questions = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    _written(path, [{**each, "question": "Who stole the submarine?"} for each in questions])
    assert main() == 1
    assert "missed: realtalk, muniment, no model: R@10 0.000, at least 0.570 is wanted" in capsys.readouterr().err


def test_a_set_that_was_asked_for_and_is_not_there_ends_the_command_with_one(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sys.argv", ["replay", "retrieval", "realtalk", "locomo", "--method", "no model", "--data", str(data)]
    )
    assert main() == 1
    assert "not scored: locomo" in capsys.readouterr().err


def test_plain_fts5_takes_any_question() -> None:
    """The floor is not beaten by a syntax error."""
    index = PlainIndex()
    index.put([(1, "a", "the boat is blue"), (2, "b", "boats are red")])
    assert set(index.search("boats", 10)) == {1, 2}
    assert index.search("boats", 10, "b") == [2]
    assert index.search('NEAR("x" AND *', 10) == []
    assert index.search("?!", 10) == []
    index.close()


def _run(data: Path) -> Result:
    return run(Order(data=data, methods=("no model", "unicode61", *(one.name for one in EMBEDDERS))), lambda _: None)


def _written(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
