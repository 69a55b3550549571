"""What the events of an archived conversation erase, and which words they say of turns that are gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from muniment.events.changes import Transition, span_of
from muniment.events.records import WORDS, MetaBody
from muniment.events.wording import words_of
from muniment.projections.change_fold import Changes, NotedChange, lost_in_conversation


class ArchivedErasures:
    """The erasures of a conversation as far as it was read, and the changes that have words of their own."""

    def __init__(self) -> None:
        self._erasures: list[NotedChange] = []
        self._with_words: list[NotedChange] = []
        self.messages: set[tuple[int, int]] = set()  # turn and place of those that were erased alone

    def take(self, number: int, reason: str | None, refs: Mapping[str, int], meta: MetaBody) -> None:
        """Take the next change: its number, and what it says of which turns."""
        span, message = span_of(refs), refs.get("message")
        if reason == Transition.ERASE and message is None:
            self._erasures.append(NotedChange(number, span))  # it keeps its words
            return
        if reason == Transition.ERASE and message is not None:
            self.messages.add((span.first, message))
            message = None  # its words stay until the turn is erased
        if words_of(meta, WORDS.get(type(meta), {})) is not None:
            self._with_words.append(NotedChange(number, span, message))

    def includes(self, turn: int) -> bool:
        """Tell whether a turn was erased as a whole."""
        return any(erasure.span.includes(turn) for erasure in self._erasures)

    def left_words(self) -> bool:
        """Tell whether a change still has words that went with a turn or a message."""
        alone: defaultdict[int, frozenset[int]] = defaultdict(frozenset)
        for turn, message in self.messages:
            alone[turn] |= {message}
        noted = {"": tuple(self._with_words)}
        return bool(lost_in_conversation(Changes(erased=alone, erasures=tuple(self._erasures), noted=noted)))
