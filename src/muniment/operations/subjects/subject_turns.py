"""The turns that a subject is in, what was done to them later, and the chat ids of the subject, read from the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.events.changes import Transition, TurnLifecycle, TurnRedacted, span_of
from muniment.events.identity import ConversationKey
from muniment.events.records import AliasRecorded, EventKind
from muniment.formats.writing.subject_pages import SubjectTurn, TurnFact
from muniment.governance.slices import RedactionItem, SliceTurn
from muniment.governance.views import SHOWS_ORIGIN, View
from muniment.log.port import Reader
from muniment.operations.lifecycle.targets import spans_of
from muniment.projections.conversation import Conversation, shown_turns

ROLES = ("subject", "acting_subject", "mounted_subject", "agent_id")
SPEAKER = "speaker"


class SubjectTurns(NamedTuple):
    """The turns of a conversation that a subject is in, by their sequences."""

    key: ConversationKey
    stream: int
    sequences: list[int]
    title: str | None


def chats_of(session: Session, reader: Reader, subject: str) -> defaultdict[int, list[str]]:
    """Return the chat ids of a subject, by the stream of their conversation."""
    chats: defaultdict[int, list[str]] = defaultdict(list)
    for row in reader.of_kind(EventKind.ALIAS_RECORDED):
        meta = session.space.ledger.open(row).meta
        if isinstance(meta, AliasRecorded) and meta.subject == subject:
            chats[row.stream].append(meta.chat)
    return chats


def changes_of(session: Session, conversation: Conversation, found: SubjectTurns, view: View) -> Iterator[TurnFact]:
    """Yield transitions and redactions of the turns; holds are no business of the subject."""
    ledger, sequences = session.space.ledger, found.sequences
    if not conversation.head.changes:
        return
    for row in session.space.transcript.change_rows(conversation.reader, conversation.head):
        header, meta = ledger.header(row)[0], ledger.open(row).meta
        is_transition = isinstance(meta, TurnLifecycle) and header.reason in set(Transition)
        if not (is_transition or isinstance(meta, TurnRedacted)):
            continue
        assert isinstance(meta, TurnLifecycle | TurnRedacted), "it is one of both"
        span, origin = span_of(header.about), view in SHOWS_ORIGIN
        turns = [sequence for sequence in sequences if span.includes(sequence)]
        if turns:
            yield TurnFact(
                position=row.position,
                kind=row.kind,
                what=header.reason or "",
                at_ms=row.time,
                turns=turns,
                requester=meta.request.requester if origin else None,
                reason=meta.request.reason if origin else None,
            )


def turns_as_shown(
    session: Session, conversation: Conversation, found: SubjectTurns, subject: str, view: View
) -> list[SubjectTurn]:
    """Return the turns as a view shows them, with what is withheld of each."""
    detection = session.space.detection.view(view)
    spans = [(span.first, span.last or span.first) for span in spans_of(found.sequences)]
    turns, items = shown_turns(conversation, spans, view, detection)
    of_turn: defaultdict[str, list[RedactionItem]] = defaultdict(list)
    for item in items:
        of_turn[item.turn].append(item)
    return [SubjectTurn(roles=_roles(turn, subject), turn=turn, withheld=of_turn[turn.turn]) for turn in turns]


def _roles(turn: SliceTurn, subject: str) -> list[str]:
    """Return how a subject is in a turn."""
    roles = [role for role in ROLES if getattr(turn.actor, role) == subject]
    speaks = turn.actor.speaker_id == subject or any(message.speaker_id == subject for message in turn.messages)
    return [*roles, SPEAKER] if speaks or not roles else roles
