"""A `SKILL.md`: what it says of itself, and what is wrong with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.memory.skill_file import (
    DESCRIPTION_CHARS_MAX,
    NAME_CHARS_MAX,
    SKILL_FILE_BYTES_MAX,
    VALUE_CHARS_MAX,
    FlawedSkill,
    SkillFlaw,
    SkillSummary,
    skill_summary,
)

USUAL = b"""\
---
name: pdf-processing
description: >-
  Extract text and tables from PDF files, fill forms, merge documents.
  Use when working with PDF files.
license: Apache-2.0
allowed-tools: Bash(git:*) Read
metadata:
  author: example-org
  version: "1.0"
---
# PDF processing

name: not read
"""


def of_lines(*lines: str) -> tuple[SkillSummary | None, list[FlawedSkill]]:
    """Return what a file with this front matter says."""
    return skill_summary("\n".join(["---", *lines, "---"]).encode())


def test_a_usual_file_is_read_like_this() -> None:
    """What is a map is reported by its line; everything else is there."""
    summary, flaws = skill_summary(USUAL)
    assert summary == SkillSummary(
        name="pdf-processing",
        description="Extract text and tables from PDF files, fill forms, merge documents. "
        "Use when working with PDF files.",
        others={"license": "Apache-2.0", "allowed-tools": "Bash(git:*) Read"},
    )
    assert flaws == [("not_plain_text", 8, None)]


# front matter -> what is wrong, by flaw, line and limit; none of them can be used
UNUSABLE = {
    (): [("no_name", None, None), ("no_description", None, None)],
    ("name: a",): [("no_description", None, None)],
    ("description: b",): [("no_name", None, None)],
    ("name: ' '", "description:"): [("no_name", 2, None), ("no_description", 3, None)],
    ("name: [a]", "description: b"): [("not_plain_text", 2, None), ("no_name", 2, None)],
    ("name: a", "name: b", "description: c"): [("duplicate_key", 3, None), ("no_name", 2, None)],
    ("name: " + "a" * (NAME_CHARS_MAX + 1), "description: b"): [("name_too_long", 2, NAME_CHARS_MAX)],
    ("name: a", "description: " + "b" * (DESCRIPTION_CHARS_MAX + 1)): [
        ("description_too_long", 3, DESCRIPTION_CHARS_MAX)
    ],
}


@pytest.mark.parametrize("lines", UNUSABLE, ids=lambda lines: "-".join(lines)[:40] or "nothing")
def test_a_skill_without_name_or_description_cannot_be_used(lines: tuple[str, ...]) -> None:
    assert of_lines(*lines) == (None, UNUSABLE[lines])


def test_names_and_descriptions_as_long_as_allowed_are_kept_whole() -> None:
    name, description = "a" * NAME_CHARS_MAX, "b" * DESCRIPTION_CHARS_MAX
    assert of_lines(f"name: {name}", f"description: {description}") == (
        SkillSummary(name=name, description=description),
        [],
    )


@pytest.mark.parametrize("name", ["PDF", "a b", "-a", "a--b", "a_b", "é", "../a"])
def test_an_unusual_name_is_reported_and_used(name: str) -> None:
    summary, flaws = of_lines(f"name: {name}", "description: b")
    assert summary is not None
    assert summary.name == name
    assert flaws == [(SkillFlaw.UNUSUAL_NAME, 2, None)]


def test_other_texts_that_are_too_long_are_left_out_and_reported() -> None:
    summary, flaws = of_lines(
        "name: a", "description: b", f"c: {'d' * VALUE_CHARS_MAX}", f"e: {'f' * (VALUE_CHARS_MAX + 1)}"
    )
    assert summary is not None
    assert summary.others == {"c": "d" * VALUE_CHARS_MAX}
    assert flaws == [("value_too_long", 5, VALUE_CHARS_MAX)]


def test_a_file_that_is_too_large_is_not_looked_at() -> None:
    fits = USUAL.ljust(SKILL_FILE_BYTES_MAX)
    assert skill_summary(fits)[0] == skill_summary(USUAL)[0]
    assert skill_summary(fits + b" ") == (None, [("too_large", None, SKILL_FILE_BYTES_MAX)])


@pytest.mark.parametrize("content", [b"\xff", USUAL + b"\x80", USUAL.decode().encode("utf-16"), b"\xed\xa0\x80"])
def test_a_file_in_another_encoding_is_told_so(content: bytes) -> None:
    assert skill_summary(content) == (None, [("not_utf8", None, None)])


def test_a_file_without_front_matter_is_told_so() -> None:
    assert [flaw.flaw for flaw in skill_summary(b"# Title\n")[1]] == ["no_front_matter", "no_name", "no_description"]


@given(
    st.binary() | st.text().map(lambda text: f"---\nname: {text}\ndescription: {text}\n---".encode(errors="replace"))
)
def test_a_summary_is_within_its_limits_or_there_is_none(content: bytes) -> None:
    """Whatever the bytes are; and where there is none, something is said to be wrong."""
    summary, flaws = skill_summary(content)
    if summary is None:
        assert flaws
    else:
        assert 0 < len(summary.name) <= NAME_CHARS_MAX
        assert 0 < len(summary.description) <= DESCRIPTION_CHARS_MAX
