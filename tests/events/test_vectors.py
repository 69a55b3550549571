"""Cells and fields against vectors that were worked out by hand (tests/events/make_vectors.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from muniment.errors import MunimentError
from muniment.events import cells
from muniment.events.cells import Upcast, pack, unpack_content, unpack_meta
from muniment.events.labels import content_fields, meta_fields
from muniment.events.records import CONTENT_BODIES, META_BODIES, VERSIONS, ContentBody, EventKind, MetaBody
from muniment.evidence.header import commit, commit_fields, disclose, salt
from muniment.kernel.digest import Salts
from tests.by_hand import Vector
from tests.events import make_vectors

FILES = sorted(make_vectors.FOLDER.glob("*.json"))
CELLS = [path for path in FILES if path.stem.startswith("cell_")]


def read(path: Path) -> Vector:
    vector: Vector = json.loads(path.read_text(encoding="utf-8"))
    return vector


def written(salts: Salts | None) -> str | dict[str, str] | None:
    if salts is None:
        return None
    return salts.hex() if isinstance(salts, bytes) else {label: salt.hex() for label, salt in salts.items()}


def opened(vector: Vector) -> tuple[Salts | None, MetaBody | ContentBody]:
    cell = bytes.fromhex(vector["cell"])
    return unpack_content(vector["kind"], cell) if vector["class"] == "content" else unpack_meta(vector["kind"], cell)


def the_cell(vector: Vector) -> None:
    seed, body = opened(vector)
    assert written(seed) == vector["seed"]
    assert msgspec.to_builtins(body) == vector["body"]
    if vector["version"] == VERSIONS[type(body)]:
        assert pack(seed, body).hex() == vector["cell"]


def the_fields(vector: Vector) -> None:
    seed, text = bytes.fromhex(vector["seed"]), json.dumps(vector["body"])
    if vector["class"] == "content":
        content = msgspec.json.decode(text, type=CONTENT_BODIES[EventKind(vector["kind"])])
        fields = list(content_fields(content))
    else:
        body: MetaBody = msgspec.json.decode(text, type=META_BODIES[EventKind(vector["kind"])])
        fields = list(meta_fields(body))
    found = [
        {
            "label": label,
            "value": value.decode(),
            "salt": salt(seed, label),
            "disclosure": disclose(seed, label, value),
            "commitment": commit(disclose(seed, label, value)),
        }
        for label, value in sorted(fields)
    ]
    assert found == vector["fields"]
    assert commit_fields(seed, fields) == {field["label"]: field["commitment"] for field in vector["fields"]}


OPENINGS: dict[str, Callable[[Vector], None]] = {"cell": the_cell, "fields": the_fields}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_vector_gives_what_it_says(path: Path) -> None:
    """Good bytes are read and written again as they are; bytes with one fault are refused for that fault."""
    vector = read(path)
    if vector["fault"] is None:
        OPENINGS[vector["what"]](vector)
        return
    with pytest.raises(MunimentError) as caught:
        OPENINGS[vector["what"]](vector)
    assert caught.value.code == vector["error"]


def test_the_files_are_what_the_script_writes() -> None:
    assert {path.stem: read(path) for path in FILES} == json.loads(json.dumps(make_vectors.vectors()))


def test_every_kind_of_event_has_a_cell_and_fields_of_its_first_version() -> None:
    first = [vector for vector in map(read, FILES) if vector["fault"] is None]
    for what in OPENINGS:
        kinds = {(vector["kind"], vector["class"]) for vector in first if vector["what"] == what}
        contents = {(kind.value, "content") for kind in CONTENT_BODIES}
        assert kinds == {(kind.value, "meta") for kind in EventKind} | contents


# --- the way up -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CELLS, ids=lambda path: path.stem)
def test_a_cell_of_the_first_version_loads_when_the_present_one_is_the_third(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lifting data and decoding it gives the value that decoding it at once gives: enums, bytes and parts and all."""
    vector = read(path)
    at_once = opened(vector)
    seen: list[dict[str, Any]] = []

    def to_second(data: dict[str, Any]) -> dict[str, Any]:
        seen.append(data)
        return {f"{name}_then": member for name, member in data.items()}

    def to_third(data: dict[str, Any]) -> dict[str, Any]:
        seen.append(data)
        return {name.removesuffix("_then"): member for name, member in data.items()}

    steps: dict[tuple[type[Struct], int], Upcast] = {
        (body, version): step for body in VERSIONS for version, step in ((1, to_second), (2, to_third))
    }
    monkeypatch.setattr(cells, "UPCASTS", steps)
    monkeypatch.setattr(cells, "VERSIONS", dict.fromkeys(VERSIONS, 3))
    assert opened(vector) == at_once
    assert [sorted(data) for data in seen] == [sorted(vector["body"]), sorted(f"{n}_then" for n in vector["body"])]
    assert pack(*at_once) != bytes.fromhex(vector["cell"])
