"""Lives of a log: what was restored is told from what it was restored from, by everybody who holds evidence of either.

Each test is an attack that succeeded while both signed with one key under one name.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from muniment.errors import EvidenceRefused
from muniment.evidence.verifier import ProvedEvidence, Refused, verify_evidence
from muniment.governance.views import View
from muniment.operations.evidence.proof_document import EvidenceFormat
from muniment.runtime.runtime import Runtime
from tests.backups import backed_up, elsewhere, entered
from tests.turns import plain_turn
from tests.worlds import key_of, sqlite_world


def exported(runtime: Runtime) -> bytes:
    return runtime.evidence.export(key_of(), View.RAW_OWNER).text.encode()


def receipt(runtime: Runtime, turn: str) -> bytes:
    return runtime.evidence.prove(key_of(), turn, View.RAW_OWNER).text.encode()


def vkey(runtime: Runtime) -> str:
    return runtime.evidence.checkpoint().vkey


def proved(data: bytes, key: str) -> ProvedEvidence:
    return verify_evidence(BytesIO(data), key)


def refusal(data: bytes, key: str) -> str:
    with pytest.raises(Refused) as refused:
        proved(data, key)
    return refused.value.code


def test_a_backup_that_goes_on_beside_its_living_log_is_another_life_of_it(tmp_path: Path) -> None:
    """Other words at the same positions never verify as one log, and each bundle says which life it is of."""
    world = sqlite_world(tmp_path).with_turns(2)
    backup, old = backed_up(world), receipt(world.runtime, "turn-1")
    first = vkey(world.runtime)
    with elsewhere(tmp_path) as other:
        report = other.spaces.restore(str(backup))
    world.with_turns(1)
    with entered(tmp_path) as restored:
        restored.transcripts.commit(plain_turn(4))
        here, there, new = exported(world.runtime), exported(restored), vkey(restored)
        mine, theirs = receipt(world.runtime, "turn-3"), receipt(restored, "turn-4")
        log, life = proved(here, first), proved(there, first)
        assert (log.origin, life.origin) == (report.former, report.origin)
        assert life.origin.startswith(f"{log.origin}/")
        (signer,) = life.signers
        assert (signer.size, signer.life, life.key_version, log.key_version) == (report.events, True, 2, 1)
        assert proved(there, new) == life
        assert (proved(mine, first).origin, proved(theirs, first).origin) == (log.origin, life.origin)
        assert [refusal(data, new) for data in (here, mine)] == ["other_life"] * 2
        assert proved(old, first).origin == log.origin
        later = world.runtime.evidence.checkpoint().note
        with pytest.raises(EvidenceRefused) as refused:
            restored.evidence.audit(checkpoint=later)
        assert refused.value.problem == "other_life"
        with pytest.raises(EvidenceRefused) as refused:
            world.runtime.evidence.audit(checkpoint=restored.evidence.checkpoint().note)
        assert refused.value.problem == "other_life"
        (audited,) = restored.evidence.audit(vkey=first).spaces
        assert (audited.origin, audited.key_version, audited.key) == (life.origin, 2, "given")
        page = restored.evidence.export(key_of(), View.RAW_OWNER, format=EvidenceFormat.HTML).text.encode()
        assert b"restored from a backup" in page
        assert proved(page, first).signers == life.signers
    assert world.reopened().runtime.system.health().sound


def test_a_checkpoint_of_the_former_life_is_held_against_the_fork(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    early = world.runtime.evidence.checkpoint().note
    backup = backed_up(world)
    world.with_turns(1)
    late = world.runtime.evidence.checkpoint().note
    world.runtime.spaces.restore(str(backup), replace=True)
    (audited,) = world.runtime.evidence.audit(checkpoint=early).spaces
    assert audited.against == "extends"
    with pytest.raises(EvidenceRefused) as refused:
        world.runtime.evidence.audit(checkpoint=late)
    assert refused.value.problem == "other_life"


def test_the_files_of_a_life_that_was_replaced_are_found_when_they_come_back(tmp_path: Path) -> None:
    """Its own pin says that it has ended: neither silence nor a forged log."""
    world = sqlite_world(tmp_path).with_turns(2)
    backup = backed_up(world)
    copy = world.copy("copy")
    world.with_turns(1)
    world.runtime.spaces.restore(str(backup), replace=True)
    world.put_back(copy)
    health = world.runtime.system.health()
    assert (health.sound, health.fault) == (False, "store.former_life")


def test_a_backup_is_restored_twice_and_each_time_begins_a_life(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    backup, first = backed_up(world), vkey(world.runtime)
    lives = []
    for _ in range(2):
        report = world.runtime.spaces.restore(str(backup), replace=True)
        assert report.sound
        world.with_turns(1)
        lives.append(report.origin)
        assert proved(exported(world.runtime), first).key_version == 2
    again = backed_up(world, "second")
    report = world.runtime.spaces.restore(str(again), replace=True)
    assert report.former == lives[1]
    assert len({*lives, report.origin}) == 3
    third = proved(exported(world.reopened().runtime), first)
    assert [signer.origin for signer in third.signers] == [lives[1], report.origin]
    assert world.runtime.evidence.audit().spaces[0].checkpoints > 1
