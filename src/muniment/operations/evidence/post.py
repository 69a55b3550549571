"""Sending one request to somebody outside: bounded in time and size, and redirects are not followed."""

from __future__ import annotations

import http.client
import ssl
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from muniment.errors import InvalidInput

TIMEOUT_S = 20.0  # for every step of a request
RESPONSE_BYTES_MAX = 256 * 1024


class Answer(NamedTuple):
    """What was answered; with a `problem` nothing that could be read."""

    status: int = 0
    body: bytes = b""
    problem: str | None = None
    limit: int | None = None


def place_of(url: str, *, at: str) -> SplitResult:
    """Return the parts of a URL. Answers are signed, so that HTTP without TLS is as good as with it."""
    try:
        place = urlsplit(url)
        if place.scheme in {"http", "https"} and place.hostname and not place.username and place.port != 0:
            return place
    except ValueError:
        pass
    raise InvalidInput(at=at, problem="not_allowed")


def post(place: SplitResult, body: bytes, media_type: str) -> Answer:
    """Send a request and return the answer."""
    assert place.hostname is not None, "it was looked at"
    connection = (
        http.client.HTTPSConnection(place.hostname, place.port, timeout=TIMEOUT_S, context=ssl.create_default_context())
        if place.scheme == "https"
        else http.client.HTTPConnection(place.hostname, place.port, timeout=TIMEOUT_S)
    )
    path = (place.path or "/") + (f"?{place.query}" if place.query else "")
    try:
        connection.request("POST", path, body, {"Content-Type": media_type})
        with connection.getresponse() as response:
            answer = Answer(response.status, response.read(RESPONSE_BYTES_MAX + 1))
    except (OSError, http.client.HTTPException, UnicodeError, ValueError):
        return Answer(problem="no_answer")
    finally:
        connection.close()
    if len(answer.body) > RESPONSE_BYTES_MAX:
        return Answer(problem="too_large", limit=RESPONSE_BYTES_MAX)
    return answer
