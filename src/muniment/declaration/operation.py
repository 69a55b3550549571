"""One declaration per operation.

An operation is a method of a noun group. Its parameters are the request, the struct that it returns is the report,
the first line of its docstring is the help, and `@operation(Effect.APPEND)` says what it may do. From this the
catalogue is built, and transports are loops over the catalogue: none of them knows an operation by name.

Calling one checks the access in force and that what came in is of the declared types, whether it came as Python
values or was decoded from JSON by a transport; then the method runs.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any, NewType, Protocol, TypeVar

import msgspec
from msgspec import Struct

from muniment.errors import AccessDenied, CapabilityHidden
from muniment.events.binding import REQUEST_BYTES_MAX, UPLOAD_BYTES_MAX, bind
from muniment.governance.access import Effect

Method = TypeVar("Method", bound=Callable[..., Any])
SOURCE = re.compile(r"\s*\(BEHAVIOUR [^)]*\)")  # of a rule: for whoever reads the code, not for whoever asks for help

# Text that a person keeps in a file: transports read it from one (`Upload`) or write it to one (`Document`).
Upload = NewType("Upload", str)


class Document(Struct, frozen=True, kw_only=True):
    """A report that is a text of its own: a bundle, a receipt. `summary` is what to tell about it."""

    media_type: str
    text: str
    summary: dict[str, str | int | bool | None]


class Operation(Struct, frozen=True, kw_only=True):
    """An operation as the catalogue lists it. `request` is a struct of its parameters, `report` the type it returns.

    `method` is the attribute of the group; it differs from `name` where that is a word of the language. `keyless` ones
    need no key, `spaceless` ones no open space.
    """

    group: str
    name: str
    method: str
    effect: Effect
    keyless: bool
    spaceless: bool
    summary: str
    description: str
    request: type[Struct]
    report: Any

    @property
    def path(self) -> str:
        """Return `group.name`."""
        return f"{self.group}.{self.name}"


class Gate(Protocol):
    """What a noun group stands on: lets an operation pass, or raises."""

    def pass_through(self, operation: str, effect: Effect, *, bare: bool) -> None:
        """Raise when the access in force or the state of the store forbids an operation (`group.verb`).

        `bare` ones need no open space.
        """
        ...

    def refused(self, operation: str, denied: AccessDenied | CapabilityHidden) -> None:
        """Put on record that the access in force refused an operation, or something that it asked for."""
        ...


class Group:
    """A noun group: its methods that are marked are operations."""

    name: typing.ClassVar[str]

    def __init__(self, gate: Gate) -> None:
        self._gate = gate


def operation(effect: Effect, *, keyless: bool = False, spaceless: bool = False) -> Callable[[Method], Method]:
    """Mark a method of a noun group as an operation with this effect.

    `keyless` ones work without the root key, `spaceless` ones in a store where no space is open.
    """

    def mark(method: Method) -> Method:
        names = list(inspect.signature(method).parameters)[1:]
        verb = method.__name__.rstrip("_")

        @functools.wraps(method)
        def run(self: Group, *args: Any, **kwargs: Any) -> Any:
            path = f"{self.name}.{verb}"
            try:
                self._gate.pass_through(path, effect, bare=keyless or spaceless)
                given = dict(zip(names, args, strict=False)) | kwargs
                request = bind(given, _request(run), _bytes_max(run))
                return method(self, **{name: getattr(request, name) for name in names})
            except (AccessDenied, CapabilityHidden) as denied:
                self._gate.refused(path, denied)
                raise

        run.__operation__ = (effect, keyless, spaceless)  # type: ignore[attr-defined]  # read by the catalogue alone
        return typing.cast("Method", run)

    return mark


@functools.cache
def _request(method: Callable[..., Any]) -> type[Struct]:
    """Return the request of an operation as a struct: one field for each parameter, unknown ones refused."""
    hints = typing.get_type_hints(method)
    fields: list[Any] = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        required = parameter.default is inspect.Parameter.empty
        field = (parameter.name, hints[parameter.name])
        fields.append(field if required else (*field, parameter.default))
    return msgspec.defstruct(
        f"{method.__qualname__.replace('.', '')}Request",
        fields,
        module=method.__module__,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )


@functools.cache
def _bytes_max(method: Callable[..., Any]) -> int:
    """Return how large a request of an operation may be: one that brings a document along has room for it."""
    brings = Upload in typing.get_type_hints(method).values()
    return UPLOAD_BYTES_MAX if brings else REQUEST_BYTES_MAX


def operations_of(group: type[Group]) -> Iterator[Operation]:
    """Yield the operations of a noun group in the order of their definition."""
    for name, method in vars(group).items():
        marked = getattr(method, "__operation__", None)
        if marked is None:
            continue
        effect, keyless, spaceless = marked
        first, _, rest = (inspect.getdoc(method) or "").partition("\n")
        yield Operation(
            group=group.name,
            name=name.rstrip("_"),
            method=name,
            effect=effect,
            keyless=keyless,
            spaceless=spaceless,
            summary=first,
            description=SOURCE.sub("", rest.strip()),
            request=_request(method),
            report=typing.get_type_hints(method)["return"],
        )


def perform(group: Group, operation: Operation, request: Struct) -> Any:
    """Run an operation of a noun group with a request that is of its type; return its report."""
    given = {field: getattr(request, field) for field in request.__struct_fields__}
    return getattr(group, operation.method)(**given)
