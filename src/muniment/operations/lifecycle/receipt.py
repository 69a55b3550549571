"""What an erasure receipt says: where content was and what was done there, what is outside, and the proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from muniment.evidence.bundle import event_line
from muniment.evidence.bundle import receipt as tlog_proof
from muniment.evidence.tree import inclusion_proof
from muniment.log.port import Reader
from muniment.operations.lifecycle.report import ErasedPlace
from muniment.search.index_status import IndexesAfterRotation
from muniment.space.rotation import Rotation
from muniment.space.space import Space

OUTSIDE = (
    "indexes in the memory of other processes, until they search the space again",
    "copies that the host, model providers or readers of earlier replays keep",
    "backups of keyring and log made before, until they are restored or destroyed",
    "blocks that the file system or the disk keeps of overwritten key files",
)


def event_proof(space: Space, reader: Reader, position: int, size: int, note: str) -> tuple[str, str]:
    """Return the leaf of an event, in hexadecimal, and the C2SP tlog-proof of it under a signed checkpoint."""
    row = reader.sealed(position)
    assert row is not None, "the event was just made durable"
    proof = inclusion_proof(reader, position, size)
    line = event_line(space.ledger.header(row)[1], {})
    return row.leaf.hex(), tlog_proof(line, position, proof, note)


def erased_places(counts: Counter[str], rotation: Rotation[Any]) -> Iterator[ErasedPlace]:
    """Yield every location that an erasure of turns reached."""
    erased = counts["content"] + counts["item"]
    if counts["message"]:
        yield ErasedPlace(place="content of the turn", done="encrypted again without the message; former key destroyed")
    else:
        yield ErasedPlace(place="content keys", done=f"{erased} destroyed")
        yield ErasedPlace(place="content cells", done=f"{erased} removed, freed pages overwritten")
    if counts["blind"]:
        blind = f"{counts['blind']} that did not open destroyed whole: of these turns only the header is left"
        yield ErasedPlace(place="envelopes", done=blind)
    if counts["beside"]:
        yield ErasedPlace(place="content recorded beside the turns", done=f"{counts['beside']} destroyed")
    if counts["experience"]:
        yield ErasedPlace(place="experience with tools", done=f"{counts['experience']} destroyed, of the items")
    if counts["registry"]:
        removed = f"{counts['registry']} removed; display names, notes and reasons destroyed"
        yield ErasedPlace(place="tool registries", done=removed)
    yield from chunks_place(rotation.chunks_removed)
    yield ErasedPlace(place="digest of the turn's words", done="destroyed with its content cell")
    yield ErasedPlace(place="write-ahead log", done=f"emptied, {rotation.scrub.wal_bytes} bytes left")
    yield ErasedPlace(
        place="space key", done=f"version {rotation.version} in force, {rotation.versions_destroyed} older destroyed"
    )
    yield from _indexes(rotation.indexes)
    yield ErasedPlace(place="memory of this process", done="nothing else of the words is cached")


def chunks_place(chunks: int) -> Iterator[ErasedPlace]:
    """Yield what an erasure did with the chunks of attachments, where there were any."""
    if chunks:
        removed = f"{chunks} removed, freed pages overwritten; keys destroyed with the content"
        yield ErasedPlace(place="chunks of attachments", done=removed)


def _indexes(carried: IndexesAfterRotation) -> Iterator[ErasedPlace]:
    in_memory = f"taken out of {carried.in_memory}, vectors too" if carried.in_memory else "there were none"
    yield ErasedPlace(place="search indexes in memory", done=in_memory)
    rewritten = (
        f"{carried.rewritten} encrypted again without the content, {carried.removed} removed, former keys destroyed"
    )
    at_rest = rewritten if carried.rewritten or carried.removed else "there were none"
    yield ErasedPlace(place="search indexes at rest", done=at_rest)
