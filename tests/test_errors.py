"""Errors say what is wrong, where, and what to do next, and nothing that came from outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from muniment import errors
from muniment.errors import (
    PHRASES,
    CapabilityHidden,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    RestoreConflict,
    RolledBack,
    UnknownConversation,
)

SOURCE = Path(errors.__file__).parent
CLASSES = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MunimentError)]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            InvalidInput(at="turn.messages", problem="missing_field"),
            "request.invalid: Invalid request: turn.messages: missing",
        ),
        (
            LimitExceeded(at="limit", problem="too_many", limit=500, found=9000),
            (
                "request.limit_exceeded: Limit exceeded: limit: too many (found 9000, limit 500); nothing was written: "
                "reduce the request, or raise the limit"
            ),
        ),
        (
            RolledBack(at="checkpoint", limit=6, found=4),
            (
                "store.rolled_back: Store is older than its pinned checkpoint (6 events pinned, 4 found); restore a "
                "newer copy, or a backup with `spaces restore --replace`"
            ),
        ),
        (
            UnknownConversation(at="conversation"),
            "transcript.unknown_conversation: No such conversation; `transcripts conversations` lists those that exist",
        ),
    ],
)
def test_an_error_says_what_is_wrong_where_and_what_to_do(error: MunimentError, sentence: str) -> None:
    assert str(error) == error.report()["message"] == sentence


def test_numbers_are_named_by_what_they_count() -> None:
    assert "(5 events in the backup, 7 known here)" in str(RestoreConflict(problem="exists", limit=5, found=7))


def test_a_policy_is_named_as_it_is_set() -> None:
    assert "spaces.export: no_export;" in str(CapabilityHidden(at="spaces.export", problem="no_export"))


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.code)
def test_the_first_line_of_an_error_is_a_short_plain_sentence(error: type[MunimentError]) -> None:
    first = (error.__doc__ or "").partition("\n")[0]
    assert re.fullmatch(r"[A-Z].*\.", first)
    assert first.count("; ") <= 2


def test_every_phrase_is_for_a_problem_that_exists_and_is_plain() -> None:
    """A phrase that nothing raises is out of date."""
    texts = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.name != "errors.py"]
    raised = {word for text in texts for word in re.findall(r'"([a-z_]+)"', text)} | set(
        errors.FileUnavailable._PROBLEMS.values()
    )
    assert set(PHRASES) <= raised
    assert not [phrase for phrase in PHRASES.values() if "_" in phrase]
