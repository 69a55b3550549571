"""A store at home: its directory, its keys, and the spaces that are open in it.

    <store>/store.json                 which root keys open the store
    <store>/spaces/<digest>/keys.json  the wrapped keys of a space
    <store>/spaces/<digest>/log.db     its log

Which stores there are for a log (`sqlite`, `memory`) is decided in `runtime.open`, which hands over how to make one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from muniment.crypto.keyring import SpaceKeys
from muniment.crypto.root import RootKey
from muniment.crypto.sources import Occasion, describe, open_root
from muniment.crypto.store import SPACES, StoreKeys
from muniment.errors import StoreMissing
from muniment.log.attest import Notary
from muniment.log.port import Store
from muniment.runtime.options import Options
from muniment.runtime.space import Space

LOG = "log.db"

MakeStore = Callable[[Path, bool], Store]  # where, and whether to make one that is not there


_log = logging.getLogger("muniment")


@contextmanager
def telling_of_new_key(keys: str | RootKey) -> Iterator[None]:
    """Say that a key file was made, when what runs inside makes it; nobody else can keep it safe."""
    path = Path(keys.removeprefix("file:")) if isinstance(keys, str) and keys.startswith("file:") else None
    is_new = path is not None and not path.exists()
    yield
    if is_new:
        _log.warning("a root key was made: %s. Back it up: without it the store cannot be read.", keys)


class Home:
    """An open store. `keys` is None when it was opened for inspection without the root key."""

    def __init__(
        self,
        directory: Path,
        keys: StoreKeys | None,
        make_store: MakeStore,
        options: Options,
        *,
        farewell: Callable[[], object] = bool,
    ) -> None:
        self.directory = directory
        self.keys = keys
        self.sources = options.sources
        self.closed = False
        self._options = options
        self._make_store = make_store
        self._farewell = farewell  # what is left to do when everything is closed
        self._spaces: dict[str, Space] = {}
        self._lock = threading.Lock()

    def space(self, name: str, *, create: bool) -> Space:
        """Return a space of the store, opened once; raises `StoreMissing` for one that does not exist."""
        with self._lock:
            known = self._spaces.get(name)
            if known is not None:
                return known
            assert self.keys is not None, "spaces are opened with keys"
            make, chance = self.keys.create_space, self.sources
            keys = make(name, chance) if create else self.keys.space(name, chance.entropy)
            space = self._open(name, keys)
            self._spaces[name] = space
            return space

    def _open(self, name: str, keys: SpaceKeys) -> Space:
        assert self.keys is not None, "spaces are opened with keys"
        path = self.keys.space_directory(name) / LOG
        # Keys without a log: a space whose making was cut short, unless a pin remembers that there was a log.
        is_new = not path.exists() and Notary(keys, self._options.pin).pinned() is None
        store = self._make_store(path, is_new)
        space = Space(store, keys, self._options)
        try:
            space.begin()
        except BaseException:
            store.close()
            raise
        return space

    def rotate_root(self, uri: str) -> int:
        """Turn the root key of the store over to the one that a URI names; return how many spaces were wrapped anew."""
        assert self.keys is not None, "keys are turned over with keys"
        descriptor = describe(uri, self.sources.entropy)
        with telling_of_new_key(uri):
            new = open_root(uri, Occasion(entropy=self.sources.entropy, descriptor=descriptor, create=True))
        with self._lock:
            changed = self.keys.rotate_root(new, descriptor, self.sources.entropy)
            for space in self._spaces.values():
                space.keys.rewrap(new)
        return changed

    def names(self) -> list[str]:
        """Return the names of all spaces, sorted."""
        assert self.keys is not None, "names are sealed"
        return sorted(keys.name for keys in self.keys.spaces(self.sources.entropy))

    def logs(self) -> Iterator[Store]:
        """Yield the log of every space, for an inspection that needs no key; each is closed behind the caller."""
        paths = sorted((self.directory / SPACES).glob(f"*/{LOG}"))
        if not paths:
            raise StoreMissing(at=SPACES)
        for path in paths:
            store = self._make_store(path, False)
            try:
                yield store
            finally:
                store.close()

    def close(self) -> None:
        """Close every space; a second call does nothing."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            spaces, self._spaces = list(self._spaces.values()), {}
        try:
            for space in spaces:
                space.close()
        finally:
            self._farewell()
