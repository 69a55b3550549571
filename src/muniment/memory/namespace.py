"""Namespaces: a tuple of parts, as scope type, user and agent, and the one subject that it stands for (NS-01, NS-02).

Parts are joined by `/`, and `%` and `/` within a part are escaped. So two namespaces never are the same subject, and
what belongs to one is never seen by the other: subjects are kept apart everywhere. A namespace beneath another one is
found by comparing whole parts, and only when somebody asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Self

from msgspec import Struct

from muniment.errors import InvalidInput
from muniment.events.identity import SubjectId, check_name

SEPARATOR = "/"
PARTS_MAX = 16
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Namespace(Struct, frozen=True, kw_only=True):
    """A namespace: `Namespace(parts=("user", "ada", "desk")).subject` is the subject whose items are in it."""

    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a namespace without parts, or with a part that is no name."""
        if not 1 <= len(self.parts) <= PARTS_MAX:
            raise InvalidInput(at="parts", problem="out_of_range", limit=PARTS_MAX, found=len(self.parts))
        for number, part in enumerate(self.parts):
            check_name(part, at=f"parts[{number}]")
        check_name(self.subject, at="parts")

    @property
    def subject(self) -> SubjectId:
        """The subject that the namespace stands for."""
        return SubjectId(SEPARATOR.join(part.replace("%", "%25").replace("/", "%2F") for part in self.parts))

    @classmethod
    def filled(cls, template: Sequence[str], values: Mapping[str, str]) -> Self:
        """Return a template with its variables (`{user}`) filled; without variables it is returned as it is.

        A value that is missing or blank raises `request.invalid`, which names the key and those that there are.
        """
        return cls(parts=tuple(_filled(part, values) for part in template))

    @classmethod
    def of_subject(cls, subject: str) -> Self | None:
        """Return the namespace that a subject stands for, or None where it stands for none."""
        parts = tuple(part.replace("%2F", "/").replace("%25", "%") for part in subject.split(SEPARATOR))
        try:
            found = cls(parts=parts)
        except InvalidInput:
            return None
        return found if found.subject == subject else None

    def is_under(self, prefix: Namespace) -> bool:
        """Tell whether this is a namespace or beneath it: whether its first parts are all those of the other."""
        return self.parts[: len(prefix.parts)] == prefix.parts


def _filled(part: str, values: Mapping[str, str]) -> str:
    def value(variable: re.Match[str]) -> str:
        key = variable[1]
        if _WORD.fullmatch(key) is None:
            raise InvalidInput(at="template", problem="not_understood")
        if not values.get(key, "").strip():
            there = sorted(name for name, text in values.items() if text.strip() and _WORD.fullmatch(name))
            raise InvalidInput(at=f"template.{key}", problem="missing_value", choices=there)
        return values[key]

    filled = _VARIABLE.sub(value, part)
    if "{" in _VARIABLE.sub("", part) or "}" in _VARIABLE.sub("", part):
        raise InvalidInput(at="template", problem="not_understood")
    return filled
