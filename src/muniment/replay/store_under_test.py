"""The store of a run: of one kind, in a directory of its own, with its key, its pin and its sources.

It can be closed and opened again, and it can crash: then the state on disk at that moment is opened again. A log in
memory is kept as a disk would keep it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from msgspec.structs import replace

from muniment.crypto.root import LocalRoot
from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import SpaceName
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access
from muniment.governance.detection.detection import Detect
from muniment.log.port import Store
from muniment.replay.crashing import CrashingStore, CrashTrigger
from muniment.replay.fixture import CrashPoint, FixtureHeader
from muniment.replay.seeded import SeededSources
from muniment.runtime.open import maker_of, session_at
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options, StoreKind

HOME, CRASHED, FILES = "home", "crashed", "files"
STORE, PINS = "store", "pins"
_FILE_NAME = re.compile(r"\w[\w.-]{0,63}", re.ASCII)


class StoreUnderTest:
    """A store under test."""

    def __init__(self, directory: Path, header: FixtureHeader, kind: StoreKind) -> None:
        self.chance = SeededSources(header)
        self._directory = directory
        self._header = header
        self._kind = kind
        self._make = maker_of(kind)
        self._fuse = CrashTrigger()
        self._stores: list[Store] = []
        self._session: Session | None = None
        self.label = ""  # seeds what an opening draws
        (directory / FILES).mkdir()

    def file(self, name: str) -> Path:
        """Return the path of a file of the run."""
        if not _FILE_NAME.fullmatch(name):
            raise InvalidInput(at="file", problem="malformed")
        return self._directory / FILES / name

    # --- opening and leaving ------------------------------------------------------------------------------------------

    def session(self, space: SpaceName | None = None) -> Session:
        """Return the session of a space, with every right that the header allows."""
        if self._session is None:
            self.chance.opening(self.label)
            self._session = session_at(
                self._home / STORE,
                self._root(),
                self._header.space,
                self._options(),
                make=self._laid,
                at_rest=self._kind is StoreKind.SQLITE,
            )
        if space is None or space == self._header.space:
            return self._session
        self.chance.opening(f"{self.label} {space}")
        return replace(self._session, opened=self._session.store.space(space, create=True))

    def runtime(self, space: SpaceName | None, access: Access | None) -> Runtime:
        """Return the runtime of a space, restricted to an access if one is given."""
        runtime = Runtime(self.session(space))
        return runtime if access is None else runtime.restricted(access)

    def leave(self) -> None:
        """Close the store, if it is open."""
        session, self._session = self._session, None
        if session is not None:
            self.chance.opening(f"{self.label} closing")
            session.store.close()
        self._stores.clear()

    # --- crashing -----------------------------------------------------------------------------------------------------

    def fuse(self, point: CrashPoint, nth: int) -> CrashTrigger:
        """Let the store crash at the n-th time that a point is met from now on."""
        self.session()
        self._fuse.set(point, nth, self._keep)
        return self._fuse

    def crash(self) -> None:
        """Leave the store in the state of the crash, or in the present state when there was none; it is closed then."""
        if not self._fuse.burnt:
            self._keep()
        for store in self._stores:
            store.close()
        self._stores.clear()
        self._session, self._fuse = None, CrashTrigger()
        if self._kind is StoreKind.SQLITE:
            shutil.rmtree(self._home)
            (self._directory / CRASHED).rename(self._home)

    def _keep(self) -> None:
        """Keep what lies on the disk at this moment. What is in memory is kept by who undoes what was not committed."""
        if self._kind is StoreKind.SQLITE:
            shutil.copytree(self._home, self._directory / CRASHED)

    # --- making -------------------------------------------------------------------------------------------------------

    @property
    def _home(self) -> Path:
        return self._directory / HOME

    def _laid(self, path: Path, is_new: bool) -> Store:
        store = CrashingStore(self._make(path, is_new), self._fuse, kept=self._kind is StoreKind.MEMORY)
        self._stores.append(store)
        return store

    def _root(self) -> LocalRoot:
        return LocalRoot(hashlib.sha256(self._header.seeds.root.encode()).digest(), self.chance.sources.entropy)

    def _options(self) -> Options:
        header, looked = self._header, self._header.detect
        return Options(
            sources=self.chance.sources,
            pin=FilePin(self._home / PINS),
            limits=header.limits,
            profile=header.profile,
            policies=frozenset(header.policies),
            detect=Detect(
                views={view: frozenset(types) for view, types in looked.views.items()},
                before_commit=frozenset(looked.before_commit),
                names=frozenset(looked.names),
            ),
        )
