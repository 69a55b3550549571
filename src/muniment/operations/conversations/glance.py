"""A glance at a conversation: its title and tags, its first and its last words, as a view shows them. Never stored.

Of several titles the newest counts that the view shows; so for tags. The first and last words are looked for in the
first and last turns that are listed, a few of them, through the same judgement as a page of turns.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct

from muniment.events.attributes import TAGS_KEY, TITLE_KEY
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.message import Role, TextPart
from muniment.governance import attribute_visibility
from muniment.governance.attribute_visibility import ShownValue
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.judgement import TurnRecord, needs_content, standing
from muniment.governance.listing import LifecycleFilter, before, onward
from muniment.governance.listing import listed as shown_runs
from muniment.governance.phases import PhaseRun
from muniment.governance.slices import SliceTurn, cut
from muniment.governance.views import SHOWS, View
from muniment.projections.conversation import Conversation
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.projections.conversation_list import DescribedAt, ListedConversation
from muniment.projections.transcript import Transcript
from muniment.space.space import Space

PREVIEW_CHARACTERS_MAX = 120
PREVIEW_TURNS_MAX = 3  # looked through from either end
CUT = "…"


class Preview(Struct, frozen=True, kw_only=True, gc=False):
    """Words as a view shows them, on one line and cut, and who said them."""

    role: Role
    text: str


class ShownWords(NamedTuple):
    """What a view shows of a conversation at a glance."""

    title: str | None
    tags: list[str]
    first: Preview | None
    last: Preview | None


class Glance:
    """Reads titles, tags and previews of conversations, from one state of the log, under one view."""

    def __init__(self, space: Space, caught: CaughtUpCatalogue, view: View) -> None:
        self._space = space
        self._caught = caught
        self._view = view
        self._detection = space.detection.view(view)

    def words(self, listed: ListedConversation, lifecycle: LifecycleFilter) -> ShownWords:
        """Return what the view shows of a conversation."""
        if not SHOWS[self._view]:
            return ShownWords(None, [], None, None)
        reading, runs = self._reading(listed), shown_runs(listed.runs(), lifecycle)
        oldest = map(reading.said, _sequences(onward(runs, 1, PREVIEW_TURNS_MAX)))
        newest = map(reading.said, reversed(_sequences(before(runs, len(listed.observed) + 1, PREVIEW_TURNS_MAX))))
        return ShownWords(
            first=next((said[0] for said in oldest if said), None),
            last=next((said[-1] for said in newest if said), None),
            title=self.title(listed, reading),
            tags=self.tags(listed, reading),
        )

    def title(self, listed: ListedConversation, reading: ConversationReading | None = None) -> str | None:
        """Return the title that the view shows."""
        value = self._described(listed, TITLE_KEY, reading)
        return value if isinstance(value, str) and value else None

    def tags(self, listed: ListedConversation, reading: ConversationReading | None = None) -> list[str]:
        """Return the tags that the view shows."""
        value = self._described(listed, TAGS_KEY, reading)
        return [str(tag) for tag in value] if isinstance(value, list) else []

    def _reading(self, listed: ListedConversation) -> ConversationReading:
        names, transcript = listed.names, self._space.transcript
        key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
        conversation = Conversation(transcript, self._caught.reader, key, listed.stream)
        return ConversationReading(transcript, conversation, self._view, self._detection)

    def _described(self, listed: ListedConversation, key: str, reading: ConversationReading | None) -> Any:
        """Return the newest value of a key that the view shows, or None."""
        places = listed.descriptions(key)
        if not places or not SHOWS[self._view]:
            return None
        values = map((reading or self._reading(listed)).value, places)
        return next((value for value in values if value is not None), None)


class ConversationReading:
    """One conversation, read turn by turn under a view; each turn once."""

    def __init__(
        self, transcript: Transcript, conversation: Conversation, view: View, detection: ViewDetection
    ) -> None:
        self._transcript = transcript
        self._conversation = conversation
        self._view = view
        self._detection = detection
        self._records: dict[int, TurnRecord] = {}
        self._said: dict[int, list[Preview]] = {}

    def said(self, sequence: int) -> list[Preview]:
        """Return what is shown of what the user and the assistant said in a turn, message by message."""
        if sequence not in self._said:
            (read,) = self._conversation.page(sequence, sequence, partial(needs_content, self._view))
            self._records[sequence] = read.record
            self._said[sequence] = _previews(cut(read.record, self._view, detection=self._detection)[0])
        return self._said[sequence]

    def value(self, place: DescribedAt) -> Any:
        """Return the value of an attribute as the view shows it, or None."""
        record = self._records.get(place.turn)
        if record is None:
            record = self._records[place.turn] = self._conversation.at(place.turn).record
        attribute = self._transcript.attribute(self._conversation.reader, place.position, record, self._view)
        state = standing(record, self._view, None)
        if attribute_visibility.judge(self._view, state, attribute)[0] is not ShownValue.VALUE:
            return None
        turn = TurnId(record.meta.delivery.turn)
        shown = attribute_visibility.shown(self._view, turn, attribute, ShownValue.VALUE)
        return attribute_visibility.marked(shown, self._detection.detectors(record.meta))[0].value


def _sequences(runs: list[PhaseRun]) -> list[int]:
    return [sequence for run in runs for sequence in range(run.first, run.last + 1)]


def _previews(turn: SliceTurn) -> list[Preview]:
    """Return what is shown of what the user and the assistant said, message by message."""
    said: list[Preview] = []
    for message in turn.messages:
        if message.role in {Role.USER, Role.ASSISTANT}:
            texts = [part.content for part in message.parts or () if isinstance(part, TextPart)]
            line = " ".join(" ".join(text[: 4 * PREVIEW_CHARACTERS_MAX] for text in texts).split())
            if line:
                said.append(Preview(role=message.role, text=cut_to_line(line)))
    return said


def cut_to_line(line: str) -> str:
    """Return a line cut to the size of a preview, at a word where there is one."""
    if len(line) <= PREVIEW_CHARACTERS_MAX:
        return line
    short = line[:PREVIEW_CHARACTERS_MAX]
    at = short.rfind(" ")
    return (short[:at] if at > PREVIEW_CHARACTERS_MAX // 2 else short) + CUT
