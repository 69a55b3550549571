"""What takes back what a run did to an item."""

from __future__ import annotations

from typing import Any

from muniment.events.changes import LifecycleRequest
from muniment.events.memory_items import ItemRetired, ItemRevised, Retirement, Revision
from muniment.memory.fold import ItemChange
from muniment.memory.undoing import NOTHING, Undoing, UndoObstacle, undoing
from tests.memory.items import item

REQUEST = LifecycleRequest(requester="ada", requested_ms=7)


def retired(cause: Retirement, run: str | None = "r", successor: str | None = None) -> ItemChange:
    """Return an event that takes an item out of use, or back."""
    body = ItemRetired(request=REQUEST, cause=cause, run=run, successor=successor)
    return ItemChange(position=9, time_ms=7, reason="archive", body=body)


def revised(run: str | None = "r", **values: Any) -> ItemChange:
    """Return a revision."""
    body = ItemRevised(request=REQUEST, revision=Revision(**values), run=run)
    return ItemChange(position=9, time_ms=7, reason="correct", body=body)


def test_what_another_run_or_nobody_did_is_left_alone() -> None:
    assert undoing(item(run="other"), [revised("other", pinned=True), revised(None, text="x")], "r") == NOTHING


def test_what_a_run_recorded_goes_out_of_use() -> None:
    mine = item(run="r")
    assert undoing(mine, [], "r") == Undoing(Retirement.UNDONE)
    assert undoing(mine, [retired(Retirement.SUPERSEDED)], "r") == NOTHING
    assert undoing(mine, [retired(Retirement.UNDONE)], "r") == NOTHING
    assert undoing(mine, [revised(None, pinned=True)], "r") is UndoObstacle.CHANGED_SINCE
    assert undoing(mine, [retired(Retirement.UNDONE), retired(Retirement.RESTORED, None)], "r") == NOTHING


def test_what_a_run_retired_restored_or_revised_is_as_it_was_before() -> None:
    assert undoing(item(), [retired(Retirement.SUPERSEDED, successor="i-2")], "r") == Undoing(Retirement.RESTORED)
    before = retired(Retirement.SUPERSEDED, None, "i-2")
    back = Undoing(Retirement.SUPERSEDED, "i-2")
    assert undoing(item(), [before, retired(Retirement.RESTORED)], "r") == back
    changes = [revised(None, text="b"), revised(text="c", pinned=True), revised(text="d")]
    assert undoing(item("a"), changes, "r") == Undoing(revision=Revision(text="b", pinned=False))
    assert undoing(item("a"), [*changes, revised(text="b", pinned=False)], "r") == NOTHING


def test_what_was_changed_since_or_forgotten_is_said() -> None:
    mine = revised(text="c")
    assert undoing(item(), [mine, revised(None, pinned=True)], "r") is UndoObstacle.CHANGED_SINCE
    assert undoing(item(), [mine, retired(Retirement.FORGOTTEN, None)], "r") is UndoObstacle.FORGOTTEN
