"""Signing keys that follow one another: what each may sign, and what evidence says of it."""

from __future__ import annotations

import io
import json

import pytest

from muniment.evidence import verifier
from muniment.evidence.bundle import AnnouncedSigner
from muniment.evidence.notes import Signer, origin_of
from muniment.evidence.verifier import Refused, Succession, open_announcement, verify_evidence
from muniment.kernel.canonical import encode
from tests.evidence.logs import Log

LIFE, OTHER_LIFE = "AAECAwQFBgcICQoLDA0ODw", "DwABAgMEBQYHCAkKCwwNDg"


def told(seed: str = "succession") -> tuple[Log, int]:
    log = Log(seed)
    return log, log.converse(["one", "two"])


def proved(lines: list[bytes], key: str) -> verifier.ProvedEvidence:
    return verify_evidence(io.BytesIO(b"".join(lines)), key)


def refusal(lines: list[bytes], key: str) -> str:
    with pytest.raises(Refused) as refused:
        proved(lines, key)
    return refused.value.code


def test_every_key_of_a_log_verifies_what_the_last_one_signs() -> None:
    log, stream = told()
    keys = [log.signer.vkey, *(log.succeeded(life).signer.vkey for life in (None, LIFE, None))]
    evidence = [proved(log.export(stream), key) for key in keys]
    assert all(one == evidence[0] for one in evidence)
    assert (evidence[0].origin, evidence[0].key_version) == (origin_of(log.id, LIFE), 4)
    assert evidence[0].key == log.signer.key.key_id.hex()
    assert [(signer.version, signer.life) for signer in evidence[0].signers] == [(2, False), (3, True), (4, False)]
    lines = "\n".join(verifier.lines_of(evidence[0]))
    assert "signed by" in lines
    assert "restored from a backup" in lines
    assert {verify_evidence(io.BytesIO(log.receipt(stream)), key).key_version for key in keys} == {4}


def test_a_replaced_key_signs_nothing_behind_its_successor() -> None:
    """Whoever stole it signs on; evidence that says who succeeded it refuses that."""
    log, stream = told()
    stolen = log.signer
    log.succeeded()
    keys = Succession(stolen.key, log.announced)
    before = stolen.sign_checkpoint(stolen.key.name, log.size - 1, log.rows.frontier.root())
    assert keys.open(before).size == log.size - 1
    behind = stolen.sign_checkpoint(stolen.key.name, log.size, log.rows.frontier.root())
    with pytest.raises(Refused, match="signer_replaced"):
        keys.open(behind)
    lines = [
        *log.export(stream)[:-1],
        json.dumps({"checkpoint": behind}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n",
    ]
    assert refusal(lines, stolen.vkey) == "signer_replaced"


def test_two_lives_are_never_taken_for_one_log() -> None:
    """A log and its backup go on with different turns: each key proves its own life and refuses the other."""
    living, stream = told()
    restored, _ = told()
    first = living.signer
    restored.succeeded(LIFE)
    living.append("turn.committed", stream, {"message/0/content/0": {"text": "here"}})
    restored.append("turn.committed", stream, {"message/0/content/0": {"text": "there"}})
    here, there = living.export(stream), restored.export(stream)
    assert proved(here, first.vkey).origin == origin_of(living.id)
    assert proved(there, first.vkey).origin == proved(there, restored.signer.vkey).origin == origin_of(living.id, LIFE)
    assert refusal(here, restored.signer.vkey) == "other_life"
    keys = Succession(first.key, restored.announced)
    with pytest.raises(Refused, match="other_life"):
        keys.open(living.checkpoint())
    another = told()[0].succeeded(OTHER_LIFE)
    with pytest.raises(Refused, match="other_life"):
        keys.open(another.checkpoint())
    assert refusal(another.export(stream), restored.signer.vkey) == "signer"


def test_what_is_no_announcement_is_refused() -> None:
    log, stream = told()
    before, new = log.signer, Signer(log.signer.key.name, bytes(32))
    empty, elsewhere = Log("empty"), Signer(origin_of(LIFE), bytes(32))
    note, root = log.announcement(new.key), log.rows.frontier.root()
    line = verifier.signer_line(2, before.key, new.key)
    forged = new.sign_checkpoint(before.key.name, log.size, root, [line])
    malformed = ["signer 2", line.replace("signer 2", "signer x"), line.replace("signer", "other")]
    nothing = before.sign_checkpoint(before.key.name, 0, verifier.EMPTY_ROOT, [line])
    for bad, code in (
        (log.checkpoint(), "signer_malformed"),
        *((before.sign_checkpoint(before.key.name, log.size, root, [bad]), "signer_malformed") for bad in malformed),
        (forged, "signature_missing"),
        (nothing, "signer"),
        (log.announcement(before.key), "signer"),
        (log.announcement(elsewhere.key), "signer"),
    ):
        with pytest.raises(Refused) as refused:
            open_announcement(bad)
        assert refused.value.code == code
    for keys, bad in (
        (Succession(before.key), log.announcement(new.key, version=3)),
        (Succession(empty.signer.key), note),
        (Succession(before.key, [note]), note),
    ):
        with pytest.raises(Refused, match="signer"):
            keys.announce(bad)
    log.succeeded()
    assert refusal(log.export(stream), elsewhere.vkey) == "origin"
    assert refusal(log.export(stream), Signer("witness.example/w", bytes(32)).vkey) == "origin"


def test_the_lines_of_announcements_have_one_form() -> None:
    log, stream = told()
    key = log.signer.vkey
    lines = log.succeeded().export(stream)
    (at,) = [place for place, line in enumerate(lines) if line.startswith(b'{"signer"')]
    signer = json.loads(lines[at])["signer"]
    malformed: tuple[dict[str, object], ...] = (
        {"signer": []},
        {"signer": {**signer, "more": 1}},
        {"signer": {**signer, "announcement": 1}},
        {"signer": {**signer, "consistency": "x"}},
        {"signer": signer, "trail": 1},
    )
    for bad in malformed:
        line = encode(bad) + b"\n"
        assert refusal([*lines[:at], line, *lines[at + 1 :]], key) == "signer_malformed"
    assert refusal([*lines[: at + 1], lines[1], *lines[at + 1 :]], key) == "order"
    assert refusal([*lines[:at], *lines[at + 1 :]], key) == "signature_missing"
    short = AnnouncedSigner(note=signer["announcement"], consistency=[]).line() + b"\n"
    assert refusal([*lines[:at], short, *lines[at + 1 :]], key) == "consistency"
    other = lines[0].replace(f'"{origin_of(log.id)}"'.encode(), f'"{origin_of(log.id, LIFE)}"'.encode())
    assert refusal([other, *lines[1:]], key) == "origin"


def test_a_checkpoint_names_the_key_that_signed_it() -> None:
    """The key of another life of the succession does not sign for the origin that the checkpoint has."""
    log, _ = told()
    first = log.signer
    log.succeeded(LIFE)
    keys = Succession(first.key, log.announced)
    foreign = first.sign_checkpoint("witness.example/w", 1, bytes(32))
    with pytest.raises(Refused, match="origin"):
        keys.open(foreign)
    with pytest.raises(Refused, match="signature_missing"):
        keys.open(first.sign_checkpoint(origin_of(log.id, LIFE), 1, bytes(32)))
