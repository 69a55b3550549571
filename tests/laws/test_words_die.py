"""What a person wrote about a turn is erased with the turn: reasons, notes and ranges of everything that names it.

Every free text of every operation that speaks of turns is a canary. After the erasure no key that the store still uses
opens anything that the log ever held to one of them, and everything that shows history still does.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from muniment.errors import ApprovalNeeded
from muniment.events.approving import GuardedAct
from muniment.events.changes import ERASED, RedactionReason, Transition
from muniment.events.identity import TurnId
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.redact import Passage
from tests.archives.documents import TALKING, exported, imported
from tests.laws.every_key import Keys, opened_by, sealed_values
from tests.turns import TALK
from tests.worlds import OPERATOR, FileWorld, key_of, sqlite_world

TURN = TurnId("turn-2")
KEPT = "canary of turn 1"  # the control: what is said of another turn stays
RANGE = (3, 7)


def spoken_of(world: FileWorld) -> list[str]:
    """Say something of a turn in every way there is; return what was written."""
    runtime, written = world.runtime, list[str]()

    def canary(name: str) -> str:
        written.append(f"canary of the {name}")
        return written[-1]

    one = Scope(conversation=TALK, turn=TURN)
    held = runtime.lifecycle.hold(one, canary("hold"), OPERATOR)
    assert held.position is not None
    runtime.lifecycle.release(held.position, canary("release"), OPERATOR)
    whole = runtime.lifecycle.hold(Scope(conversation=TALK), canary("hold of all turns"), OPERATOR)
    assert whole.position is not None
    runtime.lifecycle.release(whole.position, canary("release of all turns"), OPERATOR)
    for transition in (Transition.ARCHIVE, Transition.RESTORE, Transition.MASK, Transition.UNMASK):
        runtime.lifecycle.request(key_of(), transition, canary(transition), OPERATOR, TURN)
    runtime.lifecycle.request(key_of(), Transition.ARCHIVE, canary("archive of all turns"), OPERATOR)
    begin, end = RANGE
    passage = Passage(turn=TURN, message=0, part=0, start=begin, end=end)
    runtime.transcripts.redact(key_of(), passage, [View.EXPORT], RedactionReason.LEGAL, OPERATOR, canary("note"))
    kept = runtime.lifecycle.hold(one, "a dispute", OPERATOR)
    assert kept.position is not None
    assert not runtime.lifecycle.erase(one, canary("erasure that was refused"), OPERATOR).changed
    runtime.lifecycle.release(kept.position, "settled", OPERATOR)
    for certified in (True, False):
        runtime.evidence.export(
            key_of(), View.EXPORT, recipient="court", purpose=canary(f"export {certified}"), certified=certified
        )
    runtime.approvals.require([GuardedAct.REVEAL], "house rules", "grace")
    why = ""
    for ask in (runtime.approvals.refuse, runtime.approvals.confirm):
        why = canary(f"reveal {len(written)}")
        with pytest.raises(ApprovalNeeded) as waiting:
            runtime.disclosure.reveal(key_of(), TURN, why, OPERATOR)
        assert waiting.value.limit is not None
        ask(waiting.value.limit, canary(f"decision {len(written)}"), "grace")
    runtime.disclosure.reveal(key_of(), TURN, why, OPERATOR)
    runtime.lifecycle.request(key_of(), Transition.MASK, KEPT, OPERATOR, TurnId("turn-1"))
    return written


def histories(world: FileWorld) -> str:
    """Return what everything that shows history says, as JSON."""
    runtime = world.runtime
    told = [
        runtime.lifecycle.receipts(key_of()),
        runtime.evidence.explain(TURN, conversation=TALK),
        runtime.evidence.disclosures(limit=100),
        runtime.approvals.list_(),
        *(runtime.transcripts.replay(key_of(), view) for view in View),
    ]
    return json.dumps(msgspec.to_builtins(told))


def cells(values: dict[bytes, str]) -> set[bytes]:
    """Return the sealed content among values."""
    return {value for value, where in values.items() if where == "cells"}


def test_what_was_written_about_a_turn_is_erased_with_it(tmp_path: Path) -> None:
    """No key that is in use opens a canary; the words of another turn are the control."""
    world = sqlite_world(tmp_path).with_turns(3)
    written = spoken_of(world)
    world.close()
    before = sealed_values(world.store)
    world = sqlite_world(tmp_path)
    assert all(text in histories(world) for text in written)
    assert world.runtime.lifecycle.erase(Scope(conversation=TALK, turn=TURN), "asked for", OPERATOR).changed
    world.close()
    left, keys = sealed_values(world.store), Keys()
    with keys.heard():
        world = sqlite_world(tmp_path)
        told = histories(world)
        assert not world.runtime.evidence.inspect().fail_closed
        assert world.runtime.system.recover().sound
        world.close()
    assert not [text for text in [*written, f'"start": {RANGE[0]}'] if text in told]
    assert ERASED in told
    assert KEPT in told
    after, known = sealed_values(world.store), keys.used()
    assert cells(after) == cells(left)  # the opening had nothing left to destroy
    assert opened_by(left, known, KEPT.encode())
    assert not opened_by(before | left, known, b"canary of the")


def test_what_is_written_about_an_erased_turn_stays_here_and_in_an_archive(tmp_path: Path) -> None:
    """A hold that comes too late is on record with its reason, and nothing is wrong with it."""
    world = sqlite_world(tmp_path / "one").with_turns(2)
    one = Scope(conversation=TALK, turn=TURN)
    assert world.runtime.lifecycle.erase(one, "asked for", OPERATOR).changed
    assert world.runtime.lifecycle.hold(one, KEPT, OPERATOR).changed
    target = sqlite_world(tmp_path / "two")
    exported(world.runtime, tmp_path / "archive", TALKING)
    imported(target.runtime, tmp_path / "archive", TALKING)
    for kept in (world, target):
        assert kept.runtime.system.recover().sound
        assert kept.runtime.evidence.inspect().kinds == {}
        assert KEPT in histories(kept)
        kept.close()


def test_why_a_message_was_erased_goes_with_its_turn_in_a_restored_backup(tmp_path: Path) -> None:
    """The turn was erased after the backup, so that the restore erases it again, and all that was said of it."""
    world = sqlite_world(tmp_path).with_turns(2)
    why = "canary of the message"
    assert world.runtime.lifecycle.erase(Scope(conversation=TALK, message=f"{TURN}#0"), why, OPERATOR).changed
    world.runtime.spaces.backup(str(tmp_path / "backup"))
    assert world.runtime.lifecycle.erase(Scope(conversation=TALK, turn=TURN), "asked for", OPERATOR).changed
    assert world.runtime.spaces.restore(str(tmp_path / "backup"), replace=True).erased_again == 1
    assert world.runtime.evidence.inspect().kinds == {}
    assert why not in histories(world)
    world.close()
