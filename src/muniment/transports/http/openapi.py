"""The catalogue as an OpenAPI 3.1 document: a pure function of the declarations.

Every operation is a POST of its request as JSON; an operation that only reads is a GET, too, with its parameters in the
query. An upload is the body of a POST, and the parameters are then in the query. A download is
the body of an answer, and the report is then in a header. Every answer that is no report is a problem document.
Operations that take a path on the machine of the store are not served.

The stream of a feed is a GET that never ends, of the media type `text/event-stream`. What one of its events is, OpenAPI
can say from 3.2 on (`itemSchema`); until then `x-itemSchema` says it as 3.2 does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from muniment import errors
from muniment.declaration.feed import FeedPage
from muniment.declaration.http_wire import (
    BYTES,
    COMPONENTS,
    JSON,
    PREFIX,
    PROBLEM,
    REPORT,
    is_plain,
    is_served,
    path_of,
)
from muniment.declaration.operation import Document, Effect, Operation, streamed
from muniment.transports.http.component_schemas import component_schemas, referred
from muniment.transports.http.status import MEANINGS, RETRY_AFTER, STATUSES
from muniment.version import __version__

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Visible ASCII of your choice; a repeat with the same key and request gets the first answer again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
KEY_PARAMETER = {"$ref": "#/components/parameters/IdempotencyKey"}
REFUSALS = {str(status): {"$ref": f"#/components/responses/{status}"} for status in MEANINGS}
PROBLEMS = {"enum": ["problem"]}  # the type of an event that ends a stream
EVENT_STREAM, LAST_EVENT = "text/event-stream", "Last-Event-ID"


class OtherPaths(NamedTuple):
    """What the document says of paths that are no operations: `paths` makes them of all components.

    `shapes` are the types that it needs among these, `tags` the names under which it lists its paths.
    """

    tags: Mapping[str, str]
    shapes: Sequence[Any]
    paths: Callable[[Mapping[str, dict[str, Any]]], dict[str, Any]]


def served(operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations that are served; any other one is run beside the store.

    One that writes a file is served with a stream in the place of its path.
    """
    listed = (operation if operation.download is None else streamed(operation) for operation in operations)
    return [operation for operation in listed if is_served(operation)]


def is_feed(operation: Operation) -> bool:
    """Tell whether an operation reports a feed."""
    return isinstance(operation.report, type) and issubclass(operation.report, FeedPage)


def stream_path(operation: Operation) -> str:
    """Return the path of the stream of a feed."""
    return f"{PREFIX}/{operation.group}"


def methods_of(operation: Operation) -> list[str]:
    """Return the methods that an operation is called with: GET where it only reads, and takes no body."""
    reads = operation.effect is Effect.READ and operation.upload is None
    return ["GET", "POST"] if reads else ["POST"]


def openapi(operations: Iterable[Operation], others: Iterable[OtherPaths] = ()) -> dict[str, Any]:
    """Return the OpenAPI document of operations, and of what is served beside them."""
    listed, beside = list(operations), list(others)
    reports, components = component_schemas(listed, [shape for other in beside for shape in other.shapes])
    paths: dict[str, Any] = {
        path_of(operation): {
            method.lower(): _described(operation, method, components, report) for method in methods_of(operation)
        }
        for operation, report in zip(listed, reports, strict=True)
    }
    paths |= {stream_path(one): {"get": _stream(one, components)} for one in listed if is_feed(one)}
    for other in beside:
        paths |= other.paths(components)
    refusals = _refusals()
    tags = _groups(listed) | {name: about for other in beside for name, about in other.tags.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "muniment",
            "version": __version__,
            "description": "A store of agent conversations as encrypted, verifiable evidence.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": group, "description": about} for group, about in tags.items()],
        "paths": paths,
        "components": {
            "schemas": referred([paths, refusals], components | _problem()),
            "parameters": {"IdempotencyKey": IDEMPOTENCY_KEY},
            "responses": refusals,
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
        "description": _description(operation, method),
        "x-terms": msgspec.to_builtins(operation.terms),
        "responses": {**_answers(operation, report), **REFUSALS},
    }
    if method == "GET" or operation.upload is not None:
        described["parameters"] = _query(request, components)
    if operation.takes_key:
        described["parameters"] = [*described.get("parameters", []), KEY_PARAMETER]
    if operation.upload is not None:
        described["requestBody"] = {
            "required": True,
            "description": operation.upload_help,
            "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}},
        }
    elif method == "POST":
        schema = {"$ref": COMPONENTS.format(name=operation.request.__name__)}
        described["requestBody"] = {"required": bool(request.get("required")), "content": {JSON: {"schema": schema}}}
    return described


def _answers(operation: Operation, report: dict[str, Any]) -> dict[str, Any]:
    """Return the answers that are no refusals: a report, a document as itself, or a file with its report beside."""
    if operation.download is not None:
        headers = {REPORT: {"description": "The report.", "required": True, "content": {JSON: {"schema": report}}}}
        return {
            "200": {"description": "The file.", "headers": headers, "content": {BYTES: {}}},
            "204": {"description": "Nothing was written; the report says why.", "headers": headers},
        }
    content: dict[str, Any] = {JSON: {"schema": report}}
    if operation.report is Document:
        content["text/*"] = {"schema": {"type": "string"}}
    return {"200": {"description": "The report.", "content": content}}


def _description(operation: Operation, method: str) -> str:
    if method == "POST":
        return operation.description
    streamed = f" As a stream of Server-Sent Events: GET {stream_path(operation)}." if is_feed(operation) else ""
    return f"As POST {path_of(operation)}.{streamed}"


def _stream(operation: Operation, components: dict[str, Any]) -> dict[str, Any]:
    """Return the description of the stream of a feed: each event is an entry, or at the end what is wrong."""
    hints = get_type_hints(operation.report.entries.fget)
    (entry,) = get_args(hints["return"])
    events = [_event(entry.__name__, {"not": PROBLEMS}), _event("Problem", PROBLEMS)]
    text = {"schema": {"type": "string"}, "x-itemSchema": {"oneOf": events}}
    about = "Id of the last event that came, to go on behind it. It counts more than `after`."
    last = {"name": LAST_EVENT, "in": "header", "required": False, "description": about, "schema": {"type": "string"}}
    return {
        "operationId": f"{operation.group}.follow",
        "tags": [operation.group],
        "summary": "Follow what happens, as Server-Sent Events.",
        "description": f"As GET {path_of(operation)}, page after page; an event `problem` ends it.",
        "x-follows": operation.path,
        "parameters": [*_query(components[operation.request.__name__], components), last],
        "responses": {"200": {"description": "Events, without an end.", "content": {EVENT_STREAM: text}}, **REFUSALS},
    }


def _event(data: str, kind: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a Server-Sent Event whose data is a component as JSON."""
    inner = {"type": "string", "contentMediaType": JSON, "contentSchema": {"$ref": COMPONENTS.format(name=data)}}
    properties = {"id": {"type": "string"}, "event": kind, "data": inner}
    return {"type": "object", "properties": properties, "required": ["event", "data"]}


def _query(request: dict[str, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    required = request.get("required", [])
    return [
        _parameter(name, schema, components, required=name in required)
        for name, schema in request["properties"].items()
    ]


def _parameter(name: str, schema: dict[str, Any], components: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return a parameter of the query: text as it stands, JSON for anything else."""
    rest = {key: value for key, value in schema.items() if key != "description"}
    shape = {"schema": rest} if is_plain(schema, components) else {"content": {JSON: {"schema": rest}}}
    return {"name": name, "in": "query", "required": required, "description": schema["description"], **shape}


def _groups(operations: list[Operation]) -> dict[str, str]:
    return {operation.group: operation.group_summary for operation in operations}


def _refusals() -> dict[str, Any]:
    content = {PROBLEM: {"schema": {"$ref": COMPONENTS.format(name="Problem")}}}
    later = {"Retry-After": {"description": "Seconds until a retry may succeed.", "schema": {"type": "integer"}}}
    return {
        str(status): {
            "description": meaning,
            **({"headers": later} if status in RETRY_AFTER else {}),
            "content": content,
        }
        for status, meaning in MEANINGS.items()
    }


def _problem() -> dict[str, dict[str, Any]]:
    """Return the schemas of a problem document, of every code that there is, and of their kinds."""
    codes = sorted(
        {
            error.code
            for _, error in inspect.getmembers(errors, inspect.isclass)
            if issubclass(error, errors.MunimentError)
        }
    )
    text, number = {"type": "string"}, {"type": "integer", "format": "int64"}
    code, kind = ({"$ref": COMPONENTS.format(name=name)} for name in ("ErrorCode", "ErrorKind"))
    problem = {
        "title": "Problem",
        "description": "Why a request was refused (RFC 9457). Holds no content, no key and no name.",
        "type": "object",
        "properties": {
            "type": text,
            "title": text,
            "status": {"enum": sorted(STATUSES)},
            "code": code,
            "kind": kind,
            "message": text,
            "at": text,
            "problem": text,
            "limit": number,
            "found": number,
            "choices": {"type": "array", "items": text},
        },
        "required": ["type", "title", "status", "code", "kind", "message"],
    }
    return {
        "Problem": problem,
        "ErrorCode": {"title": "ErrorCode", "description": "What is wrong.", "enum": codes},
        "ErrorKind": {
            "title": "ErrorKind",
            "description": "Who can act: the caller, or for `corrupt` and `unavailable` the operator.",
            "enum": [str(each) for each in errors.Kind],
        },
    }
