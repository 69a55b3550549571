"""Occurrences of a text in all that the raw owner's view shows of a space, and what can be withheld of each.

| where it stands | what is withheld |
|---|---|
| text, reasoning | exactly the range |
| arguments and results of tools, addresses, names of attached files | the whole part |
| summary of a tool observation, label of a host reference | the whole field |
| value of an attribute | nothing: it is counted, and only an erasure removes it |

Each text is searched alone, never across two of them. What this view hides is not searched: masked turns are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from muniment.events.changes import RedactionTarget
from muniment.events.message import (
    AttachmentPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
    part_label,
)
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.detection.scan import TextSpan
from muniment.governance.judgement import Judgement, TurnRecord, judge
from muniment.governance.redaction import WHOLE_TURN, Redaction, label_of, redacted, stretches, words_label
from muniment.governance.views import Reason, View
from muniment.operations.redactions.matching import FindSpans

AROUND_CHARS = 24  # of an excerpt, before and after


class Extent(StrEnum):
    """What is withheld where a text occurs; of an attribute, nothing can be."""

    RANGE = "range"
    PART = "part"
    FIELD = "field"
    ATTRIBUTE = "attribute"


class Occurrence(NamedTuple):
    """A place at which a text occurs in a turn, what would be withheld there, and the text around it."""

    extent: Extent
    target: RedactionTarget
    excerpt: str
    attribute: str | None = None


def occurrences(record: TurnRecord, find: FindSpans, detection: ViewDetection) -> Iterator[Occurrence]:
    """Yield where a text occurs in what the raw owner sees of a turn."""
    content, judged = record.content, judge(View.RAW_OWNER, record, detection)
    if content is None:
        return
    for message, whole in enumerate(judged.messages):
        if whole is None:
            yield from _in_message(record, message, judged, find)
    for place, summary in enumerate(content.summaries if judged.summaries else []):
        yield from _in_field(f"tools/{place}/summary", summary, judged, find)
    for place, label in enumerate(content.labels):
        if label is not None and judged.labels[place] and judged.references[place] is None:
            yield from _in_field(f"host_ref/{place}/label", label, judged, find)
    for attribute in record.attributes:
        if attribute.content is not None:
            for text in _texts(attribute.content.value):
                for span in find(text):
                    target = RedactionTarget(message=attribute.meta.attribute.message)
                    excerpt = _excerpt(text, span, ())
                    yield Occurrence(Extent.ATTRIBUTE, target, excerpt, attribute.meta.attribute.id)


def _in_message(record: TurnRecord, message: int, judged: Judgement, find: FindSpans) -> Iterator[Occurrence]:
    assert record.content is not None, "it was asked before"
    for index, part in enumerate(record.content.parts[message]):
        if judged.parts[message][index] is not None:
            continue
        if isinstance(part, TextPart | ReasoningPart):
            hidden = [(one.start, one.end) for one in judged.stretches.get(part_label(message, index), ())]
            for span in find(part.content):
                if not any(start <= span.start and span.end <= end for start, end in hidden):
                    target = RedactionTarget(message=message, part=index, start=span.start, end=span.end)
                    yield Occurrence(Extent.RANGE, target, _excerpt(part.content, span, hidden))
            continue
        shown = judged.marked.get(part_label(message, index), part)
        target = RedactionTarget(message=message, part=index)
        if isinstance(shown, ToolCallPart | ToolCallResponsePart | UriPart | AttachmentPart):
            yield from _first(Extent.PART, target, list(_values(shown)), find)


def _in_field(label: str, text: str, judged: Judgement, find: FindSpans) -> Iterator[Occurrence]:
    if label not in judged.causes and label not in judged.stretches:
        yield from _first(Extent.FIELD, RedactionTarget(field=label), [text], find)


def _first(extent: Extent, target: RedactionTarget, texts: list[str], find: FindSpans) -> Iterator[Occurrence]:
    """Yield one occurrence for what is withheld whole, however often the text is in it."""
    for text in texts:
        for span in find(text):
            yield Occurrence(extent, target, _excerpt(text, span, ()))
            return


def _values(part: ToolCallPart | ToolCallResponsePart | UriPart | AttachmentPart) -> Iterator[str]:
    if isinstance(part, UriPart):
        yield part.uri
    elif isinstance(part, AttachmentPart):
        name = part.name or ""
        yield from (name, name.rpartition(".")[0])  # a detector may take the extension for a part of what it finds
    else:
        yield from _texts(part.arguments if isinstance(part, ToolCallPart) else part.response)


def _texts(value: Any) -> Iterator[str]:
    """Yield every text, number and member name in a JSON value; a commit limits its depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _excerpt(text: str, span: TextSpan, hidden: list[tuple[int, int]] | tuple[()]) -> str:
    """Return what stands around a place, up to what the view hides."""
    start = max([span.start - AROUND_CHARS, 0, *(end for _, end in hidden if end <= span.start)])
    end = min([span.end + AROUND_CHARS, len(text), *(start for start, _ in hidden if start >= span.end)])
    return text[start:end]


def is_withheld(target: RedactionTarget, redactions: tuple[Redaction, ...], views: frozenset[View]) -> bool:
    """Return whether redactions withhold a target from all of these views already, for whatever reason."""
    return all(_is_withheld_from(view, target, redactions) for view in views)


def _is_withheld_from(view: View, target: RedactionTarget, redactions: tuple[Redaction, ...]) -> bool:
    withheld, label = redacted(redactions, view), label_of(target)
    larger = [WHOLE_TURN] if target.message is None else [WHOLE_TURN, words_label(target.message)]
    if withheld.causes(*larger, label):
        return True
    if target.start is None or target.end is None:
        return False
    ranges = stretches(Reason.REDACTED, withheld.ranges.get(label, ()))
    return any(one.start <= target.start and target.end <= one.end for one in ranges)
