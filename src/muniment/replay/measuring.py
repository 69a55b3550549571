"""What a run measures: the log, the keys, what every view shows, and the projections.

Each logical row of a projection is digested under a key that says where it belongs (`conversation 3` is the stream of
that number), so two runs are compared by projection and key, without their content. `PROJECTIONS` has one row for each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import MunimentError
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.governance.slices import RedactionItem, SliceTurn
from muniment.governance.views import View
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.replay.replay_report import Digested, KeyCounts, Measured
from muniment.runtime.runtime import Runtime
from muniment.search.index_status import Indexed
from muniment.space.space import Space

Rows = dict[str, object]


def _catalogue(_space: Space, caught: CaughtUpCatalogue) -> Rows:
    streams = caught.listing.streams()
    rows: Rows = {f"conversation {stream}": caught.listing.conversation(stream).row() for stream in streams}
    size, _, orders, generations = caught.listing.rows()
    return rows | {"size": size, "orders": orders, "generations": generations}


def _changes(space: Space, caught: CaughtUpCatalogue) -> Rows:
    head, changes = space.transcript.head, space.transcript.changes
    return {
        f"conversation {stream}": changes(caught.reader, head(caught.reader, stream)).rows()
        for stream in caught.listing.streams()
    }


def _links(_space: Space, caught: CaughtUpCatalogue) -> Rows:
    memories, streams = caught.links.rows()
    assert isinstance(memories, list)
    assert isinstance(streams, list)
    items: Rows = {f"item {place}": row for place, row in enumerate(memories)}
    return items | {f"conversation {stream}": rows for stream, rows in streams}


def _search(space: Space, _caught: CaughtUpCatalogue) -> Rows:
    rows: Rows = {}
    for view in View:
        with space.indexes.caught_up(view) as (index, _):
            rows |= {f"{view} of conversation {stream}": documents for stream, *documents in index.contents()}
        with space.indexes.caught_up(view, of=Indexed.ITEMS) as (index, _):
            rows |= {f"{view} of notebook {stream}": documents for stream, *documents in index.contents()}
    return rows


def _memory(space: Space, caught: CaughtUpCatalogue) -> Rows:
    reader, notebooks = caught.reader, space.notebooks
    return {f"notebook {head.stream}": list(notebooks.items(reader, head)) for head in notebooks.every_head(reader)}


class Projection(NamedTuple):
    """The logical rows of a projection, by key. Its version counts up when they change on purpose."""

    version: int
    rows: Callable[[Space, CaughtUpCatalogue], Rows]


PROJECTIONS: dict[str, Projection] = {
    "catalogue": Projection(5, _catalogue),
    "changes": Projection(3, _changes),
    "links": Projection(2, _links),
    "memory": Projection(3, _memory),
    "search": Projection(3, _search),
}


def derived(space: Space) -> dict[str, Digested]:
    """Return the digests of all projections of a space, caught up with its log."""
    with space.catalogue.caught_up() as caught:
        return {name: _digested(projection.rows(space, caught)) for name, projection in PROJECTIONS.items()}


def forget(space: Space) -> None:
    """Drop all projections, so that the next answer comes from the log alone."""
    space.catalogue.drop()
    space.transcript.drop()
    space.indexes.drop()


def measure(session: Session, line: int) -> Measured:
    """Measure a space now. Signs the head, like any checkpoint; appends nothing."""
    space = session.inspected
    try:
        space.require_sound()
        with space.ledger.reader() as reader:
            frontier = reader.frontier()
            rows = list(reader.sealed_events(0, frontier.size - 1))
        signed = space.checkpoint()
        return Measured(
            line=line,
            space=space.name,
            sound=True,
            size=frontier.size,
            root=signed.checkpoint.root.hex(),
            checkpoint=hashlib.sha256(signed.note.encode()).hexdigest(),
            keys=KeyCounts(
                bundles=sum(row.envelope is not None for row in rows),
                contents=sum(row.content is not None or space.ledger.unsealed(row).key is not None for row in rows),
                versions=len(space.keys.versions),
            ),
            views={str(view): _shown(session, view) for view in View},
            projections=derived(space),
        )
    except MunimentError as fault:
        return Measured(line=line, space=space.name, fault=fault.code)


def _shown(session: Session, view: View) -> Digested:
    """Return the digests of all slices of a view, conversation by conversation."""
    return _digested({f"conversation {stream}": _slices(session, key, view) for stream, key in _conversations(session)})


def _conversations(session: Session) -> list[tuple[int, ConversationKey]]:
    with session.space.catalogue.caught_up() as caught:
        known = [caught.listing.conversation(stream) for stream in caught.listing.streams()]
        return [
            (
                one.stream,
                ConversationKey(
                    conversation=ConversationId(one.names.conversation), channel=Channel(one.names.channel)
                ),
            )
            for one in known
        ]


def _slices(session: Session, key: ConversationKey, view: View) -> list[object]:
    """Return everything that a view shows of a conversation, however many pages that takes."""
    replay, cursor, more = _unrestricted(session).transcripts.replay, None, True
    turns: list[SliceTurn] = []
    items: list[RedactionItem] = []
    while more:
        page = replay(key, view, min(Limits().page_turns_max, session.space.limits.page_turns_max), cursor)
        turns += page.turns
        items += page.items
        cursor, more = page.next_cursor, page.has_more
    return [[turns, items]]


def _unrestricted(session: Session) -> Runtime:
    """Return a runtime with every right and without a budget: a measurement sees everything."""
    return Runtime(replace(session, access=Access(), profile=None))


def _digested(rows: Rows) -> Digested:
    digests = {key: _sha256(row) for key, row in sorted(rows.items())}
    return Digested(digest=_sha256(digests), rows=digests)


def _sha256(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
