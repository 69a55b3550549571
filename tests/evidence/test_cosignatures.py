"""Cosignatures of witnesses: what they are asked, and what of their answers is kept."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from muniment.evidence.cosignatures import WitnessKey, add_checkpoint, cosignatures_of, with_cosignature
from muniment.evidence.notes import Signer
from muniment.evidence.verifier import NOTE_SIGNATURES_MAX, Refused, VerifierKey
from tests.evidence.witnesses import NAME, TIME_S, LoopbackWitness
from tests.shared import need_shared

ORIGIN = "muniment/AAECAwQFBgcICQoLDA0ODw"
SIGNER = Signer(ORIGIN, bytes(32))
NOTE = SIGNER.sign_checkpoint(ORIGIN, 7, bytes(32))
TEXT = NOTE.partition("\n\n")[0] + "\n"
WITNESS = LoopbackWitness(seed=b"witness".ljust(32, b"."))
KEY = WitnessKey.parse(WITNESS.vkey)


def exchanges() -> dict[str, Any]:
    vectors = json.loads(need_shared("vectors/inline_vectors.json").read_text())
    found: dict[str, Any] = vectors["tlog_witness_exchanges"]
    return found


def test_requests_are_those_of_the_public_vectors() -> None:
    """Old size, proof and note of each are taken out and put together again: the same bytes."""
    wellformed = [each for each in exchanges()["exchanges_in_order"] if each["value"] != "invalid signature"]
    for each in wellformed:
        head, _, note = each["body"].partition("\n\n")
        old, *proof = head.split("\n")
        hashes = [base64.b64decode(line) for line in proof]
        assert add_checkpoint(note, int(old.removeprefix("old ")), hashes).decode() == each["body"]


def test_the_witness_of_these_tests_answers_as_the_public_vectors_say() -> None:
    """In order, because a witness remembers. A cosignature that it gives is taken."""
    vectors = exchanges()
    log = VerifierKey.of(vectors["origin_line"], bytes.fromhex(vectors["log_public_key_hex"]))
    witness = LoopbackWitness(log, name=vectors["witness_name"])
    key = WitnessKey.parse(witness.vkey)
    for each in vectors["exchanges_in_order"]:
        status, answer = witness.answer(each["body"].encode())
        if each["value"] == "unknown log":  # the vectors' witness answers 403, the specification says 404
            assert status in {403, 404}
            continue
        assert status == each["status"], each
        if status == 409:
            assert answer.decode() == each["value"].replace("\\n", "\n")
        if status == 200:
            note = each["body"].partition("\n\n")[2]
            assert cosignatures_of(with_cosignature(note, answer, key), [key])[0].time_s == TIME_S


def test_a_cosignature_becomes_a_line_of_the_note_and_a_newer_one_takes_its_place() -> None:
    once = with_cosignature(NOTE, WITNESS.line(TEXT).encode(), KEY)
    assert once.startswith(NOTE)
    assert [(made.witness, made.time_s) for made in cosignatures_of(once, [KEY])] == [(NAME, TIME_S)]
    assert cosignatures_of(once, []) == cosignatures_of(NOTE, [KEY]) == []
    newer = LoopbackWitness(seed=b"witness".ljust(32, b"."))
    newer.time_s += 1
    again = with_cosignature(once, newer.line(TEXT).encode(), KEY)
    assert [made.time_s for made in cosignatures_of(again, [KEY])] == [TIME_S + 1]
    assert add_checkpoint(again, 0, []) == add_checkpoint(NOTE, 0, [])


def test_lines_of_unknown_keys_are_ignored() -> None:
    answer = LoopbackWitness(seed=bytes(32)).line(TEXT) + WITNESS.line(TEXT) + LoopbackWitness(name="else").line(TEXT)
    assert with_cosignature(NOTE, answer.encode(), KEY) == with_cosignature(NOTE, WITNESS.line(TEXT).encode(), KEY)


def _edited(line: str, place: int) -> str:
    """Return a signature line with one byte of its signature changed."""
    dash, name, encoded = line.split()
    raw = bytearray(base64.b64decode(encoded))
    raw[place] ^= 1
    return f"{dash} {name} {base64.b64encode(raw).decode()}\n"


WRONG: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "note_malformed"),
    "words": (b"words\n", "note_malformed"),
    "no text": (b"\xff\n", "note_malformed"),
    "of another witness": (LoopbackWitness(seed=bytes(32)).line(TEXT).encode(), "signature_missing"),
    "of another checkpoint": (WITNESS.line(TEXT.replace("\n7\n", "\n8\n")).encode(), "signature"),
    "another time": (_edited(WITNESS.line(TEXT), 11).encode(), "signature"),
    "another signature": (_edited(WITNESS.line(TEXT), -1).encode(), "signature"),
    "too short": (
        f"\N{EM DASH} {NAME} {base64.b64encode(KEY.key_id + bytes(9)).decode()}\n".encode(),
        "signature",
    ),
    "one of two is wrong": ((WITNESS.line(TEXT) + _edited(WITNESS.line(TEXT), -1)).encode(), "signature"),
    "too many": (WITNESS.line(TEXT).encode() * (NOTE_SIGNATURES_MAX + 1), "note_malformed"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_proves_nothing_is_refused(name: str) -> None:
    answer, code = WRONG[name]
    with pytest.raises(Refused) as refused:
        with_cosignature(NOTE, answer, KEY)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "vkey",
    [
        "",
        WITNESS.vkey.replace("+", "-", 1),
        WITNESS.vkey[:-4],
        WITNESS.vkey.replace(NAME, "else"),
        WITNESS.vkey.replace(NAME, "two words"),
        SIGNER.vkey,
        f"{WITNESS.vkey}!",
    ],
)
def test_a_key_of_another_form_or_type_is_refused(vkey: str) -> None:
    with pytest.raises(Refused):
        WitnessKey.parse(vkey)
