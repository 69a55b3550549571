"""The ledger of a space: where events become sealed rows, and sealed rows events again.

A store keeps rows and knows nothing; governance decides and stores nothing. The ledger stands between them, and it is
the only place that brings header, commitments, tree, cells and keys together.

Appending: a `Draft` is made before the write transaction (`ledger.drafts`). A *plan* runs inside the transaction
(decision 0005). It is given a `Writer`, looks at the state it would append to, decides, and appends; the writer gives
each draft its place, makes the header, seals the cells under the leaf and keeps the stream heads. A plan that raises
leaves no trace.

Reading: every row that is opened is checked against its header's hash, and its envelope is opened with all columns of
the row as associated data; an edited row does not open. What no single row can show is an *omission*. For that
each stream has a head, a row with a MAC under a key of the space, the log has a seal over its frontier and its names
(`ledger.name_buckets`), and `ledger.attest` checks at opening that heads, tree and names account for every row. Each
state that is read or appended to is proved by its seal first, and is never older than one seen before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from muniment.crypto.cell import (
    CONTENT_KEY_BYTES,
    ContentKey,
    OpenEnvelope,
    open_cell,
    seal_cell,
    squeeze,
)
from muniment.errors import Corrupt, KeyMissing, SignerUnavailable
from muniment.events.cells import former_fields, unpack_content, unpack_meta
from muniment.events.labels import content_fields, meta_fields
from muniment.events.records import ENTRIES, OPENS, VERSIONS, ContentBody, MetaBody, TurnContent
from muniment.evidence.header import Field, Header
from muniment.evidence.tree import Frontier, extend
from muniment.kernel.digest import KeyedDigest, Salts, b64url, framed
from muniment.ledger.headers import prove_row, row_of, unpack
from muniment.ledger.heads import Heads, Placed
from muniment.ledger.name_buckets import DIGEST_BYTES, NameRow, Names, Naming, restores_told
from muniment.ledger.segments import SegmentKeys, begins_segment, segment_of
from muniment.ledger.vocabulary import LogVocabulary, Written
from muniment.ledger.worded import worded
from muniment.log.port import EventRow, Reader, SealedRow, Store, StreamHead, Transaction

if TYPE_CHECKING:
    from muniment.crypto.keyring import SpaceKeys
    from muniment.crypto.segment import SegmentKey, SpaceKey
    from muniment.evidence.notes import CheckpointSigner
    from muniment.governance.change_rules import ChangeFlaw
    from muniment.kernel.sources import Entropy
    from muniment.ledger.drafts import Change, Draft

SPACE_STREAM = 0
EPOCH = "epoch"  # the named value that counts restores: an id, new with each
VKEY = "vkey"  # the named value that holds the public key of the log
CHECKPOINT_EVENTS = 1024  # a log is signed whenever its size passes a multiple of this

Outcome = TypeVar("Outcome")


class OpenedEvent(Struct, frozen=True, kw_only=True, gc=False):
    """A row that was opened: its columns, proved, the key of its content if there is any, and its meta body."""

    row: SealedRow
    key: ContentKey | None
    meta_seed: bytes
    meta: MetaBody

    @property
    def salts(self) -> Salts:
        """What the salts of content are derived from that was never erased in part."""
        assert self.key is not None, "what has salts has a key"
        return self.key.salts()


class Writer:
    """Appends within one plan. `tx` is the state it appends to; what was appended shows there once it is flushed."""

    def __init__(self, tx: Transaction, ledger: Ledger) -> None:
        self._written = ledger.written(tx)
        self.tx = tx
        self.entropy = ledger.entropy
        self._ledger = ledger
        self._restores = ledger.begin(tx)
        self._frontier = tx.frontier()
        self._rows: list[SealedRow] = []
        self._namings: dict[bytes, Naming] = {}  # in this order
        self._heads: dict[int, StreamHead] = {}
        if ledger.keys.refresh():  # inside the transaction: nothing is sealed under a key that is being retired
            ledger.segments.forget()
        self.space_key = ledger.keys.current
        self.touched: set[int] = set()  # the segments in which something was destroyed
        self._segment_keys: dict[int, SegmentKey] = {}
        self.lengths: dict[int, int] = {}  # of the streams that were appended to
        self.note: str | None = None  # the checkpoint that was signed on the way

    def head(self, stream: int) -> StreamHead | None:
        """Return the head of a stream, proved, or None for one that is not open."""
        head = self._heads.get(stream)
        return head if head is not None else self._ledger.head(self.tx, stream)

    def _open_head(self, stream: int) -> StreamHead:
        head = self.head(stream)
        if head is None:
            raise Corrupt(at=f"stream {stream}", problem="head_missing")
        return head

    def append(
        self,
        event: Draft,
        *,
        stream: int | None,
        messages: int = 0,
        target: int | None = None,
        refs: dict[str, int] | None = None,
    ) -> Placed:
        """Give an event its place: in a stream, or (None) as the first of a new one.

        A turn has so many `messages`. `target` is the entry that the event changes (0: several, which `refs` names).
        """
        if target and refs:  # the header names it as its target
            refs = {name: at for name, at in refs.items() if name != "turn"}
        position = self._frontier.size + len(self._rows)
        if stream is None:
            stream, head = position, StreamHead(stream=position, type=OPENS[event.kind])
        else:
            head = self._open_head(stream)
        seq = head.seq + 1
        entry = ENTRIES.get(event.kind)
        turns = head.turns + (entry is not None)
        header = Header(
            fields=event.fields,
            kind=event.kind,
            log=self._ledger.log,
            pos=position,
            prev=b64url(head.leaf) if head.leaf else None,
            reason=event.reason,
            refs=refs or {},
            seq=seq,
            stream=stream,
            t=event.time_ms,
            entry=UNSET if entry is None else {entry: turns},
            opens=head.type if seq == 1 else UNSET,
            target=UNSET if target is None else target,
        )
        bare = row_of(header)
        leaf = bare.leaf
        key, squeezed = event.content or (None, None)
        envelope = self.sealed_envelope(bare, OpenEnvelope(event.meta, key))
        content = None if key is None or squeezed is None else seal_cell(key, squeezed, leaf)
        self._rows.append(SealedRow(**asdict(bare), envelope=envelope, content=content))
        total = head.messages + messages
        self._heads[stream] = StreamHead(
            stream=stream,
            type=head.type,
            seq=seq,
            turns=turns,
            messages=total,
            changes=head.changes + (target is not None),
            names=head.names,
            leaf=leaf,
        )
        return Placed(position, stream, seq, bare.turn_seq, leaf, total)

    def change(self, change: Change, stream: int | None = SPACE_STREAM, event: Draft | None = None) -> Placed:
        """Append a change to a stream. `event` is its draft, where that was made before the transaction."""
        assert change.target is None or not self._flaws(change, stream), "only valid changes are appended"
        drafted = change.drafted(self._ledger.entropy) if event is None else event
        return self.append(drafted, stream=stream, target=change.target, refs=change.refs)

    def claim(self, digest: bytes, stream: int, position: int) -> None:
        """Let a name of a stream lead to a position; one that was claimed before is a `Conflict` when it is written."""
        self._name(digest, position)
        head = self._open_head(stream)
        self._heads[stream] = replace(head, names=head.names + 1)

    def rename(self, digest: bytes, other: bytes) -> None:
        """Let another name lead where this one led, which may be claimed again.

        One that leads nowhere, and another that leads somewhere, are a `Conflict` when it is written.
        """
        self._name(digest, other)

    def _name(self, digest: bytes, to: Naming) -> None:
        if digest in self._namings:
            self.flush()
        self._namings[digest] = to

    def find(self, digest: bytes) -> int | None:
        """Return where a name leads, with what this plan has claimed."""
        to = self._namings.get(digest)
        return to if isinstance(to, int) else self._ledger.names.find(self.tx, digest)

    def _flaws(self, change: Change, stream: int | None) -> list[ChangeFlaw]:
        head = None if stream is None else self.head(stream)
        return change.flaws(0 if head is None else head.turns, is_space=stream == SPACE_STREAM)

    def segment_key(self, position: int) -> SegmentKey:
        """Return the key that seals the envelope at a position; the first event of a segment makes one."""
        segment = segment_of(position)
        key = self._segment_keys.get(segment)
        if key is None:
            segments, is_new = self._ledger.segments, position >= self._frontier.size
            if is_new and begins_segment(position):
                key = segments.begin(self.tx, self.space_key, segment)
            else:
                key = segments.growing(self.space_key.version, segment) if is_new else None
            key = self._segment_keys[segment] = key or segments.sealing(self.tx, segment)
        return key

    def sealed_envelope(self, row: EventRow, opened: OpenEnvelope) -> bytes:
        """Return what an envelope holds, sealed for a row."""
        return self._ledger.segments.seal(self.segment_key(row.position), row, opened)

    def destroy_content(self, row: SealedRow) -> bool:
        """Destroy the key and the ciphertext of an event's content; return whether there was any."""
        meta, key = self._ledger.unsealed(row)
        if key is None and row.content is None:
            return False
        self._touch(row.position)
        self.tx.put_envelopes([(row.position, self.sealed_envelope(row, OpenEnvelope(meta, None)))])
        self.tx.destroy_content(row.position)
        return True

    def _touch(self, position: int) -> None:
        self.touched.add(segment_of(position))

    def touch_all(self) -> None:
        """Let the keys of all segments be replaced."""
        self.touched.update(range(segment_of(self._frontier.size + len(self._rows) - 1) + 1))

    def rekey(self, space_key: SpaceKey, segments: Collection[int], *, every_row: bool) -> None:
        """Replace the keys of segments; from then on this version of the space key seals rows of segment keys."""
        self.flush()
        self._ledger.segments.replace(self.tx, space_key, segments, every_row=every_row)
        self.space_key = space_key
        self._segment_keys.clear()

    def destroy_sealed(self, position: int) -> None:
        """Destroy everything that is sealed of an event, and the keys of it, whether they can be read or not."""
        self.tx.destroy_content(position)
        self.tx.destroy_envelope(position)

    def destroy_unreadable(self, row: SealedRow) -> bool:
        """Destroy the content of a turn whose envelope does not open; return whether there was any.

        No key can be taken out of such an envelope, so it goes as a whole, with what it says. That the row is the turn
        that it says it is has to be proved without keys: by its header, and by the tree (`Corrupt`).
        """
        self._ledger.prove_place(self.tx, row)
        self._touch(row.position)
        gone = self.tx.destroy_envelope(row.position)
        return self.tx.destroy_content(row.position) or gone

    def committed(self) -> None:
        """Remember the key of the segment that grows: the transaction of this plan is durable."""
        key = self._segment_keys.get(segment_of(self._frontier.size - 1))
        if key is not None:
            self._ledger.segments.remember(self.space_key.version, key)

    def end(self) -> None:
        """Let the log take no more events after this plan; its head is signed, and pinned once that is durable."""
        self.sign()

    def sign(self) -> str:
        """Sign the head that this plan has made, and return the checkpoint; it is pinned once that is durable."""
        self.flush()
        self.note = self._ledger.witness.sign(self.tx, self._frontier)
        self.tx.put_checkpoint(self._frontier.size, self.note)
        return self.note

    def reseal_content(self, row: SealedRow, left: bytes) -> None:
        """Seal what is left of an event's content, packed, under a new key; the old key is gone."""
        meta, key = self._ledger.unsealed(row).meta, ContentKey(self._ledger.entropy.take(CONTENT_KEY_BYTES))
        self._touch(row.position)
        self.tx.put_envelopes([(row.position, self.sealed_envelope(row, OpenEnvelope(meta, key)))])
        self.tx.put_content(row.position, seal_cell(key, squeeze(left), row.leaf))

    def clear(self) -> None:
        """Remove the whole log; what is put back or appended from now on is all that there is."""
        assert not self._rows, "what was appended is flushed first"
        self.tx.clear()
        self._frontier, self._written = self.tx.frontier(), Written()
        self._restores += 1
        self._segment_keys.clear()

    def put_back(self, rows: Sequence[SealedRow] = (), names: Sequence[NameRow] = ()) -> None:
        """Hand over events and names as they once were; who does this puts the heads of their streams too."""
        assert not self._rows, "what was appended is flushed first"
        self._namings.update((row.digest, row.position) for row in names)
        self._frontier = self._hand_over(rows)

    def _hand_over(self, rows: Sequence[SealedRow]) -> Frontier:
        frontier, nodes = extend(self._frontier, [row.leaf for row in rows])
        seal = self._ledger.names.write(self.tx, frontier, self._restores, self._namings)
        self.tx.append(rows, nodes, frontier, seal)
        self._namings = {}
        return frontier

    def flush(self) -> None:
        """Hand everything appended and named so far to the transaction."""
        if not self._rows and not self._namings:
            return
        frontier = self._hand_over(self._rows)
        kinds = {row.kind for row in self._rows}
        if fresh := kinds.difference(self._written.present):
            if not self._written.entries:
                self._ledger.segments.owed.begin(self.tx)
            self._written = self._ledger.vocabulary.extended(self.tx, self._written, fresh)
        for head in self._heads.values():
            self.tx.put_stream_head(self._ledger.heads.sealed(head))
            self.lengths[head.stream] = head.seq
        is_due = bool(kinds) and self._ledger.witness.is_due(kinds, self._rows[-1].time)
        if is_due or frontier.size // CHECKPOINT_EVENTS > self._frontier.size // CHECKPOINT_EVENTS:
            with suppress(SignerUnavailable):  # an append needs no signature: a later one covers it
                self.note = self._ledger.witness.sign(self.tx, frontier)
                self.tx.put_checkpoint(frontier.size, self.note)
        self._frontier, self._rows, self._heads = frontier, [], {}

    def adopt(self, vocabulary: bytes) -> None:
        """Take over the vocabulary of the events that were put back; raises as `Written.require_writable`."""
        written = self._ledger.vocabulary.parsed(vocabulary)
        written.require_writable()
        self._written = self._ledger.vocabulary.extended(self.tx, written, ())
        self._ledger.segments.owed.begin(self.tx)


class Ledger:
    """The events of one space: appended through plans, read as opened rows. Thread-safe as its store is.

    `is_bare` is for putting another log in its place: a log that is damaged is no obstacle then.
    """

    def __init__(
        self, store: Store, keys: SpaceKeys, entropy: Entropy, witness: CheckpointSigner, *, is_bare: bool = False
    ) -> None:
        self._is_bare = is_bare
        self.store = store
        self.keys = keys
        self.entropy = entropy
        self.witness = witness
        self.log = keys.log_id
        self._keyed = KeyedDigest(keys.index_key)
        self.names = Names(self._keyed)
        self.segments = SegmentKeys(store, keys, entropy, self.names)
        self.heads = Heads(self._keyed)
        self.vocabulary = LogVocabulary(self._keyed)
        self.grown: Callable[[], object] = bool  # called after each transaction

    # --- appending ----------------------------------------------------------------------------------------------------

    def transact(self, plan: Callable[[Writer], Outcome]) -> Outcome:
        """Run a plan inside one write transaction; return what it returns once that is durable."""

        def run(tx: Transaction) -> tuple[Outcome, Writer, bytes]:
            before = self.segments.read_in(tx)
            try:
                writer = Writer(tx, self)
                outcome = plan(writer)
                writer.flush()
            finally:
                self.segments.read_in(before)
            return outcome, writer, tx.log_seal()

        outcome, writer, seal = self.store.transact(run)
        self.grown()
        self.names.keep(seal)
        self.heads.keep(seal, writer.lengths)
        writer.committed()
        if writer.note is not None:
            self.witness.remember(writer.note, self.store.reader)
        return outcome

    def begin(self, tx: Transaction) -> int:
        """Prove the state that a plan would append to; return how often the log was restored."""
        if self._is_bare:
            return restores_told(tx.log_seal())
        return self.names.begin(tx, self.names.newest, writes=True).restores

    def written(self, tx: Transaction) -> Written:
        """Return the vocabulary of a log that a plan may append to; raises as `Written.require_writable`."""
        if self._is_bare:
            return Written()
        written = self.vocabulary.of(tx)
        written.require_writable()
        return written

    # --- reading ------------------------------------------------------------------------------------------------------

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Give one consistent state of the log to several reads; `store.reader` gives it unproved."""
        newest = self.names.newest  # as of now: others may go on writing while the snapshot is taken
        with self.store.reader() as reader:
            if not self._is_bare:
                self.names.begin(reader, newest)
            before = self.segments.read_in(reader)
            try:
                yield reader
            finally:
                self.segments.read_in(before)

    def unsealed(self, row: SealedRow) -> OpenEnvelope:
        """Return what the envelope of a row holds, having proved its leaf and every column, or raise `Corrupt`."""
        if row.envelope is None:
            self.keys.refresh()  # raises when the whole space was erased meanwhile
            raise KeyMissing(at=f"position {row.position}")
        return self.segments.open(row)

    def header(self, row: EventRow) -> tuple[Header, bytes]:
        """Return the header of a row and its exact bytes, held against the leaf."""
        return unpack(row, self.log)

    def prove_place(self, reader: Reader, row: SealedRow) -> Header:
        """Prove without a key where an event stands: by its header, and by the tree over what was signed."""
        header = prove_row(reader, row, self.log)
        if header.number is None:
            raise Corrupt(at=f"position {row.position}", problem="columns")
        return header

    def open(self, row: SealedRow) -> OpenedEvent:
        """Return a row with its meta body."""
        packed, key = self.unsealed(row) if row.envelope is None else self.segments.open(row)
        try:
            seed, meta = unpack_meta(row.kind, packed)
        except Corrupt as corrupt:
            raise Corrupt(at=f"position {row.position}", problem=corrupt.problem) from None
        opened = OpenedEvent(row=row, key=key, meta_seed=seed, meta=meta)
        return opened if row.turn_seq is not None else worded(self, opened)

    def open_turns(self, rows: Sequence[SealedRow]) -> list[OpenedEvent]:
        """Return rows of turns, as `open`; many at once take less time."""
        try:
            return [
                OpenedEvent(row=row, key=key, meta_seed=seed, meta=meta)
                for row, (packed, key) in zip(rows, self.segments.open_each(rows), strict=True)
                for seed, meta in (unpack_meta(row.kind, packed),)
            ]
        except Corrupt:  # or a key that was not met yet: each row tells
            return [self.open(row) for row in rows]

    def content(self, opened: OpenedEvent) -> tuple[Salts, ContentBody]:
        """Return salts and content of an event whose content the log does not call erased."""
        salts, body = self.kept_content(opened)
        return opened.salts if salts is None else salts, body

    def kept_content(self, opened: OpenedEvent) -> tuple[Salts | None, ContentBody]:
        """Return content with the salts that are kept beside it; as `content`. None: they come from its key."""
        row, key = opened.row, opened.key
        if key is None or row.content is None:
            raise KeyMissing(at=f"position {row.position}")
        try:
            return unpack_content(row.kind, open_cell(key, row.content, row.leaf))
        except Corrupt as corrupt:
            raise Corrupt(at=f"position {row.position}", problem=corrupt.problem) from None

    def meta_fields(self, opened: OpenedEvent) -> list[Field]:
        """Return the fields of a meta body as the header commits to them: as the version that was stored spelt them."""
        if VERSIONS[type(opened.meta)] > 1:
            former = former_fields(type(opened.meta), self.unsealed(opened.row).meta)
            if former is not None:
                return former
        return meta_fields(opened.meta)

    def content_fields(self, opened: OpenedEvent, content: ContentBody) -> list[Field]:
        """Return the fields of a content body, which is still there; as `meta_fields`."""
        row, key = opened.row, opened.key
        if VERSIONS[type(content)] > 1 and key is not None and row.content is not None:
            former = former_fields(type(content), open_cell(key, row.content, row.leaf))
            if former is not None:
                return former
        return content_fields(content)

    def words(self, opened: OpenedEvent) -> tuple[Salts, TurnContent]:
        """Return salts and content of a turn; as `content`."""
        salts, content = self.content(opened)
        assert isinstance(content, TurnContent), "a turn's content is its words"
        return salts, content

    def life(self, reader: Reader) -> str:
        """Return which life of the log this is (decision 0021); one that was never restored has no name."""
        return (reader.meta(EPOCH) or b"").decode()

    def head(self, reader: Reader, stream: int) -> StreamHead | None:
        """Return the head of a stream, proved, or None for one that is not open."""
        return self.heads.of(reader, stream)

    def name_digest(self, purpose: str, *parts: str) -> bytes:
        """Return the keyed digest under which something is found again by its names."""
        return self._keyed.of(framed(purpose, *parts))[:DIGEST_BYTES]

    def words_digest(self, words: bytes) -> bytes:
        """Return the keyed digest of a turn as it was handed over; it never equals one of names."""
        return self._keyed.of(framed("turn-words", words))
