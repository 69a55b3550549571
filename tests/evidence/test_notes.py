"""Signed notes and checkpoints: what we sign is read back, and nothing else is."""

from __future__ import annotations

import base64
import pickle
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.evidence.notes import Signer, origin_of
from muniment.evidence.verifier import (
    EMPTY_ROOT,
    NOTE_BYTES_MAX,
    NOTE_SIGNATURES_MAX,
    Checkpoint,
    Refused,
    VerifierKey,
    is_key_name,
    open_checkpoint,
    open_note,
    parse_checkpoint,
    parse_note,
)

SEED = bytes(range(32))
LOG = "AAECAwQFBgcICQoLDA0ODw"
SIGNER = Signer(origin_of(LOG), SEED)
OTHER = Signer("witness.example/w", bytes(32))
lines = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)
texts = st.lists(lines | st.just(""), min_size=1).map("\n".join).map(lambda text: text + "\n")


def checkpoint(size: int = 3, root: bytes = bytes(32)) -> str:
    return SIGNER.sign_checkpoint(origin_of(LOG), size, root)


@given(texts)
def test_a_signed_text_is_read_back(text: str) -> None:
    """open_note(sign_note(text)) == text, for any text of lines, blank ones included."""
    note = SIGNER.sign_note(text)
    assert open_note(note, [SIGNER.key]) == (text, (SIGNER.key,))
    assert parse_note(note).text == text


@given(st.integers(1, 2**53 - 1), st.binary(min_size=32, max_size=32), st.lists(lines, max_size=3))
def test_a_signed_checkpoint_is_read_back(size: int, root: bytes, extensions: list[str]) -> None:
    """open_checkpoint(sign_checkpoint(c)) == c."""
    note = SIGNER.sign_checkpoint(origin_of(LOG), size, root, extensions)
    assert open_checkpoint(note, VerifierKey.parse(SIGNER.vkey)) == Checkpoint(
        origin=origin_of(LOG), size=size, root=root, extensions=tuple(extensions)
    )


@given(st.data())
def test_a_note_with_any_changed_byte_is_refused(data: st.DataObject) -> None:
    """There is one spelling of a note under one key."""
    raw = checkpoint().encode()
    at = data.draw(st.integers(0, len(raw) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[at]))
    changed = raw[:at] + bytes([new]) + raw[at + 1 :]
    with pytest.raises(Refused):
        open_checkpoint(changed.decode(errors="surrogateescape"), SIGNER.key)


def cosigned(*signers: Signer) -> str:
    note = checkpoint()
    text = parse_note(note).text
    return note + "".join(signer.sign_note(text).partition("\n\n")[2] for signer in signers)


def test_a_cosigned_checkpoint_opens_for_those_who_know_any_of_its_keys() -> None:
    note = cosigned(OTHER)
    assert open_note(note, [SIGNER.key])[1] == (SIGNER.key,)
    assert open_note(note, [OTHER.key])[1] == (OTHER.key,)
    assert open_note(note, [OTHER.key, SIGNER.key])[1] == (SIGNER.key, OTHER.key)
    with pytest.raises(Refused, match="signature_missing"):
        open_note(note, [Signer("somebody.example", bytes(32)).key])


def test_a_bad_signature_of_a_known_key_spoils_a_note_that_another_signed() -> None:
    bad = base64.b64encode(OTHER.key.key_id + bytes(64)).decode()
    note = checkpoint() + f"\N{EM DASH} {OTHER.key.name} {bad}\n"
    assert open_note(note, [SIGNER.key])[1] == (SIGNER.key,)
    with pytest.raises(Refused, match="signature"):
        open_note(note, [SIGNER.key, OTHER.key])


def test_a_second_signature_of_the_same_key_is_passed_over() -> None:
    assert open_note(cosigned(SIGNER), [SIGNER.key])[1] == (SIGNER.key,)


def test_a_note_may_have_many_signatures_and_not_more() -> None:
    assert open_note(cosigned(*[OTHER] * (NOTE_SIGNATURES_MAX - 1)), [SIGNER.key])
    with pytest.raises(Refused, match="note_malformed"):
        open_note(cosigned(*[OTHER] * NOTE_SIGNATURES_MAX), [SIGNER.key])


def test_a_note_beyond_its_size_is_refused() -> None:
    with pytest.raises(Refused, match="note_malformed"):
        open_note(SIGNER.sign_note("x" * NOTE_BYTES_MAX + "\n"), [SIGNER.key])


@pytest.mark.parametrize(
    "note",
    [
        "", "\n", "\n\n", "text\n\n", "text\n\nx\n", "text\n\n\N{EM DASH} name\n", "text\n\n\N{EM DASH} name AAAA\n",
        "text\n\n\N{EM DASH} a+b AAAAAAA=\n", "text\n\n\N{EM DASH}  AAAAAAA=\n", "text\n\n- name AAAAAAA=\n",
        "a\tb\n\nx\n",
        "text\n\n\N{EM DASH} name AAAAAAB=\n", "text\n\n\N{EM DASH} name AAAAAAA=", "\ud800\n\nx\n",
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_note_is_refused(note: str) -> None:
    with pytest.raises(Refused, match="note_malformed"):
        parse_note(note)


@pytest.mark.parametrize(
    "text",
    [
        "o\n1\n", "o\n1\nAAAA\n", "\n1\n" + "A" * 43 + "=\n", "o\n01\n" + "A" * 43 + "=\n",
        "o\n-1\n" + "A" * 43 + "=\n",
        "o\n1\n" + "A" * 43 + "=", "o\n1\n" + "A" * 43 + "=\n\nx\n", "o\n0\n" + "A" * 43 + "=\n",
        "o\n9999999999999999999\n" + "A" * 43 + "=\n", "o\n\N{ARABIC-INDIC DIGIT ONE}\n" + "A" * 43 + "=\n",
        "o\n1\n?\n",
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="checkpoint_malformed"):
        parse_checkpoint(text)


def test_the_empty_tree_has_a_checkpoint_too() -> None:
    assert open_checkpoint(checkpoint(0, EMPTY_ROOT), SIGNER.key).size == 0


def test_a_log_cannot_sign_for_another_origin() -> None:
    with pytest.raises(Refused, match="origin"):
        open_checkpoint(SIGNER.sign_checkpoint("muniment/other", 3, bytes(32)), SIGNER.key)


@pytest.mark.parametrize(
    "vkey",
    [
        "", "name", "name+00000000", "+00000000+AAAA", f"{SIGNER.vkey}=", SIGNER.vkey[:-4], SIGNER.vkey.upper(),
        SIGNER.vkey.replace("muniment", "muniments"), "a b+00000000+AQ==", f"\n{SIGNER.vkey}",
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_key_is_refused(vkey: str) -> None:
    with pytest.raises(Refused, match="key_malformed"):
        VerifierKey.parse(vkey)


def test_a_key_of_another_algorithm_is_refused_even_under_the_right_hash() -> None:
    other = base64.b64encode(b"\x02" + SIGNER.key.public).decode()
    with pytest.raises(Refused, match="key_malformed"):
        VerifierKey.parse(f"{SIGNER.key.name}+{SIGNER.key.key_id.hex()}+{other}")


@pytest.mark.parametrize(("name", "size"), [("", 32), ("a b", 32), ("a+b", 32), ("name", 31), ("name", 33)])
def test_a_key_has_a_name_without_spaces_and_32_bytes(name: str, size: int) -> None:
    with pytest.raises(Refused, match="key_malformed"):
        VerifierKey.of(name, bytes(size))


def test_a_key_that_is_no_point_verifies_nothing() -> None:
    key = VerifierKey.of("name", b"\x02" + b"\xff" * 31)
    with pytest.raises(Refused, match="signature"):
        key.verify(b"", bytes(64))


def test_a_signer_keeps_its_secret() -> None:
    secrets = (SEED.hex(), base64.b64encode(SEED).decode(), repr(SEED))
    with pytest.raises(TypeError) as refused:
        pickle.dumps(SIGNER)
    told = repr(SIGNER) + str(SIGNER) + "".join(traceback.format_exception(refused.value)) + SIGNER.vkey
    assert not any(secret in told for secret in secrets)


@pytest.mark.parametrize("text", ["no newline", "tab\there\n"])
def test_a_text_that_cannot_be_a_note_is_a_bug(text: str) -> None:
    with pytest.raises(AssertionError):
        SIGNER.sign_note(text)


def test_an_origin_is_a_url_without_its_scheme_and_names_a_key() -> None:
    """C2SP tlog-checkpoint: a domain and a path; C2SP signed-note: no spaces and no plus in the name of a key."""
    domain, _, path = origin_of(LOG).partition("/")
    assert (domain, path) == ("muniment.example", LOG)
    assert is_key_name(origin_of(LOG))
    assert is_key_name(f"{origin_of(LOG)}/{LOG}")
