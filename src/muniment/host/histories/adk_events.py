"""An event of Google's Agent Development Kit as JSON, and back again, exactly (`formats.adk_items`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from google.adk.events.event import Event

from muniment.formats.adk_items import parts_of_event
from muniment.formats.parted_items import Item


def event_json(event: Event) -> Item:
    """Return an event as JSON, without what is as it is by default."""
    dumped: Item = event.model_dump(mode="json", exclude_defaults=True)
    return dumped


def event_of_json(dumped: Mapping[str, Any]) -> Event:
    """Return the event of its JSON; what a view withholds of calls and results may be a text that says so."""
    for part in parts_of_event(dumped):
        for kind, field in (("function_call", "args"), ("function_response", "response")):
            value = (part.get(kind) or {}).get(field)
            if isinstance(value, str):
                part[kind][field] = _object_of(value)
    return Event.model_validate_json(json.dumps(dumped))


def _object_of(text: str) -> Item:
    """Return the object that a text is the JSON of, or one that says what the text says: it is withheld."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"withheld": text}
