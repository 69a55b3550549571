"""The transcript fold: a conversation as its log has it, turn by turn.

The state of a turn is `fold(commit event, later events that target it)`. A page is one range read of turns; the steps
that were taken on a conversation are few, are read once, and are kept by stream (decision 0008). Before anything of a
stream is believed its head is proved; the number of turns and of changes in it tells when a row is missing, so that
the deletion of a mask shows as corruption and never as an unmasked turn.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from muniment.errors import Corrupt
from muniment.events.identity import ConversationKey
from muniment.events.records import ConversationOpened, EventKind, Transition, TurnMeta
from muniment.governance.lifecycle import Phase, Step, phase_of
from muniment.governance.slices import TurnRecord
from muniment.log.ledger import Ledger, Opened
from muniment.log.port import Reader, SealedRow, StreamHead

STREAMS_KEPT_MAX = 10_000
NAMES_BATCH = 500


class Steps(NamedTuple):
    """The steps taken on a stream, up to an event of it."""

    seq: int
    taken: tuple[Step, ...]


class ReadTurn(NamedTuple):
    """A turn read back: the folded record, the row it came from, and the seed of its content when that was read."""

    record: TurnRecord
    opened: Opened
    content_seed: bytes | None


class Transcript:
    """Conversations of one space, folded from its ledger. Thread-safe."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._steps: OrderedDict[int, Steps] = OrderedDict()
        self._lock = threading.Lock()
        self._names_checked = False

    # --- finding ------------------------------------------------------------------------------------------------------

    def conversation_digest(self, channel: str, conversation: str) -> bytes:
        """Return the digest under which a conversation is found by its names."""
        return self._ledger.name_digest("conversation", channel, conversation)

    def stream_of(self, reader: Reader, key: ConversationKey) -> int | None:
        """Return the stream of a conversation, or None when the space has no such conversation.

        The first "no" since opening is believed only after every conversation of the space was found under its names.
        """
        found = reader.lookup(self.conversation_digest(key.channel, key.conversation))
        if found is None and not self._names_checked:
            self._check_names(reader)
            self._names_checked = True
        return None if found is None else found.stream

    def _check_names(self, reader: Reader) -> None:
        for row in self.conversations(reader, -1, None):
            names = self.names(row)
            found = reader.lookup(self.conversation_digest(names.channel, names.conversation))
            if found is None or found.stream != row.stream:
                raise Corrupt(at=f"position {row.position}", problem="lookup_missing")

    def conversations(self, reader: Reader, after: int, limit: int | None) -> list[SealedRow]:
        """Return the events that opened conversations, in log order, from behind a position."""
        rows: list[SealedRow] = []
        while limit is None or len(rows) < limit:
            batch = reader.of_kind(
                EventKind.CONVERSATION_OPENED,
                after,
                NAMES_BATCH if limit is None else min(NAMES_BATCH, limit - len(rows)),
            )
            if not batch:
                break
            rows += batch
            after = batch[-1].position
        return rows

    def names(self, row: SealedRow) -> ConversationOpened:
        """Return the names of the conversation that a row opened."""
        meta = self._ledger.open(row).meta
        assert isinstance(meta, ConversationOpened), "rows of this kind have this body"
        return meta

    # --- folding ------------------------------------------------------------------------------------------------------

    def head(self, reader: Reader, stream: int) -> StreamHead:
        """Return the proved head of a stream that is known to be open."""
        head = self._ledger.head(reader, stream)
        if head is None:
            raise Corrupt(at=f"stream {stream}", problem="head_missing")
        return head

    def steps(self, reader: Reader, head: StreamHead) -> tuple[Step, ...]:
        """Return all steps taken on a stream up to its head, in log order; complete, or `Corrupt`."""
        with self._lock:
            known = self._steps.get(head.stream, Steps(0, ()))
            if known.seq:
                self._steps.move_to_end(head.stream)
        if known.seq >= head.seq:
            # A reader's snapshot may be older than what another one has seen: fold only what this snapshot has.
            if len(known.taken) == head.changes:
                return known.taken
            known = Steps(0, ())
        if len(known.taken) < head.changes:
            rows = reader.changes(head.stream, known.seq)
            known = Steps(head.seq, known.taken + tuple(self._step(row) for row in rows if row.seq <= head.seq))
        else:
            known = Steps(head.seq, known.taken)
        if len(known.taken) != head.changes:
            at = f"stream {head.stream}"
            raise Corrupt(at=at, problem="changes_missing", limit=head.changes, found=len(known.taken))
        self._keep(head.stream, known)
        return known.taken

    def _keep(self, stream: int, steps: Steps) -> None:
        with self._lock:
            kept = self._steps.get(stream)
            if kept is None or kept.seq < steps.seq:
                self._steps[stream] = steps
                self._steps.move_to_end(stream)
                if len(self._steps) > STREAMS_KEPT_MAX:
                    self._steps.popitem(last=False)

    def _step(self, row: SealedRow) -> Step:
        self._ledger.keys_of(row)
        header, _ = self._ledger.header(row)
        assert header.reason is not None, "a change names its transition"
        turn = header.refs.get("turn")
        if turn is not None:
            return Step(Transition(header.reason), turn, turn)
        return Step(Transition(header.reason), 1, header.refs["through"])

    def page(
        self,
        reader: Reader,
        head: StreamHead,
        first: int,
        last: int,
        wanted: Callable[[Phase, TurnMeta], bool],
    ) -> list[ReadTurn]:
        """Return the turns `first` to `last` of a stream, all of them; the words only of those that are `wanted`."""
        rows = reader.turns(head.stream, first, last)
        if len(rows) != last - first + 1:
            at = f"stream {head.stream}"
            raise Corrupt(at=at, problem="turns_missing", limit=last - first + 1, found=len(rows))
        steps = self.steps(reader, head)
        return [self._read(row, sequence, steps, wanted) for sequence, row in enumerate(rows, start=first)]

    def _read(
        self, row: SealedRow, sequence: int, steps: tuple[Step, ...], wanted: Callable[[Phase, TurnMeta], bool]
    ) -> ReadTurn:
        if row.turn_seq != sequence:
            raise Corrupt(at=f"position {row.position}", problem="turns_missing")
        opened = self._ledger.open(row)
        meta = opened.meta
        assert isinstance(meta, TurnMeta), "only turns have a turn sequence"
        phase = phase_of(sequence, steps) if steps else Phase.ACTIVE
        seed = content = None
        if phase is not Phase.RAW_DELETED and wanted(phase, meta):
            seed, content = self._ledger.content(opened)
        record = TurnRecord(
            position=row.position, sequence=sequence, time_ms=row.time, phase=phase, meta=meta, content=content
        )
        return ReadTurn(record, opened, seed)
