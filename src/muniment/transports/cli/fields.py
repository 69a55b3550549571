"""From the request of an operation to options and arguments, and from what was typed back to a request as JSON.

| type of a field | on the command line |
|---|---|
| text, number | `--name VALUE` |
| enumeration | `--name [one|of|these]` |
| yes or no | `--name / --no-name` |
| list of enumerations | `--name [one|of|these]`, as often as wanted |
| struct of scalars | each of its fields as if it were one of the request |
| struct of scalars and structs | the same; a struct in it is the path of a file that holds it as JSON, or `-` |
| the upload | the path of a file, or `-` |
| any other struct | the path of a file that holds it as JSON, or `-` |

The first field, when it is required, is also accepted as a positional argument; of a struct of scalars, its one
required field. A field that has the name of a store option (`--space`) is that option: it means the open space anyway.
The help of each comes from the declaration.
"""

from __future__ import annotations

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

from muniment.declaration.operation import description_of
from muniment.errors import FileUnavailable, InvalidInput, LimitExceeded
from muniment.events.binding import REQUEST_BYTES_MAX, parse_json
from muniment.transports.cli.failure import Misfit

if typing.TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # older releases of click take no argument here

STANDARD_INPUT = "-"
BY_PLACE = "_by_place"  # ends the name of the positional argument for an option


class Field(NamedTuple):
    """A value that can be typed: where it goes in the request, and how it is read from text."""

    path: tuple[str, ...]
    required: bool
    default: Any
    kind: type[Any]
    description: str = ""
    read: Callable[[str], Any] | None = None
    many: bool = False

    @property
    def name(self) -> str:
        """The name of the option, as an identifier."""
        return self.path[-1]


def fields_of(request: type[Struct], shared: frozenset[str]) -> list[Field]:
    """Return what can be typed for a request, in order; names in `shared` are options of the store."""
    fields: list[Field] = []
    for info in msgspec.structs.fields(request):
        kind, described = _bare(info.type), description_of(info.type)
        default = None if info.default is NODEFAULT else info.default
        plain = Field((info.name,), info.required, default, kind, described)
        if isinstance(kind, type) and issubclass(kind, Struct):
            flat = list(_flattened(kind, info.name, required=info.required))
            if all(_is_scalar(field.kind) for field in flat) and any(field.read is None for field in flat):
                fields += [field for field in flat if field.name not in shared]
            else:
                fields.append(plain._replace(kind=str, read=_json_of))
        elif _is_scalar(kind):
            fields.append(plain)
        elif (word := _word_of(kind)) is not None:
            fields.append(plain._replace(kind=word, many=True))
        else:
            fields.append(plain._replace(kind=str, read=_json_of))
    return fields


def upload_field(name: str, description: str) -> Field:
    """Return what can be typed for an upload: the path of a file."""
    return Field((name,), required=True, default=None, kind=str, description=description, read=_json_of)


def _flattened(kind: type[Struct], outer: str, *, required: bool) -> Iterator[Field]:
    for info in msgspec.structs.fields(kind):
        default = None if info.default is NODEFAULT else info.default
        inner, read = _bare(info.type), None
        if isinstance(inner, type) and issubclass(inner, Struct):
            inner, read = str, _json_of
        yield Field((outer, info.name), required and info.required, default, inner, description_of(info.type), read)


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


def _word_of(kind: Any) -> type[Enum] | None:
    """Return the enumeration that a list is made of, or None for any other type."""
    (of,) = typing.get_args(kind) if typing.get_origin(kind) is list else (None,)
    return of if isinstance(of, type) and issubclass(of, Enum) else None


def _is_scalar(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, str | int | Enum)


# --- to click ---------------------------------------------------------------------------------------------------------


class ChoiceParam(ParamType):
    """One of the words of an enumeration; another one is refused without being quoted."""

    name = "word"

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word."""
        del ctx
        if value not in self.words:
            raise Misfit(_named(param), "unknown_word", f"One of: {', '.join(self.words)}.")
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


def _named(param: click.Parameter | None) -> str | None:
    return None if param is None or param.name is None else param.name.removesuffix(BY_PLACE)


def parameters_of(fields: list[Field]) -> list[click.Parameter]:
    """Return the options for fields, and the argument for the first of them when it is required."""
    params: list[click.Parameter] = []
    if fields and fields[0].required:
        first = fields[0]
        params.append(
            click.Argument(
                [first.name + BY_PLACE], required=False, type=_type_of(first), metavar=f"[{first.name.upper()}]"
            )
        )
    return params + [_option(field, by_place=field is fields[0] and field.required) for field in fields]


def _option(field: Field, *, by_place: bool) -> click.Option:
    flag = "--" + field.name.replace("_", "-")
    default = field.default.value if isinstance(field.default, Enum) else field.default
    if field.kind is bool:
        words = f"{field.description} Default: {_yes(field)}.".strip()
        return click.Option([f"{flag}/--no-{flag[2:]}", field.name], default=None, help=words)
    by = "Also accepted as a positional argument." if by_place else "Required." if field.required else ""
    file = "" if field.read is None else "A file, or - for standard input."
    words = " ".join(filter(None, (field.description, file, by)))
    if default is not None:
        words = f"{words} Default: {default}.".strip()
    return click.Option(
        [flag, field.name], type=_type_of(field), metavar=_metavar(field), help=words or None, multiple=field.many
    )


def _yes(field: Field) -> str:
    return "yes" if field.default else "no"


def _type_of(field: Field) -> ParamType:
    if issubclass(field.kind, Enum):
        return ChoiceParam([str(word.value) for word in field.kind])
    if issubclass(field.kind, int):
        return IntegerParam()
    return click.STRING


def _metavar(field: Field) -> str:
    if field.read is not None:
        return "FILE"
    if issubclass(field.kind, Enum):
        return f"[{'|'.join(str(word.value) for word in field.kind)}]"
    return "NUMBER" if issubclass(field.kind, int) else "TEXT"


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
    try:
        return msgspec.json.encode(given)
    except UnicodeError:
        raise InvalidInput(problem="lone_surrogate") from None


def stream_typed(field: Field, typed: Mapping[str, Any]) -> BinaryIO | Path:
    """Return the stream or the file that was typed for an upload."""
    path = _typed(field, typed)
    if path is None:
        raise InvalidInput(at=field.name, problem="missing_field")
    return sys.stdin.buffer if path == STANDARD_INPUT else Path(path)


def _typed(field: Field, typed: Mapping[str, Any]) -> Any:
    by_name, by_place = typed.get(field.name), typed.get(field.name + BY_PLACE)
    if by_name is not None and by_place is not None:
        raise InvalidInput(at=field.name, problem="given_twice")
    return by_place if by_name is None else by_name


def _json_of(path: str) -> msgspec.Raw:
    """Return the JSON of a file as it is: one value, which is bound with the rest of the request."""
    return parse_json(_bytes_of(path, REQUEST_BYTES_MAX), msgspec.Raw)


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
