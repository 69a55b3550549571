"""The turns that a hit rests on, and whether each of them opens in the same view."""

from __future__ import annotations

from functools import partial

from muniment.events.identity import ConversationKey, TurnId, named_message
from muniment.events.references import SourceEvidence
from muniment.governance.item_visibility import SHOWS_EVIDENCE
from muniment.governance.judgement import judge, needs_content
from muniment.governance.views import Reason, View
from muniment.log.port import Reader
from muniment.operations.memory.recall_report import HitEvidence
from muniment.space.space import Space

# Who is shown a statement of a model or of its owner may look at what it rests on. A page for others does not say in
# which conversation it was said (`governance.item_visibility`).
SHOWS_PLACES = SHOWS_EVIDENCE | {View.MODEL_CONTEXT}


def hit_evidence(space: Space, reader: Reader, view: View, source: SourceEvidence) -> HitEvidence:
    """Return a source as the view shows it: where it is, and why it does not open there, if it does not."""
    if view not in SHOWS_PLACES:
        return HitEvidence(withheld=Reason.VIEW_POLICY)
    return HitEvidence(
        conversation=ConversationKey(conversation=source.conversation, channel=source.channel),
        turn=TurnId(source.turn),
        message=source.message,
        withheld=_withheld(space, reader, view, source),
    )


def _withheld(space: Space, reader: Reader, view: View, source: SourceEvidence) -> Reason | None:
    """Return why a view shows nothing of a turn, or of the message that is named, or None."""
    transcript = space.transcript
    key = ConversationKey(conversation=source.conversation, channel=source.channel)
    stream = transcript.stream_of(reader, key)
    head = None if stream is None else transcript.head(reader, stream)
    opened = None if head is None else transcript.turn(reader, head, key, TurnId(source.turn))
    if head is None or opened is None or opened.row.turn_seq is None:
        return Reason.ERASED  # an archive took its place, without this turn
    sequence = opened.row.turn_seq
    [read] = transcript.page(reader, head, sequence, sequence, partial(needs_content, view))
    reasons = judge(view, read.record, space.detection.view(view)).messages
    named = None if source.message is None else named_message(source.message)
    if named is not None and named.place < len(reasons):
        return reasons[named.place]
    return None if None in reasons else next(iter(reasons), Reason.VIEW_POLICY)
