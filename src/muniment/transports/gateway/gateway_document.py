"""The foreign routes as the OpenAPI document says them: a pure function of their tables and of the operations.

A member has the schema of what it is called here, and an object no members but those that its table names. Where two
foreign names mean one member of ours that is required, one of them is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from muniment.declaration.http_wire import COMPONENTS, JSON
from muniment.declaration.operation import Operation
from muniment.transports.gateway.aliases import ALIASES, PLACE, Alias, Members, Within
from muniment.transports.gateway.memory_gateway import CREDENTIALS, GATEWAY_PATHS, GatewayPath
from muniment.transports.http.openapi import KEY_PARAMETER, REFUSALS, OtherPaths

TAG = "gateway"
ABOUT = "Foreign wire formats: the memory gateway, the memory routes and tool registries, as other programs speak them."
OF_CALLER = frozenset({"subject", "requester"})  # what follows from the client key unless the request says it
Schema = dict[str, Any]
Components = Mapping[str, Schema]


def gateway_paths(operations: Iterable[Operation]) -> OtherPaths:
    """Return what the document says of the foreign routes."""
    means = {one.path: one for one in operations}
    shapes = [shape for one in ALIASES for shape in (means[one.operation].request, means[one.operation].report)]
    shapes += [shape for one in GATEWAY_PATHS.values() for shape in (one.asked, one.report)]

    def paths(components: Components) -> dict[str, Any]:
        found: dict[str, Any] = {
            path: {"post": _memories(path, one, components)} for path, one in GATEWAY_PATHS.items()
        }
        for path, method in dict.fromkeys((alias.path, alias.method) for alias in ALIASES):
            aliases = [alias for alias in ALIASES if (alias.path, alias.method) == (path, method)]
            found.setdefault(path, {})[method.lower()] = _route(aliases, means, components)
        for path in (each for each in found if each.endswith(PLACE)):
            _link(found[path])
        return found

    return OtherPaths(tags={TAG: ABOUT}, shapes=shapes, paths=paths)


# --- the memory gateway -----------------------------------------------------------------------------------------------


def _memories(path: str, one: GatewayPath, components: Components) -> Schema:
    schema = components[one.asked.__name__]
    names = {name: {"type": "string", "description": about} for name, about in CREDENTIALS.items()}
    body = {
        "type": "object",
        "properties": {**names, **schema["properties"]},
        "required": [*names, *schema["required"]],
        "additionalProperties": False,
    }
    return {
        **_head("POST", path, one.summary, "Needs no header: the credentials of the user are in the body."),
        "security": [],  # the credentials are in the body
        "requestBody": {"required": True, "content": {JSON: {"schema": body}}},
        "responses": {"200": _answer({"$ref": COMPONENTS.format(name=one.report.__name__)}), **REFUSALS},
    }


# --- aliases of operations --------------------------------------------------------------------------------------------


def _route(aliases: list[Alias], means: Mapping[str, Operation], components: Components) -> Schema:
    """Return the description of a route, which may mean one of several operations."""
    first, operations = aliases[0], [means[alias.operation] for alias in aliases]
    names = [operation.path for operation in operations]
    described = _head(
        first.method,
        first.path,
        " Or: ".join(operation.summary for operation in operations),
        f"As {' or '.join(names)}, under the names of another program.",
    )
    parameters: list[Schema] = [_PLACE] if first.path.endswith(PLACE) else []
    parameters += [KEY_PARAMETER] if any(operation.takes_key for operation in operations) else []
    if parameters:
        described["parameters"] = parameters
    if first.method in {"POST", "PUT"}:
        bodies = [_body(alias, operation, components) for alias, operation in zip(aliases, operations, strict=True)]
        content = {JSON: {"schema": _one_of(bodies)}}
        described["requestBody"] = {"required": any("required" in body for body in bodies), "content": content}
    reports = [_envelope(alias, operation) for alias, operation in zip(aliases, operations, strict=True)]
    described["responses"] = {"200": _answer(_one_of(reports)), **REFUSALS}
    return described


_PLACE: Schema = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "Id of the registry, which the body need not repeat.",
    "schema": {"type": "string", "minLength": 1},
}


def _link(methods: dict[str, Any]) -> None:
    """Say of each method of one thing which others mean the same thing, so that a program can go on with it."""
    for method, described in methods.items():
        described["responses"]["200"]["links"] = {
            other: {"operationId": methods[other]["operationId"], "parameters": {"id": "$request.path.id"}}
            for other in methods
            if other != method
        }


def _body(alias: Alias, operation: Operation, components: Components) -> Schema:
    body = _object(alias.members, components[operation.request.__name__], components)
    if alias.whole is not None:
        whole: Schema = body["properties"][alias.whole]
        in_path = (alias.also_in or "").partition(".")[2]
        return {**whole, "required": [name for name in whole["required"] if name != in_path]}
    if alias.bound is not None:
        about = "How many characters the text may have."
        body["properties"][alias.bound.asked] = {"type": "integer", "minimum": 0, "description": about}
    needed = {*body.pop("required", []), *([alias.bound.asked] if alias.bound else [])}
    needed |= {alias.when} if alias.when else set()
    return {**body, "required": sorted(needed)} if needed else body


def _object(members: Members, ours: Schema, components: Components) -> Schema:
    """Return a foreign object whose members are called otherwise in an object of ours."""
    properties: dict[str, Any] = dict(ours["properties"]) if members.is_open else {}
    targets: dict[str, list[str]] = {}
    for name, target in members.named.items():
        own = target.name if isinstance(target, Within) else target
        schema = _at(own, ours, components)
        if own in members.fixed:
            schema = {**schema, "default": members.fixed[own]}
        properties[name] = _inside(target.members, schema, components) if isinstance(target, Within) else schema
        targets.setdefault(own, []).append(name)
    properties |= {name: {"description": "Means nothing here."} for name in sorted(members.ignored)}
    left_to_us = {*members.fixed, *OF_CALLER, *(ours["properties"] if members.is_open else ())}
    needed = [names for own, names in targets.items() if own in ours.get("required", ()) and own not in left_to_us]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [names[0] for names in needed if len(names) == 1]
    either = [{"anyOf": [{"required": [name]} for name in names]} for names in needed if len(names) > 1]
    return {**schema, **({"required": required} if required else {}), **({"allOf": either} if either else {})}


def _inside(members: Members, schema: Schema, components: Components) -> Schema:
    """Return the schema of an object, or of a list of them, with foreign members."""
    said: Schema = {word: schema[word] for word in ("description", "default") if word in schema}
    if "$ref" in schema:
        return {**_object(members, _component(schema, components), components), **said}
    if "anyOf" in schema:
        return {**schema, "anyOf": [_inside(members, each, components) for each in schema["anyOf"]]}
    if schema.get("type") == "array":
        return {**schema, "items": _inside(members, schema["items"], components)}
    return schema


def _at(path: str, ours: Schema, components: Components) -> Schema:
    """Return the schema of a member of ours, or of a member inside it."""
    name, _, inner = path.partition(".")
    schema: Schema = ours["properties"][name]
    if not inner:
        return schema
    alternatives = [schema, *schema.get("anyOf", ())]
    (referring,) = (each for each in alternatives if "$ref" in each)
    return _at(inner, _component(referring, components), components)


def _component(schema: Schema, components: Components) -> Schema:
    return components[schema["$ref"].rpartition("/")[2]]


def _envelope(alias: Alias, operation: Operation) -> Schema:
    report: Any = operation.report
    return {
        "type": "object",
        "properties": {
            "status": {"enum": ["accepted", "duplicated"]},
            "report_kind": {"enum": [alias.kind]},
            "report": {"$ref": COMPONENTS.format(name=report.__name__)},
        },
        "required": ["status", "report_kind", "report"],
    }


# --- both -------------------------------------------------------------------------------------------------------------


def _head(method: str, path: str, summary: str, description: str) -> Schema:
    words = "_".join(re.findall(r"[a-z]+", path))
    name = f"{TAG}.{method.lower()}_{words}"
    return {"operationId": name, "tags": [TAG], "summary": summary, "description": description}


def _answer(schema: Schema) -> Schema:
    return {"description": "The report.", "content": {JSON: {"schema": schema}}}


def _one_of(schemas: list[Schema]) -> Schema:
    distinct = [schema for place, schema in enumerate(schemas) if schema not in schemas[:place]]
    return distinct[0] if len(distinct) == 1 else {"oneOf": distinct}
