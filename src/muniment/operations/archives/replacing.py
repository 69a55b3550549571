"""Making room for an archive: conversations and notebooks that are here give up their names and their words.

A log takes nothing back. What an archive replaces stays in the log as an erased conversation or notebook, with every
proof, in a stream that its names do not lead to any more; the names lead to the stream that the archive opens (decision
0092). What anybody had asked to be erased or forgotten in it fences this archive and every later one; what a
replacement erases does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.errors import ArchiveConflict
from muniment.events.changes import OMITTED, REPLACED, LifecycleRequest, Transition, TurnLifecycle, TurnSpan, span_of
from muniment.events.identity import ConversationKey
from muniment.events.memory_items import ItemMeta, ItemRetired, Retirement
from muniment.events.records import AliasRecorded, EventKind, TurnMeta
from muniment.governance.custody import Rule
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.operations.archives.archive_lines import REQUESTER
from muniment.operations.lifecycle.guard import Guard
from muniment.operations.lifecycle.scope import NotebookKey, StreamKey, Turns
from muniment.projections.space_words import lost_in_space
from muniment.space.space import Space

REASON = "replaced by an archive"


class Fenced(Struct, frozen=True, kw_only=True):
    """Why a turn, or a message of it, may not come back with its words: who asked for its erasure."""

    request: LifecycleRequest
    message: int | None


class Replacing:
    """What stands where an archive goes, within the transaction that appends it; `request` says why it goes."""

    def __init__(self, space: Space, writer: Writer, now_ms: int) -> None:
        self._space = space
        self._writer = writer
        self.request = LifecycleRequest(reason=REASON, requester=REQUESTER, requested_ms=now_ms)

    # --- fences -------------------------------------------------------------------------------------------------------

    def fences(self, key: ConversationKey) -> dict[str, list[Fenced]]:
        """Return what was erased here of the turns of a conversation, by turn id, in all streams that it ever had."""
        tx, transcript = self._writer.tx, self._space.transcript
        now = transcript.stream_of(tx, key)
        streams = transcript.former_streams(tx, key) + ([] if now is None else [now])
        found: dict[str, list[Fenced]] = {}
        for stream in streams:
            for turn, fence in self._fences_in(tx, stream):
                found.setdefault(turn, []).append(fence)
        return found

    def _fences_in(self, reader: Reader, stream: int) -> Iterator[tuple[str, Fenced]]:
        ledger, transcript = self._space.ledger, self._space.transcript
        for row in transcript.change_rows(reader, transcript.head(reader, stream)):
            header, _ = ledger.header(row)
            if header.reason != Transition.ERASE or header.about.keys() & {REPLACED, OMITTED}:
                continue
            event, span = ledger.open(row).meta, span_of(header.about)
            if isinstance(event, TurnLifecycle) and span.last is not None:
                for turn in reader.turns(stream, span.first, span.last):
                    meta = ledger.open(turn).meta
                    if isinstance(meta, TurnMeta):
                        yield meta.delivery.turn, Fenced(request=event.request, message=header.about.get("message"))

    # --- giving up names ----------------------------------------------------------------------------------------------

    def retire(self, key: ConversationKey, stream: int) -> int:
        """Erase a conversation and take its names from it; return how many turns it had.

        Raises `ArchiveConflict` while a hold or a legal minimum keeps anything of it.
        """
        transcript = self._space.transcript
        names = transcript.conversation_digest(key.channel, key.conversation)
        return self._retire(key, stream, names, EventKind.TURN_LIFECYCLE, TurnLifecycle(request=self.request))

    def retire_notebook(self, key: NotebookKey, stream: int) -> int:
        """Destroy what the items of a notebook say and take its names from it; return how many items it had.

        The names of slots stay: they lead to what was there before, as after any other item. Raises `ArchiveConflict`
        as `retire` does.
        """
        body = ItemRetired(request=self.request, cause=Retirement.REPLACED)
        name = self._space.notebooks.notebook_name(key.subject, key.plane)
        return self._retire(key, stream, name, EventKind.ITEM_RETIRED, body)

    def _retire(
        self, key: StreamKey, stream: int, name: bytes, kind: EventKind, body: TurnLifecycle | ItemRetired
    ) -> int:
        writer, transcript = self._writer, self._space.transcript
        head = check_holds(self._space, writer.tx, key, stream)
        refs = {REPLACED: 1, "through": head.turns}
        writer.change(Change(kind, self.request.requested_ms, body, refs, Transition.ERASE), stream)
        writer.flush()
        writer.rename(name, transcript.former_digest(name, len(transcript.formers(writer.tx, name)) + 1))
        for row in writer.tx.in_stream(stream, 2, head.seq):
            if row.content is not None and not self._says_why(row):
                writer.destroy_content(row)
            named = self._name_of(key, self._space.ledger.open(row).meta)
            if named is not None:
                writer.rename(named, transcript.former_digest(named, stream))
        writer.flush()
        changes = transcript.changes(writer.tx, transcript.head(writer.tx, stream))
        for position in lost_in_space(
            self._space.ledger, writer.tx, lambda named: changes if named == stream else None
        ):
            told = writer.tx.sealed(position)
            if told is not None and told.content is not None:
                writer.destroy_content(told)
        return head.turns

    def _says_why(self, row: SealedRow) -> bool:
        """Tell whether an event is an erasure, which keeps saying why: it fences what comes."""
        header, _ = self._space.ledger.header(row)
        return header.reason == Transition.ERASE and "message" not in header.refs

    def _name_of(self, key: StreamKey, meta: object) -> bytes | None:
        transcript = self._space.transcript
        if isinstance(meta, TurnMeta) and isinstance(key, ConversationKey):
            return transcript.turn_digest(key, meta.delivery.turn)
        if isinstance(meta, AliasRecorded):
            return transcript.alias_digest(meta.subject, meta.channel, meta.chat)
        return self._space.notebooks.item_name(meta.item) if isinstance(meta, ItemMeta) else None


def check_holds(space: Space, reader: Reader, key: StreamKey, stream: int) -> StreamHead:
    """Return the head of a conversation or notebook that nothing keeps from being replaced, or `ArchiveConflict`.

    A hold in its own stream would be left behind with it, so that it keeps even what has no words any more.
    """
    head = space.transcript.head(reader, stream)
    held = space.transcript.changes(reader, head).holds
    if held:
        raise ArchiveConflict(at=f"position {min(held)}", problem="held")
    guard = Guard(space, reader, space.sources.clock.now_ms())
    for kept in guard.judge(Turns(key, head, (TurnSpan(1, head.turns),)), requested=True).kept:
        problem = "held" if kept.verdict.rule is Rule.HOLD else kept.verdict.rule.value
        raise ArchiveConflict(at=f"position {min(kept.verdict.by)}", problem=problem)
    return head
