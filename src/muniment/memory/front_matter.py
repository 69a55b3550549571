r"""The front matter of a file: the lines between two `---` at its beginning, as texts by key.

Front matter is YAML. What is understood of it is what people write there, and means what YAML says:

| value | example |
|---|---|
| plain, also over several indented lines | `name: pdf`; `# ...` behind a blank is a comment |
| quoted, on one line | `'it''s'`, `"a\tb"` |
| literal and folded block, with `-` or `+` | `|`, `>-` |

Every value is taken as text: `1.0` stays `1.0`. Nothing and `null` are the empty text. Everything else (lists, maps,
anchors, tags, quoted text over several lines) is reported by its line and left out; so is each key that is there twice.
Nothing is guessed: a plain value with `: ` in it is no YAML, so it is reported, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

LINES_MAX = 1000
KEYS_MAX = 64

FENCE = "---"
EMPTY = frozenset({"", "~", "null", "Null", "NULL"})
ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_LINE_END = re.compile(r"\r\n|\r|\n")
# what YAML does not allow, and U+0085, U+2028 and U+2029, which end a line for YAML 1.1 and not for 1.2
_NOT_TEXT = re.compile("[^\t -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_KEY = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]{0,63}) *:(?:[ \t]+(.*))?")
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")
_NO_PLAIN = re.compile(r"""[,\[\]{}#&*!|>'"%@`]|[-?:](?:[ \t]|$)""")  # at the beginning
_MAP = re.compile(r":(?:[ \t]|$)")  # anywhere
_BLOCK = re.compile(r"([|>])([+-]?)(?:[ \t]+#.*)?")
_SINGLE = re.compile(r"'((?:[^']|'')*)'(?:[ \t]+#.*)?")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"(?:[ \t]+#.*)?')
_LIST = re.compile(r"""(?:\[[^]\[{}'"#]*\]|\{[^]\[{}'"#]*\})(?:[ \t]+#.*)?""")
_TAGGED = re.compile(r"""[!&][^]\[{}'"]*""")
_CLOSED = (_SINGLE, _DOUBLE, _LIST, _TAGGED)
_BRACKETS = ("'", '"', "[", "{", "!", "&")  # quotes, lists and maps, and what may stand before them
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")


class LineFlaw(StrEnum):
    """What is wrong with a line of front matter."""

    MISSING = "no_front_matter"
    UNCLOSED = "front_matter_unclosed"
    NOT_TEXT = "control_characters"
    NOT_UNDERSTOOD = "not_understood"
    NOT_PLAIN_TEXT = "not_plain_text"
    DUPLICATE_KEY = "duplicate_key"
    TOO_MANY_KEYS = "too_many_keys"


class FlawedLine(NamedTuple):
    """A flaw and its line, from 1; the limit that was hit, where there is one."""

    flaw: LineFlaw
    line: int
    limit: int | None = None


class FrontMatter(NamedTuple):
    """Texts by key, in their order; the line of each key, also of those without a text; what was not understood."""

    values: dict[str, str]
    lines: dict[str, int]
    flaws: list[FlawedLine]


class _Field(NamedTuple):
    """A key with what is behind it on its line, and the lines below that belong to it."""

    key: str
    line: int
    first: str
    below: list[str]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is behind the key so far."""
        return not any(_uncommented(line.strip(" ")) for line in (self.first, *self.below))

    @property
    def may_go_on(self) -> bool:
        """Whether what begins behind the key may end behind the next one: quoted text or a list without an end."""
        lines = (line.strip(" \t") for line in (self.first, *self.below))
        begun = next((line for line in lines if line and not line.startswith("#")), "")
        return begun.startswith(_BRACKETS) and not any(form.fullmatch(begun) for form in _CLOSED)


def front_matter(text: str) -> FrontMatter:
    """Return the front matter with which a text begins; never raises."""
    lines = _LINE_END.split(text.removeprefix("\ufeff"), LINES_MAX)[:LINES_MAX]
    if lines[0].rstrip(" \t") != FENCE:
        return FrontMatter({}, {}, [FlawedLine(LineFlaw.MISSING, 1)])
    end = next((number for number, line in enumerate(lines) if number and line.rstrip(" \t") == FENCE), None)
    if end is None:
        return FrontMatter({}, {}, [FlawedLine(LineFlaw.UNCLOSED, 1, LINES_MAX)])
    for number, line in enumerate(lines[:end], start=1):
        if _NOT_TEXT.search(line):
            return FrontMatter({}, {}, [FlawedLine(LineFlaw.NOT_TEXT, number)])
    fields, flaws = _fields(lines[1:end])
    found = FrontMatter({}, {}, flaws)
    for number, field in enumerate(fields, start=1):
        _keep(found, field)
        if field.may_go_on and number < len(fields):
            flaws.append(FlawedLine(LineFlaw.NOT_UNDERSTOOD, fields[number].line))
            break
    return found._replace(flaws=sorted(flaws, key=lambda each: each.line))


def _fields(lines: Sequence[str]) -> tuple[list[_Field], list[FlawedLine]]:
    """Return the fields, and the lines that belong to none."""
    groups: list[tuple[int, str, list[str]]] = [(1, "", [])]  # a line that is not indented, and those below it
    for number, line in enumerate(lines, start=2):
        if not line or line.startswith((" ", "\t", "#", "- ")) or line == "-":
            groups[-1][2].append(line)
        else:
            groups.append((number, line, []))
    fields: list[_Field] = []
    flaws: list[FlawedLine] = []
    if any(line.strip(" \t") and not line.startswith("#") for line in groups[0][2]):
        flaws.append(FlawedLine(LineFlaw.NOT_UNDERSTOOD, 2))
    for number, line, below in groups[1:]:
        if match := _KEY.fullmatch(line):
            fields.append(_Field(match[1], number, (match[2] or "").strip(" \t"), _of_value(below)))
        else:
            flaws.append(FlawedLine(LineFlaw.NOT_UNDERSTOOD, number))
            if fields and fields[-1].is_empty:
                fields[-1].below.append(line)  # it may be the value
    return fields, flaws


def _of_value(below: Sequence[str]) -> list[str]:
    """Return lines without the comments that stand between them and the next key."""
    last = max((number for number, line in enumerate(below) if line and not line.startswith("#")), default=-1)
    comment = next((number for number in range(last + 1, len(below)) if below[number]), len(below))
    return list(below[:comment])


def _keep(found: FrontMatter, field: _Field) -> None:
    """Add a field to what was found, or say why not."""
    if field.key in found.lines:
        found.values.pop(field.key, None)
        found.flaws.append(FlawedLine(LineFlaw.DUPLICATE_KEY, field.line))
    elif len(found.lines) == KEYS_MAX:
        found.flaws.append(FlawedLine(LineFlaw.TOO_MANY_KEYS, field.line, KEYS_MAX))
    else:
        found.lines[field.key] = field.line
        value = _value(field)
        if value is None:
            found.flaws.append(FlawedLine(LineFlaw.NOT_PLAIN_TEXT, field.line))
        else:
            found.values[field.key] = value


def _value(field: _Field) -> str | None:
    """Return the text of a value, or None where it is not one of the forms that are understood."""
    first, below = field.first, field.below
    if any(line and not line.startswith(" ") for line in below):
        return None
    if first.startswith(("|", ">")):
        return _block(first, below)
    if first.startswith(("'", '"')):
        return None if any(line.strip(" ") for line in below) else _quoted(first)
    return _plain(first, below)


def _plain(first: str, below: Sequence[str]) -> str | None:
    lines = [first, *(line.strip(" \t") for line in below)]
    commented = any(_COMMENT.search(line) for line in lines)
    lines[0] = _uncommented(first)
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    if len(lines) == 1:
        lines[0] = _uncommented(lines[0])
    elif lines and commented:
        return None  # a comment ends a plain text
    if any(_MAP.search(line) for line in lines) or (lines and _NO_PLAIN.match(lines[0])):
        return None
    text = _folded(lines)
    return "" if text in EMPTY else text


def _uncommented(line: str) -> str:
    return _COMMENT.sub("", line).rstrip(" \t")


def _quoted(first: str) -> str | None:
    if match := _SINGLE.fullmatch(first):
        return match[1].replace("''", "'")
    match = _DOUBLE.fullmatch(first)
    if match is None or any(_unescaped(escape) is None for escape in _ESCAPE.finditer(match[1])):
        return None
    return _ESCAPE.sub(lambda escape: _unescaped(escape) or "", match[1])


def _unescaped(escape: re.Match[str]) -> str | None:
    """Return the character that an escape stands for, or None for one that stands for none."""
    digits = escape[1] or escape[2] or escape[3]
    if digits is None:
        return ESCAPES.get(escape[4])
    code = int(digits, 16)
    return None if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)


def _block(first: str, below: Sequence[str]) -> str | None:
    """Return a literal or folded block. Its first line that is not empty says how far it is indented."""
    match = _BLOCK.fullmatch(first)
    begun = next((line for line in below if line.strip(" ")), "")
    indent = len(begun) - len(begun.lstrip(" "))
    if match is None or any(len(line) - len(line.lstrip(" ")) < indent for line in below if line.strip(" ")):
        return None
    lines = [line[indent:] if begun else "" for line in below]
    if begun and any(len(line) > indent for line in below[: below.index(begun)]):
        return None  # a blank line that is indented deeper than the text
    count = len(lines)
    while lines and not lines[-1]:
        lines.pop()
    text = "\n".join(lines) if match[1] == "|" else _folded(lines)
    ends = {"-": 0, "": min(1, len(lines)), "+": count - len(lines) + min(1, len(lines))}
    return text + "\n" * ends[match[2]]


def _folded(lines: Sequence[str]) -> str:
    """Return lines as one: an end of line is a blank, empty lines are ends of lines, indented lines stay lines."""
    text, ends, before = "", 0, ""
    for line in lines:
        if not line:
            ends += 1
            continue
        stays = before.startswith((" ", "\t")) or line.startswith((" ", "\t"))
        between = ends + stays if before else ends
        text += ("\n" * between if between or not before else " ") + line
        ends, before = 0, line
    return text
