"""From the request of an operation to options and arguments, and from what was typed back to a request.

| type of a field | on the command line |
|---|---|
| text, number | `--name VALUE` |
| enumeration | `--name [one|of|these]` |
| yes or no | `--name / --no-name` |
| list of enumerations | `--name [one|of|these]`, as often as wanted |
| struct of scalars | each of its fields as if it were one of the request |
| struct of scalars and structs | the same; a struct in it is the path of a file that holds it as JSON, or `-` |
| `Upload` | the path of a file, or `-` |
| any other struct | the path of a file that holds it as JSON, or `-` |

The first field, when it is required, may be a positional argument; of a struct of scalars, its one required field. A
field that shares its name with an option of the store (`--space`) is that option, because it names the open space.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from click.shell_completion import CompletionItem
from msgspec import NODEFAULT, Struct

from muniment.declaration.operation import Upload
from muniment.errors import FileUnavailable, InvalidInput, LimitExceeded
from muniment.events.binding import REQUEST_BYTES_MAX, UPLOAD_BYTES_MAX, bind, parse_json
from muniment.transports.cli.failure import Misfit

if typing.TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # older releases of click take no argument here

STANDARD_INPUT = "-"
BY_PLACE = "_by_place"  # ends the name of the argument that stands for an option
# name of a field, and whether it is required -> what to type, where the name alone does not say
WORDS: dict[tuple[str, bool], str] = {
    ("conversation", True): "Id of the conversation.",
    ("turn", True): "Id of the turn.",
    ("turn", False): "Id of the turn. Without it: all turns that the conversation has now.",
    ("whole_space", False): "Everything: the name of the open space, once more.",
    ("hold", True): "Position of the hold.",
    ("reason", True): "Why; goes on record.",
    ("reason", False): "Why; goes on record.",
    ("keep_at_least_ms", False): "Milliseconds since the commit before which nothing is erased.",
    ("erase_after_ms", False): "Milliseconds since the commit after which retention erases.",
    ("dry_run", False): "Only report what would be done.",
    ("requester", True): "Who asks; goes on record.",
    ("recipient", False): "Who receives it; goes on record.",
    ("purpose", False): "What it is for; goes on record.",
    ("idempotency_key", False): "What you call this write; kept with what it records.",
    ("limit", False): "How many to list.",
    ("conversation", False): "Id of the conversation.",
    ("plane", False): "Plane of an item of memory; goes with --key.",
    ("key", False): "Key of the item in its plane.",
    ("query", True): 'Words, "phrases", -without, from:, in:, role:, before:, after:, on:.',
    ("role", False): "Who said it: user or assistant.",
    ("speaker", False): "Who said it, by name.",
    ("from_ms", False): "Not before this time, in UTC milliseconds.",
    ("until_ms", False): "Before this time, in UTC milliseconds.",
    ("preset", False): "Weights that have a name.",
    ("weights", False): "How much each signal counts.",
    ("asked_ms", False): "When it is asked, in UTC milliseconds; `last week` counts from there.",
    ("explain", False): "Tell what each score is made of, and how the query was understood.",
    ("cursor", False): "The next cursor of the page before.",
    ("file", True): "Path of the file.",
    ("subject", False): "Whose turns these are.",
    ("target", True): "Directory for the backup.",
    ("source", True): "Directory of the backup.",
    ("keyring", False): "Directory of keys.sealed, when it is another one.",
    ("sealed_by", False): "What it is sealed with, as in --keys. Default: the root key of the store.",
    ("replace", False): "Restore over what is here.",
    ("kind", True): "What part of the space.",
    ("private", False): "Words, aliases, attributes and derived references.",
    ("into", False): "Another id for the conversation.",
    ("root", False): "Where the new root key is, as in --keys.",
    ("views", True): "A view; may be repeated.",
    ("note", False): "Why, in words of your own; goes on record.",
    ("message", False): "A message of the turn: a number counts from 0, a text is its id.",
    ("part", False): "A part of the message, from 0.",
    ("start", False): "First character of a range of the part's text, from 0.",
    ("end", False): "Where the range ends: the first character behind it.",
    ("field", False): "A summary or label: tools/0/summary, host_ref/1/label.",
    ("budget_tokens", True): "Most tokens that the messages may take.",
    ("query", False): "What the next message asks: earlier messages that answer it are quoted.",
    ("reach", False): "Where earlier messages are looked for.",
    ("reference_percent", False): "Share of the budget for earlier messages.",
    ("overhead_tokens", False): "Tokens that each message takes beside its words.",
    ("file_tokens", False): "Keep files, and count each as so many tokens.",
    ("gaps", False): "What stands for words that are masked, erased or redacted.",
    ("system", False): "What becomes of system text.",
    ("vkey", True): "Public key of the log, as checkpoint and export tell it.",
    ("vkey", False): "Public key of the only log to audit.",
}


class Field(NamedTuple):
    """A value that can be typed: where it goes in the request, and how it is read from text."""

    path: tuple[str, ...]
    required: bool
    default: Any
    kind: type[Any]
    read: Callable[[str], Any] | None = None
    many: bool = False

    @property
    def name(self) -> str:
        """The name of the option, as an identifier."""
        return self.path[-1]


def fields_of(request: type[Struct], shared: frozenset[str]) -> list[Field]:
    """Return what can be typed for a request, in order; names in `shared` are options of the door."""
    found: list[Field] = []
    for info in msgspec.structs.fields(request):
        kind = _bare(info.type)
        required = info.required
        default = None if info.default is NODEFAULT else info.default
        if info.type is Upload:
            found.append(Field((info.name,), required, default, str, _text_of))
        elif isinstance(kind, type) and issubclass(kind, Struct):
            flat = list(_flattened(kind, info.name, required=required))
            if all(_is_scalar(each.kind) for each in flat) and any(each.read is None for each in flat):
                found += [each for each in flat if each.name not in shared]
            else:
                found.append(Field((info.name,), required, default, str, _json_of(kind)))
        elif _is_scalar(kind):
            found.append(Field((info.name,), required, default, kind))
        elif (word := _word_of(kind)) is not None:
            found.append(Field((info.name,), required, default, word, many=True))
        else:
            found.append(Field((info.name,), required, default, str, _json_of(info.type)))
    return found


def _flattened(kind: type[Struct], outer: str, *, required: bool) -> Iterator[Field]:
    for info in msgspec.structs.fields(kind):
        default = None if info.default is NODEFAULT else info.default
        inner, read = _bare(info.type), None
        if isinstance(inner, type) and issubclass(inner, Struct):
            inner, read = str, _json_of(inner)
        yield Field((outer, info.name), required and info.required, default, inner, read)


def _bare(kind: Any) -> Any:
    """Return the class behind a new type, an annotation, or an alternative to None."""
    while True:
        if isinstance(kind, typing.NewType):
            kind = kind.__supertype__
        elif typing.get_origin(kind) is typing.Annotated:
            kind = typing.get_args(kind)[0]
        elif typing.get_origin(kind) in {typing.Union, types.UnionType}:
            others = [each for each in typing.get_args(kind) if each is not type(None)]
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
    return params + [_option(each, by_place=each is fields[0] and each.required) for each in fields]


def _option(field: Field, *, by_place: bool) -> click.Option:
    flag = "--" + field.name.replace("_", "-")
    told = field.default.value if isinstance(field.default, Enum) else field.default
    if field.kind is bool:
        words = f"{WORDS.get((field.name, field.required), '')} Default: {_yes(field)}.".strip()
        return click.Option([f"{flag}/--no-{flag[2:]}", field.name], default=None, help=words)
    by = "Also accepted as a positional argument." if by_place else "Required." if field.required else ""
    file = "" if field.read is None else "A file, or - for standard input."
    words = " ".join(filter(None, (WORDS.get((field.name, field.required)), file, by)))
    if told is not None:
        words = f"{words} Default: {told}.".strip()
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


def request_of(request: type[Struct], fields: list[Field], typed: Mapping[str, Any]) -> Struct:
    """Return the request that was typed, bound to its type, or raise what is wrong with it."""
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
    return bind(given, request)


def _typed(field: Field, typed: Mapping[str, Any]) -> Any:
    by_name, by_place = typed.get(field.name), typed.get(field.name + BY_PLACE)
    if by_name is not None and by_place is not None:
        raise InvalidInput(at=field.name, problem="given_twice")
    return by_place if by_name is None else by_name


def _json_of(kind: Any) -> Callable[[str], Any]:
    def read(path: str) -> Any:
        return parse_json(_bytes_of(path, REQUEST_BYTES_MAX), kind)

    return read


def _text_of(path: str) -> str:
    try:
        return _bytes_of(path, UPLOAD_BYTES_MAX).decode()
    except UnicodeDecodeError:
        raise InvalidInput(at="file", problem="not_text") from None


def _bytes_of(path: str, bytes_max: int) -> bytes:
    """Return what a file holds, or what comes in; never more than is allowed."""
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
