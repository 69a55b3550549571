"""Memory that others keep in Markdown, read as statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.memory_items import ItemKind, MemoryPlane
from muniment.formats.memories.memory_notes import FILE_BYTES_MAX, STATEMENTS_MAX, NoteFlaw, memory_notes
from tests.costs import assert_linear

DAY_MS = 1_767_312_000_000  # 2026-01-02
MEMORY = """\
---
title: notes
---
# MEMORY.md - long-term

Ada runs a bakery in Oslo.
It opens at six.

## Preferences
- **Tea:** green, no sugar
- **Music**: baroque
- Language: Norwegian
- Likes long walks: they help her think about bread
* starred
1. numbered

## Projects
### Bread book
- chapter 3 is late
    - the photos are missing
- [ ] call the printer
- [x] pay the cook

## 2026-01-02 Decisions
- No more rye

```
- code
```
| a | b |
> quoted
<div>
![x](y)
<!-- hidden
- inside
-->
---
"""


def told(name: str, text: str) -> list[tuple[str, str, str]]:
    return [(one.kind.value, one.topic, one.text) for one in memory_notes(name, text.encode()).statements]


def test_statements_have_the_kind_and_the_context_of_what_stands_above_them() -> None:
    assert told("MEMORY.md", MEMORY) == [
        ("fact", "Ada runs a bakery in Oslo. It opens at six.", "Ada runs a bakery in Oslo.\nIt opens at six."),
        ("preference", "Tea", "green, no sugar"),
        ("preference", "Music", "baroque"),
        ("preference", "Language", "Norwegian"),
        ("preference", "Likes long walks", "they help her think about bread"),
        ("preference", "starred", "starred"),
        ("preference", "numbered", "numbered"),
        ("project", "Bread book / chapter 3 is late", "chapter 3 is late"),
        ("project", "Bread book / chapter 3 is late / the photos are missing", "the photos are missing"),
        ("task", "Bread book / call the printer", "call the printer"),
        ("decision", "No more rye", "No more rye"),
    ]


def test_what_is_no_statement_is_a_finding_with_its_line() -> None:
    flaws = [(one.line, one.reason.value) for one in memory_notes("MEMORY.md", MEMORY.encode()).flaws]
    lines = MEMORY.split("\n")
    assert [(lines[line - 1], reason) for line, reason in flaws] == [
        ("---", "front_matter"),
        ("- [x] pay the cook", "done_task"),
        ("```", "code"),
        ("| a | b |", "table"),
        ("> quoted", "quotation"),
        ("<div>", "html"),
        ("![x](y)", "picture"),
        ("<!-- hidden", "html"),
    ]


def test_dates_come_from_names_and_headings() -> None:
    notes = memory_notes("memory/2026-01-02.md", b"first\n\n## 10:30 lunch\n- second\n\n## 2026-01-03 09:00\n- third\n")
    assert [(one.topic, one.observed_ms) for one in notes.statements] == [
        ("2026-01-02 / first", DAY_MS),
        ("2026-01-02 / second", DAY_MS + 630 * 60_000),
        ("2026-01-03 / third", DAY_MS + (24 + 9) * 3_600_000),
    ]
    assert {(one.plane, one.kind) for one in notes.statements} == {(MemoryPlane.DIARY, ItemKind.DIARY)}
    for text in (b"## 2026-02-31\n- x", b"## 0000-01-01\n- x", b"## 2026-01-02 99:99\n- x"):
        (one,) = memory_notes("MEMORY.md", text).statements
        assert one.observed_ms is None
    assert [one.observed_ms for one in memory_notes("USER.md", b"- x").statements] == [None]


def test_the_name_of_a_file_says_what_it_is_for() -> None:
    for name, kind in (("USER.md", "profile"), ("user.md", "profile"), ("MEMORY.md", "fact"), ("other.md", "fact")):
        assert told(name, "- x") == [(kind, "x", "x")]


def test_two_texts_of_one_topic_are_two_statements_and_the_same_twice_is_one() -> None:
    assert told("MEMORY.md", "- Tea: green\n- Tea: black\n- Tea: green") == [
        ("fact", "Tea", "green"),
        ("fact", "Tea (2)", "black"),
        ("fact", "Tea", "green"),
    ]


def test_an_entry_of_ours_that_was_damaged_is_a_finding() -> None:
    notes = memory_notes("MEMORY.md", b'- **a**: b <!-- muniment {"id":1} -->\n- c')
    assert ([one.text for one in notes.statements], [one.reason for one in notes.flaws]) == (
        ["c"],
        [NoteFlaw.DAMAGED_ENTRY],
    )


@pytest.mark.parametrize(
    ("content", "reason"), [(b"\xff\xfe", NoteFlaw.NOT_UTF8), (b"x" * (FILE_BYTES_MAX + 1), NoteFlaw.TOO_LARGE)]
)
def test_a_file_that_cannot_be_read_has_no_statements(content: bytes, reason: NoteFlaw) -> None:
    notes = memory_notes("MEMORY.md", content)
    assert (notes.statements, [(one.line, one.reason) for one in notes.flaws]) == ([], [(0, reason)])


def test_a_file_has_a_limit_of_statements() -> None:
    notes = memory_notes("MEMORY.md", b"- x\n" * (STATEMENTS_MAX + 2))
    assert (len(notes.statements), len(notes.flaws)) == (STATEMENTS_MAX, 2)


@given(st.text(max_size=300), st.sampled_from(["MEMORY.md", "USER.md", "memory/2026-01-02.md"]))
def test_no_text_is_too_much_for_the_reader(text: str, name: str) -> None:
    """Every statement has a text and a topic of its own, and a line of the file."""
    content = text.encode(errors="surrogatepass")
    notes = memory_notes(name, content)
    for one in notes.statements:
        assert one.text.strip()
        assert one.topic.strip()
        assert 1 <= one.line <= text.count("\n") + 1
    slots = {(one.kind, one.topic): one.text for one in notes.statements if one.own is None}
    assert all(slots[one.kind, one.topic] == one.text for one in notes.statements if one.own is None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "# " + "#" * 99 + "x\n", "- x\n", "**", "<!-- muniment {", " (<!-- muniment {", "- **a**: \\\n", "-", "- [",
        "a: ", "`", "    - x\n", "- **a\\", " \t",
    ],
)  # fmt: skip
@pytest.mark.parametrize("start", ["", "- **a**: ", "# "])
def test_no_file_takes_long(start: str, piece: str) -> None:
    """However a file repeats itself, the time to read it grows with its size alone."""
    file = (start + piece * (FILE_BYTES_MAX // len(piece))).encode()
    assert_linear(lambda part: memory_notes("MEMORY.md", part), lambda size: file[:size], FILE_BYTES_MAX)
