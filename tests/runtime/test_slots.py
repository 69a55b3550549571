"""What holds a slot, until when, and who may take it."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.errors import InvalidInput
from muniment.events.identity import TurnId
from muniment.events.memory_items import ItemContent, ItemKind, ItemMeta, ItemPrivacy, MemoryPlane
from muniment.governance.detection.detection import Detect
from muniment.governance.detection.scan import DetectedType
from muniment.governance.limits import Limits
from muniment.governance.views import View
from muniment.ledger.ledger import Ledger
from muniment.memory.amendment import (
    AmendRefusal,
    ChangeItemPrivacy,
    CorrectItem,
    PinItem,
    RefreshItem,
    RestoreItem,
    SupersedeItem,
)
from muniment.memory.candidate import ItemSource
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.item_writes import UnrecordedEntry, record_entry
from muniment.operations.memory.prepared_items import Writing
from muniment.operations.memory.selection import ItemFilter
from muniment.operations.notebook.decide_report import ProposalVerdict
from tests.memory.asking import amend, forget, listed, remember, texts
from tests.memory.items import candidate
from tests.turns import SUBJECT
from tests.worlds import OPERATOR, World, key_of, memory_world

EMAILS = Detect(before_commit=frozenset({DetectedType.EMAIL}))
OF_ADA, OF_BOB = "mail to ada@example.org", "mail to bob@example.org"


def now_ms(world: World) -> int:
    return world.runtime._session.space.sources.clock.now_ms()


def test_what_has_expired_gives_its_slot_to_whatever_comes(world: World) -> None:
    """Nobody is shown it any more, so neither its words nor its confidence are in the way of anything."""
    world.with_turns(2)
    remember(world, "Parks on deck 12", id="i-1", expires_ms=now_ms(world))
    again = remember(world, "Parks on deck 12", turn=2, confidence=0.1, id="i-2")
    assert (again.reason, again.replaces, texts(world)) == ("expired", "i-1", ["Parks on deck 12"])
    assert [item.retired for item in listed(world, state=ItemFilter.ALL)] == ["superseded", None]
    assert world.runtime.evidence.inspect().kinds == {}


def test_what_has_expired_takes_no_room() -> None:
    world = memory_world(limits=Limits(items_max=1)).with_turns(1)
    remember(world, "Parks on deck 12", topic="car", confidence=1, expires_ms=now_ms(world))
    new = remember(world, confidence=0.1)
    assert (new.changed, new.evicted, texts(world)) == (True, [], ["Lives in Oslo"])
    assert remember(world, "Walks", topic="commute", confidence=0.05).reason == "notebook_full"
    assert remember(world, "Parks on deck 12", topic="car", confidence=0.05).reason == "notebook_full"
    again = remember(world, "Parks on deck 12", topic="car", id="i-2")
    assert (again.reason, len(again.evicted), texts(world)) == ("expired", 1, ["Parks on deck 12"])


@pytest.mark.parametrize("amendment", [RefreshItem(), CorrectItem(text="Lives in Bergen")])
def test_what_was_observed_before_somebody_spoke_up_is_older(amendment: Any, world: World) -> None:
    """A turn that is looked at late takes nothing back of what a person has confirmed or corrected since."""
    world.with_turns(2)
    early = now_ms(world)
    remember(world, id="i-1", observed_ms=early)
    between = now_ms(world)
    assert amend(world, "i-1", amendment).changed
    assert amend(world, "i-1", PinItem()).changed  # says nothing about what is true
    said = texts(world)
    assert remember(world, "Lives in Rome", turn=2, observed_ms=between).reason == "older_observation"
    assert texts(world) == said
    assert remember(world, "Lives in Rome", turn=2).replaces == "i-1"


def test_an_undone_correction_makes_nothing_older(world: World) -> None:
    world.with_turns(2)
    remember(world, id="i-1", observed_ms=now_ms(world))
    between = now_ms(world)
    amend(world, "i-1", CorrectItem(text="Lives in Bergen"), run="night-1")
    world.runtime.notebook.undo("night-1", "wrong", OPERATOR)
    assert remember(world, "Lives in Rome", turn=2, observed_ms=between).replaces == "i-1"


def test_a_turn_that_is_named_twice_is_one_source(world: World) -> None:
    world.with_turns(2)
    rests = [ItemSource(conversation=key_of(), turn=TurnId(f"turn-{number}")) for number in (1, 2, 1, 2, 1)]
    remember(world, evidence=rests)
    (item,) = listed(world)
    assert (item.evidence_count, len(item.evidence)) == (2, 2)


def test_a_topic_is_what_is_kept_of_it() -> None:
    """What the store replaces in a topic tells no slots apart, so whoever reads an item finds its slot."""
    world = memory_world(detect=EMAILS).with_turns(3)
    remember(world, "Weekly", topic=OF_ADA, id="i-1")
    assert remember(world, "Daily", turn=2, topic=OF_BOB, id="i-2").replaces == "i-1"
    assert amend(world, "i-2", SupersedeItem(text="Never", id="i-3")).changed
    assert texts(world) == ["Never"]
    assert amend(world, "i-2", RestoreItem()).reason is AmendRefusal.SLOT_TAKEN
    proposed = [candidate("Hourly", 3, topic=OF_ADA)]
    (proposal,) = world.runtime.notebook.propose(proposed, "she said so", "host").candidates
    assert proposal.replaces == "i-3"
    decided = world.runtime.notebook.decide(proposal.proposal or "", ProposalVerdict.ACCEPT, "fine", OPERATOR)
    assert (decided.changed, texts(world)) == (True, ["Hourly"])
    assert len(forget(world, ForgetTarget(topic=OF_BOB, kind="profile")).items) == 5
    assert listed(world, state=ItemFilter.ALL) == []


@pytest.mark.parametrize("amendment", [SupersedeItem(text='{"a": 1}'), CorrectItem(text="- a\n- b\n- c\n- d")])
def test_a_dump_is_no_statement_whoever_brings_it(amendment: Any, world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    for dry_run in (True, False):
        assert amend(world, "i-1", amendment, dry_run=dry_run).reason is AmendRefusal.FORMATTED_DUMP
    assert texts(world) == ["Lives in Oslo"]
    remember(world, "A long day", plane=MemoryPlane.DIARY, kind=ItemKind.DIARY, id="i-2")
    assert amend(world, "i-2", amendment).changed


def test_a_successor_is_as_private_as_the_item_is_in_the_last_moment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is decided before the transaction is decided again inside it."""
    world.with_turns(1)
    remember(world, id="i-1")
    transact = Ledger.transact

    def late(ledger: Ledger, plan: Any) -> Any:
        monkeypatch.undo()
        amend(world, "i-1", ChangeItemPrivacy(privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC))
        return transact(ledger, plan)

    monkeypatch.setattr(Ledger, "transact", late)
    assert amend(world, "i-1", SupersedeItem(text="Lives in Rome", id="i-2")).successor == "i-2"
    assert [item.id for item in listed(world)] == ["i-2"]
    assert world.runtime.memory.list_(SUBJECT, View.HOST_UI).items == []


def test_what_no_candidate_may_be_is_no_successor_either(world: World) -> None:
    """An item that came with an archive may be more private than any that is remembered here."""
    private = ItemMeta(
        item="i-1", kind=ItemKind.FACT, writer="host", observed_ms=0, confidence=900, privacy=ItemPrivacy.PRIVATE_GARDEN
    )
    entry = UnrecordedEntry(SUBJECT, MemoryPlane.LONG_TERM, private, ItemContent(topic="garden", text="Grows roses"))
    space = world.runtime._session.space
    space.ledger.transact(lambda writer: record_entry(space, writer, entry, Writing("host", None, 0)))
    with pytest.raises(InvalidInput) as refused:
        amend(world, "i-1", SupersedeItem(text="Grows tulips"))
    assert refused.value.problem == "private_target"
    assert [item.text for item in listed(world)] == ["Grows roses"]
