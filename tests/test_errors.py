"""Errors say what is wrong, where, and what to do next, and nothing that came from outside."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import pytest

from muniment import errors
from muniment.errors import (
    CapabilityHidden,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    RestoreConflict,
    RolledBack,
    StatementInvalid,
    StoreMissing,
    UnknownConversation,
)
from muniment.phrases import PHRASES

SOURCE = Path(errors.__file__).parent
CLASSES = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MunimentError)]


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_travels_to_another_process_with_all_that_it_knows(kind: type[MunimentError]) -> None:
    if kind is StatementInvalid:
        error: MunimentError = StatementInvalid(at="sql", problem="syntax", explanation="near here")
    else:
        error = kind(at="turn.messages[3]", problem="too_long", limit=5, found=7, choices=("this", "that"))
    error.path = "/a/file"
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own
        assert type(again) is kind
        assert (str(again), vars(again), again.report()) == (str(error), vars(error), error.report())


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
                "store.rolled_back: Store lost events that its pinned checkpoint knows (6 events pinned, 4 found); "
                "restore a newer copy, or delete the pin to accept the loss"
            ),
        ),
        (
            UnknownConversation(at="conversation"),
            "transcript.unknown_conversation: No such conversation; `conversations list` lists those that exist",
        ),
    ],
)
def test_an_error_says_what_is_wrong_where_and_what_to_do(error: MunimentError, sentence: str) -> None:
    assert str(error) == error.report()["message"] == sentence


def test_choices_are_told_and_what_was_probably_meant_is_asked() -> None:
    error = InvalidInput(at="view", problem="unknown_word", choices=["export", "host_ui"])
    assert str(error).endswith("view: unknown (one of: export, host_ui)")
    assert error.report()["choices"] == ["export", "host_ui"]
    asked = InvalidInput(at="turn.sbject", problem="unknown_field", choices=["subject"])
    assert str(asked).endswith("turn.sbject: unknown field (did you mean subject?)")
    assert "choices" not in InvalidInput(at="view").report()


def test_a_path_is_for_whoever_runs_the_program_and_in_no_text() -> None:
    error = StoreMissing(at="store.json")
    error.path = "/home/ada/store"
    assert "ada" not in f"{error}{error!r}{error.report()}"


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
    tables = {"errors.py", "phrases.py"}
    texts = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.name not in tables]
    raised = {word for text in texts for word in re.findall(r'"([a-z0-9_]+)"', text)} | set(
        errors.FileUnavailable._PROBLEMS.values()
    )
    assert set(PHRASES) <= raised
    assert not [phrase for phrase in PHRASES.values() if "_" in phrase]
