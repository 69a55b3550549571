"""What is said of indexes in memory and at rest; `ledger.snapshots` seals them."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from muniment.governance.views import View
from muniment.ledger.snapshots import SnapshotRefusal


class IndexStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An index in memory: the events in it, the memory that it takes, and the events in its snapshot.

    `refused`: why an existing snapshot could not be used; it was removed.
    """

    view: View
    events: int
    memory_bytes: int
    snapshot_events: int = 0
    from_snapshot: bool = False
    refused: SnapshotRefusal | None = None


class IndexesAfterRotation(NamedTuple):
    """Indexes after a rotation of the key: those in memory, snapshots written again, snapshots removed."""

    in_memory: int = 0
    rewritten: int = 0
    removed: int = 0
