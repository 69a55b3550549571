"""The house keeps its own rules (they are in tests/tidy.py)."""

from __future__ import annotations

from functools import cache

import pytest

from tests import tidy
from tests.tidy import CODE_RULES, EXEMPT, ROOT, TEXT_RULES, CodeRule, Complaint, Source, TextRule


@cache
def sources() -> list[Source]:
    """Return every text file of the repository, read once."""
    found = []
    for path in tidy.repository_files():
        data = path.read_bytes()
        if b"\0" not in data:
            found.append(Source(path.relative_to(ROOT).as_posix(), data.decode(errors="replace")))
    return found


@cache
def code_complaints(rule: CodeRule) -> list[tuple[Source, Complaint]]:
    """Return all complaints of a rule about code, the exempted ones too."""
    looked_at = [s for s in sources() if s.path.endswith(".py") and s.path.startswith(rule.folders)]
    return [(source, complaint) for source in looked_at for complaint in tidy.complaints_of(rule, source)]


def told(instead: str, found: list[tuple[Source, Complaint]]) -> str:
    """Return a message that says where, what and what to do instead."""
    lines = [f"  {source.path}:{one.line} {one.place} {one.what}" for source, one in found]
    return "\n".join([f"{instead}:", *lines])


@pytest.mark.parametrize("rule", CODE_RULES, ids=lambda rule: rule.name)
def test_the_code_keeps_the_rule(rule: CodeRule) -> None:
    found = [(s, one) for s, one in code_complaints(rule) if (rule.name, f"{s.path}::{one.place}") not in EXEMPT]
    assert not found, told(rule.instead, found)


@pytest.mark.parametrize("rule", CODE_RULES, ids=lambda rule: rule.name)
def test_the_rule_about_code_can_fail(rule: CodeRule) -> None:
    assert tidy.complaints_of(rule, Source(rule.offender, rule.offence))


def test_every_exemption_still_exempts_something() -> None:
    """An exemption that is no longer needed is taken away."""
    used = {(rule.name, f"{s.path}::{one.place}") for rule in CODE_RULES for s, one in code_complaints(rule)}
    assert set(EXEMPT) <= used


@pytest.mark.parametrize("rule", TEXT_RULES, ids=lambda rule: rule.name)
def test_the_repository_keeps_the_rule(rule: TextRule) -> None:
    found = [(source, one) for source in sources() for one in tidy.matches_of(rule, source)]
    assert not found, told(rule.instead, found)


@pytest.mark.parametrize("rule", TEXT_RULES, ids=lambda rule: rule.name)
def test_the_rule_about_text_can_fail(rule: TextRule) -> None:
    assert tidy.matches_of(rule, Source("README.md", rule.offence))


def test_no_file_of_the_repository_is_large() -> None:
    large = [path for path in tidy.repository_files() if path.stat().st_size > tidy.FILE_BYTES_MAX]
    assert not large, "keep data small or generate it"


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
