"""What comes in with an archive: nothing that was erased here, and all of it or nothing (BEHAVIOUR EX-03, EX-07)."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.errors import AliasConflict, ArchiveConflict, Corrupt, KeyWrong
from muniment.events.archive import ImportMode, PrivateMaterial
from muniment.events.changes import LifecycleRequest, Transition, TurnLifecycle
from muniment.events.identity import ConversationId, TurnId
from muniment.events.records import EventKind
from muniment.ledger.drafts import draft
from tests import names
from tests.archives.documents import (
    SHARED,
    TALKING,
    changed,
    exported,
    held,
    imported,
    line_where,
    lines_of,
    loud,
    of_subject,
    rooted,
    seal,
    shown,
)
from tests.backups import root_of
from tests.turns import TALK, answer, plain_turn, question, rich_turn
from tests.worlds import FileWorld, World, key_of, memory_world, root_key, sqlite_world

RESTORE = ImportMode.RESTORE


# --- what is here -----------------------------------------------------------------------------------------------------


def test_a_bootstrap_wants_the_scope_to_be_empty(target: FileWorld, tmp_path: Path) -> None:
    """EX-03: what is here is neither mixed with what comes nor lost to it."""
    exported(target.runtime, tmp_path / "x")
    before = root_of(target.runtime)
    with pytest.raises(ArchiveConflict) as refused:
        imported(target.runtime, tmp_path / "x")
    assert refused.value.problem == "not_empty"
    assert root_of(target.runtime) == before


def test_a_restore_replaces_the_scope_and_nothing_else(archive: Path, target: FileWorld) -> None:
    """EX-07: what was there is erased and not found any more; other scopes stay as they are, event by event."""
    other = shown(target.runtime, "shared")
    report = imported(target.runtime, archive, mode=RESTORE)
    assert (report.conversations_deleted, report.turns_deleted) == (1, 3)
    assert (report.conversations_inserted, report.turns_inserted) == (2, 4)
    assert target.turns_of("third") == 0
    assert shown(target.runtime, "shared") == other
    names = {one.conversation for one in target.runtime.conversations.list_().conversations}
    assert names == {"shared", "second", TALK}
    assert target.reopened().runtime.system.health().sound
    assert target.runtime.evidence.audit().spaces
    assert target.turns_of("third") == 0
    assert target.commit(plain_turn(1, "third")).sequence == 1


def test_a_conversation_may_be_replaced_again_and_again(archive: Path, target: FileWorld) -> None:
    """Its names lead to the newest; catalogue, audit and the check of all names agree."""
    for times in range(3):
        report = imported(target.runtime, archive, mode=RESTORE)
        assert report.conversations_deleted == (2 if times else 1)
        assert [turn.turn for turn in target.replay().turns] == ["rich", "turn-2", "turn-3"]
        assert [one.turns for one in target.runtime.conversations.list_().conversations] == [2, 1, 1]
        target.with_turns(1)
        target.reopened()
        assert target.turns_of("nowhere") == 0, "every conversation is looked for under its names"
        space = target.runtime._session.space
        with space.ledger.reader() as reader:
            assert len(space.transcript.former_streams(reader, key_of())) == times


def test_a_feed_tells_what_was_replaced_and_what_is_there_now(archive: Path, target: FileWorld) -> None:
    """Who follows the conversation learns that its turns are gone, that nobody asked for it, and of the new ones."""
    read = target.runtime.events.read
    before = read(conversation=ConversationId("third"))
    assert [event.turn for event in before.events][:3] == ["turn-1", "turn-2", "turn-3"]
    imported(target.runtime, archive, mode=RESTORE)
    told = read(before.cursor, conversation=ConversationId("third")).events
    assert [(event.type, event.turn, event.replaced) for event in told] == [
        ("turn.erased", f"turn-{number}", True)
        for number in (1, 3)  # the second one was erased before
    ]
    assert [event.turn for event in read(conversation=ConversationId("third")).events] == ["turn-2", "turn-1", "turn-3"]
    there = [event.turn for event in read(conversation=key_of().conversation).events if event.shown is not None]
    assert set(there) == {turn.turn for turn in target.replay().turns}


def test_the_words_of_what_was_replaced_are_erased(archive: Path, target: FileWorld) -> None:
    """Keys and cells are gone; the events and their proofs stay."""
    imported(target.runtime, archive, mode=RESTORE)
    space = target.runtime._session.space
    with space.ledger.reader() as reader:
        (stream,) = space.transcript.former_streams(reader, key_of("third"))
        rows = reader.turns(stream, 1, 3)
        assert [row.content for row in rows] == [None] * 3
        assert [space.ledger.unsealed(row).key is not None for row in rows] == [False] * 3
    assert len(space.keys.versions) == 1


def test_what_a_hold_keeps_is_not_replaced(archive: Path, target: FileWorld) -> None:
    """A hold beats an erasure, and a replacement is one; it says which hold."""
    imported(target.runtime, archive, mode=RESTORE)
    position = held(target, 1)
    before = root_of(target.runtime)
    with pytest.raises(ArchiveConflict) as refused:
        imported(target.runtime, archive, mode=RESTORE)
    assert (refused.value.at, refused.value.problem) == (f"position {position}", "held")
    assert root_of(target.runtime) == before
    assert target.runtime.system.health().key_versions == 1


def test_a_conversation_of_another_scope_is_in_the_way(archive: Path, target: FileWorld) -> None:
    """EX-07: the name is that of a shared conversation here, which an import of a subject's part does not touch."""
    for number, subject in enumerate(["ada", "bob"]):
        target.commit(of_subject(subject, number, "second"))
    before = root_of(target.runtime)
    with pytest.raises(ArchiveConflict) as refused:
        imported(target.runtime, archive, mode=RESTORE)
    assert refused.value.problem == "of_another_scope"
    assert root_of(target.runtime) == before


def test_a_chat_id_that_stands_for_another_conversation_is_in_the_way(archive: Path, tmp_path: Path) -> None:
    world = sqlite_world(tmp_path / "other")
    world.commit(replace(rich_turn(), conversation=ConversationId("elsewhere")))
    before = root_of(world.runtime)
    exported(world.runtime, tmp_path / "aside", SHARED)
    with pytest.raises(AliasConflict):
        world.runtime.archives.import_(str(chat_of(archive)), TALKING, PrivateMaterial.INCLUDE)
    assert root_of(world.runtime)[0] == before[0] + 1


def chat_of(archive: Path) -> Path:
    """Make an archive of the one conversation out of that of the subject."""
    told = lines_of(archive)
    start = line_where(told, b'"conversation":"talk"')
    scope = {"kind": "conversation", "channel": "default", "conversation": TALK}
    return seal(archive, rooted([changed(told[0], scope=scope, notebooks=None, registries=None), *told[start:]]))


def test_names_that_are_made_to_lead_back_to_what_was_replaced_are_found_out(archive: Path, target: FileWorld) -> None:
    """An edit at rest cannot show the replaced conversation for the present one, nor take its former name away."""
    imported(target.runtime, archive, mode=RESTORE)
    imported(target.runtime, archive, mode=RESTORE)
    space = target.runtime._session.space
    with space.ledger.reader() as reader:
        now = space.transcript.stream_of(reader, key_of())
        (former,) = space.transcript.former_streams(reader, key_of())
    assert now is not None
    for change in (names.swapped(now, former), names.without(former)):
        with target.edited() as raw:
            names.rewritten(raw, change)
        for conversation in (TALK, "nowhere"):
            with pytest.raises(Corrupt):
                target.replay(conversation=conversation)


# --- fences -----------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    turns=st.integers(1, 5),
    erased=st.sets(st.integers(1, 5)),
    again=st.integers(1, 3),
    into=st.booleans(),
    replaced=st.booleans(),
)
def test_an_import_never_shows_a_word_that_was_erased_here(
    turns: int, erased: set[int], again: int, into: bool, replaced: bool
) -> None:
    """For any turns, erased before or between imports, under their own names or others, however often: gone is gone."""
    world = memory_world().with_turns(turns)
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "x"
        exported(world.runtime, file, TALKING)
        gone = {number for number in erased if number <= turns}
        for number in sorted(gone):
            world.erased(number)
        if replaced:  # the fence stands in a conversation that was itself replaced by an archive without these turns
            empty = memory_world("other").with_turns(0)
            empty.commit(replace(plain_turn(1), turn=TurnId("another")))
            exported(empty.runtime, Path(home) / "y", TALKING)
            empty.close()
            imported(world.runtime, Path(home) / "y", TALKING, RESTORE)
        name = "copy" if into else TALK
        for _ in range(again):
            report = world.runtime.archives.import_(
                str(file), TALKING, PrivateMaterial.INCLUDE, RESTORE, ConversationId(name) if into else None
            )
            assert report.erased_turns == len(gone)
            told = str(shown(world.runtime, name))
            for number in range(1, turns + 1):
                assert (question(number) in told) == (answer(number) in told) == (number not in gone)
    assert world.runtime.system.recover().sound
    world.close()


def test_a_message_that_was_erased_alone_does_not_come_back_either(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    exported(world.runtime, tmp_path / "x", TALKING)
    space = world.runtime._session.space
    body = TurnLifecycle(request=LifecycleRequest(reason="why", requester="who", requested_ms=5))
    event = draft(space.sources.entropy, EventKind.TURN_LIFECYCLE, 77, body, reason=Transition.ERASE)
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, key_of())
    space.ledger.transact(lambda writer: writer.append(event, stream=stream, target=1, refs={"turn": 1, "message": 0}))
    for _ in range(2):
        report = imported(world.runtime, tmp_path / "x", TALKING, RESTORE)
        assert report.erased_turns == 1
        told = str(shown(world.runtime))
        assert question(1) not in told
        assert answer(1) in told
        assert question(2) in told
    exported(world.runtime, tmp_path / "y", TALKING)
    target = memory_world()
    imported(target.runtime, tmp_path / "y", TALKING)
    assert shown(target.runtime) == shown(world.runtime)
    target.close()


def test_who_asked_for_an_erasure_is_still_told_behind_an_import(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    exported(world.runtime, tmp_path / "x", TALKING)
    world.request(Transition.ERASE, 2, reason="she asked for it")
    imported(world.runtime, tmp_path / "x", TALKING, RESTORE)
    (entry,) = world.runtime.lifecycle.receipts(key_of()).entries
    assert (entry.first, entry.reason, entry.requester) == (2, "she asked for it", "operator")


# --- interruptions ----------------------------------------------------------------------------------------------------


class Interrupted(Exception):
    """The process ends here."""


@pytest.mark.parametrize("mode", ImportMode)
def test_an_import_that_is_interrupted_anywhere_changes_nothing(
    archive: Path, tmp_path: Path, mode: ImportMode
) -> None:
    """One step: after any line of the check or of the import, the space is as it was."""
    world = sqlite_world(tmp_path / "target")
    if mode is RESTORE:
        world.with_turns(2, "third")
    before, told = shown(world.runtime, "third"), list[str]()
    size, _ = root_of(world.runtime)

    def tell(ends_at: int, stage: str, _done: int, _total: int) -> None:
        told.append(stage)
        if len(told) == ends_at:
            raise Interrupted

    for ends_at in range(1, 2 * (len(lines_of(archive)) - 1) + 1):
        told.clear()
        with pytest.raises(Interrupted):
            imported(loud(world.runtime, partial(tell, ends_at)), archive, mode=mode)
        assert root_of(world.runtime)[0] == size
        assert (shown(world.runtime, "third"), world.turns_of()) == (before, 0)
    world.reopened()
    assert shown(world.runtime, "third") == before
    assert imported(world.runtime, archive, mode=mode).turns_inserted == 4


def test_an_archive_that_is_interrupted_leaves_no_file(tmp_path: Path) -> None:
    world: World = memory_world().with_turns(2)

    def tell(_stage: str, _done: int, _total: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        exported(loud(world.runtime, tell), tmp_path / "out" / "x")
    assert list((tmp_path / "out").iterdir()) == []
    world.close()


def test_another_root_key_opens_no_archive_of_this_one(archive: Path) -> None:
    with muniment.open("memory:", keys=root_key("another")) as other, pytest.raises(KeyWrong):
        imported(other, archive)
