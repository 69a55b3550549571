"""The keys of a backup: everything that decrypts one space, in one small file, wrapped by a root key.

`KeysCopy` is canonical JSON: the wrapped keys of the space as in `keys.json`, the wrapped key of the encrypted log, and
the source of the root key. Without this file the log cannot be decrypted; destroying it destroys the backup. The root
key may be that of the store or another one, for example a passphrase.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from muniment.crypto.file_format import check_format, parse_canonical, unwrap_key
from muniment.crypto.keyring import KeyFile, UnwrappedKeys, parse, unwrap, wrap
from muniment.crypto.root import RootKey
from muniment.crypto.root_sources import RootDescriptor
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url

FORMAT = 1
FILE = "keys.sealed"


class KeysCopy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"keys": "ring"}):
    """The file as it is stored. `key` is that of the encrypted log, `keys` are those of the space."""

    format: int
    descriptor: RootDescriptor
    key: str
    keys: KeyFile


_copy = msgspec.json.Decoder(KeysCopy)


def sealed_keys(keys: UnwrappedKeys, stream_key: bytes, root: RootKey, descriptor: RootDescriptor) -> bytes:
    """Return the file with the keys of a space and the key of its encrypted log."""
    wrapped = root.wrap(stream_key, _context(keys.log_id))
    file = parse(wrap(keys, root))
    return encode_plain(KeysCopy(format=FORMAT, descriptor=descriptor, key=b64url(wrapped), keys=file))


def parse_keys(contents: bytes) -> KeysCopy:
    """Return the parsed file, not yet authenticated; raises `Corrupt` or `StoreNewer`."""
    check_format(contents, FILE, FORMAT)
    return parse_canonical(contents, _copy, FILE)


def open_keys(copy: KeysCopy, root: RootKey) -> tuple[UnwrappedKeys, bytes]:
    """Return the keys of the space and the key of its log; raises `KeyWrong` for another root key, or `Corrupt`."""
    keys = unwrap(parse(encode_plain(copy.keys)), root)
    return keys, unwrap_key(copy.key, root, _context(keys.log_id), FILE)


def _context(log_id: str) -> bytes:
    return f"{log_id}/backup/0".encode()
