"""Commit: a delivered turn becomes an event.

`prepare` does everything that needs no state of the log: it decides what is kept, draws the keys, and makes the event.
`append` runs inside the write transaction: it decides on the present state and appends. Several prepared turns may be
appended in one transaction.

A turn that names a chat and no conversation belongs to the conversation that the chat is known for, or else to the one
whose id is the chat id. That is known only inside the transaction: where the chat leads elsewhere, the event is made
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import AliasConflict, Corrupt, LimitExceeded, TurnConflict
from muniment.events.binding import deterministic
from muniment.events.identity import ConversationId, ConversationKey, TurnId
from muniment.events.records import FROM_ARCHIVE, AliasRecorded, ConversationOpened, EventKind, TurnContent
from muniment.events.turn import Turn, has_attachments
from muniment.governance import admission
from muniment.governance.admission import AdmittedTurn, SkipReason
from muniment.governance.detection.before_commit import Replacements, without_detected
from muniment.ledger.attached_files import (
    as_compared,
    attach,
    attachments_of,
    own_salts_of,
    root_under,
    uploads_of,
    with_roots,
    without_tokens,
)
from muniment.ledger.drafts import Draft, draft, encoded
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.projections.conversation import Conversation, find
from muniment.projections.transcript import Transcript
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.crypto.chunk import Upload
    from muniment.kernel.digest import Salts

NO_UPLOADS: Mapping[str, Upload] = {}
ALREADY_COMMITTED = "turn_already_committed"
ALREADY_ERASED = "turn_already_committed_and_erased"


DeliveredTurn = Annotated[Turn, Meta(description="The delivered turn.")]


class CommitReceipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a commit. A turn that was not committed has a reason and is not an error.

    `detection` is there where the store looks for something before commits: what it replaced by markers.
    """

    conversation: ConversationKey
    turn: TurnId
    committed: bool
    messages_before: int
    messages_after: int
    sequence: int | None = None
    position: int | None = None
    leaf: str | None = None
    reason: str | None = None
    detection: Replacements | None = None


class SkippedTurn(NamedTuple):
    """A turn of which nothing is kept, and why."""

    key: ConversationKey
    turn: Turn
    reason: SkipReason


class PreparedTurn(NamedTuple):
    """A turn that is ready to be appended. `kept` is what admission left of it, `written` what detection left of that.

    `digest` is the keyed digest of the turn as it was handed over, `found_by` the one of its id. `uploads` are what its
    attachments are made of, by the labels of their fields. No part has the token of an upload any more: an erasure ends
    tokens, and this turn waits for the transaction.
    """

    space: Space
    turn: Turn
    key: ConversationKey
    kept: AdmittedTurn
    written: AdmittedTurn
    detection: Replacements | None
    digest: bytes
    found_by: bytes
    event: Draft
    now_ms: int
    uploads: Mapping[str, Upload]

    @property
    def mounted(self) -> str:
        """The subject under which the chat id of the turn is known."""
        return self.kept.meta.actor.mounted_subject or self.turn.subject


def commit(session: Session, turn: Turn) -> CommitReceipt:
    """Commit a turn, or say why nothing of it is kept."""
    prepared = prepare(session, turn)
    if isinstance(prepared, PreparedTurn):
        return prepared.space.ledger.transact(lambda writer: append(prepared, writer))
    return receipt_of_skipped(session.space, prepared)


def receipt_of_skipped(space: Space, skipped: SkippedTurn) -> CommitReceipt:
    """Say why nothing of a turn is kept, or that a turn of its id is committed already.

    A turn that is committed kept something, so one of which nothing is kept differs from it (`TurnConflict`), unless
    nothing is left to compare with.
    """
    transcript, turn, key = space.transcript, skipped.turn, skipped.key
    with space.ledger.reader() as reader:
        if turn.conversation is None:
            key = _key_of_chat(transcript, reader, turn, key)
        conversation = find(transcript, reader, key)
        known = None if conversation is None else conversation.turn(turn.turn)
        erased = known is not None and (known.key is None or not space.ledger.words(known)[1].digest)
    if known is not None and not erased:
        raise TurnConflict(at="turn")
    messages = 0 if conversation is None else conversation.head.messages
    return CommitReceipt(
        conversation=key,
        turn=turn.turn,
        committed=False,
        messages_before=messages,
        messages_after=messages,
        sequence=None if known is None else known.row.turn_seq,
        position=None if known is None else known.row.position,
        leaf=None if known is None else known.row.leaf.hex(),
        reason=skipped.reason if known is None else ALREADY_ERASED,
    )


def prepare(session: Session, turn: Turn) -> PreparedTurn | SkippedTurn:
    """Decide what is kept of a turn and make its event, as one of the conversation that it names."""
    actor, space = turn.actor, session.space
    session.access.require_subjects(
        turn.subject, *((actor.subject, actor.acting_subject, actor.mounted_subject) if actor else ())
    )
    session.access.require_channel(turn.channel)
    now_ms = space.sources.clock.now_ms()
    kept = admission.admit(turn, space.limits, now_ms)
    conversation = turn.conversation if turn.conversation is not None else ConversationId(turn.chat or "")
    key = ConversationKey(conversation=conversation, channel=turn.channel, space=turn.space)
    if turn.space is not None:  # all names were checked when the turn was admitted
        session.check_key(key)
    if isinstance(kept, SkipReason):
        return SkippedTurn(key, turn, kept)
    if not has_attachments(turn):
        return _made(space, turn, key, kept, now_ms)
    uploads = uploads_of(space.keys, kept.parts)
    turn, kept = as_compared(turn, kept.parts, uploads), replace(kept, parts=without_tokens(kept.parts))
    return _made(space, turn, key, kept, now_ms, uploads)


def _made(
    space: Space,
    turn: Turn,
    key: ConversationKey,
    kept: AdmittedTurn,
    now_ms: int,
    uploads: Mapping[str, Upload] = NO_UPLOADS,
) -> PreparedTurn:
    """Make the event of what is kept of a turn, in a conversation."""
    digest = _digest_of_words(space, turn, key)
    content = _content(kept, digest)
    own_salts = own_salts_of(uploads) if uploads else None
    drafted = encoded(content, own_salts)
    admission.check_sizes(kept.parts, drafted.fields, space.limits)
    written, detection = without_detected(kept, space.detection.before_commit)
    if written is not kept:
        content = _content(written, digest)
        drafted = encoded(content, own_salts)
    event = draft(
        space.sources.entropy,
        EventKind.TURN_COMMITTED,
        kept.time_ms,
        kept.meta,
        content=drafted,
    )
    found_by = space.transcript.turn_digest(key, turn.turn)
    return PreparedTurn(space, turn, key, kept, written, detection, digest, found_by, event, now_ms, uploads)


def append(prepared: PreparedTurn, writer: Writer) -> CommitReceipt:
    """Decide on the present state of the log and append; runs inside the write transaction."""
    transcript = prepared.space.transcript
    if prepared.turn.conversation is None:
        prepared = _where_the_chat_is(prepared, writer)
    key = prepared.key
    named = transcript.conversation_digest(key.channel, key.conversation)
    stream = writer.find(named)
    alias = _new_alias(prepared, writer, stream)
    if writer.find(prepared.found_by) is not None:
        return _repeated(prepared, writer, stream, alias_is_new=alias is not None)
    if stream is None:
        names = ConversationOpened(channel=key.channel, conversation=key.conversation)
        opened = writer.append(_draft(prepared, EventKind.CONVERSATION_OPENED, names), stream=None)
        stream = opened.stream
        writer.claim(named, stream, opened.position)
    if alias is not None:
        record = AliasRecorded(subject=prepared.mounted, channel=key.channel, chat=prepared.turn.chat or "")
        writer.append(_draft(prepared, EventKind.ALIAS_RECORDED, record), stream=stream)
        writer.claim(alias, stream, stream)
    count = len(prepared.kept.parts)
    placed = writer.append(prepared.event, stream=stream, messages=count)
    if prepared.uploads:
        attach(writer.tx, placed.position, prepared.uploads)
    writer.claim(prepared.found_by, stream, placed.position)
    return CommitReceipt(
        conversation=key,
        turn=prepared.turn.turn,
        committed=True,
        messages_before=placed.messages - count,
        messages_after=placed.messages,
        sequence=placed.turn_seq,
        position=placed.position,
        leaf=placed.leaf.hex(),
        detection=prepared.detection,
    )


def _where_the_chat_is(prepared: PreparedTurn, writer: Writer) -> PreparedTurn:
    """Return a turn that names a chat alone as one of the conversation that the chat is known for."""
    space, turn = prepared.space, prepared.turn
    writer.flush()  # the conversation may have been opened in the same batch
    key = _key_of_chat(space.transcript, writer.tx, turn, prepared.key)
    return (
        prepared if key == prepared.key else _made(space, turn, key, prepared.kept, prepared.now_ms, prepared.uploads)
    )


def _key_of_chat(transcript: Transcript, reader: Reader, turn: Turn, key: ConversationKey) -> ConversationKey:
    """Return the conversation that the chat of a turn is known for; where it is known for none, the one it names."""
    mounted = (turn.actor and turn.actor.mounted_subject) or turn.subject
    stream = transcript.stream_of_alias(reader, mounted, key.channel, turn.chat or "")
    if stream is None:
        return key
    row = reader.sealed(stream)
    if row is None:
        raise Corrupt(at=f"position {stream}", problem="rows_missing")
    return replace(key, conversation=ConversationId(transcript.names(row).conversation))


def _new_alias(prepared: PreparedTurn, writer: Writer, stream: int | None) -> bytes | None:
    """Return the digest to claim for a chat id that is new; None when it is known or absent."""
    chat = prepared.turn.chat
    if chat is None:
        return None
    digest = prepared.space.transcript.alias_digest(prepared.mounted, prepared.key.channel, chat)
    known = writer.find(digest)
    if known is not None and known != stream:
        raise AliasConflict(at="chat")
    return digest if known is None else None


def _repeated(prepared: PreparedTurn, writer: Writer, stream: int | None, *, alias_is_new: bool) -> CommitReceipt:
    """Compare a turn whose id is known with the one that was committed under it."""
    if stream is None:
        raise Corrupt(at="conversation", problem="lookup_missing")
    writer.flush()  # it may have come in the same batch
    space, turn = prepared.space, prepared.turn.turn
    conversation = Conversation(space.transcript, writer.tx, prepared.key, stream)
    opened = conversation.turn(turn)
    assert opened is not None, "its digest is known"
    row, messages = opened.row, conversation.head.messages
    erased = opened.key is None
    if not erased:
        salts, content = space.ledger.words(opened)
        erased = not content.digest  # a message was erased: nothing is left to compare with (decision 0007)
        archived = content.digest == FROM_ARCHIVE
        if archived:
            same = opened.meta == prepared.kept.meta and _is_kept(prepared, writer.tx, salts, content)
        else:
            same = content.digest == prepared.digest
        if not erased and not same:
            raise TurnConflict(at="turn")
        if alias_is_new and not archived:
            raise Corrupt(at="chat", problem="alias_missing")
    return CommitReceipt(
        conversation=prepared.key,
        turn=turn,
        committed=False,
        messages_before=messages,
        messages_after=messages,
        sequence=row.turn_seq,
        position=row.position,
        leaf=row.leaf.hex(),
        reason=ALREADY_ERASED if erased else ALREADY_COMMITTED,
    )


def _is_kept(prepared: PreparedTurn, reader: Reader, salts: Salts, content: TurnContent) -> bool:
    """Return whether the words from an archive equal what is kept of this turn, before or after detection.

    Files came with salts of their own there: what was added now is read again, and its roots are made with those.
    """
    spellings = [_content(admitted, FROM_ARCHIVE) for admitted in (prepared.kept, prepared.written)]
    if with_roots(content, {}) not in [with_roots(spelling, {}) for spelling in spellings]:
        return False
    roots = {label: part.root for label, part in attachments_of(content)}
    return roots == {label: root_under(reader, upload, salts, label) for label, upload in prepared.uploads.items()}


def _digest_of_words(space: Space, turn: Turn, key: ConversationKey) -> bytes:
    """Return the keyed digest of a turn as it was handed over; text and a single text part are the same words."""
    messages = [
        (
            message.role,
            message.authority,
            message.speaker_id,
            message.speaker_kind,
            message.observed_ms,
            message.parts(),
        )
        for message in turn.messages
    ]
    frame = (
        turn.turn, turn.subject, key.channel, key.conversation, turn.chat, turn.delivery, turn.source,
        turn.actor, turn.tools, turn.host_refs, turn.external, turn.candidates,
    )  # fmt: skip
    words, limit = deterministic((frame, messages)), space.limits.turn_bytes_max
    if len(words) > limit:  # parts have limits of their own; this bounds whatever else a turn holds
        raise LimitExceeded(at="turn", problem="too_large", limit=limit, found=len(words))
    return space.ledger.words_digest(words)


def _content(admitted: AdmittedTurn, digest: bytes) -> TurnContent:
    return TurnContent(parts=admitted.parts, digest=digest, summaries=admitted.summaries, labels=admitted.labels)


def _draft(prepared: PreparedTurn, kind: EventKind, meta: ConversationOpened | AliasRecorded) -> Draft:
    return draft(prepared.space.sources.entropy, kind, prepared.now_ms, meta)
