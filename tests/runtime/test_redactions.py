"""Redacting a text everywhere: previewed, applied in one step to exactly what was seen, and again without effect."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import AccessDenied, CursorInvalid, CursorStale, InvalidInput, LimitExceeded, UnknownConversation
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import Channel, ConversationId, SubjectId, TurnId
from muniment.events.message import Message, Part, Role, TextPart, ToolCallPart, ToolCallResponsePart
from muniment.events.turn import ToolObservation, Turn
from muniment.governance.access import Access
from muniment.governance.views import View
from muniment.ledger import drafts
from muniment.operations.redactions import append_found
from muniment.operations.redactions import search_all as searching
from muniment.operations.redactions.found_places import SoughtText
from muniment.operations.redactions.matching import Matching, finder_of
from muniment.operations.redactions.occurrences import Extent
from muniment.operations.redactions.redactions import BulkRedactionReport, RedactionPreview
from tests.attributes import attribute
from tests.costs import assert_linear
from tests.turns import SUBJECT
from tests.worlds import World, key_of

NUMBER = "0171 2345678"
SAME = SoughtText(text=NUMBER, matching=Matching.DIGITS)
SEEN = [View.HOST_UI, View.EXPORT, View.MODEL_CONTEXT]


def said(number: int, *texts: str, conversation: str = "talk", **more: Any) -> Turn:
    messages = [
        Message(role=Role.USER if place % 2 == 0 else Role.ASSISTANT, content=text) for place, text in enumerate(texts)
    ]
    fields: dict[str, Any] = {"messages": messages} | more
    return Turn(
        turn=TurnId(f"turn-{number}"), subject=SubjectId(SUBJECT), conversation=ConversationId(conversation), **fields
    )


def preview(world: World, sought: SoughtText = SAME, views: list[View] | None = None, **more: Any) -> RedactionPreview:
    return world.runtime.redactions.find(sought, views or SEEN, **more)


def applied(
    world: World, token: str, sought: SoughtText = SAME, views: list[View] | None = None
) -> BulkRedactionReport:
    return world.runtime.redactions.apply(sought, token, RedactionReason.PERSONAL_DATA, "desk", views or SEEN, "asked")


def filled(world: World) -> World:
    world.commit(said(1, "call 0171-234 56 78 or 0171/2345678 today", "I will call +0171 2345678."))
    world.commit(said(2, "my number is 10171 2345678 9", "no", conversation="other"))
    world.commit(said(3, "it is 01712345678", "thanks", conversation="other"))
    call: list[Part] = [
        ToolCallPart(name="dial", id="c", arguments={"to": ["0171.2345678"]}),
        ToolCallResponsePart(id="c", response={"0171 2345678": True}),
        TextPart(content="done"),
    ]
    tools = [ToolObservation(id="o", tool="dial", summary="dialled 0171 2345678")]
    world.commit(said(4, messages=[Message(role=Role.ASSISTANT, content=call)], tools=tools))
    return world


def everything(world: World, view: View) -> str:
    names = ("talk", "other")
    return " ".join(str(turn) for name in names for turn in world.replay(view, name).turns)


def test_a_preview_says_where_a_text_is_and_changes_nothing(world: World) -> None:
    size = filled(world).runtime.evidence.checkpoint().size
    found = preview(world)
    assert (found.matches, found.to_redact, found.already, found.not_redactable) == (7, 7, 0, 0)
    assert (found.conversations, found.turns) == (2, 3)
    assert found.by_extent == {Extent.RANGE: 4, Extent.PART: 2, Extent.FIELD: 1}
    assert found.places[0].excerpt == "call 0171-234 56 78 or 0171/2345678 today"
    listed = preview(world, limit=2)
    assert (len(listed.places), listed.clipped, listed.matches) == (2, True, 7)
    assert world.runtime.evidence.checkpoint().size == size


def test_what_is_applied_is_gone_from_the_views_and_stays_for_the_others(world: World) -> None:
    """And everywhere: in texts exactly the range, in tools the whole part; a second time nothing is appended."""
    token = preview(filled(world)).token
    before = everything(world, View.RAW_OWNER)
    done = applied(world, token)
    assert (done.changed, done.redacted, done.turns, done.not_redactable) == (True, 7, 3, 0)
    digits = [spelt for view in SEEN for spelt in ("234 56", "2345678") if spelt in everything(world, view)]
    assert digits == ["2345678"] * len(SEEN), "the longer number is another one"
    assert "call [redacted: personal_data] or [redacted: personal_data] today" in everything(world, View.HOST_UI)
    assert everything(world, View.RAW_OWNER) == before
    size = world.runtime.evidence.checkpoint().size
    again = applied(world, token)
    assert (again.changed, again.redacted, again.already) == (False, 0, 7)
    assert world.runtime.evidence.checkpoint().size == size
    found = preview(world)
    assert (found.matches, found.to_redact, found.already) == (7, 0, 7)
    assert world.runtime.transcripts.search("01712345678", View.HOST_UI).total == 0


def test_naming_the_raw_owner_withholds_from_everybody(world: World) -> None:
    token = preview(filled(world), views=[View.RAW_OWNER]).token
    assert sorted(applied(world, token, views=[View.RAW_OWNER]).views) == sorted(View)
    assert "0171-234" not in everything(world, View.RAW_OWNER)
    assert preview(world, views=[View.RAW_OWNER]).to_redact == 0


def test_a_token_is_good_for_exactly_what_was_seen(world: World) -> None:
    """What was said since makes it stale, and nothing is appended; a change of something else does not."""
    token = preview(filled(world)).token
    world.with_turns(1, "elsewhere")
    size = world.runtime.evidence.checkpoint().size
    for other, views in ((SoughtText(text="0171"), SEEN), (SAME, [View.EXPORT])):
        with pytest.raises(CursorInvalid):
            applied(world, token, other, views)
    with pytest.raises(CursorInvalid):
        applied(world, "made up")
    world.commit(said(9, "again 0171 2345678"))
    with pytest.raises(CursorStale):
        applied(world, token)
    assert world.runtime.evidence.checkpoint().size == size + 1
    assert applied(world, preview(world).token).redacted == 8


def test_a_commit_between_searching_and_appending_is_not_missed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    token = preview(filled(world)).token
    draft, late = drafts.draft, [said(9, "late 0171 2345678"), said(10, "late as well")]

    def drafted(*arguments: Any, **named: Any) -> Any:
        if late:
            world.commit(late.pop())
        return draft(*arguments, **named)

    monkeypatch.setattr(append_found, "draft", drafted)
    with pytest.raises(CursorStale):
        applied(world, token)
    assert preview(world).to_redact == 8


def test_what_cannot_be_redacted_or_was_not_searched_is_counted(world: World) -> None:
    """An attribute has no redaction, and masked words are hidden from the raw owner as well; erased ones are gone."""
    world.with_turns(1)
    world.runtime.transcripts.annotate(key_of(), [attribute("contact", f"call {NUMBER}")])
    world.commit(said(2, f"is {NUMBER}"))
    world.commit(said(3, f"was {NUMBER}"))
    world.request(Transition.MASK, 2)
    world.request(Transition.ERASE, 3)
    found = preview(world)
    assert (found.matches, found.to_redact, found.not_redactable, found.masked_turns) == (1, 0, 1, 1)
    assert [place.extent for place in found.places] == [Extent.ATTRIBUTE]
    done = applied(world, found.token)
    assert (done.changed, done.not_redactable, done.masked_turns) == (False, 1, 1)


def test_a_search_may_be_narrowed_to_a_conversation(world: World) -> None:
    filled(world)
    one = SoughtText(text=NUMBER, matching=Matching.DIGITS, conversation=ConversationId("other"))
    assert preview(world, one).matches == 1
    assert preview(world, SoughtText(text=NUMBER, channel=Channel("mail"))).matches == 0
    with pytest.raises(UnknownConversation):
        preview(world, SoughtText(text=NUMBER, conversation=ConversationId("nowhere")))


def test_who_may_not_see_the_words_may_not_look_for_them(world: World) -> None:
    filled(world)
    narrow = world.runtime.restricted(Access(views=frozenset({View.HOST_UI}))).redactions
    with pytest.raises(AccessDenied):
        narrow.find(SAME, [View.HOST_UI])
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(views=frozenset({View.RAW_OWNER}))).redactions.find(SAME, [View.EXPORT])


@pytest.mark.parametrize(
    ("sought", "views"),
    [
        (SoughtText(text=""), SEEN),
        (SoughtText(text=" a "), SEEN),
        (SoughtText(text="*?*", matching=Matching.WILDCARD), SEEN),
        (SoughtText(text="12", matching=Matching.DIGITS), SEEN),
        (SoughtText(text="12a34", matching=Matching.DIGITS), SEEN),
        (SoughtText(text="known_name", matching=Matching.DETECTOR), SEEN),
        (SoughtText(text="whatever", matching=Matching.DETECTOR), SEEN),
        (SAME, []),
    ],
)
def test_what_says_too_little_is_refused(sought: SoughtText, views: list[View], world: World) -> None:
    with pytest.raises(InvalidInput):
        world.runtime.redactions.find(sought, views)


def test_a_search_has_limits(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(world)
    with pytest.raises(LimitExceeded):
        preview(world, SoughtText(text="x" * 257))
    with pytest.raises(InvalidInput):
        preview(world, limit=-1)
    monkeypatch.setattr(searching, "PLACES_MAX", 2)
    with pytest.raises(LimitExceeded):
        preview(world)


# --- matching ---------------------------------------------------------------------------------------------------------

FINDS: list[tuple[str, Matching, str, list[str]]] = [
    ("a.b", Matching.LITERAL, "a.b axb A.B", ["a.b"]),
    ("Straße", Matching.ANY_CASE, "straße STRAßE", ["straße", "STRAßE"]),
    ("0171 234", Matching.DIGITS, "0171-234 0171234 (0171) 234 0171   234 0171    234", [
        "0171-234", "0171234", "0171) 234", "0171   234",
    ]),
    ("0171234", Matching.DIGITS, "+0171.234, 90171234 01712345", ["+0171.234"]),
    ("ada*@example.org", Matching.WILDCARD, "ada@example.org Ada.L@example.org, ada x@example.org", [
        "ada@example.org", "Ada.L@example.org",
    ]),
    ("*@example.org", Matching.WILDCARD, "to bob@example.org!", ["bob@example.org"]),
    ("AB-*", Matching.WILDCARD, "ab-1 AB-22, ab", ["ab-1", "AB-22,"]),
    ("t?nt", Matching.WILDCARD, "tent t nt tint", ["tent", "tint"]),
    ("email", Matching.DETECTOR, "write to ada@example.org", ["ada@example.org"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "matching", "where", "expected"), FINDS)
def test_a_text_matches_as_it_was_asked_for(text: str, matching: Matching, where: str, expected: list[str]) -> None:
    assert [where[start:end] for start, end in finder_of(text, matching)(where)] == expected


@given(st.text(max_size=60), st.text(min_size=2, max_size=8), st.sampled_from(Matching))
def test_matches_are_in_order_and_inside_the_text(where: str, text: str, matching: Matching) -> None:
    try:
        find = finder_of(text, matching)
    except InvalidInput:
        return
    at = 0
    for start, end in find(where):
        assert at <= start < end <= len(where) or text.startswith("*")
        at = end


@pytest.mark.parametrize("text", ["*a" * 60, "a?" * 60, "a*" * 60 + "b"])
def test_no_wildcard_takes_for_ever(text: str) -> None:
    find = finder_of(text, Matching.WILDCARD)
    assert_linear(lambda where: list(find(where)), lambda length: "a" * length, 20_000)
