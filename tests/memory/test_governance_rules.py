"""What is refused for its form, although somebody accepted it: a table, in its order (WC-04)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.memory_items import MemoryPlane
from muniment.memory.candidate import Ruling, RulingReason
from muniment.memory.governance_rules import GOVERNANCE_RULES, governed, is_formatted, steps_of
from muniment.memory.skills import SKILL_NAME_CHARS_MAX, is_skill_name
from tests.costs import assert_linear
from tests.memory.items import candidate, skill, statements

EXPERIENCE: dict[str, Any] = {"plane": MemoryPlane.TOOL_EXPERIENCE, "kind": "experience"}
REFUSED: list[tuple[dict[str, Any], RulingReason]] = [
    (EXPERIENCE | {"name": "x"}, RulingReason.NEEDS_FEEDBACK),
    ({"name": "runtime_skill__x", "text": '{"a": 1}'}, RulingReason.NAME_NOT_TAKEN),
    (skill("Deploy", text="x"), RulingReason.UNNAMED_SKILL),
    (skill() | {"name": None}, RulingReason.UNNAMED_SKILL),
    (skill(text="Do it in the way that we always did"), RulingReason.WEAK_SKILL),
    (skill(text="Go.\nStop."), RulingReason.WEAK_SKILL),
    ({"text": '{"city": "Oslo"}'}, RulingReason.FORMATTED_DUMP),
    ({"text": "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"}, RulingReason.FORMATTED_DUMP),
    ({"text": "Look:\n```\nx = 1\n```"}, RulingReason.FORMATTED_DUMP),
    ({"text": "# Head\n- one\n- two\n<b>three</b>\nfour"}, RulingReason.FORMATTED_DUMP),
]


@pytest.mark.parametrize(("changed", "reason"), REFUSED)
def test_the_first_rule_that_applies_refuses(changed: dict[str, Any], reason: RulingReason) -> None:
    assert governed(candidate(**changed)) == (Ruling.REFUSE, reason)


def test_every_rule_has_an_example() -> None:
    assert {reason for _, reason in REFUSED} == {rule.reason for rule in GOVERNANCE_RULES}


PASSED: list[dict[str, Any]] = [
    {},
    {"text": "Prefers - as she says - tea"},
    {"text": "Lives in Oslo\n- since May"},
    {"text": "[sic] Lives in Oslo"},
    skill(),
    skill(text="Open the desk; look up the order. Answer."),
    skill(text="打开桌面并且查找订单号码。然后回答客户的问题。"),
    {"plane": MemoryPlane.SUMMARY, "kind": "summary", "text": "# A\n- b\n- c\n- d"},
]


@pytest.mark.parametrize("changed", PASSED)
def test_what_is_a_statement_or_a_procedure_stays_accepted(changed: dict[str, Any]) -> None:
    assert governed(candidate(**changed)) is None


def test_feedback_may_bring_experience() -> None:
    assert governed(candidate(**EXPERIENCE), is_feedback=True) is None


@given(statements)
def test_a_plain_line_is_never_a_dump(text: str) -> None:
    """Letters, digits and blanks on one line are a statement, in every script."""
    assert not is_formatted(text)


@given(st.lists(statements, min_size=2, max_size=9))
def test_every_line_is_a_step(lines: list[str]) -> None:
    """Blank lines are none, whatever is in the others."""
    assert steps_of("\n\n".join(lines)) == len(lines)


@pytest.mark.parametrize(
    "name",
    ["", "Deploy", "a b", "a\n", "-a", "a__b", "é", "a" * SKILL_NAME_CHARS_MAX],
)
def test_a_name_of_a_skill_is_plain(name: str) -> None:
    assert not is_skill_name(name)
    assert not is_skill_name(f"runtime_skill__{name}")
    assert is_skill_name("runtime_skill__deploy-site_2")


@pytest.mark.parametrize("blank", ["\n", " \n", "\t", "\r\n"])
def test_the_largest_statement_is_judged_at_once(blank: str) -> None:
    """However many blank lines it has: looked at again and again, these take minutes."""

    def judge(text: str) -> None:
        assert not is_formatted(text)
        assert is_formatted(text + "\n  ```")

    assert_linear(judge, lambda blanks: "a\nb\nc\nd" + blank * blanks + "x", 30_000)
