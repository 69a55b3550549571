"""Witnesses: a checkpoint is cosigned by a server elsewhere, which finds a log that was put back or rewritten."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import muniment
from muniment.errors import InvalidInput, WitnessRefused, WitnessUnavailable
from muniment.evidence.cosignatures import HttpWitness, WitnessKey, cosignatures_of
from muniment.evidence.pin import FilePin
from muniment.evidence.verifier import VerifierKey
from muniment.kernel.sources import seeded_sources
from muniment.operations.evidence import post
from muniment.operations.evidence.checkpoint import CheckpointReport
from muniment.runtime.runtime import Runtime
from muniment.runtime.settings import set_witnesses
from muniment.space.options import Options
from tests.evidence.witnesses import NAME, TIME_S, Hanging, LoopbackWitness, Saying, served
from tests.turns import plain_turn
from tests.worlds import PINS, STORE, key_of, root_key


def opened(home: Path, *witnesses: HttpWitness, seed: str = "witnessed") -> Runtime:
    """Open a store whose checkpoints these witnesses cosign."""
    options = Options(sources=seeded_sources(seed), pin=FilePin(home / PINS), witnesses=witnesses)
    return muniment.open(home / STORE, keys=root_key(), options=options)


def log_key(home: Path) -> VerifierKey:
    """Return the key of the log of a home, which is made."""
    with opened(home) as runtime:
        return VerifierKey.parse(runtime.evidence.checkpoint().vkey)


def committed(home: Path, numbers: Sequence[int], *witnesses: HttpWitness) -> CheckpointReport:
    """Commit turns and make a checkpoint."""
    with opened(home, *witnesses, seed=f"witnessed {numbers}") as runtime:
        for number in numbers:
            runtime.transcripts.commit(plain_turn(number))
        return runtime.evidence.checkpoint()


def test_a_checkpoint_is_cosigned_and_keeps_its_cosignature(tmp_path: Path) -> None:
    """In the log and at the pin, and in what is exported; the note still verifies for who knows no witness."""
    witness = LoopbackWitness(log_key(tmp_path))
    key = WitnessKey.parse(witness.vkey)
    with served(witness) as url, opened(tmp_path, HttpWitness(url=url, vkey=witness.vkey)) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        report = runtime.evidence.checkpoint()
        assert [(each.witness, each.time_s) for each in report.cosignatures] == [(NAME, TIME_S)]
        assert cosignatures_of(report.note, [key])
        [pinned] = (tmp_path / PINS).glob("*.checkpoint")
        assert pinned.read_text() == report.note
        bundle = runtime.evidence.export(key_of(), certified=False).text
        assert NAME in bundle
        assert runtime.evidence.verify(bundle.encode(), report.vkey).events == 2
        assert runtime.evidence.audit().spaces[0].checkpoints


def test_a_witness_is_asked_with_a_proof_from_what_it_knows(tmp_path: Path) -> None:
    """What the log remembers of its cosignatures saves a request; who does not know asks a second time."""
    witness = LoopbackWitness(log_key(tmp_path))
    with served(witness) as url:
        named = HttpWitness(url=f"{url}/", vkey=witness.vkey)
        committed(tmp_path, [1, 2], named)
        assert len(witness.requests) == 1
        committed(tmp_path, [3], named)
        committed(tmp_path, [], named)  # the same size again: the witness says that it still holds
        assert len(witness.requests) == 3
        with opened(tmp_path) as runtime:
            runtime.transcripts.commit(plain_turn(4))
            size = runtime.evidence.checkpoint().size
        origin = next(iter(witness.known))
        witness.known.pop(origin)
        report = committed(tmp_path, [], named)
        assert (report.size, witness.known[origin][0]) == (size, size)
        assert len(witness.requests) == 5


def test_a_store_that_was_put_back_with_its_pins_is_found_by_a_witness(tmp_path: Path) -> None:
    """Nothing on this machine knows; the witness does. The copy goes on differently and is found all the same."""
    witness = LoopbackWitness(log_key(tmp_path))
    with served(witness) as url:
        named = HttpWitness(url=url, vkey=witness.vkey)
        committed(tmp_path, [1], named)
        for name in (STORE, PINS):
            shutil.copytree(tmp_path / name, tmp_path / "older" / name)
        committed(tmp_path, [2, 3], named)
        for _ in range(2):
            with pytest.raises(WitnessRefused) as behind:
                committed(tmp_path / "older", [], named)
            assert behind.value.problem == "behind_witness"
        for numbers in ([7, 8], [9, 10]):  # of the same size, then larger
            with pytest.raises(WitnessRefused) as diverges:
                committed(tmp_path / "older", numbers, named)
            assert diverges.value.problem == "diverges"
        assert committed(tmp_path, [4], named).cosignatures


WRONG: dict[str, tuple[LoopbackWitness, str]] = {
    "another origin": (LoopbackWitness(), "status"),
    "a key that it does not know": (Saying(403, b""), "status"),
    "an error": (Saying(500, b""), "status"),
    "a redirect": (Saying(302, b""), "status"),
    "nothing": (Saying(200, b""), "note_malformed"),
    "a conflict without a size": (Saying(409, b"words"), "status"),
    "a size that is too long": (Saying(409, b"1" * 5000), "status"),
    "always another size": (Saying(409, b"1\n"), "status"),
    "a cosignature of something else": (Saying(200, LoopbackWitness().line("else\n1\nAA==\n").encode()), "signature"),
    "too much": (Saying(200, bytes(post.RESPONSE_BYTES_MAX + 1)), "too_large"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_witness_that_misbehaves_changes_nothing(name: str, tmp_path: Path) -> None:
    """The checkpoint is signed and kept without it."""
    witness, problem = WRONG[name]
    with served(witness) as url, opened(tmp_path, HttpWitness(url=url, vkey=witness.vkey)) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        with pytest.raises(WitnessUnavailable) as unavailable:
            runtime.evidence.checkpoint()
        assert (unavailable.value.at, unavailable.value.problem) == ("witnesses[0]", problem)
        health = runtime.system.health()
        assert (health.sound, health.pinned_size) == (True, health.events)


def test_a_witness_that_hangs_or_is_not_there_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post, "TIMEOUT_S", 0.2)
    hanging = Hanging()
    with served(hanging) as url:
        for place in (url, "http://127.0.0.1:9/w1"):
            with pytest.raises(WitnessUnavailable) as unavailable:
                committed(tmp_path, [], HttpWitness(url=place, vkey=hanging.vkey))
            assert unavailable.value.problem == "no_answer"


def test_all_witnesses_are_asked_before_one_is_complained_of(tmp_path: Path) -> None:
    """What the others cosigned is kept; that one knows another history is said first."""
    key = log_key(tmp_path)
    good, other = LoopbackWitness(key, seed=b"a" * 32), LoopbackWitness(key, name="other.example")
    with served(Saying(500, b"")) as broken, served(good) as url, served(other) as elsewhere:
        named = [
            HttpWitness(url=broken, vkey=LoopbackWitness().vkey),
            HttpWitness(url=elsewhere, vkey=other.vkey),
            HttpWitness(url=url, vkey=good.vkey),
        ]
        other.known[key.name] = (100, bytes(32))
        with pytest.raises(WitnessRefused) as refused:
            committed(tmp_path, [1], *named)
        assert refused.value.at == "witnesses[1]"
        [pinned] = (tmp_path / PINS).glob("*.checkpoint")
        assert len(cosignatures_of(pinned.read_text(), [WitnessKey.parse(good.vkey)])) == 1


def test_witnesses_are_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    witness = LoopbackWitness(log_key(tmp_path))
    assert set_witnesses({}) == ()
    with served(witness) as url:
        monkeypatch.setenv("MUNIMENT_WITNESSES", f" {url}  {witness.vkey} ,")
        options = Options(sources=seeded_sources("named"), pin=FilePin(tmp_path / PINS))
        with muniment.open(tmp_path / STORE, keys=root_key(), options=options) as runtime:
            assert runtime.evidence.checkpoint().cosignatures
    with pytest.raises(InvalidInput):
        set_witnesses({"MUNIMENT_WITNESSES": "http://w.example"})


@pytest.mark.parametrize(("url", "vkey"), [("ftp://w.example", LoopbackWitness().vkey), ("http://w.example", "words")])
def test_what_is_no_witness_is_refused_before_anybody_is_asked(url: str, vkey: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        committed(tmp_path, [], HttpWitness(url=url, vkey=vkey))
    assert refused.value.at == "witnesses[0]"
