"""Turns whose every piece of text carries a mark of its own, and which views may ever show which mark.

What a view shows is then a set of marks, found in the JSON of whole pages: a word that slips into a label, an item or
an error is found like any other. The table below says once more, by hand, who may see what (BEHAVIOUR RP-03, HR-04).
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from muniment.errors import UnknownConversation
from muniment.events.identity import ConversationKey, SubjectId, TurnId
from muniment.events.message import (
    Authority,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from muniment.events.references import HostReference, Relation, Visibility
from muniment.events.turn import ToolObservation, Turn
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime

SPEAKERS = ("ada", "bob", "cy")
PAGE = 3

RAW, MODEL, UI, OPERATOR, EXPORT = View
PUBLIC = {RAW, MODEL, UI, EXPORT}

# place of a piece of text in a turn -> (message, or None for a field of the turn; the views that show it)
PLACES: dict[str, tuple[int | None, set[View]]] = {
    "user": (0, PUBLIC),
    "reasoning": (1, {RAW}),
    "argument": (1, {RAW, MODEL}),
    "response": (2, {RAW, MODEL}),
    "private": (3, {RAW}),
    "answer": (4, PUBLIC),
    "more": (4, PUBLIC),
    "summary": (None, {RAW, OPERATOR}),
    "label": (None, {RAW, UI}),
}

_MARK = re.compile(r"zq(\d+)x([a-z]+)qz")


class Mark(NamedTuple):
    """A piece of text: of which turn (counted over the whole walk), and where in it."""

    turn: int
    place: str

    def __str__(self) -> str:
        return f"zq{self.turn}x{self.place}qz"


class Marked(NamedTuple):
    """A turn of a walk: what was handed over, and where."""

    number: int
    key: ConversationKey
    turn: TurnId
    subject: str

    def marks(self) -> list[Mark]:
        """Return the marks of all its texts."""
        return [Mark(self.number, place) for place in PLACES]

    def handed_over(self) -> Turn:
        """Return the turn as the host hands it over; the same for the same number."""
        said = {place: f"some {Mark(self.number, place)} words" for place in PLACES}
        answer = [TextPart(content=said["answer"]), TextPart(content=said["more"])]
        return Turn(
            turn=self.turn,
            subject=SubjectId(self.subject),
            channel=self.key.channel,
            conversation=self.key.conversation,
            messages=[
                Message(role=Role.USER, content=said["user"]),
                Message(
                    role=Role.ASSISTANT,
                    content=[
                        ReasoningPart(content=said["reasoning"]),
                        ToolCallPart(name="look", id="call", arguments={"for": said["argument"]}),
                    ],
                ),
                Message(role=Role.TOOL, content=[ToolCallResponsePart(response=said["response"], id="call")]),
                Message(role=Role.ASSISTANT, content=said["private"], authority=Authority.SOUL_GOVERNANCE),
                Message(role=Role.ASSISTANT, content=list(answer)),
            ],
            tools=[ToolObservation(id="observed", tool="look", summary=said["summary"])],
            host_refs=[
                HostReference(
                    host="crm", type="case", id="17", relation=Relation.ORIGIN, visibility=Visibility.HOST_UI,
                    label=said["label"],
                )
            ],
        )  # fmt: skip


def marks_in(text: str) -> set[Mark]:
    """Return every mark in a text."""
    return {Mark(int(number), place) for number, place in _MARK.findall(text)}


def seen(runtime: Runtime, key: ConversationKey, view: View, limit: int = PAGE) -> set[Mark]:
    """Return the marks that a view shows of a conversation, all pages of it, items and all."""
    return marks_in(msgspec.json.encode(pages(runtime, key, view, limit)).decode())


def pages(runtime: Runtime, key: ConversationKey, view: View, limit: int = PAGE) -> list[object]:
    """Return all pages of a conversation under a view."""
    found: list[object] = []
    cursor = None
    while True:
        try:
            page = runtime.transcripts.replay(key, view, limit, cursor)
        except UnknownConversation:  # nothing was said in it yet
            return found
        found.append(page)
        cursor = page.next_cursor
        if cursor is None:
            return found
