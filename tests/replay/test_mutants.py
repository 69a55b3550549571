"""The table of mutants stays true to the code; the mutants themselves run by name (`python -m replay mutants`)."""

from __future__ import annotations

import pytest

from replay.mutants import MUTANTS, REPOSITORY, Mutant, markdown, unmade


@pytest.mark.parametrize("name", MUTANTS)
def test_what_a_mutant_breaks_stands_in_the_code_exactly_once(name: str) -> None:
    mutant = MUTANTS[name]
    assert mutant.edits
    assert not unmade(mutant)
    for text, instead in mutant.edits:
        assert text != instead
    for check in mutant.checks:
        assert check.startswith("drill ") or (REPOSITORY / check.partition("::")[0]).exists()


def test_a_mutant_whose_text_is_gone_cannot_be_made() -> None:
    edits = [("no such text", ""), ("__version__", "")]
    gone = Mutant(name="gone", breaks="nothing", file="version.py", edits=edits, checks=[])
    assert unmade(gone) == ["no such text"]


def test_the_table_of_mutants_is_printed_from_them() -> None:
    assert (REPOSITORY / "replay" / "MUTANTS.md").read_text() == markdown()
