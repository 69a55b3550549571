"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec
from starlette.responses import Response

from muniment.errors import InvalidInput, MunimentError, RateExceeded
from muniment.transports.http.status import PASSING, STATUS_OF_CODE, WRONG_METHOD, status_of

MEDIA_TYPE = "application/problem+json"
MINUTE_S = 60
CHALLENGE = 'Bearer realm="muniment"'


def problem_of(error: MunimentError, metadata_url: str | None = None) -> Response:
    """Return an error as a response: no content, no key and no name is in it.

    One for want of a key says where it is told how to get a token, if that is anywhere; one for too many requests says
    when one more is allowed.
    """
    response = problem(status_of(error), error.report())
    if metadata_url is not None and "www-authenticate" in response.headers:
        response.headers["WWW-Authenticate"] = f'{CHALLENGE}, resource_metadata="{metadata_url}"'
    if isinstance(error, RateExceeded):
        response.headers["Retry-After"] = str(math.ceil(MINUTE_S / (error.limit or MINUTE_S)))
    return response


def problem(status: int, report: dict[str, str | int | list[str]]) -> Response:
    """Return a problem document: what `MunimentError.report` says, with the members that RFC 9457 names."""
    headers = {"Cache-Control": "no-store"}
    if report["code"] in PASSING:
        headers["Retry-After"] = "1"
    if status == STATUS_OF_CODE["access.not_authenticated"]:
        headers["WWW-Authenticate"] = CHALLENGE
    return Response(msgspec.json.encode(document_of(status, report)), status, headers, media_type=MEDIA_TYPE)


def document_of(status: int, report: dict[str, str | int | list[str]]) -> dict[str, str | int | list[str]]:
    """Return a problem document as plain data."""
    title = str(report["message"]).partition("; ")[0]
    return {"type": f"urn:muniment:{report['code']}", "title": title, "status": status, **report}


def wrong_method(allowed: Iterable[str]) -> Response:
    """Return the answer to a method that a path does not take."""
    choices = sorted(allowed)
    response = problem(WRONG_METHOD, InvalidInput(at="method", choices=choices).report())
    response.headers["Allow"] = ", ".join(choices)
    return response
