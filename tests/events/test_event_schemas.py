"""The published schemas of the events describe the events that are really written."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given

from muniment.events.records import META_BODIES, EventKind, TurnContent, TurnMeta
from muniment.events.turn import Turn
from tests.events.test_labels import SMALL_BODIES, kept_of_rich
from tests.schemas import DIALECT, event_schemas
from tests.turns import committed, rich_turn, turns

SCHEMAS = event_schemas()
KINDS = {body: kind for kind, body in META_BODIES.items()}

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
}


WITH_CONTENT = [
    "turn.committed", "attr.recorded", "turn.lifecycle", "turn.redacted", "content.revealed", "content.exported",
    "export.issued", "erasure.refused", "approval.requested", "approval.decided", "item.recorded",
    "item.revised", "item.retired", "memory_policy.set", "tools.registered", "tools.removed",
]  # fmt: skip


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """Return where a value differs from a schema, for the part of the dialect that the published ones use."""
    spare = schema.keys() - {
        "$ref", "$schema", "$defs", "title", "description", "default", "anyOf", "type", "enum", "properties", "const",
        "required", "additionalProperties", "items", "contentEncoding", "discriminator", "minimum", "maximum",
    }  # fmt: skip
    assert not spare, f"this checker does not know {spare}"
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    if "anyOf" in schema:
        return [] if any(not faults(value, one, root, at) for one in schema["anyOf"]) else [f"{at}: none of anyOf"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: not in enum"]
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{at}: no {kind}"]
    found = []
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{at}.{name}: missing" for name in schema.get("required", []) if name not in value]
        if schema.get("additionalProperties") is False:
            found += [f"{at}.{name}: unknown" for name in value if name not in known]
        for name, child in value.items():
            found += faults(child, known.get(name, {}), root, f"{at}.{name}")
    elif isinstance(value, list):
        for place, child in enumerate(value):
            found += faults(child, schema.get("items", {}), root, f"{at}[{place}]")
    return found


def check(name: str, body: msgspec.Struct) -> None:
    schema = SCHEMAS[name]
    assert faults(json.loads(msgspec.json.encode(body)), schema, schema) == []


def test_every_kind_and_the_turn_itself_have_a_schema() -> None:
    names = [f"{kind}.meta.v1" for kind in EventKind]
    contents = [f"{kind}.content.v1" for kind in WITH_CONTENT]
    assert sorted(SCHEMAS) == sorted([*names, *contents, "turn"])
    assert all(schema["$schema"] == DIALECT for schema in SCHEMAS.values())
    assert all(re.fullmatch(r"[a-z._]+(\.v\d+)?", name) for name in SCHEMAS)


@pytest.mark.parametrize("body", SMALL_BODIES, ids=lambda body: type(body).__name__)
def test_a_small_event_fits_the_schema_of_its_kind(body: msgspec.Struct) -> None:
    check(f"{KINDS[type(body)]}.meta.v1", body)  # type: ignore[index]  # every one of them is a body


@given(committed())
def test_any_committed_turn_fits_its_two_schemas(bodies: tuple[TurnMeta, TurnContent]) -> None:
    check("turn.committed.meta.v1", bodies[0])
    check("turn.committed.content.v1", bodies[1])


@given(turns)
def test_any_turn_that_a_host_commits_fits_its_schema(turn: Turn) -> None:
    check("turn", turn)


def test_a_turn_with_a_value_everywhere_fits_and_one_with_a_value_too_many_does_not() -> None:
    """The checker sees what is wrong: an unknown member, a wrong word, a missing one."""
    check("turn", rich_turn())
    for body, name in zip(kept_of_rich(), ["turn.committed.meta.v1", "turn.committed.content.v1"], strict=True):
        check(name, body)
    schema = SCHEMAS["turn"]
    good = json.loads(msgspec.json.encode(rich_turn()))
    assert faults({**good, "canary": 1}, schema, schema) == ["$.canary: unknown"]
    assert faults({**good, "delivery": "lost"}, schema, schema) == ["$.delivery: not in enum"]
    assert faults({**good, "external": 1}, schema, schema) == ["$.external: no boolean"]
    assert faults({**good, "messages": [{"role": "user", "content": 5}]}, schema, schema)
    del good["turn"]
    assert faults(good, schema, schema) == ["$.turn: missing"]
