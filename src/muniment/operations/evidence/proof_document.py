"""Proofs as documents: lines for programs, or a page for people, with the earlier checkpoint that has a timestamp."""

from __future__ import annotations

from enum import StrEnum
from io import BytesIO

from muniment.errors import Corrupt, LimitExceeded
from muniment.evidence import verifier
from muniment.evidence.bundle import EarlierCheckpoint
from muniment.evidence.timestamps import is_stamped
from muniment.evidence.tree import consistency_proof
from muniment.log.port import Reader
from muniment.space.space import Space

BUNDLE_TYPE = "application/jsonl"
PAGE_TYPE = "text/html"
PROOF_IN_PAGE_BYTES_MAX = 16 * 2**20


class EvidenceFormat(StrEnum):
    """The format of evidence: lines for programs, or a page for people that carries the same lines."""

    JSONL = "jsonl"
    HTML = "html"


def earlier_stamped(reader: Reader, last: int, size: int) -> EarlierCheckpoint | None:
    """Return the checkpoint up to a size whose timestamp proves most of the events up to a position.

    That is the first one over all of them (but for the certificate of the export, which is newer than any), or else the
    last one.
    """
    stamped = [row for row in reader.checkpoints() if 0 < row.size <= size and is_stamped(row.note)]
    if not stamped:
        return None
    over = next((row for row in stamped if row.size > last), stamped[-1])
    return EarlierCheckpoint(note=over.note, consistency=consistency_proof(reader, over.size, size))


def media_type_of(wanted: EvidenceFormat) -> str:
    """Return the media type of a format."""
    return PAGE_TYPE if wanted is EvidenceFormat.HTML else BUNDLE_TYPE


def in_format(space: Space, proof: bytes, wanted: EvidenceFormat) -> bytes:
    """Return a proof in a format; a page is made of what the verifier says that it proves."""
    if wanted is EvidenceFormat.JSONL:
        return proof
    if len(proof) > PROOF_IN_PAGE_BYTES_MAX:
        raise LimitExceeded(at="format", problem="document_too_large", limit=PROOF_IN_PAGE_BYTES_MAX, found=len(proof))
    try:
        return verifier.render_page(verifier.verify_evidence(BytesIO(proof), str(space.notary.key), show=True), proof)
    except verifier.Refused as refused:
        raise Corrupt(at="proof", problem=refused.code) from None
