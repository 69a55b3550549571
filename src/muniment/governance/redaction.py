"""Redactions: what of a turn is withheld from named views, though its words are still there.

A redaction names a turn, a message, a part, a range of a text, or a field (a tool summary, the label of a host
reference). What several redactions withhold is the union of what each withholds, so that their order does not matter.

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

from muniment.events.changes import RedactionReason, RedactionTarget
from muniment.events.labels import part_label
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


class Stretch(NamedTuple):
    """Consecutive code points of a text, `end` not included, that a view does not show."""

    start: int
    end: int
    reason: Reason
    causes: Causes

    @property
    def marker(self) -> str:
        """What stands in the text instead."""
        return f"[{self.reason}: {', '.join(self.causes)}]"


def stretches(reason: Reason, ranges: Iterable[TextRange]) -> tuple[Stretch, ...]:
    """Return the stretches that ranges of one reason make, in the order of the text; empty ranges make none."""
    made: list[Stretch] = []
    for start, end, cause in sorted(ranges):
        if start >= end:
            continue
        if made and start <= made[-1].end:
            last = made[-1]
            causes = tuple(sorted({*last.causes, cause}))
            made[-1] = Stretch(last.start, max(last.end, end), reason, causes)
        else:
            made.append(Stretch(start, end, reason, (cause,)))
    return tuple(made)


def beside(first: tuple[Stretch, ...], second: Iterable[Stretch]) -> tuple[Stretch, ...]:
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


def replaced(text: str, withheld: Iterable[Stretch]) -> str:
    """Return a text with a marker in the place of each stretch."""
    pieces: list[str] = []
    shown = 0
    for stretch in withheld:
        pieces += [text[shown : stretch.start], stretch.marker]
        shown = stretch.end
    return "".join([*pieces, text[shown:]])


# --- what redactions name ---------------------------------------------------------------------------------------------


class Redacted(NamedTuple):
    """What redactions withhold from a view, by label: causes of what is named whole, and ranges of parts."""

    whole: dict[str, set[str]]
    ranges: dict[str, list[TextRange]]

    def causes(self, *labels: str) -> Causes:
        """Return why something is withheld that is named under any of these labels; empty when it is not."""
        return tuple(sorted({cause for label in labels for cause in self.whole.get(label, ())}))


def redacted(redactions: Iterable[Redaction], view: View) -> Redacted:
    """Return what redactions of a turn withhold from a view; the same in whatever order they come."""
    found = Redacted(defaultdict(set), defaultdict(list))
    for redaction in redactions:
        if view not in redaction.views:
            continue
        target, cause = redaction.target, str(redaction.reason)
        if target.start is None or target.end is None:
            found.whole[label_of(target)].add(cause)
        else:
            found.ranges[label_of(target)].append(TextRange(target.start, target.end, cause))
    return found


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
