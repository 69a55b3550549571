"""Replacing the signing key: what each key may sign, whatever a log goes through."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.errors import InvalidInput, SignerUnavailable, SignerWrong
from muniment.evidence.pin import FilePin
from muniment.evidence.verifier import VerifierKey
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.space.options import Options
from tests.backups import backed_up
from tests.runtime.test_lives import exported, proved, receipt, refusal, vkey
from tests.turns import plain_turn
from tests.worlds import FileWorld, key_of, root_key, sqlite_world


def test_a_replaced_key_is_succeeded_and_destroyed(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    old, first, seed = exported(world.runtime), vkey(world.runtime), world.runtime._session.space.keys.signing_seed
    done = world.runtime.spaces.replace_signer()
    assert (done.version, done.former, done.vkey) == (2, first, vkey(world.runtime))
    assert world.runtime._session.space.keys.signing_seed != seed
    new = exported(world.with_turns(1).runtime)
    assert proved(new, first) == proved(new, done.vkey)
    assert proved(new, first).key_version == 2
    assert proved(old, first).key_version == 1
    assert refusal(old, done.vkey) == "signature_missing"
    certificate = world.erased(1).runtime.lifecycle.certificate(_erasure(world)).text.encode()
    assert proved(certificate, first).key_version == proved(receipt(world.runtime, "turn-2"), first).key_version == 2
    (audited,) = world.reopened().runtime.evidence.audit(vkey=first).spaces
    assert (audited.key_version, audited.key) == (2, "given")
    assert world.runtime.spaces.replace_signer().version == 3
    assert world.runtime.evidence.inspect().kinds == {}
    assert world.reopened().runtime.system.health().sound


def _erasure(world: FileWorld) -> int:
    with world.runtime._session.space.ledger.reader() as reader:
        return max(row.position for row in reader.of_kind("turn.lifecycle"))


def test_what_a_crash_leaves_of_a_replacement_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log says which key signs: one that was made and never announced signs nothing."""
    world = sqlite_world(tmp_path).with_turns(1)
    first = vkey(world.runtime)
    for method, version in (("begin_signing", 1), ("finish_signing", 2)):
        keys = world.runtime._session.space.keys
        real = getattr(type(keys), method)

        def ends(*given: object, real: object = real, method: str = method) -> None:
            if method == "begin_signing":
                real(*given)  # type: ignore[operator]  # the method that was replaced
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(type(keys), method, ends)
            with pytest.raises(KeyboardInterrupt):
                world.runtime.spaces.replace_signer()
            world.with_turns(1)  # another process would go on meanwhile
            world.crashed()
        world.reopened()
        assert world.runtime.system.health().sound
        assert proved(exported(world.runtime), first).key_version == version
        assert world.runtime._session.space.keys.unwrapped.next_signing is None or version == 1
    assert world.turns_of() == 3


class Elsewhere:
    """A key that is kept outside the store, and may be out of reach."""

    def __init__(self, seed: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self._private.public_key().public_bytes_raw()
        self.reached = True

    def sign(self, note: bytes) -> bytes:
        if not self.reached:
            raise SignerUnavailable(problem="out_of_reach")
        return self._private.sign(note)


def test_the_signing_key_may_lie_outside_the_store(tmp_path: Path) -> None:
    """Its seed is in no file of the store; turns are committed without it, and nothing is signed without it."""
    elsewhere = Elsewhere(b"s" * 32)
    options = Options(sources=seeded_sources("outside"), pin=FilePin(tmp_path / "pins"), signer=elsewhere)
    with muniment.open(tmp_path / "store", keys=root_key(), options=options) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        first = vkey(runtime)
        done = runtime.spaces.replace_signer(external=True)
        assert VerifierKey.parse(done.vkey).public == elsewhere.public
        assert proved(exported(runtime), first).key_version == 2
        with pytest.raises(InvalidInput):
            runtime.spaces.replace_signer(external=True)
        backup = tmp_path / "backup"
        runtime.spaces.backup(str(backup))
        elsewhere.reached = False
        runtime.transcripts.commit(plain_turn(2))
        for signs in (runtime.evidence.checkpoint, runtime.spaces.replace_signer, lambda: exported(runtime)):
            with pytest.raises(SignerUnavailable):
                signs()
    assert b"s" * 32 not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    wrong = replace(options, signer=Elsewhere(b"t" * 32), sources=seeded_sources("wrong"))
    with muniment.open(tmp_path / "store", keys=root_key(), options=wrong) as runtime:
        with pytest.raises(SignerWrong):
            runtime.evidence.checkpoint()
        assert runtime.system.health().sound
    nobody = replace(options, signer=None, sources=seeded_sources("nobody"))
    with muniment.open(tmp_path / "store", keys=root_key(), options=nobody) as runtime:
        with pytest.raises(SignerUnavailable):
            runtime.spaces.replace_signer(external=True)
        assert len(runtime.transcripts.replay(key_of(), View.RAW_OWNER, 5).turns) == 2
    elsewhere.reached = True
    again = replace(options, sources=seeded_sources("again"))
    with muniment.open(tmp_path / "store", keys=root_key(), options=again) as runtime:
        assert runtime.spaces.restore(str(backup), replace=True).sound
        assert proved(exported(runtime), first).key_version == 3
        assert runtime.spaces.replace_signer(external=True).version == 4
        assert runtime.spaces.replace_signer().version == 5
        assert proved(exported(runtime), first).key_version == 5
    short = replace(options, signer=Short(), sources=seeded_sources("short"))
    with muniment.open(tmp_path / "store", keys=root_key(), options=short) as runtime, pytest.raises(SignerWrong):
        runtime.spaces.replace_signer(external=True)


class Short:
    """A signer whose public key is none."""

    public = b"short"

    def sign(self, note: bytes) -> bytes:
        return note


class Issued(NamedTuple):
    """Evidence with what it must say, and the keys of its own life up to then."""

    data: bytes
    origin: str
    version: int
    keys: tuple[str, ...]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["commit", "replace", "restore", "backup", "reopen"]), min_size=1, max_size=8))
def test_everything_issued_verifies_as_the_right_life_and_key_and_never_as_another(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """Whatever was committed, replaced and restored: evidence proves under the keys that it was announced from."""
    world = sqlite_world(tmp_path_factory.mktemp("signers")).with_turns(1)
    keys: tuple[str, ...] = (vkey(world.runtime),)
    origin = world.runtime.evidence.checkpoint().origin
    backups = [(backed_up(world, "0"), keys)]
    issued: list[Issued] = []
    for number, step in enumerate(steps, start=1):
        if step == "commit":
            world.with_turns(1)
        elif step == "replace":
            keys = (*keys, world.runtime.spaces.replace_signer().vkey)
        elif step == "backup":
            backups.append((backed_up(world, str(number)), keys))
        elif step == "reopen":
            world.reopened()
        else:
            backup, keys = backups[number % len(backups)]
            report = world.runtime.spaces.restore(str(backup), replace=True)
            assert report.sound
            assert report.origin is not None
            keys, origin = (*keys, vkey(world.runtime)), report.origin
        both = exported(world.runtime), receipt(world.runtime, "turn-1")
        issued += [Issued(data, origin, len(keys), keys) for data in both]
    everyone = {key for one in issued for key in one.keys}
    for one in issued:
        for key in everyone:
            if key in one.keys:
                proof = proved(one.data, key)
                assert (proof.origin, proof.key_version) == (one.origin, one.version)
            else:
                assert refusal(one.data, key) in {"other_life", "signer", "signature_missing"}
    assert world.reopened().runtime.system.health().sound
    assert world.runtime.evidence.audit(vkey=keys[0]).spaces
