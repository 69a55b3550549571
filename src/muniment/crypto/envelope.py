"""Envelopes: the first line of an encrypted document, with the wrapped key of its stream and the root key's source.

The document is this line of canonical JSON, followed by an encrypted stream (`crypto.stream`). Nothing in the line is a
secret, and the stream authenticates all of it: its context has the digest of the line, so that a document whose first
line was changed in any way does not open.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct

from muniment.crypto.file_format import check_format, parse_canonical, unwrap_key
from muniment.crypto.root import RootKey
from muniment.crypto.root_sources import RootDescriptor
from muniment.errors import Corrupt
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url

FORMAT = 2  # 1 authenticated the wrapped key alone
AT, LINE_END = "envelope", b"\n"
LINE_BYTES_MAX = 4096


class Envelope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The line as it is stored."""

    format: int
    descriptor: RootDescriptor
    key: str

    @classmethod
    def around(cls, stream_key: bytes, root: RootKey, descriptor: RootDescriptor, context: bytes) -> Envelope:
        """Return the envelope of a stream key, wrapped by a root key and bound to `context`."""
        return cls(format=FORMAT, descriptor=descriptor, key=b64url(root.wrap(stream_key, context)))

    def line(self) -> bytes:
        """Return the line with its end."""
        return encode_plain(self) + LINE_END

    def stream_context(self, context: bytes) -> bytes:
        """Return the context of the stream behind this line, which binds it to the whole line."""
        return context + b"\0" + hashlib.sha256(self.line()).digest()

    def open(self, root: RootKey, context: bytes) -> bytes:
        """Return the stream key; raises `KeyWrong` for another root key, or `Corrupt`."""
        return unwrap_key(self.key, root, context, AT)


_envelope = msgspec.json.Decoder(Envelope)


def parse_envelope(line: bytes) -> Envelope:
    """Return the parsed line, not yet authenticated; raises `Corrupt` or `StoreNewer`."""
    check_format(line, AT, FORMAT)
    envelope = parse_canonical(line, _envelope, AT, end=LINE_END)
    if envelope.format != FORMAT:
        raise Corrupt(at=AT, problem="old_format", limit=FORMAT, found=envelope.format)
    return envelope
