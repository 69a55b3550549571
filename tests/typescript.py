"""The generated part of the TypeScript client: a pure function of the OpenAPI document.

Every operation is a method of the class of its noun group, the stream of a feed (`x-follows`) is one more, and every
component that these lead to is a type. What sends requests is written by hand, in `clients/typescript/src`. Any other
path, as of a foreign wire format, is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import Any

from muniment.transports.http.component_schemas import referred

HEAD = "// Generated from schemas/openapi.json by `python -m tests.schemas --write`: do not edit.\n"
COMMENT_CHARS_MAX = 118
JSON, BYTES, EVENTS = "application/json", "application/octet-stream", "text/event-stream"
REPORT = "Muniment-Report"  # the header with the report, where the body of an answer is a file
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
IMPORTS = """
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
STREAM = """
{about}
  {name}({request}, options?: CallOptions): AsyncGenerator<{entry}, void> {{
    return this.#caller.follow({route}, request, options);
  }}"""
FOLLOWING = """
It goes on until you leave the loop, `signal` ends it, or something is wrong: the key was revoked, or the server is
not reached any more. A connection that is lost is made again, and nothing is missed. To go on after a restart of
your program, give the `id` of the last entry that you have dealt with as `after`.
"""
QUERY = """
/** What is said of the upload of `{operation}`. */
export interface {name} {{
{members}
}}
"""
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
    components = document["components"]
    own = {path: described for path, described in document["paths"].items() if _is_ours(described)}
    types = referred([own, components.get("responses")], components["schemas"])
    return {"schemas.ts": _schemas(types), "operations.ts": _operations(document | {"paths": own}, types)}


def _is_ours(described: dict[str, Any]) -> bool:
    return "x-terms" in described.get("post", {}) or "x-follows" in described.get("get", {})


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
    if not schema["properties"]:
        return about + f"export type {name} = Record<string, never>;"
    required = schema.get("required", [])
    members = [_member(each, inner, needed=each in required) for each, inner in schema["properties"].items()]
    return about + "\n".join([f"export interface {name} {{", *members, "}"])


def _member(name: str, schema: dict[str, Any], *, needed: bool) -> str:
    about = _comment([schema.get("description", ""), *_default(schema)], "  ")
    return about + f"  {name}{'' if needed else '?'}: {type_of(schema)};"


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


def _operations(document: dict[str, Any], schemas: Iterable[str]) -> str:
    about = {tag["name"]: tag["description"] for tag in document["tags"]}
    groups: dict[str, list[_Method | _Stream]] = {name: [] for name in about}
    requests: dict[str, str] = {}
    for path, methods in document["paths"].items():
        if "post" in methods:
            method = _Method(path, methods["post"])
            requests[method.operation] = method.request
            groups[methods["post"]["tags"][0]].append(method)
    for path, methods in document["paths"].items():
        if "x-follows" in methods.get("get", {}):
            stream = _Stream(path, methods["get"], requests[methods["get"]["x-follows"]])
            groups[methods["get"]["tags"][0]].append(stream)
    listed = {name: methods for name, methods in groups.items() if methods}
    classes = "".join(_class(name, about[name], methods) for name, methods in listed.items())
    fields = (_comment([about[name]], "  ") + f"  readonly {camel(name)}: {_class_name(name)};" for name in listed)
    made = (f"    this.{camel(name)} = new {_class_name(name)}(caller);" for name in listed)
    code = re.sub(r"(?s)/\*\*.*?\*/", "", classes)
    types = sorted(name for name in schemas if re.search(rf"\b{name}\b", code))
    streams = [name for name in ("Download", "Upload") if re.search(rf"\b{name}\b", code)]
    imports = IMPORTS.format(types="\n".join(f"  {name}," for name in types), streams=", ".join(streams))
    return HEAD + imports + classes + ALL.format(fields="\n".join(fields), made="\n".join(made))


def _class(group: str, about: str, methods: list[_Method | _Stream]) -> str:
    text = GROUP.format(
        about=_comment([about]).rstrip(), name=_class_name(group), methods="\n".join(each.text() for each in methods)
    )
    return "".join(each.query() for each in methods if isinstance(each, _Method) and each.uploads) + text


def camel(name: str) -> str:
    """Return a name of ours as TypeScript spells it."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def _class_name(group: str) -> str:
    return f"{group.title().replace('_', '')}Group"


class _Method:
    """An operation as a method."""

    def __init__(self, path: str, described: dict[str, Any]) -> None:
        self._path = path
        self._described = described
        self.operation: str = described["operationId"]
        self._content = described["requestBody"]["content"]
        self._parameters = [each for each in described.get("parameters", []) if each.get("in") == "query"]
        self.uploads = BYTES in self._content

    @property
    def request(self) -> str:
        """The type of the request: where an upload is the body, that of the parameters beside it."""
        if not self.uploads:
            return type_of(self._content[JSON]["schema"])
        return re.sub(r"[._]", "", self.operation.title()) + "Parameters"

    def query(self) -> str:
        """Return the type of the parameters beside an upload."""
        members = (
            _member(
                each["name"],
                {"description": each["description"], **(each.get("schema") or each["content"][JSON]["schema"])},
                needed=each["required"],
            )
            for each in self._parameters
        )
        return QUERY.format(operation=self.operation, name=self.request, members="\n".join(members))

    def text(self) -> str:
        """Return the method."""
        body = self._described["requestBody"]
        needed = any(each["required"] for each in self._parameters) if self.uploads else body["required"]
        request = f"request: {self.request}{'' if needed else ' = {}'}"
        answer, verb = self._answer()
        help_of_upload = [f"@param upload {body['description']}"] if self.uploads else []
        about = [self._described["summary"], self._described.get("description", ""), *help_of_upload]
        return METHOD.format(
            about=_comment(about, "  ").rstrip(),
            name=camel(self.operation.partition(".")[2]),
            parameters=", ".join([*(["upload: Upload"] if self.uploads else []), request, "options?: CallOptions"]),
            answer=answer,
            verb=verb,
            arguments=", ".join([self._route(), "request", "options", *(["upload"] if self.uploads else [])]),
        )

    def _route(self) -> str:
        parameters = self._described.get("parameters", [])
        keyed = json.dumps(any("IdempotencyKey" in each.get("$ref", "") for each in parameters))
        text = [each["name"] for each in self._parameters if "schema" in each]
        beside = f", text: {json.dumps(text)}" if self.uploads else ""
        return f"{{ path: {json.dumps(self._path)}, keyed: {keyed}{beside} }}"

    def _answer(self) -> tuple[str, str]:
        """Return the type of an answer, and what of the caller gives it: a report, or a file with its report."""
        response = self._described["responses"]["200"]
        if JSON in response["content"]:
            return type_of(response["content"][JSON]["schema"]), "call"
        report = response["headers"][REPORT]["content"][JSON]["schema"]
        return f"Download<{type_of(report)}>", "download"


class _Stream:
    """The stream of a feed as a method. What it may be asked is what the operation that it follows is asked."""

    def __init__(self, path: str, described: dict[str, Any], request: str) -> None:
        self._path = path
        self._described = described
        self._request = request

    def text(self) -> str:
        """Return the method."""
        event, _problem = self._described["responses"]["200"]["content"][EVENTS]["x-itemSchema"]["oneOf"]
        entry = type_of(event["properties"]["data"]["contentSchema"])
        parameters = [each for each in self._described["parameters"] if each["in"] == "query"]
        text = [each["name"] for each in parameters if "schema" in each]
        needed = any(each["required"] for each in parameters)
        return STREAM.format(
            about=_comment([self._described["summary"], FOLLOWING], "  ").rstrip(),
            name=camel(self._described["operationId"].partition(".")[2]),
            request=f"request: {self._request}{'' if needed else ' = {}'}",
            entry=entry,
            route=f"{{ path: {json.dumps(self._path)}, keyed: false, text: {json.dumps(text)} }}",
        )
