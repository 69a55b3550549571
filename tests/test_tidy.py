"""The project keeps its own rules (they are in tests/tidy.py)."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests import tidy, vocabulary
from tests.exemptions import EXEMPT
from tests.tidy import CODE_RULES, ROOT, TEXT_RULES, CodeRule, Complaint, Source, TextRule

pytestmark = pytest.mark.no_cover  # nothing of the product runs


@cache
def sources() -> list[Source]:
    """Return every text file of the repository, read once."""
    found = []
    for path in tidy.repository_files():
        data = path.read_bytes()
        if b"\0" not in data:
            found.append(Source(path.relative_to(ROOT).as_posix(), data.decode(errors="replace")))
    return found


def _place(source: Source, complaint: Complaint) -> str:
    return f"{source.path}::{complaint.place}"


def told(instead: str, found: list[tuple[Source, Complaint]]) -> str:
    """Return a message that says where, what and what to do instead."""
    lines = [f"  {source.path}:{one.line} {one.place} {one.what}" for source, one in found]
    return "\n".join([f"{instead}:", *lines])


@pytest.mark.parametrize("rule", CODE_RULES, ids=lambda rule: rule.name)
def test_the_code_keeps_the_rule(rule: CodeRule) -> None:
    """And each exemption from it is still needed."""
    looked_at = [s for s in sources() if s.path.endswith(".py") and s.path.startswith(rule.folders)]
    found = [(source, complaint) for source in looked_at for complaint in tidy.complaints_of(rule, source)]
    exempt = {place for name, place in EXEMPT if name == rule.name}
    assert exempt <= {_place(*one) for one in found}
    found = [one for one in found if _place(*one) not in exempt]
    assert not found, told(rule.instead, found)


def test_every_exemption_is_from_a_rule() -> None:
    assert {name for name, _ in EXEMPT} <= {rule.name for rule in CODE_RULES}


@pytest.mark.parametrize("rule", CODE_RULES, ids=lambda rule: rule.name)
def test_the_rule_about_code_can_fail(rule: CodeRule) -> None:
    assert tidy.complaints_of(rule, Source(rule.offender, rule.offence))


@pytest.mark.parametrize("rule", TEXT_RULES, ids=lambda rule: rule.name)
def test_the_repository_keeps_the_rule(rule: TextRule) -> None:
    found = [(source, one) for source in sources() for one in tidy.matches_of(rule, source)]
    assert not found, told(rule.instead, found)


@pytest.mark.parametrize("rule", TEXT_RULES, ids=lambda rule: rule.name)
def test_the_rule_about_text_can_fail(rule: TextRule) -> None:
    assert tidy.matches_of(rule, Source("README.md", rule.offence))


def worded() -> list[Source]:
    """Return the files whose names and phrases are ours to choose."""
    return [s for s in sources() if s.path.endswith(vocabulary.SUFFIXES) and s.path not in vocabulary.EXEMPT]


def test_no_text_uses_a_retired_phrase() -> None:
    found = [
        f"  {source.path}:{use.line} {use.text!r}: write {use.instead}"
        for source in worded()
        for use in vocabulary.retired_phrases(source.text)
    ]
    assert not found, "\n".join([f"{len(found)} retired phrases:", *found])


def test_nothing_is_called_by_a_retired_name() -> None:
    found = [
        f"  {source.path}:{use.line} {use.text}: call it {use.instead}"
        for source in worded()
        if source.path.endswith(".py")
        for use in vocabulary.retired_names(ast.parse(source.text))
    ]
    assert not found, "\n".join([f"{len(found)} retired names:", *found])


@pytest.mark.parametrize("name", vocabulary.NAMES)
def test_a_retired_name_is_found_where_it_is_defined(name: str) -> None:
    for code in (
        f"class {name}: ...",
        f"class _{name}: ...",
        f"def {name}(): ...",
        f"def f({name}): ...",
        f"{name} = 1",
    ):
        assert [use.instead for use in vocabulary.retired_names(ast.parse(code))] == [vocabulary.NAMES[name]]


# a text for each retired phrase
OFFENCES = [
    *("Made\n    anew.", "what was derived", "derives everything", "however it came about", "bit by bit"),
    *(
        "is held to",
        "holds them against",
        "laid against 4",
        "holds another against",
        "It turns red",
        "that is owed",
    ),
    *("answers from it", "cannot be had", "says that it is meant", "given by place", "Finding one's place"),
    *("Room on the disk", "kept back for erasures", "There is no room", "has room for", "Turn keys over."),
    *("the keys over", "it goes by", "dies with", "for\never", "a stranger", "see to the disk", "deeds"),
    *("the raw owner alone", "give the public key along", "made to take", "taken into the database"),
    *("stands in the way", "lies beside", "by itself alone", "nobody has taken over", "keep their word"),
    *("a disk that lies", "said once more", "not promised", "the way of its key", "of which nothing is shown"),
    *("wherever its store lies", "words withheld", "the order in which they met", "can pass for structure"),
    *("is heard", "its time is over", "whose turn it is", "a list of what is wrong", "of the house"),
    *("who is behind the turn", "looks for what", "does not have the form that the operation takes"),
    *("at the place that was named", "tells what would be lost", "the log's own word", "finding one's way"),
    *("delete_raw", "raw_deleted", "incarnation", "reincarnate"),
]


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in vocabulary.PHRASES])
def test_a_retired_phrase_is_found(pattern: str) -> None:
    text = next(text for text in OFFENCES if vocabulary.compiled(pattern).search(text))
    assert vocabulary.retired_phrases(text)


def test_a_retired_phrase_is_found_across_lines_and_leaves_other_text_alone() -> None:
    assert [use.line for use in vocabulary.retired_phrases("Bit\nby\nbit.\nIt was made anew.")] == [1, 4]
    assert not vocabulary.retired_phrases("It is held by law, holds a key, and lies to nobody.")


def test_one_class_name_means_one_thing() -> None:
    places = [
        (node.name, source.path)
        for source in sources()
        if source.path.startswith("src/") and source.path.endswith(".py")
        for _, node in tidy.classes(ast.parse(source.text))
    ]
    assert not vocabulary.shared_names(places, vocabulary.SHARED_CLASSES)


def test_one_module_name_means_one_thing() -> None:
    stems = [(Path(s.path).stem, s.path) for s in sources() if s.path.startswith("src/") and s.path.endswith(".py")]
    places = [(stem, path) for stem, path in stems if not stem.startswith("__")]
    assert not vocabulary.shared_names(places, vocabulary.SHARED_MODULES)


def test_a_name_for_two_things_is_found_and_so_is_an_idle_exemption() -> None:
    twice = [("Page", "a.py"), ("Page", "b.py"), ("Turn", "a.py")]
    assert vocabulary.shared_names(twice, {}) == ["Page: a.py, b.py"]
    assert vocabulary.shared_names(twice, {"Page": "both print"}) == []
    assert vocabulary.shared_names(twice[1:], {"Page": "both print"}) == ["Page needs no exemption"]


def test_every_file_that_may_use_retired_words_exists() -> None:
    assert all((ROOT / path).is_file() for path in vocabulary.EXEMPT)


def test_no_file_of_the_repository_is_large() -> None:
    large = {path for path in tidy.repository_files() if path.stat().st_size > tidy.FILE_BYTES_MAX}
    assert large == {ROOT / "schemas/openapi.json"}, "keep data small or generate it; that one is read whole by clients"


def test_the_package_ships_code_schemas_and_its_guide_alone() -> None:
    shipped = [path for path in tidy.repository_files() if path.is_relative_to(ROOT / "src")]
    other = [path.name for path in shipped if path.suffix not in {".py", ".pyi", ".md", ".sql", ".jsonl", ".typed"}]
    assert not other, "notes and data live outside src/"


def test_the_repository_has_no_lock_file() -> None:
    names = {path.name for path in tidy.repository_files()}
    assert not names & {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt", "pylock.toml"}


@pytest.mark.parametrize(
    "harmless",
    [
        "import time\ntime.monotonic()\ntime.sleep(0)",
        "def f(clock):\n    return clock.time()",
        "class NewsItem: ...",
        "class Database: ...",
        "try:\n    f()\nexcept BaseException:\n    close()\n    raise",
        "from unittest import TestCase",
        "def f(*, a, b, c, d, e, f): ...",
    ],
)
def test_rules_leave_harmless_code_alone(harmless: str) -> None:
    source = Source("src/muniment/example.py", f'"""Example."""\n{harmless}')
    sharp = [rule for rule in CODE_RULES if rule.name != "docstring"]
    assert [(rule.name, one) for rule in sharp for one in tidy.complaints_of(rule, source)] == []
