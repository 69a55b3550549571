"""Memory items in the tables of a view: those that it lists, as it shows them, gone when they are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from muniment.events.changes import Transition
from muniment.events.memory_items import ItemPrivacy, MemoryPlane
from muniment.governance.access import Access
from muniment.governance.item_visibility import SHOWS_EVIDENCE
from muniment.governance.views import View
from muniment.memory.amendment import CorrectItem, PinItem, RestoreItem
from muniment.memory.candidate import ItemAudience
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.selection import ItemFilter
from muniment.operations.tabled_items import FLAGS, LISTS, PLAIN, memory_rows
from muniment.tables.database import Bounds
from muniment.tables.rows import MemoryRows
from muniment.tables.table_forms import TABLES
from muniment.tables.view_tables import ViewTables
from tests.memory.asking import HOME_CITY, amend, forget, listed, remember
from tests.memory.items import skill
from tests.turns import SUBJECT, TALK
from tests.worlds import World, memory_world


def rows(world: World, view: View = View.RAW_OWNER, columns: str = "*", table: str = "items") -> list[list[Any]]:
    statement = f"SELECT {columns} FROM {table} ORDER BY position"  # noqa: S608 - our own names
    return world.runtime.tables.query(statement, view).rows


def texts(world: World, view: View = View.RAW_OWNER) -> list[str | None]:
    return [text for (text,) in rows(world, view, "text")]


@pytest.fixture
def world() -> Iterator[World]:
    """Three plain turns, and items in use, out of use, private, told again and of a skill."""
    made = memory_world().with_turns(3)
    remember(made, id="i-1")
    remember(made, "Lives in Rome", 2, id="i-2")
    remember(made, "Walks to work", 3, topic="commute", id="i-3", keywords=["way", "work"])
    remember(made, "Is odd", 3, topic="secret", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
    remember(made, "Asked and was told", 3, topic="day", plane=MemoryPlane.SUMMARY, kind="summary")
    remember(made, **skill())
    yield made
    made.close()


@pytest.mark.parametrize("view", View)
def test_the_tables_have_what_the_view_lists(world: World, view: View) -> None:
    """Item for item and member for member, in and out of use; and after each change of an item or of a turn."""
    changes: list[Callable[[], object]] = [
        lambda: amend(world, "i-3", PinItem()),
        lambda: amend(world, "i-3", CorrectItem(text="Cycles to work")),
        lambda: world.request(Transition.MASK, 3),
        lambda: world.request(Transition.UNMASK, 3),
        lambda: world.request(Transition.ERASE, 2),
        lambda: forget(world, HOME_CITY),
        lambda: amend(world, "i-1", RestoreItem()),
    ]
    columns = [*PLAIN, *FLAGS]
    for change in changes:
        change()
        shown = listed(world, view, state=ItemFilter.ALL)
        told = sorted(([getattr(each, name) for name in columns] for each in shown), key=str)
        assert sorted(rows(world, view, ", ".join(columns)), key=str) == told
        phases = {each.id: [one.phase for one in each.evidence] for each in shown if each.evidence}
        found: dict[str, list[str]] = {}
        joined = "item_evidence JOIN items USING (position)"
        for item, phase, conversation in rows(world, view, "id, phase, conversation", joined):
            assert conversation == TALK
            found.setdefault(item, []).append(phase)
        assert found == phases
        assert bool(found) == (view in SHOWS_EVIDENCE)


def test_every_member_of_a_shown_item_is_a_column_or_told_elsewhere(world: World) -> None:
    """What is new in one of them is missed here. How far to rely on an item depends on the clock, which goes on."""
    (form,) = (form for form in TABLES if form.name == "items")
    (item, *_) = listed(world)
    elsewhere = {"state", "evidence"}
    assert {*PLAIN, *LISTS, *FLAGS, "audience"} == {*item.__struct_fields__} - elsewhere
    assert {*PLAIN, *LISTS, *FLAGS, "audience", "observed", "recorded", "confirmed", "expires"} == set(form.names)
    assert structs.asdict(item).keys() >= set(PLAIN)
    assert rows(world, columns="keywords")[2] == ['["way","work"]']


def test_forgetting_and_erasing_close_the_database_before_they_return(world: World) -> None:
    """LT-17: nothing of it is left in a page of the database, also where somebody else forgot it."""
    assert "Walks to work" in texts(world)
    space = world.runtime._session.space
    tables = space.tables.of(View.RAW_OWNER)
    apart = ViewTables(space.ledger, space.transcript, View.RAW_OWNER, space.detection)  # as in another process

    def selected() -> list[list[Any]]:
        memory = MemoryRows(None, partial(memory_rows, space, View.RAW_OWNER, Access()))
        found, _ = apart.select("SELECT text FROM items", {}, Bounds(10, 10_000, 9), memory, 2**20, lambda *_: None)
        return found.rows

    for act in (lambda: forget(world, ForgetTarget(kind="profile", topic="commute")), lambda: world.erased(3)):
        assert selected() == rows(world, columns="text")
        before = apart._database
        act()
        assert tables._database is None
        assert ["Walks to work"] not in selected()
        assert apart._database is not before


def test_plain_turns_leave_the_items_as_they_are(world: World) -> None:
    """What was shown of memory is shown again only when something changed of an item or of a turn."""
    texts(world)
    tables = world.runtime._session.space.tables.of(View.RAW_OWNER)
    shown = tables._items_of
    world.with_turns(2)
    assert len(texts(world)) == 6
    assert tables._items_of is shown
    remember(world, "Has a dog", 1, topic="pet")
    assert "Has a dog" in texts(world)
    assert tables._items_of is not shown


def test_a_caller_for_one_subject_finds_what_that_subject_may_know(world: World) -> None:
    """LT-22: also right after another caller, and back again."""
    fact: dict[str, Any] = {"plane": MemoryPlane.SHARED_FACT, "kind": "fact"}
    remember(world, "Closed on Monday", turn=None, topic="hours", **fact)
    remember(world, "The key is under the mat", turn=None, topic="key", audience=ItemAudience(only=["bob"]), **fact)
    remember(world, "Not for eve", turn=None, topic="eve", audience=ItemAudience(hidden_from=["eve"]), **fact)

    def known(subject: str | None, only: str = "plane = 'shared_fact'") -> set[Any]:
        runtime = world.runtime if subject is None else world.runtime.restricted(Access(subject=subject))
        return {text for (text,) in runtime.tables.query(f"SELECT text FROM items WHERE {only}").rows}  # noqa: S608 - our own words

    everything = known(None)
    assert len(everything) == 3
    assert known("bob") == everything
    assert known("eve") == {"Closed on Monday"}
    assert known(SUBJECT) == everything
    assert known("eve") == {"Closed on Monday"}
    assert known("bob", "plane <> 'shared_fact'") == set()
