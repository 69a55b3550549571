"""Holds, legal minima and retention, through the front door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from muniment.errors import AccessDenied, ForeignSpace, HoldMissing, InvalidInput, UnknownConversation, UnknownPlace
from muniment.events.changes import Action, Transition
from muniment.events.identity import Channel, SpaceName, TurnId
from muniment.evidence.verifier import verify_receipt
from muniment.governance.access import Access, Effect
from muniment.governance.custody import Rule
from muniment.governance.limits import Limits
from muniment.operations.lifecycle.scope import Scope
from tests.runtime.custody import (
    EVERYTHING,
    START_MS,
    TALKING,
    Hands,
    by_hand,
    erase,
    hold,
    left,
    of,
    said,
    talk,
    turn,
    unnamed,
    words,
)
from tests.turns import TALK
from tests.worlds import OPERATOR, FileWorld, World, key_of, memory_world


@pytest.fixture
def timed() -> Iterator[tuple[World, Hands]]:
    """Return a world in memory and its clock."""
    world, hands = by_hand()
    yield world, hands
    world.close()


# --- holds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [turn(2), TALKING, of("ada"), EVERYTHING], ids=["turn", "talk", "subject", "space"])
def test_a_hold_beats_erasure_and_the_report_says_which_hold(world: World, scope: Scope) -> None:
    """Position, reason and requester of the hold; after its release the same request erases."""
    world.with_turns(3)
    held = hold(world, scope)
    kept = [2] if scope.turn is not None else [1, 2, 3]
    assert (held.changed, held.affected_turns, held.transition) == (True, len(kept), Action.HOLD)
    report = world.request(Transition.ERASE)
    assert [each.sequence for each in report.kept] == kept
    assert {(each.rule, each.position, each.reason, each.requester) for each in report.kept} == {
        (Rule.HOLD, held.position, "a lawsuit", OPERATOR)
    }
    assert (report.kept_turns, report.affected_turns, left(world)) == (len(kept), 3 - len(kept), kept)
    assert held.position is not None
    released = world.runtime.lifecycle.release(held.position, "settled", OPERATOR)
    assert (released.changed, released.affected_turns) == (True, len(kept))
    assert world.request(Transition.ERASE).turns == [f"turn-{number}" for number in kept]
    assert left(world) == []


def test_a_hold_of_everything_is_also_about_what_is_still_to_come(world: World) -> None:
    world.with_turns(1)
    hold(world, TALKING)
    world.with_turns(1)
    hold(world, of("bob"))
    world.with_turn(said(1, "bob", "new"))
    world.with_turn(said(2, "ada", "new", acting="bob"))
    world.with_turn(said(3, "ada", "new"))
    assert not erase(world, TALKING).changed
    assert erase(world, talk("new")).turns == ["turn-3"]
    assert (left(world), left(world, "new")) == ([1, 2], [1, 2])


def test_all_holds_of_a_turn_must_be_released(world: World) -> None:
    """A second hold for another reason is a second hold; the same one again is not."""
    world.with_turns(1)
    first, second, again = hold(world, turn(1)), hold(world, turn(1), "an audit"), hold(world, turn(1))
    assert (again.changed, again.position) == (False, first.position)
    assert second.position != first.position
    report = erase(world, TALKING)
    assert [each.position for each in report.kept] == [first.position, second.position]
    assert report.kept_turns == 1
    for each, gone in ((first, False), (second, True)):
        assert each.position is not None
        assert world.runtime.lifecycle.release(each.position, "over", OPERATOR).changed
        assert not world.runtime.lifecycle.release(each.position, "over", OPERATOR).changed
        assert erase(world, TALKING).changed is gone


def test_a_hold_that_could_hold_nothing_is_an_error(world: World) -> None:
    """It must not look as if something were held."""
    world.with_turns(1)
    with pytest.raises(UnknownConversation):
        hold(world, talk("nowhere"))
    with pytest.raises(UnknownPlace):
        hold(world, turn(9))
    with pytest.raises(InvalidInput):
        hold(world, Scope(conversation=TALK, message="turn-1#0"))
    for position in (-1, 0, 2, 10_000):
        with pytest.raises(HoldMissing):
            world.runtime.lifecycle.release(position, "over", OPERATOR)
    transition = world.request(Transition.MASK, 1).position
    assert transition is not None
    with pytest.raises(HoldMissing):
        world.runtime.lifecycle.release(transition, "over", OPERATOR)


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ({}, "scope"),
        ({"conversation": TALK, "subject": "ada"}, "scope"),
        ({"subject": "ada", "turn": "turn-1"}, "scope.turn"),
        ({"whole_space": "default", "channel": "mail"}, "scope.channel"),
        ({"conversation": TALK, "turn": "turn-1", "message": "turn-2#0"}, "scope.message"),
        ({"subject": " ada"}, "scope.subject"),
    ],
    ids=range(6),
)
def test_a_scope_is_exactly_one_thing(world: World, given: dict[str, str], at: str) -> None:
    scope = msgspec.convert(given, Scope)
    with pytest.raises(InvalidInput) as refused:
        erase(world, scope)
    assert refused.value.at == at
    with pytest.raises(InvalidInput) as refused:
        world.runtime.lifecycle.review(Action.ERASE, scope)
    assert refused.value.at == at
    with pytest.raises(ForeignSpace):
        erase(world, Scope(whole_space=SpaceName("other")))


def test_holds_change_no_view_no_order_and_no_cursor(world: World) -> None:
    """CT-02, PG-07: what is listed and shown is not what a hold is about."""
    world.with_turns(3).with_turns(2, "other")
    pages = [world.replay().turns, world.runtime.conversations.list_().conversations]
    listing = world.runtime.conversations.list_(limit=1)
    timeline = world.runtime.transcripts.timeline(key_of(), limit=1)
    held = [hold(world, scope) for scope in (turn(1), TALKING, of("ada"), EVERYTHING)]
    assert held[0].position is not None
    world.runtime.lifecycle.release(held[0].position, "over", OPERATOR)
    world.runtime.lifecycle.retain("the law", OPERATOR, keep_at_least_ms=1)
    assert world.replay().turns == pages[0]
    followed = world.runtime.conversations.list_(limit=1, cursor=listing.next_cursor)
    assert [listing.conversations[0].conversation, followed.conversations[0].conversation] == ["other", TALK]
    older = world.runtime.transcripts.timeline(key_of(), limit=1, cursor=timeline.older_cursor)
    assert [each.turn for each in older.turns] == ["turn-2"]
    for phase in (Transition.ARCHIVE, Transition.MASK):
        assert world.request(phase).changed  # not what a hold forbids


def test_holds_and_policies_are_the_same_after_a_restart(lasting: FileWorld) -> None:
    """Everything is counted for at opening, and the audit takes it."""
    lasting.with_turns(2)
    hold(lasting, turn(1))
    hold(lasting, of("bob"))
    lasting.runtime.lifecycle.retain("the law", OPERATOR, keep_at_least_ms=5)
    before = lasting.runtime.lifecycle.review(Action.ERASE, TALKING)
    lasting.reopened()
    assert lasting.runtime.system.health().sound
    assert lasting.runtime.evidence.audit().spaces
    after = lasting.runtime.lifecycle.review(Action.ERASE, EVERYTHING)
    assert [each.position for each in after.holds] == [5, 4]
    assert [each.subject for each in after.holds] == ["bob", None]
    assert (before.policies, len(before.holds)) == (after.policies, 1 + 1)
    assert not erase(lasting, turn(1)).changed


def test_holds_and_releases_stand_in_the_receipts_with_their_proof(world: World) -> None:
    """LC-11: who, why and when, and a proof."""
    world.with_turns(2)
    first, second = hold(world, turn(2)), hold(world, TALKING, "an audit")
    assert second.position is not None
    world.runtime.lifecycle.release(second.position, "over", "judge")
    entries = world.runtime.lifecycle.receipts(key_of()).entries
    assert [(each.transition, each.first, each.last, each.hold, each.reason) for each in entries] == [
        (Action.HOLD, 2, 2, None, "a lawsuit"), (Action.HOLD, 1, None, None, "an audit"),
        (Action.RELEASE, 1, None, second.position, "over"),
    ]  # fmt: skip
    vkey = world.runtime.evidence.checkpoint().vkey
    proved = [verify_receipt(each.proof.encode(), vkey).header for each in entries]
    assert (proved[0]["pos"], proved[0]["reason"]) == (first.position, "hold")


def test_who_may_not_administer_may_neither_hold_nor_release(world: World) -> None:
    world.with_turns(1)
    held = hold(world, turn(1))
    assert held.position is not None
    narrow = world.runtime.restricted(Access(effects=frozenset({Effect.READ, Effect.APPEND, Effect.ERASE})))
    for attempt in (
        lambda: narrow.lifecycle.hold(turn(1), "why", "who"),
        lambda: narrow.lifecycle.release(held.position, "why", "who"),
        lambda: narrow.lifecycle.retain("why", "who", erase_after_ms=1),
        lambda: narrow.lifecycle.erase(EVERYTHING, "why", "who"),
    ):
        with pytest.raises(AccessDenied):
            attempt()
    reader = world.runtime.restricted(Access(effects=frozenset({Effect.READ})))
    assert reader.lifecycle.review(Action.ERASE, TALKING).kept_turns == 1
    other = world.runtime.restricted(Access(subject="bob"))
    with pytest.raises(AccessDenied):
        other.lifecycle.erase(of("ada"), "why", "who")


@pytest.mark.parametrize("claimed_ms", [1, 4_100_000_000_000])
def test_no_claimed_time_moves_retention_or_a_legal_minimum(timed: tuple[World, Hands], claimed_ms: int) -> None:
    """A host that claims 1970 gets nothing erased early, one that claims 2100 keeps nothing longer (decision 0132)."""
    world, hands = timed
    honest = said(2)
    claimed = [replace(message, observed_ms=claimed_ms) for message in said(1).messages]
    world.with_turn(replace(said(1), messages=claimed)).with_turn(honest)
    world.runtime.lifecycle.retain("the law", OPERATOR, keep_at_least_ms=100)
    hands.ms = START_MS + 99
    assert (erase(world, TALKING).kept_turns, left(world)) == (2, [1, 2])
    until = [each.keep_until_ms for each in erase(world, TALKING).kept]
    assert until == [START_MS + 100] * 2
    world.runtime.lifecycle.retain("house rules", OPERATOR, erase_after_ms=200)
    hands.ms = START_MS + 199
    assert world.runtime.lifecycle.apply_retention(OPERATOR).erased_turns == 0
    hands.ms = START_MS + 200
    assert (world.runtime.lifecycle.apply_retention(OPERATOR).erased_turns, left(world)) == (2, [])


# --- retention --------------------------------------------------------------------------------------------------------


def test_retention_erases_what_is_due_and_nothing_that_is_kept(timed: tuple[World, Hands]) -> None:
    world, hands = timed
    for number in (1, 2, 3, 4):
        world.with_turn(said(number))
        hands.ms += 100
    hold(world, turn(1))
    world.runtime.lifecycle.retain("house rules", OPERATOR, erase_after_ms=150)
    dry = world.runtime.lifecycle.apply_retention(OPERATOR, dry_run=True)
    assert (dry.dry_run, dry.changed, dry.due_turns, dry.kept_turns, dry.erased_turns) == (True, False, 2, 1, 0)
    assert left(world) == [1, 2, 3, 4]
    done = world.runtime.lifecycle.apply_retention(OPERATOR)
    assert (done.changed, done.due_turns, done.erased_turns, done.left_turns) == (True, 2, 2, 0)
    assert [(each.turn, each.rule) for each in done.kept] == [("turn-1", Rule.HOLD)]
    assert [each.turns for each in done.conversations] == [["turn-2", "turn-3"]]
    assert done.receipts[0].positions == [world.runtime.lifecycle.receipts(key_of()).entries[-1].position]
    assert left(world) == [1, 4]
    again = world.runtime.lifecycle.apply_retention(OPERATOR)
    assert (again.changed, again.due_turns, again.kept_turns, again.receipts) == (False, 0, 1, [])
    entry = world.runtime.lifecycle.receipts(key_of()).entries[-1]
    assert (entry.transition, entry.reason) == (Action.ERASE, "expired")


def test_a_legal_minimum_beats_requests_and_ends(timed: tuple[World, Hands]) -> None:
    """The report says until when, and which policy says so; of several scopes the longest minimum."""
    world, hands = timed
    world.with_turn(said(1))
    retain = world.runtime.lifecycle.retain
    space = retain("the law", "counsel", keep_at_least_ms=1000)
    retain("shorter", OPERATOR, Channel("default"), keep_at_least_ms=10)
    retain("house rules", OPERATOR, Channel("default"), TALK, erase_after_ms=1)
    report = erase(world, turn(1))
    (kept,) = report.kept
    assert (kept.rule, kept.position, kept.requester) == (Rule.LEGAL_MINIMUM, space.position, "counsel")
    assert kept.keep_until_ms == START_MS + 1000
    assert not report.changed
    hands.ms = START_MS + 999
    assert not world.runtime.lifecycle.apply_retention(OPERATOR).changed
    hands.ms += 1
    assert world.runtime.lifecycle.apply_retention(OPERATOR).erased_turns == 1


def test_setting_a_policy_replaces_it_and_setting_nothing_takes_it_back(timed: tuple[World, Hands]) -> None:
    world, _ = timed
    retain = world.runtime.lifecycle.retain
    first = retain("rules", OPERATOR, erase_after_ms=5)
    assert (first.changed, retain("again", OPERATOR, erase_after_ms=5).changed) == (True, False)
    second = retain("law", OPERATOR, keep_at_least_ms=7)
    (policy,) = second.policies
    assert (policy.position, policy.keep_at_least_ms, policy.erase_after_ms) == (second.position, 7, None)
    assert retain("none", OPERATOR).policies == []
    assert not retain("none", OPERATOR).changed
    assert [each.reason for each in retain("mail", OPERATOR, Channel("mail"), erase_after_ms=1).policies] == ["mail"]


@pytest.mark.parametrize("period_ms", [0, -1, 2**53])
def test_a_period_is_above_zero_and_bounded(world: World, period_ms: int) -> None:
    retain = world.runtime.lifecycle.retain
    with pytest.raises(InvalidInput) as refused:
        retain("why", "who", keep_at_least_ms=period_ms)
    assert refused.value.at == "keep_at_least_ms"
    with pytest.raises(InvalidInput) as refused:
        retain("why", "who", erase_after_ms=period_ms)
    assert refused.value.at == "erase_after_ms"
    with pytest.raises(InvalidInput):
        world.runtime.lifecycle.retain("why", "who", conversation=TALK, erase_after_ms=1)
    with pytest.raises(InvalidInput):
        world.runtime.lifecycle.apply_retention("who", limit=0)


def test_a_limit_leaves_the_others_for_another_time(
    timed: tuple[World, Hands], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches too: each has a receipt, and a repeat goes on where the last one ended."""
    monkeypatch.setattr("muniment.operations.lifecycle.retention.BATCH_TURNS", 2)
    world, hands = timed
    for number in range(1, 6):
        world.with_turn(said(number)).with_turn(said(number, "bob", "other"))
    world.runtime.lifecycle.retain("rules", OPERATOR, erase_after_ms=1)
    hands.ms += 1
    done = world.runtime.lifecycle.apply_retention(OPERATOR, limit=7)
    assert (done.due_turns, done.erased_turns, done.left_turns, len(done.receipts)) == (10, 7, 3, 4)
    assert (left(world), left(world, "other")) == ([], [3, 4, 5])
    done = world.runtime.lifecycle.apply_retention(OPERATOR)
    assert (done.due_turns, done.erased_turns, len(done.receipts)) == (3, 3, 2)


# --- reviews ----------------------------------------------------------------------------------------------------------


def furnished(world: World) -> World:
    """Fill a world with what a review may meet."""
    world.with_turns(4).with_turn(said(1, "bob", "other")).with_turn(said(2, "ada", "other")).masked(1).erased(2)
    hold(world, turn(3))
    hold(world, of("cy"))
    world.runtime.lifecycle.retain("law", OPERATOR, Channel("default"), TALK, keep_at_least_ms=10**12)
    return world


@pytest.mark.parametrize("action", [each for each in Action if each is not Action.RELEASE])
@pytest.mark.parametrize("scope", [turn(4), TALKING, of("bob"), EVERYTHING], ids=["turn", "talk", "subject", "space"])
def test_a_review_appends_nothing_and_predicts_what_the_request_does(
    lasting: FileWorld, action: Action, scope: Scope
) -> None:
    """LC-02, ST-08: the store's bytes stay what they are, and the report is that of the request."""
    furnished(lasting)
    lifecycle = lasting.runtime.lifecycle
    lasting.runtime.evidence.checkpoint()
    before = {path.name: path.read_bytes() for path in lasting.store.rglob("*") if path.is_file()}
    before.pop("log.db-shm", None)  # locks of readers
    if action not in (Action.ERASE, Action.HOLD) and scope.key is None:
        with pytest.raises(InvalidInput):
            lifecycle.review(action, scope)
        return
    reviewed = lifecycle.review(action, scope)
    for name, data in before.items():
        assert next(lasting.store.rglob(name)).read_bytes() == data, name
    assert (reviewed.changed, reviewed.position, reviewed.receipt) == (False, None, None)
    if action is Action.HOLD:
        did = lifecycle.hold(scope, "why", "who")
    elif action is Action.ERASE:
        did = lifecycle.erase(scope, "why", "who")
    else:
        did = lifecycle.request(key_of(), Transition(action), "why", "who", scope.turn)
    assert did.changed == (bool(reviewed.affected_turns) and scope is not EVERYTHING) or action is Action.HOLD
    said_why = {"reason": "", "requester": "", "requested_ms": 0, "changed": False, "position": None, "receipt": None}
    assert replace(did, **said_why, holds=[], policies=[]) == replace(reviewed, holds=[], policies=[])


def test_a_review_lists_what_is_in_force(world: World) -> None:
    """A review of the whole space lists every hold and every policy; one of a conversation those that bear on it."""
    furnished(world)
    review = world.runtime.lifecycle.review
    everywhere = review(Action.HOLD, EVERYTHING)
    assert [(each.conversation, each.first, each.subject) for each in everywhere.holds] == [
        (None, None, "cy"), (TALK, 3, None),
    ]  # fmt: skip
    assert [each.conversation for each in everywhere.policies] == [TALK]
    assert (everywhere.affected_turns, len(everywhere.conversations)) == (5, 2)
    other = review(Action.MASK, talk("other"))
    assert ([each.subject for each in other.holds], other.policies) == (["cy"], [])
    assert [each.first for each in review(Action.MASK, turn(3)).holds] == [None, 3]
    assert [each.first for each in review(Action.MASK, turn(4)).holds] == [None]
    assert review(Action.ERASE, of("bob")).holds == [everywhere.holds[1]]
    with pytest.raises(InvalidInput):
        review(Action.RELEASE, TALKING)


def test_lists_of_what_is_kept_are_clipped_and_counts_are_not() -> None:
    """LC-12."""
    world = memory_world(limits=Limits(report_items_max=2)).with_turns(5)
    hold(world, TALKING)
    report = erase(world, TALKING)
    assert (report.kept_turns, len(report.kept), report.clipped) == (5, 2, True)
    world.close()


def test_a_turn_that_cannot_be_named_any_more_is_kept_by_every_hold_of_a_subject(tmp_path: Path) -> None:
    """In doubt a hold holds: nobody knows who owns the turn."""
    world, _ = by_hand(tmp_path)
    assert isinstance(world, FileWorld)
    world.with_turn(said(1)).with_turn(said(2))
    hold(world, of("bob"))
    unnamed(world, 2)
    report = erase(world, TALKING)
    assert [(each.sequence, each.rule, each.turn) for each in report.kept] == [(1, Rule.HOLD, None)]
    assert report.turns == [TurnId("turn-2")]
    world.close()


def test_words_is_what_the_views_show(world: World) -> None:
    """The control: the helper of these tests sees words."""
    world.with_turn(said(1))
    assert words(world) == [["question 1 in talk", "answer 1 in talk"]]
