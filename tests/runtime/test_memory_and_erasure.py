"""What an erasure or a mask of turns does to memory, and who may know of an item."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from muniment.errors import AccessDenied, ApprovalNeeded, InvalidInput, UnknownPlace
from muniment.events.approving import GuardedAct
from muniment.events.changes import Action, Transition
from muniment.events.identity import SubjectId, TurnId
from muniment.events.memory_governance import PolicyAction
from muniment.events.memory_items import MemoryPlane, Retirement
from muniment.governance.access import Access, Effect
from muniment.governance.limits import Limits
from muniment.governance.views import Reason, View
from muniment.ledger.ledger import Ledger
from muniment.memory.amendment import ChangeItemAudience, CorrectItem, PinItem, RestoreItem, SupersedeItem
from muniment.memory.candidate import ItemAudience, ItemSource
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.selection import ItemFilter, ItemSelection
from muniment.operations.notebook.list_proposals import ProposalFilter
from muniment.operations.notebook.policy_requests import MemorySelector
from tests.laws.every_key import Keys, opened_by, sealed_values
from tests.memory.asking import amend, forget, listed, remember, size, texts
from tests.memory.items import candidate
from tests.turns import SUBJECT, TALK, plain_turn
from tests.worlds import OPERATOR, FileWorld, World, key_of, memory_world

BOB = SubjectId("bob")
TURNS = [ItemSource(conversation=key_of(), turn=TurnId(f"turn-{number}")) for number in (1, 2)]


def turn_scope(number: int) -> Scope:
    return Scope(conversation=TALK, turn=TurnId(f"turn-{number}"))


def erase(world: World, number: int = 1, **more: Any) -> LifecycleReport:
    return world.runtime.lifecycle.erase(turn_scope(number), "asked for", OPERATOR, **more)


def states(world: World) -> dict[str, str]:
    return {item.id: item.state.value for item in listed(world)}


# --- erasing with memory ----------------------------------------------------------------------------------------------


def remembered(world: World) -> None:
    """Remember what rests on the first turn alone, on both, on a message, and on nothing."""
    remember(world, "CANARYALONE", id="alone")
    remember(world, "rests on two", topic="two", id="two", evidence=TURNS)
    remember(world, "attested", None, topic="none", id="none")
    message = [replace(TURNS[0], message="turn-1#0")]
    remember(world, "CANARYMESSAGE", topic="message", id="message", evidence=message)
    world.runtime.notebook.propose([candidate("CANARYPROPOSED", topic="p", id="proposed")], "why", "host")


def test_what_rests_on_nothing_else_goes_in_the_same_operation_and_receipt(lasting: FileWorld) -> None:
    """No key that is in use opens what rested on an erased turn alone; what rests on more is kept."""
    world = lasting.with_turns(2)
    remembered(world)
    world.close()
    before, keys = sealed_values(world.store), Keys()
    world = world.reopened()
    preview = world.runtime.lifecycle.review(Action.ERASE, turn_scope(1), with_memory=True)
    report = erase(world, with_memory=True)
    assert report.receipt is not None
    assert preview.memory_items == report.memory_items == ["alone", "message", "proposed"]
    assert (report.affected_items, report.receipt.items_erased, report.receipt.turns_erased) == (3, 3, 1)
    assert states(world) == {"two": "needs_review", "none": "stable_fact"}
    assert world.runtime.notebook.proposals(SUBJECT, View.RAW_OWNER, ProposalFilter.ALL).total == 0
    assert erase(world, with_memory=True).changed is False
    with keys.heard():
        world = world.reopened()
        assert not world.runtime.evidence.inspect().fail_closed
        world.close()
    assert not opened_by(before | sealed_values(world.store), keys.used(), b"CANARY")


def test_by_default_accepted_items_stay_and_need_a_review(world: World) -> None:
    world.with_turns(2)
    remembered(world)
    report = erase(world)
    assert (report.affected_items, report.memory_items) == (0, [])
    assert states(world) == dict.fromkeys(("alone", "two", "message"), "needs_review") | {"none": "stable_fact"}


def test_what_rests_on_a_whole_turn_needs_a_review_once_a_message_of_it_is_gone(world: World) -> None:
    """LC-08: wherever it is shown; the report lists it. What rests on another message is neither."""
    world.with_turns(2)
    remembered(world)
    remember(world, "of the answer", topic="answer", id="answer", evidence=[replace(TURNS[0], message="turn-1#1")])
    scope = Scope(conversation=TALK, message="turn-1#0")
    preview = world.runtime.lifecycle.review(Action.ERASE, scope)
    report = world.runtime.lifecycle.erase(scope, "asked for", OPERATOR)
    concerned = ["alone", "message", "two"]
    assert sorted(ref.key for ref in report.derived_refs) == concerned
    assert (report.derived_refs, report.derived_refs_total) == (preview.derived_refs, 3)
    expected = dict.fromkeys(concerned, "needs_review") | dict.fromkeys(("answer", "none"), "stable_fact")
    assert states(world) == expected
    for name, state in expected.items():
        shown = world.runtime.memory.show(name, View.RAW_OWNER).item
        assert shown is not None
        assert shown.state == state
    hits = world.runtime.memory.recall(SubjectId(SUBJECT), "rests on two, of the answer", View.RAW_OWNER).hits
    recalled = {hit.id: hit.state for hit in hits if hit.state is not None}
    assert {"two", "answer"} <= recalled.keys()
    assert recalled == {name: expected[name] for name in recalled}


def test_items_can_follow_turns_that_were_erased_before(world: World) -> None:
    world.with_turns(2)
    remembered(world)
    erase(world)
    late = erase(world, with_memory=True)
    assert (late.affected_turns, late.memory_items, late.changed) == (0, ["alone", "message", "proposed"], True)
    both = erase(world, 2, with_memory=True)
    assert (both.affected_turns, both.memory_items) == (1, ["two"])
    assert set(states(world)) == {"none"}


def test_of_one_message_only_what_rests_on_it_goes(world: World) -> None:
    world.with_turns(2)
    remembered(world)
    scope = Scope(conversation=TALK, message="turn-1#0")
    report = world.runtime.lifecycle.erase(scope, "asked for", OPERATOR, with_memory=True)
    assert (report.memory_items, "alone" in states(world)) == (["message"], True)


@pytest.mark.parametrize("plane", [MemoryPlane.SUMMARY, MemoryPlane.DIARY])
def test_what_retells_a_turn_says_nothing_without_one_of_its_messages(plane: MemoryPlane, world: World) -> None:
    """LC-13: neither now nor as it was, neither restored nor remembered again; what rests on another message stays."""
    world.with_turns(2)
    about: dict[str, Any] = {"plane": plane, "kind": plane.value}
    remember(world, "RETOLD", id="s-1", evidence=TURNS, **about)
    answer = [replace(TURNS[0], message="turn-1#1")]
    remember(world, "of the answer", topic="answer", id="s-2", evidence=answer, **about)
    then = world.runtime.memory.show("s-1", View.RAW_OWNER).item
    assert then is not None
    world.runtime.lifecycle.erase(Scope(conversation=TALK, message="turn-1#0"), "asked for", OPERATOR)
    assert set(states(world)) == {"s-2"}
    for as_of_ms in (None, then.recorded_ms):
        detail = world.runtime.memory.show("s-1", View.RAW_OWNER, as_of_ms)
        assert "RETOLD" not in str(detail)
    assert "RETOLD" not in str(listed(world, state=ItemFilter.ALL))
    assert amend(world, "s-1", RestoreItem()).reason == "source_hidden"
    again = remember(world, "RETOLD once more", id="s-3", evidence=TURNS, **about)
    assert (again.changed, again.reason) == (False, "evidence_hidden")


def test_a_hold_beats_it(world: World) -> None:
    world.with_turns(2)
    remembered(world)
    hold = world.runtime.lifecycle.hold(turn_scope(1), "a dispute", OPERATOR)
    assert erase(world, with_memory=True).memory_items == []
    world.runtime.lifecycle.release(hold.position or 0, "settled", OPERATOR)
    world.runtime.lifecycle.hold(Scope(subject=SubjectId(SUBJECT)), "a dispute", OPERATOR)
    kept = erase(world, with_memory=True)
    assert (kept.affected_turns, kept.kept_turns, kept.affected_items) == (0, 1, 0)
    assert len(states(world)) == 4


def test_a_turn_that_is_held_in_the_last_moment_keeps_its_items(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.with_turns(2)
    remembered(world)
    transact = Ledger.transact

    def late(ledger: Ledger, plan: Any) -> Any:
        monkeypatch.undo()
        world.runtime.lifecycle.hold(turn_scope(1), "a dispute", OPERATOR)
        return transact(ledger, plan)

    monkeypatch.setattr(Ledger, "transact", late)
    assert not erase(world, with_memory=True).changed
    assert len(states(world)) == 4


def test_a_second_person_confirms_exactly_this(world: World) -> None:
    """An approval for the turn alone is none for what rests on it."""
    world.with_turns(2)
    remembered(world)
    world.runtime.approvals.require([GuardedAct.ERASE], "two persons", OPERATOR)
    with pytest.raises(ApprovalNeeded) as waiting:
        erase(world)
    world.runtime.approvals.confirm(waiting.value.limit or 0, "fine", "grace")
    with pytest.raises(ApprovalNeeded) as more:
        erase(world, with_memory=True)
    assert more.value.limit != waiting.value.limit
    world.runtime.approvals.confirm(more.value.limit or 0, "fine", "grace")
    assert erase(world, with_memory=True).memory_items == ["alone", "message", "proposed"]


# --- the policy of a space --------------------------------------------------------------------------------------------


def follow(world: World, action: PolicyAction = PolicyAction.FOLLOW, **selector: Any) -> bool:
    asked = MemorySelector(**(selector or {"everything": True}))
    return world.runtime.notebook.set_policy(action, "house rules", OPERATOR, asked).changed


def test_a_policy_lets_items_follow_every_erasure_of_their_turns(world: World) -> None:
    world.with_turns(2)
    remembered(world)
    remember(world, "a task", topic="t", kind="task", id="task")
    assert follow(world, kind="task")
    assert erase(world).memory_items == ["task"]
    assert follow(world, PolicyAction.KEEP, kind="task")
    assert follow(world)
    assert erase(world, 2).memory_items == ["two"]
    assert set(states(world)) == {"alone", "message", "none"}


def test_a_policy_holds_for_retention_too(world: World) -> None:
    world.with_turns(2)
    remembered(world)
    follow(world)
    world.runtime.lifecycle.retain("house rules", OPERATOR, erase_after_ms=1)
    assert world.runtime.lifecycle.apply_retention(OPERATOR).erased_turns == 2
    assert set(states(world)) == {"none"}


def test_who_sets_such_a_policy_may_erase_and_asks_a_second_person(world: World) -> None:
    limited = world.runtime.restricted(Access(effects=frozenset({Effect.READ, Effect.APPEND}))).notebook
    with pytest.raises(AccessDenied):
        limited.set_policy(PolicyAction.FOLLOW, "why", OPERATOR, MemorySelector(everything=True))
    with pytest.raises(InvalidInput):
        follow(world, subject=SUBJECT, topic="x")
    world.runtime.approvals.require([GuardedAct.ERASE], "two persons", OPERATOR)
    with pytest.raises(ApprovalNeeded) as waiting:
        follow(world)
    world.runtime.approvals.confirm(waiting.value.limit or 0, "fine", "grace")
    assert follow(world)
    assert not follow(world)
    assert follow(world, PolicyAction.KEEP)


# --- masks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plane", [MemoryPlane.SUMMARY, MemoryPlane.DIARY])
def test_what_retells_a_masked_turn_goes_out_of_use_and_says_nothing(plane: MemoryPlane, world: World) -> None:
    world.with_turns(2)
    remember(world, "RETOLD", plane=plane, kind=plane.value, id="s-1", evidence=TURNS)
    remember(world, id="i-1")
    amend(world, "s-1", CorrectItem(text="RETOLD again"))
    remember(world, "kept", 2, topic="other", plane=plane, kind=plane.value, id="s-2")
    world.masked(1)
    assert set(states(world)) == {"i-1", "s-2"}
    detail = world.runtime.memory.show("s-1", View.RAW_OWNER)
    assert detail.item is not None
    assert (detail.item.retired, detail.item.withheld) == (Retirement.SOURCE_GONE, Reason.LIFECYCLE_MASKED)
    every = world.runtime.memory.list_(SUBJECT, View.RAW_OWNER, ItemSelection(state=ItemFilter.ALL))
    past = world.runtime.memory.list_(SUBJECT, View.RAW_OWNER, ItemSelection(as_of_ms=detail.item.recorded_ms))
    assert "RETOLD" not in f"{detail} {every} {past} {world.runtime.memory.prompt(SUBJECT, 999)}"
    assert amend(world, "s-1", RestoreItem()).reason == "source_hidden"
    world.request(Transition.UNMASK, 1)
    assert "s-1" not in states(world)
    assert amend(world, "s-1", RestoreItem()).changed
    assert "RETOLD again" in texts(world)
    world.erased(1)
    every_one = listed(world, state=ItemFilter.ALL)
    assert [item.withheld for item in every_one if item.id == "s-1"] == [Reason.ERASED]


def test_a_reference_of_somebody_else_takes_no_item_out_of_use(world: World) -> None:
    """Only what an item says itself that it rests on counts."""
    from muniment.events.references import Plane
    from muniment.operations.provenance.derivations import Derivation

    world.with_turns(2)
    remember(world, "kept", 2, plane=MemoryPlane.SUMMARY, kind="summary", id="s-1")
    forged = Derivation(
        plane=Plane.ARCHIVE_EVIDENCE,
        key="s-1",
        subject=SubjectId(SUBJECT),
        conversation=key_of(),
        turn=TurnId("turn-1"),
    )
    world.runtime.provenance.record([forged])
    world.masked(1)
    assert "s-1" in states(world)


# --- audiences --------------------------------------------------------------------------------------------------------


def shared(world: World, name: str, **audience: list[str]) -> None:
    given = ItemAudience(**{key: [SubjectId(one) for one in names] for key, names in audience.items()})
    remember(world, name, topic=name, plane=MemoryPlane.SHARED_FACT, audience=given, id=name)


def test_a_shared_fact_is_known_to_whom_its_audience_includes(world: World) -> None:
    world.with_turns(1)
    shared(world, "all")
    shared(world, "only", only=["bob"])
    shared(world, "others", only=["cy"])
    shared(world, "hidden", hidden_from=["bob"])
    remember(world, "own", topic="own", id="own")
    bob = world.runtime.restricted(Access(subject="bob")).memory
    page = bob.list_(BOB, View.HOST_UI, ItemSelection(shared=True))
    assert ([item.id for item in page.items], page.total, page.withheld) == (["all", "only"], 2, 0)
    assert bob.list_(BOB, View.HOST_UI).total == 0
    known = bob.show("only", View.RAW_OWNER).item
    assert known is not None
    assert (known.text, known.audience) == ("only", None)
    for name in ("others", "hidden", "own", "nothing"):
        with pytest.raises(UnknownPlace):
            bob.show(name, View.RAW_OWNER)
    for name in ("all", "only", "hidden", "nothing"):
        assert bob.amend(name, PinItem(), "why", "bob").reason == "target_not_found"
        assert bob.forget(BOB, ForgetTarget(item=name), "why", "bob").reason == "target_not_found"
    with pytest.raises(AccessDenied):
        bob.list_(SubjectId(SUBJECT), View.HOST_UI)
    everything = world.runtime.memory.list_(BOB, View.HOST_UI, ItemSelection(shared=True)).items
    assert [item.id for item in everything] == ["all", "only"]


@pytest.mark.parametrize("view", [View.RAW_OWNER, View.OPERATOR_AUDIT])
def test_where_a_shared_fact_comes_from_is_the_business_of_its_owner(view: View, world: World) -> None:
    """Others know what it says and that it changed: not from whom, why, of which turns, or what it said before."""
    world.with_turns(1)
    told = {"plane": MemoryPlane.SHARED_FACT, "id": "fact", "note": "REMARK", "origin": "ORIGIN.md"}
    remember(world, "First words", 1, **told)
    amend(world, "fact", CorrectItem(text="Second words"))
    bob = world.runtime.restricted(Access(subject="bob"))
    detail = bob.memory.show("fact", view)
    assert detail.item is not None
    assert (detail.item.evidence_count, detail.item.evidence, len(detail.revisions)) == (1, [], 1)
    rows = bob.tables.query("SELECT * FROM items LEFT JOIN item_evidence USING (position)", view).rows
    listed_for_bob = bob.memory.list_(BOB, view, ItemSelection(shared=True))
    assert (len(rows), listed_for_bob.total) == (1, 1)
    for hidden in ("REMARK", "ORIGIN", "First", "turn-1", "host", "asked"):
        assert hidden not in f"{detail} {rows} {listed_for_bob}"
    own = world.runtime.memory.show("fact", view).item
    assert own is not None
    assert (own.origin, own.writer, own.audience, len(own.evidence)) == ("ORIGIN.md", "host", None, 1)


def test_an_id_beside_an_item_tells_nobody_of_one_that_is_hidden(world: World) -> None:
    world.with_turns(2)
    shared(world, "first")
    amend(world, "first", SupersedeItem(text="second", id="second"))
    amend(world, "second", ChangeItemAudience(audience=ItemAudience(hidden_from=[BOB])))
    bob = world.runtime.restricted(Access(subject="bob")).memory
    detail = bob.show("first", View.RAW_OWNER)
    assert detail.item is not None
    assert (detail.item.retired, detail.item.successor) == (Retirement.SUPERSEDED, None)
    assert "second" not in f"{detail}"
    past = ItemSelection(shared=True, as_of_ms=2**50)
    assert bob.list_(BOB, View.RAW_OWNER, past).total == 0


def test_an_audience_is_changed_by_its_own_amendment_alone(world: World) -> None:
    world.with_turns(2)
    shared(world, "fact", only=["bob"])
    newer = remember(world, "newer", 2, topic="fact", plane=MemoryPlane.SHARED_FACT)
    assert newer.reason == "audience_change"
    amend(world, "fact", SupersedeItem(text="newer", id="newer"))
    assert listed(world)[0].audience == ItemAudience(only=[BOB]).kept()
    change = ChangeItemAudience(audience=ItemAudience())
    assert [amend(world, "newer", change).reason for _ in range(2)] == [None, "nothing_changed"]


@pytest.mark.parametrize(
    ("plane", "audience", "at"),
    [
        (MemoryPlane.LONG_TERM, ItemAudience(only=[BOB]), "candidates[0].audience"),
        (MemoryPlane.SHARED_FACT, ItemAudience(only=[BOB], hidden_from=[BOB]), "candidates[0].audience"),
        (MemoryPlane.SHARED_FACT, ItemAudience(hidden_from=[SubjectId(SUBJECT)]), "candidates[0].audience"),
        (MemoryPlane.SHARED_FACT, ItemAudience(only=[SubjectId("\n")]), "candidates[0].audience.only[0]"),
    ],
)
def test_an_audience_that_cannot_be_is_refused(
    plane: MemoryPlane, audience: ItemAudience, at: str, world: World
) -> None:
    world.with_turns(1)
    with pytest.raises(InvalidInput) as refused:
        remember(world, plane=plane, audience=audience)
    assert refused.value.at == at


# --- room -------------------------------------------------------------------------------------------------------------


def test_a_full_notebook_evicts_the_least_certain_item_and_says_which() -> None:
    world = memory_world(limits=Limits(items_max=2)).with_turns(1)
    for name, confidence in (("sure", 0.9), ("vague", 0.5)):
        remember(world, name, topic=name, id=name, confidence=confidence)
    before = size(world)
    preview = world.runtime.memory.remember([candidate("new", topic="new", id="new")], "host", dry_run=True)
    assert (preview.candidates[0].evicted, size(world)) == (["vague"], before)
    new = remember(world, "new", topic="new", id="new")
    assert (new.changed, new.evicted, set(states(world))) == (True, ["vague"], {"sure", "new"})
    refused = remember(world, "guess", topic="guess", confidence=0.1)
    assert (refused.reason, refused.changed) == ("notebook_full", False)
    replaced = remember(world, "newer", topic="new", id="newer")
    assert (replaced.replaces, replaced.evicted) == ("new", [])
    remember(world, "other plane", topic="o", plane=MemoryPlane.SHARED_FACT, id="other")
    assert set(states(world)) == {"sure", "newer", "other"}
    assert amend(world, "vague", RestoreItem()).changed
    assert len(states(world)) == 4


def test_nothing_pinned_is_evicted() -> None:
    world = memory_world(limits=Limits(items_max=1)).with_turns(1)
    remember(world, id="i-1", pinned=True, confidence=0.1)
    assert remember(world, "new", topic="new").reason == "notebook_full"
    assert forget(world, ForgetTarget(item="i-1")).accepted
    assert remember(world, "new", topic="new").changed
    assert plain_turn(1).subject == SUBJECT
