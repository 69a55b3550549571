"""What a person wrote about a turn is erased with the turn: reasons, notes and ranges of everything that names it.

Every free text of every operation that speaks of turns is a canary. After the erasure no key that the store still has
opens anything that the log ever held to one of them, and everything that shows history still does.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from muniment.events.changes import ERASED, RedactionReason, Transition
from muniment.events.identity import TurnId
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.redact import Passage
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
    runtime.lifecycle.request(key_of(), Transition.MASK, KEPT, OPERATOR, TurnId("turn-1"))
    return written


def histories(world: FileWorld) -> str:
    """Return what everything that shows history says, as JSON."""
    runtime = world.runtime
    told = [
        runtime.lifecycle.receipts(key_of()),
        runtime.evidence.explain(TURN, conversation=TALK),
        runtime.evidence.disclosures(),
        *(runtime.transcripts.replay(key_of(), view) for view in View),
    ]
    return json.dumps(msgspec.to_builtins(told))


def test_what_was_written_about_a_turn_is_erased_with_it(tmp_path: Path) -> None:
    """No key that is left opens a canary; the words of another turn are the control."""
    world = sqlite_world(tmp_path).with_turns(3)
    written = spoken_of(world)
    world.close()
    before = sealed_values(world.store)
    world = sqlite_world(tmp_path)
    assert all(text in histories(world) for text in written)
    assert world.runtime.lifecycle.erase(Scope(conversation=TALK, turn=TURN), "asked for", OPERATOR).changed
    world.close()
    keys = Keys()
    with keys.heard():
        world = sqlite_world(tmp_path)
        told = histories(world)
        assert not world.runtime.evidence.inspect().fail_closed
        assert world.runtime.system.recover().sound
        world.close()
    assert not [text for text in [*written, f'"start": {RANGE[0]}'] if text in told]
    assert ERASED in told
    assert KEPT in told
    left, known = sealed_values(world.store), keys.all()
    assert opened_by(left, known, KEPT.encode())
    gone = {value: where for value, where in before.items() if value not in left}
    for values in (left, gone):
        assert not opened_by(values, known, b"canary of the")
