"""Cursors: opaque page marks that only their issuer can write.

Layout: `mc1.` and the unpadded base64url of `tag (16 bytes) ‖ canonical JSON`. The tag is HMAC-SHA-256, cut to 16
bytes, under a key of the space, over the purpose, the binding and the payload. The binding is whatever the page
depends on (conversation, view, access); it is not in the cursor, the caller brings it again, and a cursor made for
anything else fails. The tag is checked before a single byte of the payload is parsed (BEHAVIOUR PG-03, PG-09).
"""

from __future__ import annotations

import hmac

from muniment.errors import CursorInvalid
from muniment.kernel.canonical import decode_plain, encode_plain
from muniment.kernel.digest import b64url, keyed_digest, unb64url

PREFIX = "mc1."
CURSOR_CHARS_MAX = 4096
TAG_BYTES = 16


def issue(key: bytes, purpose: str, binding: tuple[str, ...], payload: dict[str, int | str]) -> str:
    """Return a cursor over the payload, bound to purpose and binding."""
    body = encode_plain(payload)
    return PREFIX + b64url(_tag(key, purpose, binding, body) + body)


def accept(key: bytes, purpose: str, binding: tuple[str, ...], cursor: str) -> dict[str, int | str]:
    """Return the payload of a cursor that was issued for exactly this, or raise `CursorInvalid`."""
    if len(cursor) > CURSOR_CHARS_MAX or not cursor.isascii() or not cursor.startswith(PREFIX):
        raise CursorInvalid
    try:
        sealed = unb64url(cursor.removeprefix(PREFIX))
    except ValueError:
        raise CursorInvalid from None
    tag, body = sealed[:TAG_BYTES], sealed[TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(key, purpose, binding, body)):
        raise CursorInvalid
    payload: dict[str, int | str] = decode_plain(body)
    return payload


def _tag(key: bytes, purpose: str, binding: tuple[str, ...], body: bytes) -> bytes:
    return keyed_digest(key, "cursor", purpose, str(len(binding)), *binding, body)[:TAG_BYTES]
