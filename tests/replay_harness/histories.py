"""Histories for the tests of the harness: a header, commands, and runs of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from muniment.replay.fixture import DerivationMode, Fixture, parse_fixture
from muniment.replay.replay_report import CheckOutcome, FixtureRun, ReplayCheck
from muniment.replay.running import run_fixture
from muniment.space.options import StoreKind

HISTORIES = Path(__file__).parents[2] / "fixtures" / "histories"
HEADER: dict[str, Any] = {"format": "muniment.replay/1", "id": "it", "subject": "It is about something."}
TALK = {"conversation": "talk"}

Line = dict[str, Any]


def commit(number: int, *words: str, **expect: Any) -> Line:
    """Return the command that commits a turn."""
    roles = ("user", "assistant")
    said = [{"role": roles[place % 2], "content": each} for place, each in enumerate(words or ("a question", "so"))]
    turn = {"turn": f"turn-{number}", "subject": "ada", "conversation": "talk", "messages": said}
    return {"do": "transcripts.commit", "with": {"turn": turn}, **({"expect": expect} if expect else {})}


def erase(number: int) -> Line:
    """Return the command that erases a turn."""
    asked = {"transition": "erase", "reason": "asked for", "requester": "ada", "turn": f"turn-{number}"}
    return {"do": "lifecycle.request", "with": {"conversation": TALK, **asked}}


def replayed(**expect: Any) -> Line:
    """Return the command that replays the conversation."""
    return {"do": "transcripts.replay", "with": {"conversation": TALK, "view": "raw_owner"}, "expect": expect}


def measured(**expect: Any) -> Line:
    """Return the command that measures."""
    return {"do": "expect", "expect": expect}


def history(*lines: Line, **header: Any) -> Fixture:
    """Return a fixture."""
    return parse_fixture(b"".join(json.dumps(line).encode() + b"\n" for line in ({**HEADER, **header}, *lines)))


def run(
    *lines: Line, store: StoreKind = StoreKind.MEMORY, mode: DerivationMode = DerivationMode.INCREMENTAL, **header: Any
) -> FixtureRun:
    """Run commands."""
    return run_fixture(history(*lines, **header), store, mode)


def checks(run: FixtureRun, verdict: CheckOutcome) -> list[ReplayCheck]:
    """Return the checks of a verdict."""
    return [check for check in run.checks if check.verdict is verdict]


def the_failure(run: FixtureRun) -> str:
    """Return what the one check that failed says."""
    (check,) = checks(run, CheckOutcome.FAILED)
    assert not run.passed
    return f"{check.what}: {check.difference}"
