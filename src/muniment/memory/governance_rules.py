"""The second stage of judgement: what is refused of a candidate although somebody accepted it (WC-04).

It looks at the form of what is said alone: whether an item of its plane can be made of it, whether a skill has steps,
and whether a statement is a statement. `governed` goes through the table `GOVERNANCE_RULES` in order; the first rule
that applies refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from msgspec import DecodeError
from msgspec.json import decode

from muniment.events.memory_items import MemoryPlane
from muniment.memory.candidate import Candidate, Ruling, RulingReason
from muniment.memory.skills import is_skill_name

STEPS_MIN = 2  # of a skill
SKILL_CHARS_MIN = 20
DUMP_LINES_MIN = 4  # fewer lines are no dump, whatever they look like
STATEMENTS = frozenset({MemoryPlane.LONG_TERM, MemoryPlane.SHARED_FACT})

_STEP_END = re.compile("[.;!?](?:\\s|$)|[\u3002\uff1b\uff01\uff1f]")  # also as Chinese and Japanese write them
_FORMATTED = re.compile(r"\s*(?:[|{}\[\]<>#]|[-*+]\s|\d+[.)]\s|```|~~~|\"[^\"]*\"\s*:)")
_FENCE = re.compile(r"^[^\S\n]*(?:```|~~~)", re.MULTILINE)


class GovernanceRule(NamedTuple):
    """When a candidate is refused, and for what reason."""

    applies: Callable[[Candidate], bool]
    reason: RulingReason


def steps_of(procedure: str) -> int:
    """Return how many steps a text has: its lines, or where it is one line its sentences."""
    lines = [line for line in procedure.splitlines() if line.strip()]
    if len(lines) > 1:
        return len(lines)
    return sum(1 for sentence in _STEP_END.split(procedure) if sentence.strip())


def is_weak_procedure(text: str) -> bool:
    """Tell whether a text has too few steps, or is too short, for a skill."""
    return steps_of(text) < STEPS_MIN or len(text.strip()) < SKILL_CHARS_MIN


def _is_weak(candidate: Candidate) -> bool:
    return candidate.plane is MemoryPlane.RUNTIME_SKILL and is_weak_procedure(candidate.text)


def is_formatted(text: str) -> bool:
    """Tell whether a text is a dump: a JSON document, a fenced block, or lines of which most are markup."""
    if text.lstrip()[:1] in {"{", "["} and _is_json(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < DUMP_LINES_MIN:
        return False
    return _FENCE.search(text) is not None or 2 * sum(1 for line in lines if _FORMATTED.match(line)) > len(lines)


def _is_json(text: str) -> bool:
    try:
        decode(text)
    except (DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _is_unnamed(candidate: Candidate) -> bool:
    return candidate.plane is MemoryPlane.RUNTIME_SKILL and not is_skill_name(candidate.name or "")


def _is_needlessly_named(candidate: Candidate) -> bool:
    return candidate.plane is not MemoryPlane.RUNTIME_SKILL and candidate.name is not None


# In this order; nothing applies: it stays accepted.
GOVERNANCE_RULES: tuple[GovernanceRule, ...] = (
    GovernanceRule(lambda one: one.plane is MemoryPlane.TOOL_EXPERIENCE, RulingReason.NEEDS_FEEDBACK),
    GovernanceRule(_is_needlessly_named, RulingReason.NAME_NOT_TAKEN),
    GovernanceRule(_is_unnamed, RulingReason.UNNAMED_SKILL),
    GovernanceRule(_is_weak, RulingReason.WEAK_SKILL),
    GovernanceRule(lambda one: one.plane in STATEMENTS and is_formatted(one.text), RulingReason.FORMATTED_DUMP),
)


def governed(candidate: Candidate, *, is_feedback: bool = False) -> tuple[Ruling, RulingReason] | None:
    """Return why an accepted candidate is refused, or None; experience comes from feedback about tools alone."""
    for rule in GOVERNANCE_RULES:
        if rule.applies(candidate) and not (is_feedback and rule.reason is RulingReason.NEEDS_FEEDBACK):
            return Ruling.REFUSE, rule.reason
    return None
