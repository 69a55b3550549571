"""From a turn to documents: one for each message with content that a view shows.

Only messages of users and assistants are documents, with exactly the content that a slice of the view shows and markers
where ranges are withheld: hidden content is in no index, so that nothing about it can be learnt from what is found, how
often, or how well. A message with private, soul or operator authority is in no index of any view.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.events.message import Authority, Part, ReasoningPart, Role, TextPart, ToolCallPart, part_label
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.judgement import TurnRecord, judge
from muniment.governance.shown_speaker import shown_speakers
from muniment.governance.views import View
from muniment.search.document_table import SearchDocument
from muniment.search.partitions import MESSAGES, partition

SEARCHED = frozenset({Role.USER, Role.ASSISTANT})
NEVER_SEARCHED = frozenset(
    {Authority.PRIVATE_GARDEN_INTERNAL, Authority.SOUL_GOVERNANCE, Authority.OPERATOR_DIAGNOSTIC}
)  # no role has one of these by default


def documents(record: TurnRecord, view: View, detection: ViewDetection) -> list[SearchDocument]:
    """Return the documents of a turn under a view."""
    meta, content = record.meta, record.content
    if content is None:
        return []
    judged = judge(view, record, detection)
    shown: list[SearchDocument] = []
    speakers = shown_speakers(meta.messages, meta.actor)
    part = partition(MESSAGES, meta.actor.subject or "")
    for place, head in enumerate(meta.messages):
        if judged.messages[place] is not None or head.role not in SEARCHED or head.authority in NEVER_SEARCHED:
            continue
        parts, reasons = content.parts[place], judged.parts[place]
        if judged.marked or any(reasons):
            parts = [
                judged.marked.get(part_label(place, index), part)
                for index, (part, reason) in enumerate(zip(parts, reasons, strict=True))
                if reason is None
            ]
        first = parts[0] if len(parts) == 1 else None
        text = first.content if isinstance(first, TextPart) else searched_text(parts)  # most messages are one text
        if text:
            speaker, _ = speakers[place]
            time_ms = head.observed_ms or record.time_ms
            document = SearchDocument(
                message=place, role=head.role, speaker=speaker, time_ms=time_ms, text=text, partition=part
            )
            shown.append(document)
    return shown


def searched_text(parts: list[Part]) -> str:
    """Return the text that is searched of the parts of a message: text, and the names and arguments of calls."""
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
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
