"""Sources of root keys, by URI scheme.

| source | the key is |
|---|---|
| `file:/path`, `/path` | 32 bytes as one line of base64url or hexadecimal, in a file that only its owner can read |
| `env:NAME` | the same line in an environment variable, or in the file that `NAME_FILE` names |
| `keyring:service/name` | the same line in the keystore of the operating system (extra `keyring`) |
| `passphrase:` | Argon2id of a passphrase that the person at the terminal types |
| `passphrase:env:NAME`, `passphrase:file:/path` | Argon2id of a passphrase from there |

The URI never contains the secret, because it is visible in process lists, shell histories and settings. A key
management service needs no scheme: a host can pass its own `RootKey`, or openers for its own schemes.

The parameters that lead to the same key again (the salt and the cost of Argon2id) are a `RootDescriptor`, which the
store keeps.
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
from muniment.errors import FileUnavailable, KeyExposed, KeyInvalid, KeyUnavailable, KeyWrong
from muniment.kernel.digest import b64url, unb64url
from muniment.kernel.environment import secret_of
from muniment.kernel.sources import Entropy

SALT_BYTES = 16
MEMORY_KIB_MIN, MEMORY_KIB_MAX = 8 * 1024, 2 * 1024 * 1024
ITERATIONS_MAX = 64
LANES_MAX = 64
PASSPHRASE_BYTES_MAX = 4096
KEY_LINE_BYTES_MAX = 4096
PATHS = ("/", "./", "../")  # what a path begins with, whatever follows
PATH_SIGNS = frozenset("/.")
URL_SAFE = str.maketrans("+/", "-_")
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
        for name, value, low, high in bounds:
            if not low <= value <= high:
                raise KeyInvalid(at=f"argon2.{name}", problem="out_of_range", limit=high, found=value)
        try:
            size = len(unb64url(self.salt))
        except ValueError:
            raise KeyInvalid(at="argon2.salt", problem="not_base64url") from None
        if size < SALT_BYTES:
            raise KeyInvalid(at="argon2.salt", problem="too_short", limit=SALT_BYTES, found=size)

    def stretch(self, passphrase: bytes) -> bytes:
        """Return the 32 bytes of the key that is derived from the passphrase."""
        kdf = Argon2id(
            salt=unb64url(self.salt),
            length=KEY_BYTES,
            iterations=self.iterations,
            lanes=self.lanes,
            memory_cost=self.memory_kib,
        )
        return kdf.derive(passphrase)


class RootDescriptor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The public parameters of the source of a root key, kept by the store."""

    scheme: str
    argon2: Argon2 | None = None


Ask = Callable[[str], str]


def ask_at_terminal(prompt: str) -> str:
    """Prompt at the terminal without showing the input."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise KeyUnavailable(at="keys", problem="no_terminal")
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise KeyUnavailable(at="keys", problem="no_passphrase") from None


class OpenerContext(Struct, frozen=True, kw_only=True):
    """What an opener may use: entropy, the store's descriptor, permission to create a key, a passphrase prompt."""

    entropy: Entropy
    descriptor: RootDescriptor
    create: bool = False
    ask: Ask = ask_at_terminal


Opener = Callable[[str, OpenerContext], RootKey]


def open_root(uri: str, context: OpenerContext, openers: Mapping[str, Opener] | None = None) -> RootKey:
    """Return the root key that a URI names.

    With `context.create`, a missing key file or keystore entry is created. Raises `KeyInvalid` for a malformed URI or
    key, `KeyUnavailable` when the source has no key, and `KeyExposed` when other users can read it.
    """
    scheme, colon, rest = source_of(uri).partition(":")
    opener = (OPENERS if openers is None else openers).get(scheme) if colon else None
    if opener is None:
        raise KeyInvalid(at="keys", problem="unknown_scheme")
    return opener(rest, context)


def source_of(keys: str) -> str:
    """Return the URI of a source; a plain path is that of a key file, as `file:` and the path.

    A path has a slash or a dot in it: a mistyped scheme must not become the name of a file, and neither must a key
    instead of its source, which raises `KeyInvalid`.
    """
    if keys.startswith(PATHS):
        return f"file:{keys}"
    try:
        _parse_key(keys.translate(URL_SAFE).encode(errors="surrogateescape"))
    except KeyInvalid:
        is_path = ":" not in keys and not PATH_SIGNS.isdisjoint(keys)
        return f"file:{keys}" if is_path else keys
    raise KeyInvalid(at="keys", problem="key_itself")


def key_file(keys: str) -> Path | None:
    """Return the path of the key file that a source is, or None when it is none."""
    scheme, colon, rest = source_of(keys).partition(":")
    return _path(rest) if colon and scheme == "file" else None


def describe(uri: str, entropy: Entropy, argon2: Argon2 | None = None) -> RootDescriptor:
    """Return the descriptor of a source for a new store; for a passphrase with `argon2`, or with a new salt."""
    scheme = source_of(uri).partition(":")[0]
    if scheme != "passphrase":
        return RootDescriptor(scheme=scheme)
    return RootDescriptor(scheme=scheme, argon2=argon2 or Argon2(salt=b64url(entropy.take(SALT_BYTES))))


# --- openers ----------------------------------------------------------------------------------------------------------


def _from_file(rest: str, context: OpenerContext) -> RootKey:
    path = _path(rest)
    if context.create and not path.exists():
        _create_key_file(path, context.entropy)
    return LocalRoot(_parse_key(_read_private(path)), context.entropy)


def _from_environment(rest: str, context: OpenerContext) -> RootKey:
    return LocalRoot(_parse_key(_variable(rest)), context.entropy)


def _from_keystore(rest: str, context: OpenerContext) -> RootKey:
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
        if line is None and context.create:
            keystore.set_password(service, name, b64url(context.entropy.take(KEY_BYTES)))
            line = keystore.get_password(service, name)
    except refusals.KeyringError:
        raise KeyUnavailable(at="keys", problem="keystore_refused") from None
    if line is None:
        raise KeyUnavailable(at="keys", problem="no_such_entry")
    return LocalRoot(_parse_key(line.encode()), context.entropy)


def _from_passphrase(rest: str, context: OpenerContext) -> RootKey:
    argon2 = context.descriptor.argon2
    if argon2 is None:
        raise KeyWrong(at="keys", problem="not_made_with_a_passphrase")
    scheme, _, location = rest.partition(":")
    read_passphrase = PASSPHRASES.get(scheme)
    if read_passphrase is None:
        raise KeyInvalid(at="keys", problem="unknown_scheme")
    return LocalRoot(argon2.stretch(_normal(read_passphrase(location, context))), context.entropy)


OPENERS: Mapping[str, Opener] = {
    "file": _from_file,
    "env": _from_environment,
    "keyring": _from_keystore,
    "passphrase": _from_passphrase,
}


# --- passphrases ------------------------------------------------------------------------------------------------------


def _ask(_: str, context: OpenerContext) -> bytes:
    passphrase = context.ask("Passphrase of the store: ")
    if context.create and context.ask("The same again: ") != passphrase:
        raise KeyInvalid(at="keys", problem="passphrases_differ")
    return passphrase.encode(errors="surrogateescape")


PASSPHRASES: Mapping[str, Callable[[str, OpenerContext], bytes]] = {
    "": _ask,
    "env": lambda name, _: _variable(name),
    "file": lambda path, _: _read_private(_path(path)),
}


def _normal(passphrase: bytes) -> bytes:
    """Return the one spelling of a passphrase: without a line end, in NFC, whatever keyboard typed it."""
    line = passphrase.rstrip(b"\r\n")
    if not line or len(line) > PASSPHRASE_BYTES_MAX:
        raise KeyInvalid(at="keys", problem="passphrase_length", limit=PASSPHRASE_BYTES_MAX, found=len(line))
    try:
        return unicodedata.normalize("NFC", line.decode()).encode()
    except UnicodeDecodeError:
        raise KeyInvalid(at="keys", problem="not_unicode") from None


# --- files and variables ----------------------------------------------------------------------------------------------


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
    try:
        value = secret_of(name, os.environ, at="keys")
    except FileUnavailable:
        raise KeyUnavailable(at="keys", problem="file_not_readable") from None
    if value is None:
        raise KeyUnavailable(at="keys", problem="variable_not_set")
    return value


def _path(rest: str) -> Path:
    """Return the path of a URI without `file:`; both `file:/path` and `file:///path` are in use."""
    if rest.startswith("///"):
        rest = rest.removeprefix("//")
    if not rest or rest.startswith("//") or "\0" in rest:
        raise KeyInvalid(at="keys", problem="path_wanted")
    return Path(rest)


def _create_key_file(path: Path, entropy: Entropy) -> None:
    """Create a key file atomically; when two processes do so at once, both use the first."""
    temporary = path.with_name(f".{path.name}.{entropy.take(8).hex()}")
    try:
        files.make_directory(path.parent)
        files.write_new(temporary, b64url(entropy.take(KEY_BYTES)).encode() + b"\n")
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass  # another process created it
        finally:
            temporary.unlink()
        files.sync_directory(path.parent)
    except OSError:
        raise KeyUnavailable(at="keys", problem="file_not_made") from None


def _read_private(path: Path) -> bytes:
    """Return the contents of a file that belongs to this user and that nobody else can read."""
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
