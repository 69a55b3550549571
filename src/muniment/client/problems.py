"""Problem documents as the errors that they are: the same class with the same facts as beside the store."""

from __future__ import annotations

import functools

from msgspec import Struct

from muniment import errors
from muniment.errors import AnswerInvalid, InvalidInput, MunimentError
from muniment.events.binding import parse_json


class ProblemFacts(Struct, frozen=True, kw_only=True):
    """What is read of a problem document: the code, and what `MunimentError.report` says beside it."""

    code: str
    at: str | None = None
    problem: str | None = None
    limit: int | None = None
    found: int | None = None
    choices: list[str] = []


@functools.cache
def error_classes() -> dict[str, type[MunimentError]]:
    """Return the errors by their codes."""
    classes = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MunimentError)]
    return {each.code: each for each in classes}


def error_of(document: bytes) -> MunimentError:
    """Return the error that a problem document tells; `AnswerInvalid` for what is none, and for an unknown code."""
    try:
        facts = parse_json(document, ProblemFacts)
    except InvalidInput:
        return AnswerInvalid(problem="no_problem_document")
    kind = error_classes().get(facts.code)
    if kind is None:
        return AnswerInvalid(problem="unknown_error")
    error = kind.__new__(kind)
    MunimentError.__init__(
        error, at=facts.at, problem=facts.problem, limit=facts.limit, found=facts.found, choices=facts.choices
    )
    return error
