"""Forgetting: what an item says is gone for good, and neither holds nor second persons are passed by."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import AccessDenied, ApprovalNeeded, InvalidInput
from muniment.events.approving import GuardedAct
from muniment.events.changes import Action, LifecycleRequest, Transition
from muniment.events.identity import TurnId
from muniment.events.memory_items import ItemRetired, Retirement
from muniment.events.records import EventKind, RotationCause
from muniment.evidence.verifier import verify_evidence
from muniment.governance.access import Access, Effect
from muniment.governance.views import Reason, View
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.memory.amendment import (
    CorrectItem,
)
from muniment.memory.candidate import ItemSource
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.item_changes import stream_of
from muniment.operations.memory.selection import ItemFilter
from muniment.operations.memory.shown_item import ShownItem
from tests.memory.asking import HOME_CITY, amend, contents_of, forget, listed, remember, texts
from tests.memory.items import USE_THE_LIFT, candidate, skill
from tests.turns import SUBJECT, TALK
from tests.worlds import OPERATOR, FileWorld, World, key_of, memory_world


def test_what_is_forgotten_is_gone_from_the_file_with_all_its_revisions(lasting: FileWorld) -> None:
    lasting.with_turns(1)
    remember(lasting, id="i-1", keywords=["KEYWORD"])
    amend(lasting, "i-1", CorrectItem(text="Lives in BERGEN"))
    done = forget(lasting, HOME_CITY)
    assert done.receipt is not None
    assert (done.accepted, done.items, done.receipt.items_erased, done.receipt.turns_erased) == (True, ["i-1"], 1, 0)
    assert (texts(lasting, state=ItemFilter.ALL), listed(lasting)) == ([], [])
    assert lasting.runtime.memory.show("i-1", View.RAW_OWNER).missing is Reason.ERASED
    assert contents_of(lasting, "item.recorded", "item.revised") == [False, False]
    assert lasting.reopened().runtime.system.health().sound
    assert remember(lasting).reason == "forgotten"
    assert remember(lasting, id="i-1").reason == "forgotten"
    assert remember(lasting, turn=None).changed
    assert forget(lasting, ForgetTarget(item="i-1")).reason == "target_not_found"


@pytest.mark.parametrize(("learned_from", "again_from"), [(None, "message"), ("message", None), ("message", "other")])
def test_a_turn_is_the_same_whichever_of_its_messages_is_named(
    learned_from: str | None, again_from: str | None, world: World
) -> None:
    world.with_turns(2)
    turn = world.runtime.transcripts.replay(key_of(), View.HOST_UI).turns[0]
    first, second = (message.id for message in turn.messages)
    names = {None: None, "message": first, "other": second}
    learned, again = (
        [ItemSource(conversation=key_of(), turn=TurnId("turn-1"), message=names[each])]
        for each in (learned_from, again_from)
    )
    remember(world, evidence=learned)
    assert forget(world, HOME_CITY).accepted
    assert remember(world, "Lives in OSLO!", evidence=again).reason == "forgotten"
    elsewhere = ItemSource(conversation=key_of(), turn=TurnId("turn-2"))
    assert remember(world, evidence=[*again, elsewhere]).changed


def test_words_that_were_corrected_away_are_forgotten_with_their_item(world: World) -> None:
    """The log has what an item said before, and so does its history."""
    world.with_turns(1)
    remember(world, id="i-1")
    remember(world, "Works in Rome", topic="work", id="i-2")
    amend(world, "i-1", CorrectItem(text="Lives in Bergen"))
    amend(world, "i-1", CorrectItem(text="Lives in Rome"))
    for words in ("oslo", "in Bergen", "rome lives"):
        assert forget(world, ForgetTarget(words=words), dry_run=True).items == ["i-1"]
    assert forget(world, ForgetTarget(words="oslo rome"), dry_run=True).items == []
    token = forget(world, ForgetTarget(words="oslo"), dry_run=True).token
    assert forget(world, ForgetTarget(words="oslo", token=token)).changed
    assert texts(world, state=ItemFilter.ALL) == ["Works in Rome"]


def test_only_what_is_named_is_forgotten(world: World) -> None:
    world.with_turns(2)
    remember(world, id="i-1")
    remember(world, "Walks to work", topic="commute", id="i-2")
    remember(world, "Takes the lift", topic="stairs", turn=2, id="i-3")
    remember(world, **skill(), id="i-4")
    shared = forget(world, ForgetTarget(conversation=key_of().conversation, turn=TurnId("turn-1")))
    assert (shared.accepted, shared.reason, shared.items) == (False, "ambiguous", ["i-1", "i-2"])
    assert forget(world, ForgetTarget(conversation=key_of().conversation, turn=TurnId("turn-2"))).items == ["i-3"]
    assert forget(world, ForgetTarget(item="i-2")).changed
    assert texts(world) == ["Lives in Oslo", USE_THE_LIFT]


WORDS = ("tea", "rome", "walks")
said = st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), st.integers(1, 2))
meant = st.one_of(
    st.integers(0, 5).map(lambda number: ForgetTarget(item=f"i-{number}")),
    st.sampled_from("ab").map(lambda topic: ForgetTarget(topic=topic, kind="profile")),
    st.integers(1, 2).map(lambda turn: ForgetTarget(conversation=TALK, turn=TurnId(f"turn-{turn}"))),
    st.sampled_from(WORDS).map(lambda word: ForgetTarget(words=word)),
)


def state_of(world: World) -> dict[str, ShownItem]:
    return {item.id: item for item in listed(world, state=ItemFilter.ALL)}


def is_meant(item: ShownItem, target: ForgetTarget) -> bool:
    """Tell whether a target means an item, said in another way than the code does."""
    if target.turn is not None:
        return any(source.citation.endswith(f"#turn={target.turn}") for source in item.evidence)
    if target.words is not None:
        return target.words in f"{item.topic} {item.text}".split()
    return item.topic == target.topic if target.item is None else item.id == target.item


@settings(max_examples=80)
@given(st.lists(said, max_size=6), meant)
def test_forgetting_never_takes_more_than_is_meant(
    items: list[tuple[str, list[str], int]], target: ForgetTarget
) -> None:
    """LT-17, LT-19: exactly the items that a target means lose their words; all else stays as it was."""
    world = memory_world().with_turns(2)
    for number, (topic, words, turn) in enumerate(items):
        remember(world, " ".join(words), turn, topic=topic, id=f"i-{number}")
    before, page = state_of(world), world.runtime.transcripts.replay(key_of(), View.RAW_OWNER)
    expected = {name for name, item in before.items() if is_meant(item, target)}
    if target.words is not None:
        target = replace(target, token=forget(world, target, dry_run=True).token)
    done = forget(world, target)
    left = state_of(world)
    if target.turn is not None and len(expected) > 1:
        assert (done.changed, done.reason, left) == (False, "ambiguous", before)
    else:
        assert (set(before) - set(left), set(done.items)) == (expected, expected)
        assert left == {name: item for name, item in before.items() if name not in expected}
    assert world.runtime.transcripts.replay(key_of(), View.RAW_OWNER) == page
    world.close()


UNCLEAR: list[tuple[dict[str, str], str]] = [
    ({}, "target"),
    ({"item": "i-1", "words": "x"}, "target"),
    ({"item": "i-1", "kind": "fact"}, "target.kind"),
    ({"item": "\n"}, "target.item"),
    ({"topic": "x"}, "target.kind"),
    ({"topic": "x", "kind": "?"}, "target.kind"),
    ({"turn": "x"}, "target.conversation"),
    ({"words": "!"}, "target.words"),
]


@pytest.mark.parametrize(("given", "at"), UNCLEAR)
def test_a_target_that_is_not_clear_is_refused_by_its_place(given: dict[str, Any], at: str, world: World) -> None:
    with pytest.raises(InvalidInput) as refused:
        forget(world, ForgetTarget(**given))
    assert refused.value.at == at


def test_a_query_takes_the_token_of_a_dry_run_which_works_once(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    remember(world, "Walks in Oslo", topic="commute", id="i-2")
    remember(world, "Plays chess", topic="games", id="i-3")
    assert forget(world, ForgetTarget(words="oslo")).reason == "confirmation_required"
    preview = forget(world, ForgetTarget(words="oslo"), dry_run=True)
    assert (preview.items, preview.changed) == (["i-1", "i-2"], False)
    for words, token in (("chess", preview.token), ("oslo", "0" * 32)):
        assert forget(world, ForgetTarget(words=words, token=token)).reason == "confirmation_differs"
    amend(world, "i-2", CorrectItem(text="Rides in Oslo"))
    assert forget(world, ForgetTarget(words="oslo", token=preview.token)).reason == "confirmation_differs"
    token = forget(world, ForgetTarget(words="oslo"), dry_run=True).token
    assert forget(world, ForgetTarget(words="oslo", token=token)).changed
    assert forget(world, ForgetTarget(words="oslo", token=token)).reason == "target_not_found"
    assert texts(world) == ["Plays chess"]


def test_a_token_confirms_its_own_query_alone(world: World) -> None:
    """Also where other words match the same items."""
    world.with_turns(1)
    remember(world, "Lives in Oslo", id="i-1")
    token = forget(world, ForgetTarget(words="oslo"), dry_run=True).token
    other = forget(world, ForgetTarget(words="lives", token=token))
    assert (other.items, other.changed, other.reason) == (["i-1"], False, "confirmation_differs")
    assert forget(world, ForgetTarget(words=" OSLO", token=token)).changed


@pytest.mark.parametrize("scope", [Scope(subject=SUBJECT), Scope(whole_space="default")])
def test_a_hold_keeps_items_until_it_is_released(scope: Scope, world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    held = world.runtime.lifecycle.hold(scope, "a case", OPERATOR).position
    kept = forget(world, HOME_CITY)
    assert (kept.accepted, kept.reason, kept.kept) == (False, "kept", ["i-1"])
    erased = world.runtime.lifecycle.erase(Scope(subject=SUBJECT), "asked", OPERATOR)
    assert (erased.changed, erased.kept_items, texts(world)) == (False, 1, ["Lives in Oslo"])
    assert held is not None
    world.runtime.lifecycle.release(held, "closed", OPERATOR)
    assert forget(world, HOME_CITY).changed


def test_a_hold_of_somebody_else_keeps_nothing(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    world.runtime.lifecycle.hold(Scope(subject="bob"), "a case", OPERATOR)
    assert forget(world, HOME_CITY).changed


def test_forgetting_waits_for_a_second_person_where_erasing_does(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    world.runtime.approvals.require([GuardedAct.ERASE], "two persons", OPERATOR)
    with pytest.raises(ApprovalNeeded) as needed:
        forget(world, HOME_CITY)
    assert texts(world) == ["Lives in Oslo"]
    world.runtime.approvals.confirm(needed.value.limit or 0, "seen", "bob")
    assert forget(world, HOME_CITY).changed


def test_forgetting_takes_the_right_to_erase(world: World) -> None:
    world.with_turns(1)
    remember(world)
    writer = world.runtime.restricted(Access(effects=frozenset({Effect.READ, Effect.APPEND})))
    with pytest.raises(AccessDenied):
        writer.memory.forget(SUBJECT, HOME_CITY, "asked", "ada")


def test_erasing_a_subject_takes_its_items_along(lasting: FileWorld) -> None:
    lasting.with_turns(1)
    remember(lasting, id="i-1")
    remember(lasting, **skill())
    amend(lasting, "i-1", CorrectItem(text="Lives in Bergen"))
    review = lasting.runtime.lifecycle.review(Action.ERASE, Scope(subject=SUBJECT))
    done = lasting.runtime.lifecycle.erase(Scope(subject=SUBJECT), "asked", OPERATOR)
    assert done.receipt is not None
    assert (review.affected_items, done.affected_items, done.receipt.items_erased) == (2, 2, 2)
    assert texts(lasting, state=ItemFilter.ALL) == []
    assert not lasting.runtime.lifecycle.erase(Scope(subject=SUBJECT), "asked", OPERATOR).changed
    assert lasting.reopened().runtime.system.health().sound


def test_erasing_a_subject_that_has_items_alone_erases_them(world: World) -> None:
    world.with_turns(1)
    given = candidate("Likes tea", None, subject="bob")
    world.runtime.memory.remember([given], "host")
    done = world.runtime.lifecycle.erase(Scope(subject="bob"), "asked", OPERATOR)
    assert (done.changed, done.affected_turns, done.affected_items) == (True, 0, 1)
    assert world.runtime.memory.list_("bob", View.HOST_UI).total == 0


def test_words_of_an_item_that_came_back_are_destroyed_again(lasting: FileWorld) -> None:
    """The log says that the item was forgotten, and its words are there: somebody put them back."""
    lasting.with_turns(1)
    remember(lasting, id="i-1")
    amend(lasting, "i-1", CorrectItem(text="Lives in Bergen"))
    space = lasting.runtime._session.space

    def forgotten(writer: Writer) -> None:
        item = space.notebooks.item(writer.tx, "i-1")
        assert item is not None
        request = LifecycleRequest(reason="asked", requester="ada", requested_ms=1)
        body = ItemRetired(request=request, cause=Retirement.FORGOTTEN)
        change = Change(EventKind.ITEM_RETIRED, 1, body, {"turn": item.number}, Transition.ERASE)
        writer.change(change, stream_of(writer.tx, item))

    space.rotate(RotationCause.ERASURE, forgotten)
    assert contents_of(lasting, "item.recorded", "item.revised") == [True, True]
    lasting.reopened()
    assert contents_of(lasting, "item.recorded", "item.revised") == [False, False]
    assert lasting.runtime.system.health().sound


@pytest.mark.parametrize("whole", [False, True], ids=["items", "subject"])
def test_a_certificate_says_that_items_are_gone(whole: bool, world: World) -> None:
    """It is checked offline, and discloses nothing of what an item said or whose it was."""
    world.with_turns(1)
    remember(world, id="secret-id")
    if whole:
        receipt = world.runtime.lifecycle.erase(Scope(subject=SUBJECT), "asked", OPERATOR).receipt
    else:
        receipt = forget(world, HOME_CITY).receipt
    assert receipt is not None
    for position in receipt.positions:
        made = world.runtime.lifecycle.certificate(position)
        assert (made.summary["erased_items"], made.summary["erased_turns"]) == (1, int(whole))
        assert "secret-id" not in made.text
        vkey = world.runtime.evidence.checkpoint().vkey
        proved = verify_evidence(io.BytesIO(made.text.encode()), vkey, show=True)
        assert proved.erased_turns == 1 + whole
