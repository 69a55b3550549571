"""Opening, closing, coming back: keys, pins, other processes, places."""

from __future__ import annotations

import logging
import multiprocessing
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

import muniment
from muniment.errors import (
    AccessDenied,
    CursorInvalid,
    InvalidInput,
    KeyUnavailable,
    KeyWrong,
    RolledBack,
    StoreClosed,
    StoreMissing,
    StoreNewer,
)
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.ledger import ledger
from muniment.operations.system.system import Hidden
from muniment.projections import transcript
from muniment.runtime.catalogue import catalogue
from muniment.runtime.open import open_without_key
from muniment.runtime.settings import settings
from muniment.space.options import Options
from tests.runtime.every_operation import everything
from tests.turns import plain_turn, rich_turn
from tests.worlds import PINS, STORE, FileWorld, World, key_of, open_store, root_key, sqlite_world


def contents(directory: Path) -> dict[str, bytes]:
    """Return every file below a directory with its bytes."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_every_operation_that_needs_a_key_is_called_here(world: World) -> None:
    assert set(everything(world.runtime)) == {each.path for each in catalogue() if not each.terms.keyless}


# --- keys -------------------------------------------------------------------------------------------------------------


def test_the_wrong_root_key_is_refused_before_anything_is_touched(lasting: FileWorld) -> None:
    """DESIGN §4: a key check value, before anything is read or written."""
    lasting.with_turns(1).close()
    before = contents(lasting.home)
    with pytest.raises(KeyWrong):
        muniment.open(lasting.store, keys=root_key("other"), options=Options(pin=FilePin(lasting.home / PINS)))
    assert contents(lasting.home) == before
    lasting.reopened()


def test_without_the_root_key_a_store_can_be_audited_and_nothing_else(lasting: FileWorld) -> None:
    lasting.with_turns(2).close()
    with open_without_key(lasting.store) as third_party:
        assert third_party.evidence.audit().spaces[0].turns == 2
        told = third_party.system.capabilities().operations
        assert all(each.visible for each in told)
        assert {each.operation for each in told if not each.needs_key} == {
            e.path for e in catalogue() if e.terms.keyless
        }
        for call in everything(third_party).values():
            with pytest.raises(KeyUnavailable):
                call()
    with open_without_key(lasting.home / "nowhere") as nothing, pytest.raises(StoreMissing):
        nothing.evidence.audit()
    lasting.reopened()


def test_a_new_space_key_changes_no_word_and_no_proof(lasting: FileWorld) -> None:
    """Fresh keys for every segment leave events as they are; a cursor and a proof from before still hold."""
    lasting.with_turns(3).with_turn(rich_turn()).erased(2)
    before = [lasting.replay(view) for view in View]
    events = lasting.runtime.spaces.usage().events
    version = lasting.runtime.system.health().key_versions
    report = lasting.runtime.spaces.rotate()
    assert (version, report.version, report.versions_destroyed) == (1, 3, 1)
    assert report.segments_rekeyed == 1
    assert [lasting.replay(view) for view in View] == before
    assert [lasting.reopened().replay(view) for view in View] == before
    assert lasting.runtime.spaces.usage().events == events + 1
    assert lasting.runtime.evidence.audit().spaces[0].events == events + 1
    assert lasting.with_turns(1).turns_of() == 5


def test_a_new_root_key_opens_the_store_and_the_old_one_does_not(lasting: FileWorld, tmp_path: Path) -> None:
    """While open and across reopening; spaces that are open go on."""
    lasting.with_turns(2)
    with open_store(lasting.home, "second", space="second") as second:
        second.transcripts.commit(plain_turn(1))
    before = lasting.replay()
    uri = f"file:{tmp_path / 'new.key'}"
    assert lasting.runtime.spaces.rotate(uri).spaces_rewrapped == 2
    assert lasting.with_turns(1).replay().turns[:2] == before.turns
    lasting.runtime.spaces.rotate()
    lasting.close()
    with pytest.raises(KeyWrong):
        lasting.reopened()
    options = Options(pin=FilePin(lasting.home / PINS))
    for space, turns in (("default", 3), ("second", 1)):
        with muniment.open(lasting.store, keys=uri, space=space, options=options) as again:
            assert len(again.transcripts.replay(key_of()).turns) == turns


def test_another_process_follows_a_rotation_and_an_erasure(lasting: FileWorld) -> None:
    """Two holders of one store: what one rotates or erases, the other sees at its next call."""
    lasting.with_turns(3)
    with open_store(lasting.home, "other holder") as other:
        assert len(other.transcripts.replay(key_of()).turns) == 3
        lasting.runtime.spaces.rotate()
        assert len(other.transcripts.replay(key_of()).turns) == 3
        other.transcripts.commit(plain_turn(4))
        lasting.erased(1).masked(2)
        assert other.transcripts.replay(key_of(), View.RAW_OWNER) == lasting.replay()
        other.spaces.rotate()
        assert lasting.with_turns(1).turns_of() == 5
        assert other.transcripts.replay(key_of(), View.RAW_OWNER) == lasting.replay()


def _write(home: str, writer: int, count: int) -> list[int]:
    with open_store(Path(home), f"writer {writer}") as runtime:
        reports = [
            runtime.transcripts.commit(replace(plain_turn(number), turn=TurnId(f"{writer}/{number}")))
            for number in range(count)
        ]
    return [report.sequence or 0 for report in reports]


def test_several_processes_write_one_conversation_and_nothing_is_lost(lasting: FileWorld) -> None:
    """Sequences are dense, whoever writes; nobody hears that the database is locked (TR-15)."""
    lasting.with_turns(1)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        futures = [pool.submit(_write, str(lasting.home), writer, 15) for writer in (1, 2)]
        mine = [lasting.commit(replace(plain_turn(each), turn=TurnId(f"0/{each}"))).sequence or 0 for each in range(15)]
        sequences = sorted([1, *mine, *(each for future in futures for each in future.result())])
    assert sequences == list(range(1, 47))
    assert len({turn.turn for turn in lasting.replay().turns}) == 46
    assert lasting.runtime.evidence.audit().spaces[0].turns == 46


# --- pins -------------------------------------------------------------------------------------------------------------


def test_an_older_copy_put_back_opens_for_inspection_only(lasting: FileWorld) -> None:
    """DESIGN §4: the head must be a descendant of the pin; nothing is read or written, health and audit answer."""
    copy = lasting.with_turns(1).copy("older")
    lasting.with_turns(1)
    newer = lasting.copy("newer")
    lasting.put_back(copy)
    health = lasting.runtime.system.health()
    assert (health.sound, health.fault) == (False, "store.rolled_back")
    assert health.pinned_size is not None
    assert health.pinned_size > health.events
    before = contents(lasting.store)
    for name, call in everything(lasting.runtime).items():
        if name not in {"system.health", "system.recover", "spaces.list", "spaces.restore", "evidence.inspect"}:
            with pytest.raises(RolledBack):
                call()
    (audited,) = lasting.runtime.evidence.audit().spaces
    assert (audited.turns, audited.pin) == (1, "rolled_back")
    assert lasting.runtime.evidence.inspect().kinds == {"rolled_back": 1}
    assert not lasting.runtime.system.recover().sound
    lasting.close()
    assert {name: data for name, data in contents(lasting.store).items() if not name.endswith(("-wal", "-shm"))} == {
        name: data for name, data in before.items() if not name.endswith(("-wal", "-shm"))
    }
    assert lasting.put_back(newer).runtime.system.health().sound
    assert lasting.turns_of() == 2


def test_without_a_pin_a_rollback_is_not_seen(lasting: FileWorld) -> None:
    """DESIGN §1: a rollback shows only against something outside the store."""
    copy = lasting.with_turns(1).copy("older")
    lasting.with_turns(1).close()
    for path in (lasting.home / PINS).rglob("*"):
        path.unlink()
    assert lasting.put_back(copy).turns_of() == 1


# --- healing ----------------------------------------------------------------------------------------------------------


def test_erased_words_that_came_back_from_a_backup_are_destroyed_again(lasting: FileWorld) -> None:
    """DESIGN §4: on opening, everything that the log calls erased is destroyed again."""
    lasting.with_turns(2)
    lasting.close()
    with lasting.edited() as raw:
        (position,) = raw.execute("SELECT position FROM events WHERE turn_seq = 1").fetchone()
        cell = raw.execute("SELECT content FROM events WHERE position = ?", (position,)).fetchone()
    lasting.erased(1)
    with lasting.edited() as raw:
        raw.execute("UPDATE events SET content = ? WHERE position = ?", (cell[0], position))
    assert lasting.runtime.system.health().sound
    assert lasting.runtime.lifecycle.receipts(key_of()).entries[0].content_left == 0
    with lasting.edited() as raw:
        assert raw.execute("SELECT count(content) FROM events WHERE position = ?", (position,)).fetchone() == (0,)
    assert lasting.runtime.system.recover().contents_destroyed_again == 0
    assert lasting.turns_of() == 2


def test_recovery_finds_nothing_to_do_in_a_sound_store(world: World) -> None:
    report = world.with_turns(2).erased(1).runtime.system.recover()
    assert (report.sound, report.contents_destroyed_again, report.rotation_completed) == (True, 0, False)


def test_a_store_of_a_newer_release_is_not_touched(lasting: FileWorld) -> None:
    lasting.with_turns(1)
    with pytest.raises(StoreNewer), lasting.edited() as raw:
        raw.execute("PRAGMA user_version = 1000")
    before = contents(lasting.store)
    with pytest.raises(StoreNewer):
        open_store(lasting.home, "again")
    assert contents(lasting.store) == before


# --- closing ----------------------------------------------------------------------------------------------------------


def test_a_closed_store_answers_nothing_and_closes_twice(world: World) -> None:
    world.with_turns(1)
    assert world.runtime.system.close().closed
    world.runtime.close()
    for call in everything(world.runtime).values():
        with pytest.raises(StoreClosed):
            call()


def test_closing_pins_the_head(lasting: FileWorld) -> None:
    lasting.with_turns(3)
    events = lasting.runtime.spaces.usage().events
    health = lasting.reopened().runtime.system.health()
    assert (health.checkpoint_size, health.pinned_size, health.sound) == (events, events, True)


# --- spaces and places ------------------------------------------------------------------------------------------------


def test_two_spaces_of_a_store_know_nothing_of_each_other(lasting: FileWorld) -> None:
    """SC-01: same names, other words, other numbers, other key."""
    lasting.with_turns(2)
    with open_store(lasting.home, "second", space="second") as second:
        assert second.conversations.list_().conversations == []
        assert second.transcripts.commit(plain_turn(1)).sequence == 1
        second.lifecycle.request(key_of(), Transition.ERASE, "why", "who")
        assert second.spaces.list_().spaces == ["default", "second"]
        assert second.evidence.checkpoint().vkey != lasting.runtime.evidence.checkpoint().vkey
    assert [turn.phase for turn in lasting.replay().turns] == ["active", "active"]
    assert len(lasting.runtime.evidence.audit().spaces) == 2


@pytest.mark.parametrize("space", ["", " a", "a\n", "x" * 513])
def test_a_space_needs_a_canonical_name(tmp_path: Path, space: str) -> None:
    """SC-03."""
    for store in (tmp_path / STORE, "memory:"):
        with pytest.raises(InvalidInput) as refused:
            muniment.open(store, keys=root_key(), space=space)
        assert refused.value.at == "space"


def test_nothing_is_made_when_nothing_may_be_made(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        muniment.open(tmp_path / "absent", keys=root_key(), options=Options(create=False))
    assert not (tmp_path / "absent").exists()
    world = sqlite_world(tmp_path)
    world.close()
    with pytest.raises(StoreMissing):
        muniment.open(world.store, keys=root_key(), space="absent", options=Options(create=False))


def test_a_newcomer_gets_a_store_and_a_key_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN §7: defaults that let a newcomer start; the key must be backed up, and that is said once."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with caplog.at_level(logging.WARNING, logger="muniment"):
        for _ in range(2):
            with muniment.open() as runtime:
                runtime.transcripts.commit(plain_turn(1))
                assert len(runtime.transcripts.replay(key_of()).turns) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Back it up" in caplog.text
    key = tmp_path / ".config/muniment/root.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / ".local/share/muniment/store.json").is_file()
    assert list((tmp_path / ".local/state/muniment/pins").iterdir())


def test_the_environment_says_where_things_are() -> None:
    """The table of `runtime.settings`, row by row."""
    plain = settings({"HOME": "/h"})
    assert (plain.store, plain.keys, plain.pins, plain.space) == (
        Path("/h/.local/share/muniment"),
        "file:/h/.config/muniment/root.key",
        (Path("/h/.local/state/muniment/pins"),),
        "default",
    )
    xdg = settings(
        {
            "HOME": "/h",
            "XDG_DATA_HOME": "/d",
            "XDG_CONFIG_HOME": "relative",
            "XDG_STATE_HOME": "/s",
            "MUNIMENT_SPACE": "x",
        }
    )
    assert (xdg.store, xdg.keys, xdg.pins, xdg.space) == (
        Path("/d/muniment"), "file:/h/.config/muniment/root.key", (Path("/s/muniment/pins"),), "x",
    )  # fmt: skip
    named = settings({"MUNIMENT_STORE": "a", "MUNIMENT_KEYS": "env:K", "MUNIMENT_PINS": "p:/q"})
    assert (named.store, named.keys, named.pins) == (Path("a"), "env:K", (Path("p"), Path("/q")))
    with pytest.raises(InvalidInput):
        settings({})


SECOND = {"archives.inspect", "evidence.links", "redactions.find"}  # take a right to administer, or a view of operators


def test_capabilities_list_what_the_access_allows(world: World) -> None:
    reading = world.runtime.restricted(Access(effects=frozenset({Effect.READ}), views=frozenset({View.EXPORT})))
    told = reading.system.capabilities()
    assert {each.view: each.hidden for each in told.views} == {
        view: None if view is View.EXPORT else Hidden.ACCESS for view in View
    }
    assert {each.operation: each.hidden for each in told.operations} == {
        each.path: None if each.effect is Effect.READ and each.path not in SECOND else Hidden.ACCESS
        for each in catalogue()
    }
    whole = world.runtime.system.capabilities()
    assert all(each.visible for each in whole.operations)
    assert all(each.visible for each in whole.views)
    assert (whole.policies, whole.budget) == ([], None)
    assert reading.access.effects == frozenset({Effect.READ})
    assert told.version == muniment.__version__


def test_a_pin_that_cannot_be_believed_is_a_fault(lasting: FileWorld) -> None:
    lasting.with_turns(1).close()
    (pin,) = [path for path in (lasting.home / PINS).rglob("*") if path.is_file() and path.suffix != ".lock"]
    pin.write_text("nobody signed this\n")
    health = lasting.reopened().runtime.system.health()
    assert (health.sound, health.fault, health.pinned_size) == (False, "store.corrupt", None)


def test_a_cursor_beyond_the_end_is_refused(lasting: FileWorld) -> None:
    """PG-03: after a rollback that no pin saw, a page mark leads nowhere and does not start from the beginning."""
    empty = lasting.copy("empty")
    older = lasting.with_turns(1).copy("older")
    cursor = lasting.with_turns(3).runtime.transcripts.replay(key_of(), limit=3).next_cursor
    for copy in (older, empty):
        lasting.close()
        shutil.rmtree(lasting.home / PINS, ignore_errors=True)
        lasting.put_back(copy)
        with pytest.raises(CursorInvalid):
            lasting.runtime.transcripts.replay(key_of(), limit=3, cursor=cursor)


def test_a_head_is_signed_and_pinned_by_the_way(lasting: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN §4: checkpoints every so many events, so that opening after a crash replays few of them."""
    monkeypatch.setattr(ledger, "CHECKPOINT_EVENTS", 8)
    health = lasting.with_turns(9).runtime.system.health()
    assert (health.events, health.checkpoint_size, health.pinned_size) == (11, 8, 8)


def test_what_is_kept_of_many_conversations_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache has a limit, and forgetting changes no answer."""
    monkeypatch.setattr(transcript, "STREAMS_KEPT_MAX", 1)
    for name in "abc":
        world.with_turns(1, name).masked(1, name)
    for name in "abcab":
        assert [turn.phase for turn in world.replay(View.RAW_OWNER, name).turns] == ["masked"]


def test_a_reader_of_an_older_state_sees_that_state(world: World) -> None:
    """A snapshot that is older than what another reader has folded is folded by itself."""
    space = world.with_turns(2).masked(1).runtime._session.space
    with space.ledger.reader() as older:
        stream = space.transcript.stream_of(older, key_of())
        assert stream is not None
        head = space.transcript.head(older, stream)
        world.masked(2).archived(1)
        assert [turn.phase for turn in world.replay().turns] == ["masked_archived", "masked"]
        assert len(space.transcript.changes(older, head).steps) == 1
    assert [turn.phase for turn in world.replay().turns] == ["masked_archived", "masked"]


def test_a_restricted_runtime_neither_closes_the_store_nor_reads_files_of_the_machine(
    world: World, tmp_path: Path
) -> None:
    """Who was handed fewer rights can end nothing for the others, and import takes the right to administer."""
    runtime = world.with_turns(1).runtime
    with runtime.restricted(Access(effects=frozenset({Effect.READ, Effect.APPEND}))) as window:
        with pytest.raises(AccessDenied):
            window.system.close()
        with pytest.raises(AccessDenied):
            window.spaces.import_(str(tmp_path / "absent.jsonl"))
    assert runtime.system.health().sound
    runtime.close()
    with pytest.raises(StoreClosed):
        window.system.health()
