"""Where a server is, and how it is called: address, client key, time-outs, attempts.

The key is sent in the header of every request. It is in no text, no error and no log.
"""

from __future__ import annotations

import ipaddress
import logging
import os
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from muniment.errors import InvalidInput, NotAuthenticated
from muniment.kernel.environment import secret_of
from muniment.kernel.one_process import NeverPickled

KEY = "MUNIMENT_CLIENT_KEY"
KEY_CHARS_MAX = 8192
TIMEOUT_S_MAX = 24 * 3600
ATTEMPTS_MAX, CONNECTIONS_MAX = 100, 10_000
_log = logging.getLogger("muniment.client")


class ConnectOptions(Struct, frozen=True, kw_only=True):
    """How a server is called.

    `timeout_s` is how long the server may be silent, `connect_timeout_s` how long it may take to accept a connection.
    A call is sent at most `attempts_max` times. `connections_max` calls run at once; others wait for their turn.
    """

    timeout_s: float = 60.0
    connect_timeout_s: float = 5.0
    attempts_max: int = 5
    connections_max: int = 32

    def check(self) -> None:
        """Refuse what cannot be meant."""
        bounds = {
            "timeout_s": TIMEOUT_S_MAX,
            "connect_timeout_s": TIMEOUT_S_MAX,
            "attempts_max": ATTEMPTS_MAX,
            "connections_max": CONNECTIONS_MAX,
        }
        for name, highest in bounds.items():
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int | float):
                raise InvalidInput(at=name, problem="wrong_type")
            if not 0 < given <= highest:  # which no NaN is
                raise InvalidInput(at=name, problem="out_of_range", limit=highest)


class Destination(NeverPickled):
    """A server and the key that opens it. Two of them share nothing, and none shows its key."""

    def __init__(self, url: str, key: str | None, environment: Mapping[str, str] = os.environ) -> None:
        """Take the address and the key, or the key of `MUNIMENT_CLIENT_KEY`; raise what is wrong with either."""
        parts = _parts(url)
        self.base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.is_secure = parts.scheme == "https"
        self._authorization = f"Bearer {_key(key, environment)}"
        if not (self.is_secure or _is_loopback(parts.hostname or "")):
            _log.warning("the client key travels without TLS to another machine: use an https address")

    def __str__(self) -> str:
        return self.base

    @property
    def headers(self) -> dict[str, str]:
        """What every request has: the key."""
        return {"Authorization": self._authorization}


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput(at="url", problem="not_a_url") from None
    known = parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0
    extra = parts.query or parts.fragment or parts.username is not None or parts.password is not None
    if not known or extra or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidInput(at="url", problem="not_a_url")
    return parts


def _key(given: str | None, environment: Mapping[str, str]) -> str:
    secret = given if given is not None else (secret_of(KEY, environment, at=KEY) or b"").decode("utf-8", "replace")
    if not isinstance(secret, str):
        raise InvalidInput(at="key", problem="wrong_type")
    if not secret:
        raise NotAuthenticated(at=KEY, problem="no_key_given")
    if len(secret) > KEY_CHARS_MAX or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise NotAuthenticated(at="key", problem="unknown_key")
    return secret


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
