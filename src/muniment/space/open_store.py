"""A store at home: its directory, its keys, and the spaces that are open in it.

    <store>/store.json                 which root keys open the store
    <store>/spaces/<digest>/keys.json  the wrapped keys of a space
    <store>/spaces/<digest>/log.db     its log
    <store>/spaces/<digest>/ballast    the reserve for erasures on a full disk
    <store>/spaces/<digest>/index-*    snapshots of its indexes, sealed
    <store>/restoring/<digest>/        a space that is being put back from a backup
    <store>/operational.db             client keys and other records beside the logs (`log.operational_file`)
    <store>/models/                    the imported model (`space.embedders`)

Which stores there are for a log (`sqlite`, `memory`) is decided in `runtime.open`. It hands over how to make one, and
who goes on with an erasure that was interrupted.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from muniment.crypto import files
from muniment.crypto.keyring import FILE as KEYS
from muniment.crypto.keyring import SpaceKeys, UnwrappedKeys
from muniment.crypto.store import SPACES, StoreKeys
from muniment.errors import Corrupt, KeyUnavailable, MunimentError, StoreClosed, StoreMissing, StoreReadOnly
from muniment.kernel.one_process import OneProcess
from muniment.ledger.attest import Notary
from muniment.log.port import Store
from muniment.search.index_memory import IndexMemory
from muniment.space.embedders import Embedders
from muniment.space.open_spaces import OpenSpaces
from muniment.space.operational_records import OperationalRecords, records_in
from muniment.space.options import Options
from muniment.space.read_models import IndexSetup
from muniment.space.root_keys import new_root, seal_of
from muniment.space.space import UNWRITABLE, Resume, Space

if TYPE_CHECKING:
    from muniment.crypto.root import RootKey
    from muniment.crypto.root_sources import RootDescriptor
    from muniment.evidence.pin import Pin

LOG = "log.db"
RESTORING = "restoring"  # where a space is made that is being restored

T = TypeVar("T")

MakeStore = Callable[[Path, bool], Store]  # where, and whether to make one that is not there


class Logs(NamedTuple):
    """How a log of a store is made, whether it has files of its own, and who completes an interrupted erasure."""

    make: MakeStore
    at_rest: bool = True
    resume: Resume | None = None


class StoreTotals(NamedTuple):
    """How many spaces a process has open, what their logs hold together, and how often it has appended to them."""

    spaces: int
    events: int
    bytes: int
    commits: int


class OpenStore(OneProcess):
    """An open store. `keys` is None when it was opened for inspection without the root key."""

    def __init__(
        self,
        directory: Path,
        keys: StoreKeys | None,
        logs: Logs,
        options: Options,
        *,
        farewell: Callable[[], object] = bool,
    ) -> None:
        super().__init__()
        self.directory = directory
        self.keys = keys
        self.sources = options.sources
        self.embedders = Embedders(options.embedder, directory)
        self.closed = False
        self._options = options
        self._logs = logs
        self._farewell = farewell  # what is left to do when everything is closed
        self._spaces = OpenSpaces[Space](options.spaces_max if logs.at_rest else None)  # what is in memory alone stays
        self._memory = IndexMemory(options.index_bytes_max)

    def require_open(self) -> None:
        """Raise `StoreClosed` when the store was closed, or opened by the process that forked this one."""
        self.require_own_process()
        if self.closed:
            raise StoreClosed

    def space(self, name: str, *, create: bool) -> Space:
        """Return a space of the store, which stays open as long as this; raises `StoreMissing` where there is none."""
        return self._spaces.enter(name, functools.partial(self._open, name, create=create))

    def lend(self, name: str) -> tuple[Space, Callable[[], None]]:
        """Return a space of the store and what gives it back: behind that it may be closed."""
        return self.space(name, create=False), self._spaces.lease(name)

    def is_open(self, name: str) -> bool:
        """Tell whether a space of the store is open now."""
        return self._spaces.holds(name)

    def _open(self, name: str, *, create: bool) -> Space:
        assert self.keys is not None, "spaces are opened with keys"
        self.require_open()
        make, chance = self.keys.create_space, self.sources
        keys = make(name, chance) if create else self.keys.space(name, chance.entropy)
        store = self._log_of(keys, self.keys.space_directory(name) / LOG)
        at_rest = self.keys.space_directory(name) if self._logs.at_rest else None
        setup = IndexSetup(self._memory, at_rest, self.embedders)
        space = Space(store, keys, self._options, setup, resume=self._logs.resume)
        try:
            space.begin()
            if self._logs.at_rest and space.fault is None and not keys.begun:
                with contextlib.suppress(*UNWRITABLE):  # the next opening does it
                    keys.mark_begun()
        except BaseException:
            store.close()
            raise
        return space

    def totals(self) -> StoreTotals:
        """Return what the open spaces hold; a log that cannot be read counts as empty."""
        spaces = self._spaces.listed()
        events = taken = 0
        for space in spaces:
            with contextlib.suppress(MunimentError), space.store.reader() as reader:
                events += reader.frontier().size
                taken += reader.size_bytes()
        return StoreTotals(len(spaces), events, taken, sum(space.commits for space in spaces))

    def embed_again(self) -> None:
        """Let every open space take the embedder that the store has now."""
        for space in self._spaces.listed():
            space.lazy_indexes.embed_again()

    def _log_of(self, keys: SpaceKeys, path: Path) -> Store:
        """Return the log of a space, made when there is none, or an empty file that was to become one.

        Keys without a log are a space whose making was cut short, unless they say that the log was begun, or a pin
        remembers it; that log was lost.
        """
        try:
            return self._logs.make(path, False)
        except StoreMissing:
            if keys.begun or Notary(keys, self._options.pin).pinned() is not None:
                raise Corrupt(at="log", problem="log_lost") from None
        return self._logs.make(path, True)

    @property
    def pin(self) -> Pin | None:
        """Where the checkpoints of the spaces are pinned."""
        return self._options.pin

    def holds(self, name: str) -> bool:
        """Tell whether the store has a space of this name."""
        assert self.keys is not None, "names are sealed"
        return (self.keys.space_directory(name) / KEYS).exists()

    def bare(self, space: Space) -> Space:
        """Return a space on the same log whose checkpoints are pinned nowhere: for whoever puts another log into it."""
        return Space(space.store, space.keys, replace(self._options, pin=None), IndexSetup(self._memory), is_bare=True)

    def put_back(self, ring: UnwrappedKeys, fill: Callable[[Space], T]) -> T:
        """Make a space of keys that were made elsewhere and of the log that `fill` writes.

        It is made beside the others and moved to its place when it is complete, so that it is there whole or not at
        all; what an interrupted attempt left is removed first.
        """
        assert self.keys is not None, "spaces are made with keys"
        if not self._logs.at_rest:
            raise StoreReadOnly(problem="in_memory")
        with self._spaces.unchanged(), self.keys.exclusive():
            final = self.keys.space_directory(ring.name)
            staging = self.directory / RESTORING / final.name
            if staging.exists():
                shutil.rmtree(staging)
            keys = SpaceKeys.restore(staging, ring, self.keys.root, self.sources.entropy)
            store = self._logs.make(staging / LOG, True)
            try:
                outcome = fill(Space(store, keys, replace(self._options, pin=None), IndexSetup(self._memory)))
            finally:
                store.close()
            with files.faults(SPACES):
                files.make_directory(final.parent)
                if final.exists():  # of a space whose log was lost: nothing of it can be read
                    lost = staging.with_name(f"{final.name}.lost")
                    shutil.rmtree(lost, ignore_errors=True)
                    final.rename(lost)
                    staging.rename(final)
                    shutil.rmtree(lost)
                else:
                    staging.rename(final)
                files.sync_directory(final.parent)
                files.sync_directory(staging.parent)
        return outcome

    def seal(self, uri: str | None, descriptor: RootDescriptor | None = None) -> tuple[RootKey, RootDescriptor]:
        """Return a key that seals what leaves the store (`root_keys.seal_of`)."""
        return seal_of(self.keys, self.sources.entropy, uri, descriptor)

    def rotate_root(self, uri: str) -> int:
        """Rotate the root key of the store to the one that a URI names; return how many spaces were rewrapped."""
        assert self.keys is not None, "keys are rotated with keys"
        new, descriptor = new_root(uri, self.sources.entropy)
        with self._spaces.unchanged() as spaces:
            changed = self.keys.rotate_root(new, descriptor, self.sources.entropy)
            for space in spaces:
                space.keys.rewrap(new)
        return changed

    @functools.cached_property
    def records(self) -> OperationalRecords:
        """The operational records of the store; the file is made when the first one is kept."""
        if self.keys is None:
            raise KeyUnavailable(problem="opened_without_key")
        return records_in(self.directory if self._logs.at_rest else None, self.keys, self.sources.clock)

    def names(self) -> list[str]:
        """Return the names of all spaces, sorted."""
        assert self.keys is not None, "names are sealed"
        return sorted(keys.name for keys in self.keys.spaces(self.sources.entropy))

    def logs(self) -> Iterator[Store]:
        """Yield the log of every space, for an inspection that needs no key; each is closed behind the caller.

        Logs in memory are those of the open spaces, which keep them.
        """
        if not self._logs.at_rest:
            yield from (space.store for space in self._spaces.listed())
            return
        paths = sorted((self.directory / SPACES).glob(f"*/{LOG}"))
        if not paths:
            raise StoreMissing(at=SPACES)
        for path in paths:
            store = self._logs.make(path, False)
            try:
                yield store
            finally:
                store.close()

    def close(self) -> None:
        """Close every space, whatever becomes of the others; a second call does nothing, nor one in a forked child."""
        if self.is_foreign:
            return
        with self._spaces.unchanged():
            if self.closed:
                return
            self.closed = True
            spaces = self._spaces.clear()
        with contextlib.ExitStack() as rest:
            rest.callback(self._farewell)
            if "records" in self.__dict__:  # they were used
                rest.callback(self.records.close)
            for space in spaces:
                rest.callback(space.close)
