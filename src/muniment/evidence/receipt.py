"""Receipts: the proof of one event, as a C2SP tlog-proof.

    c2sp.org/tlog-proof@v1
    extra <base64 of the event line>
    index <position>
    <inclusion proof, one base64 hash a line>
    <empty line>
    <checkpoint>

A tlog-proof proves a leaf hash, and ours is the hash of a header that nobody can guess. So the extra data contains the
header, in the line that a bundle has for the event: `{"disclosures":[...],"header":{...}}`. The format treats extra
data as unauthenticated; here the proof authenticates it, because the leaf is recomputed from it. The disclosures decide
what the receipt shows: a whole turn for its committer, nothing for an auditor who only needs the fact.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from muniment.evidence.verifier import RECEIPT_FORMAT


def receipt(event: bytes, position: int, proof: Sequence[bytes], checkpoint: str) -> str:
    """Return the receipt of an event, given its line (`bundle.event_line`), inclusion proof and signed checkpoint."""
    lines = [
        RECEIPT_FORMAT,
        f"extra {base64.b64encode(event).decode()}",
        f"index {position}",
        *(base64.b64encode(node).decode() for node in proof),
    ]
    return "\n".join(lines) + "\n\n" + checkpoint
