"""What messages lend the items that rest on them passes no gate, and tells nobody where something was said."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.events.identity import SubjectId, TurnId
from muniment.events.memory_items import ItemPrivacy, MemoryPlane
from muniment.events.turn import Turn
from muniment.governance.views import Reason, View
from muniment.memory.candidate import ItemAudience, ItemSource
from muniment.memory.recall_weights import RecallPreset
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.recall_report import RecallHit, RecallPlane, RecallRanking, RecallScope
from tests.memory.asking import forget, remember
from tests.memory.items import candidate, skill
from tests.memory.tools import feedback, registry, saw
from tests.turns import SUBJECT, TALK, answered, asked
from tests.worlds import World, key_of

ITEMS = RecallScope(planes=[plane for plane in RecallPlane if plane is not RecallPlane.TRANSCRIPT])


@pytest.fixture
def walk(world: World) -> World:
    """Return a world with a turn, and an item that rests on it and has no word of it."""
    said(world, "turn-1", "The walk along the harbour took two hours")
    said(world, "turn-2", "Nothing much happened today")
    remember(world, "Likes fresh air", topic="pastime", id="air")
    return world


def said(world: World, turn: str, text: str, **more: Any) -> None:
    messages = [asked(text), answered("noted")]
    world.commit(Turn(turn=turn, subject=more.pop("subject", SUBJECT), conversation=TALK, messages=messages, **more))


def hits(world: World, query: str, view: View = View.MODEL_CONTEXT, **more: Any) -> list[RecallHit]:
    return world.runtime.memory.recall(SUBJECT, query, view, **({"scope": ITEMS} | more)).hits


def ids(world: World, query: str, view: View = View.MODEL_CONTEXT, **more: Any) -> list[str]:
    return [hit.id for hit in hits(world, query, view, **more)]


def test_a_question_in_the_words_of_a_turn_finds_the_item_that_rests_on_it(walk: World) -> None:
    (hit,) = hits(walk, "How long was the walk at the harbour?", ranking=RecallRanking(explain=True))
    assert hit.id == "air"
    assert hit.components is not None
    assert hit.components["source"] == 1.0
    assert "lexical" not in hit.components
    assert [source.turn for source in hit.evidence] == ["turn-1"]


def test_a_message_lends_nothing_to_what_rests_on_another_message_of_its_turn(walk: World) -> None:
    key = key_of(TALK)
    for name, number in (("asked", 0), ("answered", 1)):
        source = ItemSource(conversation=key, turn=TurnId("turn-1"), message=f"turn-1#{number}")
        remember(walk, f"Remark {number}", topic=name, id=name, evidence=[source])
    assert set(ids(walk, "the harbour")) == {"air", "asked"}


def test_weights_that_know_only_words_lend_nothing(walk: World) -> None:
    assert ids(walk, "the harbour", ranking=RecallRanking(preset=RecallPreset.SIMILARITY)) == []


def test_an_item_that_the_view_hides_is_lent_nothing(walk: World) -> None:
    remember(walk, "Avoids crowds", topic="fear", id="fear", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
    assert ids(walk, "the harbour") == ["air"]
    assert set(ids(walk, "the harbour", View.RAW_OWNER)) == {"air", "fear"}


def test_an_item_that_is_over_or_forgotten_is_lent_nothing(walk: World) -> None:
    remember(walk, "Is away", topic="trip", id="trip", expires_ms=1)
    assert ids(walk, "the harbour") == ["air"]
    forget(walk, ForgetTarget(item="air"))
    assert ids(walk, "the harbour", View.RAW_OWNER) == []


def test_a_message_that_the_view_does_not_show_lends_nothing(walk: World) -> None:
    walk.masked(1)
    assert ids(walk, "the harbour") == []
    assert ids(walk, "fresh air") == ["air"]
    (hit,) = hits(walk, "fresh air")
    assert [source.withheld for source in hit.evidence] == [Reason.LIFECYCLE_MASKED]


def test_a_view_that_does_not_say_where_something_was_said_does_not_tell_it_by_an_order(walk: World) -> None:
    assert ids(walk, "the harbour", View.HOST_UI) == []
    assert ids(walk, "fresh air", View.HOST_UI) == ["air"]


def test_messages_that_lend_are_no_hits_where_nobody_asked_for_them(walk: World) -> None:
    report = walk.runtime.memory.recall(SUBJECT, "the harbour", scope=ITEMS)
    assert {hit.plane for hit in report.hits} == {RecallPlane.LONG_TERM}
    assert RecallPlane.TRANSCRIPT not in {plane.plane for plane in report.planes}


def test_the_past_lends_nothing_to_what_came_later(walk: World) -> None:
    then = walk.runtime._session.space.sources.clock.now_ms()
    remember(walk, "Sleeps well", topic="sleep", id="sleep")
    assert set(ids(walk, "the harbour")) == {"air", "sleep"}
    past = RecallScope(planes=ITEMS.planes, as_of_ms=then)
    assert ids(walk, "the harbour", scope=past) == ["air"]


# --- shared facts, summaries, skills and tools ------------------------------------------------------------------------


def found_for(world: World, subject: str, query: str, **more: Any) -> set[str]:
    answer = world.runtime.memory.recall(subject, query, View.RAW_OWNER, RecallScope(planes=ITEMS.planes, **more))
    return {hit.id for hit in answer.hits}


def test_a_shared_fact_is_recalled_for_whom_it_is_meant(world: World) -> None:
    """LT-22: for all subjects, for these alone, or for all but these; now and in the past."""
    world.with_turns(1)
    audiences = {"all": {}, "only": {"only": ["bob"]}, "not": {"hidden_from": ["bob"]}}
    for name, given in audiences.items():
        audience = ItemAudience(**{key: [SubjectId(one) for one in names] for key, names in given.items()})
        remember(world, "The lantern is lit", topic=name, plane=MemoryPlane.SHARED_FACT, audience=audience, id=name)
    then = world.runtime._session.space.sources.clock.now_ms()
    for more in ({}, {"as_of_ms": then}):
        assert found_for(world, SUBJECT, "lantern", **more) == {"all", "only", "not"}
        assert found_for(world, "bob", "lantern", **more) == {"all", "only"}
        assert found_for(world, "cy", "lantern", **more) == {"all", "not"}
    answer = world.runtime.memory.recall("bob", "lantern", View.RAW_OWNER, ITEMS)
    assert {source.withheld for hit in answer.hits for source in hit.evidence} == {Reason.VIEW_POLICY}
    report = next(each for each in answer.planes if each.plane is RecallPlane.SHARED_FACT)
    assert (report.candidates, report.withheld) == (2, 0)


@pytest.mark.parametrize("gone", ["masked", "erased"])
def test_a_summary_of_what_is_gone_is_not_recalled(gone: str, walk: World) -> None:
    """LC-13: nor does it move a score, since no index has it any more."""
    remember(walk, "Hiked by the sea", kind="summary", topic="monday", plane=MemoryPlane.SUMMARY, id="summary")
    assert "summary" in ids(walk, "hiked")
    getattr(walk, gone)(1)
    answer = walk.runtime.memory.recall(SUBJECT, "hiked", View.RAW_OWNER, ITEMS)
    assert answer.hits == []
    assert next(each.candidates for each in answer.planes if each.plane is RecallPlane.SUMMARY) == 0


def test_a_disabled_skill_is_neither_recalled_nor_in_a_prompt(world: World) -> None:
    """RS-06."""
    world.with_turns(1)
    world.runtime.memory.remember([candidate(**skill(), id="k-1")], "host")
    assert ids(world, "lift button") == ["k-1"]
    name = skill()["name"]
    world.runtime.skills.disable(SUBJECT, name, "asked", "ada")
    assert ids(world, "lift button") == []
    assert "lift" not in world.runtime.memory.prompt(SUBJECT, 500).text
    world.runtime.skills.enable(SUBJECT, name, "asked", "ada")
    assert ids(world, "lift button") == ["k-1"]


def test_experience_is_recalled_once_it_gives_a_hint(world: World) -> None:
    """TL-04, TL-06."""
    world.with_turns(2)
    tools = world.runtime.tools
    tools.register(registry("f1"), "host")
    tools.feedback(SUBJECT, feedback(saw(summary="quick answer")), "host")
    assert ids(world, "quick answer") == []
    tools.feedback(SUBJECT, feedback(saw(summary="quick answer"), turn=2), "host")
    assert [hit.plane for hit in hits(world, "quick answer")] == [RecallPlane.TOOL_EXPERIENCE]
    tools.register(registry("f2"), "host")
    assert ids(world, "quick answer") == []
