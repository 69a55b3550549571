"""Redactions: what of a turn is withheld from named views, though its words are still there.

A redaction names a turn, a message, a part, a range of a text, or a field (a tool summary, the label of a host
reference). What several redactions withhold is the union of what each withholds, so that their order does not matter.
One that names the raw owner's view withholds from every view, because none shows more than the raw owner sees.

Ranges of a text, whoever asks for them, become *stretches*: consecutive code points that a view does not show. Ranges
of one reason that overlap or touch are one stretch, which names all their causes. In the text a stretch stands as its
marker, `[redacted: legal, personal_data]`: the reason, and the causes in the order of the alphabet. Where ranges of a
second reason are laid beside such stretches (`beside`), what is covered already is not said twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from muniment.errors import InvalidInput, UnknownPlace, WordsErased
from muniment.events.changes import RedactionReason, RedactionTarget
from muniment.events.message import ReasoningPart, TextPart, part_label
from muniment.events.records import TurnContent
from muniment.governance.views import Reason, View

Causes = tuple[str, ...]

WHOLE_TURN = ""


class Redaction(Struct, frozen=True, kw_only=True):
    """A redaction of one turn, named by the position of its event. What it names is withheld from these views alone."""

    position: int
    target: RedactionTarget
    views: frozenset[View]
    reason: RedactionReason


# --- ranges of a text -------------------------------------------------------------------------------------------------


class TextRange(NamedTuple):
    """Code points of a text, `end` not included, that somebody wants withheld, and why."""

    start: int
    end: int
    cause: str


class WithheldRange(NamedTuple):
    """Consecutive code points of a text, `end` not included, that a view does not show.

    `path` says which text, where a part has several: the JSON pointer in what a call was given or gave back.
    """

    start: int
    end: int
    reason: Reason
    causes: Causes
    path: str = ""

    @property
    def marker(self) -> str:
        """What stands in the text instead."""
        return f"[{self.reason}: {', '.join(self.causes)}]"


def stretches(reason: Reason, ranges: Iterable[TextRange]) -> tuple[WithheldRange, ...]:
    """Return the stretches that ranges of one reason make, in the order of the text; empty ranges make none."""
    made: list[WithheldRange] = []
    for start, end, cause in sorted(ranges):
        if start >= end:
            continue
        if made and start <= made[-1].end:
            last = made[-1]
            causes = tuple(sorted({*last.causes, cause}))
            made[-1] = WithheldRange(last.start, max(last.end, end), reason, causes)
        else:
            made.append(WithheldRange(start, end, reason, (cause,)))
    return tuple(made)


def beside(first: tuple[WithheldRange, ...], second: Iterable[WithheldRange]) -> tuple[WithheldRange, ...]:
    """Return the first stretches and what of the second ones they leave uncovered, in the order of the text."""
    found = list(first)
    for stretch in second:
        start = stretch.start
        for over in first:
            if over.end <= start or over.start >= stretch.end:
                continue
            if start < over.start:
                found.append(stretch._replace(start=start, end=over.start))
            start = over.end
        if start < stretch.end:
            found.append(stretch._replace(start=start))
    return tuple(sorted(found))


def replaced(text: str, withheld: Iterable[WithheldRange]) -> str:
    """Return a text with a marker in the place of each stretch."""
    pieces: list[str] = []
    shown = 0
    for stretch in withheld:
        pieces += [text[shown : stretch.start], stretch.marker]
        shown = stretch.end
    return "".join([*pieces, text[shown:]])


# --- what redactions name ---------------------------------------------------------------------------------------------


class WithheldFields(NamedTuple):
    """What redactions withhold from a view, by label: causes of what is named whole, and ranges of parts."""

    whole: dict[str, set[str]]
    ranges: dict[str, list[TextRange]]

    def causes(self, *labels: str) -> Causes:
        """Return why something is withheld that is named under any of these labels; empty when it is not."""
        return tuple(sorted({cause for label in labels for cause in self.whole.get(label, ())}))


def redacted(redactions: Iterable[Redaction], view: View) -> WithheldFields:
    """Return what redactions of a turn withhold from a view; the same in whatever order they come."""
    found = WithheldFields(defaultdict(set), defaultdict(list))
    for redaction in redactions:
        if view not in withheld_from(redaction.views):
            continue
        target, cause = redaction.target, str(redaction.reason)
        if target.start is None or target.end is None:
            found.whole[label_of(target)].add(cause)
        else:
            found.ranges[label_of(target)].append(TextRange(target.start, target.end, cause))
    return found


def withheld_from(views: frozenset[View]) -> frozenset[View]:
    """Return the views that a redaction withholds from when it names these."""
    return frozenset(View) if View.RAW_OWNER in views else views


def label_of(target: RedactionTarget) -> str:
    """Return the label of what a target names: of a field, a part (ranges too), a message's content, or a turn."""
    if target.field is not None:
        return target.field
    if target.message is None:
        return WHOLE_TURN
    return words_label(target.message) if target.part is None else part_label(target.message, target.part)


def words_label(message: int) -> str:
    """Return the label that stands for all parts of a message together; no field has it."""
    return f"message/{message}/content"


# --- what may be redacted ---------------------------------------------------------------------------------------------


class RedactionExtent(NamedTuple):
    """How much a redaction withholds: messages as a whole, parts as a whole or some of their text, and fields."""

    messages: int
    parts: int
    fields: int


def check_form(target: RedactionTarget) -> None:
    """Refuse a target that names no one thing, whatever the turn says."""
    ends = (target.start, target.end)
    if target.field is not None:
        if (target.message, target.part, *ends) != (None, None, None, None):
            raise InvalidInput(at="passage.field", problem="not_alone")
        return
    if target.part is not None and target.message is None:
        raise InvalidInput(at="passage.message", problem="missing_field")
    if ends == (None, None):
        return
    if target.part is None:
        raise InvalidInput(at="passage.part", problem="missing_field")
    if target.start is None or target.end is None:
        raise InvalidInput(at="passage.start" if target.start is None else "passage.end", problem="missing_field")
    if target.end <= target.start:
        raise InvalidInput(at="passage.end", problem="empty" if target.end == target.start else "reversed")


def reach(target: RedactionTarget, content: TurnContent, erased: frozenset[int]) -> RedactionExtent:
    """Hold a target against the words of its turn and return how much it withholds; raise for what is not there.

    `erased` are the messages of which nothing is left.
    """
    if target.field is not None:
        if target.field not in _fields(content):
            raise UnknownPlace(at="passage.field")
        return RedactionExtent(0, 0, 1)
    if target.message is None:
        left = [parts for place, parts in enumerate(content.parts) if place not in erased]
        return RedactionExtent(len(left), sum(map(len, left)), len(_fields(content)))
    if target.message >= len(content.parts):
        raise UnknownPlace(at="passage.message", limit=len(content.parts), found=target.message)
    if target.message in erased:
        raise WordsErased(at="passage.message")
    parts = content.parts[target.message]
    if target.part is None:
        return RedactionExtent(1, len(parts), 0)
    if target.part >= len(parts):
        raise UnknownPlace(at="passage.part", limit=len(parts), found=target.part)
    part = parts[target.part]
    if target.end is not None:
        if not isinstance(part, TextPart | ReasoningPart):
            raise InvalidInput(at="passage.part", problem="no_text")
        if target.end > len(part.content):
            raise InvalidInput(at="passage.end", problem="beyond_text", limit=len(part.content), found=target.end)
    return RedactionExtent(0, 1, 0)


def _fields(content: TurnContent) -> list[str]:
    """Return the labels of the fields that somebody wrote something into."""
    summaries = [f"tools/{place}/summary" for place, summary in enumerate(content.summaries) if summary]
    return summaries + [f"host_ref/{place}/label" for place, label in enumerate(content.labels) if label is not None]


def is_said(
    target: RedactionTarget, reason: RedactionReason, views: frozenset[View], earlier: Iterable[Redaction]
) -> bool:
    """Tell whether earlier redactions withhold a target for this reason from all of these views."""
    alike = [withheld_from(each.views) for each in earlier if (each.target, each.reason) == (target, reason)]
    return withheld_from(views) <= frozenset[View]().union(*alike)
