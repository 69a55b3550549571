"""The demo shows what it says, and it can fail: whoever takes a protection away sees it named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from muniment.events.message import Part, Role
from muniment.governance import judgement
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.search import documents
from muniment.transports.cli.demo import finding, governing, intruder, moving, remembering, steps
from muniment.transports.cli.demo.play import ACTS
from muniment.transports.cli.demo.stage import DemoStage, DemoStep, conversation
from tests.cli.shell import Shell

ROOT = Path(__file__).parents[2]


def test_every_expectation_of_the_demo_holds(shell: Shell) -> None:
    ran = shell.must("demo")
    assert "FAILED" not in ran.out
    assert ran.err == ""
    for number in range(1, len(ACTS) + 1):
        assert f"\n{number}. " in ran.out
    assert ran.out.endswith("80 of 80 expectations held.\n")


def test_the_demo_is_one_document_for_machines(shell: Shell) -> None:
    told = json.loads(shell.must("demo", "--json").out)
    assert told["held"] is True
    assert [act["name"] for act in told["acts"]] == [act.__name__ for act in ACTS]
    assert all(act["checks"] and all(check["held"] for check in act["checks"]) for act in told["acts"])


def test_the_demo_leaves_nothing_behind(shell: Shell) -> None:
    before = sorted(shell.directory.rglob("*"))
    shell.must("demo", "--json")
    assert sorted(shell.directory.rglob("*")) == before


def test_the_demo_is_shown_in_colours_at_a_terminal(shell: Shell) -> None:
    ran = shell.run("demo", terminal=True)
    assert (ran.code, "\x1b[32mok" in ran.out) == (0, True)


def test_the_conversation_of_the_demo_is_the_fixture() -> None:
    """One truth: the fixture is the very file that the package ships."""
    shipped = ROOT / "src/muniment/transports/cli/demo/conversation.jsonl"
    assert (ROOT / "fixtures/demo.jsonl").read_bytes() == shipped.read_bytes()
    assert 4 <= len(conversation()) <= 6


def _untouched(bundle: str, *_: str) -> str:
    return bundle


def _idle(_store: Path) -> None:
    pass


def _trusting(_stage: DemoStage, _path: Path) -> dict[str, Any]:
    return {"verified": True, "streams": [], "erasures": 0}


def _distrusting(_stage: DemoStage, _path: Path) -> dict[str, Any]:
    return {"verified": False}


def _permissive(_view: View, _role: Role, _is_answer: bool) -> dict[type[Part], None]:
    return dict.fromkeys(get_args(Part))


def _owners(_view: View, record: judgement.TurnRecord, _detection: ViewDetection) -> judgement.Judgement:
    return judgement.judge(View.RAW_OWNER, record)


def _found(_store: Path, _texts: list[str]) -> bool:
    return True


# what is taken away -> the act that must notice, and how to take it away
SABOTAGE: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "words on the disk": ("commit", lambda patch: patch.setattr(steps, "found_on_disk", _found)),
    "a policy": ("replay", lambda patch: patch.setattr(judgement, "withheld_by_policy", _permissive)),
    "the promise": ("replay", lambda patch: patch.setattr(steps, "PROMISE", "words that nobody said")),
    "the index of a view": ("search", lambda patch: patch.setattr(documents, "judge", _owners)),
    "the question": ("search", lambda patch: patch.setattr(finding, "QUESTION", "hospital")),
    "what is gone": ("search_again", lambda patch: patch.setattr(finding, "GONE", ["refund"])),
    "the number": ("search_again", lambda patch: patch.setattr(finding, "NAMED", '"my money"')),
    "the mask": ("mask", lambda patch: patch.setattr(steps, "MASKED", 4)),
    "the erased turn": ("erase", lambda patch: patch.setattr(steps, "ERASED", 4)),
    "the proof": ("erase", lambda patch: patch.setattr(steps, "verifier", _trusting)),
    "the verifier": ("verify", lambda patch: patch.setattr(steps, "verifier", _distrusting)),
    "the verdict": ("forge", lambda patch: patch.setattr(steps, "verifier", _trusting)),
    "the forger": ("forge", lambda patch: patch.setattr(intruder, "with_another_word", _untouched)),
    "the editor of bits": ("tamper", lambda patch: patch.setattr(intruder, "flip_a_bit", _idle)),
    "the editor of rows": ("tamper", lambda patch: patch.setattr(intruder, "lift_the_mask", _idle)),
    "the editor of dates": ("tamper", lambda patch: patch.setattr(intruder, "move_a_date", _idle)),
    "the views": ("redact", lambda patch: patch.setattr(governing, "SHARED", [View.OPERATOR_AUDIT])),
    "words in a file": ("remember", lambda patch: patch.setattr(remembering, "found_on_disk", _found)),
    "what was asked": ("recall", lambda patch: patch.setattr(remembering, "QUESTION", "What does she get back?")),
    "the forgotten item": ("forget", lambda patch: patch.setattr(remembering, "BELL", "refund")),
    "the backup": ("restore", lambda patch: patch.setattr(moving, "ADDRESS", "nadia")),
    "the old copy": ("roll_back", lambda patch: patch.setattr(steps, "YESTERDAY", "untouched")),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", list(SABOTAGE))
def test_the_demo_fails_when_something_is_taken_away(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, take_away = SABOTAGE[what]
    stage = DemoStage(tmp_path, seeded_sources("demo"))
    for play in ACTS:
        if play.__name__ == wanted:
            take_away(monkeypatch)
        try:
            act = play(stage)
        except AssertionError as broken:
            act = DemoStep(name=wanted, title=str(broken), story="", exhibits=[], checks=[])
        if play.__name__ == wanted:
            assert not act.held
            return
        assert act.held


def test_an_act_without_expectations_proves_nothing() -> None:
    assert not DemoStep(name="", title="", story="", exhibits=[], checks=[]).held


def test_a_demo_that_fails_ends_with_an_error(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intruder, "move_a_date", _idle)
    ran = shell.run("demo")
    assert ran.code == 1
    assert "FAILED  refused: the date of a turn moved" in ran.out
    assert "79 of 80 expectations held." in ran.out
    assert json.loads(shell.run("demo", "--json").out)["held"] is False
