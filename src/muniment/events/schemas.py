"""JSON Schemas of the events, generated from the structs; CI compares them with `schemas/events/`."""

from __future__ import annotations

from typing import Any

import msgspec

from muniment.events.cells import VERSIONS
from muniment.events.records import CONTENT_BODIES, META_BODIES
from muniment.events.turn import Turn

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def event_schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of every event body (`<kind>.<cell>.v<version>`) and of the turn that a host commits."""
    bodies: dict[str, type[msgspec.Struct]] = {
        f"{kind}.meta.v{VERSIONS[body]}": body for kind, body in META_BODIES.items()
    }
    bodies |= {f"{kind}.content.v{VERSIONS[body]}": body for kind, body in CONTENT_BODIES.items()}
    bodies["turn"] = Turn
    return {name: {"$schema": DIALECT, **msgspec.json.schema(body)} for name, body in bodies.items()}
