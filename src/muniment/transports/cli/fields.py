"""From the request of an operation to options and arguments, and from what was typed back to a request as JSON.

| type of a field | on the command line |
|---|---|
| text, number | `--name VALUE` |
| moment or duration in milliseconds | `--name VALUE` or `--name-ms VALUE`: a number, or as people write it |
| enumeration | `--name [one|of|these]` |
| yes or no | `--name / --no-name` |
| list of enumerations or of text | `--name [one|of|these]` or `--name VALUE`, as often as wanted |
| struct of such fields | each of its fields as if it were one of the request |
| struct of such fields and structs | the same; a struct in it is the path of a file that holds it as JSON, or `-` |
| the upload | the path of a file, or `-`; where the operation takes several, several paths, of folders, too |
| list of structs | the path of a file that holds it as JSON, or its structs as lines of JSON, or `-` |
| any other struct | the path of a file that holds it as JSON, or `-` |
| anything with a name of one letter | `-n VALUE` |
| the text of a file | the path of the file, or `-` |

The first field, when it is required or names the conversation or the client, is also accepted as a positional argument;
of a struct of scalars, its one required field. A field that has the name of a store option (`--space`) is that option:
it means the open space anyway. A conversation may be typed as lists print it, `channel/conversation`, unless its
channel is given by itself. The help of each comes from the declaration.
"""

from __future__ import annotations

import math
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click
import msgspec
from click.shell_completion import CompletionItem
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from muniment.declaration.operation import TEXT_FILE, description_of, example_of, extras_of, time_kind_of
from muniment.errors import FileUnavailable, InvalidInput, LimitExceeded
from muniment.events.binding import REQUEST_BYTES_MAX, parse_json
from muniment.events.identity import parse_spelled
from muniment.kernel.times import TimeKind, milliseconds
from muniment.transports.cli.command_group import closest
from muniment.transports.cli.failure import Misfit
from muniment.transports.cli.shell_paths import file_completion

if typing.TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # older releases of click take no argument here

STANDARD_INPUT = "-"
CONVERSATION, CHANNEL = "conversation", "channel"
BY_PLACE_TOO = frozenset({CONVERSATION, "client"})  # first fields that may be left out, and typed without their names
NOTHING_TYPED = (None, ())  # an option that was not given, or not once
BY_PLACE = "_by_place"  # ends the name of the positional argument for an option
EXAMPLES: dict[TimeKind, str] = {
    TimeKind.MOMENT: "2026-12-01, 2026-12-01T10:00Z",
    TimeKind.DURATION: "30d, 12h, '2 weeks', P30D",
}


class Field(NamedTuple):
    """A value that can be typed: where it goes in the request, and how it is read from text.

    `example` is one from the declaration; an option that is not required and has one is part of the shortest call.
    """

    path: tuple[str, ...]
    required: bool
    default: Any
    kind: type[Any]
    description: str = ""
    read: Callable[[str], Any] | None = None
    many: bool = False
    time: TimeKind | None = None
    example: Any = None

    @property
    def is_shown(self) -> bool:
        """Whether the shortest call has it."""
        return self.required or (self.example is not None and self.read is None)

    @property
    def name(self) -> str:
        """The name of the option, as an identifier."""
        return self.path[-1]

    @property
    def flag(self) -> str:
        """The option as it is typed; one letter has one dash."""
        return "--" + self.name.replace("_", "-") if len(self.name) > 1 else f"-{self.name}"


def fields_of(request: type[Struct], shared: frozenset[str]) -> list[Field]:
    """Return what can be typed for a request, in order; names in `shared` are options of the store."""
    fields: list[Field] = []
    for info in msgspec.structs.fields(request):
        kind = _bare(info.type)
        flat = list(_flattened(kind, info)) if isinstance(kind, type) and issubclass(kind, Struct) else []
        if any(field.read is None for field in flat):
            fields += [field for field in flat if field.name not in shared]
        else:
            fields.append(_field((info.name,), info, required=info.required))
    return fields


def upload_field(name: str, description: str, *, several: bool = False) -> Field:
    """Return what can be typed for an upload: the path of a file, or several."""
    return Field((name,), required=True, default=None, kind=str, description=description, read=_json_of, many=several)


def _flattened(kind: type[Struct], outer: FieldInfo) -> Iterator[Field]:
    """Yield the fields of a struct as if they were some of the request; none where one of them cannot be typed so."""
    fields = [
        _field((outer.name, info.name), info, required=outer.required and info.required)._replace(
            example=(example_of(outer.type) or {}).get(info.name)
        )
        for info in msgspec.structs.fields(kind)
    ]
    if not any(field.read is _list_of for field in fields):
        yield from fields


def _field(path: tuple[str, ...], info: FieldInfo, *, required: bool) -> Field:
    """Return how one value is typed."""
    kind, default = _bare(info.type), None if info.default is NODEFAULT else info.default
    about = description_of(info.type)
    plain = Field(path, required, default, kind, about, time=time_kind_of(info.type), example=example_of(info.type))
    if _is_scalar(kind):
        return plain._replace(read=_text_of) if TEXT_FILE in extras_of(info.type) else plain
    if (word := _word_of(kind)) is not None:
        return plain._replace(kind=word, many=True, default=None)
    return plain._replace(kind=str, read=_list_of if typing.get_origin(kind) is list else _json_of, default=None)


def _bare(kind: Any) -> Any:
    """Return the class behind a new type, an annotation, or an alternative to None."""
    while True:
        if isinstance(kind, typing.NewType):
            kind = kind.__supertype__
        elif typing.get_origin(kind) is typing.Annotated:
            kind = typing.get_args(kind)[0]
        elif typing.get_origin(kind) in {typing.Union, types.UnionType}:
            others = [member for member in typing.get_args(kind) if member is not type(None)]
            if len(others) != 1:
                return kind
            kind = others[0]
        else:
            return kind


def _word_of(kind: Any) -> type[Enum | str] | None:
    """Return the enumeration or the text that a list is made of, or None for any other type."""
    (of,) = typing.get_args(kind) if typing.get_origin(kind) is list else (None,)
    of = _bare(of)
    return of if isinstance(of, type) and issubclass(of, Enum | str) else None


def _is_scalar(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, str | int | float | Enum)


# --- to click ---------------------------------------------------------------------------------------------------------


class ChoiceParam(ParamType):
    """One of the words of an enumeration; another one is refused without being quoted."""

    name = "word"

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word."""
        if value not in self.words:
            meant = closest(str(value), self.words)
            raise Misfit(_named(param), "unknown_word", choices=self.words, meant=meant, ctx=ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the words that may follow."""
        del ctx, param
        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


class IntegerParam(ParamType):
    """A whole number; anything else is refused without being quoted."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        del ctx
        try:
            return int(value)
        except ValueError:
            raise Misfit(_named(param), "wrong_type", "A whole number is wanted.") from None


class NumberParam(ParamType):
    """A number; anything else is refused without being quoted."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        del ctx
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise Misfit(_named(param), "wrong_type", "A number is wanted.")
        return number


class TimeParam(ParamType):
    """A moment or a duration, as a number of milliseconds or as people write it; else refused without being quoted."""

    def __init__(self, kind: TimeKind) -> None:
        self.kind = kind
        self.name = str(kind)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the milliseconds."""
        del ctx
        try:
            return milliseconds(self.kind, str(value))
        except InvalidInput as refused:
            raise Misfit(_named(param), refused.problem or "wrong_type", f"Examples: {EXAMPLES[self.kind]}.") from None


def _named(param: click.Parameter | None) -> str | None:
    return None if param is None or param.name is None else param.name.removesuffix(BY_PLACE)


def parameters_of(fields: list[Field]) -> list[click.Parameter]:
    """Return the options for fields, and the argument for the first of them when it is required."""
    params: list[click.Parameter] = []
    if fields and _is_by_place(fields[0]):
        first = fields[0]
        named = f"[{first.name.upper()}]" + ("..." if first.many else "")
        many = -1 if first.many else 1
        params.append(
            click.Argument(
                [first.name + BY_PLACE],
                required=False,
                type=_type_of(first),
                metavar=named,
                nargs=many,
                shell_complete=None if first.read is None else file_completion,
            )
        )
    return params + [_option(field, by_place=field is fields[0] and _is_by_place(field)) for field in fields]


def _is_by_place(first: Field) -> bool:
    return first.required or first.name in BY_PLACE_TOO


def word_for(field: Field) -> str:
    """Return what stands for a value in an example: the first of the words, or what kind of value it is."""
    return str(next(iter(field.kind)).value) if issubclass(field.kind, Enum) else _metavar(field)


def _option(field: Field, *, by_place: bool) -> click.Option:
    flag = field.flag
    default = field.default.value if isinstance(field.default, Enum) else field.default
    if field.kind is bool:
        words = f"{field.description} Default: {_yes(field)}.".strip()
        return click.Option([f"{flag}/--no-{flag[2:]}", field.name], default=None, help=words)
    by = "Also accepted as a positional argument." if by_place else "Required." if field.required else ""
    file = "" if field.read is None or field.many else "A file, or - for standard input."
    example = "" if field.time is None else f"Examples: {EXAMPLES[field.time]}."
    words = " ".join(filter(None, (field.description, example, file, by)))
    if default is not None:
        words = f"{words} Default: {default}.".strip()
    return click.Option(
        [*_spelt(field, flag), field.name],
        type=_type_of(field),
        metavar=_metavar(field),
        help=words or None,
        multiple=field.many,
        shell_complete=None if field.read is None else file_completion,
    )


def _spelt(field: Field, flag: str) -> list[str]:
    """Return how an option is spelt; for a time also without its unit."""
    return [flag] if field.time is None else [flag.removesuffix("-ms"), flag]


def _yes(field: Field) -> str:
    return "yes" if field.default else "no"


def _type_of(field: Field) -> ParamType:
    if issubclass(field.kind, Enum):
        return ChoiceParam([str(word.value) for word in field.kind])
    if field.time is not None:
        return TimeParam(field.time)
    if issubclass(field.kind, int):
        return IntegerParam()
    return NumberParam() if issubclass(field.kind, float) else click.STRING


def _metavar(field: Field) -> str:
    if field.read is not None:
        return "FILE"
    if issubclass(field.kind, Enum):
        return f"[{'|'.join(str(word.value) for word in field.kind)}]"
    if field.time is not None:
        return field.time.upper()
    return "NUMBER" if issubclass(field.kind, int | float) else "TEXT"


# --- from click -------------------------------------------------------------------------------------------------------


def json_of(fields: list[Field], typed: Mapping[str, Any]) -> bytes:
    """Return the request that was typed, as the JSON text that a transport hands over."""
    given: dict[str, Any] = {}
    for field in fields:
        value = _typed(field, typed)
        if value is None or value == ():  # an option that may be repeated and was not given
            if field.required:
                raise InvalidInput(at=field.name, problem="missing_field")
            continue
        inside = given
        for name in field.path[:-1]:
            inside = inside.setdefault(name, {})
        inside[field.name] = value if field.read is None else field.read(value)
    for field in fields:
        if field.name == CONVERSATION and field.kind is str and field.read is None:
            _take_apart(field, fields, given)
    try:
        return msgspec.json.encode(given)
    except UnicodeError:
        raise InvalidInput(problem="lone_surrogate") from None


def _take_apart(field: Field, fields: list[Field], given: dict[str, Any]) -> None:
    """Let a conversation be typed with its channel before it, where the channel is not given by itself."""
    inside = given
    for name in field.path[:-1]:
        inside = inside.get(name, {})
    sibling = (*field.path[:-1], CHANNEL)
    if CONVERSATION in inside and CHANNEL not in inside and any(other.path == sibling for other in fields):
        parsed = parse_spelled(inside[CONVERSATION])
        if parsed is not None:
            inside[CHANNEL], inside[CONVERSATION] = parsed


def stream_typed(field: Field, typed: Mapping[str, Any]) -> BinaryIO | Path | list[BinaryIO | Path]:
    """Return the stream or the file that was typed for an upload, or all of them."""
    path = _typed(field, typed)
    if path in NOTHING_TYPED:
        raise InvalidInput(at=field.name, problem="missing_field")
    return [_stream(one, field) for one in path] if field.many else _stream(path, field)


def _stream(path: str, field: Field) -> BinaryIO | Path:
    if not path:  # a path that is empty is not the present folder
        raise InvalidInput(at=field.name, problem="empty")
    return sys.stdin.buffer if path == STANDARD_INPUT else Path(path)


def _typed(field: Field, typed: Mapping[str, Any]) -> Any:
    by_name, by_place = typed.get(field.name), typed.get(field.name + BY_PLACE)
    if by_name not in NOTHING_TYPED and by_place not in NOTHING_TYPED:
        raise InvalidInput(at=field.name, problem="given_twice")
    return by_place if by_name in NOTHING_TYPED else by_name


def _json_of(path: str) -> msgspec.Raw:
    """Return the JSON of a file as it is: one value, which is bound with the rest of the request."""
    return parse_json(_bytes_of(path, REQUEST_BYTES_MAX), msgspec.Raw)


def _list_of(path: str) -> msgspec.Raw:
    """Return the JSON of a file that holds a list, or the values of a list line by line."""
    data = _bytes_of(path, REQUEST_BYTES_MAX)
    if data.lstrip()[:1] not in (b"[", b""):
        data = b"[" + b",".join([line for line in data.split(b"\n") if line.strip()]) + b"]"
    return parse_json(data, msgspec.Raw, limit=REQUEST_BYTES_MAX + 2)


JSON_FILES = (_json_of, _list_of)  # how a value is read from a file of JSON


def _text_of(path: str) -> str:
    """Return the text of a file."""
    try:
        return _bytes_of(path, REQUEST_BYTES_MAX).decode()
    except UnicodeDecodeError:
        raise InvalidInput(at="file", problem="not_text") from None


def _bytes_of(path: str, bytes_max: int) -> bytes:
    """Return the content of a file, or of standard input; never more than is allowed."""
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(bytes_max + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(bytes_max + 1)
    except (OSError, ValueError) as fault:
        raise FileUnavailable.because(fault, at="file") from None
    if len(data) > bytes_max:
        raise LimitExceeded(at="file", problem="request_too_large", limit=bytes_max)
    return data
