"""Finding a conversation: by the id of a chat, by what lists print, by title, tag, subject and time."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from muniment.errors import (
    AccessDenied,
    CursorInvalid,
    InvalidInput,
    LimitExceeded,
    UnknownConversation,
    UnknownPlace,
    WordsErased,
)
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import (
    Channel,
    ChatId,
    ConversationId,
    ConversationKey,
    SubjectId,
    TurnId,
    parse_spelled,
    spelled,
)
from muniment.events.turn import Attribution, Turn
from muniment.governance.access import Access, Effect
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.conversations.glance import PREVIEW_CHARACTERS_MAX
from muniment.operations.conversations.listed import ConversationEntry, ConversationFilter
from muniment.operations.conversations.resolve import NamedBy
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from tests.turns import SUBJECT, TALK, answered, asked, message_of, plain_turn
from tests.worlds import FileWorld, World, key_of

ALL = LifecycleFilter.ACTIVE_AND_ARCHIVED


def in_chat(number: int, chat: str, conversation: str | None = None, subject: str = SUBJECT) -> Turn:
    """Return a plain turn that names a chat, and perhaps a conversation."""
    named = None if conversation is None else ConversationId(conversation)
    return replace(plain_turn(number), conversation=named, chat=ChatId(chat), subject=SubjectId(subject))


def listed(runtime: Runtime, view: View | None = None, **only: object) -> list[ConversationEntry]:
    """Return the conversations that a filter leaves."""
    return runtime.conversations.list_(only=ConversationFilter(**only), view=view).conversations  # type: ignore[arg-type]  # as a test names it


def names(entries: list[ConversationEntry]) -> list[str]:
    """Return the ids of conversations."""
    return sorted(entry.conversation for entry in entries)


# --- chat ids ---------------------------------------------------------------------------------------------------------


def test_a_chat_id_leads_to_its_conversation_for_its_subject_alone(world: World) -> None:
    world.commit(in_chat(1, "c-7", "talk"))
    resolve = world.runtime.conversations.resolve
    assert resolve("c-7", SUBJECT).conversation == key_of("talk")
    assert resolve("c-7", SUBJECT).by is NamedBy.CHAT
    for subject in (None, SubjectId("bob")):
        with pytest.raises(UnknownConversation):
            resolve("c-7", subject)


def test_a_turn_that_names_a_known_chat_joins_its_conversation(world: World) -> None:
    """With or without the name of the conversation, and a repeat is found again."""
    world.commit(in_chat(1, "c-7", "talk"))
    for again in (False, True):
        receipt = world.commit(in_chat(2, "c-7"))
        assert (receipt.conversation, receipt.sequence, receipt.committed) == (key_of("talk"), 2, not again)
    assert names(world.runtime.conversations.list_().conversations) == ["talk"]
    assert world.commit(in_chat(3, "c-7", subject="bob")).conversation == key_of("c-7")


def test_a_turn_of_which_nothing_is_kept_names_the_conversation_of_its_chat(world: World) -> None:
    world.commit(in_chat(1, "c-7", "talk"))
    receipt = world.commit(replace(in_chat(2, "c-7"), messages=[asked(" ")]))
    assert (receipt.committed, receipt.conversation, receipt.messages_before) == (False, key_of("talk"), 2)


def test_a_chat_is_known_for_the_mounted_subject(world: World) -> None:
    mounted = Attribution(mounted_subject="bob")
    world.commit(replace(in_chat(1, "c-7", "talk"), actor=mounted))
    assert world.commit(replace(in_chat(2, "c-7"), actor=mounted)).conversation == key_of("talk")
    assert world.runtime.conversations.resolve("c-7", SubjectId("bob")).turns == 2


@pytest.mark.parametrize("channel", ["default", "web", "a/b", "100%", "%2F", "a%2Fb/"])
@pytest.mark.parametrize("conversation", ["talk", "a/b", "/", "%2F"])
def test_what_is_printed_of_a_conversation_can_be_pasted(world: World, channel: str, conversation: str) -> None:
    """Whatever slashes and percent signs are in the names."""
    turn = replace(plain_turn(1, conversation), channel=Channel(channel))
    world.commit(turn)
    printed = spelled(channel, conversation)
    assert parse_spelled(printed) == (channel, conversation)
    found = world.runtime.conversations.resolve(printed)
    assert (found.conversation, found.turns) == (key_of(conversation, channel), 1)
    assert parse_spelled("no slash") is None


# --- unknown conversations --------------------------------------------------------------------------------------------


def test_an_unknown_conversation_is_the_same_error_for_every_reader(world: World) -> None:
    """LC-05 stays: a lifecycle request that finds nothing is no error."""
    world.with_turns(1)
    runtime, key = world.runtime, key_of("tolk")
    readers: list[Callable[[], object]] = [
        lambda: runtime.transcripts.replay(key),
        lambda: runtime.transcripts.timeline(key),
        lambda: runtime.transcripts.context(key, 100),
        lambda: runtime.spaces.export(key),
        lambda: runtime.evidence.export(key),
        lambda: runtime.evidence.prove(key, TurnId("turn-1")),
        lambda: runtime.evidence.disclosures(key),
        lambda: runtime.evidence.inspect(key),
        lambda: runtime.evidence.links(conversation=key),
        lambda: runtime.disclosure.reveal(key, TurnId("turn-1"), "why", "who"),
        lambda: runtime.conversations.describe(key, "title"),
        lambda: runtime.conversations.resolve("tolk"),
    ]
    for read in readers:
        with pytest.raises(UnknownConversation) as unknown:
            read()
        assert unknown.value.suggestions == (key_of("talk"),)
        assert not any(name in f"{unknown.value} {unknown.value.report()}" for name in ("tolk", "talk"))
    done = runtime.lifecycle.request(key, Transition.MASK, "why", "who")
    assert (done.affected_turns, done.changed) == (0, False)


def test_a_conversation_of_which_nothing_is_shown_is_empty_and_known(world: World) -> None:
    world.with_turns(1).erased()
    page = world.runtime.transcripts.timeline(key_of())
    assert (page.turns, page.has_older) == ([], False)
    assert world.runtime.transcripts.context(key_of(), 100).turns <= 1
    assert [turn.phase for turn in world.replay().turns] == ["erased"]


def test_suggestions_are_alike_and_few(world: World) -> None:
    for name in ("talk-1", "talk-2", "talk-3", "talk-4", "elsewhere"):
        world.with_turns(1, name)
    world.commit(replace(plain_turn(1, "talk"), channel=Channel("web")))
    with pytest.raises(UnknownConversation) as unknown:
        world.replay()
    assert unknown.value.suggestions[0] == key_of("talk", "web")
    assert len(unknown.value.suggestions) == 3
    with pytest.raises(UnknownConversation) as unknown:
        world.replay(conversation="0000")
    assert unknown.value.suggestions == ()


def test_a_caller_is_told_of_no_conversation_that_it_may_not_list(world: World) -> None:
    """Of another subject, of masked words, without the right to read."""
    world.with_turns(1, "talk-1").with_turn(replace(plain_turn(1, "talk-2"), subject=SubjectId("bob")))
    world.with_turns(1, "talk-3").masked(None, "talk-3")

    def told(access: Access) -> tuple[ConversationKey, ...]:
        with pytest.raises(UnknownConversation) as unknown:
            world.runtime.restricted(access).conversations.describe(key_of("talk"), "title")
        return unknown.value.suggestions

    assert set(told(Access())) == {key_of("talk-1"), key_of("talk-2")}
    assert told(Access(subject="bob")) == (key_of("talk-2"),)
    assert told(Access(subject="eve")) == ()
    assert told(Access(effects=frozenset({Effect.APPEND}))) == ()


# --- titles and tags --------------------------------------------------------------------------------------------------


def test_a_title_and_tags_are_listed_and_a_repeat_changes_nothing(world: World) -> None:
    world.with_turns(2)
    describe = world.runtime.conversations.describe
    done = describe(key_of(), "  The \n lamp ", ["shop", "urgent", "shop"])
    assert (done.changed, done.title, done.tags, len(done.positions)) == (True, "The lamp", ["shop", "urgent"], 2)
    again = describe(key_of(), "The lamp", ["shop", "urgent"])
    assert (again.changed, again.positions) == (False, [])
    (entry,) = listed(world.runtime)
    assert (entry.title, entry.tags) == ("The lamp", ["shop", "urgent"])
    assert describe(key_of(), tags=[]).changed
    assert describe(key_of(), "Another lamp").changed
    (entry,) = listed(world.runtime)
    assert (entry.title, entry.tags) == ("Another lamp", [])
    assert describe(key_of(), "").changed
    assert listed(world.runtime)[0].title is None


def test_a_title_is_words_and_shown_where_words_are_shown(world: World) -> None:
    world.with_turns(1)
    world.runtime.conversations.describe(key_of(), "CANARY", ["canary-tag"])
    for view in View:
        shows = view is not View.OPERATOR_AUDIT
        (entry,) = listed(world.runtime, view)
        assert (entry.title, entry.tags) == (("CANARY", ["canary-tag"]) if shows else (None, []))
        assert (entry.first is not None) is shows
        assert names(listed(world.runtime, view, tag="canary-tag")) == (["talk"] if shows else [])
        assert ("CANARY" in str(world.replay(view))) is shows
    auditor = world.runtime.restricted(Access(views=frozenset({View.OPERATOR_AUDIT})))
    assert auditor.conversations.list_().view is None
    assert "anary" not in str(auditor.conversations.list_())
    assert listed(auditor, tag="canary-tag") == []
    with pytest.raises(AccessDenied):
        auditor.conversations.list_(view=View.HOST_UI)


@pytest.mark.parametrize("transition", [Transition.MASK, Transition.ERASE])
def test_a_title_is_hidden_and_erased_with_its_conversation(lasting: FileWorld, transition: Transition) -> None:
    """Nothing of it is left in any answer; after an erasure nothing is left at all."""
    lasting.with_turns(1)
    lasting.runtime.conversations.describe(key_of(), "CANARY", ["canary-tag"])
    lasting.request(transition)
    lasting.with_turns(1)
    for again in (False, True):
        runtime = lasting.reopened().runtime if again else lasting.runtime
        for view in View:
            (entry,) = listed(runtime, view)
            assert (entry.title, entry.tags) == (None, [])
            assert listed(runtime, view, tag="canary-tag") == []
            assert "anary" not in str(runtime.transcripts.replay(key_of(), view))
    assert lasting.runtime.conversations.describe(key_of(), "New").changed
    assert listed(lasting.runtime)[0].title == "New"


def test_a_redacted_turn_takes_its_title_along(world: World) -> None:
    world.with_turns(2)
    world.runtime.conversations.describe(key_of(), "CANARY")
    world.redact(Passage(turn=TurnId("turn-1")), View.HOST_UI, View.EXPORT, reason=RedactionReason.LEGAL)
    (entry,) = listed(world.runtime)
    assert (entry.title, entry.first.text if entry.first else None) == (None, "question 0002 of the user")
    assert listed(world.runtime, View.RAW_OWNER)[0].title == "CANARY"


def test_an_erased_conversation_takes_no_title(world: World) -> None:
    world.with_turns(1).erased()
    with pytest.raises(WordsErased):
        world.runtime.conversations.describe(key_of(), "title")


def test_what_is_no_title_is_refused(world: World) -> None:
    describe = world.with_turns(1).runtime.conversations.describe
    with pytest.raises(InvalidInput, match="title"):
        describe(key_of())
    with pytest.raises(LimitExceeded):
        describe(key_of(), "ä" * 513)
    with pytest.raises(InvalidInput, match=r"tags\[1\]"):
        describe(key_of(), tags=["fine", " padded"])
    with pytest.raises(LimitExceeded):
        describe(key_of(), tags=[str(number) for number in range(33)])
    with pytest.raises(UnknownConversation):
        world.runtime.restricted(Access(subject="bob")).conversations.describe(key_of(), "title")


# --- previews ---------------------------------------------------------------------------------------------------------


def test_a_preview_has_the_first_and_the_last_words_that_are_shown(world: World) -> None:
    world.with_turns(3)
    (entry,) = listed(world.runtime)
    assert entry.first is not None
    assert entry.last is not None
    assert (entry.first.role, entry.first.text) == ("user", "question 0001 of the user")
    assert (entry.last.role, entry.last.text) == ("assistant", "answer 0003 of the assistant")
    world.masked(3).archived(1)
    (entry,) = listed(world.runtime)
    assert "question 0002" in str(entry.first)
    assert "answer 0002" in str(entry.last)
    (entry,) = world.runtime.conversations.list_(lifecycle=ALL).conversations
    assert "question 0001" in str(entry.first)


def test_a_preview_is_one_short_line(world: World) -> None:
    for number, words in enumerate(["word " * 100, "x" * 1000, "a\n\t b"], start=1):
        talk = ConversationId(f"talk-{number}")
        world.commit(
            Turn(turn=TurnId("t"), subject=SUBJECT, conversation=talk, messages=[asked(words), answered("ok")])
        )
    for entry in listed(world.runtime):
        assert entry.first is not None
        assert len(entry.first.text) <= PREVIEW_CHARACTERS_MAX + 1
        assert entry.first.text == " ".join(entry.first.text.split())


# --- filters ----------------------------------------------------------------------------------------------------------


def test_a_list_is_of_a_subject_that_owns_speaks_or_is_named(world: World) -> None:
    world.with_turns(1, "of-ada")
    world.commit(replace(plain_turn(1, "of-bob"), subject=SubjectId("bob")))
    said = [replace(asked("hello"), speaker_id="bob"), answered("hello")]
    world.commit(replace(plain_turn(1, "bob-speaks"), messages=said))
    world.commit(replace(plain_turn(1, "for-bob"), actor=Attribution(acting_subject="bob")))
    assert names(listed(world.runtime, subject="bob")) == ["bob-speaks", "for-bob", "of-bob"]
    assert names(listed(world.runtime, subject="ada")) == ["bob-speaks", "for-bob", "of-ada"]
    assert listed(world.runtime, subject="eve") == []
    world.with_turns(1, "bob-speaks").masked(1, "bob-speaks")
    assert names(listed(world.runtime, subject="bob")) == ["for-bob", "of-bob"]
    with pytest.raises(AccessDenied):
        listed(world.runtime.restricted(Access(subject="ada")), subject="bob")


def test_a_list_is_of_a_range_of_time(world: World) -> None:
    for name, times in (("early", [10]), ("late", [30]), ("both", [10, 30])):
        for number, ms in enumerate(times, start=1):
            said = [replace(message, observed_ms=ms) for message in plain_turn(number).messages]
            world.commit(replace(plain_turn(number, name), messages=said))
    assert names(listed(world.runtime, since_ms=20)) == ["both", "late"]
    assert names(listed(world.runtime, until_ms=30)) == ["both", "early"]
    assert listed(world.runtime, since_ms=11, until_ms=30) == []
    assert names(listed(world.runtime, since_ms=10, until_ms=11)) == ["both", "early"]
    with pytest.raises(InvalidInput, match="until_ms"):
        listed(world.runtime, since_ms=2, until_ms=1)


def test_a_filtered_list_has_pages_and_its_cursor_is_bound_to_the_filter(world: World) -> None:
    for number in range(5):
        world.with_turns(1, f"talk-{number}")
        if number != 2:
            world.runtime.conversations.describe(key_of(f"talk-{number}"), tags=["shop"])
    only, seen, cursor = ConversationFilter(tag="shop"), list[str](), None
    while True:
        page = world.runtime.conversations.list_(limit=2, cursor=cursor, only=only)
        seen += [entry.conversation for entry in page.conversations]
        cursor = page.next_cursor
        if cursor is None:
            break
        with pytest.raises(CursorInvalid):
            world.runtime.conversations.list_(limit=2, cursor=cursor)
    assert sorted(seen) == ["talk-0", "talk-1", "talk-3", "talk-4"]


def test_titles_and_people_are_folded_again_as_they_were(lasting: FileWorld) -> None:
    """CT-16: whatever was asked in between."""
    catalogue = lasting.runtime._session.space.catalogue
    lasting.with_turns(2)
    catalogue.digest()
    lasting.runtime.conversations.describe(key_of(), "title", ["tag"])
    lasting.with_turn(replace(plain_turn(9), actor=Attribution(agent_id="agent")))
    before, told = catalogue.digest(), msgspec.json.encode(listed(lasting.runtime))
    catalogue.drop()
    assert (catalogue.digest(), msgspec.json.encode(listed(lasting.runtime))) == (before, told)
    lasting.reopened()
    assert lasting.runtime._session.space.catalogue.digest() == before


# --- turns ------------------------------------------------------------------------------------------------------------


def test_a_turn_may_be_named_by_one_of_its_messages(world: World) -> None:
    """As a search prints it, where something is shown of it; never where it is hidden, revealed or erased."""
    world.with_turns(2)
    for named in ("turn-1#1", message_of("turn-1", 1)):
        with pytest.raises(UnknownPlace):
            world.runtime.disclosure.reveal(key_of(), TurnId(named), "why", "who")
    assert world.runtime.evidence.prove(key_of(), TurnId("turn-2#0")).summary["position"] is not None
    for wrong in ("turn-1#0", message_of("turn-1", 0), "turn-1#2", "turn-1#x", "turn-1#01", "#0", "turn-9#0"):
        done = world.runtime.lifecycle.request(key_of(), Transition.MASK, "why", "who", TurnId(wrong))
        assert done.affected_turns == 0
    world.commit(replace(plain_turn(3), turn=TurnId("turn-1#0")))
    done = world.runtime.lifecycle.erase(Scope(conversation=TALK, turn=TurnId("turn-1#0")), "why", "who")
    assert done.affected_turns == 1
    assert [turn.phase for turn in world.replay().turns] == ["active", "active", "erased"]
