"""Attachments: how a file comes into the log beside its turn, and out of it again, a chunk at a time.

1. Coming in, the chunks are encrypted under a key of their own and stored in transactions of a few MiB, so that nobody
   waits for a large file. The attachment belongs to no event yet; what stands for it is a token (`crypto.chunk`).
2. The turn that has the token takes the attachment over. Its field commits to the size, and to the root of the tree
   (RFC 6962) over the chunks, each with the salt of the field before it. Key and salt are kept with the content.
3. Erasing the turn, or the message, destroys key and salt with the content, and lets go of the chunks. They are removed
   in transactions of their own before the erasure is acknowledged, or at the next opening.

An attachment that no turn took over is removed after a day.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from muniment.crypto.chunk import CHUNK_BYTES, ChunkCipher, Upload, upload_of, upload_token
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.segment import NONCE_BYTES, SpaceKeyring
from muniment.crypto.stream import Readable
from muniment.errors import Corrupt, InvalidInput, LimitExceeded
from muniment.events.cells import has_own_salts, pack, unpack_content
from muniment.events.labels import content_fields
from muniment.events.message import AttachmentPart, Part, part_label
from muniment.events.records import ContentBody, TurnContent
from muniment.evidence.header import salts_of
from muniment.evidence.verifier import AttachmentTree
from muniment.kernel.sources import MOMENT_MS_MAX
from muniment.log.port import PartRow, Reader, SealedRow, Store, Transaction

if TYPE_CHECKING:
    from muniment.events.turn import Turn
    from muniment.kernel.digest import Salts
    from muniment.kernel.sources import Clock, Entropy
    from muniment.ledger.ledger import Ledger, Writer

Snapshot = Callable[[], AbstractContextManager[Reader]]
Step = tuple[int, bool]  # how many chunks were removed, and whether there are more

KEY_SUFFIX = "/chunks"  # behind the label of a field: where the key of its chunks is among the salts
NO_ROOT = bytes(32)
CHUNKS_AT_ONCE = 16  # written, read or removed together: 4 MiB
PART_BYTES = 5  # of the random number of an attachment
UPLOAD_MS_MAX = 24 * 60 * 60 * 1000
ERASED_BEFORE_MS = BEFORE_ALL_MS = 1  # what was let go of counts as begun at time 0


# --- coming in --------------------------------------------------------------------------------------------------------


class IncomingFile:
    """A file on its way in: encrypts its chunks, and knows what a turn will commit to."""

    def __init__(self, entropy: Entropy) -> None:
        self.part = new_part(entropy)
        self._key, self._salt = entropy.take(KEY_BYTES), entropy.take(KEY_BYTES)
        self._cipher, self._tree = ChunkCipher(self._key), AttachmentTree(self._salt)
        self._chunks = 0

    def sealed(self, chunk: bytes) -> tuple[int, bytes]:
        """Return the next chunk encrypted, with its number."""
        self._tree.take(chunk)
        self._chunks += 1
        return self._chunks - 1, self._cipher.seal(self._chunks - 1, chunk)

    def upload(self, digest: bytes) -> Upload:
        """Return what all of it is; `digest` is the keyed digest of the bytes."""
        tree = self._tree
        return Upload(part=self.part, key=self._key, salt=self._salt, size=tree.size, root=tree.root(), digest=digest)


def stored(ledger: Ledger, file: Readable, clock: Clock, limit: int) -> tuple[Upload, str]:
    """Store a file as an attachment that belongs to no event; return what it is, and the token that stands for it.

    Raises `LimitExceeded` for a file that is too large; what was stored of it is removed. Raises `Conflict` where so
    little came in for a day that it was removed meanwhile.
    """
    incoming = IncomingFile(ledger.entropy)
    part, digest = incoming.part, hmac.new(ledger.words_digest(b"attachment"), digestmod="sha256")
    ledger.transact(lambda writer: writer.tx.begin_part(part, clock.now_ms()))
    try:
        for chunks in _read(file, limit):
            for chunk in chunks:
                digest.update(chunk)
            ledger.transact(partial(_put, part, [incoming.sealed(chunk) for chunk in chunks], clock.now_ms()))
    except BaseException:
        ledger.transact(lambda writer: writer.tx.let_go([part]))
        drop_loose(ledger, ERASED_BEFORE_MS)
        raise
    upload, nonce = incoming.upload(digest.digest()), ledger.entropy.take(NONCE_BYTES)
    return upload, ledger.transact(lambda writer: upload_token(writer.space_key, nonce, upload))


def _put(part: int, sealed: Sequence[tuple[int, bytes]], now_ms: int, writer: Writer) -> None:
    writer.tx.put_chunks(part, sealed[0][0], [chunk for _, chunk in sealed], now_ms)


def new_part(entropy: Entropy) -> int:
    """Return a random number for an attachment."""
    return 1 + int.from_bytes(entropy.take(PART_BYTES))


def _read(file: Readable, limit: int) -> Iterator[list[bytes]]:
    """Yield a file in chunks, some at a time; a stream may give less than it is asked for."""
    chunk, chunks, size = b"", list[bytes](), 0
    while piece := file.read(CHUNK_BYTES - len(chunk)):
        chunk += piece
        size += len(piece)
        if size > limit:
            raise LimitExceeded(at="file", problem="too_large", limit=limit)
        if len(chunk) == CHUNK_BYTES:
            chunks.append(chunk)
            chunk = b""
        if len(chunks) == CHUNKS_AT_ONCE:
            yield chunks
            chunks = []
    if chunk:
        chunks.append(chunk)
    if chunks:
        yield chunks


def uploads_of(keys: SpaceKeyring, parts: Iterable[Sequence[Part]]) -> dict[str, Upload]:
    """Return the uploads that the attachments of a turn name, by the labels of their fields.

    Raises `InvalidInput` for a token that stands for nothing, and for a part that says something else of its file.
    """
    uploads: dict[str, Upload] = {}
    for label, part in labelled(parts):
        upload = upload_of(keys, part.upload or "")
        if upload is None:
            raise InvalidInput(at=label, problem="unknown_upload")
        if (part.size, part.root) != (upload.size, upload.root):
            raise InvalidInput(at=label, problem="differs")
        uploads[label] = upload
    return uploads


def as_compared(turn: Turn, kept: Sequence[Sequence[Part]], uploads: Mapping[str, Upload]) -> Turn:
    """Return a turn as a repeat of it is compared: a file is known by its bytes, however often it is added.

    One of a message that is not kept is known by what the part says of it.
    """
    digests = {part.upload: uploads[label].digest for label, part in labelled(kept)}
    said = _with_each(
        [message.parts() for message in turn.messages],
        lambda _, part: replace(part, root=digests.get(part.upload, NO_ROOT), upload=None),
    )
    messages = [replace(message, content=parts) for message, parts in zip(turn.messages, said, strict=True)]
    return replace(turn, messages=messages)


def with_roots(content: TurnContent, roots: Mapping[str, bytes]) -> TurnContent:
    """Return the content of a turn with other roots of its attachments; those without a root have zeros."""
    if next(attachments_of(content), None) is None:
        return content
    parts = _with_each(content.parts, lambda label, part: replace(part, root=roots.get(label, NO_ROOT)))
    return replace(content, parts=parts)


def without_tokens(parts: Sequence[Sequence[Part]]) -> list[list[Part]]:
    """Return the parts of messages as they are kept: no attachment names its upload."""
    return _with_each(parts, lambda _, part: replace(part, upload=None))


def _with_each(
    parts: Sequence[Sequence[Part]], change: Callable[[str, AttachmentPart], AttachmentPart]
) -> list[list[Part]]:
    """Return the parts of messages with every attachment changed, given the label of its field."""
    return [
        [
            change(part_label(message, index), part) if isinstance(part, AttachmentPart) else part
            for index, part in enumerate(of_message)
        ]
        for message, of_message in enumerate(parts)
    ]


def root_under(reader: Reader, upload: Upload, salts: Salts, label: str) -> bytes:
    """Return the root of an upload under the salt of another attachment, to compare the two."""
    (_, tree), cipher = _opening(salts, label), ChunkCipher(upload.key)
    for start in range(0, -(-upload.size // CHUNK_BYTES), CHUNKS_AT_ONCE):
        for number, chunk in enumerate(reader.chunks(upload.part, start, CHUNKS_AT_ONCE), start):
            tree.take(cipher.open(number, chunk))
    return tree.root()


def own_salts_of(uploads: Mapping[str, Upload]) -> dict[str, bytes]:
    """Return what is kept among the salts of a turn for its attachments, by the labels of their fields."""
    salts = {label: upload.salt for label, upload in uploads.items()}
    return salts | {label + KEY_SUFFIX: upload.key for label, upload in uploads.items()}


# --- going out --------------------------------------------------------------------------------------------------------


def attachments_of(content: ContentBody) -> Iterator[tuple[str, AttachmentPart]]:
    """Yield the attachments of an event with the labels of their fields; only turns have any."""
    return labelled(content.parts) if isinstance(content, TurnContent) else iter(())


def labelled(parts: Iterable[Sequence[object]]) -> Iterator[tuple[str, AttachmentPart]]:
    """Yield the attachments among the parts of messages with the labels of their fields."""
    for message, of_message in enumerate(parts):
        for index, part in enumerate(of_message):
            if isinstance(part, AttachmentPart):
                yield part_label(message, index), part


def chunks_of(
    snapshot: Snapshot, position: int, salts: Salts, label: str, part: AttachmentPart, first: int = 0
) -> Iterator[bytes]:
    """Yield the chunks of an attachment of an event, from a number on; each is authentic.

    Each few MiB are read from a snapshot of their own, so that an erasure never waits for a large file. Read from the
    first one, the last chunk is only given once all of them are what the turn commits to. Raises `Corrupt` at the first
    chunk that is missing or was changed.
    """
    at = f"position {position}"
    cipher, tree = _opening(salts, label)
    count = -(-part.size // CHUNK_BYTES)
    for start in range(first, count, CHUNKS_AT_ONCE):
        wanted = min(CHUNKS_AT_ONCE, count - start)
        with snapshot() as reader:
            number = next((known.part for known in reader.parts(position, position) if known.field == label), None)
            sealed = [] if number is None else reader.chunks(number, start, wanted)
        if len(sealed) != wanted:
            raise Corrupt(at=at, problem="attachment_missing")
        for place, each in enumerate(sealed, start):
            chunk = cipher.open(place, each)
            tree.take(chunk)
            if place == count - 1 and first == 0 and (tree.size, tree.root()) != (part.size, part.root):
                raise Corrupt(at=at, problem="attachment_changed")
            yield chunk


def _opening(salts: Salts, label: str) -> tuple[ChunkCipher, AttachmentTree]:
    """Return what opens the chunks of an attachment, and what they are taken into."""
    own = salts_of(salts, [label, label + KEY_SUFFIX])
    return ChunkCipher(own[label + KEY_SUFFIX]), AttachmentTree(own[label])


def require_attachments(snapshot: Snapshot, position: int, salts: Salts, content: ContentBody) -> None:
    """Raise `Corrupt` unless all attachments of an event are what it commits to."""
    for label, part in attachments_of(content):
        for _ in chunks_of(snapshot, position, salts, label, part):
            pass


class AttachmentCheck:
    """Attachments on their way into another log: whether all of them are what their events commit to."""

    def __init__(self) -> None:
        self.damaged = 0
        self._awaited: dict[tuple[int, str], tuple[ChunkCipher, AttachmentTree, AttachmentPart]] = {}

    def expect(self, row: SealedRow, cell: bytes) -> None:
        """Note the attachments of an event, by its content; their chunks come before the next events."""
        if not has_own_salts(cell):
            return
        salts, content = unpack_content(row.kind, cell)
        for label, part in attachments_of(content):
            self._awaited[row.position, label] = *_opening(salts or {}, label), part

    def take(self, position: int, field: str, first: int, sealed: Iterable[bytes]) -> None:
        """Take chunks of an attachment; one that does not open is missing in the end."""
        awaited = self._awaited.get((position, field))
        if awaited is None:
            return
        cipher, tree, _ = awaited
        for number, chunk in enumerate(sealed, first):
            with suppress(Corrupt):
                tree.take(cipher.open(number, chunk))

    def settle(self) -> None:
        """Count what is missing or was changed of the attachments so far."""
        for _, tree, part in self._awaited.values():
            self.damaged += (tree.size, tree.root()) != (part.size, part.root)
        self._awaited.clear()


class PartRestorer:
    """Puts attachments back, as they were given away."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._part = 0

    def take(self, tx: Transaction, position: int, field: str, first: int, sealed: Sequence[bytes]) -> None:
        """Write the next chunks; the first ones begin an attachment."""
        if first == 0:
            self._part = new_part(self._entropy)
            tx.begin_part(self._part, BEFORE_ALL_MS)
            tx.attach(PartRow(part=self._part, position=position, field=field))
        tx.put_chunks(self._part, first, sealed, BEFORE_ALL_MS)


# --- erasing ----------------------------------------------------------------------------------------------------------


def left_of(tx: Transaction, row: SealedRow, salts: Salts, content: ContentBody) -> bytes:
    """Return what is left of the content of an event, packed with its salts; the other attachments are let go of."""
    labels = [label for label, _ in content_fields(content)]
    kept = {label for label, _ in attachments_of(content)}
    tx.let_go([known.part for known in tx.parts(row.position, row.position) if known.field not in kept])
    return pack(salts_of(salts, chain(labels, (label + KEY_SUFFIX for label in kept))), content)


def attach(tx: Transaction, position: int, uploads: Mapping[str, Upload]) -> None:
    """Let attachments belong to an event; raises `InvalidInput` for one that is gone, or belongs to another event."""
    for label, upload in uploads.items():
        if not tx.attach(PartRow(part=upload.part, position=position, field=label)):
            raise InvalidInput(at=label, problem="unknown_upload")


def is_anything_loose(ledger: Ledger) -> bool:
    """Tell whether there are attachments of no event."""
    with ledger.store.reader() as reader:
        return reader.has_loose_parts(MOMENT_MS_MAX)


def drop_loose(ledger: Ledger, before_ms: int) -> int:
    """Remove the attachments of no event that were begun before a time; return how many chunks that were."""
    return _dropped(ledger.store, lambda plan: ledger.transact(lambda writer: plan(writer.tx)), before_ms)


def drop_all(store: Store) -> int:
    """Remove the attachments of a log that has ended, whose events have let go of all; return how many chunks."""
    return _dropped(store, store.transact, MOMENT_MS_MAX)


def _dropped(store: Store, transact: Callable[[Callable[[Transaction], Step]], Step], before_ms: int) -> int:
    with store.reader() as reader:
        there_are_more = reader.has_loose_parts(before_ms)
    dropped = 0
    while there_are_more:
        step, there_are_more = transact(
            lambda tx: (tx.drop_chunks(before_ms, CHUNKS_AT_ONCE), tx.has_loose_parts(before_ms))
        )
        dropped += step
    return dropped
