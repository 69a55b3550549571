"""The noun group `attachments`: files beside turns, in and out of the store in pieces."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

from msgspec import Meta, Struct

from muniment.crypto.chunk import CHUNK_BYTES
from muniment.declaration.download import Download, DownloadReport, WrittenFile
from muniment.declaration.operation import (
    SUBJECT_AND_CHANNELS,
    Effect,
    Family,
    Group,
    ServerPath,
    Upload,
    operation,
    stream_of,
)
from muniment.declaration.session import Session
from muniment.errors import Corrupt, LimitExceeded, UnknownPlace, WordsErased
from muniment.events.identity import ConversationKey, Count, TurnId, check_name
from muniment.events.message import AttachmentPart, part_label
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.judgement import judge
from muniment.governance.views import Reason, View
from muniment.ledger.attached_files import UPLOAD_MS_MAX, attachments_of, chunks_of, drop_loose, stored
from muniment.operations.outfile import OutFile, outside
from muniment.operations.parameters import InConversation, ThroughView
from muniment.projections.conversation import Conversation, opened
from muniment.space.outgoing import ContentGrant, ExportWay, export_of

if TYPE_CHECKING:
    from muniment.ledger.ledger import Writer

READ_BYTES_MAX = 2**20
WRITTEN_THERE = "a file of up to 1 GiB is only given its name once all of it was checked"

Word = Annotated[str, Meta(min_length=1, max_length=255)]
FileName = Annotated[str, Meta(min_length=1, max_length=1024)]


class AttachmentPlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an attachment is: a part of a message of a turn."""

    turn: Annotated[TurnId, Meta(description="Id of the turn.")]
    message: Annotated[Count, Meta(description="The message of the turn, counted from 0.")]
    part: Annotated[Count, Meta(description="The part of the message, counted from 0.")]


OfAttachment = Annotated[AttachmentPlace, Meta(description="The attachment.")]


class AddedAttachment(Struct, frozen=True, kw_only=True):
    """A file that was added. `part` goes into a message of a turn; until that is committed nobody can read the file."""

    part: AttachmentPart


class AttachmentRange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Some bytes of an attachment, from `start` on. `withheld` says why a view shows none; then `data` is empty.

    `sequence` is that of the turn.
    """

    sequence: int
    size: int
    start: int
    data: bytes
    withheld: Reason | None = None

    def covered(self) -> CoveredTurns:
        """Return the turn, where this shows something of it."""
        return CoveredTurns(sequences=() if self.withheld is not None else (self.sequence,))


class SavedAttachment(DownloadReport, frozen=True, kw_only=True, omit_defaults=True):
    """An attachment that was written to a file. `withheld` says why a view does not show it; then there is no file.

    `position` is that of the event that records it; `file` is the path of the file, where it has one.
    """

    part: AttachmentPart | None = None
    position: int | None = None
    withheld: Reason | None = None

    @property
    def written(self) -> WrittenFile | None:
        """Return what the file is, as the turn says."""
        if self.part is None:
            return None
        name, media_type = self.part.name or "attachment", self.part.mime_type
        return WrittenFile(name=name) if media_type is None else WrittenFile(name=name, media_type=media_type)


class Attachments(Group):
    """Keep files beside turns: images, recordings, documents."""

    name = "attachments"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT_AND_CHANNELS)
    def add(
        self,
        file: Annotated[Upload, Meta(description="The file.")],
        mime_type: Annotated[Word | None, Meta(description="Media type, as `image/png`.")] = None,
        modality: Annotated[Word | None, Meta(description="What it is to a model: `image`, `audio`, `video`.")] = None,
        name: Annotated[FileName | None, Meta(description="Name of the file, for people.")] = None,
    ) -> AddedAttachment:
        """Add a file of up to 1 GiB, and return the part that a turn has to be committed with.

        The bytes are encrypted under a key of their own and durable when this returns; memory stays flat. Nobody can
        read them before `transcripts.commit` was given the part, and one that no turn takes within a day is removed. An
        upload belongs to one turn. An erasure in the space ends the uploads that no turn has taken yet: add the file
        again. The turn commits to the bytes, an erasure of the message destroys them. Raises `request.limit_exceeded`.
        """
        space = self._session.space
        clock = space.sources.clock
        drop_loose(space.ledger, clock.now_ms() - UPLOAD_MS_MAX)
        upload, token = stored(space.ledger, stream_of(file), clock, space.limits.attachment_bytes_max)
        return AddedAttachment(
            part=AttachmentPart(
                size=upload.size, root=upload.root, mime_type=mime_type, modality=modality, name=name, upload=token
            )
        )

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT_AND_CHANNELS)
    def read(
        self,
        conversation: InConversation,
        attachment: OfAttachment,
        view: ThroughView = View.HOST_UI,
        start: Annotated[Count, Meta(description="First byte, counted from 0.")] = 0,
        length: Annotated[int, Meta(description="How many bytes; at most 1 MiB.", ge=1)] = READ_BYTES_MAX,
    ) -> AttachmentRange:
        """Read some bytes of an attachment, as far as a view shows it.

        Each byte that is returned is authentic: it was stored at this place of this attachment. `attachments.save`
        checks the whole. Raises `transcript.unknown_conversation`, `transcript.unknown_place` where there is no
        attachment, `transcript.words_erased`, and `store.corrupt` for bytes that were changed or are missing.
        """
        if length > READ_BYTES_MAX:
            raise LimitExceeded(at="length", problem="too_large", limit=READ_BYTES_MAX, found=length)
        shown = ShownAttachment(self._session, conversation, attachment, view)
        if shown.withheld is not None:
            return AttachmentRange(sequence=shown.sequence, size=0, start=start, data=b"", withheld=shown.withheld)
        first, data = start // CHUNK_BYTES, bytearray()
        for chunk in shown.chunks(first):
            data += chunk
            if len(data) >= start % CHUNK_BYTES + length:
                break
        kept = bytes(data[start % CHUNK_BYTES :][:length])
        return AttachmentRange(sequence=shown.sequence, size=shown.part.size, start=start, data=kept)

    @operation(Effect.READ, family=Family.EXPORT, heeds=SUBJECT_AND_CHANNELS)
    def save(
        self,
        conversation: InConversation,
        attachment: OfAttachment,
        file: Annotated[
            Download,
            ServerPath(reason=WRITTEN_THERE),
            Meta(description="Path of the new file, on the machine of the store."),
        ],
        view: ThroughView = View.HOST_UI,
    ) -> SavedAttachment:
        """Write an attachment to a file, if a view shows it.

        The file gets its name once all its bytes are what the turn commits to, and `content.exported` records that it
        leaves the store; memory stays flat. A stream gets its first byte then. Raises as `attachments.read`, and
        `file.taken` for a name that is taken.
        """
        shown = ShownAttachment(self._session, conversation, attachment, view)
        if shown.withheld is not None:
            return SavedAttachment(withheld=shown.withheld)
        if isinstance(file, io.IOBase):
            return _sent(shown, cast("BinaryIO", file))
        return _saved(shown, OutFile(Path(cast("str", file)), "file"))


def _saved(shown: ShownAttachment, out: OutFile) -> SavedAttachment:
    """Write an attachment beside its name, record it, and give it the name."""
    try:
        with out.writing() as written:
            for chunk in shown.chunks():
                written.write(chunk)
        position = shown.recorded()
        if position is None:
            return SavedAttachment(withheld=shown.withheld)
        out.keep()
    finally:
        out.drop()
    return SavedAttachment(part=shown.part, file=out.name, position=position)


def _sent(shown: ShownAttachment, stream: BinaryIO) -> SavedAttachment:
    """Read an attachment to its end, record it, and write it into a stream: its bytes are in no file on the way."""
    for _ in shown.chunks():
        pass
    position = shown.recorded()
    if position is None:
        return SavedAttachment(withheld=shown.withheld)
    with outside("file"):
        stream.writelines(shown.chunks())
    return SavedAttachment(part=shown.part, position=position)


class ShownAttachment:
    """An attachment as a view shows it; raises `UnknownPlace` where there is none, `WordsErased` where it is erased."""

    def __init__(self, session: Session, key: ConversationKey, place: AttachmentPlace, view: View) -> None:
        session.access.require_view(view)
        session.check_key(key)
        check_name(place.turn, at="turn")
        self._session = session
        self._space = session.space
        self._key, self._place, self._view = key, place, view
        self._label = part_label(place.message, place.part)
        with self._space.ledger.reader() as reader:
            self._judge(session.seen.opened(reader, key))

    def _judge(self, conversation: Conversation) -> None:
        """Find it in a state of its conversation, and what the view shows of it there."""
        message, index = self._place.message, self._place.part
        self.sequence, commit = conversation.known_turn(self._place.turn)
        self._stream = conversation.stream
        read = conversation.read(commit, lambda _phase, _meta: commit.key is not None)
        record = read.record
        if message >= len(record.meta.messages):
            raise UnknownPlace(at="message")
        if record.content is None or message in record.erased:
            raise WordsErased(at="message")
        parts = record.content.parts[message]
        part = parts[index] if index < len(parts) else None
        if not isinstance(part, AttachmentPart):
            raise UnknownPlace(at="part")
        judged = judge(self._view, record, self._space.detection.view(self._view))
        shown, whole = judged.marked.get(self._label, part), judged.messages[message]
        assert isinstance(shown, AttachmentPart), "a marker changes no type"
        self.part = shown
        self.withheld = judged.parts[message][index] if whole is None else whole
        self._salts, self._position = read.content_salts, record.position

    def recorded(self) -> int | None:
        """Record that it leaves the store; return the position of the event, or None where it is withheld by now.

        Both are decided in one state of the log: what is withheld before the record has not left, whoever was faster.
        """
        sent = ContentGrant(way=ExportWay.ATTACHMENT, view=self._view, turns=1)
        refs = {"stream": self._stream, "turn": self.sequence}
        change = export_of(self._space, self._session.access, sent, refs)

        def plan(writer: Writer) -> int | None:
            self._judge(opened(self._space.transcript, writer.tx, self._key))
            return writer.change(change).position if self.withheld is None else None

        return self._space.ledger.transact(plan)

    def chunks(self, first: int = 0) -> Iterator[bytes]:
        """Yield the bytes, chunk by chunk."""
        ledger = self._space.ledger
        assert self._salts is not None, "its content was read"
        try:
            yield from chunks_of(ledger.reader, self._position, self._salts, self._label, self.part, first)
        except Corrupt as corrupt:
            if corrupt.problem == "attachment_missing" and self._is_erased():
                raise WordsErased(at="message") from None
            raise

    def _is_erased(self) -> bool:
        """Tell whether the attachment was erased while it was read."""
        ledger = self._space.ledger
        with ledger.reader() as reader:
            row = reader.sealed(self._position)
            if row is None:
                return False
            now = ledger.open(row)
            return now.key is None or self._label not in (label for label, _ in attachments_of(ledger.words(now)[1]))
