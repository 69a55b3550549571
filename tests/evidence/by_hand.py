"""Evidence by hand: the byte layouts, proofs and notes once more, without the code under test.

Only the standard library, and Ed25519 from `cryptography`. Vectors are made from it (tests/evidence/make_vectors.py).
"""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LOG = "AAECAwQFBgcICQoLDA0ODw"
OTHER_LOG = "DwABAgMEBQYHCAkKCwwNDg"
ORIGIN = f"muniment.example/{LOG}"
SIGNING_SEED = bytes(range(32))
EXPORT = {"recipient": "court", "subject": "clerk", "view": "export"}
TIME_MS = 1_700_000_000_000
Lines = list[bytes]


# --- by hand ----------------------------------------------------------------------------------------------------------


def url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def std(data: bytes) -> str:
    return base64.b64encode(data).decode()


def jcs(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def leaf_of(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def mth(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, as it is written there (over leaf hashes)."""
    n = len(leaves)
    if n == 0:
        return hashlib.sha256(b"").digest()
    if n == 1:
        return leaves[0]
    k = 1
    while k * 2 < n:
        k *= 2
    return hashlib.sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def path(m: int, leaves: list[bytes]) -> list[bytes]:
    """RFC 6962, section 2.1.1."""
    n = len(leaves)
    if n == 1:
        return []
    k = 1
    while k * 2 < n:
        k *= 2
    if m < k:
        return [*path(m, leaves[:k]), mth(leaves[k:])]
    return [*path(m - k, leaves[k:]), mth(leaves[:k])]


def subproof(m: int, leaves: list[bytes], whole: bool) -> list[bytes]:
    """RFC 6962, section 2.1.2."""
    n = len(leaves)
    if m == n:
        return [] if whole else [mth(leaves)]
    k = 1
    while k * 2 < n:
        k *= 2
    if m <= k:
        return [*subproof(m, leaves[:k], whole), mth(leaves[k:])]
    return [*subproof(m - k, leaves[k:], whole=False), mth(leaves[:k])]


def between(first: int, last: int, leaves: list[bytes]) -> list[bytes]:
    """Return the largest complete subtrees of a range of leaves, left to right; one leaf at a time, then merged."""
    nodes: list[tuple[int, int]] = []  # first leaf, width
    for at in range(first, last):
        nodes.append((at, 1))
        while len(nodes) > 1 and nodes[-2][1] == nodes[-1][1] and nodes[-2][0] % (2 * nodes[-1][1]) == 0:
            nodes[-2:] = [(nodes[-2][0], 2 * nodes[-1][1])]
    return [mth(leaves[at : at + width]) for at, width in nodes]


def compact(leaves: list[bytes]) -> list[bytes]:
    """Return the complete subtrees of a tree, largest first."""
    hashes, at = [], 0
    for bit in reversed(range(len(leaves).bit_length())):
        if len(leaves) >> bit & 1:
            hashes.append(mth(leaves[at : at + (1 << bit)]))
            at += 1 << bit
    return hashes


def vkey_of(name: str, seed: bytes) -> tuple[str, bytes]:
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    key_id = hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]
    return "+".join([name, key_id.hex(), std(b"\x01" + public)]), key_id


def note_of(text: str, name: str = ORIGIN, seed: bytes = SIGNING_SEED) -> str:
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(text.encode())
    return f"{text}\n\u2014 {name} {std(vkey_of(name, seed)[1] + signature)}\n"


def checkpoint_of(leaves: list[bytes], origin: str = ORIGIN) -> str:
    return note_of(f"{origin}\n{len(leaves)}\n{std(mth(leaves))}\n")


def disclosure_of(salt: str, label: str, value_json: bytes) -> str:
    return url(b'["' + salt.encode() + b'","' + label.encode() + b'",' + value_json + b"]")


def commitment_of(disclosure: str) -> str:
    return url(hashlib.sha256(disclosure.encode()).digest())


# --- a log of nine events ---------------------------------------------------------------------------------------------


class World:
    """A small log whose events can be bent before it is signed."""

    PLAN: tuple[tuple[str, int, str | None, dict[str, int], dict[str, Any]], ...] = (
        # kind, stream, reason, references and number of an entry or target, fields
        ("space.opened", 0, None, {}, {"space": "home"}),
        ("conversation.opened", 1, None, {}, {"conversation": {"channel": "default", "id": "c-1"}}),
        ("conversation.opened", 2, None, {}, {"conversation": {"channel": "default", "id": "c-2"}}),
        ("turn.committed", 1, None, {"entry": 1}, {"actor": "agent", "message/0/content/0": {"text": "Grüß dich"}}),
        ("turn.committed", 2, None, {"entry": 1}, {"actor": "agent"}),
        ("turn.committed", 1, None, {"entry": 2}, {"actor": "agent", "message/0/content/0": {"n": 0.5, "text": "a\n"}}),
        ("turn.lifecycle", 1, "mask", {"target": 1}, {"actor": "owner"}),
        ("turn.committed", 2, None, {"entry": 2}, {"actor": "agent"}),
        ("export.issued", 0, "export", {"stream": 1, "through": 4}, {"export": EXPORT}),
    )

    LATE = (("turn.committed", 2, None, {"entry": 3}, {"actor": "agent"}),)  # behind the certificate

    def __init__(
        self,
        *,
        bend: Callable[[int, dict[str, Any]], None] | None = None,
        json_of: Any = None,
        late: int = 0,
        fields_of: dict[int, dict[str, Any]] | None = None,
    ) -> None:
        self.headers: list[bytes] = []
        self.leaves: list[bytes] = []
        self.disclosures: list[dict[str, str]] = []
        heads: dict[int, tuple[int, str]] = {}
        for pos, (kind, stream, reason, refs, fields) in enumerate(self.PLAN + self.LATE[:late]):
            seed = hashlib.sha256(f"seed {pos}".encode()).digest()
            shown = {}
            for label, value in (fields_of or {}).get(pos, fields).items():
                salt = url(hmac.digest(seed, label.encode(), "sha256"))
                raw = (json_of or {}).get((pos, label), jcs(value))
                shown[label] = disclosure_of(salt, label, raw)
            seq, prev = heads.get(stream, (0, None))
            header = {
                "fields": {label: commitment_of(shown[label]) for label in shown},
                "kind": kind,
                "log": LOG,
                "pos": pos,
                "prev": prev,
                "reason": reason,
                "refs": {name: at for name, at in refs.items() if name not in {"entry", "target"}},
                "seq": seq + 1,
                "stream": stream,
                "t": TIME_MS + 1000 * pos,
                "v": 1,
            }
            if "entry" in refs:
                header["entry"] = {"turn": refs["entry"]}
            if "target" in refs:
                header["target"] = refs["target"]
            if seq == 0:
                header["opens"] = kind.partition(".")[0]
            if bend:
                bend(pos, header)
            exact = jcs(header)
            self.headers.append(exact)
            self.leaves.append(leaf_of(exact))
            self.disclosures.append(shown)
            heads[stream] = (seq + 1, url(leaf_of(exact)))

    def event(self, pos: int) -> bytes:
        shown = [self.disclosures[pos][label] for label in sorted(self.disclosures[pos])]
        return b'{"disclosures":' + jcs(shown) + b',"header":' + self.headers[pos] + b"}"

    def head(self, **changes: Any) -> bytes:
        head = {
            "bundle": "muniment-export/1",
            "export": EXPORT,
            "log": LOG,
            "origin": ORIGIN,
            "size": len(self.leaves),
            "streams": {"1": [1, 4]},
        }
        return jcs({**head, **changes})

    def bundle(self, positions: tuple[int, ...] = (1, 3, 5, 6, 8), **changes: Any) -> Lines:
        lines, size = [self.head(**changes)], 0
        for pos in positions:
            lines += [*self.skipped(size, pos), self.event(pos)]
            size = pos + 1
        return [*lines, *self.skipped(size, len(self.leaves)), jcs({"checkpoint": checkpoint_of(self.leaves)})]

    def skipped(self, first: int, last: int) -> Lines:
        nodes = between(first, last, self.leaves)
        return [jcs({"skipped": [std(one) for one in nodes]})] if nodes else []

    def receipt(self, pos: int) -> str:
        lines = ["c2sp.org/tlog-proof@v1", f"extra {std(self.event(pos))}", f"index {pos}"]
        lines += [std(one) for one in path(pos, self.leaves)]
        return "\n".join(lines) + "\n\n" + checkpoint_of(self.leaves)


def bent(position: int, **changes: Any) -> World:
    def bend(pos: int, header: dict[str, Any]) -> None:
        if pos == position:
            header.update(copy.deepcopy(changes))

    return World(bend=bend)


def patched(lines: Lines, number: int, old: bytes, new: bytes) -> Lines:
    """Return the lines with one replacement in one of them (counted from 1); what is replaced must be there."""
    if lines[number - 1].count(old) < 1:
        raise ValueError(old)
    return [*lines[: number - 1], lines[number - 1].replace(old, new, 1), *lines[number:]]
