"""From a turn to documents: one for each message whose words a view shows.

Only what users and assistants said is a document, and of that exactly what a slice of the view shows,
with markers where ranges are withheld: what is not shown is in no index, so that nothing about it can be learnt from
what is found, how often, or how well. Of a message with private, soul or operator authority there is none in any view.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from muniment.events.message import Authority, Part, ReasoningPart, Role, TextPart, ToolCallPart, part_label
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.judgement import TurnRecord, authority_of, judge
from muniment.governance.views import View

SEARCHED = frozenset({Role.USER, Role.ASSISTANT})
NEVER_SEARCHED = frozenset(
    {Authority.PRIVATE_GARDEN_INTERNAL, Authority.SOUL_GOVERNANCE, Authority.OPERATOR_DIAGNOSTIC}
)


class SearchDocument(Struct, frozen=True, kw_only=True, gc=False):
    """A message to be found: its place in the turn, who said it and when, and the words as a view shows them."""

    message: int
    role: Role
    speaker: str
    time_ms: int
    text: str


def documents(record: TurnRecord, view: View, detection: ViewDetection) -> list[SearchDocument]:
    """Return the documents of a turn under a view."""
    meta, content = record.meta, record.content
    if content is None:
        return []
    judged = judge(view, record, detection)
    found: list[SearchDocument] = []
    for place, head in enumerate(meta.messages):
        if judged.messages[place] is not None or head.role not in SEARCHED or authority_of(head) in NEVER_SEARCHED:
            continue
        parts, inside = content.parts[place], judged.parts[place]
        if judged.marked or any(inside):
            parts = [
                judged.marked.get(part_label(place, index), part)
                for index, (part, reason) in enumerate(zip(parts, inside, strict=True))
                if reason is None
            ]
        text = words_of(parts)
        if text:
            speaker = head.speaker_id or meta.actor.speaker_id or meta.actor.subject or ""
            time_ms = head.observed_ms or record.time_ms
            found.append(SearchDocument(message=place, role=head.role, speaker=speaker, time_ms=time_ms, text=text))
    return found


def words_of(parts: list[Part]) -> str:
    """Return what of the parts of a message can be searched: words, and the names and arguments of calls."""
    if len(parts) == 1 and isinstance(parts[0], TextPart):  # as most messages
        return parts[0].content
    return "\n".join([text for part in parts for text in _texts(part) if text])


def _texts(part: Part) -> Iterator[str]:
    if isinstance(part, TextPart | ReasoningPart):
        yield part.content
    elif isinstance(part, ToolCallPart):
        yield part.name
        yield from _strings(part.arguments)


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings and numbers in a JSON value, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield str(value)
    else:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
