"""The keys of a backup: all that opens one space, in one small file that a root key seals.

`KeysCopy` is canonical JSON: the wrapped keys of the space as in `keys.json`, the key that its log was sealed with,
wrapped by the same root, and the way to that root. Without it a sealed log is noise; destroying it destroys the backup.
The root may be that of the store or another one, a passphrase for example.
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


class KeysCopy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file as it is stored. `key` is that of the sealed log, `ring` the keys of the space."""

    format: int
    descriptor: RootDescriptor
    key: str
    ring: KeyFile


_copy = msgspec.json.Decoder(KeysCopy)


def sealed_keys(ring: UnwrappedKeys, stream_key: bytes, root: RootKey, descriptor: RootDescriptor) -> bytes:
    """Return the file that holds the keys of a space and the key of its sealed log."""
    wrapped = root.wrap(stream_key, _context(ring.log_id))
    file = parse(wrap(ring, root))
    return encode_plain(KeysCopy(format=FORMAT, descriptor=descriptor, key=b64url(wrapped), ring=file))


def parse_keys(contents: bytes) -> KeysCopy:
    """Return what is written, not yet authenticated; raises `Corrupt` or `StoreNewer`."""
    check_format(contents, FILE, FORMAT)
    return parse_canonical(contents, _copy, FILE)


def open_keys(copy: KeysCopy, root: RootKey) -> tuple[UnwrappedKeys, bytes]:
    """Return the keys of the space and the key of its log; raises `KeyWrong` for another root, or `Corrupt`."""
    ring = unwrap(parse(encode_plain(copy.ring)), root)
    return ring, unwrap_key(copy.key, root, _context(ring.log_id), FILE)


def _context(log_id: str) -> bytes:
    return f"{log_id}/backup/0".encode()
