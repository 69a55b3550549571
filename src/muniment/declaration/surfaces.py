"""The catalogue as OpenAPI 3.1 and as MCP tools: pure functions of the declarations, without a table of operations.

What an operation may do decides the HTTP verb, the hints of MCP and whether a person is asked first (`MANNERS`). An
upload is the body of an HTTP request, whose parameters are then in the query, and base64 text among the arguments of an
MCP tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from muniment.declaration.operation import Effect, Operation
from muniment.version import __version__

JSON, BYTES = "application/json", "application/octet-stream"
COMPONENTS = "#/components/schemas/{name}"
SCALARS = frozenset({"string", "integer", "number", "boolean"})


class Manner(Struct, frozen=True, kw_only=True):
    """How an operation with an effect is called: its HTTP verb, and whether it destroys, which a person confirms."""

    verb: str
    destroys: bool = False


MANNERS: dict[Effect, Manner] = {
    Effect.READ: Manner(verb="get"),
    Effect.APPEND: Manner(verb="post"),
    Effect.REVEAL: Manner(verb="post"),
    Effect.ERASE: Manner(verb="post", destroys=True),
    Effect.ADMIN: Manner(verb="post"),
}


def openapi(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the OpenAPI description of operations: one path for each, `/group/verb`."""
    listed = list(operations)
    shapes, components = msgspec.json.schema_components(
        [shape for operation in listed for shape in (operation.request, operation.report)], ref_template=COMPONENTS
    )
    paths = {
        f"/{operation.group}/{operation.name}": {
            _verb(operation): _described(operation, components[operation.request.__name__], report)
        }
        for operation, report in zip(listed, shapes[1::2], strict=True)
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "muniment", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


def mcp_tools(operations: Iterable[Operation]) -> list[dict[str, Any]]:
    """Return operations as MCP tools, `group_verb`, each with schemas that need no other."""
    return [
        {
            "name": f"{operation.group}_{operation.name}",
            "title": operation.summary,
            "description": f"{operation.summary}\n\n{operation.description}".strip(),
            "inputSchema": _with_upload(operation, _alone(operation.request)),
            "outputSchema": _alone(operation.report),
            "annotations": {
                "readOnlyHint": operation.effect is Effect.READ,
                "destructiveHint": MANNERS[operation.effect].destroys,
                "idempotentHint": operation.effect is Effect.READ or operation.terms.idempotent,
                "openWorldHint": False,
            },
        }
        for operation in operations
    ]


def _verb(operation: Operation) -> str:
    """Return the HTTP verb; one that takes no body cannot bring an upload along."""
    return "post" if operation.upload is not None else MANNERS[operation.effect].verb


def _described(operation: Operation, request: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.path,
        "tags": [operation.group],
        "summary": operation.summary,
        "description": operation.description,
        "x-terms": msgspec.to_builtins(operation.terms),
        "responses": {"200": {"description": "The report.", "content": {JSON: {"schema": report}}}},
    }
    if _verb(operation) == "get" or operation.upload is not None:
        required = request.get("required", [])
        described["parameters"] = [
            _parameter(name, schema, required=name in required) for name, schema in request["properties"].items()
        ]
    if operation.upload is not None:
        body = {"description": operation.upload_help, "content": {BYTES: {}}}
        described["requestBody"] = {"required": True, **body}
    elif _verb(operation) != "get":
        schema = {"$ref": COMPONENTS.format(name=operation.request.__name__)}
        described["requestBody"] = {"required": bool(request.get("required")), "content": {JSON: {"schema": schema}}}
    return described


def _parameter(name: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return a parameter of the query: plain text, or JSON where it is more than one value."""
    rest = {key: value for key, value in schema.items() if key != "description"}
    is_plain = schema.get("type") in SCALARS
    shape = {"schema": rest} if is_plain else {"content": {JSON: {"schema": rest}}}
    return {"name": name, "in": "query", "required": required, "description": schema["description"], **shape}


def _alone(kind: Any) -> dict[str, Any]:
    """Return the schema of a struct with everything that it refers to."""
    schema: dict[str, Any] = msgspec.json.schema(kind)
    definitions = schema["$defs"]
    own = definitions.pop(schema["$ref"].rpartition("/")[2])
    return {**own, "$defs": definitions} if definitions else own


def _with_upload(operation: Operation, schema: dict[str, Any]) -> dict[str, Any]:
    if operation.upload is None:
        return schema
    upload = {"type": "string", "contentEncoding": "base64", "description": operation.upload_help}
    return {
        **schema,
        "properties": {operation.upload: upload, **schema["properties"]},
        "required": [operation.upload, *schema["required"]],
    }
