"""Proposals: what somebody would have remembered is kept aside until somebody else decides."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.errors import AccessDenied, Conflict, InvalidInput, Kind, UnknownPlace
from muniment.events.identity import SubjectId
from muniment.events.memory_governance import PolicyAction
from muniment.events.memory_items import ItemPrivacy, MemoryPlane
from muniment.governance.access import Access
from muniment.governance.views import View
from muniment.memory.amendment import PinItem, RestoreItem
from muniment.memory.candidate import ItemAudience, ItemSource, Ruling
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.selection import ItemFilter
from muniment.operations.notebook.decide_report import DecideReport, ProposalVerdict
from muniment.operations.notebook.list_proposals import ProposalFilter, ShownProposal
from muniment.operations.notebook.policy_requests import MemorySelector
from muniment.operations.notebook.propose import ProposedCandidate
from tests.laws.every_key import Keys, opened_by, sealed_values
from tests.memory.asking import HOME_CITY, amend, forget, listed, remember, size, texts
from tests.memory.items import candidate
from tests.turns import SUBJECT, plain_turn
from tests.worlds import OPERATOR, World, key_of, sqlite_world

ACCEPT, REJECT = ProposalVerdict.ACCEPT, ProposalVerdict.REJECT


def propose(world: World, text: str = "Lives in Rome", turn: int | None = 1, **more: Any) -> ProposedCandidate:
    given = candidate(text, turn, **{"judgement": None} | more)
    (decided,) = world.runtime.notebook.propose([given], "she said so", "host").candidates
    return decided


def proposals(world: World, view: View = View.RAW_OWNER, **more: Any) -> list[ShownProposal]:
    return world.runtime.notebook.proposals(SUBJECT, view, **more).proposals


def decide(world: World, proposal: str | None, verdict: ProposalVerdict, **more: Any) -> DecideReport:
    return world.runtime.notebook.decide(proposal or "", verdict, "fine", OPERATOR, **more)


def test_a_proposal_changes_nothing_and_only_proposals_show_it(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    told = propose(world)
    assert (told.changed, told.decision, told.reason, told.replaces) == (
        True, Ruling.ACCEPT, "newer_statement", "i-1",
    )  # fmt: skip
    for view in (View.RAW_OWNER, View.HOST_UI):
        assert texts(world, view, state=ItemFilter.ALL) == ["Lives in Oslo"]
    assert "Rome" not in world.runtime.memory.prompt(SUBJECT, 1000).text
    with pytest.raises(UnknownPlace):
        world.runtime.memory.show(told.proposal or "", View.RAW_OWNER)
    for amendment in (PinItem(), RestoreItem()):
        assert amend(world, told.proposal or "", amendment).reason == "target_not_found"
    assert forget(world, ForgetTarget(words="Rome"), dry_run=True).reason == "target_not_found"
    (shown,) = proposals(world)
    assert (shown.item.id, shown.item.text, shown.rationale) == (told.proposal, "Lives in Rome", "she said so")
    (audit,) = proposals(world, View.OPERATOR_AUDIT)
    assert (audit.item.text, audit.rationale) == (None, None)


def test_accepting_goes_through_the_path_of_any_candidate(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    told = propose(world, confidence=0.9, keywords=["Italy"], importance=0.25)
    assert decide(world, told.proposal, ACCEPT, dry_run=True).candidate is not None
    done = decide(world, told.proposal, ACCEPT)
    assert done.candidate is not None
    assert (done.changed, done.candidate.reason, done.candidate.replaces) == (True, "newer_statement", "i-1")
    (item,) = listed(world)
    assert (item.text, item.keywords, item.importance, item.writer) == ("Lives in Rome", ["Italy"], 0.25, OPERATOR)
    assert proposals(world) == []
    (old,) = proposals(world, state=ProposalFilter.ALL)
    assert (old.item.retired, old.item.successor) == ("accepted", item.id)
    before = size(world)
    for verdict in ProposalVerdict:
        again = decide(world, told.proposal, verdict)
        said = "already_decided" if verdict is ACCEPT else "decided_otherwise"
        assert (again.changed, again.reason, size(world)) == (False, said, before)


def test_a_proposal_is_judged_by_the_state_in_which_it_is_accepted(world: World) -> None:
    world.with_turns(2)
    told = propose(world, confidence=0.5)
    remember(world, confidence=0.9)
    late = decide(world, told.proposal, ACCEPT)
    assert (late.changed, late.reason) == (False, "older_observation")
    hidden = propose(world, "Walks", 2, topic="commute")
    world.masked(2)
    assert decide(world, hidden.proposal, ACCEPT).reason == "evidence_hidden"
    assert len(proposals(world)) == 2


def test_a_rejected_proposal_is_decided_and_may_be_made_again(world: World) -> None:
    world.with_turns(1)
    told = propose(world)
    assert decide(world, told.proposal, REJECT).changed
    assert (proposals(world), texts(world)) == ([], [])
    assert propose(world).changed


def test_what_would_change_nothing_is_no_proposal(world: World) -> None:
    world.with_turns(2)
    remember(world)
    first = propose(world, topic="commute", id="p-1")
    before = size(world)
    assert propose(world, "lives in oslo").reason == "same_text"
    assert propose(world, privacy=ItemPrivacy.PRIVATE_GARDEN).decision is Ruling.DEFER
    for again in (propose(world, topic="commute"), propose(world, topic="commute", id="p-1")):
        assert (again.changed, again.reason, again.proposal) == (False, "already_proposed", first.proposal)
    with pytest.raises(Conflict):
        propose(world, "Something else", topic="commute", id="p-1")
    with pytest.raises(Conflict):
        remember(world, "Lives in Rome", topic="commute", id="p-1")
    given = [candidate("Swims", topic="sport")]
    assert world.runtime.notebook.propose(given, "why", "host", dry_run=True).proposed == 0
    assert size(world) == before


def test_forgetting_takes_the_proposals_that_say_it_along(lasting: Any) -> None:
    """No key that is in use opens the words of an item that was forgotten, also not in what it was accepted from."""
    world = lasting.with_turns(1)
    accepted = propose(world, "CANARYACCEPTED")
    decide(world, accepted.proposal, ACCEPT)
    rejected = propose(world, "CANARYREJECTED")
    decide(world, rejected.proposal, REJECT)
    world.close()
    before, keys = sealed_values(world.store), Keys()
    world = world.reopened()
    done = forget(world, HOME_CITY)
    assert len(done.items) == 3
    with keys.heard():
        world = world.reopened()
        assert proposals(world, state=ProposalFilter.ALL) == []
        assert not world.runtime.evidence.inspect().fail_closed
        world.close()
    assert not opened_by(before | sealed_values(world.store), keys.used(), b"CANARY")


def test_a_forgotten_proposal_does_not_come_back_from_the_same_turns(world: World) -> None:
    world.with_turns(2)
    told = propose(world)
    assert forget(world, ForgetTarget(item=told.proposal)).accepted
    assert (proposals(world), decide(world, told.proposal, ACCEPT).reason) == ([], "forgotten")
    assert propose(world).reason == "forgotten"
    assert propose(world, turn=2).changed


def test_a_forgotten_proposal_does_not_come_back_from_some_of_its_turns(world: World) -> None:
    world.with_turns(3)
    first, second, third = (ItemSource(conversation=key_of(), turn=plain_turn(number).turn) for number in (1, 2, 3))
    told = propose(world, evidence=[first, second])
    assert forget(world, ForgetTarget(item=told.proposal)).accepted
    for evidence in ([first], [second], [second, first]):
        again = propose(world, evidence=evidence)
        assert (again.changed, again.reason) == (False, "forgotten")
    assert propose(world, evidence=[first, third]).changed


def test_what_was_forgotten_is_not_proposed_again(world: World) -> None:
    world.with_turns(1)
    remember(world)
    forget(world, HOME_CITY)
    assert propose(world).reason == "forgotten"


def test_proposals_are_held_and_erased_with_their_subject(world: World) -> None:
    world.with_turns(1)
    told = propose(world)
    scope = Scope(subject=SUBJECT)
    hold = world.runtime.lifecycle.hold(scope, "a dispute", OPERATOR)
    assert forget(world, ForgetTarget(item=told.proposal)).reason == "kept"
    assert not world.runtime.lifecycle.erase(scope, "asked", OPERATOR).changed
    world.runtime.lifecycle.release(hold.position or 0, "settled", OPERATOR)
    assert world.runtime.lifecycle.erase(scope, "asked", OPERATOR).affected_items == 1
    assert proposals(world, state=ProposalFilter.ALL) == []


def test_others_neither_see_nor_decide_about_a_proposal(world: World) -> None:
    world.with_turns(1)
    told = propose(world, plane=MemoryPlane.SHARED_FACT, audience=ItemAudience(only=[SubjectId("bob")]))
    bob = world.runtime.restricted(Access(subject="bob")).notebook
    with pytest.raises(AccessDenied):
        bob.proposals(SUBJECT, View.HOST_UI)
    for name in (told.proposal or "", "nothing"):
        with pytest.raises(UnknownPlace):
            bob.decide(name, ACCEPT, "why", "bob")
    decide(world, told.proposal, ACCEPT)
    assert listed(world)[0].audience == ItemAudience(only=[SubjectId("bob")]).kept()


def test_pages_follow_one_another_and_malformed_requests_are_refused(world: World) -> None:
    world.with_turns(1)
    for number in range(3):
        propose(world, f"fact {number}", topic=f"topic {number}")
    page = world.runtime.notebook.proposals(SUBJECT, View.HOST_UI, limit=2)
    rest = world.runtime.notebook.proposals(SUBJECT, View.HOST_UI, limit=2, after=page.next_after)
    assert (len(page.proposals), page.total, len(rest.proposals), rest.next_after) == (2, 3, 1, None)
    for rationale in (" ", "x" * 5000):
        with pytest.raises(InvalidInput):
            world.runtime.notebook.propose([candidate()], rationale, "host")
    with pytest.raises(InvalidInput):
        world.runtime.notebook.proposals(SUBJECT, View.HOST_UI, limit=0)


def test_proposals_survive_a_reopening(tmp_path: Any) -> None:
    world = sqlite_world(tmp_path).with_turns(1)
    told = propose(world)
    world = world.reopened()
    assert [each.item.id for each in proposals(world)] == [told.proposal]
    world.close()


def test_what_was_forgotten_of_a_proposal_is_known_by_what_it_rests_on(world: World) -> None:
    """What somebody vouches for later is a statement of its own; the same file is the same source."""
    world.with_turns(1)
    for origin in (None, "notes.md"):
        told = propose(world, "Eats fish", turn=None, topic="food", origin=origin)
        assert forget(world, ForgetTarget(item=told.proposal)).accepted
    assert propose(world, "Eats fish", turn=None, topic="food", origin="notes.md").reason == "forgotten"
    assert propose(world, "Eats fish", turn=None, topic="food", origin="other.md").changed
    assert propose(world, "Eats meat", turn=None, topic="food").changed


def test_an_accepted_proposal_that_is_refused_is_a_verdict(world: World) -> None:
    """Whatever the reason is called: a command ends with a code that says so."""
    world.with_turns(1)
    told = propose(world)
    world.runtime.notebook.set_policy(PolicyAction.SUPPRESS, "asked", "ada", MemorySelector(kind="profile"))
    decided = decide(world, told.proposal, ACCEPT)
    assert (decided.reason, decided.verdict) == ("suppressed_by_policy", Kind.INVALID)
    assert decide(world, told.proposal, REJECT).verdict is None
