"""The public keys of whoever issues tokens: from a file, or from the issuer itself.

The issuer is asked when a key is wanted and the last answer is old, or has no such key; never more often than every
`RETRY_S`, so that tokens with invented keys make no traffic. It is asked over TLS, or on this machine; nothing is
followed anywhere else, and what comes back is bounded. Keys that were known stay while the issuer does not answer.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

import msgspec
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from muniment.errors import FileUnavailable, InvalidInput, IssuerUnavailable
from muniment.kernel.locks import new_lock

DISCOVERY = "/.well-known/openid-configuration"
KEYS_MAX = 64
BYTES_MAX = 256 * 1024
TIMEOUT_S = 5.0  # for every step of a request
FRESH_S, RETRY_S = 300.0, 30.0
HERE = frozenset({"localhost", "127.0.0.1", "::1"})
PUBLIC = frozenset({"RSA", "EC", "OKP"})  # kinds of keys that have a public half
OK = 200


class PublicKey(NamedTuple):
    """A key, and the one algorithm that it is for, where the issuer says so."""

    key: Any
    algorithm: str | None


Keys = dict[str | None, PublicKey]  # by their ids


class KeySource(Protocol):
    """Where keys come from."""

    def find(self, name: str | None) -> PublicKey | None:
        """Return the key of this id (None: the only key), or None; raises `access.issuer_unavailable`."""
        ...


class JwksFile:
    """The keys of a file, as they were when it was read."""

    def __init__(self, path: str) -> None:
        """Read a file; raises `file.unavailable` and `request.invalid`."""
        try:
            with Path(path).open("rb") as file:
                data = file.read(BYTES_MAX + 1)
        except (OSError, ValueError) as fault:
            raise FileUnavailable.because(fault, at="jwks") from None
        keys = keys_of(data)
        if not keys:
            raise InvalidInput(at="jwks", problem="no_public_key")
        self._keys = keys

    def find(self, name: str | None) -> PublicKey | None:
        """Return a key of the file."""
        return _found(self._keys, name)


class IssuerKeys:
    """The keys that an issuer publishes. Thread-safe."""

    def __init__(self, issuer: str, now_s: Callable[[], float] = time.monotonic) -> None:
        """Remember where to ask; raises `request.invalid` for an address that is not asked."""
        self._discovery = place_of(issuer.rstrip("/") + DISCOVERY, at="issuer")
        self._issuer = issuer
        self._now_s = now_s
        self._lock = new_lock()
        self._keys: Keys | None = None
        self._asked_s = float("-inf")

    def find(self, name: str | None) -> PublicKey | None:
        """Return a key of the issuer; ask again for one that is not known."""
        with self._lock:
            age_s = self._now_s() - self._asked_s
            found = None if self._keys is None else _found(self._keys, name)
            if age_s >= (RETRY_S if found is None else FRESH_S):
                self._asked_s = self._now_s()
                self._keys = self._published() or self._keys
            if self._keys is None:
                raise IssuerUnavailable(at="issuer")
            return _found(self._keys, name)

    def _published(self) -> Keys | None:
        """Return what the issuer publishes now, or None."""
        try:
            described = msgspec.json.decode(got(self._discovery))
            if not isinstance(described, dict) or described.get("issuer") != self._issuer:
                return None
            return keys_of(got(place_of(str(described.get("jwks_uri")), at="jwks_uri"))) or None
        except (IssuerUnavailable, InvalidInput, msgspec.DecodeError, UnicodeError):
            return None


def place_of(url: str, *, at: str) -> SplitResult:
    """Return the parts of an address; only this machine is asked without TLS."""
    try:
        place = urlsplit(url)
        safe = place.scheme == "https" or (place.scheme == "http" and place.hostname in HERE)
        if safe and place.hostname and not place.username and place.port != 0 and url.isprintable() and " " not in url:
            return place
    except ValueError:
        pass
    raise InvalidInput(at=at, problem="not_allowed")


def got(place: SplitResult) -> bytes:
    """Return what is at an address; raises `access.issuer_unavailable` for anything but a bounded answer."""
    assert place.hostname is not None, "it was looked at"
    connection = (
        http.client.HTTPSConnection(place.hostname, place.port, timeout=TIMEOUT_S, context=ssl.create_default_context())
        if place.scheme == "https"
        else http.client.HTTPConnection(place.hostname, place.port, timeout=TIMEOUT_S)
    )
    path = (place.path or "/") + (f"?{place.query}" if place.query else "")
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        with connection.getresponse() as response:
            body = response.read(BYTES_MAX + 1) if response.status == OK else None
    except (OSError, http.client.HTTPException, UnicodeError, ValueError):
        body = None
    finally:
        connection.close()
    if body is None or len(body) > BYTES_MAX:
        raise IssuerUnavailable(at="issuer")
    return body


def keys_of(data: bytes) -> Keys:
    """Return the public keys for signatures of a JWK set, by their ids; what is none is left out."""
    if len(data) > BYTES_MAX:
        raise InvalidInput(at="jwks", problem="too_large", limit=BYTES_MAX)
    try:
        decoded: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidInput(at="jwks", problem="not_json") from None
    listed = decoded.get("keys") if isinstance(decoded, dict) else None
    if not isinstance(listed, list):
        raise InvalidInput(at="jwks", problem="no_public_key")
    keys: Keys = {}
    for each in listed[:KEYS_MAX]:
        if isinstance(each, dict) and each.get("kty") in PUBLIC and each.get("use", "sig") == "sig" and "d" not in each:
            name = each.get("kid")
            try:
                keys[name if isinstance(name, str) else None] = PublicKey(PyJWK(each).key, each.get("alg"))
            except (PyJWTError, ValueError, TypeError, KeyError):
                continue
    return keys


def _found(keys: Keys, name: str | None) -> PublicKey | None:
    if name is None:
        return next(iter(keys.values())) if len(keys) == 1 else None
    return keys.get(name)
