"""A history of items in one conversation: what adapters of frameworks with lists of messages are made of.

What is appended at once is one turn. Each item is a message of it (`formats.parted_items`), in the order of the items;
behind them one more message has the shapes of all of them, for the owner alone: no other view shows it. A turn without
shapes, as one that came another way, has no items.

Items are read as a model may see them: they show what the view `model_context` shows, with a marker such as
`[redacted: legal]` in the place of what was redacted, detected or erased. What this view withholds of every turn, as
reasoning, is there unless it is redacted for this view: a framework needs its items whole. So a history takes the right
to read as `raw_owner`. Detectors look for nothing in reasoning; a part of it of which a range is redacted is withheld.

Nothing is ever deleted here, history is never rewritten:

| request | recorded as |
|---|---|
| `clear` | `turn.lifecycle` (mask): the turns that the conversation has now are shown by no view |
| `pop` of the only item of a turn | the same, of that turn |
| `pop` of one of several items | `turn.redacted` of its message (reason `other`), for every view but that of the owner;
of an item that the owner alone is shown (reasoning), for every view |

So an item whose message is redacted as a whole for the reason `other` is not in the history; redacted for any other
reason it comes with markers. Of an item whose words are all redacted or erased, the form has no names and ids either,
but those of calls and tools. `Runtime.lifecycle.erase` destroys what was popped or cleared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, repeat
from typing import Any, NamedTuple

from msgspec.structs import replace

from muniment.errors import UnknownConversation
from muniment.events.changes import Transition
from muniment.events.identity import ConversationKey, TurnId
from muniment.events.turn import Turn
from muniment.formats.parted_items import (
    FIELDS_OF_FORM,
    Item,
    PartedItem,
    WordsOf,
    parted,
    unnamed,
    whole,
    words_by_role,
)
from muniment.formats.turn_items import batches_of_items, messages_of_items
from muniment.governance.views import Reason, View
from muniment.host.histories.seen_page import POPPED, SeenPage, is_policy, is_popped, marker, reason_of, shapes_of
from muniment.host.kept_reads import PageMade, PagePlace, TurnMade, kept_reads
from muniment.kernel.sources import EntropyIds, IdSource, SystemEntropy
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.transcripts.commit import CommitReceipt
from muniment.operations.transcripts.redact import Passage
from muniment.operations.transcripts.timeline import LATEST, Anchor, AnchorKind
from muniment.runtime.runtime import Runtime

PAGE_TURNS_MAX = 100
RANDOM_IDS: IdSource = EntropyIds(SystemEntropy())
WORDS_GONE = frozenset({Reason.ERASED, Reason.REDACTED, Reason.DETECTED, Reason.DETECTION_FAILED})
POPPED_FROM: list[View] = [view for view in View if view is not View.RAW_OWNER]


class PlacedItem(NamedTuple):
    """An item, where it is (its turn, and the place of its message there), and the views that popping takes it from."""

    item: Item
    turn: TurnId
    place: int
    popped_from: list[View]


class ItemHistory:
    """The items of one conversation. Thread-safe; any number of histories may share a conversation.

    `turn` is what turns are made like: subject, conversation, channel, actor, source; its id and messages are not
    used. `words_of` tells what an item says, `fields_of_form` are the fields whose short values are no words
    (`formats.parted_items`). `requester` is who pops and clears, `ids` where ids of turns come from.
    """

    def __init__(
        self,
        runtime: Runtime,
        turn: Turn,
        *,
        words_of: WordsOf = words_by_role,
        fields_of_form: frozenset[str] = FIELDS_OF_FORM,
        requester: str = "host",
        ids: IdSource = RANDOM_IDS,
    ) -> None:
        self._runtime = runtime
        self._turn = turn
        self._words_of = words_of
        self._fields_of_form = fields_of_form
        self._requester = requester
        self._ids = ids
        self.key = ConversationKey(conversation=turn.conversation or turn.chat or "", channel=turn.channel)

    def append(
        self, items: Sequence[Mapping[str, Any]], *, turn_id: str | None = None, like: Turn | None = None
    ) -> list[CommitReceipt]:
        """Append items as one turn, durably; many or large ones become several turns, all of them or none.

        Equal items are appended again, unless `turn_id` is the id of a turn: then a repeat appends nothing, and other
        items under the same id raise `transcript.turn_conflict`. `like` is used instead of the turn of the history.
        Without items nothing is appended. Raises `request.invalid`, `request.limit_exceeded`.
        """
        turns = list(turns_of_items(self._parted(items), turn_id or self._ids.new_id(), like or self._turn))
        if len(turns) > 1:
            return self._runtime.transcripts.commit_many(turns).receipts
        return [self._runtime.transcripts.commit(turn) for turn in turns]

    def newest(self, n: int | None = None) -> list[Item]:
        """Return the newest `n` items, or all, oldest first; reads no more turns than it has to."""
        if n is not None and n <= 0:
            return []
        items = [shown.item for shown in islice(self._backwards(n), n)]
        return items[::-1]

    def pop(self) -> Item | None:
        """Take the newest item out of the history and return it; None when there is none. See the module for how."""
        while True:
            newest = list(islice(self._backwards(2), 2))
            if not newest:
                return None
            popped = newest[0]
            is_last = len(newest) == 1 or newest[1].turn != popped.turn
            if self._taken(popped, whole_turn=is_last):
                return popped.item

    def clear(self) -> LifecycleReport:
        """Mask all turns that the conversation has now; what is appended later is shown. A repeat changes nothing."""
        return self._runtime.lifecycle.request(self.key, Transition.MASK, "cleared by the host", self._requester)

    # --- writing ------------------------------------------------------------------------------------------------------

    def _parted(self, items: Sequence[Mapping[str, Any]]) -> Iterator[PartedItem]:
        return (parted(item, self._words_of, self._fields_of_form) for item in items)

    def _taken(self, popped: PlacedItem, *, whole_turn: bool) -> bool:
        """Return whether the item was still there to be taken."""
        if whole_turn:
            reason = "popped by the host"
            return self._runtime.lifecycle.request(
                self.key, Transition.MASK, reason, self._requester, turn=popped.turn
            ).changed
        passage = Passage(turn=popped.turn, message=popped.place)
        return self._runtime.transcripts.redact(self.key, passage, popped.popped_from, POPPED, self._requester).changed

    # --- reading ------------------------------------------------------------------------------------------------------

    def _backwards(self, wanted: int | None) -> Iterator[PlacedItem]:
        """Yield items, newest first."""
        return self.placed(LATEST, PAGE_TURNS_MAX if wanted is None else min(wanted, PAGE_TURNS_MAX))

    def placed(self, start: Anchor, size: int) -> Iterator[PlacedItem]:
        """Yield the items of the turns at an anchor, then of those before them, newest first; so many turns a read.

        Raises `transcript.unknown_place` for a turn that there never was.
        """
        if start.at is AnchorKind.LATEST:
            turns = kept_reads(self._runtime).newest_first(
                self.key, type(self).__qualname__, self._page_at, repeat(size)
            )
        else:
            turns = self._made_from(start, size)
        for kept in turns:
            if kept is not None:
                turn, items = json.loads(kept)
                for item, place, is_of_owner in items:
                    yield PlacedItem(item, TurnId(turn), place, [View.RAW_OWNER] if is_of_owner else POPPED_FROM)

    def _made_from(self, start: Anchor, size: int) -> Iterator[str | None]:
        page = self._page(start, size)
        yield from (turn.made for turn in page.turns)
        while page.older is not None:
            page = self._page_at(page.older, size)
            yield from (turn.made for turn in page.turns)

    def _page_at(self, place: PagePlace, size: int) -> PageMade[str | None]:
        return self._page(Anchor(at=AnchorKind(place.at), sequence=place.sequence), size)

    def _page(self, anchor: Anchor, size: int) -> PageMade[str | None]:
        """Read a page through both views; make of each turn its items, as JSON, so that each reader gets its own."""
        while True:
            owned = self._seen(anchor, View.RAW_OWNER, size)
            shown = self._seen(anchor, View.MODEL_CONTEXT, size)
            digest = owned.digest if owned.digest == shown.digest else None
            if not owned.turns or not shown.turns:
                return PageMade([], None, digest)
            sequences = owned.turns.keys() & shown.turns.keys()
            if sequences:
                break
            # so much was committed between the two that they have no turn in common
        # what was committed meanwhile is left out, and so is a turn that is not listed any more
        oldest = max(min(owned.turns), min(shown.turns))
        has_older = owned.has_older or min(owned.turns) < oldest
        turns: list[TurnMade[str | None]] = []
        for sequence in sorted(sequences, reverse=True):
            items = list(self._items_of(owned, shown, sequence))
            made = json.dumps((owned.turns[sequence].turn, items)) if items else None
            turns.append(TurnMade(sequence, made, 0 if made is None else len(made)))
        older = PagePlace("before", oldest) if has_older else None
        return PageMade(turns, older, digest, has_newer=owned.has_newer)

    def _items_of(self, owned: SeenPage, shown: SeenPage, sequence: int) -> Iterator[tuple[Item, int, bool]]:
        """Yield the items of a turn, newest first: each with its place, and whether the owner alone is shown it."""
        turn = owned.turns[sequence]
        shapes, model_turn = shapes_of(turn), shown.turns[sequence]
        for place in range(len(shapes) - 1, -1, -1):
            shape = shapes[place]
            message = model_turn.messages[place]
            if message.id not in shown.withheld and len(message.parts) == shape.parts:  # as most are
                yield whole(shape, message.parts), place, False
                continue
            of_owner = owned.parts(turn.messages[place], shape.parts)
            of_model = shown.parts(message, shape.parts)
            decided = [seen for seen in of_model if not is_policy(seen)]
            if all(map(is_popped, decided or of_owner)):
                continue
            parts = [own if is_policy(seen) else seen for own, seen in zip(of_owner, of_model, strict=True)]
            reasons = {reason_of(part) for part in parts}
            if reasons & WORDS_GONE:
                shape = shape._replace(item=self.form_left(shape.item, reasons))
            yield whole(shape, [marker(part) for part in parts]), place, not decided

    def form_left(self, form: Item, reasons: AbstractSet[Reason | None], /) -> Item:
        """Return the form of an item of which words are withheld for these reasons; None: some parts are shown."""
        return unnamed(form) if reasons <= WORDS_GONE else form

    def _seen(self, anchor: Anchor, view: View, size: int) -> SeenPage:
        try:
            page = self._runtime.transcripts.timeline(self.key, anchor, view, size)
        except UnknownConversation:
            return SeenPage([], [])
        digest = None if page.budget_applied else page.digest
        return SeenPage(page.turns, page.items, digest, has_older=page.has_older, has_newer=page.has_newer)


def turns_of_items(items: Iterable[PartedItem], turn_id: str, like: Turn) -> Iterator[Turn]:
    """Yield turns that have items, made like a turn: one, or more where one cannot have them all.

    The first has the id that is given, the others have it with a number, from 2 on.
    """
    for number, batch in enumerate(batches_of_items(items), start=1):
        named = TurnId(turn_id if number == 1 else f"{turn_id}.{number}")
        yield replace(like, turn=named, messages=messages_of_items(batch))
