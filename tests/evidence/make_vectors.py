"""Writes fixtures/vectors/evidence: our own byte layouts, one fault a file.

Made from tests/evidence/by_hand.py, never by the code under test. `python -m tests.evidence.make_vectors` writes the
files again; tests/evidence/test_own_vectors.py compares them, so that a change of a layout shows as a diff.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from tests.evidence.bundle_cases import BUNDLES
from tests.evidence.by_hand import (
    LOG,
    ORIGIN,
    OTHER_LOG,
    SIGNING_SEED,
    World,
    bent,
    between,
    checkpoint_of,
    commitment_of,
    compact,
    disclosure_of,
    leaf_of,
    mth,
    path,
    std,
    subproof,
    url,
    vkey_of,
)

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "vectors" / "evidence"


# --- receipts and values ----------------------------------------------------------------------------------------------


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
        "event-misplaced": ("The log put an event where it does not belong.", "inclusion", bent(3, pos=4).receipt(3)),
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
        "skipped_21": {
            f"{first} {last}": [one.hex() for one in between(first, last, leaves)]
            for first, last in ((0, 0), (0, 21), (1, 21), (3, 4), (5, 16), (16, 20), (20, 21))
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


def sources() -> dict[str, Any]:
    leaves = [leaf_of(f"turn {number}".encode()) for number in range(3)]
    made = []
    for name, log, message, of in (
        ("one turn", LOG, None, leaves[:1]),
        ("three turns", LOG, None, leaves),
        ("three turns in another order", LOG, None, leaves[::-1]),
        ("the first message of a turn", LOG, 0, leaves[:1]),
        ("the eleventh message of a turn", LOG, 10, leaves[:1]),
        ("a turn of another log", OTHER_LOG, None, leaves[:1]),
        ("no turn at all", LOG, None, []),
    ):
        place = b"" if message is None else str(message).encode()
        exact = b"muniment/source/1\n" + log.encode() + b"\n" + place + b"\n" + b"".join(of)
        made.append(
            {
                "name": name,
                "log": log,
                "message": message,
                "leaves": [leaf.hex() for leaf in of],
                "digest": url(hashlib.sha256(exact).digest()),
            }
        )
    return {"about": "Source digests: context, log and message in lines, then the leaves.", "sources": made}


def files() -> dict[str, str]:
    """Return every vector file by its name."""
    key = vkey_of(ORIGIN, SIGNING_SEED)[0]
    made: dict[str, Any] = {
        "headers.json": headers(),
        "commitments.json": commitments(),
        "tree.json": trees(),
        "checkpoint.json": notes(),
        "source.json": sources(),
    }
    for name, (about, code, lines) in (case for cases in BUNDLES for case in cases().items()):
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
