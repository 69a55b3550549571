"""Write `fixtures/vectors/crypto`: what our byte layouts must be, worked out by hand.

Nothing of muniment is imported: the layouts are spelled out here a second time, from the primitives, so that the code
under test never computes what is expected of it. One vector a file; a vector that must be refused has exactly one
fault, and says which. Run `python -m tests.crypto.make_vectors` after a change of a format, and read the difference.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.cmac import CMAC
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tests.by_hand import DICTIONARY

FOLDER = Path(__file__).parents[2] / "fixtures" / "vectors" / "crypto"

Vector = dict[str, Any]


def made(word: str, size: int) -> bytes:
    """Return bytes that a reader can make again: SHAKE-128 of a word."""
    return hashlib.shake_128(word.encode()).digest(size)


LEAF, PLACE = made("leaf", 32), made("place", 24)
CONTENT_KEY = made("content key", 32)
SEGMENT_ID, SEGMENT_KEY = made("segment key id", 4), made("segment key", 32)
SPACE_KEY, ROOT = made("space key", 32), made("root key", 32)
SHORT = b"What was said is what is shown."
LONG = b"Nothing can be changed, removed, inserted or reordered unnoticed. " * 40


def b64(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def canonical(value: object) -> bytes:
    """Return canonical JSON of a value with ASCII keys and no floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def keyed(key: bytes, *parts: bytes) -> bytes:
    """Return HMAC-SHA-256 over length-prefixed parts."""
    return hmac.digest(key, b"".join(len(part).to_bytes(8, "big") + part for part in parts), "sha256")


# --- cells, envelopes, segment keys ----------------------------------------------------------------------------------


def cell(body: bytes, codec: int, leaf: bytes = LEAF, sealed_as: int | None = None) -> bytes:
    """Seal a body that is already encoded."""
    head = bytes((codec,))
    bound = head if sealed_as is None else bytes((sealed_as,))
    key = hmac.digest(CONTENT_KEY, b"muniment/cell" + leaf, "sha256")
    return head + AESGCM(key).encrypt(bytes(12), body, b"muniment/cell" + bound + leaf)


def cell_vector(sealed: bytes, plaintext: bytes | None, fault: str | None = None) -> Vector:
    """Describe a cell."""
    return {
        "what": "cell",
        "key": CONTENT_KEY.hex(),
        "salts": hmac.digest(CONTENT_KEY, b"muniment/salts", "sha256").hex(),
        "leaf": LEAF.hex(),
        "sealed": sealed.hex(),
        "plaintext": None if plaintext is None else plaintext.hex(),
        "fault": fault,
        "error": fault and "store.corrupt",
    }


META = b"what the event says"
HELD = b"\x01" + CONTENT_KEY + META


def envelope(held: bytes = HELD, segment: int = 3, leaf: bytes = LEAF, place: bytes = PLACE) -> bytes:
    """Seal what an envelope holds."""
    head = b"\x01" + SEGMENT_ID
    nonce = made("envelope nonce", 12)
    context = b"muniment/envelope" + head + segment.to_bytes(8, "big") + leaf + place
    return head + nonce + AESGCM(SEGMENT_KEY).encrypt(nonce, held, context)


def envelope_vector(sealed: bytes, fault: str | None = None, key: bytes | None = CONTENT_KEY) -> Vector:
    """Describe an envelope."""
    return {
        "what": "envelope",
        "segment": 3,
        "segment_key": (SEGMENT_ID + SEGMENT_KEY).hex(),
        "nonce": made("envelope nonce", 12).hex(),
        "leaf": LEAF.hex(),
        "place": PLACE.hex(),
        "sealed": sealed.hex(),
        "meta": META.hex(),
        "content_key": None if key is None else key.hex(),
        "fault": fault,
        "error": fault and "store.corrupt",
    }


SEGMENTS = [made("segment 128", 36), made("segment 129", 36), made("segment 130", 36)]


def segments(entries: bytes = b"".join(SEGMENTS), version: int = 3, row: int = 2) -> bytes:
    """Seal the entries of a row of segment keys."""
    head = b"\x01" + version.to_bytes(4, "big")
    nonce = made("segments nonce", 12)
    context = b"muniment/segments" + row.to_bytes(8, "big") + head
    return head + nonce + AESGCM(SPACE_KEY).encrypt(nonce, entries, context)


def segments_row(sealed: bytes, fault: str | None = None, error: str = "store.corrupt") -> Vector:
    """Describe a row of segment keys."""
    return {
        "what": "segments",
        "space_key": SPACE_KEY.hex(),
        "version": 3,
        "row": 2,
        "nonce": made("segments nonce", 12).hex(),
        "sealed": sealed.hex(),
        "keys": [entry.hex() for entry in SEGMENTS],
        "fault": fault,
        "error": fault and error,
    }


# --- the root key and the files ---------------------------------------------------------------------------------------


def hkdf(key: bytes, info: str, size: int) -> bytes:
    """Return HKDF-SHA-256 without salt."""
    return HKDF(algorithm=SHA256(), length=size, salt=None, info=info.encode()).derive(key)


def wrapped(secret: bytes, context: str, root: bytes = ROOT) -> bytes:
    """Wrap a secret by a root key."""
    head = b"\x01" + hkdf(root, "muniment/v1/root/id", 8)
    nonce = made(f"nonce of {context}", 12)
    cipher = AESGCM(hkdf(root, "muniment/v1/root/wrap", 32))
    return head + nonce + cipher.encrypt(nonce, secret, b"muniment/root" + head + context.encode())


def root_vector(sealed: bytes, fault: str | None = None, error: str = "store.corrupt") -> Vector:
    """Describe a secret wrapped by a root key."""
    return {
        "what": "root",
        "root": ROOT.hex(),
        "key_id": hkdf(ROOT, "muniment/v1/root/id", 8).hex(),
        "context": "somewhere",
        "secret": made("secret", 32).hex(),
        "wrapped": sealed.hex(),
        "fault": fault,
        "error": fault and error,
    }


def keys_file(change: Vector | None = None, after: Vector | None = None) -> Vector:
    """Describe a `keys.json`, with members changed before or after the MAC is made."""
    log, index_key = b64(made("log", 16)), made("index key", 32)

    def entry(secret: bytes, purpose: str, version: int = 0) -> str:
        return b64(wrapped(secret, f"{log}/{purpose}/{version}"))

    file = {
        "format": 1,
        "log": log,
        "root": hkdf(ROOT, "muniment/v1/root/id", 8).hex(),
        "name": entry("a näme".encode(), "name"),
        "signing": entry(made("signing seed", 32), "signing"),
        "index": entry(index_key, "index"),
        "space": [
            {"version": 3, "key": entry(SPACE_KEY, "space", 3)},
            {"version": 12, "key": entry(made("newer space key", 32), "space", 12)},
        ],
        "mac": "",
    } | (change or {})
    file["mac"] = b64(keyed(index_key, b"keys.json", canonical(file)))
    return {
        "what": "keys.json",
        "root": ROOT.hex(),
        "file": canonical(file | (after or {})).decode(),
        "log": log,
        "name": "a näme",
        "signing_seed": made("signing seed", 32).hex(),
        "index_key": index_key.hex(),
        "space": {"3": SPACE_KEY.hex(), "12": made("newer space key", 32).hex()},
    }


def store_file(change: Vector | None = None, after: Vector | None = None) -> Vector:
    """Describe a `store.json`."""
    store, index_key = b64(made("store", 16)), made("store index key", 32)
    entry = {
        "root": hkdf(ROOT, "muniment/v1/root/id", 8).hex(),
        "descriptor": {"scheme": "file"},
        "check": b64(wrapped(b"muniment key check", f"{store}/check/0")),
        "index": b64(wrapped(index_key, f"{store}/store-index/0")),
    }
    file = {"format": 1, "store": store, "doors": [entry], "mac": ""} | (change or {})
    file["mac"] = b64(keyed(index_key, b"store.json", canonical(file)))
    return {
        "what": "store.json",
        "root": ROOT.hex(),
        "file": canonical(file | (after or {})).decode(),
        "store": store,
        "name": "a näme",
        "directory": keyed(index_key, b"space", "a näme".encode())[:16].hex(),
    }


# --- cursors ----------------------------------------------------------------------------------------------------------


def aes_siv(key: bytes, associated: bytes, plaintext: bytes) -> bytes:
    """Seal a plaintext with one piece of associated data, as RFC 5297 says in its sections 2.3, 2.4 and 2.6."""

    def cmac(data: bytes) -> bytes:
        mac = CMAC(AES(key[: len(key) // 2]))
        mac.update(data)
        return mac.finalize()

    def doubled(block: bytes) -> bytes:
        value = int.from_bytes(block, "big") << 1
        return (value & (2**128 - 1) ^ (0x87 if value >> 128 else 0)).to_bytes(16, "big")

    def xor(one: bytes, other: bytes) -> bytes:
        return bytes(left ^ right for left, right in zip(one, other, strict=True))

    mixed = xor(doubled(cmac(bytes(16))), cmac(associated))
    if len(plaintext) >= 16:
        last = plaintext[:-16] + xor(plaintext[-16:], mixed)
    else:
        last = xor(doubled(mixed), plaintext + b"\x80" + bytes(15 - len(plaintext)))
    vector = cmac(last)
    start = (int.from_bytes(vector, "big") & ~(1 << 63 | 1 << 31)).to_bytes(16, "big")
    encryptor = Cipher(AES(key[len(key) // 2 :]), CTR(start)).encryptor()
    return vector + encryptor.update(plaintext) + encryptor.finalize()


BINDING = ["log", "", "mail", "größe"]
CURSOR_MARK: Vector = {"after": 7, "name": "a näme"}


def cursor(purpose: str = "page", binding: list[str] = BINDING, mark: Vector = CURSOR_MARK) -> str:
    """Return a cursor that carries a mark."""
    body = canonical(mark)
    parts = [part.encode() for part in ("cursor", purpose, *binding)]
    context = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    key = hkdf(made("index key", 32), "muniment/v1/cursor", 64)
    return "mc1." + b64(aes_siv(key, context, body + bytes(-len(body) % 32)))


def cursor_vectors() -> dict[str, Vector]:
    """Return the vectors of cursors."""
    text = cursor()
    good = {
        "what": "cursor",
        "index_key": made("index key", 32).hex(),
        "purpose": "page",
        "binding": BINDING,
        "mark": CURSOR_MARK,
        "cursor": text,
    }
    faults = {
        "purpose": ("issued for something else", cursor("pages")),
        "binding": ("issued for another channel", cursor(binding=["log", "", "chat", "größe"])),
        "binding_split": ("its binding is split elsewhere", cursor(binding=["log", "", "mailg", "röße"])),
        "binding_joined": ("its binding has a part less", cursor(binding=["log", "mail", "größe"])),
        "mark": ("the mark is of another kind", cursor(mark={"behind": 7})),
        "tag": ("its tag is another", "mc1." + ("B" if text[4] == "A" else "A") + text[5:]),
        "tag_alone": ("it carries nothing", text[:26]),
        "cut": ("its last three bytes are missing", text[:-4]),
        "prefix": ("its prefix is another", "mc2." + text[4:]),
        "no_prefix": ("it has no prefix", text[4:]),
        "padded": ("it is padded", text + "="),
        "blank": ("a blank follows", text + " "),
        "not_ascii": ("it ends with a letter that is not ASCII", text + "ü"),
        "empty": ("there is nothing", ""),
    }
    full = {"after": 2**53 - 1, "name": "x" * 30}
    found = {"cursor": accepted(good), "cursor_full": accepted(good | {"mark": full, "cursor": cursor(mark=full)})}
    for name, (fault, spoiled) in faults.items():
        found[f"cursor_{name}"] = refused(good | {"cursor": spoiled}, fault, "cursor.invalid")
    return found


def refused(vector: Vector, fault: str, error: str = "store.corrupt") -> Vector:
    """Say why a vector must be refused."""
    return vector | {"fault": fault, "error": error}


def accepted(vector: Vector) -> Vector:
    """Say that a vector must be accepted."""
    return vector | {"fault": None, "error": None}


def flipped(data: bytes, at: int) -> bytes:
    """Return data with one bit changed."""
    return data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]


def versions() -> list[Vector]:
    """Return the versions of the space key as they stand in a good `keys.json`."""
    space: list[Vector] = json.loads(keys_file()["file"])["space"]
    return space


def renamed() -> list[Vector]:
    """Return the same with the last one under another number."""
    return [versions()[0], versions()[1] | {"version": 13}]


def vectors() -> dict[str, Vector]:
    """Return every vector by the name of its file."""
    return cell_vectors() | envelope_vectors() | segments_vectors() | key_vectors() | cursor_vectors()


def deflated(plaintext: bytes) -> bytes:
    """Return a deflate stream without header and checksum, written against the dictionary."""
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=DICTIONARY)
    return deflater.compress(plaintext) + deflater.flush()


def cell_vectors() -> dict[str, Vector]:
    """Return the vectors of cells."""
    packed = deflated(LONG)
    return {
        "cell_raw": cell_vector(cell(SHORT, 0), SHORT),
        "cell_empty": cell_vector(cell(b"", 0), b""),
        "cell_deflated": cell_vector(cell(packed, 1), LONG),
        "cell_deflated_as_raw": cell_vector(cell(packed, 0, sealed_as=1), None, "the codec is changed to raw"),
        "cell_codec_unknown": cell_vector(cell(SHORT, 2), None, "the codec is 2"),
        "cell_tag_cut": cell_vector(cell(SHORT, 0)[:-1], None, "the last byte of the tag is missing"),
        "cell_of_other_leaf": cell_vector(cell(SHORT, 0, leaf=made("other leaf", 32)), None, "sealed for another leaf"),
        "cell_deflated_cut": cell_vector(cell(packed[:-1], 1), None, "the stream lacks its last byte"),
        "cell_deflated_longer": cell_vector(cell(packed + b"\0", 1), None, "a byte follows the stream"),
        "cell_deflated_malformed": cell_vector(cell(b"\x07" + packed, 1), None, "the body is no deflate stream"),
    }


def envelope_vectors() -> dict[str, Vector]:
    """Return the vectors of envelopes."""
    return {
        "envelope": envelope_vector(envelope()),
        "envelope_without_content": envelope_vector(envelope(b"\x00" + META), key=None),
        "envelope_key_cut": envelope_vector(envelope(HELD[:32]), "the content key lacks a byte"),
        "envelope_mark_unknown": envelope_vector(envelope(b"\x02" + HELD[1:]), "the first byte is 2"),
        "envelope_empty": envelope_vector(envelope(b""), "it holds nothing"),
        "envelope_of_other_leaf": envelope_vector(envelope(leaf=made("other leaf", 32)), "sealed for another leaf"),
        "envelope_of_other_place": envelope_vector(envelope(place=made("other place", 24)), "sealed for another place"),
        "envelope_of_other_segment": envelope_vector(envelope(segment=4), "sealed for another segment"),
        "envelope_layout_unknown": envelope_vector(b"\x02" + envelope()[1:], "the version of the layout is 2"),
        "envelope_key_id_flipped": envelope_vector(flipped(envelope(), 1), "the id of the segment key is another"),
    }


def segments_vectors() -> dict[str, Vector]:
    """Return the vectors of rows of segment keys."""
    return {
        "segments": segments_row(segments()),
        "segments_entry_cut": segments_row(segments(b"".join(SEGMENTS)[:-1]), "the last entry lacks a byte"),
        "segments_empty": segments_row(segments(b""), "there is no entry"),
        "segments_of_other_row": segments_row(segments(row=1), "sealed for another row"),
        "segments_layout_unknown": segments_row(b"\x02" + segments()[1:], "the version of the layout is 2"),
        "segments_version_gone": segments_row(segments(version=2), "the space key is not there", "key.missing"),
    }


def key_vectors() -> dict[str, Vector]:
    """Return the vectors of wrapped keys and of the two files that hold them."""
    secret = made("secret", 32)
    foreign = wrapped(secret, "somewhere", made("other", 32))
    return {
        "root_wrap": root_vector(wrapped(secret, "somewhere")),
        "root_context": root_vector(wrapped(secret, "elsewhere"), "wrapped for another context"),
        "root_layout": root_vector(b"\x02" + wrapped(secret, "somewhere")[1:], "the version of the layout is 2"),
        "root_other": root_vector(foreign, "another root wrapped it", "key.wrong"),
        "root_cut": root_vector(wrapped(secret, "somewhere")[:36], "it is shorter than an empty secret"),
        "keys_file": accepted(keys_file()),
        "keys_newer": refused(keys_file({"format": 2}), "the format is 2", "store.newer"),
        "keys_order": refused(keys_file({"space": versions()[::-1]}), "the newest version stands first"),
        "keys_no_version": refused(keys_file({"space": []}), "there is no space key"),
        "keys_version_renamed": refused(keys_file({"space": renamed()}), "version 12 is called 13"),
        "keys_version_dropped": refused(keys_file(after={"space": versions()[1:]}), "version 3 is taken out"),
        "keys_log": refused(keys_file({"log": b64(made("other", 16))}), "the log id is another"),
        "keys_mac": refused(keys_file(after={"mac": b64(bytes(32))}), "the MAC is zero"),
        "keys_unknown_member": refused(keys_file({"more": 1}), "a member is unknown"),
        "store_file": accepted(store_file()),
        "store_newer": refused(store_file({"format": 2}), "the format is 2", "store.newer"),
        "store_other_id": refused(store_file({"store": b64(made("other", 16))}), "the store id is another"),
        "store_mac": refused(store_file(after={"mac": b64(bytes(32))}), "the MAC is zero"),
        "store_no_root": refused(store_file(after={"doors": []}), "there is no root key", "key.wrong"),
    }


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, vector in vectors().items():
        text = json.dumps(vector, indent=1, sort_keys=True, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
