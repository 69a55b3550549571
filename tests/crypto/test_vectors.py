"""Our byte layouts against vectors that were worked out by hand (tests/crypto/make_vectors.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from msgspec import Struct

from muniment.crypto.cell import ContentKey, open_cell, open_envelope, seal_cell, seal_envelope, squeeze
from muniment.crypto.cursor_key import CursorKey
from muniment.crypto.keyring import SpaceKeys
from muniment.crypto.root import LocalRoot
from muniment.crypto.segment import SegmentKey, SpaceKey, open_segments, seal_segments
from muniment.crypto.store import StoreKeys
from muniment.errors import MunimentError
from muniment.kernel.cursor import Cursors
from muniment.kernel.sources import SystemEntropy
from tests.crypto import make_vectors
from tests.crypto.worlds import OneEntropy, Versions

Vector = dict[str, Any]


def the_cell(vector: Vector, _: Path) -> None:
    key = ContentKey(bytes.fromhex(vector["key"]))
    sealed, leaf = bytes.fromhex(vector["sealed"]), bytes.fromhex(vector["leaf"])
    plaintext = open_cell(key, sealed, leaf)
    assert plaintext.hex() == vector["plaintext"]
    assert key.salts().hex() == vector["salts"]
    again = seal_cell(key, squeeze(plaintext), leaf)
    assert open_cell(key, again, leaf) == plaintext
    if sealed[0] == 0:  # which bytes zlib writes is zlib's business
        assert again == sealed


def the_envelope(vector: Vector, _: Path) -> None:
    segment_key = SegmentKey(vector["segment"], bytes.fromhex(vector["segment_key"]))
    leaf, place = bytes.fromhex(vector["leaf"]), bytes.fromhex(vector["place"])
    held = open_envelope(segment_key, bytes.fromhex(vector["sealed"]), leaf, place)
    assert held.meta.hex() == vector["meta"]
    assert (None if held.key is None else held.key.secret.hex()) == vector["content_key"]
    assert seal_envelope(segment_key, bytes.fromhex(vector["nonce"]), held, leaf, place).hex() == vector["sealed"]


def the_segments(vector: Vector, _: Path) -> None:
    space_key = SpaceKey(vector["version"], bytes.fromhex(vector["space_key"]))
    keys = open_segments(Versions(space_key), vector["row"], bytes.fromhex(vector["sealed"]))
    assert [key.entry.hex() for key in keys] == vector["keys"]
    again = seal_segments(space_key, bytes.fromhex(vector["nonce"]), vector["row"], keys)
    assert again.hex() == vector["sealed"]


def the_root(vector: Vector, _: Path) -> None:
    wrapped, context = bytes.fromhex(vector["wrapped"]), vector["context"].encode()
    root = LocalRoot(bytes.fromhex(vector["root"]), OneEntropy(wrapped[9:21]))
    assert root.unwrap(wrapped, context).hex() == vector["secret"]
    assert root.key_id == vector["key_id"]
    assert root.wrap(bytes.fromhex(vector["secret"]), context) == wrapped


def the_keys_file(vector: Vector, folder: Path) -> None:
    (folder / "keys.json").write_text(vector["file"], encoding="utf-8")
    root = LocalRoot(bytes.fromhex(vector["root"]), SystemEntropy())
    keys = SpaceKeys(folder, root, SystemEntropy())
    assert (keys.log_id, keys.name) == (vector["log"], vector["name"])
    assert (keys.signing_seed.hex(), keys.index_key.hex()) == (vector["signing_seed"], vector["index_key"])
    assert {str(version): keys.by_version(version).secret.hex() for version in keys.versions} == vector["space"]


def the_store_file(vector: Vector, folder: Path) -> None:
    (folder / "store.json").write_text(vector["file"], encoding="utf-8")
    keys = StoreKeys(folder, LocalRoot(bytes.fromhex(vector["root"]), SystemEntropy()))
    assert keys.store_id == vector["store"]
    assert keys.space_directory(vector["name"]).relative_to(folder / "spaces") == Path(vector["directory"])


class Mark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the cursors of the vectors carry."""

    after: int
    name: str


def the_cursor(vector: Vector, _: Path) -> None:
    cursors = Cursors(CursorKey(bytes.fromhex(vector["index_key"])))
    request = vector["purpose"], tuple(vector["binding"])
    mark = cursors.accept(*request, vector["cursor"], Mark)
    assert mark == Mark(**vector["mark"])
    assert cursors.issue(*request, mark) == vector["cursor"]


OPENINGS = {
    "cell": the_cell,
    "envelope": the_envelope,
    "segments": the_segments,
    "root": the_root,
    "keys.json": the_keys_file,
    "store.json": the_store_file,
    "cursor": the_cursor,
}
FILES = sorted(make_vectors.FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_vector_gives_what_it_says(path: Path, tmp_path: Path) -> None:
    """Good bytes are read and written again as they are; bytes with one fault are refused for that fault."""
    vector = json.loads(path.read_text(encoding="utf-8"))
    if vector["fault"] is None:
        OPENINGS[vector["what"]](vector, tmp_path)
        return
    with pytest.raises(MunimentError) as caught:
        OPENINGS[vector["what"]](vector, tmp_path)
    assert caught.value.code == vector["error"]


def test_the_files_are_what_the_script_writes() -> None:
    """Which bytes zlib writes depends on its version, so those vectors stay as they were written once."""
    stored = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FILES}
    made = make_vectors.vectors()
    assert stored.keys() == made.keys()
    for name in (name for name in stored if "zlib" not in name):
        assert stored[name] == made[name], name


def test_the_cipher_of_cursors_worked_out_by_hand_is_that_of_its_specification() -> None:
    """RFC 5297, A.1: the example with one piece of associated data, by hand and by the library."""
    key = bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    associated = bytes(range(0x10, 0x28))
    plaintext = bytes.fromhex("112233445566778899aabbccddee")
    sealed = "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c"
    assert make_vectors.aes_siv(key, associated, plaintext).hex() == sealed
    assert AESSIV(key).encrypt(plaintext, [associated]).hex() == sealed
