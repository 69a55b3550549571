"""Where tokens for this server come from, for clients that have none (RFC 9728).

It is told where the audience of tokens is the address of this server, because it is an address that clients compare.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

PATH = "/.well-known/oauth-protected-resource"


class TokenMetadata(NamedTuple):
    """The document, the paths where it is, and the address that a refusal names."""

    document: bytes
    paths: frozenset[str]
    url: str


def token_metadata(issuer: str, intended: str) -> TokenMetadata | None:
    """Return what is told of the tokens of an issuer for an audience, or None where that is no address."""
    try:
        audience = urlsplit(intended)
        hostname = audience.hostname
    except ValueError:
        return None
    if audience.scheme not in {"http", "https"} or not hostname or '"' in intended:
        return None
    own = PATH + audience.path.rstrip("/")
    document = {
        "resource": intended,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "muniment",
    }
    return TokenMetadata(
        document=msgspec.json.encode(document),
        paths=frozenset({PATH, own}),
        url=f"{audience.scheme}://{audience.netloc}{own}",
    )
