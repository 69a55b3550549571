"""A `SKILL.md`: what an agent skill says of itself (AS-01), from its bytes.

A skill can be used when it has a name and a description within their limits; nothing is cut to fit. Whatever else is
wrong is reported and does no harm: keys that are not plain text are left out, all others are kept as they are. The text
below the front matter is instructions for an agent; nobody here reads it.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.memory.front_matter import FlawedLine, FrontMatter, LineFlaw, front_matter

SKILL_FILE = "SKILL.md"
SKILL_FILE_BYTES_MAX = 1 << 20
NAME_CHARS_MAX = 64
DESCRIPTION_CHARS_MAX = 1024
VALUE_CHARS_MAX = 4096  # of any other key

_CONVENTION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class SkillFlaw(StrEnum):
    """What is wrong with a skill, apart from the lines of its front matter."""

    TOO_LARGE = "too_large"
    NOT_UTF8 = "not_utf8"
    NO_NAME = "no_name"
    NO_DESCRIPTION = "no_description"
    NAME_TOO_LONG = "name_too_long"
    DESCRIPTION_TOO_LONG = "description_too_long"
    VALUE_TOO_LONG = "value_too_long"
    UNUSUAL_NAME = "unusual_name"


# key that a skill has to have -> what is wrong when it is missing, when it is too long, and its limit
REQUIRED: dict[str, tuple[SkillFlaw, SkillFlaw, int]] = {
    "name": (SkillFlaw.NO_NAME, SkillFlaw.NAME_TOO_LONG, NAME_CHARS_MAX),
    "description": (SkillFlaw.NO_DESCRIPTION, SkillFlaw.DESCRIPTION_TOO_LONG, DESCRIPTION_CHARS_MAX),
}


class FlawedSkill(NamedTuple):
    """Something that is wrong, the line that it is on where there is one, and the limit that was hit."""

    flaw: SkillFlaw | LineFlaw
    line: int | None = None
    limit: int | None = None


class SkillSummary(Struct, frozen=True, kw_only=True):
    """What a skill says of itself; `others` are its other keys with their texts."""

    name: str
    description: str
    others: dict[str, str] = {}


def skill_summary(content: bytes) -> tuple[SkillSummary | None, list[FlawedSkill]]:
    """Return the summary of a `SKILL.md`, or None when it cannot be used, and what is wrong with it; never raises."""
    if len(content) > SKILL_FILE_BYTES_MAX:
        return None, [FlawedSkill(SkillFlaw.TOO_LARGE, None, SKILL_FILE_BYTES_MAX)]
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None, [FlawedSkill(SkillFlaw.NOT_UTF8)]
    found = front_matter(text)
    flaws = [_of_line(flawed) for flawed in found.flaws]
    name, description = (_required(found, key, flaws) for key in REQUIRED)
    others = {key: text for key, text in found.values.items() if key not in REQUIRED}
    for key in [key for key, text in others.items() if len(text) > VALUE_CHARS_MAX]:
        del others[key]
        flaws.append(FlawedSkill(SkillFlaw.VALUE_TOO_LONG, found.lines[key], VALUE_CHARS_MAX))
    if name is not None and not _CONVENTION.fullmatch(name):
        flaws.append(FlawedSkill(SkillFlaw.UNUSUAL_NAME, found.lines["name"]))
    if name is None or description is None:
        return None, flaws
    return SkillSummary(name=name, description=description, others=others), flaws


def _required(found: FrontMatter, key: str, flaws: list[FlawedSkill]) -> str | None:
    """Return a text that a skill has to have; where it is missing or too long, say so and return None."""
    missing, too_long, chars_max = REQUIRED[key]
    text = found.values.get(key, "").strip()
    if not text:
        flaws.append(FlawedSkill(missing, found.lines.get(key)))
        return None
    if len(text) > chars_max:
        flaws.append(FlawedSkill(too_long, found.lines[key], chars_max))
        return None
    return text


def _of_line(flawed: FlawedLine) -> FlawedSkill:
    return FlawedSkill(flawed.flaw, flawed.line, flawed.limit)
