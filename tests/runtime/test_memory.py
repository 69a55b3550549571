"""Memory through the front door: remembered with evidence, shown as views allow, amended, forgotten for good."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from msgspec.structs import replace

from muniment.errors import AccessDenied, Conflict, InvalidInput, LimitExceeded, UnknownPlace
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.events.memory_items import InvalidityGround, ItemPrivacy, MemoryPlane, Retirement
from muniment.governance.access import Access
from muniment.governance.detection.detection import Detect
from muniment.governance.detection.scan import DetectedType
from muniment.governance.limits import Limits
from muniment.governance.policy import Policy
from muniment.governance.views import Reason, View
from muniment.kernel.sources import FixedClock
from muniment.ledger.ledger import Ledger
from muniment.memory.amendment import (
    ChangeItemPrivacy,
    CorrectItem,
    InvalidateItem,
    MarkItemStale,
    PinItem,
    RestoreItem,
    SupersedeItem,
)
from muniment.memory.candidate import ItemSource, Ruling
from muniment.memory.fold import EvidenceState
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.selection import ItemFilter
from tests.memory.asking import HOME_CITY, amend, forget, listed, remember, size, texts
from tests.memory.items import USE_THE_LIFT, candidate, skill
from tests.turns import SUBJECT
from tests.worlds import OPERATOR, FileWorld, World, key_of, memory_world

# --- remembering ------------------------------------------------------------------------------------------------------


def test_an_item_its_link_and_the_end_of_the_former_one_are_one_step(world: World) -> None:
    world.with_turns(2)
    first = remember(world, id="i-1")
    before = size(world)
    second = remember(world, "Lives in Rome", 2, id="i-2")
    assert (first.decision, first.item, second.replaces) == (Ruling.ACCEPT, "i-1", "i-1")
    assert size(world) == before + 3
    assert texts(world) == ["Lives in Rome"]
    gone = world.runtime.memory.show("i-1", View.RAW_OWNER)
    assert gone.item is not None
    assert (gone.item.retired, gone.item.successor) == (Retirement.SUPERSEDED, "i-2")
    (link,) = world.runtime.evidence.links(conversation=key_of(), turn=TurnId("turn-2")).links
    assert (link.key, link.verified) == ("i-2", True)


def test_a_repeat_of_what_went_out_of_use_leaves_it_there(world: World) -> None:
    world.with_turns(2)
    remember(world, id="i-1")
    remember(world, "Lives in Rome", 2, id="i-2")
    again = remember(world, id="i-1")
    assert (again.changed, again.reason, again.item, texts(world)) == (False, "not_in_use", "i-1", ["Lives in Rome"])


def test_a_repeat_changes_nothing(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    before = size(world)
    again = [remember(world, id="i-1"), remember(world), remember(world, "Oslo lives in!")]
    assert [each.reason for each in again] == ["same_text", "same_text", "same_words"]
    assert {each.item for each in again} == {"i-1"}
    assert not any(each.changed for each in again)
    assert size(world) == before
    with pytest.raises(Conflict):
        remember(world, "Lives in Rome", id="i-1")


def test_candidates_of_one_request_see_one_another(world: World) -> None:
    world.with_turns(1)
    given = [candidate(), candidate("lives in oslo"), candidate("Lives in Rome"), candidate("Walks", topic="commute")]
    report = world.runtime.memory.remember(given, "host", run="night-1")
    assert [each.reason for each in report.candidates] == ["free_slot", "same_text", "newer_statement", "free_slot"]
    assert (report.recorded, texts(world)) == (3, ["Lives in Rome", "Walks"])


def test_a_dry_run_tells_the_same_and_changes_nothing(world: World) -> None:
    world.with_turns(2)
    remember(world)
    before = size(world)
    given = [candidate("Lives in Rome", 2), candidate("x", judgement=None)]
    preview = world.runtime.memory.remember(given, "host", dry_run=True)
    assert (preview.recorded, size(world)) == (0, before)
    real = world.runtime.memory.remember(given, "host")
    assert [(each.decision, each.reason) for each in preview.candidates] == [
        (each.decision, each.reason) for each in real.candidates
    ]


def test_what_is_only_deferred_or_refused_appends_nothing(world: World) -> None:
    world.with_turns(1)
    before = size(world)
    assert remember(world, judgement=None).reason == "unjudged"
    assert remember(world, privacy=ItemPrivacy.PRIVATE_GARDEN).decision is Ruling.DEFER
    assert (size(world), listed(world)) == (before, [])


@pytest.mark.parametrize("transition", [Transition.MASK, Transition.ERASE])
def test_nothing_is_learned_from_a_turn_that_nobody_is_shown(transition: Transition, world: World) -> None:
    world.with_turns(1).request(transition, 1)
    assert remember(world).reason == "evidence_hidden"


def test_a_turn_that_is_masked_in_the_last_moment_is_no_evidence(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided before the transaction is decided again inside it."""
    world.with_turns(2)
    transact = Ledger.transact

    def masking_first(turn: int) -> None:
        def late(ledger: Ledger, plan: Any) -> Any:
            monkeypatch.undo()
            world.masked(turn)
            return transact(ledger, plan)

        monkeypatch.setattr(Ledger, "transact", late)

    masking_first(1)
    assert remember(world).reason == "evidence_hidden"
    remember(world, "Lives in Rome", 2, id="i-2")
    rests = [ItemSource(conversation=key_of(), turn=TurnId("turn-2"))]
    masking_first(2)
    with pytest.raises(InvalidInput):
        amend(world, "i-2", SupersedeItem(text="Lives in Bern", evidence=rests))
    assert texts(world) == ["Lives in Rome"]


def test_nobody_learns_by_an_id_what_is_said_of_somebody_else(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    bob = world.runtime.restricted(Access(subject="bob")).memory
    for text in ("Lives in Oslo", "Lives in Rome"):
        with pytest.raises(Conflict):
            bob.remember([candidate(text, None, id="i-1", subject="bob")], "bob")


def test_what_is_malformed_or_too_large_is_refused_by_its_place(world: World) -> None:
    world.with_turns(1)
    memory = world.runtime.memory
    for given, at in (([], "candidates"), ([candidate(id="\n")], "candidates[0].id")):
        with pytest.raises(InvalidInput) as refused:
            memory.remember(given, "host")
        assert refused.value.at == at
    with pytest.raises(UnknownPlace):
        remember(world, turn=9)
    small = memory_world(limits=Limits(candidates_max=1, item_bytes_max=40)).with_turns(1)
    for given in ([candidate(), candidate()], [candidate("x" * 40)]):
        with pytest.raises(LimitExceeded):
            small.runtime.memory.remember(given, "host")
    remember(small, id="i-1")
    with pytest.raises(LimitExceeded):
        amend(small, "i-1", CorrectItem(text="x" * 41))


# --- what views show --------------------------------------------------------------------------------------------------


def test_each_view_shows_what_it_may(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1", keywords=["Norway"])
    for view in (View.MODEL_CONTEXT, View.HOST_UI, View.EXPORT):
        (shown,) = listed(world, view)
        assert (shown.text, shown.keywords, shown.evidence, shown.evidence_count) == (
            "Lives in Oslo",
            ["Norway"],
            [],
            1,
        )
        assert shown.writer is None
    (audit,) = listed(world, View.OPERATOR_AUDIT)
    assert (audit.text, audit.topic, audit.withheld) == (None, None, Reason.VIEW_POLICY)
    assert [each.citation for each in audit.evidence] == ["transcript:default/default/talk#turn=turn-1"]
    (raw,) = listed(world)
    assert (raw.text, raw.evidence, raw.writer) == ("Lives in Oslo", audit.evidence, "host")


def test_what_operators_alone_see_is_counted_and_not_described(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
    page = world.runtime.memory.list_(SUBJECT, View.HOST_UI)
    assert (page.items, page.total, page.withheld) == ([], 0, 1)
    assert world.runtime.memory.show("i-1", View.HOST_UI).missing is Reason.OPERATOR_ONLY
    assert len(listed(world, View.OPERATOR_AUDIT)) == 1


def test_what_is_looked_for_is_marked_in_its_view_and_replaced_before_it_is_kept() -> None:
    address = "ada@example.org"
    emails = frozenset({DetectedType.EMAIL})
    shown = memory_world(detect=Detect(views={View.HOST_UI: emails})).with_turns(1)
    remember(shown, f"Writes from {address}", id="i-1", entities=[address])
    amend(shown, "i-1", CorrectItem(text=f"Writes mostly from {address}"))
    (item,) = listed(shown, View.HOST_UI)
    history = shown.runtime.memory.show("i-1", View.HOST_UI)
    assert address not in f"{item} {history}"
    assert texts(shown, View.RAW_OWNER) == [f"Writes mostly from {address}"]
    kept = memory_world(detect=Detect(before_commit=emails)).with_turns(1)
    remember(kept, f"Writes from {address}", id="i-1")
    amend(kept, "i-1", CorrectItem(text=f"Writes mostly from {address}"))
    assert address not in f"{listed(kept)}"


def test_pages_follow_one_another_and_a_selection_narrows(world: World) -> None:
    world.with_turns(1)
    for number in range(5):
        remember(world, f"fact {number}", topic=f"topic {number}", kind="fact" if number else "task")
    remember(world, **skill())
    after, seen = None, list[str | None]()
    while True:
        page = world.runtime.memory.list_(SUBJECT, View.HOST_UI, limit=2, after=after)
        seen += [item.text for item in page.items]
        after = page.next_after
        if after is None:
            break
    assert (seen, page.total) == ([*(f"fact {number}" for number in range(5)), USE_THE_LIFT], 6)
    assert texts(world, kinds=["task"]) == ["fact 0"]
    assert texts(world, planes=[MemoryPlane.RUNTIME_SKILL, MemoryPlane.DIARY]) == [USE_THE_LIFT]
    with pytest.raises(InvalidInput):
        world.runtime.memory.list_(SUBJECT, View.HOST_UI, limit=0)


def test_an_item_expires_unless_it_is_pinned(world: World) -> None:
    world.with_turns(1)
    now = world.runtime._session.space.sources.clock.now_ms()
    remember(world, id="i-1", expires_ms=now)
    assert (texts(world), texts(world, state=ItemFilter.ALL)) == ([], ["Lives in Oslo"])
    amend(world, "i-1", PinItem())
    assert texts(world) == ["Lives in Oslo"]


def test_a_caller_for_one_subject_knows_nothing_of_the_others(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    bob = world.runtime.restricted(Access(subject="bob")).memory
    with pytest.raises(AccessDenied):
        bob.list_(SUBJECT, View.HOST_UI)
    with pytest.raises(AccessDenied):
        bob.remember([candidate()], "bob")
    with pytest.raises(AccessDenied):
        bob.forget(SUBJECT, HOME_CITY, "asked", "bob")
    for item in ("i-1", "i-9"):
        with pytest.raises(UnknownPlace):
            bob.show(item, View.HOST_UI)
        assert bob.amend(item, PinItem(), "asked", "bob").reason == "target_not_found"


def test_a_view_that_is_not_allowed_is_refused(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    interface = world.runtime.restricted(Access(views=frozenset({View.HOST_UI}))).memory
    with pytest.raises(AccessDenied):
        interface.list_(SUBJECT, View.RAW_OWNER)
    with pytest.raises(AccessDenied):
        interface.show("i-1", View.RAW_OWNER)


def test_a_read_is_on_record_where_the_policy_asks_for_it(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    reading = world.runtime.restricted(Access(policies=frozenset({Policy.RECORD_READS})))
    (item,) = reading.memory.list_(SUBJECT, View.HOST_UI).items
    reading.memory.show("i-1", View.HOST_UI)
    told = world.runtime.evidence.disclosures(limit=9).disclosures
    assert [(each.operation, each.found) for each in told] == [
        ("memory.list", [item.position]),
        ("memory.show", [item.position]),
    ]


# --- as of a time -----------------------------------------------------------------------------------------------------


def test_what_was_known_at_a_time_is_shown_as_it_was_then(world: World) -> None:
    world.with_turns(2)
    space = world.runtime._session.space
    start = space.sources.clock.now_ms() + 10_000
    space.sources = _at(space.sources, start)
    remember(world, id="i-1")
    space.sources = _at(space.sources, start + 1000)
    amend(world, "i-1", CorrectItem(text="Lives in Bergen"))
    space.sources = _at(space.sources, start + 2000)
    remember(world, "Lives in Rome", 2, id="i-2")
    assert texts(world, as_of_ms=start) == ["Lives in Oslo"]
    assert texts(world, as_of_ms=start + 1500) == ["Lives in Bergen"]
    assert texts(world) == ["Lives in Rome"]
    then = world.runtime.memory.show("i-1", View.HOST_UI, as_of_ms=start)
    assert then.item is not None
    assert (then.item.text, then.revisions, then.item.retired) == ("Lives in Oslo", [], None)
    at_once = world.runtime.memory.show("i-1", View.HOST_UI, as_of_ms=start + 1000)
    assert at_once.item is not None
    assert (at_once.item.text, [each.action for each in at_once.revisions]) == ("Lives in Bergen", ["correct"])
    now = world.runtime.memory.show("i-1", View.HOST_UI)
    assert [each.action for each in now.revisions] == ["correct", "superseded"]
    with pytest.raises(UnknownPlace):
        world.runtime.memory.show("i-1", View.HOST_UI, as_of_ms=1)


def test_a_read_of_the_past_shows_nothing_that_is_withheld_now(world: World) -> None:
    world.with_turns(1)
    space = world.runtime._session.space
    start = space.sources.clock.now_ms() + 10_000
    space.sources = _at(space.sources, start)
    remember(world, id="i-1")
    space.sources = _at(space.sources, start + 1000)
    amend(world, "i-1", ChangeItemPrivacy(privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC))
    assert texts(world, as_of_ms=start) == []
    assert world.runtime.memory.show("i-1", View.HOST_UI, as_of_ms=start).missing is Reason.OPERATOR_ONLY
    forget(world, HOME_CITY)
    assert texts(world, View.RAW_OWNER, as_of_ms=start) == []


def _at(sources: Any, now_ms: int) -> Any:
    return replace(sources, clock=FixedClock(now_ms))


# --- amending ---------------------------------------------------------------------------------------------------------


def test_a_correction_is_a_revision_with_who_and_why(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    preview = amend(world, "i-1", CorrectItem(text="Lives in Bergen"), dry_run=True)
    assert (preview.accepted, preview.changed, texts(world)) == (False, False, ["Lives in Oslo"])
    done = amend(world, "i-1", CorrectItem(text="Lives in Bergen", confidence=0.5))
    assert (done.accepted, done.former_revision, done.revision, done.was_in_prompts) == (True, 0, 1, True)
    again = amend(world, "i-1", CorrectItem(text="Lives in Bergen"))
    assert (again.accepted, again.changed, again.reason) == (True, False, "nothing_changed")
    detail = world.runtime.memory.show("i-1", View.RAW_OWNER)
    (raw,) = detail.revisions
    assert (raw.action, raw.requester, raw.reason) == ("correct", "ada", "asked")
    assert (raw.former_text, raw.text) == ("Lives in Oslo", "Lives in Bergen")
    (audit,) = world.runtime.memory.show("i-1", View.OPERATOR_AUDIT).revisions
    assert (audit.former_text, audit.text, audit.reason) == (None, None, "asked")
    (shown,) = world.runtime.memory.show("i-1", View.HOST_UI).revisions
    assert (shown.text, shown.reason, shown.requester) == ("Lives in Bergen", None, None)
    with pytest.raises(InvalidInput):
        amend(world, "i-1", CorrectItem(text=" "))


def test_superseding_is_one_step_and_can_be_taken_back(world: World) -> None:
    world.with_turns(2)
    remember(world, id="i-1")
    rests = [ItemSource(conversation=key_of(), turn=TurnId("turn-2"))]
    done = amend(world, "i-1", SupersedeItem(text="Lives in Rome", id="i-2", evidence=rests))
    assert (done.changed, done.successor, texts(world)) == (True, "i-2", ["Lives in Rome"])
    assert amend(world, "i-1", RestoreItem()).reason == "slot_taken"
    ground = InvalidityGround.CONTRADICTED_BY_GOVERNED_EVIDENCE
    assert amend(world, "i-2", InvalidateItem(ground=ground, evidence=rests)).changed
    assert texts(world) == []
    assert amend(world, "i-1", RestoreItem()).changed
    assert texts(world) == ["Lives in Oslo"]
    assert remember(world, "Lives in Bern", 2).replaces == "i-1"


def test_what_an_amendment_brings_is_checked(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    remember(world, "Walks", topic="commute", id="i-2")
    ground = InvalidityGround.INTEGRITY_VIOLATION
    with pytest.raises(InvalidInput):
        amend(world, "i-1", InvalidateItem(ground=ground, evidence=[]))
    with pytest.raises(Conflict):
        amend(world, "i-1", SupersedeItem(text="Lives in Rome", id="i-2"))
    world.masked(1)
    rests = [ItemSource(conversation=key_of(), turn=TurnId("turn-1"))]
    with pytest.raises(InvalidInput):
        amend(world, "i-1", SupersedeItem(text="Lives in Rome", evidence=rests))
    assert amend(world, "i-1", ChangeItemPrivacy(privacy=ItemPrivacy.PUBLIC_RUNTIME)).changed


def test_of_two_that_saw_the_same_revision_one_wins(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    assert amend(world, "i-1", CorrectItem(text="Lives in Bergen"), expected=0).revision == 1
    with pytest.raises(Conflict) as conflict:
        amend(world, "i-1", CorrectItem(text="Lives in Rome"), expected=0)
    assert (conflict.value.limit, conflict.value.found) == (0, 1)


def test_callers_at_once_fill_a_slot_one_after_the_other(lasting: FileWorld) -> None:
    lasting.with_turns(1)
    given = [f"Lives in {city}" for city in ("Oslo", "Rome", "Bern", "Kyoto")]
    threads = [threading.Thread(target=remember, args=(lasting, text), kwargs={"observed_ms": 1}) for text in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts(lasting)) == 1
    assert sorted(texts(lasting, state=ItemFilter.ALL)) == sorted(given)  # type: ignore[type-var]  # all have texts


# --- what becomes of the evidence -------------------------------------------------------------------------------------


def test_an_item_outlives_its_turn_and_says_that_it_needs_a_review(world: World) -> None:
    world.with_turns(2)
    remember(world, id="i-1")
    remember(world, "Walks", 2, topic="commute", id="i-2")
    report = world.request(Transition.ERASE, 1)
    assert [each.key for each in report.derived_refs] == ["i-1"]
    states = {item.id: item.state for item in listed(world)}
    assert states == {"i-1": EvidenceState.NEEDS_REVIEW, "i-2": EvidenceState.STABLE_FACT}
    amend(world, "i-2", MarkItemStale())
    assert listed(world)[1].state is EvidenceState.NEEDS_REVIEW


def test_an_item_about_a_message_that_was_erased_alone_needs_a_review(world: World) -> None:
    world.with_turns(1)
    message = world.replay().turns[0].messages[0].id
    rests = [ItemSource(conversation=key_of(), turn=TurnId("turn-1"), message=message)]
    remember(world, evidence=rests, id="i-1")
    assert listed(world)[0].state is EvidenceState.STABLE_FACT
    world.runtime.lifecycle.erase(Scope(conversation=key_of().conversation, message=message), "asked", OPERATOR)
    assert listed(world)[0].state is EvidenceState.NEEDS_REVIEW


def test_what_tells_a_turn_again_needs_every_message_of_it(world: World) -> None:
    """A statement rests on what is left of a turn; a summary of it would tell what was erased."""
    world.with_turns(2)
    message = world.replay().turns[0].messages[0].id
    world.runtime.lifecycle.erase(Scope(conversation=key_of().conversation, message=message), "asked", OPERATOR)
    rests = [ItemSource(conversation=key_of(), turn=TurnId("turn-1"))]
    remember(world, turn=2, id="i-1")
    remember(world, "A day", turn=2, kind="summary", plane=MemoryPlane.SUMMARY, id="s-1")
    assert amend(world, "i-1", SupersedeItem(text="Lives in Rome", evidence=rests)).changed
    assert remember(world, "Walks", evidence=rests, topic="commute").changed
    summary = remember(world, "A talk", evidence=rests, kind="summary", plane=MemoryPlane.SUMMARY, topic="talk")
    assert summary.reason == "evidence_hidden"
    with pytest.raises(InvalidInput):
        amend(world, "s-1", SupersedeItem(text="Another day", evidence=rests))
