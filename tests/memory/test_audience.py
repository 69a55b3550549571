"""Whom an item is known to."""

from __future__ import annotations

import pytest

from muniment.events.memory_items import Audience, EntryRole, MemoryPlane, NotebookEntry
from muniment.memory.audience import audience_flaw, is_known_to
from tests.memory.items import item
from tests.turns import SUBJECT

SHARED, OWN = MemoryPlane.SHARED_FACT, MemoryPlane.LONG_TERM
ALL, ONLY_BOB, NOT_BOB = Audience(), Audience(only=["bob"]), Audience(hidden_from=["bob"])
KNOWN: list[tuple[MemoryPlane, Audience, str | None, bool]] = [
    (OWN, ALL, None, True),
    (OWN, ALL, SUBJECT, True),
    (OWN, ALL, "bob", False),
    (OWN, ONLY_BOB, "bob", False),
    (SHARED, ALL, "bob", True),
    (SHARED, ONLY_BOB, "bob", True),
    (SHARED, ONLY_BOB, "cy", False),
    (SHARED, ONLY_BOB, SUBJECT, True),
    (SHARED, NOT_BOB, "bob", False),
    (SHARED, NOT_BOB, "cy", True),
    (SHARED, NOT_BOB, None, True),
]


@pytest.mark.parametrize(("plane", "audience", "subject", "known"), KNOWN)
def test_others_know_of_shared_facts_that_include_them(
    plane: MemoryPlane, audience: Audience, subject: str | None, known: bool
) -> None:
    assert is_known_to(item(plane=plane, audience=audience), subject) is known


def test_nobody_else_knows_of_what_is_only_proposed() -> None:
    proposal = item(plane=SHARED, entry=NotebookEntry(role=EntryRole.PROPOSAL))
    assert not is_known_to(proposal, "bob")
    assert is_known_to(proposal, SUBJECT)


@pytest.mark.parametrize(
    ("plane", "audience", "flaw"),
    [
        (OWN, ALL, None),
        (OWN, ONLY_BOB, "not_taken"),
        (SHARED, ONLY_BOB, None),
        (SHARED, Audience(only=["bob"], hidden_from=["cy"]), "not_one_of_these"),
        (SHARED, Audience(hidden_from=["ada"]), "own_subject"),
    ],
)
def test_an_audience_is_of_a_shared_fact_and_says_one_thing(
    plane: MemoryPlane, audience: Audience, flaw: str | None
) -> None:
    assert audience_flaw(audience, plane, "ada") == flaw
