"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec
from starlette.responses import Response

from muniment.errors import InvalidInput, MunimentError, RateExceeded
from muniment.transports.http.status import STATUS_OF_CODE, status_of

MEDIA_TYPE = "application/problem+json"
WRONG_METHOD = 405
BUSY = 503
MINUTE_S = 60
CHALLENGE = 'Bearer realm="muniment"'


def problem_of(error: MunimentError) -> Response:
    """Return an error as a response: no content, no key and no name is in it."""
    response = problem(status_of(error), error.report())
    if isinstance(error, RateExceeded):
        response.headers["Retry-After"] = str(
            math.ceil(MINUTE_S / (error.limit or MINUTE_S))
        )  # one more is allowed then
    return response


def problem(status: int, report: dict[str, str | int | list[str]]) -> Response:
    """Return a problem document: what `MunimentError.report` says, with the members that RFC 9457 names."""
    title = str(report["message"]).partition("; ")[0]
    document = {"type": f"urn:muniment:{report['code']}", "title": title, "status": status, **report}
    headers = {"Cache-Control": "no-store"}
    if status == BUSY:
        headers["Retry-After"] = "1"
    if status == STATUS_OF_CODE["access.not_authenticated"]:
        headers["WWW-Authenticate"] = CHALLENGE
    return Response(msgspec.json.encode(document), status, headers, media_type=MEDIA_TYPE)


def wrong_method(allowed: Iterable[str]) -> Response:
    """Return the answer to a method that a path does not take."""
    choices = sorted(allowed)
    response = problem(WRONG_METHOD, InvalidInput(at="method", choices=choices).report())
    response.headers["Allow"] = ", ".join(choices)
    return response
