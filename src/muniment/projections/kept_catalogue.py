"""The catalogue at rest: a sealed snapshot of what was folded, so that a large space opens without reading its log.

It is bound to the log, its epoch, its size and root, and to this release (`ledger.snapshots`), under the space key: it
opens for nothing else, and for nobody once that key was rotated. It is written when the catalogue has grown by a good
part, and when the space is closed; a small one is folded as fast as it is opened, and never written. Whatever cannot be
used is removed, and the log is read again.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import msgspec
from msgspec import Struct

from muniment.errors import MunimentError
from muniment.evidence.tree import root_at
from muniment.ledger.ledger import Ledger
from muniment.ledger.snapshots import SnapshotBinding, SnapshotKey, Snapshots
from muniment.log.port import Reader
from muniment.projections.conversation_list import ConversationList, ListState
from muniment.projections.evidence_links import Links, Reference
from muniment.version import __version__

NAME = "catalogue"
PREFIX = "fold-"
KEPT_EVENTS_MIN = 2000  # a smaller catalogue is made from the log as fast as it is opened
GROWN_EVENTS = 20_000  # it is written again when the log has grown by so many events, and
GROWN_SHARE = 4  # by that part of what it was
LEFT_EVENTS = 1000  # when the space is closed, it may be behind by so many


class CatalogueState(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What is kept of a catalogue. Columns are bytes of this machine (`order`)."""

    order: str
    listing: ListState
    links: list[Reference]


class RestoredCatalogue(NamedTuple):
    """A catalogue that was kept, and the epoch of the log that it is of."""

    listing: ConversationList
    links: Links
    life: str


_state = msgspec.msgpack.Decoder(CatalogueState)


class KeptCatalogue:
    """The snapshot of the catalogue of one space, or none where nothing is kept. For one thread at a time."""

    def __init__(self, ledger: Ledger, snapshots: Snapshots | None) -> None:
        self._ledger = ledger
        self._snapshots = snapshots
        self._tried_size = 0
        self._is_there = False

    def grown(self, size: int) -> bool:
        """Return whether so many events are worth another snapshot while the space is open."""
        return size - self._tried_size >= max(GROWN_EVENTS, self._tried_size // GROWN_SHARE)

    def left(self, size: int) -> bool:
        """Return whether so many events are worth another snapshot when the space is closed."""
        return size >= KEPT_EVENTS_MIN and size - self._tried_size >= (LEFT_EVENTS if self._is_there else 0)

    def restored(self) -> RestoredCatalogue | None:
        """Return what was kept, if it is of this log as it is; else it is removed."""
        if self._snapshots is None or not self._snapshots.has(NAME):
            return None
        key = self.unlocked()
        restored = None if key is None else self.opened(key)
        if restored is None:
            self.remove()
        return restored

    def unlocked(self) -> SnapshotKey | None:
        """Return the key of the snapshot, while the space key that wraps it exists."""
        is_none = self._snapshots is None or not self._snapshots.has(NAME)
        return None if is_none or self._snapshots is None else self._snapshots.unlock(NAME)

    def opened(self, key: SnapshotKey) -> RestoredCatalogue | None:
        """Return what a key opens, if it is of this log as it is."""
        assert self._snapshots is not None, "it was unlocked"
        try:
            if not self._is_ours(key):
                return None
            sections = self._snapshots.read(NAME, key)
            state = None if sections is None else _state.decode(sections[NAME])
            if state is None or state.order != sys.byteorder:
                return None
        except (MunimentError, msgspec.DecodeError):
            return None
        self._tried_size, self._is_there = state.listing.size, True
        return RestoredCatalogue(
            ConversationList.of_state(state.listing), Links.of_references(state.links), key.label.life
        )

    def write(self, listing: ConversationList, links: Links, reader: Reader) -> bool:
        """Replace the snapshot by one of exactly the reader's state; return whether the disk took it."""
        if self._snapshots is None:
            return False
        self._tried_size, keys = listing.size, self._ledger.keys
        try:
            keys.refresh()
            if len(keys.versions) > 1:
                return False
            binding = self._binding(self._ledger.life(reader), listing.size, reader.frontier().root())
            state = CatalogueState(order=sys.byteorder, listing=listing.state(), links=list(links.every()))
            self._is_there = self._snapshots.write(binding, keys.current, [(NAME, msgspec.msgpack.encode(state))])
        except MunimentError:  # whoever reads next gets it
            return False
        return self._is_there

    def remove(self) -> None:
        """Remove the snapshot, and what interrupted writers left."""
        self._tried_size = 0
        self.retire()

    def retire(self) -> None:
        """Remove a snapshot that opens for nobody any more; another one is written when the space is closed."""
        self._is_there = False
        if self._snapshots is not None:
            self._snapshots.clear()

    def _is_ours(self, key: SnapshotKey) -> bool:
        with self._ledger.reader() as reader:
            size = key.label.size
            if size > reader.frontier().size:
                return False
            return key.label.binding == self._binding(self._ledger.life(reader), size, root_at(reader, size))

    def _binding(self, life: str, size: int, root: bytes) -> SnapshotBinding:
        return SnapshotBinding(
            log=self._ledger.log, life=life, name=NAME, size=size, root=root.hex(), release=__version__
        )
