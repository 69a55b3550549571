"""What messages lend the items that rest on them passes no gate, and tells nobody where something was said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import SubjectId, TurnId
from muniment.events.memory_items import ItemPrivacy, MemoryPlane
from muniment.events.turn import Turn
from muniment.governance.views import Reason, View
from muniment.memory.candidate import ItemAudience, ItemSource
from muniment.memory.recall_weights import RecallPreset
from muniment.memory.tool_registry import REFERENCES_MAX, RegistryReference
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.prompt_report import PromptBlock
from muniment.operations.memory.recall_report import (
    RecallHit,
    RecallMiss,
    RecallPlane,
    RecallRanking,
    RecallScope,
    Recollection,
)
from tests.memory.asking import forget, remember
from tests.memory.items import candidate, skill
from tests.memory.tools import feedback, reference, registry, saw
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


# --- the registries that a host has -----------------------------------------------------------------------------------


@pytest.fixture
def hinted(world: World) -> World:
    """Return a world with experience that gives a hint."""
    world.with_turns(2)
    world.runtime.tools.register(registry("f1"), "host")
    for turn in (1, 2):
        world.runtime.tools.feedback(SUBJECT, feedback(saw(summary="quick answer"), turn=turn), "host")
    return world


def recalled(world: World, *references: RegistryReference) -> Recollection:
    scope = RecallScope(planes=[RecallPlane.TOOL_EXPERIENCE])
    return world.runtime.memory.recall(SUBJECT, "quick answer", scope=scope, registries=list(references))


def prompted(world: World, *references: RegistryReference, query: str | None = None) -> PromptBlock:
    return world.runtime.memory.prompt(SUBJECT, 500, query, registries=list(references))


REGISTRIES = {
    "the one that it has": ([reference("f1")], 1, []),
    "one with another fingerprint": ([reference("f2")], 0, [("desk", "fingerprint_mismatch")]),
    "one of another name": ([reference("f1", "shop")], 0, [("shop", "registry_missing")]),
    "none": ([], 1, []),
}


@pytest.mark.parametrize("name", REGISTRIES)
def test_hints_are_of_the_registries_that_the_host_has(name: str, hinted: World) -> None:
    """RC-01, PJ-01, TL-06: recall, prompts and `tools.hints` say the same of each registry."""
    references, count, problems = REGISTRIES[name]
    answer, block = recalled(hinted, *references), prompted(hinted, *references)
    hints = hinted.runtime.tools.hints(SUBJECT, registries=references)
    assert [(each.registry, each.reason) for each in answer.registries] == problems
    assert (answer.registries, block.registries) == (hints.refused, hints.refused)
    assert {hit.id for hit in answer.hits} == {hint.item for hint in hints.hints}
    assert len(answer.hits) == block.text.count("2 of 2 calls succeeded") == count
    assert prompted(hinted, *references, query="quick answer").recalled == 2 + count  # two messages have a word of it
    (plane,) = answer.planes
    assert (plane.without_hint, plane.miss) == ((0, None) if count else (1, RecallMiss.NO_HINT))


def test_experience_of_a_registry_that_changed_says_so_where_none_is_named(hinted: World) -> None:
    """TL-06: the experience stays, and gives a hint again when its registry is back."""
    hinted.runtime.tools.register(registry("f2"), "host")
    answer = recalled(hinted)
    assert [(each.registry, each.reason) for each in answer.registries] == [("desk", "fingerprint_mismatch")]
    assert prompted(hinted, query="quick answer").registries == answer.registries
    hinted.runtime.tools.remove("desk", "sold", "host")
    assert [(each.registry, each.reason) for each in recalled(hinted).registries] == [("desk", "registry_missing")]
    hinted.runtime.tools.register(registry("f1"), "host")
    assert (recalled(hinted).registries, len(recalled(hinted).hits)) == ([], 1)


def test_a_registry_that_gives_a_hint_is_no_problem_for_what_is_older(hinted: World) -> None:
    hinted.runtime.tools.register(registry("f2"), "host")
    for turn in (1, 2):
        given = feedback(saw(summary="quick answer"), turn=turn, fingerprint="f2")
        hinted.runtime.tools.feedback(SUBJECT, given, "host")
    answer = recalled(hinted)
    assert (len(answer.hits), answer.planes[0].without_hint, answer.registries) == (1, 1, [])


def test_a_registry_that_is_named_in_vain_is_reported_where_nothing_matches(world: World) -> None:
    world.with_turns(1)
    answer = recalled(world, reference("f1"))
    assert [(each.registry, each.reason) for each in answer.registries] == [("desk", "registry_missing")]
    assert [plane.miss for plane in answer.planes] == [RecallMiss.NOTHING_THERE]


def test_a_recall_without_experience_asks_no_registry(hinted: World) -> None:
    scope, named = RecallScope(planes=[RecallPlane.LONG_TERM]), [reference("f2")]
    assert hinted.runtime.memory.recall(SUBJECT, "quick answer", scope=scope, registries=named).registries == []
    with pytest.raises(InvalidInput):
        hinted.runtime.memory.recall(SUBJECT, "quick answer", scope=scope, registries=[reference("f 1")])


@pytest.mark.parametrize("asked_for", [recalled, prompted])
def test_malformed_references_are_refused(asked_for: Callable[..., Any], hinted: World) -> None:
    with pytest.raises(InvalidInput) as refused:
        asked_for(hinted, reference("f 1"))
    assert refused.value.at == "registries[0].fingerprint"
    with pytest.raises(LimitExceeded):
        asked_for(hinted, *[reference("f1", f"r{number}") for number in range(REFERENCES_MAX + 1)])
