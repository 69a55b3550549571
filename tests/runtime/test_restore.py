"""Restores: nothing that was erased comes back, nothing is taken away unasked, and it is whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import muniment
from muniment.declaration.session import Session
from muniment.errors import (
    AccessDenied,
    Corrupt,
    CursorInvalid,
    FileUnavailable,
    KeyMissing,
    KeyUnavailable,
    KeyWrong,
    MunimentError,
    RestoreConflict,
    StoreFault,
    StoreMissing,
    UnknownConversation,
)
from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.events.changes import Action, LifecycleRequest, Transition, TurnLifecycle
from muniment.events.records import EventKind
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.ledger.drafts import draft
from muniment.runtime.open import open_without_key
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from muniment.space.space import Space
from tests.backups import backed_up, elsewhere, entered, root_of, without_space, words
from tests.turns import TALK, answer, question, rich_turn
from tests.worlds import PINS, FileWorld, key_of, root_key, sqlite_world

FAULTS_OF_FILES = (Corrupt, KeyWrong, FileUnavailable)


@pytest.fixture
def world(tmp_path: Path) -> FileWorld:
    return sqlite_world(tmp_path).with_turn(rich_turn()).with_turns(4).masked(2).erased(3).archived(4)


# --- what was erased stays erased -------------------------------------------------------------------------------------


def test_an_older_backup_does_not_bring_back_what_was_erased(tmp_path: Path) -> None:
    """DESIGN §4: what the present log calls erased is erased again in what takes its place."""
    world = sqlite_world(tmp_path).with_turns(4).with_turns(3, "second")
    backup = backed_up(world)
    world.erased(2).erased(None, "second").with_turns(2)
    report = world.runtime.spaces.restore(str(backup), replace=True)
    assert (report.erased_again, report.fences_unreadable) == (4, 0)
    for conversation, gone in [(TALK, {2}), ("second", {1, 2, 3})]:
        turns = world.replay(View.RAW_OWNER, conversation).turns
        assert [turn.phase == "erased" for turn in turns] == [n in gone for n in range(1, len(turns) + 1)]
    receipts = world.runtime.lifecycle.receipts(key_of("second")).entries
    assert [(one.transition, one.first, one.last, one.content_left) for one in receipts] == [(Action.ERASE, 1, 3, 0)]
    assert receipts[0].requester == "operator"
    assert world.reopened().runtime.system.health().sound
    assert question(2) not in str(words(world.runtime))
    assert question(4) in str(words(world.runtime))


def test_a_second_restore_of_the_same_backup_erases_again_too(tmp_path: Path) -> None:
    """The list of what was erased is part of the log that a restore writes."""
    world = sqlite_world(tmp_path).with_turns(3)
    backup = backed_up(world)
    world.erased(2)
    for _ in range(3):
        assert world.runtime.spaces.restore(str(backup), replace=True).erased_again == 1
        assert question(2) not in str(words(world.runtime))


def test_what_was_erased_before_the_backup_is_not_erased_twice(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(3).erased(1)
    backup = backed_up(world)
    assert world.runtime.spaces.restore(str(backup), replace=True).erased_again == 0


def test_a_fence_holds_in_a_log_that_went_another_way(tmp_path: Path) -> None:
    """After a restore the same turn stands at another position; it is known by its names."""
    world = sqlite_world(tmp_path).with_turns(1)
    early = backed_up(world, "early")
    world.with_turns(2)
    late = backed_up(world, "late")
    world.runtime.spaces.restore(str(early), replace=True)
    world.with_turns(1, "second").with_turns(2).erased(3)
    report = world.runtime.spaces.restore(str(late), replace=True)
    assert (report.erased_again, report.diverged) == (1, True)
    assert question(3) not in str(words(world.runtime))
    assert question(2) in str(words(world.runtime))


def test_the_words_of_a_backup_are_erased_under_keys_that_the_backup_does_not_have(tmp_path: Path) -> None:
    """Every bundle is wrapped again, so that the keys of the backup open nothing of the store."""
    world = sqlite_world(tmp_path).with_turns(3)
    old = world.runtime._session.space.keys.unwrapped
    backup = backed_up(world)
    world.runtime.spaces.restore(str(backup), replace=True)
    new = world.runtime._session.space.keys
    assert new.unwrapped.space.keys().isdisjoint(old.space.keys())
    assert len(new.versions) == 1


def test_keys_of_before_an_erasure_open_nothing_of_the_log_behind_it(tmp_path: Path) -> None:
    """An older keyring under a newer log, put there by hand: closed, and no word comes back."""
    world = sqlite_world(tmp_path).with_turns(3)
    (keys,) = world.store.glob("spaces/*/keys.json")
    older = keys.read_bytes()
    world.erased(2).close()
    keys.write_bytes(older)
    with pytest.raises(MunimentError) as refused:
        words(world.reopened().runtime)
    assert isinstance(refused.value, KeyMissing | Corrupt)


def test_a_log_of_before_an_erasure_is_closed_under_the_keys_behind_it(tmp_path: Path) -> None:
    """An older log under a newer keyring, put there by hand: closed, and no word comes back."""
    world = sqlite_world(tmp_path).with_turns(3)
    world.close()
    older = world.database.read_bytes()
    world.reopened().erased(2).close()
    world.database.write_bytes(older)
    shutil.rmtree(tmp_path / PINS)  # which would refuse it sooner
    with pytest.raises(MunimentError) as refused:
        words(world.reopened().runtime)
    assert isinstance(refused.value, KeyMissing | Corrupt)


# --- a restore takes nothing away unasked -----------------------------------------------------------------------------


def test_a_restore_over_a_space_has_to_be_meant(world: FileWorld) -> None:
    backup = backed_up(world)
    world.with_turns(2)
    before = root_of(world.runtime)
    with pytest.raises(RestoreConflict) as refused:
        world.runtime.spaces.restore(str(backup))
    assert refused.value.problem == "exists"
    assert refused.value.found == before[0]
    assert root_of(world.runtime) == before


def test_a_dry_run_says_what_would_be_lost_and_changes_nothing(world: FileWorld) -> None:
    backup = backed_up(world)
    size, _ = root_of(world.runtime)
    world.with_turns(2)
    before = root_of(world.runtime)
    report = world.runtime.spaces.restore(str(backup), dry_run=True)
    assert (report.restored, report.replaced, report.diverged) == (False, True, False)
    assert (report.events, report.lost_first, report.lost_last) == (size, size, size + 1)
    assert root_of(world.runtime) == before


def test_a_pin_that_is_ahead_keeps_an_older_backup_out_until_it_is_meant(tmp_path: Path) -> None:
    """The store is lost, the pin remembers: a rollback is never silent, and a confirmed one is pinned as a new life."""
    world = sqlite_world(tmp_path).with_turns(2)
    backup = backed_up(world)
    size, _ = root_of(world.runtime)
    world.with_turns(2).close()
    last = size + 2
    shutil.rmtree(world.store)
    with without_space(world) as bare:
        with pytest.raises(RestoreConflict) as refused:
            bare.spaces.restore(str(backup))
        assert (refused.value.problem, refused.value.limit, refused.value.found) == ("behind_pin", size, last)
        report = bare.spaces.restore(str(backup), replace=True)
        assert (report.lost_first, report.lost_last, report.sound) == (size, last - 1, True)
    with world.reopened().runtime._session.space.ledger.reader() as reader:
        header, _ = world.runtime._session.space.ledger.header(next(iter(reader.events(size + 1, size + 1))))
    assert (header.kind, header.refs) == ("space.restored", {"first": size, "last": last - 1})
    assert world.runtime.system.health().sound
    assert len(list((tmp_path / PINS).glob("*.checkpoint"))) == 2  # of the lost life, and of the one that goes on


def test_a_pin_that_a_backup_grows_from_is_no_obstacle(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    world.runtime.evidence.checkpoint()
    world.with_turns(1)
    backup = backed_up(world)
    world.crashed()
    shutil.rmtree(world.store)
    shutil.rmtree(tmp_path / PINS)
    with without_space(world) as bare:
        report = bare.spaces.restore(str(backup))
    assert (report.diverged, report.lost_last) == (False, None)


def test_a_space_of_this_name_with_another_log_is_left_alone(world: FileWorld, tmp_path: Path) -> None:
    backup = backed_up(world)
    with entered(tmp_path) as other:
        other.transcripts.commit(rich_turn())
        before = root_of(other)
        with pytest.raises(RestoreConflict) as refused:
            other.spaces.restore(str(backup), replace=True)
        assert refused.value.problem == "another_log"
        assert root_of(other) == before


def test_a_damaged_log_is_replaced_by_its_backup(tmp_path: Path) -> None:
    """A space that is open for inspection only is sound after a restore; what it still tells of erasures is kept."""
    world = sqlite_world(tmp_path).with_turns(4)
    backup = backed_up(world)
    world.erased(2)
    with world.edited() as raw:
        raw.execute("DELETE FROM events WHERE position = 4")
    assert not world.runtime.system.health().sound
    report = world.runtime.spaces.restore(str(backup), replace=True)
    assert (report.sound, report.erased_again) == (True, 1)
    assert world.turns_of() == 4
    assert world.reopened().runtime.system.health().sound


def test_cursors_from_before_a_restore_fail(tmp_path: Path) -> None:
    """PG-08: whatever was issued before the restore ends with it."""
    world = sqlite_world(tmp_path).with_turns(4)
    cursor = world.runtime.transcripts.replay(key_of(), limit=2).next_cursor
    backup = backed_up(world)
    world.runtime.spaces.restore(str(backup), replace=True)
    with pytest.raises(CursorInvalid):
        world.runtime.transcripts.replay(key_of(), limit=2, cursor=cursor)


def test_another_process_sees_the_restored_log_at_once(tmp_path: Path) -> None:
    """What it had kept of the log of before is forgotten: phases, names, the list of conversations."""
    world = sqlite_world(tmp_path).with_turns(2).with_turns(1, "kept")
    backup = backed_up(world)
    world.masked(1).with_turns(1, "lost")
    options = Options(sources=seeded_sources("other"), pin=FilePin(tmp_path / PINS))
    with muniment.open(world.store, keys=root_key(), options=options) as other:
        assert len(other.conversations.list_().conversations) == 3
        assert other.transcripts.replay(key_of(), View.RAW_OWNER).turns[0].phase == "masked"
        world.runtime.spaces.restore(str(backup), replace=True)
        world.masked(2)
        phases = [turn.phase for turn in other.transcripts.replay(key_of(), View.RAW_OWNER).turns]
        assert phases == ["active", "masked"]
        assert len(other.conversations.list_().conversations) == 2
        with pytest.raises(UnknownConversation):
            other.transcripts.replay(key_of("lost"))
        assert other.transcripts.commit(rich_turn()).committed


# --- refusals ---------------------------------------------------------------------------------------------------------


def spoiled(path: Path, place: int = -20) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


SPOILING: dict[str, Callable[[Path, Path], object]] = {
    "a byte of the log": lambda one, _: spoiled(one / "log.sealed"),
    "the log cut off": lambda one, _: (one / "log.sealed").write_bytes((one / "log.sealed").read_bytes()[:-30]),
    "the log of another backup": lambda one, two: shutil.copy(two / "log.sealed", one),
    "the keys of another backup": lambda one, two: shutil.copy(two / "keys.sealed", one),
    "a byte of the keys": lambda one, _: spoiled(one / "keys.sealed"),
    "keys that are no JSON": lambda one, _: (one / "keys.sealed").write_bytes(b"{"),
    "keys written otherwise": lambda one, _: (one / "keys.sealed").write_bytes(
        (one / "keys.sealed").read_bytes() + b"\n"
    ),
    "no log": lambda one, _: (one / "log.sealed").unlink(),
    "no keys": lambda one, _: (one / "keys.sealed").unlink(),
}


@pytest.mark.parametrize("fault", SPOILING)
def test_a_backup_with_a_fault_is_refused_and_nothing_is_changed(world: FileWorld, fault: str) -> None:
    """An older keyring with a newer log and the reverse are among them."""
    one = backed_up(world, "one")
    world.erased(1)
    two = backed_up(world, "two")
    SPOILING[fault](one, two)
    before, files = root_of(world.runtime), sorted(world.store.rglob("*"))
    with pytest.raises(FAULTS_OF_FILES):
        world.runtime.spaces.restore(str(one), replace=True)
    assert root_of(world.runtime) == before
    assert sorted(world.store.rglob("*")) == files
    with elsewhere(world.home) as other, pytest.raises(FAULTS_OF_FILES):
        other.spaces.restore(str(one))
    with pytest.raises(StoreMissing), elsewhere(world.home) as other:
        other.spaces.usage()


def test_backup_and_restore_take_their_rights(world: FileWorld) -> None:
    backup = backed_up(world)
    for missing in (Effect.ADMIN, Effect.ERASE):
        reader = world.runtime.restricted(Access(effects=frozenset(Effect) - {missing}))
        with pytest.raises(AccessDenied):
            reader.spaces.restore(str(backup), replace=True)
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(effects=frozenset({Effect.READ}))).spaces.backup("anywhere")


def test_a_store_without_its_key_restores_nothing(world: FileWorld) -> None:
    backup = backed_up(world)
    with open_without_key(world.store) as keyless, pytest.raises(KeyUnavailable):
        keyless.spaces.restore(str(backup))


# --- interruptions ----------------------------------------------------------------------------------------------------


class Interrupted(Exception):
    """The process ends here."""


def interrupted(runtime: Runtime, stage: str, count: int) -> Runtime:
    """Return a runtime on the same store that is interrupted when it has told of a stage so often."""
    told: list[str] = []

    def tell(now: str, _done: int, _total: int) -> None:
        told.append(now)
        if told.count(stage) == count:
            raise Interrupted

    session = runtime._session
    return Runtime(Session(store=session.store, opened=session.opened, access=Access(), progress=tell))


def frames_in(backup: Path, world: FileWorld) -> int:
    """Return of how many frames a verification of the backup tells."""
    told: list[str] = []
    session = world.runtime._session
    quiet = Session(
        store=session.store, opened=session.opened, access=Access(), progress=lambda one, *_: told.append(one)
    )
    Runtime(quiet).spaces.restore(str(backup), dry_run=True)
    return len(told)


def test_a_restore_that_is_interrupted_in_its_transaction_changes_nothing(world: FileWorld) -> None:
    """Old or new, never half: at every frame of the backup, and when it is repeated it is done."""
    backup = backed_up(world)
    world.with_turns(1)
    before, shown, frames = root_of(world.runtime), words(world.runtime), frames_in(backup, world)
    for count in range(frames + 1, 2 * frames + 1):
        with pytest.raises(Interrupted):
            interrupted(world.runtime, "verify", count).spaces.restore(str(backup), replace=True)
        assert (root_of(world.runtime), words(world.runtime)) == (before, shown)
    world.reopened()
    assert words(world.runtime) == shown
    assert world.runtime.spaces.restore(str(backup), replace=True).sound


def test_a_process_that_ends_between_the_restore_and_the_pin_leaves_the_new_state_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log says itself which checkpoint it does not grow from any more; the next opening moves the pin."""
    world = sqlite_world(tmp_path).with_turns(2)
    backup = backed_up(world)
    world.with_turns(4)
    world.runtime.evidence.checkpoint()

    def ends(_: Space) -> int:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(Space, "recover", ends)
        with pytest.raises(Interrupted):
            world.runtime.spaces.restore(str(backup), replace=True)
        world.runtime._session.space.fault = StoreFault()  # so that nothing is signed when it is left
        world.crashed()
    world.reopened()
    assert world.runtime.system.health().sound
    assert world.turns_of() == 2
    assert world.reopened().runtime.system.health().sound


def test_a_rollback_by_hand_behind_a_restore_is_still_found(tmp_path: Path) -> None:
    """That a restore was meant excuses that restore alone."""
    world = sqlite_world(tmp_path).with_turns(2)
    backup = backed_up(world)
    world.with_turns(4)
    world.runtime.spaces.restore(str(backup), replace=True)
    copy = world.copy("copy")
    world.with_turns(2)
    world.put_back(copy)
    assert world.runtime.system.health().fault == "store.rolled_back"


def test_a_space_that_was_being_restored_is_there_whole_or_not_at_all(world: FileWorld, tmp_path: Path) -> None:
    backup = backed_up(world)
    shown, frames = words(world.runtime), frames_in(backup, world)
    for count in (frames + 1, 2 * frames):
        with elsewhere(tmp_path) as other, pytest.raises(Interrupted):
            interrupted(other, "verify", count).spaces.restore(str(backup))
        with elsewhere(tmp_path) as other:
            assert other._session.store.names() == []
            with pytest.raises(StoreMissing):
                other.spaces.usage()
    with elsewhere(tmp_path) as other:
        assert other.spaces.restore(str(backup)).sound
    with entered(tmp_path) as back:
        assert words(back) == shown
    assert not list((tmp_path / "elsewhere" / "restoring").iterdir())


def test_a_backup_that_is_interrupted_leaves_no_file(world: FileWorld, tmp_path: Path) -> None:
    for stage in ("backup", "verify"):
        with pytest.raises(Interrupted):
            interrupted(world.runtime, stage, 1).spaces.backup(str(tmp_path / "backup"))
        assert not list((tmp_path / "backup").iterdir())
    assert backed_up(world).exists()


# --- fences of other kinds --------------------------------------------------------------------------------------------


def message_erased(world: FileWorld, turn: int, message: int) -> None:
    """Say in the log that a message was erased alone."""
    space = world.runtime._session.space
    body = TurnLifecycle(request=LifecycleRequest(reason="why", requester="who", requested_ms=5))
    event = draft(space.sources.entropy, EventKind.TURN_LIFECYCLE, 77, body, reason=Transition.ERASE)
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, key_of())
    refs = {"turn": turn, "message": message}
    space.ledger.transact(lambda writer: writer.append(event, stream=stream, target=turn, refs=refs))


def test_a_message_that_was_erased_alone_does_not_come_back(tmp_path: Path) -> None:
    """What else was said in that turn does."""
    world = sqlite_world(tmp_path).with_turns(2).erased(2)
    backup = backed_up(world)
    message_erased(world, 1, 0)
    message_erased(world, 2, 0)
    for _ in range(2):
        assert world.runtime.spaces.restore(str(backup), replace=True).erased_again == 1
        told = str(words(world.runtime))
        assert question(1) not in told
        assert answer(1) in told
    again = backed_up(world, "again")
    assert world.runtime.spaces.restore(str(again), replace=True).erased_again == 0


def test_erasures_that_a_damaged_log_cannot_tell_any_more_are_counted(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(3)
    backup = backed_up(world)
    world.erased(1).erased(2)
    with world.edited() as raw:
        raw.execute("UPDATE envelopes SET sealed = zeroblob(60) WHERE position = 6")  # of the first erasure
        raw.execute("UPDATE envelopes SET sealed = zeroblob(60) WHERE position = 3")  # who and when of the second turn
    report = world.runtime.spaces.restore(str(backup), replace=True)
    assert (report.erased_again, report.fences_unreadable, report.sound) == (1, 1, True)
    assert question(2) not in str(words(world.runtime))


def test_a_fence_holds_without_the_names_of_its_conversation(tmp_path: Path) -> None:
    """A turn is known by its leaf, too."""
    world = sqlite_world(tmp_path).with_turns(1)
    backup = backed_up(world)
    world.erased(1)
    with world.edited() as raw:
        raw.execute("UPDATE envelopes SET sealed = zeroblob(60) WHERE position = 1")
    report = world.runtime.spaces.restore(str(backup), replace=True)
    assert (report.erased_again, report.fences_unreadable) == (1, 0)
    assert question(1) not in str(words(world.runtime))


def test_what_an_archive_had_replaced_comes_back_with_the_backup_of_before(tmp_path: Path) -> None:
    """Nobody had asked for these words to be erased."""
    world = sqlite_world(tmp_path).with_turns(2).erased(2)
    backup, talk = backed_up(world), ArchiveScope(kind=ScopeKind.CONVERSATION, conversation=TALK)
    world.runtime.archives.export(str(tmp_path / "archive"), talk, PrivateMaterial.INCLUDE)
    world.runtime.archives.import_(str(tmp_path / "archive"), talk, PrivateMaterial.INCLUDE, ImportMode.RESTORE)
    assert world.runtime.spaces.restore(str(backup), replace=True).erased_again == 0
    assert question(1) in str(words(world.runtime))
