"""Values of fixtures: references to earlier reports, and the comparison of a report with what is expected.

A difference says where it is and of what kind, with numbers, digests and words of muniment; it never quotes other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from muniment.errors import InvalidInput

FROM, FILE = "$from", "$file"
ABSENT = {"$absent": True}
_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")
# members whose texts are words of muniment, never of a host
WORD_MEMBERS = frozenset({"phase", "role", "view", "mode", "kind", "code", "problem", "status", "delivery", "verdict"})
_WORD = re.compile(r"[a-z][a-z0-9_.]{0,63}")
_TOLD = re.compile(r"[0-9a-f]{64}")


def resolved(value: Any, kept: Mapping[str, Any], file: Callable[[str], Path]) -> Any:
    """Return a value with its references replaced by what they refer to."""
    if isinstance(value, dict):
        if value.keys() in ({FROM}, {FILE}):
            ((name, told_of),) = value.items()
            if not isinstance(told_of, str):
                raise InvalidInput(at=name, problem="wrong_type")
            return _looked_up(told_of, kept) if name == FROM else str(file(told_of))
        return {name: resolved(child, kept, file) for name, child in value.items()}
    return [resolved(child, kept, file) for child in value] if isinstance(value, list) else value


def _looked_up(path: str, kept: Mapping[str, Any]) -> Any:
    found: Any = kept
    for step in _STEP.findall(path):
        try:
            found = found[int(step[1:-1])] if step.startswith("[") else found[step]
        except (KeyError, IndexError, TypeError):
            raise InvalidInput(at=FROM, problem="unknown_word") from None
    return found


def difference(wanted: Any, found: Any, at: str) -> str | None:
    """Return where what was found is not what is wanted, and how; None when it is.

    Members that are wanted must be there, and those that are wanted `{"$absent": true}` must not; others may be. Lists
    are as long as wanted.
    """
    if isinstance(wanted, dict) and isinstance(found, dict):
        members = (_member(name, child, found, f"{at}.{name}") for name, child in wanted.items())
        return next((each for each in members if each is not None), None)
    if isinstance(wanted, list) and isinstance(found, list):
        if len(wanted) != len(found):
            return f"{at}: {len(found)} items, not {len(wanted)}"
        pairs = enumerate(zip(wanted, found, strict=True))
        return next(
            (inside for place, (one, other) in pairs if (inside := difference(one, other, f"{at}[{place}]"))), None
        )
    same = wanted == found and isinstance(wanted, bool) is isinstance(found, bool)
    name = at.rpartition(".")[2].partition("[")[0]
    return None if same else f"{at}: {_told_of(name, found)}, not {_told_of(name, wanted)}"


def _told_of(name: str, value: Any) -> str:
    """Return a member as a report may tell it: also a word of muniment, where the member holds nothing else."""
    is_word = name in WORD_MEMBERS and isinstance(value, str) and _WORD.fullmatch(value)
    return str(value) if is_word else told(value)


def _member(name: str, wanted: Any, found: Mapping[str, Any], at: str) -> str | None:
    if wanted == ABSENT:
        return f"{at}: there, not absent" if name in found else None
    return difference(wanted, found[name], at) if name in found else f"{at}: absent"


def told(value: Any) -> str:
    """Return a value as a report may tell it: numbers and digests as they are, anything else by its kind."""
    if value is None or isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, str):
        return value if _TOLD.fullmatch(value) else "another text" if value else "an empty text"
    return {dict: "an object", list: "a list", float: "a fraction"}.get(type(value), "a value")
