"""HTTP, MCP and the command line come from the catalogue alone: every operation once, described, with its effect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click
import msgspec
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from muniment.declaration.http_wire import COMPONENTS, path_of
from muniment.declaration.operation import Effect, Family, Group, Operation, operation, operations_of
from muniment.declaration.surfaces import DESTROYS, mcp_tools
from muniment.runtime.catalogue import GROUPS, catalogue
from muniment.transports.cli.app import tree
from muniment.transports.gateway.gateway_document import gateway_paths
from muniment.transports.http.openapi import methods_of, openapi, served

NAMES = [each.path for each in catalogue()]
TOOLS = {tool["name"]: tool for tool in mcp_tools(catalogue())}
HTTP = openapi(catalogue())


def http_of(each: Operation) -> dict[str, dict[str, Any]]:
    """Return the descriptions of an operation, each under its method."""
    described: dict[str, dict[str, Any]] = HTTP["paths"][path_of(each)]
    return described


def command_of(each: Operation) -> click.Command:
    """Return the command of an operation, found as a person finds it."""
    root = tree()
    noun = root.get_command(click.Context(root), each.group)
    assert isinstance(noun, click.Group)
    command = noun.get_command(click.Context(noun, info_name=each.group), each.name)
    assert command is not None
    return command


def parameters_of(each: Operation) -> set[str]:
    """Return the names of everything that a caller may say."""
    return set(each.request.__struct_fields__) | ({each.upload} if each.upload else set())


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema of a description."""
    if isinstance(value, dict):
        if "schema" in value:
            yield value["schema"]
        for child in value.values():
            yield from schemas_in(child)
    elif isinstance(value, list):
        for child in value:
            yield from schemas_in(child)


# --- each operation once ----------------------------------------------------------------------------------------------


def test_every_operation_is_there_once_and_nothing_else_is() -> None:
    assert [path["post"]["operationId"] for path in HTTP["paths"].values() if "post" in path] == NAMES
    assert [path for path, methods in HTTP["paths"].items() if "post" not in methods] == ["/v1/events"]
    assert list(TOOLS) == [name.replace(".", "_") for name in NAMES]
    assert all(re.fullmatch(r"[a-z_]{1,64}", name) for name in TOOLS), "clients refuse other names of tools"
    assert {each.group for each in catalogue()} == set(GROUPS)


def test_requests_have_names_for_people_and_no_two_the_same() -> None:
    """A name is words and `Request`, and is nothing but itself among all schemas."""
    names = [each.request.__name__ for each in catalogue()]
    assert Counter(names).most_common(1)[0][1] == 1
    assert all(re.fullmatch(r"([A-Z][a-z]+)+Request", name) for name in names), names
    assert all(re.fullmatch(r"[A-Za-z]+", name) for name in HTTP["components"]["schemas"])


# --- each described ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", catalogue(), ids=NAMES)
def test_every_parameter_has_its_description_on_every_surface(each: Operation) -> None:
    tool, command = TOOLS[each.path.replace(".", "_")], command_of(each)
    properties = tool["inputSchema"]["properties"]
    assert set(properties) == parameters_of(each)
    assert all(schema["description"].endswith(".") for schema in properties.values())
    assert (tool["title"], command.short_help) == (each.summary,) * 2
    for described in http_of(each).values():
        assert described["summary"] == each.summary
        in_query = {
            one["name"]: one["description"] for one in described.get("parameters", []) if one.get("in") == "query"
        }
        if "application/json" not in described.get("requestBody", {"content": ()})["content"]:
            assert in_query == {name: properties[name]["description"] for name in each.request.__struct_fields__}
            continue
        assert not in_query
        reference = described["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema = HTTP["components"]["schemas"][reference.rpartition("/")[2]]
        assert {name: one["description"] for name, one in schema["properties"].items()} == {
            name: one["description"] for name, one in properties.items()
        }
    helps = [option.help for option in command.params if isinstance(option, click.Option)]
    assert all(helps), "every option says what it is"


# --- what follows from the effect -------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", catalogue(), ids=NAMES)
def test_effects_decide_methods_hints_and_confirmation(each: Operation) -> None:
    described = http_of(each)["post"]
    hints = TOOLS[each.path.replace(".", "_")]["annotations"]
    options = {option.name for option in command_of(each).params}
    is_read, erases = each.effect is Effect.READ, each.effect is Effect.ERASE
    assert ("get" in http_of(each)) == ("GET" in methods_of(each)) == (is_read and each.upload is None)
    assert (hints["readOnlyHint"], hints["destructiveHint"]) == (is_read, erases)
    assert hints["idempotentHint"] == (is_read or each.terms.idempotent)
    assert ("yes" in options) == DESTROYS[each.effect] == erases
    assert ["requestBody" in one for one in http_of(each).values()] == [method == "POST" for method in methods_of(each)]
    assert described["x-terms"]["effect"] == each.effect
    if each.upload is not None:
        assert list(described["requestBody"]["content"]) == ["application/octet-stream"]


def test_every_effect_destroys_or_does_not() -> None:
    assert set(DESTROYS) == set(Effect)


# --- schemas ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_the_schemas_of_a_tool_are_valid_and_need_no_other(tool: dict[str, Any]) -> None:
    for schema in (tool["inputSchema"], tool["outputSchema"]):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        referred = set(re.findall(r'"\$ref":"#/\$defs/(\w+)"', msgspec.json.encode(schema).decode()))
        assert referred == set(schema.get("$defs", {}))


def test_the_schemas_of_http_are_valid_and_lead_somewhere() -> None:
    for schema in [*HTTP["components"]["schemas"].values(), *schemas_in(HTTP["paths"])]:
        Draft202012Validator.check_schema(schema)
    prefix = COMPONENTS.format(name="")
    referred = set(re.findall(rf'"\$ref":"{prefix}(\w+)"', msgspec.json.encode(HTTP).decode()))
    assert referred == set(HTTP["components"]["schemas"])


@pytest.mark.slow
def test_the_document_is_openapi_as_others_read_it() -> None:
    """That of all operations, and the one that is served, with the stream of events and the foreign routes."""
    served_one = openapi(served(catalogue()), [gateway_paths(catalogue())])
    for described in (HTTP, served_one):
        document = msgspec.json.decode(msgspec.json.encode(described))
        assert not [str(error) for error in OpenAPIV31SpecValidator(document).iter_errors()]


def shapes_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and every schema inside it."""
    if isinstance(schema, dict):
        yield schema
        data = {"default", "examples", "enum", "discriminator"}
        for inner in (value for word, value in schema.items() if word not in data):
            yield from shapes_in(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from shapes_in(inner)


def test_a_generator_of_clients_finds_a_name_for_everything_that_has_members() -> None:
    """Structs and unions of structs are components, and no integer is taken for one of 32 bits."""
    for schema in HTTP["components"]["schemas"].values():
        for inner in (each for value in schema.get("properties", {}).values() for each in shapes_in(value)):
            assert "properties" not in inner
            assert "discriminator" not in inner
            assert inner.get("type") != "integer" or inner["format"] == "int64"
    for described in (each for path in HTTP["paths"].values() for each in path.values()):
        assert described["tags"] == [described["operationId"].partition(".")[0]]
    assert [tag["name"] for tag in HTTP["tags"]] == list(GROUPS)
    assert all(tag["description"].endswith(".") for tag in HTTP["tags"])


# --- a group that nobody has written yet ------------------------------------------------------------------------------


class Rocks(Group):
    """Throw and gather."""

    name = "rocks"

    @operation(Effect.ERASE, family=Family.STORE, request="ThrowRockRequest")
    def throw(self) -> Any:
        """Throw a rock."""
        raise NotImplementedError


def test_another_operation_needs_no_line_in_any_surface() -> None:
    rocks = tuple(operations_of(Rocks))
    (tool,) = mcp_tools([msgspec.structs.replace(each, report=Thrown) for each in rocks])
    assert (tool["name"], tool["annotations"]["destructiveHint"]) == ("rocks_throw", True)
    assert list(openapi(rocks)["paths"]) == ["/v1/rocks/throw"]


class Thrown(msgspec.Struct, frozen=True, kw_only=True):
    """A report."""
