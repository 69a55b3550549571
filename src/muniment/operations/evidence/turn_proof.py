"""Whether a turn is proved now: its leaf, the newest signed checkpoint over it, and the pin. Signs nothing."""

from __future__ import annotations

from msgspec import Struct

from muniment.evidence.tree import inclusion_proof
from muniment.evidence.verifier import Checkpoint, Refused, verify_inclusion
from muniment.log.port import Reader, SealedRow
from muniment.space.space import Space


class TurnProof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the turn is in the tree: its leaf, and whether it is under the newest signed checkpoint.

    `included`: the inclusion was computed and holds. `pinned`: a checkpoint outside the store covers it, too. A turn
    that no checkpoint covers yet is signed by `evidence checkpoint`, or when the store is closed.
    """

    position: int
    leaf: str
    included: bool
    pinned: bool
    checkpoint_size: int | None = None
    checkpoint_root: str | None = None


def proof_of(space: Space, reader: Reader, row: SealedRow, pinned: Checkpoint | None) -> TurnProof:
    """Return the proof of a turn; `pinned` is the checkpoint at the pin, read before the snapshot."""
    checkpoint = _signed(space, reader)
    return TurnProof(
        position=row.position,
        leaf=row.leaf.hex(),
        included=checkpoint is not None and _is_included(reader, row, checkpoint),
        pinned=pinned is not None and row.position < pinned.size,
        checkpoint_size=None if checkpoint is None else checkpoint.size,
        checkpoint_root=None if checkpoint is None else checkpoint.root.hex(),
    )


def _signed(space: Space, reader: Reader) -> Checkpoint | None:
    """Return the newest signed checkpoint; one whose signature does not hold covers nothing."""
    kept = reader.latest_checkpoint()
    try:
        return None if kept is None else space.notary.signers.open(kept.note)
    except Refused:
        return None


def _is_included(reader: Reader, row: SealedRow, checkpoint: Checkpoint) -> bool:
    if row.position >= checkpoint.size:
        return False
    try:
        proof = inclusion_proof(reader, row.position, checkpoint.size)
        verify_inclusion(row.position, checkpoint.size, row.leaf, proof, checkpoint.root)
    except Refused:
        return False
    return True
