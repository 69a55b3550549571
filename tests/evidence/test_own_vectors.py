"""Our own byte layouts against values that were computed by hand (tests/evidence/by_hand.py): one fault a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from muniment.evidence import header, tree, verifier
from muniment.evidence.notes import Signer
from muniment.evidence.verifier import Refused, VerifierKey, verify_bundle, verify_receipt
from tests.evidence import make_vectors
from tests.evidence.logs import rows
from tests.shared import REPOSITORY

FOLDER = REPOSITORY / "fixtures" / "vectors" / "evidence"
BUNDLES = sorted(path.stem for path in FOLDER.glob("bundle-*.json"))
RECEIPTS = sorted(path.stem for path in FOLDER.glob("receipt-*.json"))


def vector(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


def test_the_vector_files_are_what_their_script_writes() -> None:
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == make_vectors.files()


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_vector_is_judged_as_it_says(name: str) -> None:
    case = vector(name)
    lines = case["bundle"].encode().splitlines(keepends=True)
    if case["code"] is None:
        verify_bundle(lines, case["key"])
        return
    with pytest.raises(Refused) as refused:
        verify_bundle(lines, case["key"])
    assert refused.value.code == case["code"]


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_receipt_vector_is_judged_as_it_says(name: str) -> None:
    case = vector(name)
    if case["code"] is None:
        verify_receipt(case["receipt"].encode(), case["key"])
        return
    with pytest.raises(Refused) as refused:
        verify_receipt(case["receipt"].encode(), case["key"])
    assert refused.value.code == case["code"]


def test_the_good_bundles_are_reported_as_they_are() -> None:
    told = {}
    for name in ("bundle-good", "bundle-good-stale-certificate", "bundle-good-uncertified", "bundle-good-whole-space"):
        case = vector(name)
        report = verify_bundle(case["bundle"].encode().splitlines(keepends=True), case["key"])
        streams = [(one.stream, one.events, one.turns, one.through) for one in report.streams]
        told[name] = (report.events, report.disclosed, report.complete, streams)
    assert told == {
        "bundle-good": (5, 7, True, [(1, 4, 2, 4)]),
        "bundle-good-stale-certificate": (5, 7, False, [(1, 4, 2, 4)]),
        "bundle-good-uncertified": (4, 6, False, [(1, 4, 2, None)]),
        "bundle-good-whole-space": (9, 11, True, [(0, 2, 0, None), (1, 4, 2, 4), (2, 3, 2, None)]),
    }


def test_a_valid_receipt_returns_the_content_that_it_proves() -> None:
    case = vector("receipt-good")
    report = verify_receipt(case["receipt"].encode(), case["key"])
    assert report.disclosed == {"actor": "agent", "message/0/content/0": {"text": "Grüß dich"}}
    assert report.header["pos"] == 3


def test_headers_and_leaves_are_the_pinned_bytes() -> None:
    for case in vector("headers")["headers"]:
        exact = case["header"].encode()
        assert header.encode(header.parse(exact)) == exact
        assert verifier.parse_header(exact) == json.loads(exact)
        assert verifier.leaf_hash(exact).hex() == case["leaf"]


def test_salts_disclosures_and_commitments_are_the_pinned_ones() -> None:
    case = vector("commitments")
    seed = bytes.fromhex(case["seed"])
    fields = case["fields"]
    for field in fields:
        assert header.salt(seed, field["label"]) == field["salt"]
        assert header.disclose(seed, field["label"], field["value"].encode()) == field["disclosure"]
        assert header.commit(field["disclosure"]) == field["commitment"]
        opened = verifier.open_disclosure(field["disclosure"], {field["label"]: field["commitment"]})
        assert opened == (field["label"], json.loads(field["value"]))
    committed = header.commit_fields(seed, [(field["label"], field["value"].encode()) for field in fields])
    assert committed == {field["label"]: field["commitment"] for field in fields}


def test_roots_proofs_and_the_frontier_are_the_pinned_ones() -> None:
    case = vector("tree")
    leaves = [verifier.leaf_hash(f"leaf {number}".encode()) for number in range(21)]
    stored = rows(leaves)
    assert [tree.root_at(stored, size).hex() for size in range(22)] == case["roots"]
    assert stored.frontier.to_bytes().hex() == case["frontier_21"]
    assert tree.Frontier.from_bytes(bytes.fromhex(case["frontier_21"])) == stored.frontier
    made = tree.extend(tree.Frontier(), leaves)[1]
    assert [[node.level, node.index, node.hash.hex()] for node in made] == case["nodes_21"]
    for index, proof in case["inclusion_21"].items():
        assert hexes(tree.inclusion_proof(stored, int(index), 21)) == proof
    for size, proof in case["consistency_21"].items():
        assert hexes(tree.consistency_proof(stored, int(size), 21)) == proof
    for gap, proof in case["skipped_21"].items():
        first, last = map(int, gap.split())
        assert hexes(tree.skipped(stored, [(first, last)])[0]) == proof


def hexes(hashes: list[bytes]) -> list[str]:
    return [one.hex() for one in hashes]


def test_a_signed_checkpoint_is_the_pinned_note() -> None:
    case = vector("checkpoint")
    signer = Signer(case["origin"], bytes.fromhex(case["seed"]))
    root = bytes.fromhex(case["root"])
    assert signer.vkey == case["vkey"]
    assert signer.sign_checkpoint(case["origin"], case["size"], root) == case["note"]
    opened = verifier.open_checkpoint(case["note"], VerifierKey.parse(case["vkey"]))
    assert (opened.size, opened.root) == (2, root)


def test_source_digests_are_the_pinned_ones() -> None:
    """What a summary proves that it summarised: every part of the input changes the digest."""
    told = vector("source")["sources"]
    for case in told:
        leaves = [bytes.fromhex(leaf) for leaf in case["leaves"]]
        assert verifier.source_digest(case["log"], leaves, case["message"]) == case["digest"]
    assert len({case["digest"] for case in told}) == len(told)
    with pytest.raises(Refused) as refused:
        verifier.source_digest(told[0]["log"], [bytes(31)])
    assert refused.value.code == "source"


def test_the_refusal_codes_are_the_released_ones() -> None:
    """A code never changes once released; a new one is added here on purpose."""
    source = Path(verifier.__file__).read_text()
    refusals = r'Refused\("([a-z_]+)"'
    malformed = r'_unb64(?:url)?\([^\n]*, "([a-z_]+)"\)'
    used = re.findall(refusals, source) + re.findall(malformed, source)
    assert set(used) == {
        "attachment", "certificate", "certificate_malformed", "chain", "checkpoint_malformed", "commitment",
        "consistency", "disclosure", "event", "foreign_event", "foreign_log", "head", "header", "inclusion",
        "incomplete", "key_malformed", "line_too_long", "not_canonical", "not_json", "note_malformed", "order",
        "origin", "other_life", "page", "page_differs", "receipt_malformed",
        "root", "signature", "signature_missing", "signer", "signer_malformed", "signer_replaced",
        "skipped", "source", "statement",
        "timestamp_algorithm", "timestamp_authority", "timestamp_certificate", "timestamp_malformed",
        "timestamp_of_other", "timestamp_signature", "trailing", "truncated",
    }  # fmt: skip
