"""Erasing a whole space: nothing of it can be read or written any more, and what it proved is still proved."""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import muniment
from muniment.errors import MunimentError, NotAuthenticated, RolledBack, SpaceErased, StoreFault
from muniment.events.changes import Transition
from muniment.events.identity import SpaceName
from muniment.evidence.pin import FilePin
from muniment.evidence.verifier import verify_receipt
from muniment.kernel.sources import seeded_sources
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.open import open_without_key
from muniment.runtime.runtime import Runtime
from muniment.space.clients import Clients
from muniment.space.options import Options
from tests.log.worlds import Disk
from tests.runtime.custody import (
    EVERYTHING,
    erase,
    hold,
    left,
    of,
    talk,
    turn,
    with_subjects,
)
from tests.runtime.test_interrupted import failing as failing  # noqa: PLC0414 - a fixture
from tests.turns import plain_turn
from tests.worlds import OPERATOR, PINS, FileWorld, World, key_of, open_store, root_key

# --- the whole space --------------------------------------------------------------------------------------------------


def test_after_a_space_was_erased_nothing_of_it_can_be_read_or_written(lasting: FileWorld) -> None:
    """Words, names and meta: not in this process, not in another, not after opening again; and the log still proves."""
    with_subjects(lasting)
    bundle = lasting.runtime.evidence.export(key_of())
    vkey = str(bundle.summary["vkey"])
    events = lasting.runtime.spaces.usage().events
    report = erase(lasting, EVERYTHING)
    receipt = report.receipt
    assert receipt is not None
    assert (report.changed, report.affected_turns, receipt.turns_erased) == (True, 8, 8)
    proved = verify_receipt(receipt.proof.encode(), vkey)
    assert (proved.header["kind"], proved.header["pos"]) == ("space.erased", events)
    assert any("1 certified exports" in line for line in receipt.outside)
    for attempt in (
        lambda: lasting.with_turns(1),
        lambda: erase(lasting, EVERYTHING),
        lasting.runtime.evidence.checkpoint,
        lasting.runtime.system.recover,
        lasting.replay,
    ):
        with pytest.raises(SpaceErased):
            attempt()
    assert lasting.runtime.system.health().fault == "space.erased"
    lasting.close()
    for create in (True, False):
        with pytest.raises(SpaceErased) as refused:
            muniment.open(
                lasting.store, keys=root_key(), options=Options(create=create, pin=FilePin(lasting.home / PINS))
            )
        assert "default" not in str(refused.value)
    with open_without_key(lasting.store) as third_party:
        (audited,) = third_party.evidence.audit(vkey).spaces
        assert (audited.events, audited.turns) == (events + 1, 8)
        assert third_party.evidence.verify(bundle.text.encode(), vkey).complete
    pinned = next((lasting.home / PINS).glob("*.checkpoint")).read_text()
    assert f"\n{events + 1}\n" in pinned
    with closing(sqlite3.connect(lasting.database)) as look:
        assert look.execute("SELECT count(content) FROM events").fetchone() == (0,)
        assert look.execute("SELECT count(*) FROM envelopes").fetchone() == (1,)
    look.close()
    lasting.runtime = open_store(lasting.home, "another", space="another")


def test_other_spaces_of_the_store_go_on(lasting: FileWorld, tmp_path: Path) -> None:
    """The erased one is listed no more; rotating the root key steps over it; its directory can be moved away."""
    lasting.with_turns(1)
    with open_store(lasting.home, "second", space="second") as second:
        second.transcripts.commit(plain_turn(1))
        second.lifecycle.erase(Scope(whole_space=SpaceName("second")), "why", "who")
    assert lasting.runtime.spaces.list_().spaces == ["default"]
    assert lasting.runtime.spaces.rotate(f"file:{tmp_path / 'new.key'}").spaces_rewrapped == 1
    assert len(lasting.runtime.evidence.audit().spaces) == 2
    lasting.close()
    graves = [path for path in lasting.store.glob("spaces/*/keys.json") if b"erased" in path.read_bytes()]
    graves[0].parent.rename(tmp_path / "kept for the auditors")
    options = Options(pin=FilePin(lasting.home / PINS), sources=seeded_sources("again"))
    uri = f"file:{tmp_path / 'new.key'}"
    with muniment.open(lasting.store, keys=uri, space="second", options=options) as again:
        assert again.spaces.usage().turns == 0
        assert again.transcripts.commit(plain_turn(1)).committed
    lasting._open_again = lambda _times: muniment.open(lasting.store, keys=uri, options=options)
    lasting.reopened()


def test_the_clients_of_an_erased_space_go_with_it(lasting: FileWorld) -> None:
    """Those of other spaces stay; the receipt counts them; their names may be used again."""
    with open_store(lasting.home, "second", space="second") as second:
        key = second.clients.create("desk").key
        kept = lasting.runtime.clients.create("clerk").key
        report = second.lifecycle.erase(Scope(whole_space=SpaceName("second")), "why", "who")
    assert report.receipt is not None
    assert "1 revoked, with their keys and names" in [place.done for place in report.receipt.places]
    with pytest.raises(NotAuthenticated):
        lasting.runtime.client_of(key)
    assert lasting.runtime.client_of(kept).name == "clerk"
    assert lasting.runtime.clients.create("desk").client == "desk"


def test_a_key_whose_space_was_erased_by_a_process_that_was_killed_opens_nothing(
    lasting: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first use finds out, and the client is forgotten then: it opens no later space of that name."""
    with open_store(lasting.home, "second", space="second") as second:
        key = second.clients.create("desk").key
        with monkeypatch.context() as killed:
            killed.setattr(Clients, "forget_space", lambda *_: 0)
            second.lifecycle.erase(Scope(whole_space=SpaceName("second")), "why", "who")
    client = lasting.runtime.client_of(key)
    with pytest.raises(NotAuthenticated):
        lasting.runtime.as_client(client)
    with pytest.raises(NotAuthenticated):
        lasting.runtime.client_of(key)


@pytest.mark.parametrize("scope", [turn(1), talk("third"), of("nobody"), EVERYTHING], ids=range(4))
def test_any_hold_in_force_keeps_the_whole_space(world: World, scope: Scope) -> None:
    """Also one that has nothing to keep yet; the report says which; a legal minimum does it too."""
    with_subjects(world)
    held = hold(world, scope).position
    assert held is not None
    report = erase(world, EVERYTHING)
    assert (report.changed, report.receipt, [each.position for each in report.holds]) == (False, None, [held])
    world.runtime.lifecycle.release(held, "over", OPERATOR)
    world.runtime.lifecycle.retain("law", "counsel", keep_at_least_ms=10**12)
    report = erase(world, EVERYTHING)
    assert (report.changed, report.kept_turns, len(report.policies)) == (False, 8, 1)
    assert left(world) == [1, 2, 3, 4, 5]
    world.runtime.lifecycle.retain("no law", "counsel")
    assert erase(world, EVERYTHING).changed


def _writes(home: Path, connection: Any) -> None:
    """Open the store, say so, and when told to try everything; answer with the codes of the errors."""
    with open_store(home, "other process") as runtime:
        runtime.transcripts.replay(key_of())
        connection.send("open")
        connection.recv()
        codes: list[str] = []
        for attempt in (
            lambda: runtime.transcripts.commit(plain_turn(77)),
            lambda: runtime.transcripts.replay(key_of()),
            lambda: runtime.lifecycle.request(key_of(), Transition.MASK, "why", "who"),
            runtime.evidence.checkpoint,
            runtime.spaces.rotate,
            runtime.spaces.replace_signer,
            runtime.system.recover,
            lambda: runtime.transcripts.commit(plain_turn(78)),
        ):
            try:
                attempt()
                codes.append("nothing")
            except MunimentError as error:
                codes.append(error.code)
        connection.send(codes)


def test_another_process_that_has_the_space_open_fails_typed_and_writes_nothing(lasting: FileWorld) -> None:
    lasting.with_turns(2)
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    other = multiprocessing.get_context("spawn").Process(target=_writes, args=(lasting.home, theirs))
    other.start()
    assert ours.recv() == "open"
    report = erase(lasting, EVERYTHING)
    assert report.position is not None
    ours.send("now")
    assert ours.recv() == ["space.erased"] * 8
    other.join()
    with open_without_key(lasting.store) as third_party:
        assert third_party.evidence.audit().spaces[0].events == report.position + 1
    lasting.close()
    lasting.runtime = open_store(lasting.home, "another", space="another")


@pytest.mark.parametrize("ending", ["-wal", "log.db"])
def test_an_erasure_of_a_space_that_was_interrupted_is_completed_at_the_next_opening(
    failing: tuple[Runtime, Disk], tmp_path: Path, ending: str
) -> None:
    """Before its event is durable nothing was done; afterwards nothing can be done any more."""
    runtime, disk = failing
    runtime.transcripts.commit(plain_turn(1))
    runtime.evidence.checkpoint()
    disk.broken["xWrite", ending] = apsw.IOError
    with pytest.raises(StoreFault):
        runtime.lifecycle.erase(EVERYTHING, "why", "who")
    disk.broken.clear()
    if ending == "-wal":
        assert runtime.transcripts.commit(plain_turn(2)).committed
        assert runtime.lifecycle.erase(EVERYTHING, "why", "who").changed
    with pytest.raises(SpaceErased):
        runtime.transcripts.commit(plain_turn(3))
    with pytest.raises(SpaceErased):
        open_store(tmp_path, "again")


def test_nobody_writes_between_the_end_of_a_log_and_the_end_of_its_keys(lasting: FileWorld) -> None:
    """The log itself takes no more events: what is written in that moment would be lost with the keys."""
    lasting.with_turns(1)
    keys = next(lasting.store.glob("spaces/*/keys.json"))
    before = keys.read_bytes()
    with open_store(lasting.home, "another holder") as other:
        erase(lasting, EVERYTHING)
        keys.write_bytes(before)
        with pytest.raises(SpaceErased):
            other.transcripts.commit(plain_turn(2))
        with pytest.raises(SpaceErased):
            other.system.recover()
    assert keys.read_bytes() != before
    lasting.close()
    lasting.runtime = open_store(lasting.home, "another", space="another")


def test_a_space_whose_log_ended_before_its_keys_went_loses_them_at_the_next_opening(lasting: FileWorld) -> None:
    """A crash between the transaction and `keys.json`: the event is proved by keys that only we had, then they go."""
    lasting.with_turns(2)
    keys = next(lasting.store.glob("spaces/*/keys.json"))
    before = keys.read_bytes()
    report = erase(lasting, EVERYTHING)
    lasting.close()
    keys.write_bytes(before)
    (pin,) = (lasting.home / PINS).glob("*.checkpoint")
    pinned = pin.read_text()
    pin.unlink()
    with pytest.raises(SpaceErased):
        open_store(lasting.home, "again")
    assert keys.read_bytes() != before
    assert pin.read_text() == pinned
    with pytest.raises(SpaceErased):
        open_store(lasting.home, "and again")
    assert report.position is not None
    lasting.runtime = open_store(lasting.home, "another", space="another")


@pytest.mark.parametrize(
    "forged",
    ["UPDATE meta SET value = cast(replace(value, 'space.opened', 'space.erased') AS BLOB) WHERE name = 'vocabulary'",
     "UPDATE events SET kind = 'space.erased' WHERE position = 0",
     "UPDATE events SET kind = 'space.erased' WHERE kind = 'conversation.opened'",
     "UPDATE events SET kind = 'space.erased' WHERE position = 0; DELETE FROM envelopes WHERE position = 0"],
    ids=["flag", "first", "other", "without keys"],
)  # fmt: skip
def test_nobody_without_the_keys_can_have_them_destroyed(lasting: FileWorld, forged: str) -> None:
    lasting.with_turns(2)
    keys = next(lasting.store.glob("spaces/*/keys.json"))
    before = keys.read_bytes()
    with lasting.edited() as raw:
        raw.executescript(forged)
    assert lasting.runtime.system.health().fault == "store.corrupt"
    assert keys.read_bytes() == before


def test_an_older_copy_of_an_erased_space_does_not_open_as_sound(lasting: FileWorld) -> None:
    """Log and keys put back together are behind the pin; the log alone has no keys."""
    lasting.with_turns(2)
    copy = lasting.copy("older")
    erase(lasting, EVERYTHING)
    lasting.put_back(copy)
    assert lasting.runtime.system.health().fault == "store.rolled_back"
    with pytest.raises(RolledBack):
        lasting.replay()
