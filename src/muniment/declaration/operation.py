"""One declaration per operation.

An operation is a method of a noun group. Its parameters are the request, each with its own description; the struct that
it returns is the report; the first line of its docstring is the help; and `@operation(Effect.APPEND, family=...)` says
what it may do, what hides it and which other rights it takes. The catalogue is built from this, and transports are
loops over the catalogue: none of them knows an operation by name.

A request is bound once. A call from Python is bound when it is made; a transport binds bytes with `bound` and hands the
result to `perform`. Either way rights and state are checked before the operation runs. An `Upload` is no part of the
request: it is a stream of bytes that the operation reads while it runs.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct

from muniment.errors import AccessDenied, CapabilityHidden, FileUnavailable, InvalidInput, Kind, UnknownConversation
from muniment.events.binding import bind, parse_json
from muniment.governance.access import Bound, Effect, SecondRight
from muniment.governance.policy import RECORDED_FAMILIES, Family
from muniment.kernel.locks import let_go
from muniment.kernel.times import TimeKind

__all__ = [
    "Bound",
    "Effect",
    "Family",
    "SecondRight",
]  # with what this module defines, all that a noun group declares with

Method = TypeVar("Method", bound=Callable[..., Any])

SUBJECT = (Bound.SUBJECT,)  # what an operation keeps to: the subject of its caller
SUBJECT_AND_CHANNELS = (Bound.SUBJECT, Bound.CHANNELS)  # and its channels


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of one call, checked by `bound`. The request of an operation is a type of its own below this."""


class ServerPath(Struct, frozen=True, kw_only=True):
    """Marks a parameter that is a path on the machine of the store, and says why it is not a stream."""

    reason: str


TEXT_FILE = object()  # marks a parameter that is the text of a file; a command line takes the file
UPLOAD = object()  # marks the parameter that is a stream
# A stream of bytes that the operation reads. From Python also the bytes themselves, or the path of a file to open.
Upload = Annotated[BinaryIO | bytes | str | PathLike[str], UPLOAD]
SEVERAL = object()  # marks an upload that may be several, and folders
# The same, or several paths and streams; a path may be that of a folder. The operation opens what it was given.
Uploads = Annotated[
    BinaryIO | bytes | str | PathLike[str] | Sequence[BinaryIO | bytes | str | PathLike[str]], UPLOAD, SEVERAL
]


def stream_of(upload: Upload) -> BinaryIO:
    """Return the stream that an operation was given as its upload."""
    assert isinstance(upload, io.IOBase), "an operation runs with a stream, whatever its caller gave"
    return typing.cast("BinaryIO", upload)


def sources_of(uploads: Uploads) -> list[BinaryIO | Path]:
    """Return the streams and paths that an operation was given as its uploads."""
    assert isinstance(uploads, list), "an operation runs with a list, whatever its caller gave"
    return uploads


class Document(Struct, frozen=True, kw_only=True):
    """A report that is a text of its own: a bundle, a receipt. `summary` lists facts about it."""

    media_type: str
    text: str
    summary: dict[str, str | int | bool | None]


class DocumentFile(Struct, frozen=True, kw_only=True):
    """A file of a folder: its path within that, with slashes, and its text."""

    name: str
    text: str


class DocumentFolder(Struct, frozen=True, kw_only=True):
    """A report that is a folder of texts. `summary` lists facts about it.

    A transport that writes the folder replaces a file whose first line is that of the new one, and no other.
    """

    files: list[DocumentFile]
    summary: dict[str, str | int | bool | None]


class JudgedReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A report that judges what it looked at: a transport says the verdict in its own way, as by an exit code."""

    @property
    def verdict(self) -> Kind | None:
        """Return of which kind the trouble is, or None where all is in order."""
        raise NotImplementedError


class ResultTable(Struct, frozen=True, kw_only=True):
    """A report that is a table. Transports may write it as CSV."""

    columns: list[str]
    rows: list[list[str | int | float | None]]


class Terms(Struct, frozen=True, kw_only=True):
    """What an operation may do, which rights it takes, what hides it, and where it works.

    `effect` is what it may do and the right that it takes, `also` lists further rights, `family` decides which policies
    hide it. `heeds` are the bounds of an access that it keeps to: without any, it takes an access to the whole space.
    `keyless` operations work without the root key, `spaceless` ones in a store where no space is open,
    `inspecting` ones also in a space that is not sound,
    `diagnosing` ones in whatever there is: a space, a store, or nothing. A repeat of an `idempotent` one changes
    nothing. The report of a `secret` one is shown once and kept nowhere. A
    model is offered the `featured` ones before it is offered all.
    """

    effect: Effect
    family: Family
    also: tuple[SecondRight, ...] = ()
    heeds: tuple[Bound, ...] = ()
    keyless: bool = False
    spaceless: bool = False
    inspecting: bool = False
    diagnosing: bool = False
    idempotent: bool = False
    secret: bool = False
    featured: bool = False


class Operation(Struct, frozen=True, kw_only=True):
    """An operation as the catalogue lists it. `request` is a struct of its parameters, `report` the type it returns.

    `method` is the attribute of the group; it differs from `name` where that is a word of the language. `upload` is the
    parameter that is a stream (several, and folders, where it `uploads_several`), `server_paths` those that are paths
    on the machine of the store, each with its reason.
    """

    group: str
    name: str
    method: str
    terms: Terms
    summary: str
    description: str
    request: type[Request]
    report: Any
    upload: str | None = None
    uploads_several: bool = False
    upload_help: str = ""
    server_paths: dict[str, str] = {}

    @property
    def path(self) -> str:
        """Return `group.name`."""
        return f"{self.group}.{self.name}"

    @property
    def takes_key(self) -> bool:
        """Return whether it can be called once by an idempotency key: it changes an open space."""
        return self.effect is not Effect.READ and not (self.terms.keyless or self.terms.spaceless)

    @property
    def effect(self) -> Effect:
        """Return what the operation may do to a store."""
        return self.terms.effect


class Gate(Protocol):
    """What a noun group depends on: lets an operation pass, or raises."""

    def pass_through(self, operation: str, terms: Terms) -> None:
        """Raise when the access in force or the state of the store forbids an operation (`group.verb`)."""
        ...

    def refused(self, operation: str, denied: AccessDenied | CapabilityHidden) -> None:
        """Record that the access in force refused an operation, or something in its request."""
        ...

    def suggest(self, unknown: UnknownConversation, request: Struct) -> None:
        """Add conversations that a request may have meant, of those that the access in force may list."""
        ...

    def finished(self, operation: str, terms: Terms, request: Request, report: object) -> None:
        """Record what an operation is about to return, where a policy asks for it; raise when that is impossible."""
        ...


class Group:
    """A noun group: its methods that are marked are operations."""

    name: typing.ClassVar[str]

    def __init__(self, gate: Gate) -> None:
        self.gate = gate


class Declared:
    """A method that is marked as an operation, and what the mark says."""

    def __init__(self, method: Callable[..., Any], terms: Terms, request: str) -> None:
        self.method = method
        self.terms = terms
        self.verb = method.__name__.rstrip("_")
        self.parameters = list(inspect.signature(method).parameters.values())[1:]
        self.names = [parameter.name for parameter in self.parameters]
        self._request_name = request or f"{self.verb.title().replace('_', '')}Request"

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """The types of the parameters and of the report, with what their annotations add."""
        return typing.get_type_hints(self.method, include_extras=True)

    @functools.cached_property
    def upload(self) -> str | None:
        """The parameter that is a stream, if there is one."""
        return next((name for name in self.names if UPLOAD in extras_of(self.hints[name])), None)

    @property
    def uploads_several(self) -> bool:
        """Whether the upload may be several files, and folders."""
        return self.upload is not None and SEVERAL in extras_of(self.hints[self.upload])

    @functools.cached_property
    def request(self) -> type[Request]:
        """The request as a struct: one field for each parameter that is no stream; unknown fields are refused."""
        fields: list[Any] = []
        for parameter in self.parameters:
            default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
            fields.append((parameter.name, self.hints[parameter.name], *default))
        made = msgspec.defstruct(
            self._request_name,
            [field for field in fields if field[0] != self.upload],
            bases=(Request,),
            module=self.method.__module__,
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=True,
        )
        return typing.cast("type[Request]", made)

    def run(self, group: Group, given: dict[str, Any] | Request, upload: object = None) -> Any:
        """Check rights and state, bind what is not bound yet, and run the method."""
        path = f"{group.name}.{self.verb}"
        try:
            group.gate.pass_through(path, self.terms)
            if isinstance(given, dict):
                upload = None if self.upload is None else given.pop(self.upload, None)
                given = bind(given, self.request, is_request=True)
            if self.upload is None:
                report = self.method(group, **msgspec.structs.asdict(given))
            else:
                report = self._with_upload(group, given, upload)
        except (AccessDenied, CapabilityHidden) as denied:
            group.gate.refused(path, denied)
            raise
        except UnknownConversation as unknown:
            if isinstance(given, Request):
                group.gate.suggest(unknown, given)
            raise
        except BaseException as ending:
            if not isinstance(ending, Exception):
                let_go()
            raise
        if self.terms.family in RECORDED_FAMILIES:
            group.gate.finished(path, self.terms, given, report)
        return report

    def permit(self, group: Group) -> None:
        """Raise when rights or state forbid the operation; a refusal is put on record."""
        path = f"{group.name}.{self.verb}"
        try:
            group.gate.pass_through(path, self.terms)
        except (AccessDenied, CapabilityHidden) as denied:
            group.gate.refused(path, denied)
            raise

    def _with_upload(self, group: Group, given: Request, upload: object) -> Any:
        assert self.upload is not None, "it takes an upload"
        asked = msgspec.structs.asdict(given)
        if self.uploads_several:
            return self.method(group, **asked, **{self.upload: named_sources(upload, self.upload)})
        with reading(upload, self.upload) as stream:
            return self.method(group, **asked, **{self.upload: stream})


def operation(
    effect: Effect,
    *,
    family: Family,
    also: tuple[SecondRight, ...] = (),
    heeds: tuple[Bound, ...] = (),
    keyless: bool = False,
    spaceless: bool = False,
    inspecting: bool = False,
    diagnosing: bool = False,
    idempotent: bool = False,
    secret: bool = False,
    featured: bool = False,
    request: str = "",
) -> Callable[[Method], Method]:
    """Mark a method of a noun group as an operation on these terms (see `Terms`).

    `request` names the type of its request, where `<Verb>Request` is not clear or not unique.
    """
    terms = Terms(
        effect=effect,
        family=family,
        also=also,
        heeds=heeds,
        keyless=keyless,
        spaceless=spaceless,
        inspecting=inspecting,
        diagnosing=diagnosing,
        idempotent=idempotent,
        secret=secret,
        featured=featured,
    )

    def mark(method: Method) -> Method:
        declared = Declared(method, terms, request)
        names = declared.names

        @functools.wraps(method)
        def run(self: Group, *args: Any, **kwargs: Any) -> Any:
            return declared.run(self, dict(zip(names, args, strict=False)) | kwargs)

        run.__operation__ = declared  # type: ignore[attr-defined]  # read by `_declared` alone
        return typing.cast("Method", run)

    return mark


def bound(operation: Operation, given: bytes | Mapping[str, Any]) -> Request:
    """Return the request that JSON text or plain values describe, or raise what is wrong with it.

    Members of free-form values come in the order of their names, so that it is stored alike from every transport.
    """
    plain = parse_json(given, operation.request, is_request=True) if isinstance(given, bytes) else given
    return bind(plain, operation.request, is_request=True)


def permit(group: Group, operation: Operation) -> None:
    """Raise when an operation is forbidden, whatever its request says: a transport asks before it reads one."""
    _marked(group, operation).permit(group)


def perform(group: Group, operation: Operation, request: Request, upload: Uploads | None = None) -> Any:
    """Run an operation of a noun group with a request that was bound, and its upload; return its report.

    A path as the upload is opened on this machine: a transport hands over what its caller sent, as a stream.
    """
    return _marked(group, operation).run(group, request, upload)


def operations_of(group: type[Group]) -> Iterator[Operation]:
    """Yield the operations of a noun group in the order of their definition."""
    for name, method in vars(group).items():
        declared = _declared(method)
        if declared is None:
            continue
        first, _, rest = (inspect.getdoc(method) or "").partition("\n")
        yield Operation(
            group=group.name,
            name=declared.verb,
            method=name,
            terms=declared.terms,
            summary=first,
            description=rest.strip(),
            request=declared.request,
            report=declared.hints["return"],
            upload=declared.upload,
            uploads_several=declared.uploads_several,
            upload_help="" if declared.upload is None else description_of(declared.hints[declared.upload]),
            server_paths={
                parameter: mark.reason
                for parameter in declared.names
                for mark in extras_of(declared.hints[parameter])
                if isinstance(mark, ServerPath)
            },
        )


def description_of(kind: Any) -> str:
    """Return what `Meta` says about a type, or nothing."""
    return next((mark.description for mark in extras_of(kind) if isinstance(mark, Meta) and mark.description), "")


def example_of(kind: Any) -> Any:
    """Return the example that `Meta` gives of a type, as plain data; None where there is none."""
    return next((mark.examples[0] for mark in extras_of(kind) if isinstance(mark, Meta) and mark.examples), None)


def time_kind_of(kind: Any) -> TimeKind | None:
    """Return what a number of milliseconds is, as `Meta` says; None for any other type."""
    for mark in extras_of(kind):
        if isinstance(mark, Meta) and mark.extra is not None and "time" in mark.extra:
            return TimeKind(mark.extra["time"])
    inner = typing.get_args(kind) if typing.get_origin(kind) in {Annotated, typing.Union, types.UnionType} else ()
    return next((found for each in inner if (found := time_kind_of(each)) is not None), None)


def extras_of(kind: Any) -> tuple[Any, ...]:
    """Return what an annotation adds to a type."""
    return kind.__metadata__ if typing.get_origin(kind) is Annotated else ()


def _marked(group: Group, operation: Operation) -> Declared:
    declared = _declared(getattr(type(group), operation.method))
    assert declared is not None, "what the catalogue lists is marked"
    return declared


def _declared(method: Any) -> Declared | None:
    found: Declared | None = getattr(method, "__operation__", None)
    return found


@contextlib.contextmanager
def reading(upload: object, at: str) -> Iterator[BinaryIO]:
    """Give an upload for reading; a file that is opened here is closed here."""
    if upload is None:
        raise InvalidInput(at=at, problem="missing_field")
    if isinstance(upload, bytes):
        yield io.BytesIO(upload)
    elif isinstance(upload, str | PathLike):
        try:
            file = Path(upload).open("rb")  # noqa: SIM115 - closed below
        except (OSError, ValueError) as fault:
            raise FileUnavailable.because(fault, at=at) from None
        with file:
            yield file
    elif isinstance(upload, io.IOBase) and not isinstance(upload, io.TextIOBase):
        yield typing.cast("BinaryIO", upload)
    else:
        raise InvalidInput(at=at, problem="wrong_type")


def named_sources(upload: object, at: str) -> list[BinaryIO | Path]:
    """Return uploads as streams and paths; nothing is opened."""
    several = list(upload) if isinstance(upload, list | tuple) else [upload]
    sources: list[BinaryIO | Path] = []
    for one in several:
        if one is None or one == "":
            raise InvalidInput(at=at, problem="missing_field")
        if isinstance(one, bytes):
            sources.append(io.BytesIO(one))
        elif isinstance(one, str | PathLike):
            sources.append(Path(one))
        elif isinstance(one, io.IOBase) and not isinstance(one, io.TextIOBase):
            sources.append(typing.cast("BinaryIO", one))
        else:
            raise InvalidInput(at=at, problem="wrong_type")
    if not sources:
        raise InvalidInput(at=at, problem="missing_field")
    return sources
