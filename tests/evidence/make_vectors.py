"""Writes fixtures/vectors/evidence: our own byte layouts, one fault a file.

Independent on purpose: hashes, proofs, canonical JSON and notes are made here by hand from the standard library (and
Ed25519 from `cryptography`), never by the code under test. `python -m tests.evidence.make_vectors` writes the files
again; tests/evidence/test_own_vectors.py compares them, so that a change of a layout shows as a diff.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "vectors" / "evidence"
LOG = "AAECAwQFBgcICQoLDA0ODw"
OTHER_LOG = "DwABAgMEBQYHCAkKCwwNDg"
ORIGIN = f"muniment/{LOG}"
SIGNING_SEED = bytes(range(32))
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


def multi(indices: set[int], leaves: list[bytes], first: int = 0) -> list[bytes]:
    """Return the maximal subtrees without any of the indices, left to right."""
    n = len(leaves)
    if not any(first <= index < first + n for index in indices):
        return [mth(leaves)]
    if n == 1:
        return []
    k = 1
    while k * 2 < n:
        k *= 2
    return [*multi(indices, leaves[:k], first), *multi(indices, leaves[k:], first + k)]


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
        # kind, stream, reason, refs, fields
        ("space.opened", 0, None, {}, {"space": "home"}),
        ("conversation.opened", 1, None, {}, {"conversation": {"channel": "default", "id": "c-1"}}),
        ("conversation.opened", 2, None, {}, {"conversation": {"channel": "default", "id": "c-2"}}),
        ("turn.committed", 1, None, {"turn": 1}, {"actor": "agent", "message/0/content/0": {"text": "Grüß dich"}}),
        ("turn.committed", 2, None, {"turn": 1}, {"actor": "agent"}),
        ("turn.committed", 1, None, {"turn": 2}, {"actor": "agent", "message/0/content/0": {"n": 0.5, "text": "a\n"}}),
        ("turn.lifecycle", 1, "mask", {"turn": 1}, {"actor": "owner"}),
        ("export.issued", 0, "export", {"stream": 1, "through": 4}, {"actor": "owner"}),
        ("turn.committed", 2, None, {"turn": 2}, {"actor": "agent"}),
    )

    def __init__(self, *, bend: Callable[[int, dict[str, Any]], None] | None = None, json_of: Any = None) -> None:
        self.headers: list[bytes] = []
        self.leaves: list[bytes] = []
        self.disclosures: list[dict[str, str]] = []
        heads: dict[int, tuple[int, str]] = {}
        for pos, (kind, stream, reason, refs, fields) in enumerate(self.PLAN):
            seed = hashlib.sha256(f"seed {pos}".encode()).digest()
            shown = {}
            for label, value in fields.items():
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
                "refs": dict(refs),
                "seq": seq + 1,
                "stream": stream,
                "t": TIME_MS + 1000 * pos,
                "v": 1,
            }
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
            "log": LOG,
            "origin": ORIGIN,
            "size": len(self.leaves),
            "streams": {"1": 4},
            "view": "export",
        }
        return jcs({**head, **changes})

    def bundle(self, positions: tuple[int, ...] = (1, 3, 5, 6, 7), **changes: Any) -> Lines:
        proof = multi(set(positions), self.leaves)
        return [
            self.head(**changes),
            *(self.event(pos) for pos in positions),
            jcs({"multiproof": [std(one) for one in proof]}),
            jcs({"checkpoint": checkpoint_of(self.leaves)}),
        ]

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


# --- what is written --------------------------------------------------------------------------------------------------


def own_disclosure(raw: bytes) -> World:
    """Return a log whose owner committed to a value that is no proper JSON."""
    return World(json_of={(5, "message/0/content/0"): raw})


def bundles() -> dict[str, tuple[str, str | None, Lines]]:
    world = World()
    good = world.bundle()
    whole = world.bundle(tuple(range(9)), streams={"0": 2, "1": 4, "2": 3})
    shown = json.loads(good[2])["disclosures"]
    short = disclosure_of("c2FsdA", "actor", b'"agent"')
    salted = bent(3, fields={"actor": commitment_of(short)})
    salted.disclosures[3] = {"actor": short}
    padded = good[2].replace(shown[0].encode(), shown[0].encode() + b"=")
    note = json.loads(good[-1])["checkpoint"]
    spare = json.loads(good[-2])["multiproof"]
    no_list = good[4].replace(b'"disclosures":[', b'"disclosures":{"a":[').replace(b'],"header"', b']},"header"')
    cases: dict[str, tuple[str, str | None, Lines]] = {
        "good": ("A certified export of one conversation of two.", None, good),
        "good-uncertified": (
            "Without the certificate the bundle is sound, and not complete.",
            None,
            world.bundle((1, 3, 5, 6)),
        ),
        "good-whole-space": (
            "All streams, certificate included.",
            None,
            whole,
        ),
        "head-format": ("Another format.", "head", world.bundle(bundle="muniment-export/2")),
        "head-view": ("A view that does not exist.", "head", world.bundle(view="everything")),
        "head-origin": ("The origin is not the log's.", "head", world.bundle(origin="muniment/other")),
        "head-size": ("Not the size of the checkpoint.", "head", world.bundle(size=8 + 2)),
        "head-unknown-member": ("A member that the format does not know.", "head", world.bundle(note="")),
        "head-spaces": ("Insignificant white space.", "not_canonical", patched(good, 1, b":", b": ")),
        "head-no-streams": ("Nothing exported.", "head", world.bundle(streams={})),
        "head-more-events": (
            "The head promises an event that is not there.",
            "incomplete",
            world.bundle(streams={"1": 5}),
        ),
        "event-not-json": ("A brace is gone.", "not_json", patched(good, 3, b"{", b"")),
        "event-nan": ("NaN.", "not_json", patched(good, 3, b'"v":1', b'"v":NaN')),
        "event-fraction": ("1.0 is not 1.", "not_json", patched(good, 3, b'"v":1', b'"v":1.0')),
        "event-member-twice": ("The same member twice.", "not_canonical", patched(good, 3, b'"v":1', b'"v":1,"v":1')),
        "event-carriage-return": (
            "A line that ends in CRLF.",
            "not_canonical",
            [*good[:2], good[2] + b"\r", *good[3:]],
        ),
        "event-unknown-member": ("An unknown member of the line.", "event", patched(good, 3, b"{", b'{"comment":"",')),
        "header-unknown-member": ("An unknown member.", "header", patched(good, 3, b'"v":1', b'"v":1,"w":1')),
        "header-missing-member": ("A missing member.", "header", patched(good, 3, b',"v":1', b"")),
        "header-version": ("A version from the future.", "header", patched(good, 3, b'"v":1', b'"v":2')),
        "header-true-is-no-number": ("true where 1 must stand.", "header", patched(good, 3, b'"v":1', b'"v":true')),
        "header-reason-text": ("A reason that is a sentence.", "header", bent(6, reason="They asked me to").bundle()),
        "header-number-large": ("A number beyond 63 bits.", "header", bent(6, t=2**63).bundle()),
        "header-label": ("A label that needs escapes.", "header", bent(6, fields={'a"b': commitment_of("x")}).bundle()),
        "header-digest": ("A commitment with stray bits.", "header", bent(6, fields={"actor": "B" * 43}).bundle()),
        "header-opening-place": ("A stream with a number that is not its place.", "header", bent(1, stream=2).bundle()),
        "event-edited": (
            "The time of the last event was changed.",
            "multiproof",
            patched(good, 5, b'"t":17', b'"t":18'),
        ),
        "event-edited-inside": ("The time of a turn was changed.", "chain", patched(good, 3, b'"t":17', b'"t":18')),
        "event-not-chained": ("The log itself skipped a leaf.", "chain", bent(5, prev=url(leaf_of(b""))).bundle()),
        "event-of-another-log": ("The log itself took in a stranger.", "foreign_log", bent(5, log=OTHER_LOG).bundle()),
        "event-of-another-stream": (
            "An event that was not asked for.",
            "foreign_event",
            world.bundle((1, 3, 4, 5, 6, 7)),
        ),
        "event-absent-first": (
            "The first event is absent.",
            "incomplete",
            world.bundle((3, 5, 6, 7), streams={"1": 3}),
        ),
        "event-absent-inside": ("A turn is absent.", "incomplete", world.bundle((1, 3, 6, 7), streams={"1": 3})),
        "event-absent-last": ("The end is cut off.", "incomplete", world.bundle((1, 3, 5, 7), streams={"1": 3})),
        "event-twice": ("An event comes twice.", "order", [*good[:3], good[2], *good[3:]]),
        "events-reordered": (
            "Two events of different streams changed places.",
            "order",
            [*whole[:5], whole[6], whole[5], *whole[7:]],
        ),
        "turn-number-skipped": ("The log itself skipped a turn.", "incomplete", bent(5, refs={"turn": 3}).bundle()),
        "turn-number-absent": ("A turn without its number.", "incomplete", bent(5, refs={}).bundle()),
        "disclosure-edited": (
            "Another actor.",
            "commitment",
            patched(good, 3, shown[0].encode(), disclosure_of("A" * 43, "actor", b'"other"').encode()),
        ),
        "disclosure-moved": (
            "A disclosure of another event.",
            "commitment",
            [*good[:2], good[2].replace(shown[0].encode(), json.loads(good[3])["disclosures"][0].encode()), *good[3:]],
        ),
        "disclosure-twice": (
            "The same disclosure twice.",
            "disclosure",
            patched(good, 3, f'"{shown[0]}"'.encode(), f'"{shown[0]}","{shown[0]}"'.encode()),
        ),
        "disclosures-reordered": (
            "Not in order of label.",
            "disclosure",
            patched(good, 3, f'"{shown[0]}","{shown[1]}"'.encode(), f'"{shown[1]}","{shown[0]}"'.encode()),
        ),
        "disclosure-padded": ("Padding.", "disclosure", [*good[:2], padded, *good[3:]]),
        "disclosure-no-text": (
            "A number among the disclosures.",
            "disclosure",
            patched(good, 3, f'"{shown[0]}"'.encode(), b"1"),
        ),
        "disclosures-no-list": ("Disclosures as an object.", "event", [*good[:4], no_list, *good[5:]]),
        "disclosure-salt-short": ("A salt that can be guessed.", "disclosure", salted.bundle()),
        "disclosure-member-twice": (
            "The log committed to a value with two meanings.",
            "not_json",
            own_disclosure(b'{"text":"yes","text":"no"}').bundle(),
        ),
        "disclosure-infinity": (
            "The log committed to infinity.",
            "not_json",
            own_disclosure(b'{"n":Infinity}').bundle(),
        ),
        "disclosure-lone-surrogate": (
            "The log committed to half a character.",
            "not_canonical",
            own_disclosure(b'{"text":"\\ud800"}').bundle(),
        ),
        "certificate-overstates": (
            "The certificate speaks of an event that is not there.",
            "incomplete",
            bent(7, refs={"stream": 1, "through": 5}).bundle(),
        ),
        "certificate-without-end": (
            "A certificate without its end.",
            "certificate",
            bent(7, refs={"stream": 1}).bundle(),
        ),
        "certificate-of-another-stream": (
            "A certificate for a stream that was not exported.",
            "foreign_event",
            bent(7, refs={"stream": 2, "through": 2}).bundle(),
        ),
        "multiproof-edited": (
            "A hash was changed.",
            "multiproof",
            patched(good, 7, spare[0].encode(), std(bytes(32)).encode()),
        ),
        "multiproof-short": ("A hash is gone.", "multiproof", [*good[:6], jcs({"multiproof": spare[1:]}), good[7]]),
        "multiproof-spare": (
            "A hash too many.",
            "multiproof",
            [*good[:6], jcs({"multiproof": [*spare, spare[0]]}), good[7]],
        ),
        "multiproof-hash-short": (
            "A hash of 31 bytes.",
            "multiproof",
            [*good[:6], jcs({"multiproof": [std(bytes(31)), *spare[1:]]}), good[7]],
        ),
        "multiproof-no-list": ("Hashes as one text.", "multiproof", [*good[:6], jcs({"multiproof": ""}), good[7]]),
        "multiproof-no-text": (
            "A number among the hashes.",
            "multiproof",
            [*good[:6], jcs({"multiproof": [1, *spare[1:]]}), good[7]],
        ),
        "multiproof-spaces": ("Insignificant white space.", "not_canonical", patched(good, 7, b",", b", ")),
        "checkpoint-root": (
            "Another root under the old signature.",
            "signature",
            [*good[:7], jcs({"checkpoint": note.replace(std(mth(world.leaves)), std(bytes(32)))})],
        ),
        "checkpoint-stranger": (
            "Signed by somebody else under the same name.",
            "signature_missing",
            [*good[:7], jcs({"checkpoint": note_of(note.partition("\n\n")[0] + "\n", seed=bytes(32))})],
        ),
        "checkpoint-other-origin": (
            "The log signed the checkpoint of another.",
            "origin",
            [*good[:7], jcs({"checkpoint": note_of(note.partition("\n\n")[0].replace(LOG, OTHER_LOG) + "\n")})],
        ),
        "checkpoint-size": (
            "A checkpoint of an earlier size.",
            "head",
            [*good[:7], jcs({"checkpoint": checkpoint_of(world.leaves[:8])})],
        ),
        "checkpoint-not-text": ("No note.", "checkpoint_malformed", [*good[:7], jcs({"checkpoint": None})]),
        "checkpoint-no-note": ("A text without signatures.", "note_malformed", [*good[:7], jcs({"checkpoint": "x\n"})]),
        "checkpoint-leading-zero": (
            "09 is not 9.",
            "checkpoint_malformed",
            [*good[:7], jcs({"checkpoint": note_of(note.partition("\n\n")[0].replace("\n9\n", "\n09\n") + "\n")})],
        ),
        "checkpoint-spaces": ("Insignificant white space.", "not_canonical", patched(good, 8, b":", b": ")),
        "trailing-line": ("A line after the last.", "trailing", [*good, good[-1]]),
        "truncated": ("The checkpoint is gone.", "truncated", good[:-1]),
        "empty": ("Nothing at all.", "truncated", []),
    }
    return cases


def receipts() -> dict[str, tuple[str, str | None, str]]:
    world = World()
    good = world.receipt(3)
    proof = [std(one) for one in path(3, world.leaves)]
    extra = std(world.event(3))
    return {
        "good": ("A turn with its words.", None, good),
        "good-alone": ("The only leaf of its tree needs no hashes.", None, lone().receipt(0)),
        "format": ("Another format.", "receipt_malformed", good.replace("@v1", "@v2")),
        "index-other": ("Another position.", "inclusion", good.replace("index 3", "index 5")),
        "index-leading-zero": ("03 is not 3.", "receipt_malformed", good.replace("index 3", "index 03")),
        "index-absent": ("No position.", "receipt_malformed", good.replace("index 3\n", "")),
        "proof-edited": ("A hash was changed.", "inclusion", good.replace(proof[1], std(bytes(32)))),
        "proof-short": ("A hash is gone.", "inclusion", good.replace(proof[-1] + "\n", "")),
        "proof-spare": ("A hash too many.", "inclusion", good.replace(proof[-1], proof[-1] + "\n" + proof[-1])),
        "proof-padding": ("Stray bits in a hash.", "receipt_malformed", good.replace(proof[0], proof[0][:-2] + "B=")),
        "extra-absent": ("Without its event.", "not_json", good.replace(f"extra {extra}\n", "")),
        "extra-edited": (
            "Another time.",
            "inclusion",
            good.replace(extra, std(world.event(3).replace(b'"t":17', b'"t":18'))),
        ),
        "extra-of-another-event": ("Another event.", "inclusion", good.replace(extra, std(world.event(5)))),
        "event-of-another-log": ("The log took in a stranger.", "foreign_log", bent(3, log=OTHER_LOG).receipt(3)),
        "checkpoint-absent": ("No checkpoint.", "note_malformed", good.partition("\n\n")[0] + "\n\n"),
        "checkpoint-edited": ("Another size.", "signature", good.replace("\n9\n", "\n10\n")),
        "blank-line-absent": ("Proof and checkpoint run together.", "receipt_malformed", good.replace("\n\n", "\n")),
    }


def lone() -> World:
    world = World()
    world.headers, world.leaves, world.disclosures = world.headers[:1], world.leaves[:1], world.disclosures[:1]
    return world


def headers() -> dict[str, Any]:
    world = World()
    return {
        "about": "Exact headers and their leaves.",
        "headers": [
            {"header": header.decode(), "leaf": leaf.hex()}
            for header, leaf in zip(world.headers, world.leaves, strict=True)
        ],
    }


def commitments() -> dict[str, Any]:
    seed = bytes(range(32))
    values = {
        "actor": b'{"id":"a-1"}',
        "tools": b"[]",
        "tools/0/summary": b'"looked it up"',
        "host_ref/12/label": '"Größe ☃"'.encode(),
        "message/0/content/0": b'{"text":"two\\nlines","type":"text"}',
    }
    made = []
    for label, value in values.items():
        salt = url(hmac.digest(seed, label.encode(), "sha256"))
        disclosure = disclosure_of(salt, label, value)
        made.append(
            {
                "label": label,
                "value": value.decode(),
                "salt": salt,
                "disclosure": disclosure,
                "commitment": commitment_of(disclosure),
            }
        )
    return {"about": "Salts, disclosures and commitments of one seed.", "seed": seed.hex(), "fields": made}


def trees() -> dict[str, Any]:
    leaves = [leaf_of(f"leaf {number}".encode()) for number in range(21)]
    return {
        "about": "Leaf i is the leaf hash of the text 'leaf i'.",
        "roots": [mth(leaves[:size]).hex() for size in range(22)],
        "frontier_21": (len(leaves).to_bytes(8, "big") + b"".join(compact(leaves))).hex(),
        "nodes_21": [[4, 0, mth(leaves[:16]).hex()]],
        "inclusion_21": {str(index): [one.hex() for one in path(index, leaves)] for index in (0, 7, 16, 19, 20)},
        "consistency_21": {
            str(size): [one.hex() for one in subproof(size, leaves, whole=True)] for size in (1, 8, 13, 20)
        },
        "multiproof_21": {
            " ".join(map(str, indices)): [one.hex() for one in multi(set(indices), leaves)]
            for indices in ((0,), (20,), (3, 4, 5, 17), tuple(range(21)))
        },
    }


def notes() -> dict[str, Any]:
    leaves = [leaf_of(b"one"), leaf_of(b"two")]
    return {
        "about": "A checkpoint of two leaves, signed with Ed25519 (deterministic).",
        "origin": ORIGIN,
        "seed": SIGNING_SEED.hex(),
        "vkey": vkey_of(ORIGIN, SIGNING_SEED)[0],
        "size": 2,
        "root": mth(leaves).hex(),
        "note": checkpoint_of(leaves),
    }


def files() -> dict[str, str]:
    """Return every vector file by its name."""
    key = vkey_of(ORIGIN, SIGNING_SEED)[0]
    made: dict[str, Any] = {
        "headers.json": headers(),
        "commitments.json": commitments(),
        "tree.json": trees(),
        "checkpoint.json": notes(),
    }
    for name, (about, code, lines) in bundles().items():
        text = b"".join(line + b"\n" for line in lines).decode()
        made[f"bundle-{name}.json"] = {"about": about, "key": key, "code": code, "bundle": text}
    for name, (about, code, text) in receipts().items():
        made[f"receipt-{name}.json"] = {"about": about, "key": key, "code": code, "receipt": text}
    return {name: json.dumps(content, ensure_ascii=False, indent=1) + "\n" for name, content in made.items()}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for stale in FOLDER.glob("*.json"):
        stale.unlink()
    for file_name, file_text in files().items():
        (FOLDER / file_name).write_text(file_text)
