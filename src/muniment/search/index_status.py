"""What is said of indexes in memory and at rest; `ledger.snapshots` seals them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.governance.views import View
from muniment.ledger.snapshots import SnapshotRefusal


class Indexed(StrEnum):
    """What is searched: the messages of conversations, or memory items."""

    MESSAGES = "messages"
    ITEMS = "items"


def index_name(view: View, of: Indexed) -> str:
    """Return the name of an index, which is that of its snapshot."""
    return view if of is Indexed.MESSAGES else f"{view}-{of}"


class IndexStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An index in memory: the events in it, the memory that it takes, and the events in its snapshot.

    `name` tells the index of messages from that of memory items of the same view.

    `refused`: why an existing snapshot could not be used; it was removed.
    """

    name: str
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
