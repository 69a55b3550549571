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
