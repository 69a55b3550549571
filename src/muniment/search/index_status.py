"""What is said of indexes to whoever does not use them: which there are, and what became of them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.governance.views import View


class SnapshotRefusal(StrEnum):
    """Why a snapshot was not used: it is damaged, its key is retired, or it is of something else."""

    DAMAGED = "damaged"
    KEY_RETIRED = "key_retired"
    OTHER = "other"


class IndexStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An index in memory: of how many events it is, what memory it takes, and of how many events its snapshot is.

    `refused`: why the snapshot that there was could not be used; it was removed.
    """

    view: View
    events: int
    memory_bytes: int
    snapshot_events: int = 0
    from_snapshot: bool = False
    refused: SnapshotRefusal | None = None


class IndexesAfterRotation(NamedTuple):
    """What became of indexes when the key was turned over: in memory, snapshots written again, snapshots removed."""

    in_memory: int = 0
    rewritten: int = 0
    removed: int = 0
