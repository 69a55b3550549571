"""Bodies of an older version: what is read is lifted, what is proved is what was stored."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest

from muniment.events import cells, records
from muniment.events.labels import content_fields, meta_fields
from muniment.events.records import ExportIssued, TurnContent, TurnMeta
from muniment.evidence import verifier
from muniment.governance.views import View
from tests.turns import answer, question
from tests.worlds import World, key_of


def louder(data: dict[str, Any]) -> dict[str, Any]:
    """Lift the content of a turn: every text is written in capitals."""
    parts = [[{**part, "content": part["content"].upper()} for part in message] for message in data["parts"]]
    return {**data, "parts": parts}


def elsewhere(data: dict[str, Any]) -> dict[str, Any]:
    """Lift the meta body of a turn: it gets a candidate that nobody named, and so a field."""
    return {**data, "candidates": ["lifted"]}


def relabelled(data: dict[str, Any]) -> dict[str, Any]:
    """Lift what was exported: as if it had been another view."""
    return {"export": {**data["export"], "view": "raw_owner"}}


LIFTS = {TurnContent: louder, TurnMeta: elsewhere, ExportIssued: relabelled}


def fields_of(body: Any) -> Any:
    """Return the field function that a release leaves behind when it raises the version of a body."""
    fields: Any = content_fields if body is TurnContent else meta_fields
    return lambda data: fields(msgspec.convert(data, body))


@pytest.fixture
def later(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a store whose bodies are of the version before the present one."""
    world.with_turns(2)
    monkeypatch.setattr(cells, "UPCASTS", {(body, 1): lift for body, lift in LIFTS.items()})
    monkeypatch.setattr(cells, "FIELDS", {(body, 1): fields_of(body) for body in LIFTS})
    versions: dict[Any, int] = records.VERSIONS
    for body in LIFTS:
        monkeypatch.setitem(versions, body, 2)
    return world


def proved(world: World, text: str) -> verifier.ProvedEvidence:
    vkey = world.runtime.evidence.checkpoint().vkey
    return verifier.verify_evidence(io.BytesIO(text.encode()), vkey, show=True)


def test_a_bundle_discloses_what_was_stored_and_not_what_it_was_lifted_to(later: World) -> None:
    """The header commits to the stored fields: lifted ones fit no commitment, or say what nobody said."""
    assert question(1).upper() in json.dumps(msgspec.to_builtins(later.replay(View.RAW_OWNER).turns))
    evidence = proved(later, later.runtime.evidence.export(key_of(), View.RAW_OWNER).text)
    told = json.dumps([entry.fields for entry in evidence.entries])
    assert (evidence.complete, evidence.withheld) == (True, 0)
    assert question(1) in told
    assert answer(2) in told
    assert "lifted" not in told


def test_receipts_and_inspections_hold_what_was_stored_against_the_header(later: World) -> None:
    receipt = later.runtime.evidence.prove(key_of(), later.replay().turns[0].turn, View.RAW_OWNER)
    assert question(1) in json.dumps([entry.fields for entry in proved(later, receipt.text).entries])
    assert later.runtime.evidence.inspect().findings == []
    later.erased(1)
    assert later.runtime.evidence.inspect().findings == []
