"""The turns that a hit rests on, and whether each of them opens in the same view."""

from __future__ import annotations

from muniment.events.identity import ConversationKey, TurnId, named_message
from muniment.events.references import SourceEvidence
from muniment.governance.item_visibility import SHOWS_EVIDENCE
from muniment.governance.views import Reason, View
from muniment.operations.memory.recall_report import HitEvidence
from muniment.operations.memory.shown_item import ItemShower

# Who is shown a statement of a model or of its owner may look at what it rests on. A page for others does not say in
# which conversation it was said (`governance.item_visibility`).
SHOWS_PLACES = SHOWS_EVIDENCE | {View.MODEL_CONTEXT}


def hit_evidence(shower: ItemShower, source: SourceEvidence) -> HitEvidence:
    """Return a source as the view shows it: where it is, and why it does not open there, if it does not."""
    view = shower.view
    if view not in SHOWS_PLACES:
        return HitEvidence(withheld=Reason.VIEW_POLICY)
    return HitEvidence(
        conversation=ConversationKey(conversation=source.conversation, channel=source.channel),
        turn=TurnId(source.turn),
        message=source.message,
        withheld=_withheld(shower, source),
    )


def _withheld(shower: ItemShower, source: SourceEvidence) -> Reason | None:
    """Return why a view shows nothing of a turn, or of the message that is named, or None."""
    place = shower.sources.place(source)
    if place is None:
        return Reason.ERASED
    reasons = shower.reasons_of(place)
    named = None if source.message is None else named_message(source.message)
    if named is not None and named.place < len(reasons):
        return reasons[named.place]
    return None if None in reasons else next(iter(reasons), Reason.VIEW_POLICY)
