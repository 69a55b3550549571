"""Recall: items and messages in one answer, gated before they are ranked, with what each rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.errors import AccessDenied, InvalidInput, UnknownConversation
from muniment.events.identity import ConversationId
from muniment.events.memory_items import Freshness, ItemPrivacy, ItemScope, MemoryPlane
from muniment.events.turn import Turn
from muniment.governance.access import Access
from muniment.governance.views import Reason, View
from muniment.kernel.sources import seeded_sources
from muniment.memory.amendment import CorrectItem, PinItem, RefreshItem
from muniment.memory.fold import EvidenceState
from muniment.memory.recall_weights import COMPONENTS, RecallPreset, RecallWeights
from muniment.operations.memory.recall_report import (
    CONSIDERED_MAX,
    RecallMiss,
    RecallPlane,
    RecallRanking,
    RecallScope,
    Recollection,
)
from muniment.operations.transcripts.hits import SemanticCoverage
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.embedding.embedders import Words
from tests.memory.asking import HOME_CITY, amend, forget, remember
from tests.memory.items import candidate
from tests.turns import SUBJECT, TALK, answered, asked
from tests.worlds import World, memory_world, root_key

ITEMS = RecallScope(planes=[plane for plane in RecallPlane if plane is not RecallPlane.TRANSCRIPT])
EXPLAINED = RecallRanking(explain=True)
DAY_MS = 24 * 60 * 60 * 1000


def said(world: World, turn: str, text: str, subject: str = SUBJECT, conversation: str = TALK, **more: Any) -> None:
    """Commit a turn in which a user says something."""
    messages = [asked(text), answered("noted")]
    world.commit(Turn(turn=turn, subject=subject, conversation=conversation, messages=messages, **more))


@pytest.fixture
def ada(world: World) -> World:
    """Return a world in which something is known of Ada, and of Bob."""
    said(world, "turn-1", "I live in Oslo near the harbour")
    said(world, "turn-2", "My dog is called Rex")
    said(world, "turn-9", "My dog is called Bello", subject="bob", conversation="other")
    remember(world, "Lives in Oslo", id="home")
    remember(world, "Has a dog called Rex", 2, topic="pet", id="pet", entities=["Rex"], keywords=["animal"])
    return world


def recall(world: World, query: str, view: View = View.MODEL_CONTEXT, **more: Any) -> Recollection:
    return world.runtime.memory.recall(SUBJECT, query, view, **more)


def found(world: World, query: str, view: View = View.MODEL_CONTEXT, **more: Any) -> list[str]:
    """Return the ids of the items and the turns that are recalled."""
    hits = recall(world, query, view, **more).hits
    return [hit.id if hit.plane is not RecallPlane.TRANSCRIPT else str(hit.evidence[0].turn) for hit in hits]


def miss(world: World, query: str, plane: RecallPlane, view: View = View.MODEL_CONTEXT, **more: Any) -> Any:
    return next(each.miss for each in recall(world, query, view, **more).planes if each.plane is plane)


# --- what is found ----------------------------------------------------------------------------------------------------


def test_items_and_messages_are_in_one_answer_with_what_they_rest_on(ada: World) -> None:
    answer = recall(ada, "What is the dog called?")
    assert {hit.plane for hit in answer.hits} == {RecallPlane.LONG_TERM, RecallPlane.TRANSCRIPT}
    assert [hit.text for hit in answer.hits] == ["Has a dog called Rex", "My dog is called Rex"]
    for hit in answer.hits:
        [evidence] = hit.evidence
        assert (evidence.turn, evidence.withheld) == ("turn-2", None)
    item, message = answer.hits
    assert (item.topic, item.state, item.confidence) == ("pet", EvidenceState.STABLE_FACT, 0.9)
    assert (message.role, message.speaker) == ("user", SUBJECT)
    assert answer.covered().positions == [item.position, message.position]


def test_of_two_that_fit_alike_the_one_that_was_confirmed_last_comes_first(world: World) -> None:
    world.with_turns(1)
    for name in ("first", "second"):
        remember(world, "Keeps bees", topic=name, id=name)
    assert found(world, "bees", scope=ITEMS) == ["second", "first"]
    assert amend(world, "first", RefreshItem()).changed
    assert found(world, "bees", scope=ITEMS) == ["first", "second"]


def test_nothing_of_another_subject_is_recalled(ada: World) -> None:
    assert found(ada, "Bello") == []
    bob = ada.runtime.memory.recall("bob", "dog", View.RAW_OWNER)
    assert [hit.text for hit in bob.hits] == ["My dog is called Bello"]
    assert not any(each.candidates for each in bob.planes if each.plane is not RecallPlane.TRANSCRIPT)


def test_what_others_say_moves_no_score(ada: World) -> None:
    before = recall(ada, "What is the dog called?", ranking=EXPLAINED)
    for number in range(5):
        said(
            ada, f"turn-{20 + number}", "a dog, a dog, and another dog called dog", subject="bob", conversation="other"
        )
    ada.runtime.memory.remember([candidate("Has a dog called dog", None, subject="bob", topic="dog")], "host")
    assert recall(ada, "What is the dog called?", ranking=EXPLAINED) == before


def test_an_empty_answer_says_why_for_each_plane(ada: World) -> None:
    answer = recall(ada, "unicorn")
    assert answer.hits == []
    misses = {each.plane: each.miss for each in answer.planes}
    assert misses[RecallPlane.LONG_TERM] == misses[RecallPlane.TRANSCRIPT] == RecallMiss.NOTHING_MATCHED
    assert misses[RecallPlane.DIARY] == RecallMiss.NOTHING_THERE
    assert found(ada, "") == found(ada, "?!") == []


def test_what_matches_too_little_is_left_out(ada: World) -> None:
    strict = RecallRanking(least_relevance=0.9)
    asked_for = "a dog or a canoe"
    assert found(ada, asked_for, ranking=strict) == []
    assert miss(ada, asked_for, RecallPlane.LONG_TERM, ranking=strict) == RecallMiss.BELOW_THRESHOLD
    assert found(ada, asked_for, ranking=RecallRanking(least_relevance=0.5)) == ["pet", "turn-2"]
    assert [hit.relevance for hit in recall(ada, asked_for).hits] == [0.5, 0.5]


def test_the_limit_holds_and_the_rest_is_outranked(ada: World) -> None:
    assert found(ada, "dog called Rex", limit=1) == ["pet"]
    assert miss(ada, "dog called Rex", RecallPlane.TRANSCRIPT, limit=1) == RecallMiss.OUTRANKED
    for limit in (0, 10**6):
        with pytest.raises(InvalidInput):
            recall(ada, "dog", limit=limit)


def test_planes_are_asked_for_by_name(ada: World) -> None:
    assert found(ada, "dog", scope=ITEMS) == ["pet"]
    assert found(ada, "dog", scope=RecallScope(planes=[RecallPlane.TRANSCRIPT])) == ["turn-2"]
    assert [each.plane for each in recall(ada, "dog", scope=RecallScope(planes=[RecallPlane.DIARY])).planes] == [
        "diary"
    ]


# --- gates ------------------------------------------------------------------------------------------------------------


def test_what_a_view_hides_is_counted_and_never_found(ada: World) -> None:
    remember(ada, "The dog bites", 2, topic="warning", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC, id="secret")
    for view in View:
        answer = recall(ada, "dog bites warning", view, scope=ITEMS)
        report = next(each for each in answer.planes if each.plane is RecallPlane.LONG_TERM)
        shown = {View.RAW_OWNER: 3, View.OPERATOR_AUDIT: 0}.get(view, 2)
        assert (report.candidates, report.withheld) == (shown, 3 - shown)
        assert ("secret" in [hit.id for hit in answer.hits]) == (view is View.RAW_OWNER)
    assert miss(ada, "dog", RecallPlane.LONG_TERM, View.OPERATOR_AUDIT) == RecallMiss.WITHHELD


def test_what_is_hidden_moves_no_score(ada: World) -> None:
    before = recall(ada, "Where is the dog?", ranking=EXPLAINED, scope=ITEMS)
    hidden = ItemPrivacy.OPERATOR_DIAGNOSTIC
    for number in range(4):
        remember(ada, "dog dog dog", 2, topic=f"dog {number}", privacy=hidden)
    after = recall(ada, "Where is the dog?", ranking=EXPLAINED, scope=ITEMS)
    assert after.hits == before.hits


def test_what_is_retired_forgotten_or_over_is_found_no_more(ada: World) -> None:
    remember(ada, "Lives in Rome", 2, id="new-home")
    assert found(ada, "Oslo", scope=ITEMS) == []
    assert found(ada, "Rome", scope=ITEMS) == ["new-home"]
    forget(ada, HOME_CITY)
    assert found(ada, "Rome Oslo", View.RAW_OWNER, scope=ITEMS) == []
    remember(ada, "Walks on Sundays", 2, topic="habit", expires_ms=1, id="over")
    assert found(ada, "Sundays") == []
    amend(ada, "over", PinItem())
    assert found(ada, "Sundays") == ["over"]


def test_evidence_that_is_gone_says_why_it_does_not_open(ada: World) -> None:
    ada.masked(2)
    [hit] = recall(ada, "dog", scope=ITEMS).hits
    assert (hit.state, hit.evidence[0].withheld) == (EvidenceState.NEEDS_REVIEW, Reason.LIFECYCLE_MASKED)
    assert found(ada, "dog", scope=RecallScope(planes=[RecallPlane.TRANSCRIPT])) == []
    ada.redacted(Passage(turn="turn-1"), View.MODEL_CONTEXT)
    assert recall(ada, "Oslo", scope=ITEMS).hits[0].evidence[0].withheld == Reason.REDACTED
    assert recall(ada, "Oslo", View.RAW_OWNER, scope=ITEMS).hits[0].evidence[0].withheld is None
    ada.erased(1)
    assert recall(ada, "Oslo", View.RAW_OWNER, scope=ITEMS).hits[0].evidence[0].withheld == Reason.ERASED


def test_a_page_for_others_does_not_say_where_something_was_said(ada: World) -> None:
    [evidence] = recall(ada, "Oslo", View.HOST_UI, scope=ITEMS).hits[0].evidence
    assert (evidence.conversation, evidence.turn, evidence.withheld) == (None, None, Reason.VIEW_POLICY)


def test_recall_is_for_who_may_ask(ada: World) -> None:
    with pytest.raises(AccessDenied):
        ada.runtime.restricted(Access(subject="bob")).memory.recall(SUBJECT, "dog")
    with pytest.raises(AccessDenied):
        ada.runtime.restricted(Access(views=frozenset({View.HOST_UI}))).memory.recall(SUBJECT, "dog", View.RAW_OWNER)


# --- time -------------------------------------------------------------------------------------------------------------


def test_the_past_is_recalled_as_it_was_known_and_gated_as_it_is_now(world: World) -> None:
    clock = world.runtime._session.space.sources.clock
    said(world, "turn-1", "I live in Oslo")
    remember(world, id="i-1")
    then = clock.now_ms()
    amend(world, "i-1", CorrectItem(text="Lives in Bergen"))
    said(world, "turn-2", "I moved to Rome")
    remember(world, "Lives in Rome", 2, id="i-2")
    past = RecallScope(as_of_ms=then)
    assert found(world, "Oslo Bergen Rome", scope=past) == ["i-1", "turn-1"]
    assert recall(world, "Oslo", scope=past).hits[0].text == "Lives in Oslo"
    assert found(world, "Oslo Bergen Rome", scope=ITEMS) == ["i-2"]
    world.erased(1)
    forget(world, HOME_CITY)
    assert found(world, "Oslo Bergen Rome", View.RAW_OWNER, scope=past) == []


def test_a_weak_question_is_extended_with_what_was_said_last(ada: World) -> None:
    said(ada, "turn-3", "Tell me about the lighthouse")
    said(ada, "turn-4", "The tall one")
    scope = RecallScope(planes=ITEMS.planes, conversation=ConversationId(TALK))
    remember(ada, "Sails past the lighthouse", 3, topic="hobby", id="sails")
    plain, extended = recall(ada, "and more?", scope=ITEMS), recall(ada, "and more?", scope=scope)
    assert (plain.hits, plain.extended) == ([], False)
    assert ([hit.id for hit in extended.hits][:1], extended.extended) == (["sails"], True)
    assert not recall(ada, "Where does the dog live?", scope=scope).extended
    ada.masked(3)
    assert found(ada, "and more?", scope=scope) == ["pet"]
    with pytest.raises(UnknownConversation):
        recall(ada, "and?", scope=RecallScope(conversation=ConversationId("nowhere")))


# --- scores -----------------------------------------------------------------------------------------------------------


def test_the_score_is_the_sum_of_its_components(ada: World) -> None:
    answer = recall(ada, "Is the animal Rex a pet?", ranking=EXPLAINED)
    for hit in answer.hits:
        assert hit.components is not None
        assert set(hit.components) <= set(COMPONENTS)
        assert sum(hit.components.values()) == pytest.approx(hit.score, abs=1e-5)
    pet = next(hit for hit in answer.hits if hit.id == "pet").components
    assert pet is not None
    assert (pet["exact"], pet["entity"], pet["keyword"]) == (0.3, 0.15, 0.15)
    considered = [each for plane in answer.planes for each in plane.considered]
    assert {each.id for each in considered if each.selected} == {hit.id for hit in answer.hits}
    assert all(len(plane.considered) <= CONSIDERED_MAX for plane in answer.planes)
    assert recall(ada, "Rex").hits[0].components is None


def test_an_item_of_another_chat_counts_for_less(ada: World) -> None:
    here, elsewhere = "Prefers the window", "Prefers the aisle"
    said(ada, "turn-5", here, conversation="here")
    source = muniment.ItemSource(conversation=muniment.ConversationKey(conversation="here"), turn="turn-5")
    for name, text, evidence in (("here", here, [source]), ("elsewhere", elsewhere, candidate().evidence)):
        remember(ada, text, topic=name, id=name, scope=ItemScope.CHAT, evidence=evidence)
    scope = RecallScope(planes=ITEMS.planes, conversation=ConversationId("here"))
    assert found(ada, "which seat does she prefer", scope=scope) == ["here", "elsewhere"]


def test_weights_come_by_name_or_one_by_one(ada: World) -> None:
    decay = recall(ada, "dog", ranking=RecallRanking(preset=RecallPreset.DECAY, explain=True))
    assert [set(hit.components or ()) for hit in decay.hits] == [{"lexical"}, {"lexical"}]
    none = dict.fromkeys(COMPONENTS, 0.0)
    weights = RecallWeights(**none | {"confidence": 1.0, "lexical": 0.001})
    remember(ada, "A dog is noisy", 2, topic="noise", confidence=0.2, id="unsure")
    assert found(ada, "noise of a dog", ranking=RecallRanking(weights=weights), scope=ITEMS) == ["pet", "unsure"]


@given(st.lists(st.floats(0, 9), min_size=len(COMPONENTS), max_size=len(COMPONENTS)))
@settings(deadline=None, max_examples=30)
def test_no_weights_lose_a_hit_and_more_matching_words_never_score_less(values: list[float]) -> None:
    """RC-10."""
    world = memory_world()
    world.with_turns(1)
    for number in range(1, 5):
        words = " ".join(["harbour", "lantern", "comet", "violin"][:number] + ["filler"] * (4 - number))
        remember(world, words, topic=f"t{number}", id=f"i-{number}")
    weights = RecallWeights(**dict(zip(COMPONENTS, values, strict=True)), least=0)
    ranking = RecallRanking(weights=replace(weights, lexical=1 + weights.lexical), least_relevance=0)
    hits = recall(world, "harbour lantern comet violin", ranking=ranking, scope=ITEMS).hits
    assert sorted(hit.id for hit in hits) == ["i-1", "i-2", "i-3", "i-4"]
    assert max(hits, key=lambda hit: hit.score).id == "i-4"


def test_old_states_decay_where_the_weights_say_so(world: World) -> None:
    world.with_turns(1)
    for name, days in (("old", 30), ("new", 0)):
        observed = world.runtime._session.space.sources.clock.now_ms() - days * DAY_MS
        remember(
            world, f"Works on comets {name}", topic=name, freshness=Freshness.DYNAMIC, observed_ms=observed, id=name
        )
    remember(world, "Works on comets always", topic="stable", observed_ms=0, id="stable")
    ranking = RecallRanking(preset=RecallPreset.DECAY, least_relevance=0)
    scores = {hit.id: hit.score for hit in recall(world, "comets", ranking=ranking, scope=ITEMS).hits}
    assert scores["stable"] == pytest.approx(scores["new"], rel=0.01)
    assert scores["old"] == pytest.approx(scores["new"] / 2, rel=0.01)


# --- meaning, and staying the same ------------------------------------------------------------------------------------


@pytest.fixture
def meaning() -> Iterator[Runtime]:
    options = Options(sources=seeded_sources("recall"), embedder=Words(alike={"hound": "dog", "named": "called"}))
    with muniment.open("memory:", keys=root_key(), options=options) as runtime:
        yield runtime


def test_items_are_found_by_meaning(meaning: Runtime) -> None:
    filler = [candidate(f"word{n} other{n} thing{n}", None, topic=f"topic{n}") for n in range(12)]
    meaning.memory.remember([*filler, candidate("dog called Rex", None, topic="pet", id="pet")], "host")
    partial = meaning.memory.recall(SUBJECT, "hound named")
    assert partial.semantic is SemanticCoverage.PARTIAL
    assert partial.hits[0].id == "pet"
    made = meaning.system.reembed(View.MODEL_CONTEXT)
    assert (made.passages, made.pending) == (13, 0)
    full = meaning.memory.recall(SUBJECT, "hound named", ranking=EXPLAINED)
    assert (full.semantic, full.hits[0].id) == (SemanticCoverage.FULL, "pet")
    assert "similarity" in (full.hits[0].components or {})
    assert {each.backend for each in full.planes if each.plane is RecallPlane.LONG_TERM} == {"words+meaning"}


def test_an_answer_is_the_same_after_rebuilding_and_reopening(ada: World) -> None:
    """CT-16, for memory."""
    before = recall(ada, "Where is the dog called Rex?", ranking=EXPLAINED)
    rebuilt = ada.runtime.system.recover()
    assert {each.projection for each in rebuilt.projections} >= {"search model_context", "search model_context-items"}
    assert all(each.unchanged for each in rebuilt.projections)
    assert recall(ada, "Where is the dog called Rex?", ranking=EXPLAINED) == before


def test_a_plane_of_its_own_is_reported_as_such(world: World) -> None:
    world.with_turns(1)
    remember(world, "Met at the harbour", kind="diary", topic="monday", plane=MemoryPlane.DIARY, id="diary")
    [hit] = recall(world, "harbour", scope=ITEMS).hits
    assert (hit.plane, hit.id) == (RecallPlane.DIARY, "diary")
