"""Contexts on record: what the event says, who may have one written, and that it holds no word."""

from __future__ import annotations

import msgspec
import pytest

import muniment
from muniment.errors import AccessDenied, CapabilityHidden
from muniment.events.changes import Transition
from muniment.events.disclosures import ContextIssued
from muniment.events.identity import ConversationKey
from muniment.events.records import EventKind
from muniment.evidence.verifier import source_digest
from muniment.governance.access import Access, Effect
from muniment.governance.policy import Policy
from muniment.governance.profiles import BudgetCause, Ceiling, Pressure, Profile, budget_of
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.operations.context.prompt import Composition, Context, QuoteScope, Shape, StopReason
from muniment.space.options import Options
from tests.context.prompts import messages_of, turn_of
from tests.turns import asked, question
from tests.worlds import World, key_of, root_key

BUDGET = 300
RECORD = Composition(record=True, begins=True, reach=QuoteScope.SPACE, reference_percent=50)


def recorded(
    world: World, key: ConversationKey | None = None, query: str | None = None
) -> tuple[Context, ContextIssued]:
    """Return a context on record, and the event."""
    found = world.runtime.transcripts.context(key or key_of(), BUDGET, query, Shape.ANTHROPIC, composition=RECORD)
    assert found.recorded is not None
    space = world.runtime._session.space
    with space.ledger.reader() as reader:
        row = reader.sealed(found.recorded)
        assert row is not None
        assert row.kind == EventKind.CONTEXT_ISSUED
        meta = space.ledger.open(row).meta
    assert isinstance(meta, ContextIssued)
    return found, meta


def test_a_record_names_the_turns_and_none_of_their_words(world: World) -> None:
    """The digest is that of the leaves, so that it stays what it is when the words are erased."""
    world.with_turns(20)
    found, issued = recorded(world, query="question 0003")
    grant = issued.context
    assert (grant.view, grant.shape, grant.counter) == (View.MODEL_CONTEXT, Shape.ANTHROPIC, "estimate")
    assert (grant.budget_tokens, grant.tokens, grant.messages) == (BUDGET, found.tokens, len(found.messages))
    assert grant.quoted == list(dict.fromkeys(each.place.position for each in found.quoted))
    assert grant.quoted[0] == world.replay().turns[2].position
    assert issued.caller.views == sorted(View)
    space = world.runtime._session.space
    first, last = found.first_sequence or 0, found.last_sequence or 0
    with space.ledger.reader() as reader:
        leaves = [row.leaf for row in reader.turns(1, first, last)]
    assert grant.digest == source_digest(space.ledger.log, leaves)
    said = msgspec.json.encode(issued).decode()
    assert not any(text in said for words in messages_of(found) for text in words)


def test_records_are_listed_among_the_disclosures(world: World) -> None:
    world.with_turns(3).with_turns(1, "other")
    found, _ = recorded(world)
    recorded(world, key_of("other"))
    recorded(world, key_of("nowhere"), "question")
    first, other, nowhere = world.runtime.evidence.disclosures().disclosures
    assert (first.kind, first.position, first.conversation) == (EventKind.CONTEXT_ISSUED, found.recorded, key_of())
    assert (first.first, first.last, first.through) == (1, 3, found.revision)
    assert (first.views, first.tokens, first.quoted) == ([View.MODEL_CONTEXT], found.tokens, [])
    assert other.conversation == key_of("other")
    assert (nowhere.conversation, nowhere.first, nowhere.through) == (None, None, None)
    assert len(nowhere.quoted) > 0
    of_talk = world.runtime.evidence.disclosures(key_of()).disclosures
    assert [each.position for each in of_talk] == [first.position, nowhere.position]


def test_the_receipt_of_an_erasure_names_the_contexts_of_the_conversation(world: World) -> None:
    world.with_turns(2)
    found, _ = recorded(world)
    receipt = world.request(Transition.ERASE, 1)
    assert f"the recorded context of a prompt at position {found.recorded}" in str(receipt)


def test_without_a_record_nothing_is_written(world: World) -> None:
    world.with_turns(2)
    before = world.runtime.spaces.usage().events
    assert world.runtime.transcripts.context(key_of(), 200, "question").recorded is None
    assert world.runtime.spaces.usage().events == before


def test_reading_is_enough_for_a_context_and_not_for_a_record(world: World) -> None:
    world.with_turns(2)
    reader = world.runtime.restricted(
        Access(effects=frozenset({Effect.READ}), views=frozenset({View.MODEL_CONTEXT}), subject="ada")
    )
    assert reader.transcripts.context(key_of(), 200).turns == 2
    with pytest.raises(AccessDenied) as denied:
        reader.transcripts.context(key_of(), 200, composition=RECORD)
    assert denied.value.at == "append"
    with pytest.raises(AccessDenied):
        reader.transcripts.context(key_of(), 200, view=View.RAW_OWNER)
    hidden = world.runtime.restricted(Access(policies=frozenset({Policy.NO_DEBUG_REPLAY})))
    with pytest.raises(CapabilityHidden):
        hidden.transcripts.context(key_of(), 200, view=View.OPERATOR_AUDIT)
    kinds = [each.kind for each in world.runtime.evidence.disclosures().disclosures]
    assert kinds == [EventKind.ACCESS_DENIED] * 3


def test_a_space_with_records_is_sound_and_comes_back(world: World) -> None:
    world.with_turns(3)
    recorded(world)
    recorded(world, key_of("nowhere"))
    assert world.runtime.evidence.inspect().findings == []
    world.runtime.system.recover()
    assert [each.kind for each in world.runtime.evidence.disclosures().disclosures] == [EventKind.CONTEXT_ISSUED] * 2


# --- profiles ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("profile", [None, *Profile])
@pytest.mark.parametrize("provider_chars", [None, 1, 500, 100_000])
def test_a_context_is_not_longer_than_request_profile_and_provider_allow(
    profile: Profile | None, provider_chars: int | None
) -> None:
    """PJ-02: the smallest of the three counts, and the report has the actual length."""
    pressure = Pressure(memory_free_bytes=2**33, storage_free_bytes=2**33, provider_chars=provider_chars)
    options = Options(sources=seeded_sources("profile"), profile=profile, pressure=lambda: pressure)
    with muniment.open("memory:", keys=root_key(), options=options) as runtime:
        for number in range(1, 60):
            runtime.transcripts.commit(turn_of(number, asked("word " * 200)))
        for budget in (100, 5_000, 1_000_000):
            found = runtime.transcripts.context(key_of(), budget, "word", composition=Composition(record=True))
            most = None if profile is None else budget_of(profile, pressure).rendered_chars
            assert found.chars == sum(len(text) for said in messages_of(found) for text in said)
            assert found.tokens <= budget
            assert most is None or found.chars <= most
            assert (found.cut_by is StopReason.CHARS) == bool(found.budget_applied)
            for over in found.budget_applied:
                assert (over.ceiling, over.limit) == (Ceiling.RENDERED_CHARS, most)
                assert over.found > over.limit
                assert (BudgetCause.PROVIDER in over.limited_by) == (over.limit == provider_chars)


def test_erased_words_are_in_no_context_any_more(world: World) -> None:
    world.with_turns(30)
    composition = Composition(reach=QuoteScope.SPACE)
    ask = world.runtime.transcripts.context
    before = ask(key_of(), 400, "question 0002", composition=composition)
    assert question(2) in str(before.messages)
    world.erased(2)
    for view in View:
        for shape in Shape:
            assert question(2) not in str(ask(key_of(), 400, "question 0002", shape, view, composition))
