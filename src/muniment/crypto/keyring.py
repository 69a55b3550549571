"""The keys of one space: `keys.json` in the directory of the space.

A space has a log id, a name, an Ed25519 signing seed, an index key (lookups, cursors) and versions of the space key,
of which the newest is current. All but the log id are secret. Each is wrapped by the root key with log id, purpose and
version as its context, so no entry can replace another. The file is canonical JSON with a MAC under the index key.
It also says whether the log was `begun`: from then on a log that is missing or empty was lost (decision 0133).

The file is separate from the log, because a retired space key must be destroyed, and a database page cannot be.

Rotating the space key:

1. `begin_rotation` adds a version, makes it current, and makes that durable. A write transaction of the log calls it
   before it seals anything under the new version;
2. the same transaction seals every row of segment keys again (`crypto.segment`) and commits. A writer calls `refresh`
   inside its own write transaction before it seals, so it knows every version that a committed row is under;
3. `finish_rotation` destroys the older versions. A reader that still looks at the log of before step 2 may now meet
   `KeyMissing`; it looks again at the present log.

Replacing the signing key:

1. a write transaction calls `begin_signing`, which makes the next key durable beside the one in force; it appends the
   announcement, and names the next key in the log;
2. `finish_signing` puts it in force and destroys the former seed. Which of the two signs meanwhile, the log says.

After a crash `versions` has more than one entry, and all steps are repeated. `rewrap` rotates the root key: it
changes no space key, so it does not touch the log. Both may happen while other processes have the space open.

`destroy` erases a space. The rest of the file says that there was a space, and nothing else about it (decision 0052).
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType

from muniment.crypto import files
from muniment.crypto.file_format import check_format, parse_canonical
from muniment.crypto.root import RootKey
from muniment.crypto.secret import KEY_BYTES, Secret
from muniment.crypto.segment import SpaceKey
from muniment.crypto.signing_key import SigningKey
from muniment.errors import (
    Conflict,
    Corrupt,
    KeyMissing,
    KeyWrong,
    LimitExceeded,
    SpaceErased,
    StoreFull,
    StoreReadOnly,
)
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


class NextSigningKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The next signing key, wrapped, and which life of the log it is for."""

    key: str
    life: str = ""
    outside: bool = False


class KeyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stored `keys.json`: wrapped secrets in base64url, versions ascending."""

    format: int
    log: str
    root: str
    name: str
    signing: str
    index: str
    space: tuple[WrappedVersion, ...]
    begun: bool | UnsetType = UNSET
    announcements: tuple[str, ...] | UnsetType = UNSET
    life: str | UnsetType = UNSET
    outside: bool | UnsetType = UNSET
    next: NextSigningKey | UnsetType = UNSET
    mac: str = ""


class ErasedKeyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stored `keys.json` of an erased space: without its name and its keys."""

    format: int
    log: str
    erased: bool = True


class UnwrappedKeys(Struct, frozen=True, kw_only=True):
    """The keys in force at one moment, unwrapped.

    `announcements` are the notes by which each signing key but the first was announced. `next_signing` is in force as
    soon as the log names it.
    """

    log_id: str
    name: str
    signing_seed: bytes
    index_key: bytes
    space: dict[int, SpaceKey]
    begun: bool = False
    announcements: tuple[str, ...] = ()
    life: str = ""
    outside: bool = False
    next_signing: SigningKey | None = None

    @property
    def signing(self) -> SigningKey:
        """Return the signing key."""
        return SigningKey(seed=self.signing_seed, life=self.life, outside=self.outside)

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
        return f"<UnwrappedKeys {self.log_id}>"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("log_id", self.log_id)]


class SpaceKeys(Secret):
    """The keys of one space, in the memory of this process and durable in its directory."""

    __slots__ = ("_directory", "_entropy", "_keys", "_path", "_root", "_stamp")

    def __init__(self, directory: Path, root: RootKey, entropy: Entropy) -> None:
        """Load the keys of the space in this directory.

        Raises `StoreMissing`, `KeyWrong` when another root wrapped them, `StoreNewer`, or `Corrupt`.
        """
        self._directory = directory
        self._path = directory / FILE
        self._root = root
        self._entropy = entropy
        with files.faults(FILE):
            self._settle()
            contents, self._stamp = files.read(self._path)
        self._keys = unwrap(parse(contents), root)

    @classmethod
    def create(cls, directory: Path, name: str, root: RootKey, sources: Sources) -> SpaceKeys:
        """Make the keys of a new space and return them; raises `Conflict` when the directory holds keys already."""
        entropy = sources.entropy
        return cls.restore(
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
    def restore(cls, directory: Path, keys: UnwrappedKeys, root: RootKey, entropy: Entropy) -> SpaceKeys:
        """Write existing keys, wrapped by this root key; raises as `create`."""
        with files.faults(FILE):
            files.make_directory(directory)
            with files.locked(directory / LOCK):
                if (directory / FILE).exists():
                    raise Conflict(at=FILE)
                files.replace(directory / FILE, wrap(keys, root))
        return cls(directory, root, entropy)

    def _label(self) -> str:
        return self.log_id

    @property
    def unwrapped(self) -> UnwrappedKeys:
        """Return the keys in force, as of the last read of the file."""
        return self._keys

    @property
    def log_id(self) -> str:
        """Return the opaque id of the log of this space."""
        return self._keys.log_id

    @property
    def name(self) -> str:
        """Return the name that the host gave to the space."""
        return self._keys.name

    @property
    def signing_seed(self) -> bytes:
        """Return the seed of the Ed25519 key that signs the checkpoints of the log."""
        return self._keys.signing_seed

    @property
    def life(self) -> str:
        """Return which life of the log the signing key is for; the first one has no name."""
        return self._keys.life

    @property
    def index_key(self) -> bytes:
        """Return the key of lookups and cursors."""
        return self._keys.index_key

    @property
    def current(self) -> SpaceKey:
        """Return the version that seals new rows of segment keys."""
        return self._keys.current

    @property
    def versions(self) -> tuple[int, ...]:
        """Return the versions that exist, ascending; more than one means that a rotation is unfinished."""
        return tuple(sorted(self._keys.space))

    def by_version(self, version: int) -> SpaceKey:
        """Return that version of the space key; reads the file again when it is unknown.

        Raises `KeyMissing` when it does not exist or was destroyed.
        """
        key = self._keys.space.get(version)
        if key is None:
            self.refresh()
            key = self._keys.space.get(version)
        if key is None:
            raise KeyMissing(at="space key", found=version)
        return key

    @property
    def begun(self) -> bool:
        """Return whether the log of this space has had an event that was durable."""
        return self._keys.begun

    def mark_begun(self) -> None:
        """Remember, durably, that the log has an event; a repeat does nothing."""
        with files.faults(FILE), files.locked(self._directory / LOCK):
            keys = self._fresh()
            if not keys.begun:
                file = msgspec.structs.replace(parse(files.read(self._path)[0]), begun=True)
                authentic = msgspec.structs.replace(file, mac=_mac(file, keys.index_key))
                self._put(msgspec.structs.replace(keys, begun=True), encode_plain(authentic))

    def refresh(self) -> bool:
        """Load changes by other processes; return whether there were any. Without a change it costs one `stat`."""
        try:
            if files.stamp(self._path) == self._stamp:
                return False
        except OSError:
            pass  # reading says it again
        with files.faults(FILE):
            contents, stamp = files.read(self._path)
        self._load(contents, stamp)
        return True

    def begin_rotation(self) -> SpaceKey:
        """Add a version of the space key, make it current, and return it; it is durable before it is used.

        Raises `LimitExceeded` when too many rotations are unfinished.
        """
        with files.faults(FILE), files.locked(self._directory / LOCK):
            keys = self._fresh()
            if len(keys.space) >= VERSIONS_MAX:
                raise LimitExceeded(at="space key", problem="unfinished_rotations", limit=VERSIONS_MAX)
            version = keys.current.version + 1
            added = SpaceKey(version, self._entropy.take(KEY_BYTES))
            self._write(msgspec.structs.replace(keys, space={**keys.space, version: added}), self._root)
        return added

    def finish_rotation(self, version: int) -> int:
        """Destroy every version of the space key that is older than this one; return how many there were.

        The caller has sealed again what older versions had sealed: anything else can never be read again. A repeat
        destroys nothing and returns 0; so does a rotation that ends behind a later one, which destroyed this version.
        """
        with files.faults(FILE), files.locked(self._directory / LOCK):
            keys = self._fresh()
            if version > keys.current.version:
                raise Conflict(at="space key", found=version)
            if version not in keys.space:
                return 0
            kept = {alive: key for alive, key in keys.space.items() if alive >= version}
            destroyed = len(keys.space) - len(kept)
            if destroyed:
                self._write(msgspec.structs.replace(keys, space=kept), self._root)
        return destroyed

    def begin_signing(self, key: SigningKey) -> None:
        """Make the next signing key durable, in place of one that the log never came to name."""
        with files.faults(FILE), files.locked(self._directory / LOCK):
            self._write(msgspec.structs.replace(self._fresh(), next_signing=key), self._root)

    def finish_signing(self, key: SigningKey, announcements: tuple[str, ...]) -> bool:
        """Put the next signing key in force and destroy the former one; return whether it was this key."""
        with files.faults(FILE), files.locked(self._directory / LOCK):
            keys = self._fresh()
            if keys.next_signing != key:
                return False
            own = {"signing_seed": key.seed, "life": key.life, "outside": key.outside}
            announced = msgspec.structs.replace(keys, **own, next_signing=None, announcements=announcements)
            self._write(announced, self._root)
        return True

    def rewrap(self, new_root: RootKey) -> bool:
        """Wrap all keys by another root key and destroy the former file; return whether anything changed."""
        with files.faults(FILE), files.locked(self._directory / LOCK):
            files.settle(self._path)
            if root_of(self._directory) == new_root.key_id:
                self._root = new_root  # another holder of these keys has done it
                return False
            keys = self._fresh()
            self._write(keys, new_root)
            self._root = new_root
        return True

    def destroy(self) -> bool:
        """Destroy all keys of the space, in memory and on disk, for good; return whether there were any."""
        with files.faults(FILE), files.locked(self._directory / LOCK):
            files.settle(self._path)
            had_keys = not is_erased(self._directory)
            if had_keys:
                files.replace(self._path, encode_plain(ErasedKeyFile(format=FORMAT, log=self.log_id)))
        self._keys = msgspec.structs.replace(self._keys, signing_seed=b"", next_signing=None, index_key=b"", space={})
        return had_keys

    def _settle(self) -> None:
        """Complete an interrupted replacement; a reader without write access leaves it to the next writer."""
        if files.unsettled(self._path):
            try:
                with files.faults(LOCK), files.locked(self._directory / LOCK):
                    files.settle(self._path)
            except (StoreFull, StoreReadOnly):
                pass

    def _fresh(self) -> UnwrappedKeys:
        """Return the keys in force now, for a change; the caller holds the lock."""
        files.settle(self._path)
        contents, stamp = files.read(self._path)
        self._load(contents, stamp)
        if parse(contents).root != self._root.key_id:
            raise KeyWrong(at=FILE, problem="root_rotated")
        return self._keys

    def _load(self, contents: bytes, stamp: files.Stamp) -> None:
        """Load another state of the file.

        After another process has rotated the root key, the known keys remain usable; a new version cannot be unwrapped,
        which raises `KeyWrong`.
        """
        file = parse(contents)
        if file.root == self._root.key_id:
            self._keys = unwrap(file, self._root)
        else:
            _authenticate(file, self._keys.index_key)
            known, alive = self._keys.space, {wrapped.version for wrapped in file.space}
            same = (file.announcements or (), file.next) == (self._keys.announcements, UNSET)
            if not alive <= known.keys() or not same:
                raise KeyWrong(at=FILE, problem="root_rotated")
            self._keys = msgspec.structs.replace(self._keys, space={version: known[version] for version in alive})
        self._stamp = stamp

    def _write(self, keys: UnwrappedKeys, root: RootKey) -> None:
        self._put(keys, wrap(keys, root))

    def _put(self, keys: UnwrappedKeys, contents: bytes) -> None:
        files.replace(self._path, contents)
        self._keys = keys
        self._stamp = files.stamp(self._path)


def is_erased(directory: Path) -> bool:
    """Return whether the space in this directory was erased."""
    with files.faults(FILE):
        contents, _ = files.read(directory / FILE)
    check_format(contents, FILE, FORMAT)
    return _is_erased(contents)


def root_of(directory: Path) -> str:
    """Return the id of the root key that wrapped the keys of the space in this directory."""
    with files.faults(FILE):
        contents, _ = files.read(directory / FILE)
    return parse(contents).root


# --- the file ---------------------------------------------------------------------------------------------------------


_key_file = msgspec.json.Decoder(KeyFile)
_erased_file = msgspec.json.Decoder(ErasedKeyFile)


def _is_erased(contents: bytes) -> bool:
    try:
        return _erased_file.decode(contents).erased
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def parse(contents: bytes) -> KeyFile:
    """Return the parsed file, not yet authenticated; raises `Corrupt`, `StoreNewer` or `SpaceErased`."""
    check_format(contents, FILE, FORMAT)
    if _is_erased(contents):
        raise SpaceErased(at=FILE)
    file = parse_canonical(contents, _key_file, FILE)
    versions = [wrapped.version for wrapped in file.space]
    if not versions or versions[0] < 1 or versions != sorted(set(versions)):
        raise Corrupt(at=FILE, problem="versions")
    return file


def _context(log_id: str, purpose: str, version: int = 0) -> bytes:
    return f"{log_id}/{purpose}/{version}".encode()


def wrap(keys: UnwrappedKeys, root: RootKey) -> bytes:
    """Return the file with these keys, wrapped by a root key."""

    def wrapped(secret: bytes, purpose: str, version: int = 0) -> str:
        return b64url(root.wrap(secret, _context(keys.log_id, purpose, version)))

    file = KeyFile(
        format=FORMAT,
        log=keys.log_id,
        root=root.key_id,
        name=wrapped(keys.name.encode(), "name"),
        signing=wrapped(keys.signing_seed, "signing"),
        index=wrapped(keys.index_key, "index"),
        space=tuple(
            WrappedVersion(version=version, key=wrapped(key.secret, "space", version))
            for version, key in sorted(keys.space.items())
        ),
        begun=True if keys.begun else UNSET,
        announcements=keys.announcements or UNSET,
        life=keys.life or UNSET,
        outside=True if keys.outside else UNSET,
        next=UNSET
        if (key := keys.next_signing) is None
        else NextSigningKey(key=wrapped(key.seed, "next signing"), life=key.life, outside=key.outside),
    )
    return encode_plain(msgspec.structs.replace(file, mac=_mac(file, keys.index_key)))


def unwrap(file: KeyFile, root: RootKey) -> UnwrappedKeys:
    """Return the keys in a file; raises `KeyWrong` for another root key, `Corrupt` for a changed file."""
    if file.root != root.key_id:
        raise KeyWrong(at=FILE)

    def secret(wrapped: str, purpose: str, version: int = 0) -> bytes:
        try:
            return root.unwrap(unb64url(wrapped), _context(file.log, purpose, version))
        except ValueError:
            raise Corrupt(at=FILE, problem="not_base64url") from None

    # The index key comes first: nothing else is unwrapped before it has authenticated the file.
    index_key = secret(file.index, "index")
    _authenticate(file, index_key)
    return UnwrappedKeys(
        log_id=file.log,
        name=secret(file.name, "name").decode(),
        signing_seed=secret(file.signing, "signing"),
        index_key=index_key,
        space={key.version: SpaceKey(key.version, secret(key.key, "space", key.version)) for key in file.space},
        begun=file.begun is True,
        announcements=file.announcements or (),
        life=file.life or "",
        outside=file.outside is True,
        next_signing=None if not file.next else _next_signing(file.next, secret(file.next.key, "next signing")),
    )


def _next_signing(file: NextSigningKey, seed: bytes) -> SigningKey:
    return SigningKey(seed=seed, life=file.life, outside=file.outside)


def _mac(file: KeyFile, index_key: bytes) -> str:
    return b64url(keyed_digest(index_key, FILE, encode_plain(msgspec.structs.replace(file, mac=""))))


def _authenticate(file: KeyFile, index_key: bytes) -> None:
    if file.mac != _mac(file, index_key):
        raise Corrupt(at=FILE, problem="not_authentic")
