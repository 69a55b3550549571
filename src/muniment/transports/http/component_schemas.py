"""The schemas of requests and reports, so that a generator of clients makes types of them that people can read.

- A union of structs that is told apart by a tag is a component of its own, under the title that its declaration gives.
- Integers are `int64`: a position, a count of bytes or a time in milliseconds is larger than the 32 bits that some
  languages take an integer to be.
- Only what is referred to is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from muniment.declaration.http_wire import COMPONENTS
from muniment.declaration.operation import Operation

REFERENCE = COMPONENTS.removesuffix("{name}")
UNION = ("title", "anyOf", "discriminator")  # what belongs to a union; the rest is said of the place where it is used
SCHEMAS = {"items", "additionalProperties"}  # words of JSON Schema whose value is a schema, where it is an object
LISTS = {"anyOf", "oneOf", "prefixItems"}  # a list of schemas
NAMED = {"properties"}  # schemas under names


def component_schemas(
    operations: Iterable[Operation], others: Iterable[Any] = ()
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the schema of each report, and all components: those of other types, too."""
    listed = list(operations)
    wanted = [shape for operation in listed for shape in (operation.request, operation.report)]
    shapes, found = msgspec.json.schema_components([*wanted, *others], ref_template=COMPONENTS)
    unions: dict[str, dict[str, Any]] = {}
    components = {name: _shaped(schema, unions) for name, schema in found.items()}
    assert not unions.keys() & components.keys(), "a name means one thing"
    return list(shapes[1 : len(wanted) : 2]), components | unions


def referred(described: Any, components: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the components that a description leads to, in the order of all."""
    reached, queue = set[str](), [described]
    while queue:
        names = set(_references(queue.pop())) - reached
        reached |= names
        queue += [components[name] for name in names]
    return {name: schema for name, schema in components.items() if name in reached}


def _shaped(schema: dict[str, Any], unions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    shaped = {word: _inside(word, value, unions) for word, value in schema.items()}
    if shaped.get("type") == "integer":
        return {**shaped, "format": "int64"}
    if "discriminator" in shaped and "title" in shaped:
        name, one_of, discriminator = (shaped.pop(word) for word in UNION)
        unions[name] = {"title": name, "oneOf": one_of, "discriminator": discriminator}
        return {**shaped, "$ref": COMPONENTS.format(name=name)}
    return shaped


def _inside(word: str, value: Any, unions: dict[str, dict[str, Any]]) -> Any:
    """Return what a word of a schema says; examples and defaults are data, whatever they look like."""
    if word in SCHEMAS and isinstance(value, dict):
        return _shaped(value, unions)
    if word in LISTS:
        return [_shaped(each, unions) for each in value]
    if word in NAMED:
        return {name: _shaped(each, unions) for name, each in value.items()}
    return value


def _references(described: Any) -> Iterator[str]:
    if isinstance(described, dict):
        reference = described.get("$ref", "")
        if isinstance(reference, str) and reference.startswith(REFERENCE):
            yield reference.removeprefix(REFERENCE)
    inner = described.values() if isinstance(described, dict) else described if isinstance(described, list) else ()
    for each in inner:
        yield from _references(each)
