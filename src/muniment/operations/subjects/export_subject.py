"""Everything about a subject, for the subject: an answer to a request for access.

1. The catalogue knows the turns: those of the subject, and those in which it speaks or is named by the attribution.
2. `export.issued` is appended for each conversation and each notebook of the subject, so that the export is on record
   before anything is returned.
3. The turns are read and cut by the view, with their attributes; what is withheld is listed with its reason. So are the
   memory items about the subject, with their history; those that the view does not show are counted.
4. What was done to these turns, and who received them, is read from the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec
from msgspec import Struct

from muniment.declaration.operation import Document
from muniment.declaration.session import Session
from muniment.errors import LimitExceeded
from muniment.events.identity import Channel, ConversationId, ConversationKey, check_name
from muniment.events.records import ExportGrant
from muniment.formats.writing.subject_html import subject_html
from muniment.formats.writing.subject_pages import SubjectConversation, SubjectDocument
from muniment.governance.views import View
from muniment.operations.conversations.glance import Glance
from muniment.operations.subjects.on_record import on_record
from muniment.operations.subjects.received import received_by
from muniment.operations.subjects.subject_items import items_as_shown, notebook_streams
from muniment.operations.subjects.subject_turns import SubjectTurns, changes_of, chats_of, turns_as_shown
from muniment.projections.conversation import Conversation
from muniment.projections.conversation_catalogue import CaughtUpCatalogue

SUBJECT_BYTES_MAX = 64 * 2**20


class SubjectFormat(StrEnum):
    """The format of everything about a subject: a page for people, or JSON for programs."""

    HTML = "html"
    JSON = "json"


class SubjectRequest(Struct, frozen=True, kw_only=True):
    """Whose turns are asked for, how they are shown, and for whom."""

    subject: str
    format: SubjectFormat
    view: View
    recipient: str | None
    purpose: str | None


def export_subject(session: Session, request: SubjectRequest) -> Document:
    """Put the export on record, read everything, and return it as a document."""
    session.access.require_view(request.view)
    for at in ("subject", "recipient", "purpose"):
        if (text := getattr(request, at)) is not None:
            check_name(text, at=at)
    session.access.require_subjects(request.subject)
    with session.seen.catalogue() as caught:
        found = list(_found(session, caught, request))
    streams = [each.stream for each in found] + notebook_streams(session, request.subject)
    grant = ExportGrant(
        view=request.view, recipient=request.recipient, purpose=request.purpose, subject=request.subject
    )
    recorded = on_record(session, grant, streams)
    document = _document(session, request, found, recorded)
    if request.format is SubjectFormat.HTML:
        media_type, text = "text/html", _bounded(subject_html(document))
    else:
        media_type, text = "application/json", _bounded(iter([msgspec.json.encode(document).decode(), "\n"]))
    turns = [turn for one in document.conversations for turn in one.turns]
    return Document(
        media_type=media_type,
        text=text,
        summary={
            "format": request.format,
            "view": request.view,
            "conversations": len(document.conversations),
            "turns": len(turns),
            "items": len(document.memory),
            "withheld": sum(len(turn.withheld) for turn in turns),
            "items_withheld": sum(each.items for each in document.memory_withheld),
            "recorded": len(recorded),
            "bytes": len(text.encode()),
        },
    )


def _found(session: Session, caught: CaughtUpCatalogue, request: SubjectRequest) -> Iterator[SubjectTurns]:
    """Yield the turns that a subject is in, conversation by conversation; all of them, whatever their state."""
    person = caught.listing.person(request.subject)
    if person is None:
        return
    glance = Glance(session.space, caught, request.view)
    for one in caught.listing.conversations():
        if one.people.has(person):
            key = ConversationKey(
                conversation=ConversationId(one.names.conversation), channel=Channel(one.names.channel)
            )
            if session.space.transcript.stream_of(caught.reader, key) == one.stream:
                yield SubjectTurns(key, one.stream, one.people.turns_of(person), glance.title(one))


def _document(
    session: Session, request: SubjectRequest, found: list[SubjectTurns], recorded: list[int]
) -> SubjectDocument:
    received = received_by(session, found, recorded)
    conversations: list[SubjectConversation] = []
    with session.space.ledger.reader() as reader:
        chats = chats_of(session, reader, request.subject)
        memory = items_as_shown(session, reader, request.subject, request.view)
        for done, each in enumerate(found, start=1):
            conversation = Conversation(session.space.transcript, reader, each.key, each.stream)
            conversations.append(
                SubjectConversation(
                    conversation=each.key,
                    title=each.title,
                    chats=chats[each.stream],
                    turns=turns_as_shown(session, conversation, each, request.subject, request.view),
                    changes=list(changes_of(session, conversation, each, request.view)),
                    received=received[each.key],
                )
            )
            session.progress("export", done, len(found))
    return SubjectDocument(
        subject=request.subject,
        space=session.space.name,
        view=request.view,
        exported_ms=session.space.sources.clock.now_ms(),
        conversations=conversations,
        memory=memory.items,
        memory_withheld=memory.withheld,
        recipient=request.recipient,
        purpose=request.purpose,
        recorded=recorded,
    )


def _bounded(pieces: Iterator[str]) -> str:
    told: list[str] = []
    size = 0
    for piece in pieces:
        told.append(piece)
        size += len(piece) if piece.isascii() else len(piece.encode())
        if size > SUBJECT_BYTES_MAX:
            raise LimitExceeded(at="subject", problem="document_too_large", limit=SUBJECT_BYTES_MAX)
    return "".join(told)
