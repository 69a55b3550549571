"""Audits through the front door: compared with a checkpoint that somebody kept, and counting what was erased."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import muniment
from muniment.errors import Corrupt, EvidenceMissing, EvidenceRefused, RolledBack
from muniment.events.changes import Transition
from muniment.evidence.pin import FilePin
from muniment.runtime.open import open_without_key
from muniment.space.options import Options
from tests.turns import TALK, plain_turn
from tests.worlds import PINS, FileWorld, World, key_of, memory_world, root_key

# --- audits against what somebody kept --------------------------------------------------------------------------------


def test_a_log_is_the_same_as_a_kept_checkpoint_or_extends_it(world: World) -> None:
    """Keyless, with the key that the log declares or with one that is trusted; also in memory."""
    world.with_turns(2)
    kept = world.runtime.evidence.checkpoint()
    same = world.runtime.evidence.audit(checkpoint=kept.note).spaces[0]
    assert (same.against, same.key) == ("same", "self-declared")
    world.with_turns(1)
    extended = world.runtime.evidence.audit(kept.vkey, kept.note + "\n\n").spaces[0]
    assert (extended.against, extended.key) == ("extends", "given")
    assert world.runtime.evidence.audit().spaces[0].against is None


def test_a_log_that_is_behind_a_kept_checkpoint_or_diverges_from_it_is_refused(lasting: FileWorld) -> None:
    """An older copy is behind; an older copy that went on differently diverges, although its own audit is sound."""
    lasting.with_turns(2)
    copy = lasting.copy("older")
    lasting.with_turns(2)
    kept = lasting.runtime.evidence.checkpoint()
    with open_without_key(copy) as third_party:
        with pytest.raises(RolledBack) as behind:
            third_party.evidence.audit(checkpoint=kept.note)
        assert behind.value.limit == kept.size
    shutil.rmtree(lasting.home / "pins")
    lasting.put_back(copy)
    lasting.request(Transition.MASK, 1)
    for _ in range(3):
        lasting.with_turns(1)
    assert lasting.runtime.evidence.audit().spaces[0].events > kept.size
    with pytest.raises(Corrupt) as diverged:
        lasting.runtime.evidence.audit(checkpoint=kept.note)
    assert (diverged.value.at, diverged.value.problem) == ("checkpoint", "diverges")


def test_an_audit_says_what_the_log_is_to_its_pins(lasting: FileWorld) -> None:
    """Without the root key; where nothing was pinned an older copy would not be noticed."""

    def against_pins(store: Path) -> str | None:
        with open_without_key(store, options=Options(pin=FilePin(lasting.home / PINS))) as third_party:
            return third_party.evidence.audit().spaces[0].pin

    lasting.with_turns(2)
    copy = lasting.copy("older")
    assert against_pins(copy) == "extends"
    lasting.with_turns(1).close()
    assert (against_pins(lasting.store), against_pins(copy)) == ("extends", "rolled_back")
    (lasting.home / PINS).rename(lasting.home / "kept")
    assert against_pins(copy) == "unpinned"
    with muniment.open(copy, keys=root_key(), options=Options(pin=FilePin(lasting.home / "other"))) as fork:
        for number in (7, 8, 9):
            fork.transcripts.commit(plain_turn(number))
    (lasting.home / "kept").rename(lasting.home / PINS)
    assert against_pins(copy) == "diverges"


def test_a_checkpoint_of_another_log_or_one_that_was_not_signed_is_refused(world: World) -> None:
    world.with_turns(1)
    other = memory_world("other")
    foreign, own = other.runtime.evidence.checkpoint(), world.runtime.evidence.checkpoint()
    with pytest.raises(EvidenceMissing) as missing:
        world.runtime.evidence.audit(checkpoint=foreign.note)
    assert missing.value.at == "checkpoint"
    for forged in (own.note.replace(f"\n{own.size}\n", f"\n{own.size - 1}\n"), "canary", own.note.partition("\n\n")[0]):
        with pytest.raises(EvidenceRefused) as refused:
            world.runtime.evidence.audit(checkpoint=forged)
        assert "canary" not in str(refused.value)
    other.close()


# --- audits that count ------------------------------------------------------------------------------------------------


def test_audits_and_verification_count_what_was_erased(world: World) -> None:
    """Turns that were erased twice, alone and with all others, count once."""
    world.with_turns(4).erased(2).masked(1)
    assert (world.runtime.evidence.audit().spaces[0].erasures, world.turns_of(TALK)) == (1, 4)
    world.request(Transition.ERASE)
    world.with_turns(1)
    audited = world.runtime.evidence.audit().spaces[0]
    assert (audited.erasures, audited.erased_turns, audited.turns) == (2, 4, 5)
    bundle = world.runtime.evidence.export(key_of())
    report = world.runtime.evidence.verify(bundle.text.encode(), str(bundle.summary["vkey"]))
    assert (report.erasures, report.erased_turns) == (2, 4)


@pytest.mark.parametrize("position", ["(SELECT max(position) + 1 FROM events)", "1000", "-1"])
def test_an_audit_finds_an_event_that_is_stored_twice(lasting: FileWorld, position: str) -> None:
    """A copy of a row at a place that no tree covers is an edit like any other."""
    lasting.with_turns(3)
    with lasting.broken_into() as raw:
        columns = [row[1] for row in raw.execute("PRAGMA table_info(events)") if row[1] not in {"position", "seq"}]
        named = ", ".join(columns)
        copied = f"SELECT {position}, 99, {named} FROM events WHERE position = 1"  # noqa: S608 - names of the schema
        raw.execute(f"INSERT INTO events (position, seq, {named}) {copied}")
    with open_without_key(lasting.store) as third_party, pytest.raises(Corrupt) as refused:
        third_party.evidence.audit()
    assert (refused.value.at, refused.value.problem) == ("events", "rows_in_excess")
