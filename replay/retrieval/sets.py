"""The labelled sets that are beside a checkout, and the script that scores them. Neither is part of the repository."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

DATA = Path(__file__).resolve().parents[3] / "shared" / "retrieval"
SCRIPT = "retrieval_eval.py"
ADVERSARIAL = "adversarial"  # questions whose answer was never said; published figures leave them out

Row = dict[str, Any]  # what the script says of one question


class Labelled(NamedTuple):
    """A set, what it is, and the recall that is asked for: the share of evidence in the first ten hits."""

    name: str
    what: str
    wanted: float | None = None  # without a model
    wanted_with_model: float | None = None
    has_turns: bool = True  # or evidence is named by session alone

    def is_there(self, data: Path) -> bool:
        """Tell whether the set is there, and the script with it."""
        return (data / SCRIPT).exists() and (data / f"{self.name}.conversations.jsonl.gz").exists()


SETS = (
    Labelled("locomo", "very long chats of two people over months", 0.75, 0.80),
    Labelled("realtalk", "three weeks of real messaging between two people", 0.57, 0.62),
    Labelled("beam100k", "user and assistant, about 100k tokens a conversation", 0.55, 0.62),
    Labelled("lme_s_mini", "user and assistant, about 50 sessions each", has_turns=False),
)


def script(data: Path) -> ModuleType:
    """Import the script from where it lies."""
    spec = importlib.util.spec_from_file_location("retrieval_eval", data / SCRIPT)
    assert spec is not None, "it is a file of Python"
    assert spec.loader is not None, "as above"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def counted(rows: list[Row]) -> list[Row]:
    """Return the questions that the headline counts."""
    return [row for row in rows if row["category"] != ADVERSARIAL]
