"""The first line of a sealed document: the key that its stream is sealed with, wrapped, and the way to what wrapped it.

The document is a line of canonical JSON and then a sealed stream (`crypto.stream`).
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from muniment.crypto.keyring import parse_format
from muniment.crypto.root import RootKey
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.sources import Descriptor
from muniment.errors import Corrupt, KeyInvalid
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url, unb64url

FORMAT = 1
LINE_BYTES_MAX = 4096


class Envelope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The line as it is stored."""

    format: int
    descriptor: Descriptor
    key: str

    @classmethod
    def around(cls, stream_key: bytes, root: RootKey, descriptor: Descriptor, context: bytes) -> Envelope:
        """Return the envelope of a stream key, wrapped by a root for what `context` names."""
        return cls(format=FORMAT, descriptor=descriptor, key=b64url(root.wrap(stream_key, context)))

    def line(self) -> bytes:
        """Return the line with its end."""
        return encode_plain(self) + b"\n"

    def open(self, root: RootKey, context: bytes) -> bytes:
        """Return the stream key; raises `KeyWrong` for another root, or `Corrupt`."""
        try:
            wrapped = unb64url(self.key)
        except ValueError:
            raise Corrupt(at="envelope", problem="not_base64url") from None
        stream_key = root.unwrap(wrapped, context)
        if len(stream_key) != KEY_BYTES:
            raise Corrupt(at="envelope", problem="length", limit=KEY_BYTES, found=len(stream_key))
        return stream_key


_envelope = msgspec.json.Decoder(Envelope)


def parse_envelope(line: bytes) -> Envelope:
    """Return what a line says, not yet authenticated; raises `Corrupt` or `StoreNewer`."""
    parse_format(line, "envelope", FORMAT)
    try:
        envelope = _envelope.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyInvalid):
        raise Corrupt(at="envelope", problem="malformed") from None
    if envelope.line() != line:
        raise Corrupt(at="envelope", problem="not_canonical")
    return envelope
