"""Where root keys come from, by URI scheme.

| source | the key is |
|---|---|
| `file:/path` | 32 bytes as one line of base64url or hexadecimal, in a file that its owner alone can read |
| `env:NAME` | the same line in an environment variable |
| `keyring:service/name` | the same line in the keystore of the operating system (extra `keyring`) |
| `passphrase:` | Argon2id of a passphrase that the person at the terminal types |
| `passphrase:env:NAME`, `passphrase:file:/path` | Argon2id of a passphrase from there |

The secret is never in the URI: a URI shows in process lists, shell histories and settings. A key management service
needs no scheme: whoever opens a store may hand over a `RootKey` of their own, or a table of openers with schemes of
their own.

What must be known again to come to the same key (the salt and the cost of Argon2id) is a `RootDescriptor`; the store
keeps it.
"""

from __future__ import annotations

import getpass
import importlib
import os
import stat
import sys
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path

from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from msgspec import Struct

from muniment.crypto import files
from muniment.crypto.root import LocalRoot, RootKey
from muniment.crypto.secret import KEY_BYTES
from muniment.errors import KeyExposed, KeyInvalid, KeyUnavailable, KeyWrong
from muniment.kernel.digest import b64url, unb64url
from muniment.kernel.sources import Entropy

SALT_BYTES = 16
MEMORY_KIB_MIN, MEMORY_KIB_MAX = 8 * 1024, 2 * 1024 * 1024
ITERATIONS_MAX = 64
LANES_MAX = 64
PASSPHRASE_BYTES_MAX = 4096
KEY_LINE_BYTES_MAX = 4096
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Argon2(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Salt and cost of Argon2id. The defaults are RFC 9106's second recommendation: 64 MiB, 3 passes, 4 lanes."""

    salt: str
    memory_kib: int = 64 * 1024
    iterations: int = 3
    lanes: int = 4

    def __post_init__(self) -> None:
        bounds = (
            ("memory_kib", self.memory_kib, MEMORY_KIB_MIN, MEMORY_KIB_MAX),
            ("iterations", self.iterations, 1, ITERATIONS_MAX),
            ("lanes", self.lanes, 1, LANES_MAX),
        )
        for name, found, least, most in bounds:
            if not least <= found <= most:
                raise KeyInvalid(at=f"argon2.{name}", problem="out_of_range", limit=most, found=found)
        try:
            size = len(unb64url(self.salt))
        except ValueError:
            raise KeyInvalid(at="argon2.salt", problem="not_base64url") from None
        if size < SALT_BYTES:
            raise KeyInvalid(at="argon2.salt", problem="too_short", limit=SALT_BYTES, found=size)

    def stretch(self, passphrase: bytes) -> bytes:
        """Return the 32 bytes that the passphrase stands for."""
        kdf = Argon2id(
            salt=unb64url(self.salt),
            length=KEY_BYTES,
            iterations=self.iterations,
            lanes=self.lanes,
            memory_cost=self.memory_kib,
        )
        return kdf.derive(passphrase)


class RootDescriptor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a store remembers of the way to its root key; nothing of it is secret."""

    scheme: str
    argon2: Argon2 | None = None


Ask = Callable[[str], str]


def ask_at_terminal(prompt: str) -> str:
    """Ask the person at the terminal without showing what they type."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise KeyUnavailable(at="keys", problem="no_terminal")
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise KeyUnavailable(at="keys", problem="no_passphrase") from None


class OpenerContext(Struct, frozen=True, kw_only=True):
    """What an opener may use: chance, the store's descriptor, leave to make a key, a way to ask for a passphrase."""

    entropy: Entropy
    descriptor: RootDescriptor
    create: bool = False
    ask: Ask = ask_at_terminal


Opener = Callable[[str, OpenerContext], RootKey]


def open_root(uri: str, occasion: OpenerContext, openers: Mapping[str, Opener] | None = None) -> RootKey:
    """Return the root key that a URI names.

    With `occasion.create` a key file or keystore entry that does not exist is made. Raises `KeyInvalid` for a
    malformed URI or key, `KeyUnavailable` when the source does not give a key, `KeyExposed` when others could read it
    too.
    """
    scheme, colon, rest = uri.partition(":")
    opener = (OPENERS if openers is None else openers).get(scheme) if colon else None
    if opener is None:
        raise KeyInvalid(at="keys", problem="unknown_scheme")
    return opener(rest, occasion)


def describe(uri: str, entropy: Entropy, argon2: Argon2 | None = None) -> RootDescriptor:
    """Return the descriptor of a source for a new store; for a passphrase with a new salt, or with what is given."""
    scheme = uri.partition(":")[0]
    if scheme != "passphrase":
        return RootDescriptor(scheme=scheme)
    return RootDescriptor(scheme=scheme, argon2=argon2 or Argon2(salt=b64url(entropy.take(SALT_BYTES))))


# --- openers ----------------------------------------------------------------------------------------------------------


def _from_file(rest: str, occasion: OpenerContext) -> RootKey:
    path = _path(rest)
    if occasion.create and not path.exists():
        _create_key_file(path, occasion.entropy)
    return LocalRoot(_parse_key(_read_private(path)), occasion.entropy)


def _from_environment(rest: str, occasion: OpenerContext) -> RootKey:
    return LocalRoot(_parse_key(_variable(rest)), occasion.entropy)


def _from_keystore(rest: str, occasion: OpenerContext) -> RootKey:
    service, _, name = rest.partition("/")
    if not service or not name:
        raise KeyInvalid(at="keys", problem="service_and_name_wanted")
    try:
        keystore = importlib.import_module("keyring")
        refusals = importlib.import_module("keyring.errors")
    except ImportError:
        raise KeyUnavailable(at="keys", problem="extra_keyring_not_installed") from None
    try:
        line = keystore.get_password(service, name)
        if line is None and occasion.create:
            keystore.set_password(service, name, b64url(occasion.entropy.take(KEY_BYTES)))
            line = keystore.get_password(service, name)
    except refusals.KeyringError:
        raise KeyUnavailable(at="keys", problem="keystore_refused") from None
    if line is None:
        raise KeyUnavailable(at="keys", problem="no_such_entry")
    return LocalRoot(_parse_key(line.encode()), occasion.entropy)


def _from_passphrase(rest: str, occasion: OpenerContext) -> RootKey:
    argon2 = occasion.descriptor.argon2
    if argon2 is None:
        raise KeyWrong(at="keys", problem="not_made_with_a_passphrase")
    scheme, _, place = rest.partition(":")
    giver = PASSPHRASES.get(scheme)
    if giver is None:
        raise KeyInvalid(at="keys", problem="unknown_scheme")
    return LocalRoot(argon2.stretch(_normal(giver(place, occasion))), occasion.entropy)


OPENERS: Mapping[str, Opener] = {
    "file": _from_file,
    "env": _from_environment,
    "keyring": _from_keystore,
    "passphrase": _from_passphrase,
}


# --- passphrases ------------------------------------------------------------------------------------------------------


def _ask(_: str, occasion: OpenerContext) -> bytes:
    passphrase = occasion.ask("Passphrase of the store: ")
    if occasion.create and occasion.ask("The same again: ") != passphrase:
        raise KeyInvalid(at="keys", problem="passphrases_differ")
    return passphrase.encode(errors="surrogateescape")


PASSPHRASES: Mapping[str, Callable[[str, OpenerContext], bytes]] = {
    "": _ask,
    "env": lambda place, _: _variable(place),
    "file": lambda place, _: _read_private(_path(place)),
}


def _normal(passphrase: bytes) -> bytes:
    """Give one passphrase one spelling: without the end of its line, and composed, whatever keyboard typed it."""
    line = passphrase.rstrip(b"\r\n")
    if not line or len(line) > PASSPHRASE_BYTES_MAX:
        raise KeyInvalid(at="keys", problem="passphrase_length", limit=PASSPHRASE_BYTES_MAX, found=len(line))
    try:
        return unicodedata.normalize("NFC", line.decode()).encode()
    except UnicodeDecodeError:
        raise KeyInvalid(at="keys", problem="not_unicode") from None


# --- places -----------------------------------------------------------------------------------------------------------


def _parse_key(line: bytes) -> bytes:
    text = line.strip().decode("ascii", "replace").rstrip("=")
    try:
        key = bytes.fromhex(text) if len(text) == 2 * KEY_BYTES else unb64url(text)
    except ValueError:
        raise KeyInvalid(at="keys", problem="not_base64url_or_hex") from None
    if len(key) != KEY_BYTES:
        raise KeyInvalid(at="keys", problem="length", limit=KEY_BYTES, found=len(key))
    return key


def _variable(name: str) -> bytes:
    if not name:
        raise KeyInvalid(at="keys", problem="name_wanted")
    value = os.environb.get(os.fsencode(name))
    if value is None:
        raise KeyUnavailable(at="keys", problem="variable_not_set")
    return value


def _path(rest: str) -> Path:
    """Read the part of a URI after `file:`; both `file:/path` and `file:///path` are written in the wild."""
    if rest.startswith("///"):
        rest = rest.removeprefix("//")
    if not rest or rest.startswith("//") or "\0" in rest:
        raise KeyInvalid(at="keys", problem="path_wanted")
    return Path(rest)


def _create_key_file(path: Path, entropy: Entropy) -> None:
    """Make a key file that appears whole or not at all; when two make it at once, one of them wins and both use it."""
    beside = path.with_name(f".{path.name}.{entropy.take(8).hex()}")
    try:
        files.make_directory(path.parent)
        files.write_new(beside, b64url(entropy.take(KEY_BYTES)).encode() + b"\n")
        try:
            os.link(beside, path)
        except FileExistsError:
            pass  # the other's key is as good as ours
        finally:
            beside.unlink()
        files.sync_directory(path.parent)
    except OSError:
        raise KeyUnavailable(at="keys", problem="file_not_made") from None


def _read_private(path: Path) -> bytes:
    """Return the contents of a file that its owner, who is us, alone can read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        raise KeyUnavailable(at="keys", problem="file_not_readable") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KeyInvalid(at="keys", problem="not_a_file")
        if stat.S_IMODE(status.st_mode) & OTHERS:
            raise KeyExposed(at="keys", problem="mode")
        if status.st_uid != os.geteuid():
            raise KeyExposed(at="keys", problem="owner")
        contents = os.read(descriptor, KEY_LINE_BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    if len(contents) > KEY_LINE_BYTES_MAX:
        raise KeyInvalid(at="keys", problem="too_long", limit=KEY_LINE_BYTES_MAX)
    return contents
