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

from tests.evidence.by_hand import (
    LOG,
    ORIGIN,
    OTHER_LOG,
    SIGNING_SEED,
    Lines,
    World,
    bent,
    checkpoint_of,
    commitment_of,
    compact,
    disclosure_of,
    jcs,
    leaf_of,
    mth,
    multi,
    note_of,
    patched,
    path,
    std,
    subproof,
    url,
    vkey_of,
)

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "vectors" / "evidence"
WORLD = World()
GOOD = WORLD.bundle()
WHOLE = WORLD.bundle(tuple(range(9)), streams={"0": 2, "1": 4, "2": 3})
Cases = dict[str, tuple[str, str | None, Lines]]  # name: (what is wrong, code of the refusal, lines)


# --- bundles ----------------------------------------------------------------------------------------------------------


def own_disclosure(raw: bytes) -> World:
    """Return a log whose owner committed to a value that is no proper JSON."""
    return World(json_of={(5, "message/0/content/0"): raw})


def whole_cases() -> Cases:
    return {
        "good": ("A certified export of one conversation of two.", None, GOOD),
        "good-uncertified": (
            "Without the certificate the bundle is sound, and not complete.",
            None,
            WORLD.bundle((1, 3, 5, 6)),
        ),
        "good-stale-certificate": (
            "The certificate is not the last event under the checkpoint: the bundle is sound, and not complete.",
            None,
            World(late=1).bundle(),
        ),
        "good-whole-space": (
            "All streams, certificate included.",
            None,
            WHOLE,
        ),
        "trailing-line": ("A line after the last.", "trailing", [*GOOD, GOOD[-1]]),
        "truncated": ("The checkpoint is gone.", "truncated", GOOD[:-1]),
        "empty": ("Nothing at all.", "truncated", []),
    }


def head_cases() -> Cases:
    return {
        "head-format": ("Another format.", "head", WORLD.bundle(bundle="muniment-export/2")),
        "head-view": ("A view that does not exist.", "head", WORLD.bundle(view="everything")),
        "head-origin": ("The origin is not the log's.", "head", WORLD.bundle(origin="muniment/other")),
        "head-size": ("Not the size of the checkpoint.", "head", WORLD.bundle(size=8 + 2)),
        "head-unknown-member": ("A member that the format does not know.", "head", WORLD.bundle(note="")),
        "head-spaces": ("Insignificant white space.", "not_canonical", patched(GOOD, 1, b":", b": ")),
        "head-no-streams": ("Nothing exported.", "head", WORLD.bundle(streams={})),
        "head-more-events": (
            "The head promises an event that is not there.",
            "incomplete",
            WORLD.bundle(streams={"1": 5}),
        ),
    }


def line_cases() -> Cases:
    return {
        "event-not-json": ("A brace is gone.", "not_json", patched(GOOD, 3, b"{", b"")),
        "event-nan": ("NaN.", "not_json", patched(GOOD, 3, b'"v":1', b'"v":NaN')),
        "event-fraction": ("1.0 is not 1.", "not_json", patched(GOOD, 3, b'"v":1', b'"v":1.0')),
        "event-member-twice": ("The same member twice.", "not_canonical", patched(GOOD, 3, b'"v":1', b'"v":1,"v":1')),
        "event-carriage-return": (
            "A line that ends in CRLF.",
            "not_canonical",
            [*GOOD[:2], GOOD[2] + b"\r", *GOOD[3:]],
        ),
        "event-unknown-member": ("An unknown member of the line.", "event", patched(GOOD, 3, b"{", b'{"comment":"",')),
    }


def header_cases() -> Cases:
    return {
        "header-unknown-member": ("An unknown member.", "header", patched(GOOD, 3, b'"v":1', b'"v":1,"w":1')),
        "header-missing-member": ("A missing member.", "header", patched(GOOD, 3, b',"v":1', b"")),
        "header-version": ("A version from the future.", "header", patched(GOOD, 3, b'"v":1', b'"v":2')),
        "header-true-is-no-number": ("true where 1 must stand.", "header", patched(GOOD, 3, b'"v":1', b'"v":true')),
        "header-reason-text": ("A reason that is a sentence.", "header", bent(6, reason="They asked me to").bundle()),
        "header-number-large": ("A number beyond 63 bits.", "header", bent(6, t=2**63).bundle()),
        "header-label": ("A label that needs escapes.", "header", bent(6, fields={'a"b': commitment_of("x")}).bundle()),
        "header-digest": ("A commitment with stray bits.", "header", bent(6, fields={"actor": "B" * 43}).bundle()),
        "header-opening-place": ("A stream with a number that is not its place.", "header", bent(1, stream=2).bundle()),
    }


def stream_cases() -> Cases:
    return {
        "event-edited": (
            "The time of the last event was changed.",
            "multiproof",
            patched(GOOD, 5, b'"t":17', b'"t":18'),
        ),
        "event-edited-inside": ("The time of a turn was changed.", "chain", patched(GOOD, 3, b'"t":17', b'"t":18')),
        "event-not-chained": ("The log itself skipped a leaf.", "chain", bent(5, prev=url(leaf_of(b""))).bundle()),
        "event-of-another-log": ("The log itself took in a stranger.", "foreign_log", bent(5, log=OTHER_LOG).bundle()),
        "event-of-another-stream": (
            "An event that was not asked for.",
            "foreign_event",
            WORLD.bundle((1, 3, 4, 5, 6, 8)),
        ),
        "event-absent-first": (
            "The first event is absent.",
            "incomplete",
            WORLD.bundle((3, 5, 6, 8), streams={"1": 3}),
        ),
        "event-absent-inside": ("A turn is absent.", "incomplete", WORLD.bundle((1, 3, 6, 8), streams={"1": 3})),
        "event-absent-last": ("The end is cut off.", "incomplete", WORLD.bundle((1, 3, 5, 8), streams={"1": 3})),
        "event-twice": ("An event comes twice.", "order", [*GOOD[:3], GOOD[2], *GOOD[3:]]),
        "events-reordered": (
            "Two events of different streams changed places.",
            "order",
            [*WHOLE[:5], WHOLE[6], WHOLE[5], *WHOLE[7:]],
        ),
        "turn-number-skipped": ("The log itself skipped a turn.", "incomplete", bent(5, refs={"turn": 3}).bundle()),
        "turn-number-absent": ("A turn without its number.", "incomplete", bent(5, refs={}).bundle()),
    }


def disclosure_cases() -> Cases:
    shown = json.loads(GOOD[2])["disclosures"]
    short = disclosure_of("c2FsdA", "actor", b'"agent"')
    salted = bent(3, fields={"actor": commitment_of(short)})
    salted.disclosures[3] = {"actor": short}
    padded = GOOD[2].replace(shown[0].encode(), shown[0].encode() + b"=")
    no_list = GOOD[4].replace(b'"disclosures":[', b'"disclosures":{"a":[').replace(b'],"header"', b']},"header"')
    return {
        "disclosure-edited": (
            "Another actor.",
            "commitment",
            patched(GOOD, 3, shown[0].encode(), disclosure_of("A" * 43, "actor", b'"other"').encode()),
        ),
        "disclosure-moved": (
            "A disclosure of another event.",
            "commitment",
            [*GOOD[:2], GOOD[2].replace(shown[0].encode(), json.loads(GOOD[3])["disclosures"][0].encode()), *GOOD[3:]],
        ),
        "disclosure-twice": (
            "The same disclosure twice.",
            "disclosure",
            patched(GOOD, 3, f'"{shown[0]}"'.encode(), f'"{shown[0]}","{shown[0]}"'.encode()),
        ),
        "disclosures-reordered": (
            "Not in order of label.",
            "disclosure",
            patched(GOOD, 3, f'"{shown[0]}","{shown[1]}"'.encode(), f'"{shown[1]}","{shown[0]}"'.encode()),
        ),
        "disclosure-padded": ("Padding.", "disclosure", [*GOOD[:2], padded, *GOOD[3:]]),
        "disclosure-no-text": (
            "A number among the disclosures.",
            "disclosure",
            patched(GOOD, 3, f'"{shown[0]}"'.encode(), b"1"),
        ),
        "disclosures-no-list": ("Disclosures as an object.", "event", [*GOOD[:4], no_list, *GOOD[5:]]),
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
    }


def certificate_cases() -> Cases:
    return {
        "certificate-overstates": (
            "The certificate speaks of an event that is not there.",
            "incomplete",
            bent(8, refs={"stream": 1, "through": 5}).bundle(),
        ),
        "certificate-without-end": (
            "A certificate without its end.",
            "certificate",
            bent(8, refs={"stream": 1}).bundle(),
        ),
        "certificate-of-another-stream": (
            "A certificate for a stream that was not exported.",
            "foreign_event",
            bent(8, refs={"stream": 2, "through": 2}).bundle(),
        ),
    }


def multiproof_cases() -> Cases:
    spare = json.loads(GOOD[-2])["multiproof"]
    return {
        "multiproof-edited": (
            "A hash was changed.",
            "multiproof",
            patched(GOOD, 7, spare[0].encode(), std(bytes(32)).encode()),
        ),
        "multiproof-short": ("A hash is gone.", "multiproof", [*GOOD[:6], jcs({"multiproof": spare[1:]}), GOOD[7]]),
        "multiproof-spare": (
            "A hash too many.",
            "multiproof",
            [*GOOD[:6], jcs({"multiproof": [*spare, spare[0]]}), GOOD[7]],
        ),
        "multiproof-hash-short": (
            "A hash of 31 bytes.",
            "multiproof",
            [*GOOD[:6], jcs({"multiproof": [std(bytes(31)), *spare[1:]]}), GOOD[7]],
        ),
        "multiproof-no-list": ("A number for the hashes.", "multiproof", [*GOOD[:6], jcs({"multiproof": 1}), GOOD[7]]),
        "multiproof-no-text": (
            "A number among the hashes.",
            "multiproof",
            [*GOOD[:6], jcs({"multiproof": [1, *spare[1:]]}), GOOD[7]],
        ),
        "multiproof-spaces": ("Insignificant white space.", "not_canonical", patched(GOOD, 7, b",", b", ")),
    }


def checkpoint_cases() -> Cases:
    note = json.loads(GOOD[-1])["checkpoint"]
    return {
        "checkpoint-root": (
            "Another root under the old signature.",
            "signature",
            [*GOOD[:7], jcs({"checkpoint": note.replace(std(mth(WORLD.leaves)), std(bytes(32)))})],
        ),
        "checkpoint-stranger": (
            "Signed by somebody else under the same name.",
            "signature_missing",
            [*GOOD[:7], jcs({"checkpoint": note_of(note.partition("\n\n")[0] + "\n", seed=bytes(32))})],
        ),
        "checkpoint-other-origin": (
            "The log signed the checkpoint of another.",
            "origin",
            [*GOOD[:7], jcs({"checkpoint": note_of(note.partition("\n\n")[0].replace(LOG, OTHER_LOG) + "\n")})],
        ),
        "checkpoint-size": (
            "A checkpoint of an earlier size.",
            "head",
            [*GOOD[:7], jcs({"checkpoint": checkpoint_of(WORLD.leaves[:8])})],
        ),
        "checkpoint-not-text": ("No note.", "checkpoint_malformed", [*GOOD[:7], jcs({"checkpoint": None})]),
        "checkpoint-no-note": ("A text without signatures.", "note_malformed", [*GOOD[:7], jcs({"checkpoint": "x\n"})]),
        "checkpoint-leading-zero": (
            "09 is not 9.",
            "checkpoint_malformed",
            [*GOOD[:7], jcs({"checkpoint": note_of(note.partition("\n\n")[0].replace("\n9\n", "\n09\n") + "\n")})],
        ),
        "checkpoint-spaces": ("Insignificant white space.", "not_canonical", patched(GOOD, 8, b":", b": ")),
    }


BUNDLES = (
    whole_cases,
    head_cases,
    line_cases,
    header_cases,
    stream_cases,
    disclosure_cases,
    certificate_cases,
    multiproof_cases,
    checkpoint_cases,
)


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
