"""Detection in the parts of messages: which texts are scanned, and how a part is shown with markers.

The scanned texts are those of text and reasoning parts, addresses (`uri`), names of attached files, and, in arguments
and results of tools, every string, every integer and every member name, each separately. Bytes, files, and the names
and ids of tools are not scanned. A text whose detection failed is withheld completely.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from muniment.events.message import (
    AttachmentPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.governance.detection.scan import Detector, scan
from muniment.governance.redaction import TextRange, WithheldRange, beside, replaced, stretches
from muniment.governance.views import Reason

NUMBER_DIGITS_MIN = 7  # shorter integers are not scanned


class MarkedPart(NamedTuple):
    """A part with markers, and the ranges that they replace; without ranges, the unchanged part."""

    part: Part
    stretches: tuple[WithheldRange, ...] = ()


def found_in(text: str, detectors: Sequence[Detector]) -> tuple[WithheldRange, ...]:
    """Return the ranges of a text that are withheld because of findings, or because detection failed."""
    if not text:
        return ()
    detected = scan(text, detectors)
    if detected.failed:
        return (WithheldRange(0, len(text), Reason.DETECTION_FAILED, tuple(detected.failed)),)
    return stretches(Reason.DETECTED, (TextRange(span.start, span.end, span.type.value) for span in detected.findings))


def marked_text(text: str, detectors: Sequence[Detector]) -> str:
    """Return a text with markers in the place of what is found in it."""
    return replaced(text, found_in(text, detectors)) if detectors else text


def found_in_member(name: str, text: str, detectors: Sequence[Detector]) -> tuple[WithheldRange, ...]:
    """Return the ranges of the text of a member that are withheld; its name is before it, as words are in prose."""
    if not name or not text:
        return found_in(text, detectors)
    before = f"{name.replace('_', ' ')}: "
    ranges = []
    for span in found_in(before + text, detectors):
        start, end = max(span.start - len(before), 0), span.end - len(before)
        if end > 0:
            ranges.append(span._replace(start=start, end=end))
    return tuple(ranges)


def found_in_file_name(name: str, detectors: Sequence[Detector]) -> tuple[WithheldRange, ...]:
    """Return the ranges of the name of a file that are withheld; an address may stand right before the extension."""
    return beside(found_in(name, detectors), found_in(name.rpartition(".")[0], detectors))


def marked(part: Part, detectors: Sequence[Detector], covered: tuple[WithheldRange, ...] = ()) -> MarkedPart:
    """Return a part with markers for findings and for the ranges that are `covered` by redactions."""
    if not detectors and not covered:
        return MarkedPart(part)
    if isinstance(part, TextPart | ReasoningPart):
        ranges = beside(covered, found_in(part.content, detectors))
        return MarkedPart(replace(part, content=replaced(part.content, ranges)), ranges) if ranges else MarkedPart(part)
    if isinstance(part, UriPart):
        ranges = found_in(part.uri, detectors)
        return MarkedPart(replace(part, uri=replaced(part.uri, ranges)), ranges) if ranges else MarkedPart(part)
    if isinstance(part, AttachmentPart):
        ranges = found_in_file_name(part.name or "", detectors)
        return MarkedPart(replace(part, name=replaced(part.name or "", ranges)), ranges) if ranges else MarkedPart(part)
    if isinstance(part, ToolCallPart):
        arguments, ranges = marked_json(part.arguments, detectors)
        return MarkedPart(replace(part, arguments=arguments), ranges) if ranges else MarkedPart(part)
    if isinstance(part, ToolCallResponsePart):
        response, ranges = marked_json(part.response, detectors)
        return MarkedPart(replace(part, response=response), ranges) if ranges else MarkedPart(part)
    return MarkedPart(part)


def marked_json(value: Any, detectors: Sequence[Detector]) -> tuple[Any, tuple[WithheldRange, ...]]:
    """Return a JSON value with markers for findings, and the ranges that they replace."""
    if not detectors:
        return value, ()
    marker = _JsonMarker(detectors)
    shown = marker.value(value, "")
    return (shown, tuple(marker.ranges)) if marker.ranges else (value, ())


class _JsonMarker:
    """Replaces findings in a JSON value by markers. A commit limits the depth of the value."""

    def __init__(self, detectors: Sequence[Detector]) -> None:
        self._detectors = detectors
        self.ranges: list[WithheldRange] = []

    def value(self, value: Any, path: str, name: str = "") -> Any:
        """Return a value with markers; `path` is its JSON pointer (RFC 6901) in the result, `name` that of the member.

        A text is scanned with the name of its member before it: what `dob` or `password` names is found by its name.
        """
        if isinstance(value, str):
            return self._text(value, path, name)
        if isinstance(value, dict):
            return self._members(value, path)
        if isinstance(value, list):
            return [self.value(item, f"{path}/{index}") for index, item in enumerate(value)]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10 ** (NUMBER_DIGITS_MIN - 1):
            shown = self._text(str(value), path, name)
            return value if shown == str(value) else shown
        return value

    def _members(self, value: dict[str, Any], path: str) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        numbered: dict[str, int] = {}
        for name, member in value.items():
            ranges = found_in(name, self._detectors)
            new = replaced(name, ranges)
            if ranges:
                base = new
                while new in shown or new in value:  # names remain distinct after their differences are withheld
                    numbered[base] = numbered.get(base, 1) + 1
                    new = f"{base} ({numbered[base]})"
            inside = f"{path}/{new.replace('~', '~0').replace('/', '~1')}"
            self.ranges += [withheld._replace(path=inside) for withheld in ranges]
            shown[new] = self.value(member, inside, name)
        return shown

    def _text(self, text: str, path: str, name: str) -> str:
        ranges = found_in_member(name, text, self._detectors)
        self.ranges += [withheld._replace(path=path) for withheld in ranges]
        return replaced(text, ranges)
