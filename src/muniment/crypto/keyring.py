"""The keys of one space: `keys.json` in the directory of the space.

A space has a log id, a name, an Ed25519 signing seed, an index key (lookups, cursors) and versions of the space key,
of which the newest is current. All but the log id are secret: each is wrapped by the root with log id, purpose and
version as its context, so that no entry can replace another. The file is canonical JSON and carries a MAC under
the index key over all of it.

The file is beside the log and not in it, because a retired space key must be destroyed, and a page of a database
cannot be.

Rotating the space key:

1. `begin_rotation` adds a version, makes it current, and makes that durable;
2. the log re-wraps every bundle of an older version (`cell.rewrap_bundles`). A writer calls `refresh` inside its write
   transaction before it wraps, so none uses a retired version once the re-wrapping has committed;
3. `finish_rotation` destroys the older versions. A reader that still looks at the log of before step 2 may now meet
   `KeyMissing`; it looks again at the present log.

Erasing a space is `destroy`: what is left of the file says that there was a space, and nothing else of it (decision
0052).

After a crash `versions` holds more than one, and steps 2 and 3 are done again. Rotating the root key is `rewrap`;
it changes no space key, so nothing of the log is touched. Both may happen while other processes have the space open.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from muniment.crypto import files
from muniment.crypto.cell import SpaceKey
from muniment.crypto.file_format import check_format, parse_canonical
from muniment.crypto.root import RootKey
from muniment.crypto.secret import KEY_BYTES, Secret
from muniment.errors import Conflict, Corrupt, KeyMissing, KeyWrong, LimitExceeded, SpaceErased, StoreReadOnly
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url, keyed_digest, unb64url
from muniment.kernel.sources import Entropy, Sources

FORMAT = 1
FILE, LOCK = "keys.json", "keys.lock"
VERSIONS_MAX = 16


class WrappedVersion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version of the space key, wrapped."""

    version: int
    key: str


class KeyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`keys.json` as it is stored: wrapped secrets in base64url, versions ascending."""

    format: int
    log: str
    root: str
    name: str
    signing: str
    index: str
    space: tuple[WrappedVersion, ...]
    mac: str = ""


class ErasedKeyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is in the place of `keys.json` after a space was erased; its name is not."""

    format: int
    log: str
    erased: bool = True


class UnwrappedKeys(Struct, frozen=True, kw_only=True):
    """What is in force at one moment, unwrapped."""

    log_id: str
    name: str
    signing_seed: bytes
    index_key: bytes
    space: dict[int, SpaceKey]

    @property
    def current(self) -> SpaceKey:
        """Return the newest version."""
        return self.space[max(self.space)]

    def by_version(self, version: int) -> SpaceKey:
        """Return that version of the space key, or raise `KeyMissing`."""
        if version not in self.space:
            raise KeyMissing(at="space key", found=version)
        return self.space[version]

    def __repr__(self) -> str:
        return f"<Ring {self.log_id}>"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("log_id", self.log_id)]


class SpaceKeys(Secret):
    """The keys of one space, in the memory of this process and durable in its directory."""

    __slots__ = ("_directory", "_entropy", "_ring", "_root", "_stamp")

    def __init__(self, directory: Path, root: RootKey, entropy: Entropy) -> None:
        """Load the keys of the space in this directory.

        Raises `StoreMissing`, `KeyWrong` when another root wrapped them, `StoreNewer`, or `Corrupt`.
        """
        self._directory = directory
        self._root = root
        self._entropy = entropy
        with files.faults(FILE):
            self._settle()
            contents, self._stamp = files.read(self._path)
        self._ring = unwrap(parse(contents), root)

    @classmethod
    def create(cls, directory: Path, name: str, root: RootKey, sources: Sources) -> SpaceKeys:
        """Make the keys of a new space and return them; raises `Conflict` when the directory holds keys already."""
        entropy = sources.entropy
        return cls.put_back(
            directory,
            UnwrappedKeys(
                log_id=sources.ids.new_id(),
                name=name,
                signing_seed=entropy.take(KEY_BYTES),
                index_key=entropy.take(KEY_BYTES),
                space={1: SpaceKey(1, entropy.take(KEY_BYTES))},
            ),
            root,
            entropy,
        )

    @classmethod
    def put_back(cls, directory: Path, ring: UnwrappedKeys, root: RootKey, entropy: Entropy) -> SpaceKeys:
        """Write keys that were made elsewhere, wrapped by this root; raises as `create`."""
        with files.faults(FILE):
            files.make_directory(directory)
            with files.locked(directory / LOCK):
                if (directory / FILE).exists():
                    raise Conflict(at=FILE)
                files.replace(directory / FILE, wrap(ring, root))
        return cls(directory, root, entropy)

    def _label(self) -> str:
        return self.log_id

    @property
    def ring(self) -> UnwrappedKeys:
        """Return all that is in force, as far as this process has seen."""
        return self._ring

    @property
    def log_id(self) -> str:
        """Return the opaque id of the log of this space."""
        return self._ring.log_id

    @property
    def name(self) -> str:
        """Return the name that the host gave to the space."""
        return self._ring.name

    @property
    def signing_seed(self) -> bytes:
        """Return the seed of the Ed25519 key that signs the checkpoints of the log."""
        return self._ring.signing_seed

    @property
    def index_key(self) -> bytes:
        """Return the key of lookups and cursors."""
        return self._ring.index_key

    @property
    def current(self) -> SpaceKey:
        """Return the version that wraps new bundles."""
        return self._ring.current

    @property
    def versions(self) -> tuple[int, ...]:
        """Return the versions that are alive, ascending; more than one means that a rotation is not finished."""
        return tuple(sorted(self._ring.space))

    def by_version(self, version: int) -> SpaceKey:
        """Return that version of the space key, looking at the file once more when it is not known.

        Raises `KeyMissing` when it does not exist, or no longer.
        """
        key = self._ring.space.get(version)
        if key is None:
            self.refresh()
            key = self._ring.space.get(version)
        if key is None:
            raise KeyMissing(at="space key", found=version)
        return key

    def refresh(self) -> bool:
        """Take up what other processes have changed and return whether they had; costs one `stat` when they had not."""
        with files.faults(FILE):
            if files.stamp(self._path) == self._stamp:
                return False
            contents, stamp = files.read(self._path)
        self._take(contents, stamp)
        return True

    def begin_rotation(self) -> SpaceKey:
        """Add a version of the space key, make it current, and return it; it is durable before it is used.

        Raises `LimitExceeded` when too many rotations were begun and none finished.
        """
        with files.faults(FILE), files.locked(self._directory / LOCK):
            ring = self._fresh()
            if len(ring.space) >= VERSIONS_MAX:
                raise LimitExceeded(at="space key", problem="unfinished_rotations", limit=VERSIONS_MAX)
            version = ring.current.version + 1
            added = SpaceKey(version, self._entropy.take(KEY_BYTES))
            self._write(msgspec.structs.replace(ring, space={**ring.space, version: added}), self._root)
        return added

    def finish_rotation(self, version: int) -> int:
        """Destroy every version of the space key that is older than this one; return how many there were.

        The caller has re-wrapped all bundles of older versions: what is left under them can never be read again. A
        repeat destroys nothing and returns 0.
        """
        with files.faults(FILE), files.locked(self._directory / LOCK):
            ring = self._fresh()
            if version not in ring.space:
                raise Conflict(at="space key", found=version)
            kept = {alive: key for alive, key in ring.space.items() if alive >= version}
            destroyed = len(ring.space) - len(kept)
            if destroyed:
                self._write(msgspec.structs.replace(ring, space=kept), self._root)
        return destroyed

    def rewrap(self, new_root: RootKey) -> bool:
        """Wrap everything by another root and destroy what the present one wrapped; return whether that was to do."""
        with files.faults(FILE), files.locked(self._directory / LOCK):
            files.settle(self._path)
            if root_of(self._directory) == new_root.key_id:
                self._root = new_root  # another holder of these keys was first
                return False
            ring = self._fresh()
            self._write(ring, new_root)
            self._root = new_root
        return True

    def destroy(self) -> bool:
        """Destroy all keys of the space, here and in its directory; return whether there were any. Nothing follows."""
        with files.faults(FILE), files.locked(self._directory / LOCK):
            files.settle(self._path)
            is_left = not is_erased(self._directory)
            if is_left:
                files.replace(self._path, encode_plain(ErasedKeyFile(format=FORMAT, log=self.log_id)))
        self._ring = msgspec.structs.replace(self._ring, signing_seed=b"", index_key=b"", space={})
        return is_left

    @property
    def _path(self) -> Path:
        return self._directory / FILE

    def _settle(self) -> None:
        """Complete what a crash interrupted; who may only read leaves that to the next who may write."""
        if files.unsettled(self._path):
            try:
                with files.faults(LOCK), files.locked(self._directory / LOCK):
                    files.settle(self._path)
            except StoreReadOnly:
                pass

    def _fresh(self) -> UnwrappedKeys:
        """Return what is in force now, for a change; the caller holds the lock."""
        files.settle(self._path)
        contents, stamp = files.read(self._path)
        self._take(contents, stamp)
        if parse(contents).root != self._root.key_id:
            raise KeyWrong(at=FILE, problem="root_rotated")
        return self._ring

    def _take(self, contents: bytes, stamp: files.Stamp) -> None:
        """Take up another state of the file.

        When another process has rotated the root key, the keys that are known already stay usable; only what is new
        cannot be unwrapped, and that is `KeyWrong`.
        """
        file = parse(contents)
        if file.root == self._root.key_id:
            self._ring = unwrap(file, self._root)
        else:
            _authenticate(file, self._ring.index_key)
            known, alive = self._ring.space, {wrapped.version for wrapped in file.space}
            if not alive <= known.keys():
                raise KeyWrong(at=FILE, problem="root_rotated")
            self._ring = msgspec.structs.replace(self._ring, space={version: known[version] for version in alive})
        self._stamp = stamp

    def _write(self, ring: UnwrappedKeys, root: RootKey) -> None:
        files.replace(self._path, wrap(ring, root))
        self._ring = ring
        self._stamp = files.stamp(self._path)


def is_erased(directory: Path) -> bool:
    """Return whether the space in this directory was erased."""
    with files.faults(FILE):
        contents, _ = files.read(directory / FILE)
    check_format(contents, FILE, FORMAT)
    return _is_grave(contents)


def root_of(directory: Path) -> str:
    """Return the id of the root key that wrapped the keys of the space in this directory."""
    with files.faults(FILE):
        contents, _ = files.read(directory / FILE)
    return parse(contents).root


# --- the file ---------------------------------------------------------------------------------------------------------


_key_file = msgspec.json.Decoder(KeyFile)
_grave = msgspec.json.Decoder(ErasedKeyFile)


def _is_grave(contents: bytes) -> bool:
    try:
        return _grave.decode(contents).erased
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def parse(contents: bytes) -> KeyFile:
    """Return what is written, not yet authenticated; raises `Corrupt` or `StoreNewer`."""
    check_format(contents, FILE, FORMAT)
    if _is_grave(contents):
        raise SpaceErased(at=FILE)
    file = parse_canonical(contents, _key_file, FILE)
    versions = [wrapped.version for wrapped in file.space]
    if not versions or versions[0] < 1 or versions != sorted(set(versions)):
        raise Corrupt(at=FILE, problem="versions")
    return file


def _context(log_id: str, purpose: str, version: int = 0) -> bytes:
    return f"{log_id}/{purpose}/{version}".encode()


def wrap(ring: UnwrappedKeys, root: RootKey) -> bytes:
    """Return the file that holds a ring, wrapped by a root."""

    def wrapped(secret: bytes, purpose: str, version: int = 0) -> str:
        return b64url(root.wrap(secret, _context(ring.log_id, purpose, version)))

    file = KeyFile(
        format=FORMAT,
        log=ring.log_id,
        root=root.key_id,
        name=wrapped(ring.name.encode(), "name"),
        signing=wrapped(ring.signing_seed, "signing"),
        index=wrapped(ring.index_key, "index"),
        space=tuple(
            WrappedVersion(version=version, key=wrapped(key.secret, "space", version))
            for version, key in sorted(ring.space.items())
        ),
    )
    return encode_plain(msgspec.structs.replace(file, mac=_mac(file, ring.index_key)))


def unwrap(file: KeyFile, root: RootKey) -> UnwrappedKeys:
    """Return the ring in a file; raises `KeyWrong` for another root, `Corrupt` for what was edited."""
    if file.root != root.key_id:
        raise KeyWrong(at=FILE)

    def secret(wrapped: str, purpose: str, version: int = 0) -> bytes:
        try:
            return root.unwrap(unb64url(wrapped), _context(file.log, purpose, version))
        except ValueError:
            raise Corrupt(at=FILE, problem="not_base64url") from None

    # The index key comes first: what it does not authenticate is not looked at.
    index_key = secret(file.index, "index")
    _authenticate(file, index_key)
    return UnwrappedKeys(
        log_id=file.log,
        name=secret(file.name, "name").decode(),
        signing_seed=secret(file.signing, "signing"),
        index_key=index_key,
        space={key.version: SpaceKey(key.version, secret(key.key, "space", key.version)) for key in file.space},
    )


def _mac(file: KeyFile, index_key: bytes) -> str:
    return b64url(keyed_digest(index_key, FILE, encode_plain(msgspec.structs.replace(file, mac=""))))


def _authenticate(file: KeyFile, index_key: bytes) -> None:
    if file.mac != _mac(file, index_key):
        raise Corrupt(at=FILE, problem="not_authentic")
