"""Whether what goes over the wire is what the OpenAPI document says: for clients of the foreign routes."""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx2
import msgspec
from jsonschema import Draft202012Validator

from muniment.runtime.catalogue import catalogue
from muniment.transports.gateway.aliases import PLACE
from muniment.transports.gateway.gateway_document import gateway_paths
from muniment.transports.http.openapi import openapi, served

DOCUMENT = msgspec.json.decode(msgspec.json.encode(openapi(served(catalogue()), [gateway_paths(catalogue())])))
JSON = "application/json"


def route_of(path: str) -> str | None:
    """Return the path of the document that is meant; the last part of some is an id."""
    if path in DOCUMENT["paths"]:
        return path
    return next((each for each in DOCUMENT["paths"] if PLACE in each and path.startswith(each[: -len(PLACE)])), None)


def check_documented(response: httpx2.Response) -> None:
    """Fail where an exchange is not as the document says. A request that was refused may be anything."""
    request, route = response.request, route_of(response.request.url.path)
    described = DOCUMENT["paths"].get(route, {}).get(request.method.lower())
    if described is None:
        assert response.status_code in {404, 405}
        return
    assert str(response.status_code) in described["responses"], (route, response.status_code)
    if response.status_code == 200:
        answers = described["responses"]["200"]["content"][JSON]["schema"]
        assert wrong(answers, response.read()) == [], (request.method, route)
        body = described.get("requestBody")
        assert body is not None or not request.read()
        if body is not None:
            assert wrong(body["content"][JSON]["schema"], request.read()) == [], (request.method, route)


def wrong(schema: dict[str, Any], body: bytes) -> list[str]:
    """Return how JSON differs from a schema of the document."""
    return [
        f"{error.json_path}: {error.message}"
        for error in _validator(msgspec.json.encode(schema)).iter_errors(msgspec.json.decode(body))
    ]


@cache
def _validator(schema: bytes) -> Draft202012Validator:
    return Draft202012Validator({**msgspec.json.decode(schema), "components": DOCUMENT["components"]})
