"""What may happen to turns, through the front door: masks, archives, erasure and its receipt."""

from __future__ import annotations

import base64

import pytest
from msgspec.structs import replace

from muniment.errors import AccessDenied, InvalidInput
from muniment.events.changes import Action, Transition
from muniment.events.identity import TurnId
from muniment.events.message import TextPart
from muniment.evidence.verifier import verify_receipt
from muniment.governance.access import Access, Effect
from muniment.governance.limits import Limits
from muniment.governance.phases import Phase
from muniment.governance.views import Reason, View
from tests.turns import RICH, TALK, answer, message_of, plain_turn, question, rich_turn
from tests.worlds import FileWorld, World, key_of, memory_world

WORDS = (question(1), answer(1))


def shown(world: World, view: View = View.RAW_OWNER) -> list[list[str]]:
    """Return the words that a view shows, turn by turn."""
    return [
        [part.content for message in turn.messages for part in message.parts
         if isinstance(part, TextPart)]
        for turn in world.replay(view).turns
    ]  # fmt: skip


def phases(world: World) -> list[Phase]:
    return [turn.phase for turn in world.replay(View.OPERATOR_AUDIT).turns]


def test_masked_words_are_hidden_from_everybody_and_come_back_unchanged(world: World) -> None:
    """LC-01, LC-14, RP-03: also from the raw owner; unmask is an audited event."""
    world.with_turns(2).masked(1)
    before = shown(world)
    assert before == [[], [question(2), answer(2)]]
    assert all(item.reason is Reason.LIFECYCLE_MASKED for item in world.replay().items)
    assert world.request(Transition.UNMASK, 1).changed
    assert shown(world) == [[question(1), answer(1)], [question(2), answer(2)]]
    assert phases(world) == [Phase.ACTIVE, Phase.ACTIVE]


def test_archiving_changes_no_word_and_restoring_no_number(world: World) -> None:
    """LC-09."""
    world.with_turns(2)
    before = world.replay()
    world.archived()
    assert phases(world) == [Phase.ARCHIVED, Phase.ARCHIVED]
    assert [replace(turn, phase=Phase.ACTIVE) for turn in world.replay().turns] == before.turns
    world.request(Transition.RESTORE)
    assert world.replay() == before


def test_erased_words_are_gone_from_every_view_and_the_fact_stays(world: World) -> None:
    """Erasing removes the words everywhere and the fact nowhere (LC-07, AC-04, HR-06)."""
    world.with_turn(rich_turn()).with_turns(1)
    before = {view: world.replay(view).turns[0] for view in View}
    world.request(Transition.ERASE)
    for view in View:
        (turn, _) = world.replay(view).turns
        assert turn.phase is Phase.ERASED
        assert all(message.parts == [] and message.redacted for message in turn.messages)
        assert [replace(each, redacted=False) for each in turn.messages] == [
            replace(each, parts=[], redacted=False) for each in before[view].messages
        ]
        assert turn.host_refs == [replace(ref, label=None) for ref in before[view].host_refs]
        assert (turn.sequence, turn.actor, turn.source, turn.committed_ms) == (
            before[view].sequence, before[view].actor, before[view].source, before[view].committed_ms,
        )  # fmt: skip
        seen = [("obs-1", "")] if turn.external is not None else []
        assert [(tool.id, tool.summary) for tool in turn.tools] == seen


@pytest.mark.parametrize("transition", Transition)
def test_nothing_brings_back_what_was_erased(world: World, transition: Transition) -> None:
    """LC-01: erased is final; the request completes and changes nothing."""
    world.with_turns(1).erased(1)
    events = world.runtime.spaces.usage().events
    report = world.request(transition, 1)
    assert (report.changed, report.affected_turns, report.position, report.receipt) == (False, 0, None, None)
    assert world.runtime.spaces.usage().events == events
    assert shown(world) == [[]]


@pytest.mark.parametrize("transition", [Transition.ARCHIVE, Transition.MASK, Transition.ERASE])
def test_a_repeated_request_is_a_no_op(world: World, transition: Transition) -> None:
    """DESIGN §6: changed = false, nothing appended, for one turn and for the whole conversation."""
    world.with_turns(2)
    for number in (1, None):
        assert world.request(transition, number).changed
        events = world.runtime.spaces.usage().events
        again = world.request(transition, number)
        assert (again.changed, again.affected_turns) == (False, 0)
        assert world.runtime.spaces.usage().events == events


def test_a_request_that_matches_nothing_completes_without_change(world: World) -> None:
    """LC-05: not an error and not a success with change."""
    for turn in (None, TurnId("nobody")):
        report = world.runtime.lifecycle.request(key_of("nowhere"), Transition.MASK, "why", "who", turn)
        assert (report.changed, report.affected_turns, report.turns) == (False, 0, [])
    world.with_turns(1)
    report = world.runtime.lifecycle.request(key_of(), Transition.ERASE, "why", "who", TurnId("nobody"))
    assert (report.changed, report.affected_turns, report.receipt) == (False, 0, None)


def test_turns_that_come_after_a_request_are_not_touched_by_it(world: World) -> None:
    """LC-03: a conversation-wide request is about the turns that there are; later ones begin active."""
    world.with_turns(2).masked().with_turns(1)
    assert phases(world) == [Phase.MASKED, Phase.MASKED, Phase.ACTIVE]
    report = world.request(Transition.ERASE)
    assert report.affected_turns == 3
    world.with_turns(1)
    assert phases(world) == [Phase.ERASED] * 3 + [Phase.ACTIVE]


def test_a_second_request_for_all_turns_takes_those_that_it_still_changes(world: World) -> None:
    """Not to be copied from upstream: a single-turn deletion never breaks a later conversation-wide request."""
    world.with_turns(3).erased(2)
    report = world.request(Transition.MASK)
    assert (report.changed, report.turns) == (True, ["turn-1", "turn-3"])
    assert phases(world) == [Phase.MASKED, Phase.ERASED, Phase.MASKED]
    assert world.request(Transition.ERASE).turns == ["turn-1", "turn-3"]


def test_the_report_lists_what_is_affected_as_an_operator_may_see_it(world: World) -> None:
    """LC-04, LC-06: three references without labels, two redacted, who asked, why and when."""
    world.with_turn(rich_turn())
    report = world.runtime.lifecycle.request(key_of(), Transition.MASK, "a reason", "an operator", RICH)
    assert (report.affected_turns, report.turns) == (1, ["rich"])
    assert report.messages == [message_of("rich", place) for place in range(7)]
    assert [(ref.visibility, ref.label) for ref in report.host_refs] == [
        ("host_ui", None), ("operator_audit", None), ("export", None),
    ]  # fmt: skip
    assert report.host_refs_redacted == 2
    assert {item.reason for item in report.items} == {Reason.HOST_REF_VISIBILITY, Reason.HOST_REF_LABEL}
    assert (report.reason, report.requester, report.clipped) == ("a reason", "an operator", False)
    assert report.requested_ms > 0
    assert report.position is not None


def test_lists_are_clipped_and_counts_are_not() -> None:
    """LC-12."""
    world = memory_world(limits=Limits(report_items_max=3)).with_turns(5)
    report = world.request(Transition.MASK)
    assert (report.affected_turns, len(report.turns), len(report.messages), report.clipped) == (5, 3, 3, True)
    world.close()


@pytest.mark.parametrize(
    ("reason", "requester", "at"),
    [("", "who", "reason"), (" ", "who", "reason"), ("x" * 4097, "who", "reason"), ("why", "", "requester"),
     ("why", " who", "requester")],
    ids=range(5),
)  # fmt: skip
def test_a_request_without_reason_or_requester_is_refused(world: World, reason: str, requester: str, at: str) -> None:
    """LC-03, LC-11."""
    world.with_turns(1)
    with pytest.raises(InvalidInput) as refused:
        world.runtime.lifecycle.request(key_of(), Transition.MASK, reason, requester)
    assert refused.value.at == at
    assert phases(world) == [Phase.ACTIVE]


def test_who_may_only_append_may_not_touch_what_was_said(world: World) -> None:
    world.with_turns(1)
    narrow = world.runtime.restricted(Access(effects=frozenset({Effect.READ, Effect.APPEND})))
    with pytest.raises(AccessDenied):
        narrow.lifecycle.request(key_of(), Transition.MASK, "why", "who")
    assert narrow.lifecycle.receipts(key_of()).entries == []


# --- receipts ---------------------------------------------------------------------------------------------------------


def test_an_erasure_answers_with_a_receipt_that_a_stranger_can_check(world: World) -> None:
    """DESIGN §4: each place, what was done there, what is outside, and a proof of the event."""
    world.with_turns(3)
    world.runtime.evidence.export(key_of())
    receipt = world.request(Transition.ERASE, 2).receipt
    assert receipt is not None
    assert receipt.turns_erased == 1
    assert {place.place for place in receipt.places} >= {
        "content keys",
        "content cells",
        "write-ahead log",
        "space key",
    }
    assert any("export issued at position" in line for line in receipt.outside)
    vkey = world.runtime.evidence.checkpoint().vkey
    proved = verify_receipt(receipt.proof.encode(), vkey).header
    assert (proved["pos"], proved["kind"], proved["reason"]) == (receipt.position, "turn.lifecycle", "erase")


def test_every_transition_has_an_entry_with_reason_requester_and_proof(world: World) -> None:
    """LC-11."""
    world.with_turns(3)
    for transition, number in [(Transition.MASK, 1), (Transition.ARCHIVE, None), (Transition.ERASE, 3)]:
        world.request(transition, number, reason=f"because of {transition}")
    entries = world.runtime.lifecycle.receipts(key_of()).entries
    assert [(entry.transition, entry.first, entry.last) for entry in entries] == [
        (Action.MASK, 1, 1), (Action.ARCHIVE, 1, 3), (Action.ERASE, 3, 3),
    ]  # fmt: skip
    because = [f"because of {entry.transition}" for entry in entries]
    assert [entry.reason for entry in entries] == [because[0], "erased", because[2]]  # turn 3 was one of those archived
    assert all((entry.requester, entry.content_left) == ("operator", 0) for entry in entries)
    vkey = world.runtime.evidence.checkpoint().vkey
    for entry in entries:
        proved = verify_receipt(entry.proof.encode(), vkey).header
        assert (proved["pos"], proved["reason"]) == (entry.position, entry.transition)
    assert world.runtime.lifecycle.receipts(key_of("nowhere")).entries == []


# --- repeats and restarts ---------------------------------------------------------------------------------------------


def test_a_repeat_of_an_erased_turn_is_answered_and_nothing_comes_back(world: World) -> None:
    """TR-16 after erasure (decision 0007): already committed, and erased; whatever words are brought along."""
    world.with_turns(1).erased(1)
    for turn in (plain_turn(1), replace(plain_turn(1), messages=plain_turn(2).messages)):
        report = world.commit(turn)
        assert (report.committed, report.reason, report.sequence) == (
            False, "turn_already_committed_and_erased", 1,
        )  # fmt: skip
    assert shown(world) == [[]]


def test_lifecycle_is_the_same_after_a_restart(lasting: FileWorld) -> None:
    lasting.with_turns(4).masked(1).erased(2).archived(3)
    before = lasting.replay()
    assert phases(lasting.reopened()) == [Phase.MASKED, Phase.ERASED, Phase.ARCHIVED, Phase.ACTIVE]
    assert lasting.replay() == before


def test_no_file_of_the_store_holds_a_word_before_or_after_erasing(lasting: FileWorld) -> None:
    """Nothing readable is ever written: not in UTF-8, not in UTF-16, not as base64."""
    lasting.with_turns(2).with_turn(rich_turn())
    for stage in ("before", "after"):
        spellings = [
            spelt
            for word in (*WORDS, "the answer words", TALK, "operator", "label of export")
            for spelt in (word.encode(), word.encode("utf-16-le"), base64.b64encode(word.encode())[:-4])
            if len(spelt) > 6
        ]
        files = [path for path in lasting.home.rglob("*") if path.is_file()]
        assert len(files) >= 3
        for path in files:
            data = path.read_bytes()
            assert not [spelt for spelt in spellings if spelt in data], (stage, path.name)
        lasting.erased()
