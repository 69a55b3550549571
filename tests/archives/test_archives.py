"""Archives: a part of a space goes out as one document, and comes in elsewhere as it was."""

from __future__ import annotations

import hashlib
import io
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import AccessDenied, FileTaken, InvalidInput, KeyWrong, TurnConflict
from muniment.events.archive import (
    ArchiveExported,
    ArchiveImported,
    ArchiveScope,
    ImportMode,
    PrivateMaterial,
    ScopeKind,
)
from muniment.events.identity import ChatId, ConversationId, TurnId
from muniment.events.turn import Attribution, Turn
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from tests.archives.documents import (
    ADA,
    SHARED,
    TALKING,
    exported,
    held,
    imported,
    lines_of,
    of_subject,
    redacted,
    shown,
    without_soul,
)
from tests.backups import entered, root_of
from tests.importing.files import Pipe
from tests.turns import TALK, answer, asked, plain_turn, question, rich_turn, turns
from tests.worlds import FileWorld, key_of, memory_world, sqlite_world

EXCLUDE, INCLUDE = PrivateMaterial.EXCLUDE, PrivateMaterial.INCLUDE


@pytest.fixture
def world(tmp_path: Path) -> FileWorld:
    made = sqlite_world(tmp_path).with_turn(without_soul()).with_turns(5).masked(2).erased(3).archived(4)
    return made.with_turns(2, "second")


# --- there and back ---------------------------------------------------------------------------------------------------


def test_an_archive_comes_in_elsewhere_as_it_was(world: FileWorld, tmp_path: Path) -> None:
    """Into a brand-new store under another root key: every view shows the same, and the times are kept."""
    redacted(world, 6)
    held(world, 6)
    out = exported(world.runtime, tmp_path / "ada.archive")
    (tmp_path / "other").mkdir()
    with entered(tmp_path / "other") as other:
        report = imported(other, tmp_path / "ada.archive")
        assert report.root == out.root
        assert (report.conversations_inserted, report.turns_inserted, out.turns) == (2, 8, 8)
        assert (report.conversations_deleted, report.turns_deleted, report.erased_turns) == (0, 0, 0)
        for conversation in (TALK, "second"):
            assert shown(other, conversation) == shown(world.runtime, conversation)
        assert other.evidence.audit().spaces
        space = other._session.space
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, key_of())
            assert stream is not None
            changes = space.transcript.changes(reader, space.transcript.head(reader, stream))
            assert [hold.span.first for hold in changes.holds.values()] == [6]
            assert list(changes.redactions) == [6]
    with entered(tmp_path / "other", "elsewhere") as again:
        assert again.system.health().sound


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(turns, min_size=1, max_size=4), st.sampled_from(PrivateMaterial))
def test_export_import_export_gives_the_same_root(committed: list[Turn], private: PrivateMaterial) -> None:
    """EX-09: for any turns and either policy; and twice the same from the same space."""
    source, target = memory_world(), memory_world("target")
    for number, turn in enumerate(committed):
        source.commit(replace(turn, turn=TurnId(f"turn-{number}"), conversation=TALK, chat=None, space=None))
    with tempfile.TemporaryDirectory() as home:
        scope = replace(TALKING, channel=committed[0].channel)
        first = exported(source.runtime, Path(home) / "one", scope, private)
        assert exported(source.runtime, Path(home) / "again", scope, private).root == first.root
        target.runtime.archives.import_(str(Path(home) / "one"), scope, private)
        assert exported(target.runtime, Path(home) / "two", scope, private).root == first.root
        assert lines_of(Path(home) / "one") == lines_of(Path(home) / "two")
    source.close()
    target.close()


def test_an_empty_scope_gives_an_archive_with_counts_of_zero(tmp_path: Path) -> None:
    """EX-09: and it comes in as nothing."""
    world = memory_world()
    out = exported(world.runtime, tmp_path / "none", SHARED)
    assert (out.root.documents, out.root.events, out.root.bytes, out.turns) == (0, 0, 0, 0)
    report = imported(world.runtime, tmp_path / "none", SHARED)
    assert (report.conversations_inserted, report.first, report.last) == (0, None, None)
    world.close()


def test_what_an_archive_did_stands_in_the_log(world: FileWorld, tmp_path: Path) -> None:
    out = exported(world.runtime, tmp_path / "archive")
    target = memory_world()
    report = imported(target.runtime, tmp_path / "archive")
    for runtime, position, kind in [
        (world.runtime, out.position, "archive.exported"),
        (target.runtime, report.position, "archive.imported"),
    ]:
        ledger = runtime._session.space.ledger
        with ledger.reader() as reader:
            row = reader.sealed(position)
        assert row is not None
        assert (row.kind, row.stream) == (kind, 0)
        meta = ledger.open(row).meta
        assert isinstance(meta, ArchiveExported | ArchiveImported)
        assert meta.archive.digest == hashlib.sha256((tmp_path / "archive").read_bytes()).hexdigest()
        through = {"through": out.position - 1}
        came = {"first": report.first, "last": report.last} if kind == "archive.imported" else through
        assert ledger.header(row)[0].refs == came
    target.close()


def test_a_repeat_of_a_turn_that_came_from_an_archive_is_found(world: FileWorld, tmp_path: Path) -> None:
    """TR-16, TR-17: the same turn is a repeat, another one under its id a conflict; the words are compared."""
    exported(world.runtime, tmp_path / "archive")
    target = memory_world()
    imported(target.runtime, tmp_path / "archive")
    assert target.commit(without_soul()).reason == "turn_already_committed"
    assert target.commit(plain_turn(6)).reason == "turn_already_committed"
    assert target.commit(plain_turn(3)).reason == "turn_already_committed_and_erased"
    with pytest.raises(TurnConflict):
        target.commit(replace(plain_turn(6), messages=[asked("something else")]))
    with pytest.raises(TurnConflict):
        target.commit(replace(plain_turn(6), external=True))
    target.close()


# --- scopes -----------------------------------------------------------------------------------------------------------


def test_each_conversation_is_in_exactly_one_scope(tmp_path: Path) -> None:
    """EX-04: a subject's conversations, and the shared rest."""
    world = memory_world()
    bob = ArchiveScope(kind=ScopeKind.SUBJECT, subject="bob")
    for name, subjects in {
        "a": ["ada", "ada"],
        "b": ["bob"],
        "ab": ["ada", "bob"],
        "ba": ["bob", "bob", "ada"],
    }.items():
        for number, subject in enumerate(subjects):
            world.commit(of_subject(subject, number, name))
    mounted = replace(plain_turn(1, "m"), actor=Attribution(mounted_subject="bob"))
    world.commit(mounted)
    found = {}
    for scope in (ADA, bob, SHARED):
        exported(world.runtime, tmp_path / "x", scope)
        found[scope.subject] = [line for line in lines_of(tmp_path / "x") if line.startswith(b'{"channel"')]
        (tmp_path / "x").unlink()
    names = {who: [line.split(b'"')[7].decode() for line in told] for who, told in found.items()}
    assert names == {"ada": ["a"], "bob": ["b", "m"], None: ["ab", "ba"]}
    world.close()


@pytest.mark.parametrize(
    "scope",
    [
        ArchiveScope(kind=ScopeKind.SUBJECT),
        ArchiveScope(kind=ScopeKind.SUBJECT, subject=" ada"),
        ArchiveScope(kind=ScopeKind.SUBJECT, subject="ada", conversation="talk"),
        ArchiveScope(kind=ScopeKind.SHARED, subject="ada"),
        ArchiveScope(kind=ScopeKind.CONVERSATION),
        ArchiveScope(kind=ScopeKind.CONVERSATION, conversation="talk", channel=""),
    ],
)
def test_a_scope_that_says_too_little_or_too_much_is_refused(tmp_path: Path, scope: ArchiveScope) -> None:
    world = memory_world()
    with pytest.raises(InvalidInput):
        exported(world.runtime, tmp_path / "x", scope)
    world.close()


def test_the_channel_of_a_conversation_may_be_left_out(world: FileWorld, tmp_path: Path) -> None:
    scope = ArchiveScope(kind=ScopeKind.CONVERSATION, conversation=TALK)
    assert exported(world.runtime, tmp_path / "x", scope).root.scope == TALKING


# --- private material -------------------------------------------------------------------------------------------------


def test_without_private_material_words_and_aliases_stay_behind_together(world: FileWorld, tmp_path: Path) -> None:
    """EX-02: one closure; what is left are turns like erased ones."""
    out = exported(world.runtime, tmp_path / "x", private=EXCLUDE)
    told = b"".join(lines_of(tmp_path / "x"))
    for words in (question(1), answer(5), "the user words", "label of export", "the summary words", "chat-7"):
        assert words.encode() not in told
    assert b"alias.recorded" not in told
    assert b'"content":' not in told
    assert out.root.private is EXCLUDE
    target = memory_world()
    target.runtime.archives.import_(str(tmp_path / "x"), ADA, EXCLUDE)
    turns_there = target.replay(View.RAW_OWNER).turns
    assert {turn.phase for turn in turns_there} == {"erased"}
    assert [turn.turn for turn in turns_there] == [turn.turn for turn in world.replay().turns]
    target.close()


def test_messages_of_soul_governance_are_in_no_archive(tmp_path: Path) -> None:
    """EX-10: they are missing as erased messages are, once, however often the archive goes on."""
    world, target = memory_world().with_turn(rich_turn()), memory_world("target")
    first = exported(world.runtime, tmp_path / "x")
    assert b"the private words" not in b"".join(lines_of(tmp_path / "x"))
    imported(target.runtime, tmp_path / "x")
    (turn,) = target.replay(View.RAW_OWNER).turns
    assert [message.redacted for message in turn.messages] == [False] * 5 + [True, False]
    assert exported(target.runtime, tmp_path / "y").root == first.root
    imported(target.runtime, tmp_path / "x", mode=ImportMode.RESTORE)
    assert not target.replay(View.RAW_OWNER).turns[0].messages[0].redacted, "an omission is no fence"
    assert target.commit(rich_turn()).reason == "turn_already_committed_and_erased"
    world.close()
    target.close()


# --- the file ---------------------------------------------------------------------------------------------------------


def test_no_clear_text_is_in_the_file_and_nobody_else_may_read_it(world: FileWorld, tmp_path: Path) -> None:
    exported(world.runtime, tmp_path / "out" / "ada.archive")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["ada.archive"]
    stored = (tmp_path / "out" / "ada.archive").read_bytes()
    for clear in (question(1), TALK, "ada", "turn.committed", "muniment/archive/1", "default"):
        assert clear.encode() not in stored
    assert stat.S_IMODE((tmp_path / "out" / "ada.archive").stat().st_mode) == 0o600
    with pytest.raises(FileTaken):
        exported(world.runtime, tmp_path / "out" / "ada.archive")


def test_no_key_and_nothing_that_depends_on_one_is_in_an_archive(world: FileWorld, tmp_path: Path) -> None:
    """EX-10: not even in the sealed part."""
    exported(world.runtime, tmp_path / "x")
    told = b"".join(lines_of(tmp_path / "x"))
    space = world.runtime._session.space
    ring = space.keys.unwrapped
    with space.ledger.reader() as reader:
        leaves = [row.leaf.hex().encode() for row in reader.events(0, 99)]
    for secret in [ring.signing_seed, ring.index_key, ring.current.secret]:
        assert secret not in told
        assert secret.hex().encode() not in told
    assert not [leaf for leaf in leaves if leaf in told]
    assert space.ledger.log.encode() not in told


def test_an_archive_opens_with_what_sealed_it(
    world: FileWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAL", "correct horse battery staple")
    seal = "passphrase:env:SEAL"
    world.runtime.archives.export(str(tmp_path / "x"), ADA, INCLUDE, sealed_by=seal)
    with entered(tmp_path, root="another") as other:
        with pytest.raises(KeyWrong):
            other.archives.inspect(str(tmp_path / "x"))
        assert other.archives.inspect(str(tmp_path / "x"), seal).turns == 8
        report = other.archives.import_(str(tmp_path / "x"), ADA, INCLUDE, sealed_by=seal)
        assert report.turns_inserted == 8
        monkeypatch.setenv("SEAL", "something else")
        with pytest.raises(KeyWrong):
            other.archives.inspect(str(tmp_path / "x"), seal)


# --- one chat ---------------------------------------------------------------------------------------------------------


def test_a_chat_can_be_taken_along_under_another_id(world: FileWorld, tmp_path: Path) -> None:
    """EX-03: a continuity snapshot is the archive of one conversation; into the same space or another."""
    exported(world.runtime, tmp_path / "x", TALKING)
    before = shown(world.runtime)
    report = world.runtime.archives.import_(str(tmp_path / "x"), TALKING, INCLUDE, into=ConversationId("copy"))
    assert report.turns_inserted == 6
    assert [turn.turn for turn in world.replay(conversation="copy").turns] == [
        turn.turn for turn in world.replay().turns
    ]
    assert shown(world.runtime) == before
    goes_on = replace(plain_turn(9), conversation=None, chat=ChatId("copy"))
    assert world.commit(goes_on).sequence == 7
    with pytest.raises(InvalidInput):
        world.runtime.archives.import_(str(tmp_path / "x"), ADA, INCLUDE, into=ConversationId("copy"))
    assert world.reopened().runtime.system.health().sound


# --- rights -----------------------------------------------------------------------------------------------------------


def test_archives_take_their_rights(world: FileWorld, tmp_path: Path) -> None:
    """Files on the machine, words of everybody, erasing: each has its right; a subject has its own part alone."""
    exported(world.runtime, tmp_path / "x")
    for missing in (Effect.ADMIN, Effect.ERASE):
        with pytest.raises(AccessDenied):
            imported(world.runtime.restricted(Access(effects=frozenset(Effect) - {missing})), tmp_path / "x")
    no_admin = world.runtime.restricted(Access(effects=frozenset(Effect) - {Effect.ADMIN}))
    with pytest.raises(AccessDenied):
        no_admin.archives.inspect(str(tmp_path / "x"))
    no_words = world.runtime.restricted(Access(views=frozenset({View.HOST_UI})))
    with pytest.raises(AccessDenied):
        exported(no_words, tmp_path / "y")
    assert exported(no_words, tmp_path / "y", private=EXCLUDE).turns == 8
    for access in (Access(subject="ada"), Access(channels=frozenset({"default"}))):
        kept = world.runtime.restricted(access)
        for scope in (ADA, SHARED, TALKING):
            with pytest.raises(AccessDenied):
                exported(kept, tmp_path / "no", scope)
            with pytest.raises(AccessDenied):
                imported(kept, tmp_path / "x", scope)


def test_an_inspection_changes_nothing(world: FileWorld, tmp_path: Path) -> None:
    out = exported(world.runtime, tmp_path / "x")
    before = root_of(world.runtime)
    report = world.runtime.archives.inspect(str(tmp_path / "x"))
    assert (report.root, report.turns) == (out.root, 8)
    assert root_of(world.runtime) == before


def test_an_archive_is_read_from_a_stream_or_a_pipe(world: FileWorld, tmp_path: Path) -> None:
    """It is read twice: a stream that cannot go back is copied, one that can starts where it was."""
    out = exported(world.runtime, tmp_path / "x")
    data = (tmp_path / "x").read_bytes()
    later = io.BytesIO(b"before" + data)
    inspect = world.runtime.archives.inspect
    made: list[Callable[[], Any]] = [lambda: data, lambda: tmp_path / "x", lambda: Pipe(data), lambda: later]
    for make in made:
        later.seek(len(b"before"))
        assert inspect(make()).root == out.root
        later.seek(len(b"before"))
        target = memory_world("target")
        assert target.runtime.archives.import_(make(), ADA, PrivateMaterial.INCLUDE).root == out.root
        target.close()
    assert not later.closed
