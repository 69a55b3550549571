"""Timestamps of checkpoints by an RFC 3161 authority: asked for, kept, carried, and checked offline.

The authority is a real server on loopback. Where OpenSSL is installed, it is one of OpenSSL, and OpenSSL checks what
ours stamped.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

import muniment
from muniment.errors import EvidenceRefused, InvalidInput, TimestampUnavailable
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.evidence import timestamps, verifier
from muniment.governance.views import View
from muniment.runtime.open import open_without_key
from muniment.runtime.settings import set_timestamp_url
from muniment.space.options import Options
from tests.evidence.authorities import ANY_CA, NOW, STAMPS, Authority, Certified, Purposes, certified, der, oid, served
from tests.worlds import FileWorld, World, key_of

LONG = (-10, 30)
ROOT = certified("root", basic=ANY_CA, years=LONG)
MIDDLE = certified("middle", ROOT, basic=x509.BasicConstraints(ca=True, path_length=0), years=LONG)
SIGNER = certified("signer", MIDDLE, purposes=STAMPS)
ELSEWHERE = certified("elsewhere", basic=ANY_CA, years=LONG)
TIME = "2026-06-15 12:00:00.000Z"


def authority() -> Authority:
    return Authority(SIGNER, [MIDDLE])


def stamped(world: World, answering: Authority | None = None) -> str:
    """Have the head stamped; return the note."""
    with served(answering or authority()) as url:
        return world.runtime.evidence.checkpoint(url).note


def checked(world: World, data: bytes, trusted: Certified = ROOT) -> verifier.ProvedEvidence:
    vkey = world.runtime.evidence.checkpoint().vkey
    return verifier.verify_evidence(io.BytesIO(data), vkey, verifier.read_authorities(trusted.pem.encode()))


# --- asking -----------------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_stamped_when_somebody_asks_and_keeps_its_stamp(lasting: FileWorld) -> None:
    """In the log and at the pin, over a reopening; the note is still a checkpoint for those who know no timestamps."""
    lasting.with_turns(2)
    note = stamped(lasting)
    report = lasting.runtime.evidence.checkpoint()
    assert report.note == note
    assert [(stamp.time, stamp.checked, stamp.size) for stamp in report.timestamps] == [(TIME, False, report.size)]
    assert verifier.open_checkpoint(note, verifier.VerifierKey.parse(report.vkey)).size == report.size
    lasting.reopened()
    assert lasting.runtime.evidence.checkpoint().note == note
    (pin,) = lasting.home.glob("pins/*.checkpoint")
    assert pin.read_text() == note
    assert not lasting.runtime.evidence.inspect().fail_closed


def test_nothing_asks_an_authority_unless_it_was_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the setting alone: commits, exports, proofs, erasures and closing never do."""
    answering = authority()
    with served(answering) as url:
        monkeypatch.setenv("MUNIMENT_TIMESTAMP_URL", url)
        with muniment.open("memory:") as runtime:
            assert set_timestamp_url() == url
            runtime.conversations.list_()
            assert answering.asked == 0
            assert runtime.evidence.checkpoint().timestamps
            assert answering.asked == 1
        with muniment.open("memory:", options=Options(timestamp_url=None)) as runtime:
            assert not runtime.evidence.checkpoint().timestamps
        world.with_turns(1).erased(1)
        world.runtime.evidence.export(key_of())
        world.runtime.evidence.checkpoint()
        world.close()
    assert answering.asked == 1


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"status": 2}, "timestamp_refused"),
        ({"nonce_added": 1}, "timestamp_nonce"),
        ({"imprint": hashlib.sha256(b"another checkpoint").digest()}, "timestamp_of_other"),
    ],
)
def test_a_wrong_answer_is_not_kept(world: World, wrong: dict[str, object], problem: str) -> None:
    world.with_turns(1)
    answering = authority()
    for name, value in wrong.items():
        setattr(answering, name, value)
    with pytest.raises(TimestampUnavailable) as refused:
        stamped(world, answering)
    assert refused.value.problem == problem
    assert not world.runtime.evidence.checkpoint().timestamps


def test_an_authority_that_does_not_answer_is_said_to(world: World) -> None:
    """An error status, a redirect, an endless answer, nobody there, an address that is none."""
    world.with_turns(1)
    for code, added, problem in ((500, 0, "status"), (302, 0, "status"), (200, 300_000, "too_large")):
        with served(authority(), code, added) as url, pytest.raises(TimestampUnavailable) as refused:
            world.runtime.evidence.checkpoint(url)
        assert refused.value.problem == problem
    with served(authority()) as gone:
        pass
    with pytest.raises(TimestampUnavailable) as refused:
        world.runtime.evidence.checkpoint(gone)
    assert refused.value.problem == "no_answer"
    for wrong in ("file:///etc/passwd", "ftp://host/x", "nonsense", "http://", "http://user@host/", "http://[x/"):
        with pytest.raises(InvalidInput) as invalid:
            world.runtime.evidence.checkpoint(wrong)
        assert invalid.value.problem == "not_allowed"
    assert not world.runtime.evidence.checkpoint().timestamps


@pytest.mark.parametrize("answer", [b"", b"\x30\x00", b"\x30\x80\x00\x00", b"\x30\x05\x30\x03\x02\x01\x00", b"x" * 99])
def test_garbage_is_no_timestamp(world: World, answer: bytes) -> None:
    note = world.with_turns(1).runtime.evidence.checkpoint().note
    with pytest.raises(verifier.Refused):
        timestamps.stamped(note, answer, bytes(8))


# --- checking ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trusted", [ROOT, MIDDLE, SIGNER])
def test_a_receipt_carries_the_first_stamp_over_its_turn(world: World, trusted: Certified) -> None:
    """Although the log has grown since, and with any certificate of the chain."""
    world.with_turns(2)
    size = verifier.parse_checkpoint(verifier.parse_note(stamped(world)).text).size
    world.with_turns(2)
    proof = world.runtime.evidence.prove(key_of(), TurnId("turn-2"))
    assert proof.summary["size"] == size
    evidence = checked(world, proof.text.encode(), trusted)
    (stamp,) = evidence.timestamps
    assert (stamp.time, stamp.checked, stamp.authority, stamp.size) == (TIME, True, "CN=signer", size)
    unchecked = world.runtime.evidence.verify(proof.text.encode(), str(proof.summary["vkey"]))
    assert [one.checked for one in unchecked.timestamps] == [False]
    later = world.runtime.evidence.prove(key_of(), TurnId("turn-4")).text.encode()
    with pytest.raises(verifier.Refused, match="timestamp_missing"):
        checked(world, later)


@pytest.mark.parametrize("form", ["jsonl", "html"])
def test_an_export_carries_the_stamp_of_an_earlier_checkpoint(world: World, form: str) -> None:
    """With a proof that the log grew from it; a certified export is newer than any stamp."""
    from muniment.operations.evidence.proof_document import EvidenceFormat

    world.with_turns(2)
    stamped(world)
    world.with_turns(1)
    text = world.runtime.evidence.export(key_of(), View.EXPORT, format=EvidenceFormat(form)).text
    evidence = checked(world, text.encode())
    assert [(stamp.checked, stamp.size) for stamp in evidence.timestamps] == [(True, 4)]
    vkey = world.runtime.evidence.checkpoint().vkey
    report = world.runtime.evidence.verify(text.encode(), vkey, timestamp_certificate=ROOT.pem)
    assert report.timestamps[0].authority == "CN=signer"
    with pytest.raises(EvidenceRefused) as refused:
        world.runtime.evidence.verify(text.encode(), vkey, timestamp_certificate=ELSEWHERE.pem)
    assert refused.value.problem == "timestamp_authority"
    with pytest.raises(EvidenceRefused):
        world.runtime.evidence.verify(text.encode(), vkey, timestamp_certificate="no certificate")


def test_an_earlier_checkpoint_of_another_log_or_without_proof_is_refused(world: World) -> None:
    world.with_turns(2)
    stamped(world)
    world.with_turns(1)
    lines = world.runtime.evidence.export(key_of()).text.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith('{"earlier"'))
    vkey = world.runtime.evidence.checkpoint().vkey
    short = lines[at].partition('"consistency":')[0] + '"consistency":[]}}\n'
    twice = [*lines[: at + 1], lines[at], *lines[at + 1 :]]
    for forged in ([*lines[:at], short, *lines[at + 1 :]], twice, [*lines[: at - 1], lines[at], *lines[at + 1 :]]):
        with pytest.raises(verifier.Refused):
            verifier.verify_evidence(io.BytesIO("".join(forged).encode()), vkey)


def test_an_erasure_certificate_carries_the_stamp(world: World) -> None:
    world.with_turns(2)
    position = world.request(Transition.ERASE, 1).position
    assert position is not None
    stamped(world)
    evidence = checked(world, world.runtime.lifecycle.certificate(position).text.encode())
    assert [stamp.checked for stamp in evidence.timestamps] == [True]


def with_token(note: str, token: bytes) -> str:
    line = base64.b64encode(verifier.TIMESTAMP_KEY_ID + token).decode()
    return f"{note}\N{EM DASH} {verifier.TIMESTAMP_NAME} {line}\n"


def judged(note: str, token: bytes, trusted: Certified = ROOT) -> str:
    """Return the code of the refusal of a token, or `checked`."""
    authorities = verifier.read_authorities(trusted.pem.encode())
    try:
        (stamp,) = verifier.timestamps_of([with_token(note, token)], authorities)
    except verifier.Refused as refused:
        return refused.code
    return "checked" if stamp.checked else "not checked"


def signed_by(signer: Certified, *chain: Certified) -> Authority:
    return Authority(signer, list(chain))


NEVER = Purposes([ExtendedKeyUsageOID.CODE_SIGNING])
ATTACKS: dict[str, tuple[Authority, str]] = {
    "as it should be": (authority(), "checked"),
    "with RSA": (
        signed_by(certified("rsa", ROOT, purposes=STAMPS, key=rsa.generate_private_key(65537, 2048))),
        "checked",
    ),
    "a certificate for something else": (
        signed_by(certified("signer", ROOT, purposes=NEVER)),
        "timestamp_certificate",
    ),
    "a certificate for anything": (signed_by(certified("signer", ROOT)), "timestamp_certificate"),
    "a certificate for more than stamps": (
        signed_by(certified("signer", ROOT, purposes=Purposes(STAMPS.names + NEVER.names))),
        "timestamp_certificate",
    ),
    "a purpose that is not critical": (
        signed_by(certified("signer", ROOT, purposes=Purposes(STAMPS.names, critical=False))),
        "timestamp_certificate",
    ),
    "an expired certificate": (
        signed_by(certified("signer", ROOT, purposes=STAMPS, years=(-2, -1))),
        "timestamp_certificate",
    ),
    "issued by somebody else": (signed_by(certified("signer", ELSEWHERE, purposes=STAMPS)), "timestamp_authority"),
    "issued by one who may not": (
        signed_by(
            certified("signer", leaf := certified("leaf", ROOT), purposes=STAMPS),
            leaf,
        ),
        "timestamp_authority",
    ),
    "a chain that is too long": (
        signed_by(
            certified("signer", below := certified("below", MIDDLE, basic=ANY_CA), purposes=STAMPS),
            below,
            MIDDLE,
        ),
        "timestamp_authority",
    ),
}


def long_chain(links: int) -> Authority:
    """Return an authority whose signer is many certificates below the root."""
    chain = [ROOT]
    for number in range(links):
        chain.append(certified(f"link {number}", chain[-1], basic=ANY_CA))
    return Authority(certified("signer", chain[-1], purposes=STAMPS), chain[:0:-1])


def odd(**how: object) -> Authority:
    """Return an authority whose tokens are made in another way."""
    made = authority()
    for name, value in how.items():
        setattr(made, name, value)
    return made


ATTACKS |= {
    "with Ed25519": (
        Authority(certified("signer", ROOT, purposes=STAMPS, key=ed25519.Ed25519PrivateKey.generate())),
        "checked",
    ),
    "with a kind of key that is not read": (
        Authority(certified("signer", ROOT, purposes=STAMPS, key=ed448.Ed448PrivateKey.generate())),
        "timestamp_algorithm",
    ),
    "an extension that nobody reads": (
        Authority(certified("signer", ROOT, purposes=Purposes(STAMPS.names, more=(x509.OCSPNoCheck(),)))),
        "timestamp_certificate",
    ),
    "a chain of many links": (long_chain(9), "timestamp_authority"),
    "another version": (odd(version=2), "timestamp_malformed"),
    "a time of another form": (odd(time_text="20260615120000+0200"), "timestamp_malformed"),
    "a time that is none": (odd(time_text="20261399120000Z"), "timestamp_malformed"),
    "a fraction of a second": (odd(time_text="20260615120000.25Z"), "checked"),
    "an attribute twice": (
        odd(attributes_added=[der(0x30, oid("1.2.840.113549.1.9.3"), der(0x31, oid("1.2.3")))]),
        "timestamp_malformed",
    ),
    "an algorithm that is not read": (odd(scheme="1.2.840.113549.1.1.10"), "timestamp_algorithm"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_token_counts_only_from_one_who_may_stamp(world: World, attack: str) -> None:
    note = world.with_turns(1).runtime.evidence.checkpoint().note
    digest = hashlib.sha256(verifier.parse_note(note).text.encode()).digest()
    answering, expected = ATTACKS[attack]
    assert judged(note, answering.token(digest)) == expected


def test_a_token_that_was_changed_proves_nothing(world: World) -> None:
    """Another checkpoint, another time, another signer than it names, any byte of what is signed."""
    note = world.with_turns(1).runtime.evidence.checkpoint().note
    digest = hashlib.sha256(verifier.parse_note(note).text.encode()).digest()
    other = authority().token(hashlib.sha256(b"other").digest())
    assert judged(note, other) == "timestamp_of_other"
    with pytest.raises(verifier.Refused, match="timestamp_of_other"):
        verifier.timestamps_of([with_token(note, other)], None)
    moved, unnamed = authority(), authority()
    moved.info_changed = True
    unnamed.names_signer = False
    assert judged(note, moved.token(digest)) == "timestamp_signature"
    assert judged(note, unnamed.token(digest)) == "timestamp_certificate"
    token = authority().token(digest)
    for at in range(0, len(token), 11):
        assert judged(note, token[:at] + bytes([token[at] ^ 1]) + token[at + 1 :]) != "not checked"
    start = token.index(b"20260615")
    for at in (start, start + 13, len(token) - 5):
        assert judged(note, token[:at] + bytes([token[at] ^ 1]) + token[at + 1 :]) != "checked"
    for end in range(1, len(token), 13):
        assert judged(note, token[:end]) == "timestamp_malformed"


def test_one_stamp_that_is_trusted_is_enough(world: World) -> None:
    """Of several authorities the reader trusts one; the others stay unchecked and do no harm."""
    note = world.with_turns(1).runtime.evidence.checkpoint().note
    digest = hashlib.sha256(verifier.parse_note(note).text.encode()).digest()
    unknown = signed_by(certified("else", ELSEWHERE, purposes=STAMPS)).token(digest)
    both = with_token(with_token(note, unknown), authority().token(digest))
    stamps = verifier.timestamps_of([both], [ROOT.certificate])
    assert [stamp.checked for stamp in stamps] == [False, True]


# --- with OpenSSL -----------------------------------------------------------------------------------------------------

OPENSSL = shutil.which("openssl")
CONFIG = """
[tsa]
default_tsa = own
[own]
serial = {home}/serial
signer_cert = {home}/signer.pem
certs = {home}/chain.pem
signer_key = {home}/signer.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
ess_cert_id_alg = {names}
"""


class OpensslAuthority(Authority):
    """The authority of OpenSSL."""

    def __init__(self, home: Path, names: str) -> None:
        super().__init__(certified("openssl", MIDDLE, purposes=STAMPS, years=LONG))
        self.home = home
        (home / "signer.key").write_bytes(
            self.signer.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )
        (home / "signer.pem").write_text(self.signer.pem)
        (home / "chain.pem").write_text(MIDDLE.pem)
        (home / "serial").write_text("01\n")
        (home / "tsa.cnf").write_text(CONFIG.format(home=home, names=names))

    def answer(self, request: bytes) -> bytes:
        """Let OpenSSL answer."""
        (self.home / "query").write_bytes(request)
        run(self.home, "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-out", "reply")
        return (self.home / "reply").read_bytes()


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert OPENSSL is not None
    return subprocess.run([OPENSSL, *arguments], cwd=home, check=False, capture_output=True, text=True)


@pytest.mark.skipif(OPENSSL is None, reason="OpenSSL is not installed")
@pytest.mark.parametrize("names", ["sha1", "sha256"])
def test_the_authority_of_openssl_stamps_what_the_verifier_checks(world: World, tmp_path: Path, names: str) -> None:
    """Both ways: we check its tokens, and it checks what we kept of them."""
    world.with_turns(2)
    note = stamped(world, OpensslAuthority(tmp_path, names))
    proof = world.runtime.evidence.prove(key_of(), TurnId("turn-1")).text.encode()
    with pytest.raises(verifier.Refused, match="timestamp_authority"):
        checked(world, proof, ELSEWHERE)
    assert checked(world, proof).timestamps[0].authority == "CN=openssl"
    parsed = verifier.parse_note(note)
    (token,) = verifier.tokens_of(parsed)
    (tmp_path / "token").write_bytes(token)
    (tmp_path / "text").write_text(parsed.text)
    (tmp_path / "root.pem").write_text(ROOT.pem)
    query = ("ts", "-verify", "-in", "token", "-token_in", "-data", "text", "-CAfile", "root.pem")
    moment = ("-attime", str(int(NOW.timestamp())))
    done = run(tmp_path, *query, "-untrusted", "chain.pem", *moment)
    assert "Verification: OK" in done.stdout + done.stderr


# --- audits -----------------------------------------------------------------------------------------------------------


def test_an_audit_checks_the_stamps_of_its_checkpoints(lasting: FileWorld) -> None:
    """Keyless: with the certificate of the authority, the time needs no trust in the operator."""
    lasting.with_turns(1)
    stamped(lasting)
    lasting.with_turns(1)
    with open_without_key(lasting.store) as third_party:
        (unchecked,) = third_party.evidence.audit().spaces[0].timestamps
        (stamp,) = third_party.evidence.audit(timestamp_certificate=ROOT.pem).spaces[0].timestamps
        with pytest.raises(EvidenceRefused):
            third_party.evidence.audit(timestamp_certificate=ELSEWHERE.pem)
    assert (unchecked.checked, stamp.checked, stamp.time) == (False, True, TIME)
