"""Entries of a journal: nothing that an item says ends its entry, and all of it is read back exactly."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.memory_items import ItemKind, MemoryPlane
from muniment.formats.journal_text import ItemNote, JournalEntry, entry_text, read_entry
from muniment.formats.memories.memory_notes import memory_notes
from muniment.formats.writing.journal_files import JournalItem, first_line, folder_name, journal_files

HOSTILE = st.sampled_from([
    "-->", "<!--", "<!-- muniment {", "} -->", "**", "**: ", "\\", "\\\n", "\n", "\n  ", "\n- ", "\n# ", "\n---\n",
    "\n===",
    "```", "~~~", "|", "> ", "[a](b)", "![a](b)", "https://a.b", "www.a.b", "a@b.c", "\u202e", "\t", "\r\n", "\x00",
    "\u2028", "\u200d", " ", "  ", "1. ", "\\u{a}", "&#10;", "<script>", "é", "日",
])  # fmt: skip
texts = st.lists(st.one_of(HOSTILE, st.text(st.characters(exclude_categories=["Cs"]), max_size=5)), max_size=8).map(
    "".join
)
words = texts.filter(str.strip)


def note(**more: Any) -> ItemNote:
    told: dict[str, Any] = {"id": "i-1", "plane": MemoryPlane.LONG_TERM, "kind": ItemKind.FACT}
    return ItemNote(**told | {"observed_ms": 1_700_000_000_000, "confidence": 0.9} | more)


@given(words, words, words, st.lists(texts, max_size=2))
def test_an_entry_is_read_back_exactly(topic: str, text: str, name: str, tags: list[str]) -> None:
    """Whatever topic, text, id and tags are."""
    entry = JournalEntry(topic=topic, text=text, note=note(id=name, tags=tags))
    assert read_entry(entry_text(entry)) == entry
    assert read_entry(entry_text(entry) + "\n  from `somewhere`\n") == entry


@given(words, words)
def test_a_file_of_entries_is_read_back_exactly(topic: str, text: str) -> None:
    """Each entry is one statement, whatever stands before and behind it."""
    entries = [
        JournalEntry(topic=topic, text=text, note=note(id=f"i-{number}", kind=kind))
        for number, kind in enumerate([ItemKind.FACT, ItemKind.FACT, ItemKind.TASK, ItemKind.PROFILE])
    ]
    files = list(journal_files("ada", [JournalItem(entry, ["a`b", "c"]) for entry in entries]))
    assert [file.name for file in files] == ["MEMORY.md", "USER.md", "memory/2023-11-14.md"]
    for file in files:
        found = memory_notes(file.name, file.text.encode())
        assert found.flaws == []
        assert all(one.own in entries for one in found.statements)
        assert len(found.statements) == {"MEMORY.md": 3, "USER.md": 1}.get(file.name, 4)


@given(words, words)
def test_nothing_in_an_entry_begins_anything(topic: str, text: str) -> None:
    """No line of it is a heading, a list, a rule, a fence, a quotation or a table, and only our comment is one."""
    first, *more = entry_text(JournalEntry(topic=topic, text=text, note=note())).split("\n")
    assert first.startswith("- **")
    for line in more:
        assert re.fullmatch(r"  (?!\s*([-+*#>|=:]|\d+[.)]|```|~~~)).*", line), line
    whole = "\n".join([first, *more])
    assert re.findall(r"(?<!\\)<", whole) == ["<"]
    assert whole.count("-->") == 1
    assert not re.search(r"(?<!\\):\/\/", whole.partition("<!--")[0])


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60).filter(str.strip), st.integers(0, 3))
def test_the_folder_of_a_subject_is_one_name(subject: str, longer: int) -> None:
    """No path, nothing hidden, within the limits of file systems, and another one for another subject."""
    name = folder_name(subject * (10**longer))
    assert re.fullmatch(r"[a-z0-9_%][a-z0-9._%~-]*", name)
    assert len(name) <= 255
    assert not name.endswith(".")
    assert name != folder_name(subject * (10**longer) + "x")
    assert name.casefold() == name


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("ada", "ada"), ("..", "%2e%2e"), ("../up", "%2e.%2fup"), ("Ada", "%41da"), ("con", "%63on"),
        ("nul.txt", "%6eul.txt"), ("a.", "a%2e"), ("-x", "%2dx"), ("%41", "%2541"),
    ],
)  # fmt: skip
def test_a_folder_name_keeps_what_is_plain(subject: str, name: str) -> None:
    assert folder_name(subject) == name


def test_the_first_line_cannot_be_ended_by_a_name() -> None:
    line = first_line("a --> b\n<!--", "MEMORY.md")
    assert (line.count("-->"), line.count("<!--"), line.count("\n")) == (1, 1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "- **a**: b",
        "- **a**: b <!-- muniment {} -->",
        '- **a**: b <!-- muniment {"id":1} -->',
        '* **a**: b <!-- muniment {"id":"i","plane":"diary","kind":"diary","observed_ms":1,"confidence":1} -->',
        '- a: b <!-- muniment {"id":"i","plane":"diary","kind":"diary","observed_ms":1,"confidence":1} -->',
        '- **a**: b <!-- muniment {"id":"i","plane":"diary","kind":"diary","observed_ms":1,"confidence":9} -->',
        '- **a**: b <!-- muniment {"id":"i","plane":"soul","kind":"diary","observed_ms":1,"confidence":1} -->',
    ],
)  # fmt: skip
def test_what_is_no_entry_is_none(text: str) -> None:
    assert read_entry(text) is None
