"""Turns that are read again, by their ids: many of one conversation take few reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from muniment.errors import UnknownConversation, UnknownPlace
from muniment.events.identity import ConversationKey, TurnId
from muniment.governance.listing import LifecycleFilter
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View
from muniment.operations.transcripts.timeline import LATEST, Anchor, AnchorKind
from muniment.runtime.runtime import Runtime

FEW_TURNS = 4  # of a conversation that are read turn by turn
PAGE_TURNS = 100
SEEN = LifecycleFilter.ACTIVE_AND_ARCHIVED


def turns_again(
    runtime: Runtime, wanted: Iterable[tuple[ConversationKey, str]], view: View
) -> Iterator[tuple[tuple[str, str], SliceTurn]]:
    """Yield turns as a view shows them now, each behind its conversation and id; not those that are not listed."""
    by_place: defaultdict[ConversationKey, set[str]] = defaultdict(set)
    for place, turn in wanted:
        by_place[place].add(turn)
    for place, turns in by_place.items():
        for shown in _turns_of(runtime, place, turns, view):
            yield (place.conversation, shown.turn), shown


def _turns_of(runtime: Runtime, place: ConversationKey, wanted: set[str], view: View) -> Iterator[SliceTurn]:
    anchors = [Anchor(at=AnchorKind.AROUND, turn=TurnId(turn)) for turn in sorted(wanted)]
    turns, left = 1, set(wanted)
    if len(wanted) >= FEW_TURNS:
        anchors, turns = [LATEST], PAGE_TURNS
    while anchors and left:
        try:
            page = runtime.transcripts.timeline(place, anchors.pop(), view, turns, SEEN)
        except (UnknownConversation, UnknownPlace):
            continue
        yield from (turn for turn in page.turns if turn.turn in left)
        left -= {turn.turn for turn in page.turns}
        if turns > 1 and page.turns and page.has_older:
            anchors = [Anchor(at=AnchorKind.BEFORE, sequence=page.turns[0].sequence)]
