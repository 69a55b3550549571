"""The events of an import: each appended where it belongs, and counted, inside one write transaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from muniment.errors import AliasConflict
from muniment.events.records import ContentBody, EventKind, MetaBody, TurnMeta
from muniment.ledger.drafts import Draft, draft, encoded
from muniment.operations.archives.incoming_files import IncomingFiles
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.ledger.heads import Placed
    from muniment.ledger.ledger import Writer

FLUSH_EVENTS = 64


class IncomingEvents:
    """Appends what an archive brings; `first` and `last` are the positions of it, None for nothing.

    `renamed`: the conversation comes under another id. `counts`: `turns` and `erased` ones of them, `items` and
    `forgotten` ones of them, `registries`, and `registries erased` that did not come in.
    """

    def __init__(self, space: Space, writer: Writer, *, renamed: bool) -> None:
        self.space = space
        self.writer = writer
        self.renamed = renamed
        self.now_ms = space.sources.clock.now_ms()
        self.files = IncomingFiles(writer)
        self.counts: Counter[str] = Counter()
        self.first: int | None = None
        self.last: int | None = None

    def drafted(
        self,
        kind: EventKind,
        time_ms: int,
        meta: MetaBody,
        reason: str | None = None,
        body: ContentBody | None = None,
    ) -> Draft:
        """Return an event without a place."""
        content = None if body is None else encoded(body, self.files.own_salts())
        return draft(self.space.sources.entropy, kind, time_ms, meta, reason=reason, content=content)

    def append_turn(self, time_ms: int, meta: TurnMeta, body: ContentBody | None, stream: int) -> Placed:
        """Append a turn with the attachments that came before it."""
        body = self.files.of(body)
        event = self.drafted(EventKind.TURN_COMMITTED, time_ms, meta, body=body)
        placed = self.append(event, stream, messages=len(meta.messages))
        self.files.attach(placed.position)
        return placed

    def append(
        self,
        event: Draft,
        stream: int | None,
        *,
        messages: int = 0,
        target: int | None = None,
        refs: dict[str, int] | None = None,
    ) -> Placed:
        """Append an event; what was appended is handed over now and then, so that memory stays flat."""
        placed = self.writer.append(event, stream=stream, messages=messages, target=target, refs=refs)
        self.count_in(placed.position)
        if placed.position % FLUSH_EVENTS == 0 or stream is None:
            self.writer.flush()
        return placed

    def count_in(self, position: int) -> None:
        """Take an event that was appended as one of the archive."""
        self.first = position if self.first is None else self.first
        self.last = position

    def claim(self, digest: bytes, placed: Placed) -> None:
        """Let a name lead to an event that was appended."""
        self.writer.claim(digest, placed.stream, placed.position)

    def claim_alias(self, digest: bytes, placed: Placed) -> None:
        """Let a chat id lead to the conversation; one that stands for another conversation is a conflict."""
        if self.writer.find(digest) is not None:
            raise AliasConflict(at="chat")
        self.writer.claim(digest, placed.stream, placed.stream)
