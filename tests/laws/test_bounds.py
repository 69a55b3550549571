"""Whoever is kept to a subject or to channels reads what they would read in a store that holds nothing else.

The twin of a store has only the turns that a caller may see. Every operation that reads and says that it keeps to the
bounds of an access is asked in both, with the same access; the answers are the same but for what the log numbers. What
does not say so is refused.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.declaration.operation import Operation, bound, perform
from muniment.errors import AccessDenied, CursorStale, MunimentError, UnknownConversation, UnknownPlace
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import Channel, SubjectId, TurnId
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.operations.context.prompt import Composition
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.recall_report import RecallRanking
from muniment.operations.transcripts.hits import SearchRanking
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from tests.laws.canary_world import CANARIES, full_world
from tests.laws.test_canaries import reports, requests
from tests.laws.twins import OF_BOB, OF_DESK, SpokenTurn, alike, hidden_words, is_shown, plain, said, store_of
from tests.turns import plain_turn
from tests.worlds import World, key_of

OPERATIONS = {each.path: each for each in catalogue()}
OF_ADA, OF_DEFAULT = Access(subject="ada"), Access(channels=frozenset({"default"}))
OF_BOTH = Access(subject="ada", channels=frozenset({"default"}))
ACCESSES = [OF_ADA, OF_DEFAULT, OF_BOTH]
PLACES = [
    {"conversation": name, "channel": channel}
    for name in ("talk", "hall", "nowhere")
    for channel in ("default", "desk")
]
QUERIES = [
    "tea",
    "harbour",
    "tea harbour",
    '"tea harbour"',
    "noted",
    "bob tea",
    "from:bob",
    "in:hall lamp",
    OF_BOB,
    OF_DESK,
]
SQL = [
    "SELECT channel, conversation, turn, subject, phase FROM turns ORDER BY 1, 2, 3",
    "SELECT channel, conversation, turn, place, text FROM messages ORDER BY 1, 2, 3, 4",
    "SELECT channel, conversation, turns FROM conversations ORDER BY 1, 2",
    "SELECT count(*) FROM words WHERE words MATCH 'tea OR noted'",
    "SELECT count(*) FROM links",
    "SELECT count(*) FROM attributes",
    "SELECT id, subject, plane, topic, text FROM items ORDER BY 1",
    "SELECT channel, conversation, turn, phase FROM item_evidence ORDER BY 1, 2, 3",
]  # fmt: skip


def each(**several: list[Any]) -> list[dict[str, Any]]:
    """Return a request for every combination of some values."""
    return [dict(zip(several, values, strict=True)) for values in itertools.product(*several.values())]


# What is asked of every operation that reads and keeps to the bounds of an access.
ASKED: dict[str, list[dict[str, Any]]] = {
    "transcripts.replay": each(conversation=PLACES, limit=[2, 50]),
    "transcripts.timeline": each(
        conversation=PLACES,
        limit=[2],
        lifecycle=["active_and_archived"],
        anchor=[
            {"at": "latest"},
            {"at": "first_in_range", "from_ms": 0, "until_ms": 2**44},
            *({"at": "around", "turn": f"t-{number}"} for number in range(6)),
        ],
    ),
    "transcripts.latest": each(conversation=PLACES, n=[2]),
    "transcripts.search": [
        *each(query=QUERIES, limit=[2], ranking=[{"explain": True}]),
        *each(query=["tea"], within=PLACES),
        *each(query=["tea"], within=[{"channel": name} for name in ("default", "desk", "nowhere")]),
    ],
    "transcripts.context": each(conversation=PLACES, budget_tokens=[40, 9999], query=["tea"]),
    "attachments.read": each(
        conversation=PLACES, attachment=[{"turn": f"t-{number}", "message": 0, "part": 0} for number in range(3)]
    ),
    "attachments.save": each(
        conversation=PLACES, attachment=[{"turn": "t-0", "message": 0, "part": 0}], file=["no\0path"]
    ),
    "conversations.list": [
        *each(limit=[1], lifecycle=["active", "active_and_archived"]),
        *each(channel=["default", "desk", "nowhere"]),
        {"only": {"since_ms": 1_700_010_000_000}},
    ],
    "conversations.activity": [
        {"ranges": [{"from_ms": 0, "until_ms": 1_700_010_000_000}, {"from_ms": 1_700_010_000_000, "until_ms": 2**44}]},
        *({"ranges": [{"from_ms": 0, "until_ms": 2**44}], **place} for place in PLACES),
    ],
    "conversations.resolve": [
        *each(name=["talk", "hal", "desk/talk", "chat-hall", "nowhere"]),
        *each(name=["chat-talk", "chat-hall"], subject=["ada"], channel=["default", "desk"]),
    ],
    "conversations.changed": each(conversation=PLACES, since=[None, "mc1.none"]),
    "events.read": [
        {},
        *each(limit=[1, 2], view=["host_ui"]),
        *each(topics=[["erasures"]], view=["raw_owner"]),
        *each(topics=[["governance"], ["findings"], ["memory"]], view=["raw_owner"]),
        *PLACES,
        {"after": "now"},
    ],
    "subjects.list": [{}, {"limit": 1}],
    "subjects.inspect": each(subject=["ada"], view=["host_ui", "raw_owner"], query=[None, "tea"]),
    "memory.recall": each(subject=["ada"], query=["tea harbour", "garden"], ranking=[{"explain": True}]),
    "memory.list": each(subject=["ada"], view=["raw_owner"], selection=[{}, {"state": "all", "shared": True}]),
    "memory.show": each(item=[f"{kind}-{number}" for kind in "if" for number in range(6)], view=["raw_owner"]),
    "memory.prompt": each(subject=["ada"], budget_tokens=[999], query=[None, "tea"]),
    "memory.journal": each(subject=["ada"]),
    "notebook.policies": [{}, {"subject": "ada"}],
    "notebook.proposals": each(subject=["ada"], view=["raw_owner"]),
    "skills.list": each(subject=["ada"]),
    "skills.show": each(subject=["ada"], name=["runtime_skill__lift"]),
    "skills.mounted": [{}],
    "tools.list": [{}],
    "tools.show": each(registry=["desk"]),
    "tools.hints": each(subject=["ada"]),
    "spaces.export": each(conversation=PLACES, format=["markdown", "openai"]),
    "evidence.explain": [
        *each(turn=[f"t-{number}{message}" for number in range(0, 6, 2) for message in ("", "#1", "#9")]),
        *({"turn": "t-0"} | place for place in PLACES),
        *each(turn=["t-0"], conversation=["talk", "hall", "nowhere"]),
    ],
    "evidence.inspect": [{}, *each(conversation=PLACES)],
    "evidence.prove": each(conversation=PLACES[:2], turn=[f"t-{number}" for number in range(6)]),
    "evidence.verify": [{"vkey": "x"}],
    "tables.query": each(sql=SQL, view=["host_ui", "raw_owner"]),
    "tables.describe": [{}],
    "system.capabilities": [{}],
}
PROOFS = frozenset({"evidence.prove"})  # whose text is proof material; whether there is one is compared


def heeding(access: Access) -> set[str]:
    """Return the operations that read and keep to the bounds of an access."""
    wanted = set(access.bounds)
    return {path for path, each in OPERATIONS.items() if each.effect is Effect.READ and wanted <= set(each.terms.heeds)}


def answers(runtime: Runtime, operation: Operation, asked: dict[str, Any]) -> Iterator[Any]:
    """Yield the pages of an answer as plain data, or the error."""
    group = getattr(runtime, operation.group)
    for _ in range(20):
        upload = None if operation.upload is None else io.BytesIO(b"{}\n")
        try:
            report = plain(perform(group, operation, bound(operation, asked), upload))
        except MunimentError as error:
            yield error.report()
            return
        yield report
        cursors = [report[name] for name in ("next_cursor", "older_cursor") if report.get(name)]
        if operation.path == "events.read" and report["has_more"]:
            asked = {**asked, "after": report["cursor"]}
        elif cursors and "cursor" in operation.request.__struct_fields__:
            asked = {**asked, "cursor": cursors[0]}
        else:
            return


def told(world: World, access: Access) -> dict[str, Any]:
    """Return everything that an access reads, without what the log numbers."""
    runtime = world.runtime.restricted(access)
    found: dict[str, Any] = {}
    for path in sorted(heeding(access)):
        for asked in ASKED[path]:
            pages = [alike(page) for page in answers(runtime, OPERATIONS[path], asked)]
            if path == "spaces.export":
                pages = json.loads(re.sub(r"## \d+\.", "## #.", json.dumps(pages)))  # the sequences of turns
            if path in PROOFS:
                pages = [page.get("code", "a proof") for page in pages]
            found[f"{path} {asked}"] = pages
    return found


def test_everything_that_keeps_to_a_bound_is_asked() -> None:
    """The table above has every such operation, so that a new one cannot be forgotten."""
    assert set(ASKED) == heeding(OF_ADA) | heeding(OF_DEFAULT)


@pytest.mark.slow
@pytest.mark.parametrize("access", ACCESSES, ids=["subject", "channels", "both"])
@given(turns=st.lists(said, min_size=1, max_size=6))
@settings(max_examples=12, deadline=None)
def test_who_is_kept_to_a_part_reads_what_a_store_of_that_part_tells(access: Access, turns: list[SpokenTurn]) -> None:
    """Byte for byte, scores and errors too: turns of others, and other channels, are as if they had never been."""
    numbered = list(enumerate(turns))
    whole = store_of(numbered)
    twin = store_of([(number, one) for number, one in numbered if is_shown(access, one)])
    with contextlib.closing(whole), contextlib.closing(twin):
        here, there = told(whole, access), told(twin, access)
        differing = {asked: (here[asked], there[asked]) for asked in here if here[asked] != there[asked]}
        assert differing == {}
        for word in hidden_words(access):
            assert word not in json.dumps([pages for asked, pages in here.items() if word not in asked])


def test_a_turn_is_explained_to_whoever_sees_it_and_found_by_nobody_else() -> None:
    """By its id, by a message, and by its position; what tells of turns of others is left out, and said to be."""

    def spoken(subject: str, conversation: str, channel: str) -> SpokenTurn:
        return SpokenTurn(subject, conversation, channel, ("tea",), 0, None, False, True)

    turns = [spoken("ada", "talk", "default"), spoken("bob", "talk", "default"), spoken("bob", "hall", "desk")]
    world = store_of(list(enumerate(turns)))
    with contextlib.closing(world):
        evidence = world.runtime.evidence
        evidence.checkpoint()
        of_ada, of_default = (world.runtime.restricted(each).evidence for each in (OF_ADA, OF_DEFAULT))
        own = of_ada.explain("t-0")
        assert own.left_out == ["history", "received", "contexts", "memory"]
        assert (evidence.explain("t-0").left_out, len(evidence.explain("t-0").memory)) == ([], 2)
        assert (own.proof.included, own.proof.checkpoint_size, own.proof.checkpoint_root) == (True, None, None)
        assert of_ada.explain(str(own.position)).turn == "t-0"
        for hidden in ("t-1", "t-1#0", "t-2", str(evidence.explain("t-1").position)):
            with pytest.raises(UnknownPlace):
                of_ada.explain(hidden)
        assert of_default.explain("t-1").turn == "t-1"
        with pytest.raises(UnknownPlace):
            of_default.explain("t-2")


def test_a_conversation_is_inspected_for_its_channels_and_the_space_for_nobody_with_a_bound() -> None:
    world = full_world()
    with contextlib.closing(world):
        for access in ACCESSES:
            with pytest.raises(AccessDenied):
                world.runtime.restricted(access).evidence.inspect()
        of_default = world.runtime.restricted(OF_DEFAULT).evidence
        found = of_default.inspect(key_of())
        assert (found.turns > 0, found.checkpoints, found.pinned) == (True, None, None)
        of_desk = world.runtime.restricted(Access(channels=frozenset({"desk"}))).evidence
        with pytest.raises(UnknownConversation):
            of_desk.inspect(key_of())


# --- every operation --------------------------------------------------------------------------------------------------

SHARED = {"canarytoolname", "canaryregistrynote"}  # of a registry, which is everybody's


@pytest.mark.parametrize(
    "access", [Access(subject="bob"), Access(channels=frozenset({"desk"}))], ids=["subject", "channels"]
)
def test_no_operation_says_a_word_of_what_its_caller_is_not_shown(access: Access, tmp_path: Path) -> None:
    """Whatever it does, whatever else its caller may: nothing of the turns and items of ada, in the default channel."""
    world, asked_of = full_world(), requests(tmp_path)
    assert set(asked_of) == set(OPERATIONS)
    runtime, seen = world.runtime.restricted(access), dict[str, str]()
    with contextlib.closing(world):
        for path, all_asked in asked_of.items():
            for asked in all_asked:
                for text in reports(runtime, OPERATIONS[path], asked):
                    words = {
                        word for word in CANARIES.keys() - SHARED if word in text and word not in json.dumps(asked)
                    }
                    seen |= dict.fromkeys(words, f"{path} {asked}")
    assert seen.keys() <= SHARED, seen


@pytest.mark.parametrize("access", ACCESSES, ids=["subject", "channels", "both"])
def test_what_keeps_to_no_bound_is_refused(access: Access, tmp_path: Path) -> None:
    """Also a new operation, until it says that it keeps to them."""
    world = full_world()
    runtime = world.runtime.restricted(access)
    with contextlib.closing(world):
        visible = {each.operation for each in runtime.system.capabilities().operations if each.visible}
        for path, all_asked in requests(tmp_path).items():
            keeps = set(access.bounds) <= set(OPERATIONS[path].terms.heeds)
            assert keeps == (path in visible)
            if not keeps:
                (text,) = reports(runtime, OPERATIONS[path], all_asked[0])
                assert json.loads(text)["code"] == "access.denied"


def test_naming_another_subject_is_denied_whether_it_exists_or_not() -> None:
    world = store_of([(0, SpokenTurn("bob", "talk", "default", ("tea",), 0, None, is_noted=False, is_learned=True))])
    runtime = world.runtime.restricted(OF_ADA)
    with contextlib.closing(world):
        for name in map(SubjectId, ("bob", "nobody")):
            with pytest.raises(AccessDenied):
                runtime.memory.list_(name, View.HOST_UI)
            with pytest.raises(AccessDenied):
                runtime.subjects.export(name)
            with pytest.raises(AccessDenied):
                runtime.conversations.resolve("chat-talk", name)
            with pytest.raises(AccessDenied):
                runtime.lifecycle.erase(Scope(subject=name), "why", "who")


# --- what is changed --------------------------------------------------------------------------------------------------


def test_nobody_changes_what_they_are_not_shown() -> None:
    """Transitions and erasures find nothing, as of a turn that does not exist; other writes do not know the place."""
    bobs = SpokenTurn("bob", "talk", "default", ("tea",), 0, None, is_noted=False, is_learned=False)
    world = store_of([(0, bobs), (1, bobs._replace(subject="ada")), (2, bobs._replace(channel="desk", subject="ada"))])
    talk, elsewhere = key_of("talk"), key_of("talk", "desk")
    with contextlib.closing(world):
        for access, key, turn in ((OF_ADA, talk, "t-0"), (OF_DEFAULT, elsewhere, "t-2"), (OF_BOTH, elsewhere, "t-2")):
            runtime = world.runtime.restricted(access)
            scope = Scope(conversation=key.conversation, channel=key.channel, turn=TurnId(turn))
            none = Scope(conversation=key.conversation, channel=key.channel, turn=TurnId("t-9"))
            for transition in Transition:
                report = runtime.lifecycle.request(key, transition, "why", "who", TurnId(turn))
                assert (report.changed, report.affected_turns) == (False, 0)
            assert alike(plain(runtime.lifecycle.erase(scope, "why", "who"))) == alike(
                plain(runtime.lifecycle.erase(none, "why", "who"))
            )
            passage = Passage(turn=TurnId(turn))
            with pytest.raises((UnknownPlace, UnknownConversation)):
                runtime.disclosure.reveal(key, TurnId(turn), "why", "who")
            with pytest.raises((UnknownPlace, UnknownConversation)):
                runtime.transcripts.redact(key, passage, [View.EXPORT], RedactionReason.LEGAL, "who")
        whole = Scope(conversation=talk.conversation)
        for access, refused in ((OF_ADA, whole), (OF_DEFAULT, Scope(subject=SubjectId("ada")))):
            with pytest.raises(AccessDenied):
                world.runtime.restricted(access).lifecycle.erase(refused, "why", "who")
        with pytest.raises(AccessDenied):
            world.runtime.restricted(OF_ADA).lifecycle.request(talk, Transition.MASK, "why", "who")
        assert world.runtime.restricted(OF_DEFAULT).lifecycle.request(talk, Transition.ARCHIVE, "why", "who").changed
        mine = world.runtime.restricted(OF_ADA).lifecycle
        assert mine.request(elsewhere, Transition.MASK, "why", "who", TurnId("t-2")).changed
        assert mine.erase(Scope(subject=SubjectId("ada")), "why", "who").affected_turns == 2
        assert [turn.phase for turn in world.replay().turns] == ["archived", "erased"]


def test_a_commit_into_another_channel_is_refused() -> None:
    world = store_of([])
    turn = plain_turn(1)
    with contextlib.closing(world):
        runtime = world.runtime.restricted(OF_DEFAULT)
        assert runtime.transcripts.commit(turn).committed
        with pytest.raises(AccessDenied):
            runtime.transcripts.commit(replace(turn, channel=Channel("desk")))


def test_a_cursor_is_made_stale_by_what_is_shown_alone() -> None:
    """What others commit tells nobody anything, not even that something happened."""
    one = SpokenTurn("ada", "talk", "default", ("tea",), 0, None, is_noted=False, is_learned=False)
    world = store_of([(0, one), (1, one._replace(conversation="hall"))])
    with contextlib.closing(world):
        mine = world.runtime.restricted(OF_ADA).conversations
        first = mine.list_(limit=1)
        world.commit(replace(plain_turn(7), subject=SubjectId("bob")))
        assert len(mine.list_(limit=1, cursor=first.next_cursor).conversations) == 1
        world.commit(plain_turn(8))
        with pytest.raises(CursorStale):
            mine.list_(limit=1, cursor=first.next_cursor)


def test_a_prompt_is_recorded_where_its_turns_have_no_gap() -> None:
    """The record names its turns from the first to the last."""
    one = SpokenTurn("ada", "talk", "default", ("tea",), 0, None, is_noted=False, is_learned=False)
    world = store_of([(0, one), (1, one)])
    runtime, recorded = world.runtime.restricted(OF_ADA), Composition(record=True)
    with contextlib.closing(world):
        assert runtime.transcripts.context(key_of("talk"), 999, composition=recorded).recorded is not None
        world.commit(replace(plain_turn(7), subject=SubjectId("bob")))
        world.commit(plain_turn(8))
        with pytest.raises(AccessDenied):
            runtime.transcripts.context(key_of("talk"), 999, composition=recorded)


def test_operations_are_refused_like_effects() -> None:
    world = store_of([])
    names = frozenset({"conversations.*", "transcripts.commit", "system.capabilities"})
    runtime = world.runtime.restricted(Access(operations=names))
    with contextlib.closing(world):
        assert runtime.transcripts.commit(plain_turn(1)).committed
        assert len(runtime.conversations.list_().conversations) == 1
        with pytest.raises(AccessDenied) as denied:
            runtime.transcripts.replay(key_of())
        assert denied.value.at == "operations"
        visible = {each.operation for each in runtime.system.capabilities().operations if each.visible}
        assert visible == {path for path in OPERATIONS if path.startswith("conversations.") or path in names}
        (entry,) = world.runtime.evidence.disclosures().disclosures
        assert (entry.operation, entry.right) == ("transcripts.replay", "operations")
        transcripts = Access(operations=frozenset({"transcripts.*"}))
        with pytest.raises(UnknownConversation) as unknown:
            world.runtime.restricted(transcripts).transcripts.replay(key_of("tal"))
        assert unknown.value.suggestions == ()
        assert runtime.restricted(transcripts).access.operations == frozenset({"transcripts.commit"})


def test_what_others_become_makes_no_timeline_stale() -> None:
    one = SpokenTurn("ada", "talk", "default", ("tea",), 0, None, is_noted=False, is_learned=False)
    world = store_of([(0, one), (1, one), (2, one._replace(subject="bob"))])
    with contextlib.closing(world):
        mine = world.runtime.restricted(OF_ADA).transcripts
        first = mine.timeline(key_of(), limit=1)
        world.runtime.lifecycle.request(key_of(), Transition.MASK, "why", "who", TurnId("t-2"))
        assert [turn.turn for turn in mine.timeline(key_of(), limit=1, cursor=first.older_cursor).turns] == ["t-0"]
        world.runtime.lifecycle.request(key_of(), Transition.MASK, "why", "who", TurnId("t-1"))
        with pytest.raises(CursorStale):
            mine.timeline(key_of(), limit=1, cursor=first.older_cursor)


@pytest.mark.parametrize("hours", [0, 1])
def test_what_is_said_between_parts_no_neighbours_and_joins_no_sessions(hours: int) -> None:
    """A hit lends its score to the message before and after it, of those that are shown, in their sessions."""
    mine = SpokenTurn("ada", "talk", "default", ("tea",), hours, None, is_noted=False, is_learned=False)
    others = mine._replace(subject="bob", words=("lamp",))
    both, last = mine._replace(words=("tea", "garden")), mine._replace(words=("garden",))
    turns = [(0, mine), (3, others), (7, both), (8, last)]
    whole, twin = store_of(turns), store_of([each for each in turns if each[1].subject == "ada"])
    with contextlib.closing(whole), contextlib.closing(twin):
        one, other = (world.runtime.restricted(OF_ADA) for world in (whole, twin))
        asked, explained = RecallRanking(explain=True), SearchRanking(explain=True)
        found = one.transcripts.search("tea", ranking=explained)
        assert alike(plain(found)) == alike(plain(other.transcripts.search("tea", ranking=explained)))
        recalled = one.memory.recall(SubjectId("ada"), "tea", ranking=asked)
        assert alike(plain(recalled)) == alike(plain(other.memory.recall(SubjectId("ada"), "tea", ranking=asked)))
        assert len(found.hits) > 1
        assert len(recalled.hits) > 1
