"""Recordings of histories, and what a recording keeps of the space that it was made of."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.governance.access import Access
from muniment.replay.fixture import DerivationMode, Fixture, parse_fixture
from muniment.replay.recording import record
from muniment.replay.replay_report import RecordingReport
from muniment.replay.running import FixtureRunning
from muniment.replay.store_under_test import StoreUnderTest
from muniment.space.options import StoreKind


class Shape(NamedTuple):
    """What a recording keeps of a space: the events in their order, and of each item all but its words and names."""

    events: list[tuple[str, str | None]]
    items: Sequence[tuple[object, ...]]


def shape_of(session: Session) -> Shape:
    """Return the shape of a space."""
    space = session.space
    with space.ledger.reader() as reader:
        rows = reader.sealed_events(0, reader.frontier().size - 1)
        events = [(row.kind, space.ledger.header(row)[0].reason) for row in rows]
        items = [
            (
                *(
                    item.plane,
                    item.number,
                    item.position,
                    item.revision,
                    item.retired,
                    item.text is None,
                    item.disabled,
                ),
                *(item.confidence, item.privacy, item.scope, item.stale, item.pinned, item.observations),
                *(
                    item.meta.kind,
                    item.meta.entry.role,
                    item.meta.freshness,
                    item.meta.importance,
                    item.meta.run is None,
                ),
                *(len(item.evidence), len(item.audience.only), len(item.audience.hidden_from)),
            )
            for head in space.notebooks.every_head(reader)
            for item in space.notebooks.items(reader, head)
        ]
    return Shape(events, items)


def recorded(fixture: Fixture) -> tuple[Fixture, RecordingReport, Shape]:
    """Play a history and record the space that it leaves; return the recording, and the shape of the space."""
    with tempfile.TemporaryDirectory() as directory:
        stage = StoreUnderTest(Path(directory), fixture.header, StoreKind.MEMORY)
        running = FixtureRunning(stage, DerivationMode.INCREMENTAL, {}, None)
        running.begin()
        for line, command in enumerate(fixture.commands, start=2):
            running.step(line, command)
        session = replace(stage.session(), access=Access(), profile=None)
        shape = shape_of(session)
        data, told = record(session, "it", "seed")
        running.end()
    return parse_fixture(data), told, shape
