"""Checkpoints: the head of a log, signed and pinned; cosigned by witnesses and stamped by an authority, if named."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from muniment.evidence import verifier
from muniment.evidence.cosignatures import Cosigned, HttpWitness, WitnessKey, cosignatures_of
from muniment.operations.evidence.cosign import cosigned
from muniment.operations.evidence.stamp import stamp
from muniment.space.space import Space


class CheckpointReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A signed checkpoint of the head: what it says, the note, and the public key that verifies it.

    `timestamps` are those in the note, which are checked when the note is verified. `cosignatures` are those in it of
    the witnesses that were asked; they were verified, and their times are the word of the witness.
    """

    origin: str
    size: int
    root: str
    note: str
    vkey: str
    timestamps: list[verifier.Timestamp] = []
    cosignatures: list[Cosigned] = []


def checkpoint(space: Space, timestamp_url: str | None, witnesses: Sequence[HttpWitness]) -> CheckpointReport:
    """Sign the head of the log, unless it is signed, and pin it; have those who are named cosign and stamp it."""
    signed = space.checkpoint()
    note = cosigned(space, signed, witnesses)
    if timestamp_url is not None:
        note = stamp(note, timestamp_url, space.sources.entropy)
        space.notary.keep_stamped(space.ledger, note)
    return CheckpointReport(
        origin=signed.checkpoint.origin,
        size=signed.checkpoint.size,
        root=signed.checkpoint.root.hex(),
        note=note,
        vkey=str(space.notary.key),
        timestamps=list(verifier.timestamps_of([note], None)),
        cosignatures=cosignatures_of(note, [WitnessKey.parse(witness.vkey) for witness in witnesses]),
    )
