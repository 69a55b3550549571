"""A turn as lines of a prompt: who says what, with the calls of tools and their results.

Withheld content is in no line. Where it was masked, erased or redacted as a whole, a marker may stand for it; content
that the view itself leaves out, or keeps private, has none, so that nothing reveals it. Blank texts are left out. Files
are short texts unless they are kept (decision 0107).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from muniment.events.message import (
    AttachmentPart,
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    UriPart,
    is_blank,
)
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.judgement import TurnRecord
from muniment.governance.listing import LISTABLE, LISTED
from muniment.governance.phases import Phase
from muniment.governance.slices import cut
from muniment.governance.views import Reason, View, withheld_by_phase
from muniment.operations.context.prompt import Composition, Gaps, SystemText

MARKER = "[Something that was said here is not shown.]"
OPENER = "[The conversation goes on from here.]"
# what a marker may stand for: content that this view would show and that was withheld later
TAKEN_AWAY = frozenset({Reason.LIFECYCLE_MASKED, Reason.ERASED, Reason.REDACTED, Reason.DETECTION_FAILED})
ARCHIVED = "archived"

FileTypes = BlobPart | FilePart | UriPart | AttachmentPart


class PartLocation(NamedTuple):
    """The place of a part: sequence of its turn, message, part."""

    turn: int
    message: int
    part: int


class Answered(NamedTuple):
    """A call of a tool, under the id that it has in the context, and what it returned."""

    id: str
    name: str
    arguments: Any
    result: Any


class Line(NamedTuple):
    """A message of a prompt. The results of its calls stand directly behind it, whenever they came."""

    role: Role
    parts: tuple[Part, ...]
    calls: tuple[Answered, ...] = ()


MARKED = {role: Line(role, (TextPart(content=MARKER),)) for role in (Role.USER, Role.ASSISTANT)}
OPENING = Line(Role.USER, (TextPart(content=OPENER),))


class PromptMessage(NamedTuple):
    """A message as a view shows it; `place` counts the parts that are left. One without parts is a marker."""

    role: Role
    message: int
    parts: tuple[Part, ...]


class TurnLines(NamedTuple):
    """A turn as a view shows it: its messages without system text, that text, and counts of what is withheld."""

    sequence: int
    spoken: tuple[PromptMessage, ...]
    system: tuple[str, ...]
    withheld: Mapping[str, int]


def turn_lines(record: TurnRecord, view: View, detection: ViewDetection, composition: Composition) -> TurnLines:
    """Return what a view shows of a turn, for a prompt."""
    phase, marks = record.phase, composition.gaps is Gaps.MARKER
    if phase not in LISTED[composition.lifecycle]:
        why = str(withheld_by_phase(phase) or ARCHIVED)
        marked = (PromptMessage(Role.USER, 0, ()),) if marks and phase not in LISTABLE else ()
        return TurnLines(record.sequence, marked, (), {why: len(record.meta.messages)})
    turn, items = cut(record, view, 0, 0, detection=detection)
    about = [item for item in items if item.message is not None]
    whole = {item.message: item.reason for item in about if item.part is None}
    spoken: list[PromptMessage] = []
    system: list[str] = []
    for place, message in enumerate(turn.messages):
        if message.redacted:
            if marks and message.role in MARKED and whole.get(message.id) in TAKEN_AWAY:
                spoken.append(PromptMessage(message.role, place, ()))
            continue
        parts = tuple(part for part in message.parts if not is_blank(part))
        if message.role is Role.SYSTEM:
            system += [part.content for part in parts if isinstance(part, TextPart)]
        elif parts:
            spoken.append(PromptMessage(message.role, place, parts))
    kept = tuple(system) if composition.system is SystemText.KEEP else ()
    return TurnLines(record.sequence, tuple(spoken), kept, Counter(str(item.reason) for item in about))


def is_wanted(phase: Phase, composition: Composition) -> bool:
    """Tell whether a turn in this phase is in a context; the content of no other is read."""
    return phase in LISTED[composition.lifecycle]


def collapse_markers(turns: Sequence[TurnLines]) -> list[TurnLines]:
    """Return turns with one marker instead of several in turns that have nothing else and follow each other."""
    later = [*turns[1:], None]
    return [
        turn._replace(spoken=()) if _is_marker(turn) and after is not None and _is_marker(after) else turn
        for turn, after in zip(turns, later, strict=True)
    ]


def _is_marker(turn: TurnLines) -> bool:
    return len(turn.spoken) == 1 and not turn.spoken[0].parts


def texts_of(line: Line) -> Iterator[tuple[list[str], int]]:
    """Yield the words of a line and the number of its files, then those of each result."""
    words = [text for part in line.parts if (text := _text(part)) is not None]
    files = sum(isinstance(part, FileTypes) for part in line.parts)
    yield [*words, *(text for call in line.calls for text in (call.id, call.name, as_json(call.arguments)))], files
    for call in line.calls:
        yield [call.id, result_text(call.result)], 0


def _text(part: Part) -> str | None:
    return part.content if isinstance(part, TextPart | ReasoningPart) else None


def file_text(part: FileTypes) -> str:
    """Return the text that stands for a file."""
    return f"[{part.mime_type or part.modality or 'file'}]"


def result_text(result: Any) -> str:
    """Return what a tool returned as text."""
    return result if isinstance(result, str) else as_json(result)


def as_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return msgspec.json.encode(value).decode()
