"""A client of Server-Sent Events, as plain as they come: real HTTP, the fields of the standard and nothing else."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2


class Sent(NamedTuple):
    """An event as it came: its type, its id and what it says."""

    type: str
    id: str | None
    data: Any


def parsed(lines: Iterator[str]) -> Iterator[Sent]:
    """Yield the events of a stream; one without data is a heartbeat."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif fields:
            data = json.loads(fields["data"]) if "data" in fields else None
            yield Sent(fields.get("event", ""), fields.get("id"), data)
            fields = {}


@contextlib.contextmanager
def listening(url: str, headers: dict[str, str], **query: str) -> Iterator[Iterator[Sent]]:
    """Open a stream; give what comes. It begins with what tells clients when to come back."""
    with (
        httpx2.Client(base_url=url, timeout=20) as client,
        client.stream("GET", "/v1/events", params=query, headers=headers) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        sent = parsed(answer.iter_lines())
        assert next(sent) == Sent("", None, None)
        yield (each for each in sent)


def take(sent: Iterator[Sent], count: int) -> list[Sent]:
    """Return the next events that say something."""
    told = (each for each in sent if each.data is not None)
    return [next(told) for _ in range(count)]
