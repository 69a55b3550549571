"""The catalogue as MCP tools: pure functions of the declarations, without a table of operations.

What an operation may do decides the hints of MCP and whether a person is asked first (`DESTROYS`). An upload is base64
text among the arguments of a tool. For HTTP see `transports.http.openapi`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from muniment.declaration.operation import Effect, Operation

# effect -> whether it destroys, which a person confirms
DESTROYS: dict[Effect, bool] = {
    Effect.READ: False,
    Effect.APPEND: False,
    Effect.REVEAL: False,
    Effect.ERASE: True,
    Effect.ADMIN: False,
}
ANYTHING = [{"type": kind} for kind in ("object", "array", "string", "number", "boolean", "null")]
NAMED, LISTED, SINGLE = {"properties", "$defs"}, {"anyOf", "prefixItems"}, {"items", "additionalProperties"}
BARE = {"title", "description", "default", "examples"}  # what a schema may say without constraining anything


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
                "destructiveHint": DESTROYS[operation.effect],
                "idempotentHint": operation.effect is Effect.READ or operation.terms.idempotent,
                "openWorldHint": False,
            },
        }
        for operation in operations
    ]


def _alone(kind: Any) -> dict[str, Any]:
    """Return the schema of a struct with everything that it refers to."""
    schema: dict[str, Any] = _portable(msgspec.json.schema(kind))
    definitions = schema["$defs"]
    own = definitions.pop(schema["$ref"].rpartition("/")[2])
    return {**own, "$defs": definitions} if definitions else own


def _portable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema as every client of MCP reads it: no `true` or `false` stands for a schema.

    `items: false` behind `prefixItems` goes, because `maxItems` says the same; any value is one of each type.
    """
    if not schema.keys() - BARE:
        return {"anyOf": ANYTHING, **schema}
    made = {key: value for key, value in schema.items() if key != "items" or value is not False}
    for key in NAMED & made.keys():
        made[key] = {name: _portable(each) for name, each in made[key].items()}
    for key in LISTED & made.keys():
        made[key] = [_portable(each) for each in made[key]]
    for key in SINGLE & made.keys():
        made[key] = _portable(made[key]) if isinstance(made[key], dict) else made[key]
    return made


def _with_upload(operation: Operation, schema: dict[str, Any]) -> dict[str, Any]:
    if operation.upload is None:
        return schema
    upload = {"type": "string", "contentEncoding": "base64", "description": operation.upload_help}
    return {
        **schema,
        "properties": {operation.upload: upload, **schema["properties"]},
        "required": [operation.upload, *schema["required"]],
    }
