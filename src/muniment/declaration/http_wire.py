"""How an operation is asked for over HTTP, as pure functions of its declaration: for the server and for the client.

A call is a POST to `/v1/<group>/<verb>` with the request as JSON. An upload is the body itself, and then the parameters
are in the query: text as it stands, JSON for anything else. Operations that take a path on the machine of the store are
not served.
"""

from __future__ import annotations

import functools
from base64 import b64encode
from typing import Any

import msgspec

from muniment.declaration.operation import Operation, Request

PREFIX = "/v1"
JSON, BYTES, PROBLEM = "application/json", "application/octet-stream", "application/problem+json"
REPORT = "Muniment-Report"  # the header with the report, where the body is a file
COMPONENTS = "#/components/schemas/{name}"


def is_served(operation: Operation) -> bool:
    """Tell whether an operation is served: whoever may read would otherwise write files where the server may."""
    return not operation.server_paths


def path_of(operation: Operation) -> str:
    """Return the path of an operation."""
    return f"{PREFIX}/{operation.group}/{operation.name}"


def digest_of(digest: bytes) -> str:
    """Return a SHA-256 as RFC 9530 spells it."""
    return f"sha-256=:{b64encode(digest).decode()}:"


def is_plain(schema: dict[str, Any], components: dict[str, Any]) -> bool:
    """Tell whether a parameter is text as it stands in a query, and not JSON: a string, or a word of an enumeration."""
    if "$ref" in schema:
        return is_plain(components[schema["$ref"].rpartition("/")[2]], components)
    if "anyOf" in schema:
        return all(is_plain(each, components) for each in schema["anyOf"] if each != {"type": "null"})
    return schema.get("type") == "string" or all(isinstance(word, str) for word in schema.get("enum", [0]))


@functools.cache
def plain_parameters(request: type[Request]) -> dict[str, bool]:
    """Return the parameters of a request, and whether each is text as it stands."""
    _, components = msgspec.json.schema_components([request], ref_template=COMPONENTS)
    properties = components[request.__name__]["properties"]
    return {name: is_plain(schema, components) for name, schema in properties.items()}


def query_of(request: Request) -> list[tuple[str, str]]:
    """Return a request as the parameters of a query."""
    given = msgspec.to_builtins(request)
    return [
        (name, str(given[name]) if is_text else msgspec.json.encode(given[name]).decode())
        for name, is_text in plain_parameters(type(request)).items()
        if not (is_text and given[name] is None)  # what is not there is None
    ]
