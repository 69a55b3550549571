"""Tokens of an issuer in place of client keys (OpenID Connect, OAuth 2 access tokens that are JWT).

A token says who somebody is; what they may do is in the store. One claim of a token names a client of the space that
the server was started with, and its scope counts, nothing that the token says. Only public-key algorithms are taken, so
that no public key passes for a secret. Issuer, audience and times are checked, and a token without an end is refused.
"""

from __future__ import annotations

from typing import Any

import jwt
from jwt.exceptions import PyJWTError
from msgspec import Struct

from muniment.errors import InvalidInput, NotAuthenticated
from muniment.transports.http.issuer_keys import IssuerKeys, JwksFile, KeySource

ALGORITHMS = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
]  # fmt: skip
LEEWAY_S = 30  # by how much the clock of the issuer may differ
TOKEN_CHARS_MAX = 16 * 1024
CLAIM = "sub"
REFUSED = "unknown_token"


class TokenOptions(Struct, frozen=True, kw_only=True):
    """Whose tokens are taken, for which audience, and which claim names the client; `jwks` is a file with the keys."""

    issuer: str | None = None
    audience: str | None = None
    jwks: str | None = None
    client_claim: str = CLAIM

    def verifier(self) -> Tokens | None:
        """Return what verifies tokens, or None where none are taken; raises `request.invalid`, `file.unavailable`."""
        if self.issuer is None:
            for at, given in (("audience", self.audience), ("jwks", self.jwks)):
                if given is not None:
                    raise InvalidInput(at=at, problem="needs_issuer")
            return None
        if not self.issuer or not self.audience:
            raise InvalidInput(at="audience" if self.issuer else "issuer", problem="missing_field")
        if not self.client_claim:
            raise InvalidInput(at="client_claim", problem="empty")
        keys: KeySource = IssuerKeys(self.issuer) if self.jwks is None else JwksFile(self.jwks)
        return Tokens(self.issuer, self.audience, keys, self.client_claim)


class Tokens:
    """Verifies the tokens of one issuer. Thread-safe."""

    def __init__(self, issuer: str, audience: str, keys: KeySource, claim: str = CLAIM) -> None:
        self.issuer = issuer
        self.audience = audience
        self._keys = keys
        self._claim = claim

    def client_name(self, token: str) -> str:
        """Return the client that a token names.

        Raises `access.not_authenticated` without telling why, and `access.issuer_unavailable`.
        """
        if len(token) > TOKEN_CHARS_MAX or not token.isascii():
            raise NotAuthenticated(problem=REFUSED)
        try:
            name = self._claims(token).get(self._claim)
        except (PyJWTError, ValueError, TypeError, RecursionError):
            raise NotAuthenticated(problem=REFUSED) from None
        if not isinstance(name, str):
            raise NotAuthenticated(problem=REFUSED)
        return name

    def _claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a token that is in order; raises what PyJWT raises."""
        name = jwt.get_unverified_header(token).get("kid")
        key = self._keys.find(name if isinstance(name, str) else None)
        if key is None:
            raise NotAuthenticated(problem=REFUSED)
        return jwt.decode(
            token,
            key=key.key,
            algorithms=[each for each in ALGORITHMS if key.algorithm in {None, each}],
            audience=self.audience,
            issuer=self.issuer,
            leeway=LEEWAY_S,
            options={"require": ["exp", "iss", "aud"]},
        )
