"""Derived references and evidence links through the front door: written once, found from both ends, always proved."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import (
    AccessDenied,
    CursorInvalid,
    ForeignSpace,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    UnknownConversation,
    UnknownPlace,
)
from muniment.events.changes import Transition
from muniment.events.identity import SpaceName, SubjectId, TurnId, conversation_mark
from muniment.events.message import Authority
from muniment.events.references import Plane
from muniment.evidence import verifier
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.governance.views import View
from muniment.kernel.digest import unb64url
from muniment.memory.kinds import LinkedPlane
from muniment.operations.provenance.derivations import Derivation
from muniment.operations.provenance.derived_refs import citation
from muniment.operations.provenance.links import Link, MemoryKey
from muniment.operations.provenance.provenance import DerivationReport
from muniment.operations.transcripts.timeline import Anchor, AnchorKind
from tests.turns import RICH, SUBJECT, TALK, message_of, plain_turn, rich_turn
from tests.worlds import FileWorld, World, key_of, memory_world


def derived(number: int = 1, conversation: str = TALK, **more: Any) -> Derivation:
    """Return what was derived from a plain turn, or from the turns to `through`; other members by name."""
    fields: dict[str, Any] = {"plane": Plane.LONG_TERM, "key": "fact-1", "subject": SUBJECT}
    if isinstance(more.get("through"), int):
        more["through"] = TurnId(f"turn-{more['through']}")
    return Derivation(**fields | {"conversation": key_of(conversation), "turn": TurnId(f"turn-{number}")} | more)


def record(world: World, *derivations: Derivation) -> DerivationReport:
    return world.runtime.provenance.record(list(derivations))


def of_memory(world: World, key: str = "fact-1", plane: Plane = Plane.LONG_TERM) -> list[Link]:
    return world.runtime.evidence.links(MemoryKey(plane=plane, key=key)).links


def of_turns(world: World, number: int | None = None, conversation: str = TALK) -> list[Link]:
    turn = None if number is None else TurnId(f"turn-{number}")
    return world.runtime.evidence.links(conversation=key_of(conversation), turn=turn).links


def events_of(world: World) -> int:
    return world.runtime.system.health().events


# --- both ends --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plane", Plane)
def test_an_item_of_every_plane_is_found_from_both_ends(world: World, plane: Plane) -> None:
    """DR-01, DR-02: what it is, whose, from where and when; structured, with a citation to show."""
    world.with_turns(2)
    (told,) = record(world, derived(2, plane=plane)).references
    (link,) = of_memory(world, plane=plane)
    assert [link] == of_turns(world, 2) == of_turns(world)
    assert of_turns(world, 1) == []
    assert (link.plane, link.key, link.subject) == (plane, "fact-1", SUBJECT)
    assert (link.position, link.digest, link.verified) == (told.position, told.digest, True)
    source = link.source
    assert (source.space, source.channel, source.conversation, source.turn) == ("default", "default", TALK, "turn-2")
    assert link.citation == "transcript:default/default/talk#turn=turn-2"
    assert link.created_ms > 0


def test_a_citation_has_one_reading_whatever_the_names_are(world: World) -> None:
    """DR-02: shown to people; names cannot pass for structure."""
    world.with_turn(replace(plain_turn(1, "a/b#turn=x"), channel="c%d"))
    record(world, replace(derived(key="k", message="turn-1#0"), conversation=key_of("a/b#turn=x", "c%d")))
    (link,) = of_memory(world, "k")
    assert (
        link.citation
        == "transcript:default/c%25d/a%2Fb%23turn%3Dx#turn=turn-1#message=turn-1%230%40"
        + conversation_mark("c%d", "a/b#turn=x")
    )
    assert citation(link.source) == link.citation


def test_a_reference_names_a_message_and_the_authority_of_it(world: World) -> None:
    world.with_turn(rich_turn())
    told = record(world, derived(turn=RICH, message=f"{RICH}#1", authority=Authority.USER_ASSERTED))
    (link,) = of_memory(world)
    assert (link.source.message, link.source.authority) == (message_of(RICH, 1), Authority.USER_ASSERTED)
    assert (link.source.subject, link.verified, told.recorded) == (SUBJECT, True, 1)
    whole = record(world, derived(turn=RICH, authority=Authority.SOUL_GOVERNANCE))
    assert whole.references[0].digest != told.references[0].digest


def test_an_item_may_come_from_many_places_and_a_turn_lead_to_many_items(world: World) -> None:
    world.with_turns(3).with_turns(1, "other")
    told = record(world, derived(1), derived(1, "other"), derived(1, through=3), derived(2, key="fact-2"))
    assert told.recorded == 4
    assert [link.source.conversation for link in of_memory(world)] == [TALK, "other", TALK]
    assert [link.key for link in of_turns(world, 2)] == ["fact-1", "fact-2"]
    assert [link.key for link in of_turns(world, 3)] == ["fact-1"]
    assert len(of_turns(world, None, "other")) == 1


# --- written once -----------------------------------------------------------------------------------------------------

spans = st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda ends: (ends[0], min(4, sum(ends))))
wanted = st.builds(
    lambda span, conversation, key, plane: derived(
        span[0], conversation, key=key, plane=plane, **({"through": span[1]} if span[1] > span[0] else {})
    ),
    spans,
    st.sampled_from([TALK, "other"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from([Plane.LONG_TERM, Plane.SHARED_FACT]),
)


@given(st.lists(st.lists(wanted, min_size=1, max_size=3), max_size=8))
@settings(max_examples=40)
def test_the_same_reference_is_stored_once_in_the_order_of_creation(calls: list[list[Derivation]]) -> None:
    """DR-04: for any calls, what is stored is what was named, once, as it came; rebuilt it is the same."""
    world = memory_world().with_turns(4).with_turns(4, "other")
    before, model = events_of(world), dict[Derivation, int]()
    for call in calls:
        told = record(world, *call)
        fresh = [one for place, one in enumerate(call) if one not in model and one not in call[:place]]
        assert told.recorded == len(fresh) == sum(one.changed for one in told.references)
        for one, stored in zip(call, told.references, strict=True):
            assert model.setdefault(one, stored.position) == stored.position
    assert events_of(world) == before + len(model)
    links = {name: of_turns(world, None, name) for name in (TALK, "other")}
    for name, found in links.items():
        assert [link.position for link in found] == [
            at for one, at in model.items() if one.conversation == key_of(name)
        ]
        assert [link.created_ms for link in found] == sorted(link.created_ms for link in found)
        assert all(link.verified for link in found)
    catalogue = world.runtime._session.space.catalogue
    grown = catalogue.digests()
    catalogue.drop()
    assert catalogue.digests() == grown
    world.close()


def test_threads_that_record_the_same_store_it_once(world: World) -> None:
    """DR-04, with the decision inside the write transaction."""
    world.with_turns(1)
    barrier, told = threading.Barrier(4), list[DerivationReport]()

    def run() -> None:
        barrier.wait()
        told.append(record(world, derived(1)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.recorded for one in told) == 1
    assert len({one.references[0].position for one in told}) == 1


def test_references_are_there_after_coming_back_and_in_another_process(lasting: FileWorld) -> None:
    record(lasting.with_turns(2), derived(1, through=2))
    before = of_memory(lasting)
    assert of_memory(lasting.reopened()) == before
    assert record(lasting, derived(1, through=2)).recorded == 0


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Derivation, type[MunimentError], str]] = {
    "another space": (
        replace(derived(), conversation=replace(key_of(), space=SpaceName("elsewhere"))), ForeignSpace, "space",
    ),
    "no such conversation": (derived(1, "nowhere"), UnknownConversation, "derivations[1].conversation"),
    "no such turn": (derived(9), UnknownPlace, "derivations[1].turn"),
    "no such last turn": (derived(1, through=9), UnknownPlace, "derivations[1].through"),
    "a range that is reversed": (derived(2, through=1), InvalidInput, "derivations[1].through"),
    "a range that is too long": (derived(1, through=3), LimitExceeded, "derivations[1].through"),
    "no such message": (derived(1, message="turn-1#2"), UnknownPlace, "derivations[1].message"),
    "a message of another turn": (derived(1, message="turn-2#0"), UnknownPlace, "derivations[1].message"),
    "a message of several turns": (
        derived(1, through=2, message="turn-1#0"), InvalidInput, "derivations[1].message",
    ),
    "an empty key": (derived(1, key=""), InvalidInput, "derivations[1].key"),
    "a key that is too long": (derived(1, key="k" * 513), InvalidInput, "derivations[1].key"),
    "no subject": (derived(1, subject=""), InvalidInput, "derivations[1].subject"),
    "the subject of nobody there": (derived(1, subject="eve"), InvalidInput, "derivations[1].subject"),
    "an authority of no message": (
        derived(1, authority=Authority.SOUL_GOVERNANCE), InvalidInput, "derivations[1].authority",
    ),
    "the authority of another message": (
        derived(1, message="turn-1#0", authority=Authority.ASSISTANT_UTTERANCE),
        InvalidInput,
        "derivations[1].authority",
    ),
    "a message of a private item": (
        derived(1, plane=Plane.PRIVATE_GARDEN, message="turn-1#0"), InvalidInput, "derivations[1].message",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_hold_is_refused_and_nothing_of_the_request_is_kept(name: str) -> None:
    """DR-03, DR-05, SC-11: the source is the conversation, its turns name the subject, private items no message."""
    world = memory_world(limits=Limits(source_turns_max=2)).with_turns(3)
    before, (wrong, refusal, at) = events_of(world), REFUSED[name]
    with pytest.raises(refusal) as refused:
        record(world, derived(1), wrong)
    assert refused.value.at == at
    assert events_of(world) == before
    assert of_turns(world) == []
    world.close()


@pytest.mark.parametrize(("count", "refusal"), [(0, InvalidInput), (3, LimitExceeded)])
def test_a_recording_has_a_size(count: int, refusal: type[MunimentError]) -> None:
    world = memory_world(limits=Limits(derivations_max=2)).with_turns(1)
    with pytest.raises(refusal):
        record(world, *[derived(1, key=str(place)) for place in range(count)])
    world.close()


def test_who_speaks_for_one_subject_records_for_no_other(world: World) -> None:
    """AC-05."""
    world.with_turns(1)
    narrow = world.runtime.restricted(Access(subject="eve"))
    with pytest.raises(AccessDenied):
        narrow.provenance.record([derived(1)])
    assert world.runtime.restricted(Access(subject=SUBJECT)).provenance.record([derived(1)]).recorded == 1


@pytest.mark.parametrize("view", View)
def test_links_are_shown_to_who_may_see_the_structure(world: World, view: View) -> None:
    world.with_turns(1)
    record(world, derived(1))
    narrow = world.runtime.restricted(Access(views=frozenset({view}))).evidence
    if view in {View.RAW_OWNER, View.OPERATOR_AUDIT}:
        assert len(narrow.links(conversation=key_of()).links) == 1
    else:
        with pytest.raises(AccessDenied):
            narrow.links(conversation=key_of())


MEMORY = MemoryKey(plane=Plane.LONG_TERM, key="fact-1")


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ({"turn": "turn-1"}, InvalidInput),
        ({"memory": MEMORY, "conversation": key_of()}, InvalidInput),
        ({"memory": MEMORY, "turn": "turn-1"}, InvalidInput),
        ({"conversation": key_of("nowhere")}, UnknownConversation),
        ({"conversation": key_of(), "turn": "nowhere"}, UnknownPlace),
        ({"conversation": key_of(), "limit": 0}, InvalidInput),
        ({"conversation": key_of(), "cursor": "made up"}, CursorInvalid),
    ],
)
def test_a_question_about_links_has_one_end(world: World, asked: dict[str, Any], refusal: type[MunimentError]) -> None:
    world.with_turns(1)
    with pytest.raises(refusal):
        world.runtime.evidence.links(**asked)


def test_without_a_question_all_links_of_the_space_are_listed(world: World) -> None:
    """Each once, in the order of their creation, whatever the conversation or the item; page by page."""
    assert world.runtime.evidence.links().links == []
    world.with_turns(2).with_turns(1, "other")
    record(world, derived(1, key="first"))
    record(world, derived(1, key="second", conversation="other"), derived(2, key="third"))
    everything = world.runtime.evidence.links()
    assert [link.key for link in everything.links] == ["first", "second", "third"]
    assert not everything.has_more
    first = world.runtime.evidence.links(limit=2)
    rest = world.runtime.evidence.links(limit=2, cursor=first.next_cursor)
    assert [*first.links, *rest.links] == everything.links
    with pytest.raises(CursorInvalid):
        world.runtime.evidence.links(conversation=key_of(), limit=2, cursor=first.next_cursor)
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(views=frozenset({View.HOST_UI}))).evidence.links()


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7])
def test_pages_of_links_concatenate_to_the_whole_also_while_more_come(limit: int) -> None:
    """Each once, in their order; what was recorded meanwhile comes at the end."""
    world = memory_world().with_turns(3)
    record(world, *[derived(1 + place % 3, key=f"k{place}") for place in range(6)])
    found: list[str] = []
    cursor: str | None = None
    for round_ in range(20):
        page = world.runtime.evidence.links(conversation=key_of(), limit=limit, cursor=cursor)
        found += [link.key for link in page.links]
        assert page.has_more == (page.next_cursor is not None)
        if round_ == 0:
            record(world, derived(2, key="late"))
        cursor = page.next_cursor
        if cursor is None:
            break
    expected = [f"k{place}" for place in range(6)] + (["late"] if limit < 6 else [])
    assert found == expected
    world.close()


def test_a_cursor_of_links_leads_through_the_same_question_alone(world: World) -> None:
    world.with_turns(2)
    record(world, derived(1), derived(2))
    cursor = world.runtime.evidence.links(MEMORY, limit=1).next_cursor
    with pytest.raises(CursorInvalid):
        world.runtime.evidence.links(conversation=key_of(), limit=1, cursor=cursor)
    with pytest.raises(CursorInvalid):
        world.runtime.evidence.links(MemoryKey(plane=Plane.LONG_TERM, key="fact-2"), limit=1, cursor=cursor)


def test_a_reference_ends_no_run_through_a_timeline_and_a_mask_does(world: World) -> None:
    """PG-07: a link changes nothing of what is shown."""
    world.with_turns(4)
    first = world.runtime.transcripts.timeline(key_of(), Anchor(at=AnchorKind.LATEST), limit=2)
    record(world, derived(1), derived(1, through=3))
    older = world.runtime.transcripts.timeline(
        key_of(), Anchor(at=AnchorKind.LATEST), limit=2, cursor=first.older_cursor
    )
    assert [turn.sequence for turn in older.turns] == [1, 2]
    world.masked(1)
    with pytest.raises(MunimentError) as refused:
        world.runtime.transcripts.timeline(key_of(), Anchor(at=AnchorKind.LATEST), limit=2, cursor=first.older_cursor)
    assert refused.value.code == "cursor.stale"


# --- after the words are gone -----------------------------------------------------------------------------------------


def test_references_survive_mask_and_erasure_and_say_what_is_left(world: World) -> None:
    """DR-06, LC-07: the source is gone from every view and is proved all the same."""
    world.with_turns(5)
    record(world, derived(1, through=5), derived(3, key="fact-3"))
    (before,) = of_memory(world)
    assert (before.state.turns, before.state.active) == (5, 5)
    world.archived(1).masked(2).erased(3)
    (link,) = of_memory(world)
    state = link.state
    assert (state.active, state.archived, state.masked, state.erased) == (2, 1, 1, 1)
    assert link.verified
    assert (link.digest, link.source) == (before.digest, before.source)
    (gone,) = of_memory(world, "fact-3")
    assert (gone.state.turns, gone.state.erased, gone.verified) == (1, 1, True)
    assert record(world, derived(3, key="late")).recorded == 1


def test_a_transition_lists_what_was_derived_from_its_turns(world: World) -> None:
    """LC-04, LC-08: accepted memory stays when its source goes, and somebody is told to decide about it."""
    world.with_turns(4)
    record(world, derived(2), derived(1, through=3, key="summary"), derived(4, key="fact-4"))
    report = world.request(Transition.ERASE, 2)
    assert [(one.plane, one.key, one.subject) for one in report.derived_refs] == [
        (LinkedPlane.LONG_TERM, "fact-1", SUBJECT), (LinkedPlane.LONG_TERM, "summary", SUBJECT),
    ]  # fmt: skip
    assert report.derived_refs[0].citation == "transcript:default/default/talk#turn=turn-2"
    assert (report.derived_refs_total, report.clipped) == (2, False)
    again = world.request(Transition.ERASE, 2)
    assert (again.changed, again.derived_refs, again.derived_refs_total) == (False, [], 0)
    assert world.request(Transition.MASK).derived_refs_total == 2
    assert len(of_turns(world)) == 3


def test_a_list_of_derived_references_is_clipped_and_its_count_is_whole() -> None:
    """LC-12."""
    world = memory_world(limits=Limits(report_items_max=2)).with_turns(1)
    record(world, *[derived(1, key=f"k{place}") for place in range(5)])
    report = world.request(Transition.MASK, 1)
    assert (len(report.derived_refs), report.derived_refs_total, report.clipped) == (2, 5, True)
    world.close()


# --- proved to third parties ------------------------------------------------------------------------------------------


@pytest.fixture
def summarised(world: World) -> World:
    """Return a world with a summary of three turns, of which one was erased later."""
    world.with_turns(4)
    record(world, derived(2, through=4, key="summary"))
    return world.erased(3)


def disclosed(line: dict[str, Any]) -> dict[str, Any]:
    return {label: value for _, label, value in (json.loads(unb64url(each)) for each in line["disclosures"])}


@pytest.mark.parametrize("view", View)
def test_a_summary_proves_what_it_summarised_to_a_stranger(summarised: World, view: View) -> None:
    """The digest is made of the leaves in the bundle alone; derived data is shown to owners and operators."""
    text = summarised.runtime.evidence.export(key_of(), view).text
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('{"disclosures"')]
    leaves = {
        line["header"]["entry"]["turn"]: verifier.leaf_hash(json.dumps(
            line["header"], sort_keys=True, separators=(",", ":")
        ).encode())
        for line in lines
        if line["header"]["kind"] == "turn.committed"
    }  # fmt: skip
    (reference,) = [line for line in lines if line["header"]["kind"] == "ref.derived"]
    assert reference["header"]["refs"] == {"first": 2, "through": 4}
    told = disclosed(reference)
    if view not in {View.RAW_OWNER, View.OPERATOR_AUDIT}:
        assert told == {}
        return
    digest = verifier.source_digest(reference["header"]["log"], [leaves[turn] for turn in (2, 3, 4)])
    assert (told["digest"], told["key"], told["plane"]) == (digest, "summary", "long_term")
    assert told["source"]["through"] == "turn-4"
    assert digest != verifier.source_digest(reference["header"]["log"], [leaves[turn] for turn in (2, 4)])


def test_no_view_of_a_transcript_shows_what_was_derived_from_it(world: World) -> None:
    """RP-08: private planes of memory are no part of a replay."""
    world.with_turns(1)
    before = {view: world.replay(view) for view in View}
    record(world, derived(1, plane=Plane.PRIVATE_GARDEN, key="a private key", subject=SubjectId(SUBJECT)))
    assert {view: world.replay(view) for view in View} == before


def test_reports_name_planes_as_memory_does(world: World) -> None:
    """Where the items of one plane alone are linked like this; what was recorded stays."""
    world.with_turns(1)
    for plane in Plane:
        record(world, replace(derived(1, key=plane.value), plane=plane, message=None))
    report = world.request(Transition.MASK, 1)
    shown = {one.key: one.plane.value for one in report.derived_refs}
    others = {plane.value: plane.value for plane in Plane if plane.value in shown}
    assert shown == others | {"procedural_skill": "runtime_skill", "task_learning": "tool_experience"}
    recorded = world.runtime.evidence.links(MemoryKey(plane=Plane.TASK_LEARNING, key="task_learning")).links
    assert [link.plane for link in recorded] == [Plane.TASK_LEARNING]
