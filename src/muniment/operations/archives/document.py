"""The document of an archive: JSON lines, the root first, then conversations, notebooks and tool registries.

    {"schema":"muniment/archive/1","scope":{...},"private":"include","documents":1,"events":3,"bytes":812,"digest":"..."}
    {"channel":"default","conversation":"talk","t":1700000000000}
    {"kind":"turn.committed","t":1700000001000,"turn":1,"meta":{...},"content":{...}}
    {"attachment":"message/0/content/1","chunk":"..."}
    {"kind":"turn.lifecycle","t":1700000002000,"reason":"mask","refs":{"turn":1},"target":1,"meta":{...}}
    {"subject":"ada","plane":"long_term","t":1700000003000}
    {"kind":"item.recorded","t":1700000003000,"turn":1,"meta":{...},"content":{...}}
    {"kind":"tools.registered","t":1700000004000,"meta":{...},"content":{...}}

A document is a conversation; conversations come in the order of channel and id. Its line stands for the event that
opened it, which is its event 1. Notebooks come behind the conversations, in the order of their planes; `notebooks` in
the root counts them, and is missing from an archive that says nothing of memory (decision 0179). Tool registries come
behind both, in the order of their ids, each with its last snapshot, whose number is 1; `registries` in the root counts
them in the same way (decision 0192). `bytes` and `digest` (SHA-256, 64 hexadecimal digits) are those of everything
behind the root line, line ends included. The chunks of attachments stand before the turn that they belong to, one a
line, in the order of its fields; the turn says how large they are, and nothing of their roots, which depend on keys.
Zeros behind the last line fill the document up, so that the size of a file tells little of its content. Bodies are as
in `schemas/events`; bytes are base64.
Nothing that depends on keys or places is in it: no positions, leaves, salts or keyed digests. A reference to a position
in the same stream is the number of that event in the conversation; a derived reference has neither the name of the
space nor a digest of leaves, and the evidence of an item no name of the space. So the same part of a space gives the
same document in every store.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, BinaryIO, Protocol

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from muniment.crypto.chunk import CHUNK_BYTES
from muniment.crypto.envelope import LINE_BYTES_MAX as ENVELOPE_BYTES_MAX
from muniment.crypto.envelope import Envelope, parse_envelope
from muniment.crypto.stream import SealedReader
from muniment.errors import ArchiveRefused, Corrupt, LimitExceeded
from muniment.events.archive import ArchiveScope, PrivateMaterial
from muniment.events.memory_items import MemoryPlane
from muniment.events.records import EventKind
from muniment.governance.admission import OBSERVED_MS_MAX
from muniment.operations.outfile import outside

SCHEMA = "muniment/archive/1"
LINE_BYTES_MAX = 64 * 2**20
PIECE_BYTES = 64 * 1024
PADDED_BYTES = 64 * 1024
PADDED_BITS = 4  # a padded size has so many significant bits: it is at most an eighth more
CONTEXT = b"muniment/archive"

# kinds that stand in the stream of a conversation, behind the event that opened it
ARCHIVED = frozenset({
    EventKind.ALIAS_RECORDED,
    EventKind.TURN_COMMITTED,
    EventKind.TURN_REDACTED,
    EventKind.TURN_LIFECYCLE,
    EventKind.ATTR_RECORDED,
    EventKind.REF_DERIVED,
})  # fmt: skip
# kinds that stand in a notebook, behind the event that opened it; a notebook is private material as a whole
ITEM_KINDS = frozenset({EventKind.ITEM_RECORDED, EventKind.ITEM_REVISED, EventKind.ITEM_RETIRED})
# kinds that are private material as a whole
PRIVATE_KINDS = frozenset({EventKind.ALIAS_RECORDED, EventKind.ATTR_RECORDED, EventKind.REF_DERIVED})
# references that are positions of events of the same stream
POSITIONS = frozenset({"hold"})

Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Number = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class ArchiveRoot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an archive says of itself in its first line.

    Without `notebooks` it says nothing of memory, and without `registries` nothing of tool registries.
    """

    schema: str
    scope: ArchiveScope
    private: PrivateMaterial
    documents: Count
    notebooks: Count | None = None
    registries: Count | None = None
    events: Count
    bytes: Count
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class DocumentLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conversation: its names, and when it was opened."""

    channel: str
    conversation: str
    t: Count


class NotebookLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A notebook: whose memory items it has, of which plane, and when it was opened."""

    subject: str
    plane: MemoryPlane
    t: Count


class EventLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An event of a conversation or notebook, or a tool registry.

    `turn` is the sequence of a turn or the number of an item, `target` that of the one that it speaks of.
    """

    kind: str
    t: Count
    meta: Raw
    reason: str | None = None
    refs: dict[str, Count] = {}
    turn: Number | None = None
    target: Count | None = None
    content: Raw | UnsetType = UNSET


class ChunkLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chunk of an attachment of the next turn; `attachment` is the label of its field."""

    attachment: str
    chunk: Annotated[bytes, Meta(min_length=1, max_length=CHUNK_BYTES)]


_encoder = msgspec.json.Encoder(order="deterministic")
_root, _document, _notebook, _event, _chunk = (
    msgspec.json.Decoder(kind) for kind in (ArchiveRoot, DocumentLine, NotebookLine, EventLine, ChunkLine)
)


class Hash(Protocol):
    """What a digest is taken with."""

    def update(self, data: bytes, /) -> None:
        """Take some more."""
        ...

    def hexdigest(self) -> str:
        """Return the digest of all that was taken."""
        ...


def encode(value: object) -> bytes:
    """Return the one spelling of a body in a document."""
    return _encoder.encode(value)


class Tally:
    """What the root says of everything behind it, counted along the way."""

    def __init__(self) -> None:
        self._hash: Hash = hashlib.sha256()
        self.documents = 0
        self.notebooks = 0
        self.registries = 0
        self.events = 0
        self.bytes = 0

    def take(self, line: bytes) -> None:
        """Count a line; each stands for an event or a chunk, one that opens a conversation or notebook for that too."""
        self._hash.update(line)
        self.bytes += len(line)
        self.documents += opens_document(line)
        self.notebooks += opens_notebook(line)
        self.registries += holds_registry(line)
        self.events += not holds_chunk(line)

    def root(
        self, scope: ArchiveScope, private: PrivateMaterial, *, has_memory: bool, has_registries: bool
    ) -> ArchiveRoot:
        """Return the root over what was counted, of an archive that says something of memory, and of registries."""
        return ArchiveRoot(
            schema=SCHEMA,
            scope=scope,
            private=private,
            documents=self.documents,
            notebooks=self.notebooks if has_memory else None,
            registries=self.registries if has_registries else None,
            events=self.events,
            bytes=self.bytes,
            digest=self._hash.hexdigest(),
        )


def opens_document(line: bytes) -> bool:
    """Tell whether a line is that of a conversation."""
    return line.startswith(b'{"channel":')


def opens_notebook(line: bytes) -> bool:
    """Tell whether a line is that of a notebook."""
    return line.startswith(b'{"subject":')


def holds_registry(line: bytes) -> bool:
    """Tell whether a line is that of a tool registry."""
    return line.startswith(b'{"kind":"tools.registered"')


def holds_chunk(line: bytes) -> bool:
    """Tell whether a line is that of a chunk."""
    return line.startswith(b'{"attachment":')


def line_of(value: ArchiveRoot | DocumentLine | NotebookLine | EventLine | ChunkLine) -> bytes:
    """Return a line with its end."""
    return _encoder.encode(value) + b"\n"


def lines(stream: SealedReader) -> Iterator[bytes]:
    """Yield the lines of a document, each with its end, in bounded memory; the last one may have none."""
    rest, size, zeros = b"", 0, 0
    while piece := stream.read(PIECE_BYTES):
        size += len(piece)
        *whole, rest = (rest + piece).split(b"\n") if b"\n" in piece else (rest + piece,)
        if zeros and (whole or rest.strip(b"\0")):
            raise ArchiveRefused(at="archive", problem="padding")
        for line in whole:
            yield line + b"\n"
        if rest.startswith(b"\0") and not rest.strip(b"\0"):
            zeros, rest = zeros + len(rest), b""
        if len(rest) > LINE_BYTES_MAX:
            raise LimitExceeded(at="archive", problem="line_too_long", limit=LINE_BYTES_MAX)
    if rest:
        yield rest
    if zeros != len(padding(size - zeros)):
        raise ArchiveRefused(at="archive", problem="padding")


def padding(size: int) -> bytes:
    """Return the zeros behind a document of this size."""
    unit = max(PADDED_BYTES, 1 << max(0, size.bit_length() - PADDED_BITS))
    return bytes(-size % unit)


def parse_root(line: bytes) -> ArchiveRoot:
    """Return the root that a line is the one spelling of."""
    root: ArchiveRoot = _parsed(_root, line, 1)
    if root.schema != SCHEMA:
        raise ArchiveRefused(at="line 1", problem="unknown_schema")
    return root


def parse_document(line: bytes, number: int) -> DocumentLine:
    """Return the conversation that a line opens."""
    document: DocumentLine = _parsed(_document, line, number)
    return document


def parse_notebook(line: bytes, number: int) -> NotebookLine:
    """Return the notebook that a line opens."""
    notebook: NotebookLine = _parsed(_notebook, line, number)
    if notebook.t > OBSERVED_MS_MAX:
        raise ArchiveRefused(at=f"line {number}", problem="time")
    return notebook


def parse_event(line: bytes, number: int) -> EventLine:
    """Return the event that a line holds; its bodies are not read yet."""
    event: EventLine = _parsed(_event, line, number)
    if event.t > OBSERVED_MS_MAX:
        raise ArchiveRefused(at=f"line {number}", problem="time")
    return event


def parse_chunk(line: bytes, number: int) -> ChunkLine:
    """Return the chunk that a line holds."""
    chunk: ChunkLine = _parsed(_chunk, line, number)
    return chunk


def body_of(raw: Raw, kind: type[Struct], number: int) -> Any:
    """Return a body of this type that is written as it would be written here."""
    try:
        body = msgspec.json.decode(raw, type=kind)
        if _encoder.encode(body) == bytes(raw):
            return body
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    raise ArchiveRefused(at=f"line {number}", problem="malformed")


def _parsed(decoder: msgspec.json.Decoder[Any], line: bytes, number: int) -> Any:
    try:
        value = decoder.decode(line)
        if line_of(value) == line:
            return value
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    raise ArchiveRefused(at=f"line {number}", problem="malformed")


class HashedFile:
    """A sealed file that is read once from where it stands; `digest` is the SHA-256 of what was read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash: Hash = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """Read on."""
        return self._taken(self._file.read(size))

    def readline(self, size: int) -> bytes:
        """Read on to the end of a line."""
        return self._taken(self._file.readline(size))

    @property
    def digest(self) -> str:
        """Return the digest of all that was read, in hexadecimal digits."""
        return self._hash.hexdigest()

    def _taken(self, data: bytes) -> bytes:
        self._hash.update(data)
        return data


# --- sealed documents -------------------------------------------------------------------------------------------------


@contextmanager
def opened_document(file: BinaryIO | HashedFile, key_of: Callable[[Envelope], bytes]) -> Iterator[Iterator[bytes]]:
    """Give the lines of a sealed document."""
    with outside("file"):
        envelope = envelope_of(file)
        with sound():
            sealed = SealedReader(file, key_of(envelope), envelope.stream_context(CONTEXT))
        yield opened_lines(sealed)


def envelope_of(file: BinaryIO | HashedFile) -> Envelope:
    """Return the first line of an archive; any other file is refused as none."""
    try:
        return parse_envelope(file.readline(ENVELOPE_BYTES_MAX))
    except Corrupt as fault:
        problem = fault.problem if fault.problem == "old_format" else "not_an_archive"
        raise ArchiveRefused(at="envelope", problem=problem, limit=fault.limit, found=fault.found) from None


@contextmanager
def going_back(file: BinaryIO) -> Iterator[BinaryIO]:
    """Give a stream that can be read twice: the stream itself, or a copy in a file without a name."""
    if file.seekable():
        yield file
        return
    with tempfile.TemporaryFile() as copy:
        with outside("file"):
            shutil.copyfileobj(file, copy)
            copy.seek(0)
        yield copy


def opened_lines(sealed: SealedReader) -> Iterator[bytes]:
    """Yield the lines of a document."""
    with sound():
        yield from lines(sealed)


@contextmanager
def sound() -> Iterator[None]:
    """Refuse a damaged archive as such: `store.corrupt` is said of the store alone."""
    try:
        yield
    except Corrupt as fault:
        raise ArchiveRefused(at=fault.at, problem=fault.problem) from None
