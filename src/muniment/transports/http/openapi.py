"""The catalogue as an OpenAPI 3.1 document: a pure function of the declarations.

Every operation is a POST of its request as JSON; an operation that only reads is a GET, too, with its parameters in the
query. An upload is the body of a POST, and the parameters are then in the query. Every answer that is no report is a
problem document. Operations that take a path on the machine of the store are not served.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import msgspec

from muniment import errors
from muniment.declaration.operation import Effect, Operation
from muniment.transports.http.status import MEANINGS, STATUS, STATUS_OF_CODE
from muniment.version import __version__

PREFIX = "/v1"
JSON, BYTES, PROBLEM = "application/json", "application/octet-stream", "application/problem+json"
COMPONENTS = "#/components/schemas/{name}"
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Any text of yours; a repeat with the same key and request gets the first answer again.",
    "schema": {"type": "string", "maxLength": 255},
}


def served(operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations that are served: none that takes a path on the machine of the store.

    Whoever may read would otherwise write files where the server may. Such an operation is run beside the store.
    """
    return [operation for operation in operations if not operation.server_paths]


def path_of(operation: Operation) -> str:
    """Return the path of an operation."""
    return f"{PREFIX}/{operation.group}/{operation.name}"


def methods_of(operation: Operation) -> list[str]:
    """Return the methods that an operation is called with: GET where it only reads, and takes no body."""
    reads = operation.effect is Effect.READ and operation.upload is None
    return ["GET", "POST"] if reads else ["POST"]


def is_plain(schema: dict[str, Any], components: dict[str, Any]) -> bool:
    """Tell whether a parameter is text as it stands in a query, and not JSON: a string, or a word of an enumeration."""
    if "$ref" in schema:
        return is_plain(components[schema["$ref"].rpartition("/")[2]], components)
    if "anyOf" in schema:
        return all(is_plain(each, components) for each in schema["anyOf"] if each != {"type": "null"})
    return schema.get("type") == "string" or all(isinstance(word, str) for word in schema.get("enum", [0]))


def openapi(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the OpenAPI document of operations."""
    listed = list(operations)
    shapes, components = msgspec.json.schema_components(
        [shape for operation in listed for shape in (operation.request, operation.report)], ref_template=COMPONENTS
    )
    paths = {
        path_of(operation): {
            method.lower(): _described(operation, method, components, report) for method in methods_of(operation)
        }
        for operation, report in zip(listed, shapes[1::2], strict=True)
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "muniment", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _problem()},
            "responses": _refusals(),
            "securitySchemes": {"client_key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"client_key": []}],
    }


def _described(operation: Operation, method: str, components: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    request = components[operation.request.__name__]
    described: dict[str, Any] = {
        "operationId": operation.path if method == "POST" else f"{operation.path}.get",
        "tags": [operation.group],
        "summary": operation.summary,
        "description": operation.description if method == "POST" else f"As POST {path_of(operation)}.",
        "x-terms": msgspec.to_builtins(operation.terms),
        "responses": {
            "200": {"description": "The report.", "content": {JSON: {"schema": report}}},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in MEANINGS},
        },
    }
    if method == "GET" or operation.upload is not None:
        required = request.get("required", [])
        described["parameters"] = [
            _parameter(name, schema, components, required=name in required)
            for name, schema in request["properties"].items()
        ]
    if operation.takes_key:
        described["parameters"] = [*described.get("parameters", []), IDEMPOTENCY_KEY]
    if operation.upload is not None:
        described["requestBody"] = {
            "required": True,
            "description": operation.upload_help,
            "content": {BYTES: {}},
        }
    elif method == "POST":
        schema = {"$ref": COMPONENTS.format(name=operation.request.__name__)}
        described["requestBody"] = {"required": bool(request.get("required")), "content": {JSON: {"schema": schema}}}
    return described


def _parameter(name: str, schema: dict[str, Any], components: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return a parameter of the query: text as it stands, JSON for anything else."""
    rest = {key: value for key, value in schema.items() if key != "description"}
    shape = {"schema": rest} if is_plain(schema, components) else {"content": {JSON: {"schema": rest}}}
    return {"name": name, "in": "query", "required": required, "description": schema["description"], **shape}


def _refusals() -> dict[str, Any]:
    content = {PROBLEM: {"schema": {"$ref": COMPONENTS.format(name="Problem")}}}
    return {str(status): {"description": meaning, "content": content} for status, meaning in MEANINGS.items()}


def _problem() -> dict[str, Any]:
    """Return the schema of a problem document, with every code that there is."""
    codes = sorted(
        {
            error.code
            for _, error in inspect.getmembers(errors, inspect.isclass)
            if issubclass(error, errors.MunimentError)
        }
    )
    text, number = {"type": "string"}, {"type": "integer"}
    return {
        "title": "Problem",
        "description": "Why a request was refused (RFC 9457). Holds no content, no key and no name.",
        "type": "object",
        "properties": {
            "type": text,
            "title": text,
            "status": {"enum": sorted({*STATUS.values(), *STATUS_OF_CODE.values()})},
            "code": {"enum": codes},
            "kind": {"enum": [str(kind) for kind in errors.Kind]},
            "message": text,
            "at": text,
            "problem": text,
            "limit": number,
            "found": number,
            "choices": {"type": "array", "items": text},
        },
        "required": ["type", "title", "status", "code", "kind", "message"],
    }
