"""Restores of spaces that were governed: what was erased beside turns, whole spaces, turns that nobody could read."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.errors import SpaceErased
from muniment.events.identity import SpaceName
from muniment.governance.views import View
from muniment.memory.amendment import CorrectItem
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.selection import ItemFilter
from tests.attributes import attribute, of_turn
from tests.backups import backed_up, without_space, words
from tests.memory.asking import amend, forget, remember, texts
from tests.turns import answer
from tests.worlds import key_of, sqlite_world


def test_what_was_recorded_beside_turns_goes_with_them_again(tmp_path: Path) -> None:
    """Attributes, of turns and of messages, do not come back either; what stays verifies, and nothing else is gone."""
    world = sqlite_world(tmp_path).with_turns(3)
    given = [attribute("a"), attribute("m", "other words", of_turn(2, 1)), attribute("k", "kept words", of_turn(3))]
    world.runtime.transcripts.annotate(key_of(), given)
    backup = backed_up(world)
    world.erased(1)
    message = "turn-2#1"
    world.runtime.lifecycle.erase(Scope(conversation=key_of().conversation, message=message), "why", "operator")
    assert world.runtime.spaces.restore(str(backup), replace=True).erased_again == 2
    for _ in range(2):
        told = str(words(world.runtime))
        assert [said in told for said in ("the value words", "other words", "kept words")] == [False, False, True]
        assert answer(2) not in told
        assert world.runtime.evidence.inspect().kinds == {}
        world.reopened()


def test_an_erased_space_is_not_brought_back(tmp_path: Path) -> None:
    """Nothing of a space that was erased as a whole comes back under its name, whatever backup is at hand."""
    world = sqlite_world(tmp_path).with_turns(2)
    backup = backed_up(world)
    world.runtime.lifecycle.erase(Scope(whole_space=SpaceName("default")), "why", "operator")
    world.close()
    with without_space(world) as store, pytest.raises(SpaceErased):
        store.spaces.restore(str(backup), replace=True)


def test_a_space_with_a_turn_that_was_erased_unread_can_be_backed_up(tmp_path: Path) -> None:
    """Its keys are gone as a whole; the backup says that something is damaged, and comes back as it was."""
    world = sqlite_world(tmp_path).with_turns(3)
    with world.edited() as raw:
        raw.execute("UPDATE envelopes SET sealed = zeroblob(length(sealed)) WHERE position = 3")
    world.erased(2)
    backup = backed_up(world)
    report = world.runtime.spaces.restore(str(backup), replace=True)
    assert (report.cells_damaged, report.erased_again) == (1, 0)


def test_a_forgotten_item_stays_forgotten_in_a_restored_backup(tmp_path: Path) -> None:
    """Also one of which there was an older text; memory is sound, and does not learn it again from the same turn."""
    world = sqlite_world(tmp_path).with_turns(2)
    remember(world, id="i-1")
    remember(world, "Kept", 2, topic="kept", id="i-2")
    backup = backed_up(world)
    amend(world, "i-1", CorrectItem(text="Lives in Rome"))
    forget(world, ForgetTarget(item="i-1"))
    assert world.runtime.spaces.restore(str(backup), replace=True).erased_again == 1
    for _ in range(2):
        assert texts(world, state=ItemFilter.ALL) == ["Kept"]
        assert world.runtime.memory.show("i-1", View.RAW_OWNER).missing == "erased"
        assert remember(world).reason == "forgotten"
        assert world.runtime.evidence.inspect().kinds == {}
        world.reopened()
