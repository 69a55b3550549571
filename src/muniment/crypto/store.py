"""The keys of a store: `store.json` in its directory, and the lookup of the keys of a space by its name.

The file has one entry for each root key that opens the store: its id, its source (`RootDescriptor`), a key check value,
and the wrapped index key of the store. A root key is checked before anything else is read or written, so a wrong key
changes nothing. The index key turns names of spaces into names of directories (a keyed digest), so that the names are
not on disk; it also authenticates the file.

`rotate_root` changes several files, so `store.json` records that it is in progress:

1. An entry for the new root key is added.
2. The keys of each space are wrapped by the new root key; each `keys.json` names the root key that wrapped it.
3. The old entry is removed.

After a crash the store opens with either root key, `unfinished` is true, and repeating the call completes the rotation;
the keys of a space are unwrapped by the root key that its file names. No log is touched. The rotation holds the lock
under which spaces are created.

Layout: `store.json`, `store.lock`, `spaces/<32 hexadecimal digits>/keys.json`. Everything is 0600 in directories 0700.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment.crypto import files
from muniment.crypto.file_format import check_format, parse_canonical
from muniment.crypto.keyring import FILE as SPACE_FILE
from muniment.crypto.keyring import SpaceKeys, is_erased, root_of
from muniment.crypto.record_cipher import RecordCipher
from muniment.crypto.root import RootKey, derive
from muniment.crypto.root_sources import (
    Ask,
    Opener,
    OpenerContext,
    RootDescriptor,
    ask_at_terminal,
    describe,
    open_root,
)
from muniment.crypto.secret import KEY_BYTES, Secret
from muniment.errors import Conflict, Corrupt, KeyInvalid, KeyWrong, SpaceErased, StoreFull, StoreMissing, StoreReadOnly
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url, keyed_digest, unb64url
from muniment.kernel.sources import Entropy, Sources

FORMAT = 1
FILE, LOCK, SPACES = "store.json", "store.lock", "spaces"
CHECK = b"muniment key check"
RECORDS = b"muniment/v1/operational records"
HOST = RootDescriptor(scheme="host")  # a root key that the host passed as an object


class RootKeyEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One root key that opens the store."""

    root: str
    descriptor: RootDescriptor
    check: str
    index: str


class StoreFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"roots": "doors"}):
    """The stored `store.json`. The newest root key is the last."""

    format: int
    store: str
    roots: tuple[RootKeyEntry, ...]
    mac: str = ""


_store_file = msgspec.json.Decoder(StoreFile)


class StoreKeys(Secret):
    """The keys of an open store."""

    __slots__ = ("_directory", "_file", "_index_key", "_is_planned", "_root")

    def __init__(self, directory: Path, root: RootKey, planned: StoreFile | None = None) -> None:
        """Open the store in this directory with this root key; `planned` is the file of one that is not made yet.

        Raises `StoreMissing`, `StoreNewer`, `Corrupt`, and `KeyWrong` before anything else is read or written.
        """
        self._directory = directory
        self._root = root
        self._is_planned = planned is not None
        with files.faults(FILE):
            self._file = planned or _read(directory)
            self._index_key = _unlock(self._file, root)
            if planned is None:
                self._settle()

    @classmethod
    def create(cls, directory: Path, root: RootKey, descriptor: RootDescriptor, sources: Sources) -> StoreKeys:
        """Create the keys of a store; when another process was first, open its store."""
        with files.faults(FILE):
            files.make_directory(directory)
            with files.locked(directory / LOCK):
                if not (directory / FILE).exists():
                    files.replace(directory / FILE, encode_plain(_new_file(root, descriptor, sources)))
        return cls(directory, root)

    @classmethod
    def plan(cls, directory: Path, root: RootKey, descriptor: RootDescriptor, sources: Sources) -> StoreKeys:
        """Return the keys of a store that is made by the first change of it, and by nothing else."""
        return cls(directory, root, _new_file(root, descriptor, sources))

    def _label(self) -> str:
        return self.store_id

    @property
    def store_id(self) -> str:
        """Return the opaque id of the store."""
        return self._file.store

    @property
    def root_id(self) -> str:
        """Return the id of the root key that the store was opened with."""
        return self._root.key_id

    @property
    def root(self) -> RootKey:
        """Return the root key that the store was opened with."""
        return self._root

    @property
    def descriptor(self) -> RootDescriptor:
        """Return the source of that root key."""
        return next(entry.descriptor for entry in self._file.roots if entry.root == self.root_id)

    @property
    def unfinished(self) -> bool:
        """Return whether a rotation of the root key was unfinished when the store was opened."""
        return len(self._file.roots) > 1

    def record_cipher(self) -> RecordCipher:
        """Return what seals the operational records of the store; it stays when the root key is rotated."""
        return RecordCipher(derive(self._index_key, RECORDS, KEY_BYTES))

    def space_directory(self, name: str) -> Path:
        """Return the directory of the space with this name, whether it exists or not."""
        return self._directory / SPACES / keyed_digest(self._index_key, "space", name)[:16].hex()

    def space(self, name: str, entropy: Entropy) -> SpaceKeys:
        """Return the keys of a space; raises `StoreMissing` without one, `Corrupt` when they belong to another."""
        keys = self._load(self.space_directory(name), entropy)
        if keys.name != name:
            raise Corrupt(at=SPACE_FILE, problem="misplaced")
        return keys

    def create_space(self, name: str, sources: Sources) -> SpaceKeys:
        """Create the keys of a space; when it exists already, return its keys."""
        directory = self.space_directory(name)
        if (directory / SPACE_FILE).exists():  # without the lock, which cannot be taken where nothing can be written
            return self.space(name, sources.entropy)
        with self._change():
            if not (directory / SPACE_FILE).exists():
                return SpaceKeys.create(directory, name, self._root, sources)
        return self.space(name, sources.entropy)

    def spaces(self, entropy: Entropy) -> Iterator[SpaceKeys]:
        """Yield the keys of every space, in the order of their directories."""
        for directory in self._directories():
            keys = self._load(directory, entropy)
            if self.space_directory(keys.name) != directory:
                raise Corrupt(at=SPACE_FILE, problem="misplaced")
            yield keys

    def rotate_root(self, new_root: RootKey, descriptor: RootDescriptor, entropy: Entropy) -> int:
        """Rotate the root key, or complete an interrupted rotation; return how many spaces were rewrapped.

        Raises `KeyInvalid` when the new root key is the current one, and `Conflict` when a rotation to a third one is
        unfinished.
        """
        if new_root.key_id == self._root.key_id:
            raise KeyInvalid(at="keys", problem="same_key")
        changed = 0
        with self._change() as file:
            others = {entry.root for entry in file.roots} - {self._root.key_id}
            if not others:
                added = _root_entry(file.store, self._index_key, new_root, descriptor)
                self._write((*file.roots, added), new_root)
            elif others != {new_root.key_id}:
                raise Conflict(at=FILE, problem="root_rotation_unfinished")
            _unlock(self._file, new_root)
            for directory in self._directories():
                if root_of(directory) != new_root.key_id:
                    changed += SpaceKeys(directory, self._root, entropy).rewrap(new_root)
            kept = tuple(entry for entry in self._file.roots if entry.root == new_root.key_id)
            self._write(kept, new_root)
            self._root = new_root
        return changed

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep everybody else from creating spaces and from rotating the root key."""
        with self._change():
            yield

    @contextmanager
    def _change(self) -> Iterator[StoreFile]:
        """Hold the lock of the store and yield the file in force; raises `KeyWrong` when our root key was retired."""
        if self._is_planned:
            with files.faults(FILE):
                files.make_directory(self._directory)
        with files.faults(FILE), files.locked(self._directory / LOCK):
            files.settle(self._directory / FILE)
            if not (self._directory / FILE).exists() and self._is_planned:
                files.replace(self._directory / FILE, encode_plain(self._file))
            self._file, self._is_planned = _read(self._directory), False
            self._index_key = _unlock(self._file, self._root)
            yield self._file

    def _settle(self) -> None:
        """Complete an interrupted replacement; a reader without write access leaves it to the next writer."""
        if files.unsettled(self._directory / FILE):
            try:
                with files.faults(LOCK), files.locked(self._directory / LOCK):
                    files.settle(self._directory / FILE)
            except (StoreFull, StoreReadOnly):
                pass

    def _directories(self) -> list[Path]:
        """Return the directories of all spaces that are not erased."""
        with files.faults(SPACES):
            directories = sorted(path.parent for path in (self._directory / SPACES).glob(f"*/{SPACE_FILE}"))
        return [directory for directory in directories if not is_erased(directory)]

    def _load(self, directory: Path, entropy: Entropy) -> SpaceKeys:
        try:
            return SpaceKeys(directory, self._root, entropy)
        except SpaceErased:
            raise SpaceErased(at=f"{SPACES}/{directory.name}") from None
        except KeyWrong:
            if self.unfinished:
                raise KeyWrong(at=SPACE_FILE, problem="root_rotation_unfinished") from None
            raise

    def _write(self, roots: tuple[RootKeyEntry, ...], newest: RootKey) -> None:
        """Replace the entries, after checking that the newest root key opens its own."""
        file = _authentic(msgspec.structs.replace(self._file, roots=roots), self._index_key)
        _unlock(file, newest)
        files.replace(self._directory / FILE, encode_plain(file))
        self._file = file


def open_keys(
    directory: Path,
    keys: str | RootKey,
    sources: Sources,
    *,
    create: bool = False,
    openers: Mapping[str, Opener] | None = None,
    ask: Ask = ask_at_terminal,
) -> StoreKeys:
    """Open a store with a root key or the URI of one (`muniment.crypto.root_sources`).

    With `create`, a missing store is created, and so is the key that the URI names. A key is never created for a store
    that exists: it could not be the right one.
    """
    known = descriptors(directory)
    if not known and not create:
        raise StoreMissing(at=FILE)
    if not isinstance(keys, str):
        return StoreKeys(directory, keys) if known else StoreKeys.create(directory, keys, HOST, sources)
    if not known:
        descriptor = describe(keys, sources.entropy)
        context = OpenerContext(entropy=sources.entropy, descriptor=descriptor, create=True, ask=ask)
        return StoreKeys.create(directory, open_root(keys, context, openers), descriptor, sources)
    for descriptor in known:
        root = open_root(keys, OpenerContext(entropy=sources.entropy, descriptor=descriptor, ask=ask), openers)
        try:
            return StoreKeys(directory, root)
        except KeyWrong:
            continue  # during a rotation there are two root keys, each with its own source
    raise KeyWrong(at=FILE)


def plan_keys(directory: Path, keys: str | RootKey, sources: Sources) -> StoreKeys:
    """Open a store as `open_keys` does; plan one that is missing, for its first change. The key must be there."""
    if descriptors(directory):
        return open_keys(directory, keys, sources)
    if not isinstance(keys, str):
        return StoreKeys.plan(directory, keys, HOST, sources)
    descriptor = describe(keys, sources.entropy)
    root = open_root(keys, OpenerContext(entropy=sources.entropy, descriptor=descriptor))
    return StoreKeys.plan(directory, root, descriptor, sources)


def descriptors(directory: Path) -> tuple[RootDescriptor, ...]:
    """Return the sources of the root keys that open the store in this directory, newest first; empty without a store.

    They are not authenticated, but their keys will be.
    """
    try:
        with files.faults(FILE):
            file = _read(directory)
    except StoreMissing:
        return ()
    return tuple(entry.descriptor for entry in reversed(file.roots))


# --- the file ---------------------------------------------------------------------------------------------------------


def _read(directory: Path) -> StoreFile:
    contents, _ = files.read(directory / FILE)
    check_format(contents, FILE, FORMAT)
    return parse_canonical(contents, _store_file, FILE)


def _new_file(root: RootKey, descriptor: RootDescriptor, sources: Sources) -> StoreFile:
    store, index_key = sources.ids.new_id(), sources.entropy.take(KEY_BYTES)
    roots = (_root_entry(store, index_key, root, descriptor),)
    file = _authentic(StoreFile(format=FORMAT, store=store, roots=roots), index_key)
    _unlock(file, root)
    return file


def _context(store: str, purpose: str) -> bytes:
    return f"{store}/{purpose}/0".encode()


def _root_entry(store: str, index_key: bytes, root: RootKey, descriptor: RootDescriptor) -> RootKeyEntry:
    return RootKeyEntry(
        root=root.key_id,
        descriptor=descriptor,
        check=b64url(root.wrap(CHECK, _context(store, "check"))),
        index=b64url(root.wrap(index_key, _context(store, "store-index"))),
    )


def _unlock(file: StoreFile, root: RootKey) -> bytes:
    """Check a root key and return the index key of the store."""
    entry = next((entry for entry in file.roots if entry.root == root.key_id), None)
    if entry is None:
        raise KeyWrong(at=FILE)
    try:
        check, wrapped = unb64url(entry.check), unb64url(entry.index)
    except ValueError:
        raise Corrupt(at=FILE, problem="not_base64url") from None
    if root.unwrap(check, _context(file.store, "check")) != CHECK:
        raise KeyWrong(at=FILE)
    index_key = root.unwrap(wrapped, _context(file.store, "store-index"))
    if file.mac != _mac(file, index_key):
        raise Corrupt(at=FILE, problem="not_authentic")
    return index_key


def _mac(file: StoreFile, index_key: bytes) -> str:
    return b64url(keyed_digest(index_key, FILE, encode_plain(msgspec.structs.replace(file, mac=""))))


def _authentic(file: StoreFile, index_key: bytes) -> StoreFile:
    return msgspec.structs.replace(file, mac=_mac(file, index_key))
