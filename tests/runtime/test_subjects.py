"""Subjects: who there is, and everything about one of them."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from muniment.errors import AccessDenied, CursorStale, LimitExceeded
from muniment.events.attributes import (
    Attribute,
    AttributeGovernance,
    AttributeSource,
    AttributeTarget,
    SourceKind,
    ValueKind,
)
from muniment.events.changes import Transition
from muniment.events.identity import ChatId, SubjectId, TurnId
from muniment.events.memory_items import ItemPrivacy, MemoryPlane
from muniment.events.references import Visibility
from muniment.events.turn import Attribution, Turn
from muniment.governance.access import Access, Effect
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.memory.amendment import CorrectItem
from muniment.operations.context.prompt import Composition
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.subjects import export_subject as exporting
from muniment.operations.subjects.export_subject import SubjectFormat
from muniment.operations.subjects.people_list import SubjectEntry
from muniment.operations.transcripts.redact import Passage
from tests.memory.asking import amend, forget, remember
from tests.memory.items import candidate
from tests.turns import SUBJECT, answered, asked, plain_turn
from tests.worlds import World, key_of

BOB = SubjectId("bob")
CANARY = "<script>alert('canary')</script>"


def of(subject: str, number: int, conversation: str) -> Turn:
    """Return a plain turn of a subject."""
    return replace(plain_turn(number, conversation), subject=SubjectId(subject))


def spoken_by(name: str, number: int, conversation: str, words: str = "hello") -> Turn:
    """Return a turn of ada in which somebody else speaks."""
    said = [replace(asked(words), speaker_id=name), answered("hello")]
    return replace(plain_turn(number, conversation), messages=said)


def people(world: World, **asked_for: Any) -> dict[str, SubjectEntry]:
    return {entry.subject: entry for entry in world.runtime.subjects.list_(**asked_for).subjects}


def exported(world: World, subject: str = "bob", **asked_for: Any) -> Any:
    """Return everything about a subject as plain data."""
    asked_for = {"format": SubjectFormat.JSON, **asked_for}
    return msgspec.json.decode(world.runtime.subjects.export(SubjectId(subject), **asked_for).text)


# --- who there is -----------------------------------------------------------------------------------------------------


def test_subjects_are_listed_with_what_is_theirs_and_where_they_are_named(world: World) -> None:
    world.with_turns(2).with_turn(of("bob", 1, "other")).with_turn(spoken_by("bob", 3, "talk"))
    world.commit(replace(plain_turn(2, "other"), actor=Attribution(agent_id="agent")))
    found = people(world)
    assert sorted(found) == ["ada", "agent", "bob"]
    assert (found["ada"].turns, found["ada"].conversations, found["ada"].named_in) == (4, 2, 0)
    assert (found["bob"].turns, found["bob"].conversations, found["bob"].named_in) == (1, 2, 1)
    assert (found["agent"].turns, found["agent"].named_in) == (0, 1)
    assert found["bob"].first_observed_ms <= found["bob"].last_observed_ms


def test_masked_and_erased_turns_name_nobody_in_the_list(world: World) -> None:
    world.with_turn(of("bob", 1, "other")).with_turn(of("eve", 1, "third")).with_turns(2)
    world.masked(None, "other").archived(None, "third")
    assert sorted(people(world)) == ["ada"]
    assert sorted(people(world, lifecycle=LifecycleFilter.ACTIVE_AND_ARCHIVED)) == ["ada", "eve"]


def test_the_list_has_pages_and_a_change_makes_their_cursors_stale(world: World) -> None:
    for name in ("cleo", "bob", "dan"):
        world.commit(of(name, 1, f"of-{name}"))
    first = world.runtime.subjects.list_(limit=2)
    second = world.runtime.subjects.list_(limit=2, cursor=first.next_cursor)
    assert [entry.subject for entry in (*first.subjects, *second.subjects)] == ["bob", "cleo", "dan"]
    assert (first.has_more, second.has_more) == (True, False)
    world.with_turns(1)
    with pytest.raises(CursorStale):
        world.runtime.subjects.list_(limit=2, cursor=first.next_cursor)


def test_a_caller_for_one_subject_sees_that_one_alone(world: World) -> None:
    world.with_turns(1).with_turn(of("bob", 1, "other"))
    mine = world.runtime.restricted(Access(subject="bob"))
    assert [entry.subject for entry in mine.subjects.list_().subjects] == ["bob"]
    assert mine.subjects.export(BOB).summary["turns"] == 1
    with pytest.raises(AccessDenied):
        mine.subjects.export(SUBJECT)


# --- everything about one of them -------------------------------------------------------------------------------------


def test_an_export_has_every_turn_that_a_subject_is_in_and_no_other(world: World) -> None:
    """As its subject, as a speaker, acting, mounted, as the agent."""
    world.with_turns(1).with_turn(of("bob", 1, "other")).with_turn(spoken_by("bob", 2, "talk"))
    world.commit(replace(plain_turn(3), actor=Attribution(acting_subject="bob")))
    world.commit(replace(plain_turn(4), actor=Attribution(mounted_subject="bob")))
    world.commit(replace(plain_turn(5), actor=Attribution(agent_id="bob")))
    world.commit(replace(plain_turn(6), chat=ChatId("c-7"), actor=Attribution(mounted_subject="bob")))
    found = exported(world)
    roles = {
        (one["conversation"]["conversation"], turn["turn"]["sequence"]): turn["roles"]
        for one in found["conversations"]
        for turn in one["turns"]
    }
    assert roles.pop(("other", 1)) == ["subject", "acting_subject", "mounted_subject", "agent_id", "speaker"]
    assert roles == {
        ("talk", 2): ["speaker"],
        ("talk", 3): ["acting_subject"],
        ("talk", 4): ["mounted_subject"],
        ("talk", 5): ["agent_id", "speaker"],  # an agent speaks the words of its assistant
        ("talk", 6): ["mounted_subject"],
    }
    assert [one.get("chats", []) for one in found["conversations"]] == [["c-7"], []]
    assert (found["subject"], found["space"], found["view"]) == ("bob", "default", "export")


def test_an_export_shows_what_the_view_shows_and_lists_what_is_withheld(world: World) -> None:
    """Masked, erased, redacted: the fact with its reason, never the words."""
    for number in range(1, 5):
        world.commit(of("bob", number, "talk"))
    world.masked(1).erased(2)
    world.redact(Passage(turn=TurnId("turn-3"), message=0, part=0), View.EXPORT)
    document = world.runtime.subjects.export(BOB, SubjectFormat.JSON)
    for hidden in ("question 0001", "question 0002", "question 0003"):
        assert hidden not in document.text
        assert hidden not in world.runtime.subjects.export(BOB).text
    assert "question 0004" in document.text
    (talk,) = msgspec.json.decode(document.text)["conversations"]
    assert [turn["turn"]["phase"] for turn in talk["turns"]] == [
        "masked", "erased", "active", "active",
    ]  # fmt: skip
    reasons = [{item["reason"] for item in turn["withheld"]} for turn in talk["turns"]]
    assert reasons == [{"lifecycle_masked"}, {"erased"}, {"redacted"}, set()]
    assert [(fact["what"], fact["turns"]) for fact in talk["changes"]] == [
        ("mask", [1]),
        ("erase", [2]),
        ("legal", [3]),
    ]
    assert all("reason" not in fact and "requester" not in fact for fact in talk["changes"])
    (raw,) = exported(world, view=View.RAW_OWNER)["conversations"]
    assert [fact["requester"] for fact in raw["changes"]] == ["operator"] * 3
    assert "question 0003" in str(raw)


def test_an_export_has_the_attributes_of_the_turns(world: World) -> None:
    world.commit(of("bob", 1, "talk"))
    shown = [
        Attribute(
            id=f"a-{place}", target=AttributeTarget(turn=TurnId("turn-1")), key="host.billing.plan",
            kind=ValueKind.STRING, value=f"plan {place}",
            source=AttributeSource(writer="host", kind=SourceKind.HOST_REPORTED, reason="billing"),
            visibility=visibility, governance=AttributeGovernance(export_allowed=True),
        )
        for place, visibility in enumerate((Visibility.EXPORT, Visibility.INTERNAL))
    ]  # fmt: skip
    world.runtime.transcripts.annotate(key_of(), shown)
    (talk,) = exported(world)["conversations"]
    assert [each["value"] for each in talk["turns"][0]["turn"]["attributes"]] == ["plan 0"]
    assert [item["attribute"] for item in talk["turns"][0]["withheld"]] == ["a-1"]


def test_an_export_says_who_received_the_turns(world: World) -> None:
    """Certified exports, contexts and revelations, of these turns alone; and the export itself goes on record."""
    world.commit(of("bob", 1, "talk"))
    world.with_turns(1, "talk").with_turn(of("bob", 3, "talk"))
    runtime = world.runtime
    runtime.evidence.export(key_of(), View.EXPORT, certified=True, recipient="court", purpose="claim")
    world.commit(of("bob", 4, "talk"))
    runtime.transcripts.context(key_of(), 20, composition=Composition(record=True, overhead_tokens=0))
    runtime.disclosure.reveal(key_of(), TurnId("turn-1"), "audit", "auditor")
    world.with_turns(1, "unrelated")
    runtime.evidence.export(key_of("unrelated"), View.EXPORT, certified=True)
    before = runtime.spaces.usage().events
    (talk,) = (found := exported(world, recipient="bob", purpose="article 15"))["conversations"]
    assert runtime.spaces.usage().events == before + 1
    told = {each["kind"]: each for each in talk["received"]}
    assert (told["export.issued"]["recipient"], told["export.issued"]["turns"]) == ("court", [1, 3])
    assert told["context.issued"]["turns"] == [4]
    assert (told["content.revealed"]["requester"], told["content.revealed"]["turns"]) == ("auditor", [1])
    last = runtime.evidence.disclosures(key_of(), limit=500).disclosures[-1]
    assert (last.position, last.subject, last.recipient, last.purpose) == (
        found["recorded"][0], "bob", "bob", "article 15",
    )  # fmt: skip
    again = exported(world)["conversations"][0]["received"]
    assert [each["recipient"] for each in again if each["kind"] == "export.issued"] == ["court", "bob"]


def test_the_page_for_people_is_inert_whatever_is_in_it(world: World) -> None:
    """No text of a store becomes an element, and nothing is loaded."""
    said = [replace(asked(CANARY), speaker_id=CANARY), answered("\u202etfel")]
    world.commit(Turn(turn=TurnId(CANARY), subject=BOB, conversation=key_of(CANARY).conversation, messages=said))
    world.runtime.conversations.describe(key_of(CANARY), CANARY)
    page = world.runtime.subjects.export(BOB, recipient=CANARY).text
    assert "canary" in page
    assert "<script" not in page
    assert "\u202e" not in page
    assert set(re.findall(r"<(\w+)", page)) <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "ul", "li", "p", "pre", "section", "span",
        "strong",
    }  # fmt: skip


def test_the_page_for_people_says_what_the_document_for_programs_says(world: World) -> None:
    world.commit(of("bob", 1, "talk"))
    world.commit(of("bob", 2, "talk"))
    world.masked(2)
    world.runtime.conversations.describe(key_of(), "The lamp")
    world.runtime.disclosure.reveal(key_of(), TurnId("turn-1"), "audit", "auditor")
    document = world.runtime.subjects.export(BOB)
    for words in ("The lamp", "question 0001", "lifecycle_masked", "mask, turn 2", "content.revealed", "auditor"):
        assert words in document.text
    assert document.media_type == "text/html"
    assert document.summary["turns"] == 2


def test_of_somebody_unknown_there_is_nothing_and_nothing_is_recorded(world: World) -> None:
    events = world.with_turns(1).runtime.spaces.usage().events
    assert exported(world, "eve")["conversations"] == []
    assert "nothing about this subject" in world.runtime.subjects.export(SubjectId("eve")).text
    assert world.runtime.spaces.usage().events == events


def test_an_export_takes_the_rights_to_read_and_to_append_and_the_view(world: World) -> None:
    world.with_turns(1)
    for access in (
        Access(effects=frozenset({Effect.READ})),
        Access(effects=frozenset({Effect.APPEND})),
        Access(views=frozenset({View.HOST_UI})),
    ):
        with pytest.raises(AccessDenied):
            world.runtime.restricted(access).subjects.export(SUBJECT)


def test_a_document_has_a_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.with_turns(1)
    monkeypatch.setattr(exporting, "SUBJECT_BYTES_MAX", 100)
    with pytest.raises(LimitExceeded):
        world.runtime.subjects.export(SUBJECT)


def test_turns_of_a_conversation_that_was_erased_are_facts_without_words(world: World) -> None:
    world.commit(of("bob", 1, "talk"))
    world.runtime.conversations.describe(key_of(), "CANARY")
    world.request(Transition.ERASE)
    (talk,) = exported(world, view=View.RAW_OWNER)["conversations"]
    assert "question" not in str(talk)
    assert "CANARY" not in str(talk)
    assert [turn["turn"]["phase"] for turn in talk["turns"]] == ["erased"]


# --- memory -----------------------------------------------------------------------------------------------------------


def remembered(world: World) -> World:
    """Let a world know of ada what is in use, corrected, superseded, forgotten, and for operators; something of bob."""
    world.with_turns(2)
    remember(world, id="i-1", tags=["tag-1"])
    remember(world, "Lives in Rome", 2, id="i-2")
    amend(world, "i-2", CorrectItem(text="Lives in Rome, Italy"))
    remember(world, "Slow today", topic="state", id="i-3", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
    remember(world, "A secret", topic="secret", id="i-4")
    forget(world, ForgetTarget(item="i-4"))
    bob = candidate("Knows ada", None, subject="bob", id="b-1", entities=["ada"], plane=MemoryPlane.SHARED_FACT)
    world.runtime.memory.remember([bob], "host")
    return world


def test_an_export_has_every_item_about_a_subject_and_none_about_others(world: World) -> None:
    """Retired ones with what happened to them, as the view shows it; forgotten and hidden ones are counted."""
    told = exported(remembered(world), "ada")
    assert [(one["item"]["id"], one["item"].get("text")) for one in told["memory"]] == [
        ("i-1", "Lives in Oslo"),
        ("i-2", "Lives in Rome, Italy"),
    ]
    assert told["memory_withheld"] == [{"reason": "erased", "items": 1}, {"reason": "operator_only", "items": 1}]
    first, second = told["memory"]
    assert (first["item"]["retired"], first["item"]["successor"], first["item"]["tags"]) == (
        "superseded",
        "i-2",
        ["tag-1"],
    )
    assert [step["former_text"] for step in second["revisions"]] == ["Lives in Rome"]
    assert "evidence" not in first["item"]
    owner = exported(world, "ada", view=View.RAW_OWNER)
    assert [one["item"]["id"] for one in owner["memory"]] == ["i-1", "i-2", "i-3"]
    assert owner["memory"][1]["item"]["evidence"][0]["citation"] == "transcript:default/default/talk#turn=turn-2"
    assert "secret" not in str(told) + str(owner)
    bob = exported(world, "bob")
    assert ([one["item"]["id"] for one in bob["memory"]], bob["conversations"]) == (["b-1"], [])


def test_an_export_of_memory_is_on_record_and_in_the_certificate_of_its_erasure(world: World) -> None:
    told = exported(remembered(world), "ada", recipient="the office", purpose="art. 15")
    entries = world.runtime.evidence.disclosures().disclosures
    (entry,) = [one for one in entries if one.plane is not None]
    assert (entry.kind, entry.subject, entry.plane, entry.views) == ("export.issued", "ada", "long_term", ["export"])
    assert (entry.recipient, entry.purpose, entry.position) == ("the office", "art. 15", told["recorded"][-1])
    done = forget(world, ForgetTarget(item="i-2"))
    assert done.receipt is not None
    assert f"the certified export issued at position {entry.position}" in done.receipt.outside
    (after,) = [one for one in world.runtime.evidence.disclosures().disclosures if one.plane is not None]
    assert after.purpose == "erased", "whatever was written about what is gone, is gone"
    assert world.runtime.evidence.inspect().findings == []


def test_the_page_for_people_has_what_was_remembered(world: World) -> None:
    remembered(world)
    remember(world, CANARY, topic=CANARY, id="i-5")
    page = world.runtime.subjects.export(SubjectId(SUBJECT)).text
    assert "What was remembered" in page
    assert "Lives in Rome, Italy" in page
    assert "Withheld: 1 items, operator_only" in page
    assert CANARY not in page
    assert CANARY.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;") in page
    document = world.runtime.subjects.export(SubjectId("bob"))
    assert (document.summary["items"], document.summary["items_withheld"]) == (1, 0)
    assert "There is nothing" not in document.text
