"""Memory as tests ask for it: remembered, listed, amended and forgotten in few words."""

from __future__ import annotations

from typing import Any

from muniment.governance.views import View
from muniment.memory.amendment import (
    Amendment,
)
from muniment.operations.memory.amend_report import AmendReport
from muniment.operations.memory.forget_report import ForgetReport
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.remember_report import RememberedCandidate
from muniment.operations.memory.selection import ItemSelection
from muniment.operations.memory.shown_item import ShownItem
from tests.memory.items import candidate
from tests.turns import SUBJECT
from tests.worlds import World

HOME_CITY = ForgetTarget(kind="profile", topic="Home-City")


def remember(world: World, text: str = "Lives in Oslo", turn: int | None = 1, **more: Any) -> RememberedCandidate:
    (decided,) = world.runtime.memory.remember([candidate(text, turn, **more)], "host").candidates
    return decided


def listed(world: World, view: View = View.RAW_OWNER, **selection: Any) -> list[ShownItem]:
    return world.runtime.memory.list_(SUBJECT, view, ItemSelection(**selection)).items


def texts(world: World, view: View = View.HOST_UI, **selection: Any) -> list[str | None]:
    return [item.text for item in listed(world, view, **selection)]


def amend(world: World, item: str, amendment: Amendment, **more: Any) -> AmendReport:
    return world.runtime.memory.amend(item, amendment, "asked", "ada", **more)


def forget(world: World, target: ForgetTarget, **more: Any) -> ForgetReport:
    return world.runtime.memory.forget(SUBJECT, target, "asked", "ada", **more)


def size(world: World) -> int:
    return world.runtime.spaces.usage().events


def contents_of(world: World, *kinds: str) -> list[bool]:
    """Return whether each event of some kinds still has content, in log order."""
    with world.runtime._session.space.ledger.reader() as reader:
        return [row.content is not None for row in reader.sealed_events(0, 99) if row.kind in kinds]
