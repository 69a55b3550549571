"""Asking a timestamp authority over HTTP (RFC 3161, section 3.4). Nothing asks one unless a caller named it.

The authority learns the digest of a checkpoint and when it was asked. Redirects are not followed, and an answer is
bounded in time and size.
"""

from __future__ import annotations

import http.client
import ssl
from urllib.parse import SplitResult, urlsplit

from muniment.errors import InvalidInput, TimestampUnavailable
from muniment.evidence import timestamps
from muniment.evidence.verifier import Refused
from muniment.kernel.sources import Entropy

TIMEOUT_S = 20.0  # for every step of a request
RESPONSE_BYTES_MAX = 256 * 1024
REQUEST_TYPE = "application/timestamp-query"
OK = 200


def stamp(note: str, url: str, entropy: Entropy) -> str:
    """Return a note with the timestamp that the authority behind a URL gives it."""
    place = _place_of(url)
    nonce = entropy.take(timestamps.NONCE_BYTES)
    response = _post(place, timestamps.request(note, nonce))
    try:
        return timestamps.stamped(note, response, nonce)
    except Refused as refused:
        raise TimestampUnavailable(at="timestamp_url", problem=refused.code) from None


def _place_of(url: str) -> SplitResult:
    """Return the parts of a URL. The token proves itself, so that HTTP without TLS is as good as with it."""
    try:
        place = urlsplit(url)
        if place.scheme in {"http", "https"} and place.hostname and not place.username and place.port != 0:
            return place
    except ValueError:
        pass
    raise InvalidInput(at="timestamp_url", problem="not_allowed")


def _post(place: SplitResult, body: bytes) -> bytes:
    assert place.hostname is not None, "it was looked at"
    connection = (
        http.client.HTTPSConnection(place.hostname, place.port, timeout=TIMEOUT_S, context=ssl.create_default_context())
        if place.scheme == "https"
        else http.client.HTTPConnection(place.hostname, place.port, timeout=TIMEOUT_S)
    )
    path = (place.path or "/") + (f"?{place.query}" if place.query else "")
    try:
        connection.request("POST", path, body, {"Content-Type": REQUEST_TYPE})
        with connection.getresponse() as response:
            if response.status != OK:
                raise TimestampUnavailable(at="timestamp_url", problem="status", found=response.status)
            answer = response.read(RESPONSE_BYTES_MAX + 1)
    except (OSError, http.client.HTTPException, UnicodeError, ValueError):
        raise TimestampUnavailable(at="timestamp_url", problem="no_answer") from None
    finally:
        connection.close()
    if len(answer) > RESPONSE_BYTES_MAX:
        raise TimestampUnavailable(at="timestamp_url", problem="too_large", limit=RESPONSE_BYTES_MAX)
    return answer
