"""One declaration per operation.

An operation is a method of a noun group. Its parameters are the request, each with its own description; the struct that
it returns is the report; the first line of its docstring is the help; and `@operation(Effect.APPEND, family=...)` says
what it may do, what hides it and which other rights it takes. The catalogue is built from this, and transports are
loops over the catalogue: none of them knows an operation by name.

A request is bound once. A call from Python is bound when it is made; a transport binds bytes with `bound` and hands the
result to `perform`. Either way rights and state are checked before the operation runs. An `Upload` is no part of the
request: it is a stream of bytes that the operation reads while it runs. A `Download` is the file that it writes
(`declaration.download`); `streamed` is the same operation with a stream in the place of the path.
"""

from __future__ import annotations

import functools
import inspect
import io
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from muniment.declaration.download import DOWNLOAD
from muniment.declaration.operation_gate import Elsewhere, Gate
from muniment.declaration.upload import named_sources, reading
from muniment.errors import AccessDenied, CapabilityHidden, Kind, UnknownConversation
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
CHANNELS = (Bound.CHANNELS,)  # its channels
SUBJECT_AND_CHANNELS = (Bound.SUBJECT, Bound.CHANNELS)  # both


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
    on the machine of the store, each with its reason. `download` is the one among them that may be a stream instead,
    and `streamed_request` the request without it.
    """

    group: str
    group_summary: str
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
    download: str | None = None
    streamed_request: type[Request] | None = None

    @property
    def path(self) -> str:
        """Return `group.name`."""
        return f"{self.group}.{self.name}"

    @property
    def takes_key(self) -> bool:
        """Return whether a key has it called once: it changes an open space, and answers with no file."""
        changes = self.effect is not Effect.READ and self.download is None
        return changes and not (self.terms.keyless or self.terms.spaceless)

    @property
    def effect(self) -> Effect:
        """Return what the operation may do to a store."""
        return self.terms.effect


class Group:
    """A noun group: its methods that are marked are operations."""

    name: typing.ClassVar[str]

    def __init__(self, gate: Gate | Elsewhere) -> None:
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
    def download(self) -> str | None:
        """The parameter that is the file that the operation writes, if there is one."""
        return next((name for name in self.names if DOWNLOAD in extras_of(self.hints[name])), None)

    @functools.cached_property
    def request(self) -> type[Request]:
        """The request as a struct: one field for each parameter that is no stream; unknown fields are refused."""
        return self._request_of(without=(self.upload,))

    @functools.cached_property
    def streamed_request(self) -> type[Request]:
        """The request of a caller whose download is a stream."""
        return self._request_of(without=(self.upload, self.download))

    def _request_of(self, *, without: tuple[str | None, ...]) -> type[Request]:
        fields: list[Any] = []
        for parameter in self.parameters:
            kind = self.hints[parameter.name]
            if parameter.name == self.download:
                kind = Annotated[str, *extras_of(kind)]
            default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
            fields.append((parameter.name, kind, *default))
        made = msgspec.defstruct(
            self._request_name,
            [field for field in fields if field[0] not in without],
            bases=(Request,),
            module=self.method.__module__,
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=True,
        )
        return typing.cast("type[Request]", made)

    def run(
        self,
        group: Group,
        given: dict[str, Any] | Request,
        upload: object = None,
        download: BinaryIO | None = None,
        *,
        is_observed: bool = False,
    ) -> Any:
        """Check rights and state, bind what is not bound yet, and run the method; or have it run elsewhere."""
        path, gate = f"{group.name}.{self.verb}", group.gate
        if isinstance(gate, Elsewhere):
            return gate.call(path, *self._bound(given, upload, download))
        if gate.observer is not None and not is_observed:
            with gate.observer.around(path, self.terms.effect) as observed:
                report = self.run(group, given, upload, download, is_observed=True)
                observed(report)
                return report
        try:
            gate.pass_through(path, self.terms)
            if self.upload is None and self.download is None:
                given = given if isinstance(given, Request) else bind(given, self.request, is_request=True)
                report = self.method(group, **msgspec.structs.asdict(given))
            else:
                given, upload, download = self._bound(given, upload, download)
                report = self._with_files(group, given, upload, download)
        except (AccessDenied, CapabilityHidden) as denied:
            gate.refused(path, denied)
            raise
        except UnknownConversation as unknown:
            if isinstance(given, Request):
                gate.suggest(unknown, given)
            raise
        except BaseException as ending:
            if not isinstance(ending, Exception):
                let_go()
            raise
        if self.terms.family in RECORDED_FAMILIES:
            gate.finished(path, self.terms, given, report)
        return report

    def permit(self, group: Group) -> None:
        """Raise when rights or state forbid the operation; a refusal is put on record."""
        path, gate = f"{group.name}.{self.verb}", group.gate
        assert not isinstance(gate, Elsewhere), "whoever serves has the store"
        try:
            gate.pass_through(path, self.terms)
        except (AccessDenied, CapabilityHidden) as denied:
            gate.refused(path, denied)
            raise

    def _bound(
        self, given: dict[str, Any] | Request, upload: object, download: BinaryIO | None
    ) -> tuple[Request, object, BinaryIO | None]:
        """Return the request of a call, bound, with its upload and its download where that is a stream."""
        if isinstance(given, Request):
            return given, upload, download
        upload = None if self.upload is None else given.pop(self.upload, None)
        download = self._taken_stream(given)
        request = self.request if download is None else self.streamed_request
        return bind(given, request, is_request=True), upload, download

    def _taken_stream(self, given: dict[str, Any]) -> BinaryIO | None:
        """Take the download out of what was given, where it is a stream; a path becomes text."""
        if self.download is None or self.download not in given:
            return None
        if isinstance(given[self.download], PathLike):
            given[self.download] = str(given[self.download])
        is_stream = isinstance(given[self.download], io.IOBase) and not isinstance(given[self.download], io.TextIOBase)
        return given.pop(self.download) if is_stream else None

    def _with_files(self, group: Group, given: Request, upload: object, download: BinaryIO | None) -> Any:
        asked = msgspec.structs.asdict(given)
        if download is not None:
            assert self.download is not None, "it writes a download"
            asked[self.download] = download
        if self.upload is None:
            return self.method(group, **asked)
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


def perform(
    group: Group,
    operation: Operation,
    request: Request,
    upload: Uploads | None = None,
    download: BinaryIO | None = None,
) -> Any:
    """Run an operation of a noun group with a request that was bound, and its upload; return its report.

    A path as the upload is opened on this machine: a transport hands over what its caller sent, as a stream. A
    `streamed` operation writes its file into `download`.
    """
    return _marked(group, operation).run(group, request, upload, download)


def streamed(operation: Operation) -> Operation:
    """Return an operation whose download is a stream: its request has no path for it."""
    assert operation.streamed_request is not None, "it has a download"
    left = {name: reason for name, reason in operation.server_paths.items() if name != operation.download}
    return replace(operation, request=operation.streamed_request, server_paths=left)


def operations_of(group: type[Group]) -> Iterator[Operation]:
    """Yield the operations of a noun group in the order of their definition."""
    for name, method in vars(group).items():
        declared = _declared(method)
        if declared is None:
            continue
        first, _, rest = (inspect.getdoc(method) or "").partition("\n")
        yield Operation(
            group=group.name,
            group_summary=(inspect.getdoc(group) or "").partition("\n")[0],
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
            download=declared.download,
            streamed_request=None if declared.download is None else declared.streamed_request,
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
