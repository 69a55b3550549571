"""The published contracts: `schemas/`, generated parts of documents and of clients, pictures, and what makes them.

`python -m tests.schemas --write` makes them again; `tests/test_schemas.py` compares them byte for byte, so that a
change of what the public relies on is seen as a diff.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from muniment.declaration.operation import Operation
from muniment.events.records import CONTENT_BODIES, META_BODIES, VERSIONS
from muniment.events.turn import Turn
from muniment.log.migrations import store_sql
from muniment.replay.fixture import Command, FixtureHeader
from muniment.replay.replay_report import ReplayReport
from muniment.runtime.catalogue import catalogue
from muniment.transports.gateway.gateway_document import gateway_paths
from muniment.transports.http.openapi import openapi, served
from tests import guide, rooms
from tests.aio_stub import stub
from tests.api import api_text
from tests.pictures.demo import demo
from tests.pictures.layers import layers
from tests.pictures.life import life
from tests.typescript import client_sources

ROOT = Path(__file__).parents[1]
SCHEMAS = "schemas"
PICTURES = ".github/pictures"
AIO = "src/muniment/aio.pyi"
TYPESCRIPT = "clients/typescript/src/generated"
COMMAND = "python -m tests.schemas --write"
BY_HAND = frozenset({"schemas/FORMAT.md"})  # a test compares it with what is stored
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_text(value: Any) -> str:
    """Return JSON for people: indented, in the order given, with a newline at the end."""
    return json.dumps(_settled(value), indent=2, ensure_ascii=False) + "\n"


def _settled(value: Any) -> Any:
    # Releases of msgspec differ in where `null` stands among alternatives; here it stands last. Releases of Python
    # differ in the indentation of what a docstring says; here it has none.
    if isinstance(value, dict):
        settled = {name: _settled(child) for name, child in value.items()}
        if isinstance(settled.get("description"), str):
            settled["description"] = cleandoc(settled["description"])
        if isinstance(settled.get("anyOf"), list):
            settled["anyOf"].sort(key=lambda shape: shape == {"type": "null"})
        return settled
    return [_settled(child) for child in value] if isinstance(value, list) else value


def event_schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of every event body (`<kind>.<cell>.v<version>`) and of the turn that a host commits."""
    bodies: dict[str, type[msgspec.Struct]] = {
        f"{kind}.meta.v{VERSIONS[body]}": body for kind, body in META_BODIES.items()
    }
    bodies |= {f"{kind}.content.v{VERSIONS[body]}": body for kind, body in CONTENT_BODIES.items()}
    bodies["turn"] = Turn
    return {name: {"$schema": DIALECT, **msgspec.json.schema(body)} for name, body in bodies.items()}


def _events() -> dict[str, str]:
    return {f"{SCHEMAS}/events/{name}.json": json_text(schema) for name, schema in event_schemas().items()}


def _api() -> dict[str, str]:
    return {f"{SCHEMAS}/api.txt": api_text()}


def _aio() -> dict[str, str]:
    return {AIO: stub()}


def _store() -> dict[str, str]:
    return {f"{SCHEMAS}/store.sql": store_sql()}


def _operations() -> dict[str, str]:
    listed = catalogue()
    groups = dict.fromkeys(one.group for one in listed)
    return {
        f"{SCHEMAS}/operations/{group}.json": _group([one for one in listed if one.group == group]) for group in groups
    }


def _openapi() -> dict[str, str]:
    document = _settled(msgspec.to_builtins(openapi(served(catalogue()), [gateway_paths(catalogue())])))
    written = {f"{SCHEMAS}/openapi.json": msgspec.json.encode(document).decode() + "\n"}
    return written | {f"{TYPESCRIPT}/{name}": text for name, text in client_sources(document).items()}


def _group(listed: list[Operation]) -> str:
    shapes, components = msgspec.json.schema_components(
        [shape for one in listed for shape in (one.request, one.report)], ref_template="#/$defs/{name}"
    )
    operations = [
        {
            "operation": one.path,
            **msgspec.to_builtins(one.terms),
            "summary": one.summary,
            "description": one.description,
            "request": request,
            "upload": one.upload,
            "download": one.download,
            "server_paths": one.server_paths,
            "report": report,
        }
        for one, request, report in zip(listed, shapes[::2], shapes[1::2], strict=True)
    ]
    return json_text({"$schema": DIALECT, "operations": operations, "$defs": components})


def _replay() -> dict[str, str]:
    (first, line, report), components = msgspec.json.schema_components(
        [FixtureHeader, Command, ReplayReport], ref_template="#/$defs/{name}"
    )
    fixture = {
        "$schema": DIALECT,
        "title": "A line of a fixture: the header first, then commands.",
        "oneOf": [first, line],
        "$defs": _reached({"oneOf": [first, line]}, components),
    }
    told = {
        "$schema": DIALECT,
        "title": "What `muniment replay run --json` says.",
        **report,
        "$defs": _reached(report, components),
    }
    return {f"{SCHEMAS}/replay/fixture.json": json_text(fixture), f"{SCHEMAS}/replay/report.json": json_text(told)}


def _reached(schema: Any, components: dict[str, Any]) -> dict[str, Any]:
    """Return the components that a schema leads to."""
    names, queue = set[str](), [schema]
    while queue:
        found = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(queue.pop()))) - names
        names |= found
        queue += [components[name] for name in found]
    return {name: components[name] for name in sorted(names)}


def _documents() -> dict[str, str]:
    return {
        path.relative_to(guide.ROOT).as_posix(): guide.renewed(path.read_text(encoding="utf-8"))
        for path in guide.documents()
    }


def _pictures() -> dict[str, str]:
    return {
        f"{PICTURES}/life.svg": life(),
        f"{PICTURES}/demo.svg": demo(),
        f"{PICTURES}/layers.svg": layers(rooms.measured()),
    }


# Each makes a family of contracts: {path from the root of the repository: text}.
GENERATORS: list[Callable[[], dict[str, str]]] = [
    _api,
    _aio,
    _events,
    _store,
    _operations,
    _openapi,
    _replay,
    _documents,
    _pictures,
]


def generated() -> dict[str, str]:
    """Return every contract: path from the root of the repository and text."""
    return {path: text for make in GENERATORS for path, text in make().items()}


def committed() -> dict[str, str]:
    """Return what is generated and there, and the documents; not what is written by hand."""
    files = [
        path for folder in (SCHEMAS, PICTURES, TYPESCRIPT) for path in (ROOT / folder).rglob("*") if path.is_file()
    ]
    beside = [*(path.relative_to(guide.ROOT) for path in guide.documents()), Path(AIO)]
    files += [path for name in beside if (path := ROOT / name).is_file()]
    found = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}
    return {path: text for path, text in found.items() if path not in BY_HAND}


def write() -> list[str]:
    """Bring the contracts up to date and return the paths that changed."""
    wanted, present = generated(), committed()
    changed = [path for path in sorted(wanted.keys() | present.keys()) if wanted.get(path) != present.get(path)]
    for path in changed:
        if path in wanted:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(wanted[path], encoding="utf-8", newline="\n")
        else:
            (ROOT / path).unlink()
    return changed


def main() -> None:
    """Say which contracts differ; with `--write`, make them again."""
    parser = argparse.ArgumentParser(prog="python -m tests.schemas", description=main.__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the files that differ")
    wanted, present = generated(), committed()
    if parser.parse_args().write:
        print("\n".join(write()) or "nothing to write")  # noqa: T201 - a command speaks to its caller
    elif wanted != present:
        differing = sorted(path for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path))
        raise SystemExit("differing: " + ", ".join(differing))


if __name__ == "__main__":
    main()
