"""Who received turns of a subject: every disclosure on record, and which turns each of them reached."""

from __future__ import annotations

from collections import defaultdict

from muniment.declaration.session import Session
from muniment.events.identity import ConversationKey
from muniment.formats.writing.subject_pages import TurnsReceived
from muniment.log.port import Reader
from muniment.operations.evidence.disclosure_entries import DisclosureEntry, disclosure_events, entry_of
from muniment.operations.evidence.recipients import REACHES, TracedContent, reached
from muniment.operations.lifecycle.targets import spans_of
from muniment.operations.subjects.subject_turns import SubjectTurns
from muniment.space.space import Space


def received_by(
    session: Session, found: list[SubjectTurns], own: list[int]
) -> defaultdict[ConversationKey, list[TurnsReceived]]:
    """Return who received turns of the subject before this export, by conversation."""
    received: defaultdict[ConversationKey, list[TurnsReceived]] = defaultdict(list)
    space = session.space
    with space.ledger.reader() as reader:
        traced = {each.key: _traced(space, reader, each) for each in found}
        for event, refs in disclosure_events(space, reader, 0, frozenset(REACHES)):
            if event.row.position in own:
                continue
            for key, (whole, turns) in traced.items():
                if not reached(event, refs, whole):
                    continue
                gave = [sequence for sequence, turn in turns.items() if reached(event, refs, turn)]
                if gave:
                    received[key].append(_receipt(entry_of(space, reader, event, refs), gave))
    return received


def _traced(space: Space, reader: Reader, each: SubjectTurns) -> tuple[TracedContent, dict[int, TracedContent]]:
    """Return a conversation and the turns of the subject in it, to be compared with disclosures."""
    whole = TracedContent(space, reader, each.key, each.stream)
    rows = [
        row
        for span in spans_of(each.sequences)
        for row in reader.turns(each.stream, span.first, span.last or span.first)
    ]
    return whole, {row.turn_seq or 0: whole._replace(turn=row) for row in rows}


def _receipt(entry: DisclosureEntry, turns: list[int]) -> TurnsReceived:
    return TurnsReceived(
        position=entry.position,
        kind=entry.kind,
        at_ms=entry.at_ms,
        views=entry.views,
        turns=turns,
        recipient=entry.recipient,
        purpose=entry.purpose,
        requester=entry.requester,
    )
