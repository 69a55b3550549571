"""Numbers with check digits of any country, checked by python-stdnum (the extra `pii`).

    detect = Detect(
        views={View.EXPORT: {DetectedType.NATIONAL_ID}},
        detectors=(standard_number("bg.egn", words=["EGN", "ЕГН"]),),
    )

muniment knows the common national numbers itself (`muniment guide redaction`). This adds others, by the name of their
module in python-stdnum. One check digit fits a tenth of all numbers, so name the words that come before such a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from importlib import import_module

from muniment.errors import InvalidInput, ModelUnavailable
from muniment.governance.detection.scan import DetectedType, Detector

BETWEEN_CHARACTERS = 16  # between a word and its number
NUMBER_CHARACTERS_MIN = 5

_NUMBER = re.compile(r"(?<!\w)\w+(?:[ .\-/]\w+){0,5}(?!\w)")


def standard_number(
    module: str,
    *,
    words: Collection[str] = (),
    type: DetectedType = DetectedType.NATIONAL_ID,  # noqa: A002 - what a detector calls it
) -> Detector:
    """Return a detector of one kind of number, for `Detect.detectors`.

    `module` is its name below `stdnum`. With `words`, a number is believed only after one of them on the same line.
    Raises `model.unavailable` when python-stdnum is not installed, and `request.invalid` for a module that it does not
    have.
    """
    try:
        import_module("stdnum")
    except ImportError:
        raise ModelUnavailable(at="stdnum", problem="not_installed") from None
    try:
        is_valid: Callable[[str], bool] = import_module(f"stdnum.{module}").is_valid
    except (ImportError, AttributeError):
        raise InvalidInput(at="module", problem="unknown_word") from None
    said = "|".join(map(re.escape, words))
    before = re.compile(rf"(?i)(?<!\w)(?:{said})(?!\w)[^\n]{{0,{BETWEEN_CHARACTERS}}}$") if words else None
    return Detector(name=f"stdnum_{module}", type=type, find=_finder(is_valid, before))


def _finder(
    is_valid: Callable[[str], bool], before: re.Pattern[str] | None
) -> Callable[[str], Iterator[tuple[int, int] | None]]:
    def find(text: str) -> Iterator[tuple[int, int] | None]:
        for run in _NUMBER.finditer(text):
            yield from _in_run(text, run, is_valid, before)

    return find


def _in_run(
    text: str, run: re.Match[str], is_valid: Callable[[str], bool], before: re.Pattern[str] | None
) -> Iterator[tuple[int, int] | None]:
    """Yield the longest number that begins at each word of a run."""
    pieces = [(run.start() + piece.start(), run.start() + piece.end()) for piece in re.finditer(r"\w+", run.group())]
    for index, (start, _) in enumerate(pieces):
        near = text[max(0, start - 64) : start]
        if before is not None and not before.search(near):
            yield None
            continue
        ends = [end for _, end in reversed(pieces[index:]) if end - start >= NUMBER_CHARACTERS_MIN]
        yield next(((start, end) for end in ends if is_valid(text[start:end])), None)
