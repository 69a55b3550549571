"""The TypeScript client says what the OpenAPI document says. `python -m replay typescript` builds and runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.declaration.http_wire import path_of
from muniment.runtime.catalogue import catalogue
from muniment.transports.gateway.gateway_document import gateway_paths
from muniment.transports.http.openapi import is_feed, openapi, served, stream_path
from muniment.version import __version__
from replay import typescript
from tests.typescript import REPORT, client_sources, type_of

OPERATIONS = served(catalogue())
SOURCES = client_sources(openapi(OPERATIONS))


def test_every_operation_that_is_served_is_a_method_and_has_a_key_where_it_changes_something() -> None:
    routes = re.findall(r'\{ path: "(.*?)", keyed: (true|false)', SOURCES["operations.ts"])
    streams = {stream_path(one): "false" for one in OPERATIONS if is_feed(one)}
    assert dict(routes) == {path_of(one): str(one.takes_key).lower() for one in OPERATIONS} | streams
    assert len(routes) == len(OPERATIONS) + len(streams)


def test_a_feed_is_followed_with_the_parameters_of_its_operation_and_the_type_of_its_entries() -> None:
    operations = SOURCES["operations.ts"]
    said = "follow(request: ReadEventsRequest = {}, options?: CallOptions): AsyncGenerator<SpaceEvent, void> {"
    assert operations.count(said) == 1
    texts = json.loads(re.findall(r'"/v1/events", keyed: false, text: (\[.*?\])', operations)[0])
    assert set(texts) == {"after", "view", "channel", "conversation"}, "all others are JSON in the query"


def test_foreign_wire_formats_are_no_part_of_the_client() -> None:
    whole = openapi(OPERATIONS, [gateway_paths(catalogue())])
    assert client_sources(whole) == SOURCES


def test_every_name_of_a_type_is_defined_once() -> None:
    defined = re.findall(r"(?m)^export (?:interface|type) (\w+)", SOURCES["schemas.ts"])
    assert len(defined) == len(set(defined))
    imported = re.findall(r"(?m)^  (\w+),$", SOURCES["operations.ts"].partition("export class")[0])
    assert set(imported) <= set(defined)


def test_the_client_has_the_version_of_the_product_and_needs_nothing_to_run() -> None:
    package = json.loads((typescript.CLIENT / "package.json").read_text())
    assert package["version"] == __version__
    assert "dependencies" not in package
    assert not [path for path in typescript.CLIENT.glob("*lock*") if path.is_file()]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer", "format": "int64"}, "number"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "number"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"$ref": "#/components/schemas/View", "default": "host_ui"}, "View"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "(string | null)[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array"}, "unknown[]"),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, "[number, string]"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "Record<string, boolean>"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"default": None}, "unknown"),
    ],
)
def test_a_schema_is_the_type_of_its_values(schema: dict[str, Any], expected: str) -> None:
    assert type_of(schema) == expected


SAID = st.text("*/ \n\r\u2028@`a", max_size=12) | st.text(max_size=12)


@given(SAID, SAID)
def test_a_description_never_ends_its_comment(summary: str, description: str) -> None:
    """Whatever is said of an operation is inside of one comment, and the code behind it stays as it is."""
    plain, spoken = (_without_comments(client_sources(_document(*said))) for said in (("", ""), (summary, description)))
    assert plain == spoken


def test_an_operation_that_writes_a_file_returns_it_with_its_report() -> None:
    document = _document("Save a file.", "")
    report = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Saved"}}}}
    answer = {"content": {"application/octet-stream": {}}, "headers": {REPORT: report}}
    document["paths"]["/v1/files/save_as"]["post"]["responses"]["200"] = answer
    operations = client_sources(document)["operations.ts"]
    assert "saveAs(request: Saved = {}, options?: CallOptions): Promise<Download<Saved>> {" in operations
    assert "this.#caller.download({" in operations


def test_a_path_that_is_no_operation_is_left_out() -> None:
    document = _document("", "")
    document["paths"] |= {"/memories/add": {"post": {"operationId": "foreign"}}, "/v1/events": {"get": {}}}
    assert client_sources(document) == client_sources(_document("", ""))


def test_without_node_the_client_is_left_out_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(typescript, "find_spec", lambda _name: None)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert typescript.main() == 0
    assert capsys.readouterr().out == "the TypeScript client is left out: there is no node\n"


def _document(summary: str, description: str) -> dict[str, Any]:
    """Return a document of one operation."""
    schema = {"$ref": "#/components/schemas/Saved"}
    content = {"application/json": {"schema": schema}}
    operation = {
        "operationId": "files.save_as",
        "tags": ["files"],
        "summary": summary,
        "description": description,
        "x-terms": {"effect": "read"},
        "requestBody": {"required": False, "content": content},
        "responses": {"200": {"content": content}},
    }
    properties = {"name": {"type": "string", "description": description, "default": summary}}
    return {
        "tags": [{"name": "files", "description": summary}],
        "paths": {"/v1/files/save_as": {"post": operation}},
        "components": {"schemas": {"Saved": {"type": "object", "description": summary, "properties": properties}}},
    }


def _without_comments(sources: dict[str, str]) -> dict[str, list[str]]:
    code = {name: re.sub(r"(?s)/\*\*.*?\*/", "", text) for name, text in sources.items()}
    return {name: [line for line in text.splitlines() if line.strip()] for name, text in code.items()}
