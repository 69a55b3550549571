"""Calls and their results: which answers which, and which turns must therefore stay together.

1. A result answers the newest call before it of its id that has no answer yet, at most `PAIR_TURNS_MAX` turns back; a
   result without an id the oldest such call of its own turn. Text of a tool is a result without an id.
2. A call without an answer, and a result without a call, is in no line, so that no interface ever refuses one.
3. Turns that share a pair, and all between them, are one unit.
4. Ids and names keep to what every interface takes. An id that does not, or that an earlier call has already, is
   replaced by the place of its call.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from muniment.events.message import Part, ReasoningPart, Role, TextPart, ToolCallPart, ToolCallResponsePart
from muniment.operations.context.prompt_lines import (
    MARKED,
    Answered,
    FileTypes,
    Line,
    PartLocation,
    PromptMessage,
    TurnLines,
    file_text,
)

PAIR_TURNS_MAX = 16
ID_CHARS_MAX = 40
NAME_CHARS_MAX = 64
UNNAMED = "tool"

_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{ID_CHARS_MAX}}}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")

UNPAIRED = "unpaired"
FILE = "file"
REASONING = "reasoning"


class Carries(NamedTuple):
    """What a shape supports, besides text and calls."""

    reasoning: bool
    file: Callable[[Role, FileTypes], bool]


class Unit(NamedTuple):
    """Turns that stay together: their lines, their system text, and what could not be put in."""

    turns: tuple[TurnLines, ...]
    lines: tuple[Line, ...]
    left_out: Mapping[str, int]


class _Open(NamedTuple):
    at: PartLocation
    call: ToolCallPart


class Pairs(NamedTuple):
    """The answers of calls by the place of the call, their ids, and the turns that pairs lead over."""

    answers: dict[PartLocation, Any]
    ids: dict[PartLocation, str]
    used: set[PartLocation]
    tied: set[int]  # of two turns that stay together, the older one


def units(turns: Sequence[TurnLines], carries: Carries) -> list[Unit]:
    """Return turns that follow each other as units, the oldest first."""
    pairs = _paired(turns)
    complete: list[Unit] = []
    waiting: list[TurnLines] = []
    for place, turn in enumerate(turns):
        waiting.append(turn)
        if turn.sequence not in pairs.tied or place == len(turns) - 1:
            complete.append(_unit(waiting, pairs, carries))
            waiting = []
    return complete


def _paired(turns: Sequence[TurnLines]) -> Pairs:
    pairs = Pairs({}, {}, set(), set())
    open_calls: deque[_Open] = deque()
    taken: set[str] = set()
    for turn in turns:
        while open_calls and open_calls[0].at.turn < turn.sequence - PAIR_TURNS_MAX:
            open_calls.popleft()
        for at, role, part in _parts(turn):
            if isinstance(part, ToolCallPart) and role is Role.ASSISTANT:
                open_calls.append(_Open(at, part))
            elif is_result(part, role) and (call := _called(open_calls, at, part)) is not None:
                open_calls.remove(call)
                pairs.answers[call.at] = _answer(part)
                pairs.used.add(at)
                pairs.tied.update(range(call.at.turn, at.turn))
                pairs.ids[call.at] = _id_of(call, taken)
                taken.add(pairs.ids[call.at])
    return pairs


def _parts(turn: TurnLines) -> Iterator[tuple[PartLocation, Role, Part]]:
    for spoken in turn.spoken:
        for place, part in enumerate(spoken.parts):
            yield PartLocation(turn.sequence, spoken.message, place), spoken.role, part


def is_result(part: Part, role: Role) -> bool:
    """Tell whether a part is what a tool returned."""
    return isinstance(part, ToolCallResponsePart) or (role is Role.TOOL and isinstance(part, TextPart))


def _answer(part: Part) -> Any:
    """Return what a tool returned; blocks of text are text, as every interface takes it."""
    if isinstance(part, TextPart):
        return part.content
    assert isinstance(part, ToolCallResponsePart), "the other results are text"
    response = part.response
    if isinstance(response, list) and response and all(map(_is_text_block, response)):
        return "\n".join(block["text"] for block in response)
    return response


def _is_text_block(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "text" and isinstance(value.get("text"), str)


def _called(open_calls: deque[_Open], at: PartLocation, part: Part) -> _Open | None:
    wanted = part.id if isinstance(part, ToolCallResponsePart) else None
    if wanted is None:
        return next((call for call in open_calls if call.at.turn == at.turn), None)
    return next((call for call in reversed(open_calls) if call.call.id == wanted), None)


def _id_of(call: _Open, taken: set[str]) -> str:
    named = call.call.id
    if named is not None and _ID.fullmatch(named) and named not in taken:
        return named
    placed = f"call_{call.at.turn}_{call.at.message}_{call.at.part}"
    while placed in taken:
        placed += "_"
    return placed


# --- from turns to lines ----------------------------------------------------------------------------------------------


def _unit(turns: Sequence[TurnLines], pairs: Pairs, carries: Carries) -> Unit:
    left_out: Counter[str] = Counter()
    lines = [
        line
        for turn in turns
        for spoken in turn.spoken
        if (line := _line(turn.sequence, spoken, pairs, carries, left_out)) is not None
    ]
    return Unit(tuple(turns), tuple(lines), left_out)


def _line(sequence: int, spoken: PromptMessage, pairs: Pairs, carries: Carries, left_out: Counter[str]) -> Line | None:
    if not spoken.parts:
        return MARKED[spoken.role]
    parts: list[Part] = []
    calls: list[Answered] = []
    for place, part in enumerate(spoken.parts):
        at = PartLocation(sequence, spoken.message, place)
        if isinstance(part, ToolCallPart) and at in pairs.answers:
            calls.append(Answered(pairs.ids[at], _name(part.name), _arguments(part.arguments), pairs.answers[at]))
        elif isinstance(part, ToolCallPart) or is_result(part, spoken.role):
            left_out[UNPAIRED] += at not in pairs.used
        elif isinstance(part, ReasoningPart) and not carries.reasoning:
            left_out[REASONING] += 1
        elif isinstance(part, FileTypes) and not carries.file(spoken.role, part):
            left_out[FILE] += 1
            parts.append(TextPart(content=file_text(part)))
        else:
            parts.append(part)
    if not parts and not calls:
        return None
    return Line(Role.USER if spoken.role is Role.TOOL else spoken.role, tuple(parts), tuple(calls))


def _name(name: str) -> str:
    return _FOREIGN.sub("_", name)[:NAME_CHARS_MAX] or UNNAMED


def _arguments(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call as the object that every interface takes."""
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, dict) else {"input": arguments}
