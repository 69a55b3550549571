"""The keys of a backup: all that opens one space, in one small file that a root key seals.

`KeysCopy` is canonical JSON: the wrapped keys of the space as in `keys.json`, the key that its log was sealed with,
wrapped by the same root, and the way to that root. Without it a sealed log is noise; destroying it destroys the backup.
The root may be that of the store or another one, a passphrase for example.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from muniment.crypto.keyring import KeyFile, Ring, parse, parse_format, unwrap, wrap
from muniment.crypto.root import RootKey
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.sources import Descriptor
from muniment.errors import Corrupt, KeyInvalid
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url, unb64url

FORMAT = 1
FILE = "keys.sealed"


class KeysCopy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file as it is stored. `key` is that of the sealed log, `ring` the keys of the space."""

    format: int
    descriptor: Descriptor
    key: str
    ring: KeyFile


_copy = msgspec.json.Decoder(KeysCopy)


def sealed_keys(ring: Ring, stream_key: bytes, root: RootKey, descriptor: Descriptor) -> bytes:
    """Return the file that holds the keys of a space and the key of its sealed log."""
    wrapped = root.wrap(stream_key, _context(ring.log_id))
    file = parse(wrap(ring, root))
    return encode_plain(KeysCopy(format=FORMAT, descriptor=descriptor, key=b64url(wrapped), ring=file))


def parse_keys(contents: bytes) -> KeysCopy:
    """Return what is written, not yet authenticated; raises `Corrupt` or `StoreNewer`."""
    parse_format(contents, FILE, FORMAT)
    try:
        copy = _copy.decode(contents)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyInvalid):
        raise Corrupt(at=FILE, problem="malformed") from None
    if encode_plain(copy) != contents:
        raise Corrupt(at=FILE, problem="not_canonical")
    return copy


def open_keys(copy: KeysCopy, root: RootKey) -> tuple[Ring, bytes]:
    """Return the keys of the space and the key of its log; raises `KeyWrong` for another root, or `Corrupt`."""
    ring = unwrap(parse(encode_plain(copy.ring)), root)
    try:
        wrapped = unb64url(copy.key)
    except ValueError:
        raise Corrupt(at=FILE, problem="not_base64url") from None
    stream_key = root.unwrap(wrapped, _context(ring.log_id))
    if len(stream_key) != KEY_BYTES:
        raise Corrupt(at=FILE, problem="length", limit=KEY_BYTES, found=len(stream_key))
    return ring, stream_key


def _context(log_id: str) -> bytes:
    return f"{log_id}/backup/0".encode()
