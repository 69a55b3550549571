"""Detection in the parts of messages: what is looked at, and how a part is shown with markers.

Looked at are the words of text and reasoning parts, addresses (`uri`), and in what a call was given or gave back every
string, every whole number and every name of a member, each as a text of its own. Not looked at are bytes, files, and
the names and ids of tools. A text whose detection failed is withheld from its beginning to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from muniment.events.message import Part, ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart, UriPart
from muniment.governance.detection.scan import Detector, scan
from muniment.governance.redaction import TextRange, WithheldRange, beside, replaced, stretches
from muniment.governance.views import Reason

NUMBER_DIGITS_MIN = 7  # shorter whole numbers are not looked at


class Marked(NamedTuple):
    """A part as it is shown, and the stretches that its markers stand for; without any it is the part that it was."""

    part: Part
    stretches: tuple[WithheldRange, ...] = ()


def found_in(text: str, detectors: Sequence[Detector]) -> tuple[WithheldRange, ...]:
    """Return what of a text is withheld because of what was found in it, or because detection failed on it."""
    if not text:
        return ()
    detected = scan(text, detectors)
    if detected.failed:
        return (WithheldRange(0, len(text), Reason.DETECTION_FAILED, tuple(detected.failed)),)
    return stretches(Reason.DETECTED, (TextRange(one.start, one.end, one.type.value) for one in detected.findings))


def marked(part: Part, detectors: Sequence[Detector], covered: tuple[WithheldRange, ...] = ()) -> Marked:
    """Return a part with markers for what is found in it, beside the stretches that are withheld from it already."""
    if not detectors and not covered:
        return Marked(part)
    if isinstance(part, TextPart | ReasoningPart):
        found = beside(covered, found_in(part.content, detectors))
        return Marked(replace(part, content=replaced(part.content, found)), found) if found else Marked(part)
    if isinstance(part, UriPart):
        found = found_in(part.uri, detectors)
        return Marked(replace(part, uri=replaced(part.uri, found)), found) if found else Marked(part)
    if isinstance(part, ToolCallPart):
        arguments, found = marked_json(part.arguments, detectors)
        return Marked(replace(part, arguments=arguments), found) if found else Marked(part)
    if isinstance(part, ToolCallResponsePart):
        response, found = marked_json(part.response, detectors)
        return Marked(replace(part, response=response), found) if found else Marked(part)
    return Marked(part)


def marked_json(value: Any, detectors: Sequence[Detector]) -> tuple[Any, tuple[WithheldRange, ...]]:
    """Return a JSON value with markers for what is found in it, and the stretches that they stand for."""
    if not detectors:
        return value, ()
    walk = _Walk(detectors)
    shown = walk.value(value, "")
    return (shown, tuple(walk.found)) if walk.found else (value, ())


class _Walk:
    """A way through JSON that leaves markers behind. Its depth is that of what may be committed at all."""

    def __init__(self, detectors: Sequence[Detector]) -> None:
        self._detectors = detectors
        self.found: list[WithheldRange] = []

    def value(self, value: Any, path: str) -> Any:
        """Return a value with markers; `path` is its JSON pointer (RFC 6901) in what is shown."""
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            return self._members(value, path)
        if isinstance(value, list):
            return [self.value(item, f"{path}/{place}") for place, item in enumerate(value)]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10 ** (NUMBER_DIGITS_MIN - 1):
            shown = self._text(str(value), path)
            return value if shown == str(value) else shown
        return value

    def _members(self, value: dict[str, Any], path: str) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        numbered: dict[str, int] = {}
        for name, member in value.items():
            found = found_in(name, self._detectors)
            new = replaced(name, found)
            if found:
                base = new
                while new in shown or new in value:  # names stay apart when what told them apart is withheld
                    numbered[base] = numbered.get(base, 1) + 1
                    new = f"{base} ({numbered[base]})"
            inside = f"{path}/{new.replace('~', '~0').replace('/', '~1')}"
            self.found += [stretch._replace(path=inside) for stretch in found]
            shown[new] = self.value(member, inside)
        return shown

    def _text(self, text: str, path: str) -> str:
        found = found_in(text, self._detectors)
        self.found += [stretch._replace(path=path) for stretch in found]
        return replaced(text, found)
