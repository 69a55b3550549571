"""Vectors that others published, run through the code that we ship.

Not run, and why: the probes of merkle-tree certificates for subtrees (`subtreeinclusion`, and `subtreeconsistency` with
start > 0), because we make no such proofs; ML-DSA signatures, because notes are signed with Ed25519 alone. Subtree
probes of consistency that start at the first leaf are ordinary consistency proofs and are run as such.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.evidence import header, notes, tree
from muniment.evidence.verifier import (
    EMPTY_ROOT,
    Refused,
    VerifierKey,
    leaf_hash,
    node_hash,
    open_checkpoint,
    open_disclosure,
    open_note,
    parse_checkpoint,
    parse_note,
    verify_consistency,
    verify_inclusion,
)
from tests.evidence.logs import Rows, rows
from tests.shared import need_shared

MERKLE = "vectors/transparency-dev-merkle/testdata"
TESSERA = "vectors/transparency-dev-tessera/testdata/log"


def inline(name: str) -> Any:
    return json.loads(need_shared("vectors/inline_vectors.json").read_text())[name]


def probes(kind: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(need_shared(f"{MERKLE}/{kind}").rglob("*.json")):
        probe = json.loads(path.read_text())
        probe["proof"] = [base64.b64decode(one) for one in probe["proof"] or []]
        for name in ("root", "root1", "root2", "leafHash"):
            if name in probe:
                probe[name] = base64.b64decode(probe[name])
        yield path, probe


def judge(probe: dict[str, Any], code: str | None, expected: str, path: Path) -> None:
    assert code == (expected if probe["wantErr"] else None), f"{path.parent.name}/{path.name}: {probe['desc']}"


def verdict(verify: Callable[..., None], *claim: object) -> str | None:
    """Return the code of the refusal, or None."""
    try:
        verify(*claim)
    except Refused as refused:
        return refused.code
    return None


def inclusion(probe: dict[str, Any]) -> str | None:
    claim = (probe["leafIdx"], probe["treeSize"], probe["leafHash"], probe["proof"], probe["root"])
    return verdict(verify_inclusion, *claim)


def consistency(probe: dict[str, Any], size1: int, size2: int) -> str | None:
    return verdict(verify_consistency, size1, size2, probe["proof"], probe["root1"], probe["root2"])


def test_the_inclusion_probes_are_judged_as_published() -> None:
    seen = 0
    for path, probe in probes("inclusion"):
        judge(probe, inclusion(probe), "inclusion", path)
        seen += 1
    assert seen == 98


def test_the_consistency_probes_are_judged_as_published() -> None:
    seen = 0
    for path, probe in probes("consistency"):
        judge(probe, consistency(probe, probe["size1"], probe["size2"]), "consistency", path)
        seen += 1
    assert seen == 98


def test_the_subtree_probes_that_start_at_the_first_leaf_are_judged_as_published() -> None:
    seen = 0
    for path, probe in probes("subtreeconsistency"):
        if probe["start"] == 0 and probe["end"] > 0:
            judge(probe, consistency(probe, probe["end"], probe["size"]), "consistency", path)
            seen += 1
    assert seen > 40


def test_the_reference_tree_has_the_published_roots() -> None:
    reference = inline("rfc6962_reference")
    leaves = [leaf_hash(bytes.fromhex(data)) for data in reference["leaf_inputs_hex"]]
    stored = rows(leaves)
    for size, root in enumerate(reference["root_hashes_hex_for_size_1_to_8"], 1):
        assert tree.root_at(stored, size).hex() == root
        assert tree.extend(tree.Frontier(), leaves[:size])[0].root().hex() == root


def test_the_hashes_of_leaf_node_and_nothing_are_the_published_ones() -> None:
    hasher = inline("rfc6962_hasher")
    assert hasher["empty_root"] == EMPTY_ROOT.hex() == tree.Frontier().root().hex()
    assert leaf_hash(b"").hex() == hasher["leaf"][""]
    assert leaf_hash(b"L123456").hex() == hasher["leaf"]["L123456"]
    assert node_hash(hasher["node"]["left"].encode(), hasher["node"]["right"].encode()).hex() == hasher["node"]["hash"]


# --- a whole log that another implementation wrote --------------------------------------------------------------------


def test_every_checkpoint_of_the_tessera_log_opens_and_has_the_root_of_its_tiles() -> None:
    folder = need_shared(TESSERA)
    key = VerifierKey.parse(inline("tessera_log")["vkey"])
    whole = Rows()
    for size in range(16):
        checkpoint = open_checkpoint((folder / f"checkpoint.{size}").read_text(), key)
        assert checkpoint.size == size
        leaves = (folder / f"tile/0/000.p/{size}").read_bytes() if size else b""
        whole.append([leaves[at : at + 32] for at in range(32 * whole.frontier.size, len(leaves), 32)])
        assert whole.frontier.size == size
        assert whole.frontier.root() == checkpoint.root


def test_the_tiles_of_the_tessera_log_hold_the_leaves_of_its_entries() -> None:
    folder = need_shared(TESSERA)
    entries, at, leaves = (folder / "tile/entries/000.p/15").read_bytes(), 0, b""
    while at < len(entries):
        length = int.from_bytes(entries[at : at + 2])
        leaves += leaf_hash(entries[at + 2 : at + 2 + length])
        at += 2 + length
    assert leaves == (folder / "tile/0/000.p/15").read_bytes()


def test_the_checkpoints_of_the_tessera_log_are_consistent_with_each_other() -> None:
    folder = need_shared(TESSERA)
    leaves = (folder / "tile/0/000.p/15").read_bytes()
    stored = rows(leaves[at : at + 32] for at in range(0, len(leaves), 32))
    roots = [parse_checkpoint(parse_note((folder / f"checkpoint.{n}").read_text()).text).root for n in range(16)]
    for size2 in range(1, 16):
        for size1 in range(1, size2 + 1):
            proof = tree.consistency_proof(stored, size1, size2)
            verify_consistency(size1, size2, proof, roots[size1], roots[size2])


# --- signed notes -----------------------------------------------------------------------------------------------------


def test_the_published_notes_open_with_their_keys() -> None:
    vectors = inline("signed_note")
    keys = [VerifierKey.parse(vkey) for vkey in vectors["vkeys"]]
    assert [str(key) for key in keys] == vectors["vkeys"]
    for signers, note in enumerate(vectors["valid"], 1):
        text, signed_by = open_note(note, keys)
        assert text == vectors["text"]
        assert list(signed_by) == keys[:signers]


def test_the_published_test_key_signs_the_published_note_byte_for_byte() -> None:
    vectors = inline("signed_note")
    typed_seed = base64.b64decode(vectors["published_test_skey"].split("+", 4)[4])
    signer = notes.Signer("PeterNeumann", typed_seed[1:])
    assert signer.vkey == vectors["vkeys"][0]
    assert signer.sign_note(vectors["text"]) == vectors["valid"][0]


def test_bad_published_keys_are_refused() -> None:
    for vkey in inline("signed_note")["bad_vkeys"]:
        with pytest.raises(Refused, match="key_malformed"):
            VerifierKey.parse(vkey)


def test_malformed_published_notes_are_refused() -> None:
    vectors = inline("signed_note")
    keys = [VerifierKey.parse(vkey) for vkey in vectors["vkeys"]]
    for note in vectors["malformed"]:
        with pytest.raises(Refused, match="note_malformed"):
            open_note(note, keys)


def test_a_published_note_with_a_bad_signature_is_refused() -> None:
    vectors = inline("signed_note")
    keys = [VerifierKey.parse(vkey) for vkey in vectors["vkeys"]]
    for note in vectors["invalid_signature"]:
        with pytest.raises(Refused, match="signature"):
            open_note(note, keys)


def test_the_example_of_the_note_specification_opens() -> None:
    example = inline("c2sp_signed_note_example")
    assert open_note(example["note"], [VerifierKey.parse(example["vkey"])])[0] == "This is an example message.\n"


# --- what a witness is asked ------------------------------------------------------------------------------------------


def witness(body: str, key: VerifierKey, latest: tuple[int, bytes]) -> tuple[str, tuple[int, bytes]]:
    """Answer add-checkpoint as tlog-witness says, from nothing but the verifier; return (answer, new latest)."""
    ask, _, note = body.partition("\n\n")
    old, *proof = ask.split("\n")
    asked = int(old.removeprefix("old "))
    if note.partition("\n")[0] != key.name:
        return "403 unknown log", latest
    try:
        checkpoint = open_checkpoint(note, key)
    except Refused:
        return "403 invalid signature", latest
    if asked != latest[0]:
        return f"409 {latest[0]}\\n", latest
    try:
        if asked > 0:
            hashes = [base64.b64decode(one) for one in proof]
            verify_consistency(asked, checkpoint.size, hashes, latest[1], checkpoint.root)
    except Refused:
        return "422 consistency proof", latest
    return "200 \N{EM DASH} example.com/witness", (checkpoint.size, checkpoint.root)


def test_a_witness_built_on_the_verifier_answers_the_published_exchanges() -> None:
    """The bad signature of the second exchange has stray bits in its base64, for which we refuse the note as such."""
    vectors = inline("tlog_witness_exchanges")
    key = VerifierKey.of(vectors["origin_line"], bytes.fromhex(vectors["log_public_key_hex"]))
    latest = (0, EMPTY_ROOT)
    for exchange in vectors["exchanges_in_order"]:
        answer, latest = witness(exchange["body"], key, latest)
        assert answer == f"{exchange['status']} {exchange['value']}"
    assert latest[0] == 5


# --- commitments and signatures ---------------------------------------------------------------------------------------


def test_the_disclosure_of_rfc_9901_section_4_2_3_has_its_published_digest() -> None:
    """Salt, label and value of the RFC's family_name example; the digest is the one printed there."""
    disclosure = "WyJfMjZiYzRMVC1hYzZxMktJNmNCVzVlcyIsICJmYW1pbHlfbmFtZSIsICJNw7ZiaXVzIl0"
    assert header.commit(disclosure) == "X9yH0Ajrdm1Oij4tWso9UzzKJvPoDxwmuEcO3XAdRC0"
    with pytest.raises(Refused, match="disclosure"):  # its salt has 128 bits, ours have 256
        open_disclosure(disclosure, {"family_name": "X9yH0Ajrdm1Oij4tWso9UzzKJvPoDxwmuEcO3XAdRC0"})


def test_ed25519_signatures_of_wycheproof_are_judged_as_published() -> None:
    vectors = json.loads(need_shared("vectors/wycheproof/testvectors_v1/ed25519_test.json").read_text())
    seen = 0
    for group in vectors["testGroups"]:
        key = VerifierKey.of("wycheproof", bytes.fromhex(group["publicKey"]["pk"]))
        for case in group["tests"]:
            code = verdict(key.verify, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            assert code == {"valid": None, "invalid": "signature"}[case["result"]], case["tcId"]
            seen += 1
    assert seen == vectors["numberOfTests"]
