"""Cosignatures: a witness elsewhere has seen that the log only grew (C2SP tlog-witness and tlog-cosignature).

A witness keeps the last checkpoint of each log that it saw, and signs a newer one only with a proof that the log grew
from it. Its cosignature (Ed25519, `cosignature/v1`) is one more signature line of the note, so that it is wherever the
checkpoint is: in the log, at the pins, in receipts and exports. Who does not know the witness ignores the line.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct

from muniment.evidence.verifier import Note, Refused, Signature, VerifierKey, is_key_name, parse_checkpoint, parse_note

COSIGNATURE = b"\x04"  # the type of a key that cosigns with Ed25519
PUBLIC_BYTES = 32
TIME_BYTES = 8


class HttpWitness(Struct, frozen=True, kw_only=True):
    """A witness: the URL that its requests begin with, and its public key (`name+hash+base64`)."""

    url: str
    vkey: str


class Cosigned(Struct, frozen=True, kw_only=True):
    """A cosignature that was verified: whose, and when it was made by the word of the witness."""

    witness: str
    time_s: int


class WitnessKey(Struct, frozen=True, kw_only=True):
    """The public key of a witness."""

    name: str
    key_id: bytes
    public: bytes

    @classmethod
    def parse(cls, vkey: str) -> WitnessKey:
        """Return the key that is written as `name+hash+base64(0x04 ‖ public key)`; its hash must be right."""
        name, _, rest = vkey.partition("+")
        key_id, _, encoded = rest.partition("+")
        try:
            typed = base64.b64decode(encoded, validate=True)
        except ValueError:
            raise Refused("key_malformed") from None
        own = sha256(name.encode() + b"\n" + typed).digest()[:4]
        is_ours = typed[:1] == COSIGNATURE and len(typed) == 1 + PUBLIC_BYTES
        if not (is_ours and is_key_name(name) and name.isprintable() and own.hex() == key_id):
            raise Refused("key_malformed")
        return cls(name=name, key_id=own, public=typed[1:])

    def made(self, line: Signature) -> bool:
        """Tell whether a signature line says that it is of this key."""
        return (line.name, line.key_id) == (self.name, self.key_id)

    def cosigned(self, text: str, signature: bytes) -> Cosigned:
        """Prove that this witness cosigned the text of a checkpoint, and return when."""
        time_s = int.from_bytes(signature[:TIME_BYTES])
        message = f"cosignature/v1\ntime {time_s}\n{text}"
        key = VerifierKey(name=self.name, key_id=self.key_id, public=self.public)
        key.verify(message.encode(), signature[TIME_BYTES:])
        return Cosigned(witness=self.name, time_s=time_s)


def cosignatures_of(note: str, keys: Sequence[WitnessKey]) -> list[Cosigned]:
    """Return the cosignatures of a note by these witnesses; one that does not verify refuses the note."""
    parsed = parse_note(note)
    return [key.cosigned(parsed.text, line.signature) for line in parsed.signatures for key in keys if key.made(line)]


def add_checkpoint(note: str, old: int, proof: Sequence[bytes]) -> bytes:
    """Return the request for a cosignature: the size that the witness knows, the proof, the note of the log alone."""
    parsed = parse_note(note)
    origin = parse_checkpoint(parsed.text).origin
    own = [line for line in parsed.signatures if line.name == origin]
    lines = [f"old {old}", *(base64.b64encode(each).decode() for each in proof), "", ""]
    return "\n".join(lines).encode() + _written(parsed.text, own).encode()


def with_cosignature(note: str, answer: bytes, key: WitnessKey) -> str:
    """Return a note with what a witness answered, in place of its former cosignature, or raise `Refused`."""
    parsed = parse_note(note)
    added = [line for line in _answered(parsed, answer) if key.made(line)]
    if not added:
        raise Refused("signature_missing")
    for line in added:
        key.cosigned(parsed.text, line.signature)
    kept = [line for line in parsed.signatures if not key.made(line)]
    whole = _written(parsed.text, [*kept, added[0]])
    parse_note(whole)  # that it is not too large
    return whole


def _answered(parsed: Note, answer: bytes) -> Sequence[Signature]:
    try:
        return parse_note(f"{parsed.text}\n{answer.decode()}").signatures
    except UnicodeDecodeError:
        raise Refused("note_malformed") from None


def _written(text: str, lines: Sequence[Signature]) -> str:
    signed = (f"\N{EM DASH} {each.name} {base64.b64encode(each.key_id + each.signature).decode()}\n" for each in lines)
    return f"{text}\n{''.join(signed)}"
