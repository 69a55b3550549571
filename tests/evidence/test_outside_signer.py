"""Signers outside the store: what a program must answer, and what is said when it does not."""

from __future__ import annotations

import base64
import shlex
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from muniment.errors import SignerUnavailable, SignerWrong
from muniment.evidence.notes import Signer
from muniment.evidence.outside_signer import CheckedSigner, CommandSigner, open_signer
from muniment.evidence.verifier import VerifierKey, open_note

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key().public_bytes_raw()
KEY = VerifierKey.of("log.example/1", PUBLIC)
PROGRAM = """
import base64, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
answer = key.public_key().public_bytes_raw() if sys.argv[-1] == "public" else key.sign(sys.stdin.buffer.read())
print(base64.b64encode(answer).decode())
"""


def program(tmp_path: Path, text: str = PROGRAM) -> str:
    """Return the URI of a signer that is this program."""
    (tmp_path / "signer.py").write_text(text)
    return f"command:{shlex.join([sys.executable, str(tmp_path / 'signer.py')])}"


def test_a_program_signs_notes(tmp_path: Path) -> None:
    outside = open_signer(program(tmp_path))
    assert outside.public == PUBLIC
    signer = Signer(KEY.name, CheckedSigner(KEY, outside))
    note = signer.sign_note("words\n")
    assert open_note(note, [KEY]) == ("words\n", (KEY,))
    assert note == Signer(KEY.name, bytes(range(32))).sign_note("words\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise SystemExit(3)", "failed"),
        ("print('words, no base64')", "not_base64"),
        ("print('AAAA')", "not_base64"),
        ("print()", "not_base64"),
    ],
)
def test_a_program_that_does_not_answer_is_told(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SignerUnavailable) as refused:
        open_signer(program(tmp_path, text)).sign(b"note")
    assert refused.value.problem == problem


def test_a_program_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "signer.py").write_text("import sys; sys.stdin.read(); import threading; threading.Event().wait()")
    with pytest.raises(SignerUnavailable) as refused:
        CommandSigner([sys.executable, str(tmp_path / "signer.py")], timeout_s=0.2).sign(b"note")
    assert refused.value.problem == "timed_out"


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("command:/no/such/program", "cannot_be_run"),
        ("command:", "no_such_scheme"),
        ("command:'open", "no_such_scheme"),
        ("/a/path", "no_such_scheme"),
    ],
)
def test_what_names_no_program_is_told(uri: str, problem: str) -> None:
    with pytest.raises(SignerUnavailable) as refused:
        open_signer(uri).sign(b"note")
    assert refused.value.problem == problem


def test_a_signature_of_another_key_is_not_used(tmp_path: Path) -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    answer = base64.b64encode(other.sign(b"note")).decode()
    with pytest.raises(SignerWrong):
        CheckedSigner(KEY, open_signer(program(tmp_path, f"print('{answer}')"))).sign(b"note")
    with pytest.raises(SignerUnavailable, match="not named"):
        CheckedSigner(KEY, None).sign(b"note")
