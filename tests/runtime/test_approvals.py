"""Approval by two persons, through the front door, and attacks on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from muniment.errors import AccessDenied, ApprovalNeeded, InvalidInput, MunimentError
from muniment.events.approving import GuardedAct
from muniment.events.changes import Action, Transition
from muniment.events.identity import Channel, TurnId
from muniment.events.records import EventKind
from muniment.governance.access import Access, Effect
from muniment.governance.approval_rules import ApprovalState
from muniment.operations.lifecycle.scope import Scope
from tests.runtime.custody import EVERYTHING, TALKING, Hands, by_hand, left, of, turn
from tests.turns import TALK
from tests.worlds import FileWorld, World, key_of

HOUR_MS = 60 * 60 * 1000
BOTH = [GuardedAct.ERASE, GuardedAct.REVEAL]


@pytest.fixture
def timed() -> Iterator[tuple[World, Hands]]:
    """Yield a world in memory with three turns, in which erasing and revealing take two persons, and its clock."""
    world, hands = by_hand()
    guarded(world.with_turns(3))
    yield world, hands
    world.close()


@pytest.fixture
def world(timed: tuple[World, Hands]) -> World:
    return timed[0]


def guarded(world: World) -> None:
    assert world.runtime.approvals.require(BOTH, "house rules", "carol", HOUR_MS).changed


def erase(world: World, scope: Scope = TALKING, reason: str = "asked for", who: str = "ada") -> bool:
    return world.runtime.lifecycle.erase(scope, reason, who).changed


def asked(act: Callable[[], object]) -> int:
    """Return the position at which a refused act waits."""
    with pytest.raises(ApprovalNeeded) as needed:
        act()
    assert needed.value.limit is not None
    return needed.value.limit


def confirm(world: World, position: int, who: str = "bob") -> bool:
    return world.runtime.approvals.confirm(position, "seen", who).changed


def states(world: World) -> list[tuple[int, ApprovalState]]:
    return [(each.position, each.state) for each in world.runtime.approvals.list_().approvals]


def test_an_erasure_waits_for_a_second_person_and_runs_when_it_is_repeated(world: World) -> None:
    position = asked(lambda: erase(world))
    assert (left(world), asked(lambda: erase(world))) == ([1, 2, 3], position)
    assert confirm(world, position)
    assert (left(world), states(world)) == ([1, 2, 3], [(position, "confirmed")])
    assert not confirm(world, position)
    assert erase(world)
    assert (left(world), states(world)) == ([], [(position, "used")])
    assert not erase(world)  # nothing is left to erase, so there is nothing to ask for


def test_a_request_says_what_it_is_about_and_who_decided(world: World) -> None:
    position = asked(lambda: erase(world, turn(2)))
    confirm(world, position)
    erase(world, turn(2))
    (entry,) = world.runtime.approvals.list_().approvals
    assert (entry.act, entry.requester, entry.reason) == ("erase", "ada", "erased")  # with the turn
    assert entry.about == {"channel": "default", "conversation": TALK, "turn": "turn-2"}
    assert (entry.decided_by, entry.decided_for, entry.state) == ("bob", "erased", "used")
    assert entry.expires_ms == entry.requested_ms + HOUR_MS
    told = world.runtime.evidence.disclosures().disclosures
    assert [(each.kind, each.requester, each.decision, each.approval) for each in told] == [
        (EventKind.APPROVAL_SET, "carol", None, None),
        (EventKind.APPROVAL_REQUESTED, "ada", None, None),
        (EventKind.APPROVAL_DECIDED, "bob", "confirmed", position),
        (EventKind.APPROVAL_DECIDED, "ada", "used", position),
    ]
    assert [each.kind for each in world.runtime.evidence.disclosures(key_of()).disclosures] == ["approval.requested"]


@pytest.mark.parametrize("again", ["ada", "ADA", "\uff41da"])
def test_nobody_confirms_their_own_request(world: World, again: str) -> None:
    """Under no other spelling of the name; and an access that is kept to a subject confirms nothing."""
    position = asked(lambda: erase(world))
    with pytest.raises(InvalidInput) as refused:
        confirm(world, position, again)
    assert (refused.value.at, refused.value.problem) == ("approver", "asked_for_it")
    narrow = world.runtime.restricted(Access(subject="ada"))
    with pytest.raises(AccessDenied):
        narrow.approvals.confirm(position, "seen", "bob")
    mine = asked(lambda: narrow.lifecycle.erase(of("ada"), "asked for", "eve"))
    for who in ("eve", "ada"):
        with pytest.raises(InvalidInput):
            confirm(world, mine, who)
    assert {state for _, state in states(world)} == {"pending"}
    assert left(world) == [1, 2, 3]


def test_confirming_takes_the_right_to_administer(world: World) -> None:
    position = asked(lambda: erase(world))
    narrow = world.runtime.restricted(Access(effects=frozenset(Effect) - {Effect.ADMIN}))
    for decide in (narrow.approvals.confirm, narrow.approvals.refuse):
        with pytest.raises(AccessDenied):
            decide(position, "seen", "bob")


@pytest.mark.parametrize("passed_ms", [HOUR_MS, HOUR_MS + 1, -1])
def test_what_has_expired_neither_is_confirmed_nor_runs(timed: tuple[World, Hands], passed_ms: int) -> None:
    """Also when the clock was set back to before the request."""
    world, hands = timed
    late, early = asked(lambda: erase(world)), asked(lambda: erase(world, turn(1)))
    confirm(world, early)
    hands.ms += passed_ms
    assert {state for _, state in states(world)} == {"expired"}
    for position in (late, early)[: 1 if passed_ms > 0 else 2]:
        with pytest.raises(InvalidInput) as refused:
            confirm(world, late)
        assert refused.value.problem == "expired"
        assert asked(lambda: erase(world, turn(1))) > position
    assert left(world) == [1, 2, 3]


@pytest.mark.parametrize(
    "other",
    [
        lambda world: erase(world, turn(2)),
        lambda world: erase(world, turn(1), "another reason"),
        lambda world: erase(world, turn(1), who="dan"),
        lambda world: erase(world, TALKING),
        lambda world: world.runtime.restricted(Access(subject="ada")).lifecycle.erase(turn(1), "asked for", "ada"),
        lambda world: world.runtime.disclosure.reveal(key_of(), TurnId("turn-1"), "asked for", "ada"),
    ],
)
def test_an_approval_is_of_the_exact_request(world: World, other: Callable[[World], object]) -> None:
    """Another turn, reason, person, access or act is another request, and waits by itself."""
    position = asked(lambda: erase(world, turn(1)))
    confirm(world, position)
    assert asked(lambda: other(world)) != position
    assert left(world) == [1, 2, 3]
    assert erase(world, turn(1))


def test_each_use_spends_the_approval(world: World) -> None:
    def reveal() -> object:
        return world.runtime.disclosure.reveal(key_of(), TurnId("turn-1"), "a complaint", "ada")

    first = asked(reveal)
    confirm(world, first)
    reveal()
    second = asked(reveal)
    assert second != first
    with pytest.raises(InvalidInput) as refused:
        confirm(world, first, "carol")
    assert refused.value.problem == "used"
    told = world.runtime.evidence.disclosures().disclosures
    assert sum(each.kind == EventKind.CONTENT_REVEALED for each in told) == 1


def test_a_refused_request_does_not_run(world: World) -> None:
    """Also when it was confirmed before; who asks again waits again, in sight."""
    first = asked(lambda: erase(world))
    confirm(world, first)
    assert world.runtime.approvals.refuse(first, "on second thought", "bob").changed
    assert not world.runtime.approvals.refuse(first, "on second thought", "bob").changed
    with pytest.raises(InvalidInput):
        confirm(world, first)
    second = asked(lambda: erase(world))
    assert second > first
    assert world.runtime.approvals.refuse(second, "my mistake", "ada").changed
    assert (states(world), left(world)) == ([(second, "refused"), (first, "refused")], [1, 2, 3])


@pytest.mark.parametrize("position", [-1, 0, 2, 9999])
def test_what_is_no_request_cannot_be_confirmed(world: World, position: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        confirm(world, position)
    assert refused.value.problem == "no_such_request"


def test_every_way_to_erase_on_request_takes_two(world: World) -> None:
    """A request of a transition is the same as the erasure of the same turns; the space and retention are others."""
    runtime = world.runtime
    ways = [
        lambda: runtime.lifecycle.erase(EVERYTHING, "asked for", "ada"),
        lambda: runtime.lifecycle.erase(of("ada"), "asked for", "ada"),
        lambda: runtime.lifecycle.retain("asked for", "ada", erase_after_ms=1),
        lambda: runtime.lifecycle.retain("asked for", "ada", Channel("default"), TALK, erase_after_ms=1),
    ]
    assert len({asked(way) for way in ways}) == len(ways)
    position = asked(lambda: erase(world, turn(1)))
    again = asked(lambda: runtime.lifecycle.request(key_of(), Transition.ERASE, "asked for", "ada", TurnId("turn-1")))
    assert again == position
    assert left(world) == [1, 2, 3]
    assert runtime.lifecycle.review(Action.ERASE, TALKING).affected_turns == 3
    assert runtime.lifecycle.request(key_of(), Transition.MASK, "asked for", "ada").changed


def test_retention_runs_by_one_person_under_a_policy_that_two_have_set(timed: tuple[World, Hands]) -> None:
    """And no one person gets more erased by changing policies."""
    world, hands = timed
    retain = world.runtime.lifecycle.retain
    assert retain("the law", "ada", keep_at_least_ms=1).changed
    position = asked(lambda: retain("rules", "ada", erase_after_ms=1000))
    confirm(world, position)
    assert retain("rules", "ada", erase_after_ms=1000).changed
    assert not retain("rules", "ada", erase_after_ms=1000).changed
    asked(lambda: retain("rules", "ada", erase_after_ms=1))
    asked(lambda: retain("narrow", "ada", Channel("mail"), erase_after_ms=1))
    hands.ms += 1000
    assert world.runtime.lifecycle.apply_retention("dan").erased_turns == 3
    assert retain("none", "ada").policies == []


def test_a_space_is_erased_by_two(world: World) -> None:
    position = asked(lambda: erase(world, EVERYTHING))
    confirm(world, position)
    assert world.runtime.lifecycle.erase(EVERYTHING, "asked for", "ada").receipt is not None
    with pytest.raises(MunimentError):
        world.replay()


def test_a_rule_grows_by_one_person_and_shrinks_by_two(timed: tuple[World, Hands]) -> None:
    """Nobody turns the rule off alone, and nobody makes it impossible to fulfil alone."""
    world, _ = timed
    require = world.runtime.approvals.require
    assert not require(BOTH, "the same", "ada", HOUR_MS).changed
    for acts, within_ms in (([], HOUR_MS), ([GuardedAct.ERASE], HOUR_MS), (BOTH, 60_000), (BOTH, 2 * HOUR_MS)):
        asked(partial(require, acts, "off", "ada", within_ms))
    assert world.runtime.approvals.list_().rule.acts == BOTH
    position = asked(lambda: require([], "off", "ada", HOUR_MS))
    with pytest.raises(InvalidInput):
        confirm(world, position, "ada")
    confirm(world, position)
    assert require([], "off", "ada", HOUR_MS).acts == []
    assert not require([], "off", "ada", HOUR_MS).changed
    assert erase(world)


@pytest.mark.parametrize(("acts", "within_ms"), [(BOTH, 0), (BOTH, 2**60), ([GuardedAct.APPROVALS], HOUR_MS)])
def test_a_rule_that_cannot_be_is_refused(world: World, acts: list[GuardedAct], within_ms: int) -> None:
    with pytest.raises(InvalidInput):
        world.runtime.approvals.require(acts, "why", "who", within_ms)


def test_what_holds_keep_is_not_asked_of_a_second_person(world: World) -> None:
    world.runtime.lifecycle.hold(TALKING, "a lawsuit", "carol")
    report = world.runtime.lifecycle.erase(TALKING, "asked for", "ada")
    assert (report.changed, report.kept_turns, states(world)) == (False, 3, [])


def test_of_two_who_use_one_approval_at_once_one_waits(tmp_path: Path) -> None:
    """The approval is spent in the transaction of the act, so that two processes or threads cannot both use it."""
    world, _ = by_hand(tmp_path)
    guarded(world.with_turns(1))

    def reveal() -> object:
        return world.runtime.disclosure.reveal(key_of(), TurnId("turn-1"), "a complaint", "ada")

    confirm(world, asked(reveal))
    outcomes: list[str] = []
    barrier = threading.Barrier(4)

    def attempt() -> None:
        barrier.wait()
        try:
            reveal()
            outcomes.append("revealed")
        except ApprovalNeeded:
            outcomes.append("waits")

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["revealed", "waits", "waits", "waits"]
    world.close()


def test_an_approval_outlives_the_process_and_no_edit_at_rest_hides_the_rule(tmp_path: Path) -> None:
    world, _ = by_hand(tmp_path)
    guarded(world.with_turns(1))
    position = asked(lambda: erase(world))
    confirm(world.reopened(), position)
    assert isinstance(world, FileWorld)
    with world.edited() as raw:
        raw.execute("DELETE FROM events WHERE kind = 'approval.set'")
    with pytest.raises(MunimentError) as refused:
        erase(world, turn(1))
    assert refused.value.code.startswith("store.")
    world.close()
