"""The generated part of the TypeScript client: a pure function of the OpenAPI document.

Every component is a type, and every operation a method of the class of its noun group. What sends requests is written by
hand in `clients/typescript/src`. A path without `x-terms` is no operation, and is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import Any

HEAD = "// Generated from schemas/openapi.json by `python -m tests.schemas --write`: do not edit.\n"
COMMENT_CHARS_MAX = 118
JSON, BYTES = "application/json", "application/octet-stream"
REPORT = "Muniment-Report"  # the header with the report, where the body of an answer is a file
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
CALLER = """
import type {{ Caller }} from "../caller.js";
import type {{ CallOptions }} from "../destination.js";
import type {{
{types}
}} from "./schemas.js";
import type {{ {streams} }} from "../streams.js";
"""
GROUP = """
{about}
export class {name} {{
  readonly #caller: Caller;

  constructor(caller: Caller) {{
    this.#caller = caller;
  }}
{methods}
}}
"""
METHOD = """
{about}
  {name}({parameters}): Promise<{answer}> {{
    return this.#caller.{verb}({arguments});
  }}"""
ALL = """
/** The operations of a store that a server serves. */
export class Muniment {{
{fields}

  constructor(caller: Caller) {{
{made}
  }}
}}
"""


def client_sources(document: dict[str, Any]) -> dict[str, str]:
    """Return the generated files of the client: name and text."""
    return {"schemas.ts": _schemas(document["components"]["schemas"]), "operations.ts": _operations(document)}


# --- types ------------------------------------------------------------------------------------------------------------


def type_of(schema: dict[str, Any]) -> str:
    """Return a schema as a type."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(json.dumps(word) for word in schema["enum"])
    for alternatives in (schema.get("anyOf"), schema.get("oneOf")):
        if alternatives is not None:
            return " | ".join(dict.fromkeys(type_of(each) for each in alternatives))
    kind = schema.get("type")
    if kind == "array":
        return _array(schema)
    if kind == "object":
        return _object(schema)
    return SCALARS[kind] if kind is not None else "unknown"


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(type_of(each) for each in schema['prefixItems'])}]"
    inner = type_of(schema["items"]) if schema.get("items") else "unknown"
    return f"({inner})[]" if " | " in inner else f"{inner}[]"


def _object(schema: dict[str, Any]) -> str:
    assert "properties" not in schema, "what has members is a component"
    inner = schema.get("additionalProperties")
    return f"Record<string, {type_of(inner)}>" if isinstance(inner, dict) else "Record<string, unknown>"


def _schemas(components: dict[str, dict[str, Any]]) -> str:
    return HEAD + "".join(f"\n{_component(name, schema)}\n" for name, schema in components.items())


def _component(name: str, schema: dict[str, Any]) -> str:
    about = _comment([schema.get("description", "")])
    if "properties" not in schema:
        alternatives = type_of(schema).split(" | ")
        one_line = f"export type {name} = {' | '.join(alternatives)};"
        if len(one_line) <= COMMENT_CHARS_MAX:
            return about + one_line
        return about + f"export type {name} =\n  | " + "\n  | ".join(alternatives) + ";"
    required = schema.get("required", [])
    members = _members(schema["properties"], required)
    return about + (
        f"export interface {name} {{\n{members}\n}}" if members else f"export type {name} = Record<string, never>;"
    )


def _members(properties: dict[str, dict[str, Any]], required: list[str]) -> str:
    return "\n".join(
        _comment([schema.get("description", ""), *_default(schema)], "  ")
        + f"  {name}{'' if name in required else '?'}: {type_of(schema)};"
        for name, schema in properties.items()
    )


def _default(schema: dict[str, Any]) -> Iterator[str]:
    if schema.get("default") not in (None, [], {}, ()):
        yield f"@default {json.dumps(schema['default'])}"


def _comment(paragraphs: Iterable[str], indent: str = "") -> str:
    """Return a comment, or nothing where nothing is said."""
    said = [cleandoc(each).replace("*/", "*\\/") for each in paragraphs if each.strip()]
    lines = "\n\n".join(said).replace("\n\n@", "\n@").splitlines()
    if not lines:
        return ""
    if len(lines) == 1 and len(indent) + len(lines[0]) + len("/**  */") <= COMMENT_CHARS_MAX:
        return f"{indent}/** {lines[0]} */\n"
    return "".join([f"{indent}/**\n", *(f"{indent} * {line}".rstrip() + "\n" for line in lines), f"{indent} */\n"])


# --- operations -------------------------------------------------------------------------------------------------------


def _operations(document: dict[str, Any]) -> str:
    described = {
        path: methods["post"] for path, methods in document["paths"].items() if "x-terms" in methods.get("post", {})
    }
    about = {tag["name"]: tag["description"] for tag in document["tags"]}
    groups = {name: [one for one in described.items() if one[1]["tags"] == [name]] for name in about}
    classes = "".join(
        GROUP.format(
            about=_comment([about[name]]).rstrip(),
            name=_class_of(name),
            methods="\n".join(_method(path, one) for path, one in members),
        )
        for name, members in groups.items()
        if members
    )
    known = document["components"]["schemas"]
    types = sorted(name for name in known if re.search(rf"\b{name}\b", re.sub(r"(?s)/\*\*.*?\*/", "", classes)))
    streams = sorted(name for name in ("Download", "Upload") if re.search(rf"\b{name}\b", classes))
    listed = [name for name, members in groups.items() if members]
    return (
        HEAD
        + CALLER.format(types="\n".join(f"  {name}," for name in types), streams=", ".join(streams))
        + classes
        + ALL.format(
            fields="\n".join(
                _comment([about[name]], "  ") + f"  readonly {camel(name)}: {_class_of(name)};" for name in listed
            ),
            made="\n".join(f"    this.{camel(name)} = new {_class_of(name)}(caller);" for name in listed),
        )
    )


def camel(name: str) -> str:
    """Return a name of ours as TypeScript spells it."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def _class_of(group: str) -> str:
    return f"{group.title().replace('_', '')}Group"


def _method(path: str, one: dict[str, Any]) -> str:
    in_query = [each for each in one.get("parameters", []) if each.get("in") == "query"]
    body = one["requestBody"]["content"]
    uploads = BYTES in body
    request = _query_type(in_query) if uploads else type_of(body[JSON]["schema"])
    is_needed = any(each["required"] for each in in_query) if uploads else one["requestBody"]["required"]
    answer, verb = _answer(one["responses"]["200"])
    route = {"path": json.dumps(path), "changes": json.dumps(one["x-terms"]["effect"] != "read")}
    if uploads:
        route["text"] = json.dumps([each["name"] for each in in_query if "schema" in each])
    parameters = [
        *(["upload: Upload"] if uploads else []),
        f"request: {request}{'' if is_needed else ' = {}'}",
        "options?: CallOptions",
    ]
    return METHOD.format(
        about=_comment(
            [one["summary"], one.get("description", ""), *_upload_help(one, uploads=uploads)], "  "
        ).rstrip(),
        name=camel(one["operationId"].partition(".")[2]),
        parameters=", ".join(parameters),
        answer=answer,
        verb=verb,
        arguments=", ".join(
            [
                f"{{ {', '.join(f'{name}: {value}' for name, value in route.items())} }}",
                "request",
                "options",
                *(["upload"] if uploads else []),
            ]
        ),
    )


def _upload_help(one: dict[str, Any], *, uploads: bool) -> Iterator[str]:
    if uploads:
        yield f"@param upload {one['requestBody']['description']}"


def _query_type(parameters: list[dict[str, Any]]) -> str:
    members = [
        f"{each['name']}{'' if each['required'] else '?'}: {type_of(each.get('schema') or each['content'][JSON]['schema'])}"
        for each in parameters
    ]
    return "{ " + "; ".join(members) + " }"


def _answer(response: dict[str, Any]) -> tuple[str, str]:
    """Return the type of an answer, and what of the caller gives it: a report, or a file with its report in a header."""
    if JSON in response["content"]:
        return type_of(response["content"][JSON]["schema"]), "call"
    report = response["headers"][REPORT]["content"][JSON]["schema"]
    return f"Download<{type_of(report)}>", "download"
