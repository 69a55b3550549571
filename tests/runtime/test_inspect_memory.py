"""The inspection of memory: counts that are true, words that the view shows, and a length that holds."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.errors import AccessDenied, InvalidInput
from muniment.events.changes import Transition
from muniment.events.memory_items import ItemPrivacy, MemoryPlane
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.operations.subjects.inspect_memory import MemoryInspection, PlaneCounts
from tests.memory.asking import HOME_CITY, forget, remember
from tests.memory.items import skill
from tests.memory.tools import registry
from tests.turns import SUBJECT
from tests.worlds import World


def inspect(world: World, view: View = View.HOST_UI, **more: Any) -> MemoryInspection:
    return world.runtime.subjects.inspect(SUBJECT, view, **more)


def plane(found: MemoryInspection, name: MemoryPlane = MemoryPlane.LONG_TERM) -> PlaneCounts:
    return next(each for each in found.planes if each.plane is name)


def test_everything_is_counted_once(world: World) -> None:
    world.with_turns(3)
    remember(world)
    remember(world, "Lives in Rome", 2)
    remember(world, "Walks to work", 3, topic="commute")
    remember(world, "Was in Bern", topic="past", expires_ms=1)
    remember(world, "Is odd", topic="secret", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
    remember(world, **skill())
    world.runtime.skills.disable(SUBJECT, "runtime_skill__use_the_lift", "asked", "ada")
    world.runtime.tools.register(registry(), "host")
    world.request(Transition.MASK, 3)
    found = inspect(world)
    facts = plane(found)
    assert (facts.in_use, facts.expired, facts.retired) == (2, 1, {"superseded": 1})
    assert facts.states == {"needs_review": 1, "stable_fact": 1}
    assert plane(found, MemoryPlane.RUNTIME_SKILL).disabled == 1
    assert (found.withheld, found.needs_review) == (1, 1)
    assert (found.skills.active, found.registries.total) == (0, 1)
    assert "memory.remember" in found.operations


def test_nothing_of_a_masked_turn_or_of_a_hidden_item_is_written_out(world: World) -> None:
    world.with_turns(2)
    remember(world)
    remember(world, "Walks to work", 2, topic="commute")
    remember(world, "Is odd", topic="secret", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
    world.request(Transition.MASK, 2)
    found = inspect(world)
    assert (found.text, found.matching, found.written) == ("long_term profile home city: Lives in Oslo\n", 2, 1)
    assert inspect(world, query="odd").matching == 0
    assert inspect(world, query="secret").text == ""
    forget(world, HOME_CITY)
    assert inspect(world).text == ""


def test_a_view_without_words_finds_none(world: World) -> None:
    world.with_turns(1)
    remember(world)
    assert (inspect(world, View.OPERATOR_AUDIT).matching, inspect(world, View.OPERATOR_AUDIT).text) == (1, "")
    assert inspect(world, View.OPERATOR_AUDIT, query="oslo").matching == 0
    assert inspect(world, query="OSLO lives").matching == 1


def test_the_length_holds_for_any_limit(world: World) -> None:
    """No line is cut, and a larger limit has all that a smaller one has."""
    world.with_turns(1)
    for number in range(4):
        remember(world, f"löst 日本 {number}\nand more", topic=f"topic {number}")
    before = ""
    for limit in range(260):
        found = inspect(world, length_max=limit)
        assert len(found.text) == found.length <= limit
        assert found.text.startswith(before)
        assert found.text.count("\n") == found.written
        before = found.text
    assert inspect(world).written == 4
    with pytest.raises(InvalidInput):
        inspect(world, length_max=-1)


def test_an_access_sees_its_own_subject_and_its_own_rights(world: World) -> None:
    world.with_turns(1)
    remember(world)
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(subject="bob")).subjects.inspect(SUBJECT, View.HOST_UI)
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(views=frozenset({View.EXPORT}))).subjects.inspect(SUBJECT, View.HOST_UI)
    reader = world.runtime.restricted(Access(effects=frozenset({Effect.READ})))
    told = reader.subjects.inspect(SUBJECT, View.HOST_UI).operations
    assert "memory.list" in told
    assert "memory.remember" not in told
