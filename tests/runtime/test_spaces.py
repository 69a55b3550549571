"""Another space of the same open store: shared memory and model, isolated content, and the store that stays open."""

from __future__ import annotations

import subprocess
import sys

import pytest

import muniment
from muniment.errors import AccessDenied, InvalidInput, KeyUnavailable, StoreClosed, StoreMissing, UnknownConversation
from muniment.governance.access import Access, Effect
from muniment.governance.policy import Policy
from muniment.governance.views import View
from muniment.runtime.open import open_without_key
from tests.turns import plain_turn
from tests.worlds import FileWorld, World, key_of


def test_another_space_has_its_own_turns_and_shares_the_store(world: World) -> None:
    """SC-01: no operation touches two spaces; the memory for indexes and the model are those of the store."""
    here = world.with_turns(2).runtime
    there = here.space("elsewhere")
    with pytest.raises(UnknownConversation):
        there.transcripts.replay(key_of())
    there.transcripts.commit(plain_turn(7))
    assert [turn.turn for turn in there.transcripts.replay(key_of()).turns] == ["turn-7"]
    assert len(here.transcripts.replay(key_of()).turns) == 2
    assert here.spaces.list_().spaces == there.spaces.list_().spaces == ["default", "elsewhere"]
    assert there.system.health().space == "elsewhere"
    mine, theirs = here._session.space, there._session.space
    assert (mine is theirs, mine.lazy_indexes._setup.memory is theirs.lazy_indexes._setup.memory) == (False, True)
    assert here.space("elsewhere")._session.space is theirs


def test_closing_the_runtime_of_another_space_leaves_the_store_open(world: World) -> None:
    with world.runtime.space("elsewhere") as there:
        there.transcripts.commit(plain_turn(1))
    world.with_turns(1)
    assert there.transcripts.replay(key_of()).turns
    world.runtime.close()
    for late in (there.system.health, lambda: world.runtime.space("elsewhere")):
        with pytest.raises(StoreClosed):
            late()


def test_a_space_is_created_only_when_that_is_allowed(world: World) -> None:
    with pytest.raises(StoreMissing):
        world.runtime.space("elsewhere", create=False)
    assert world.runtime.spaces.list_().spaces == ["default"]
    world.runtime.space("elsewhere")
    assert world.runtime.space("elsewhere", create=False).system.health().space == "elsewhere"
    with pytest.raises(InvalidInput, match="space"):
        world.runtime.space(" padded")


def test_another_space_takes_the_right_to_administer_and_gives_no_further_right(world: World) -> None:
    """AC-01: a runtime that was handed on with fewer rights does not get into another tenant's space."""
    everything_but = Access(effects=frozenset(Effect) - {Effect.ADMIN})
    with pytest.raises(AccessDenied, match="admin"):
        world.runtime.restricted(everything_but).space("elsewhere")
    access = Access(views=frozenset({View.EXPORT}), policies=frozenset({Policy.NO_EXPORT}))
    there = world.runtime.restricted(access).space("elsewhere")
    assert there.access == access
    with pytest.raises(AccessDenied, match="host_ui"):
        there.transcripts.replay(key_of())


def test_without_the_key_there_is_no_other_space(lasting: FileWorld) -> None:
    lasting.with_turns(1)
    with open_without_key(lasting.store) as keyless, pytest.raises(KeyUnavailable):
        keyless.space("elsewhere")


def test_opening_a_store_loads_only_the_groups_that_are_used() -> None:
    """A noun group is imported when it is first used; `dir` names all of them."""
    script = """
import sys, muniment
with muniment.open("memory:") as runtime:
    loaded = [name for name in sys.modules if name.startswith("muniment.operations")]
    assert not loaded, loaded
    assert {"transcripts", "system"} <= set(dir(runtime))
    runtime.system.health()
    assert runtime.system is runtime.system
    assert "muniment.operations.system.system" in sys.modules
    assert "muniment.operations.transcripts.transcripts" not in sys.modules
    assert not hasattr(runtime, "nowhere")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert muniment.Runtime.__doc__
