"""The public API as text: what is reachable from `muniment.__all__`, and every error with its code.

Names, signatures, fields and members, in the words of the source. A type of ours that a public signature mentions is
public too and is listed after it, under its module.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

import muniment
from muniment.declaration import operation as declaration
from muniment.errors import MunimentError
from muniment.operations import parameters
from muniment.runtime.catalogue import GROUPS, group_class

OURS = "muniment"
LIMIT = re.compile(r"Meta\((?!description=)")
# name of a parameter that operations share -> its type, as the source spells it
SHARED: dict[str, str] = {
    target.id: ast.unparse(node.value)
    for module in (parameters, declaration)
    for node in ast.parse(inspect.getsource(module)).body
    if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Annotated[")
    for target in node.targets
    if isinstance(target, ast.Name)
}
HEAD = "# The public API. All that is not listed here may change without notice.\n"


def api_text() -> str:
    """Return the text of `schemas/api.txt`."""
    chapters: list[str] = []
    queue: list[tuple[str, Any]] = [(f"muniment.{name}", getattr(muniment, name)) for name in sorted(muniment.__all__)]
    queue += [(f"muniment.Runtime.{name}", group_class(name)) for name in GROUPS]
    seen: set[int] = {id(value) for _, value in queue}
    while queue:
        name, value = queue.pop(0)
        chapters.append("\n".join(_lines(name, value)))
        found = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in _mentioned(value) if id(kind) not in seen}
        seen |= {id(kind) for kind in found.values()}
        queue += sorted(found.items())
    errors = sorted(f"{error.code} = {error.__name__}, {error.kind}" for error in _errors(MunimentError))
    return "\n\n".join([HEAD, *chapters, "errors:\n" + "\n".join(f"    {line}" for line in errors)]) + "\n"


def _errors(root: type[MunimentError]) -> Iterator[type[MunimentError]]:
    yield root
    for child in root.__subclasses__():
        if child.__module__ == "muniment.errors":
            yield from _errors(child)


def _lines(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield f"{name}: {_sort(value)}"
        yield from (f"    {line}" for line in _members(value))
    elif callable(value):
        yield f"{name}{_signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def _sort(kind: type) -> str:
    if issubclass(kind, enum.Enum):
        return "enum"
    if issubclass(kind, msgspec.Struct):
        return "struct"
    if issubclass(kind, BaseException):
        return "error"
    return "protocol" if getattr(kind, "_is_protocol", False) else "class"


def _members(kind: type) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield from (f"{member.name} = {member.value!r}" for member in kind)
    elif issubclass(kind, msgspec.Struct):
        yield from _fields(kind)
    else:
        yield from (f"{name}: {_spelt(note)}" for name, note in _annotations(kind).items())
    for name, member in sorted(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"{name}: {_spelt(inspect.signature(_getter(member)).return_annotation)}"
        elif callable(function := getattr(kind, name)) and not inspect.isclass(function):
            yield f"{name}{_signature(function)}"


def _fields(kind: type[msgspec.Struct]) -> Iterator[str]:
    notes = {name: note for base in reversed(kind.__mro__) for name, note in _annotations(base).items()}
    for field in msgspec.structs.fields(kind):
        default = "" if field.required else f" = {_default(field.default)}"
        yield f"{field.name}: {_spelt(notes[field.name])}{default}"


def _annotations(kind: type) -> dict[str, Any]:
    return {name: note for name, note in inspect.get_annotations(kind).items() if not name.startswith("_")}


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parts: list[str] = []
    starred = False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or one.kind in {one.KEYWORD_ONLY, one.VAR_POSITIONAL}
        if one.name != "self":
            parts.append(_parameter(one))
    result = "" if signature.return_annotation is signature.empty else f" -> {_spelt(signature.return_annotation)}"
    return f"({', '.join(parts)}){result}"


def _parameter(one: inspect.Parameter) -> str:
    star = "*" * ((one.kind is one.VAR_POSITIONAL) + 2 * (one.kind is one.VAR_KEYWORD))
    note = "" if one.annotation is one.empty else f": {_spelt(one.annotation)}"
    if one.default is one.empty:
        return f"{star}{one.name}{note}"
    return f"{one.name}{note} = {_default(one.default)}"


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value) if value is None or isinstance(value, str | int | tuple) else "..."


def _spelt(note: Any) -> str:
    return ast.unparse(_Bare().visit(ast.parse(note if isinstance(note, str) else inspect.formatannotation(note))))


class _Bare(ast.NodeTransformer):
    """Leaves out what is said about a parameter, which the schemas have; its type and its limits stay."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the type of a parameter that operations share."""
        shared = SHARED.get(node.id)
        return node if shared is None else self.visit(ast.parse(shared, mode="eval").body)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Return the type that `Annotated` is about, with the limits that it adds."""
        if not (
            isinstance(node.value, ast.Name) and node.value.id == "Annotated" and isinstance(node.slice, ast.Tuple)
        ):
            return self.generic_visit(node)
        kind, *marks = node.slice.elts
        limits = [mark for mark in marks if LIMIT.match(ast.unparse(mark))]
        bare = self.visit(kind)
        return ast.Subscript(node.value, ast.Tuple([bare, *limits])) if limits else bare


def _mentioned(value: Any) -> Iterator[type]:
    """Yield the classes of ours that the signatures of a value mention."""
    owners = [value]
    if inspect.isclass(value):
        owners += [
            _getter(member) if isinstance(member, property) else getattr(member, "__func__", member)
            for name, member in vars(value).items()
            if not name.startswith("_")
            and (callable(member) or isinstance(member, property | classmethod | staticmethod))
        ]
    for owner in owners:
        if inspect.isclass(owner) or inspect.isfunction(owner):
            for name, note in typing.get_type_hints(owner).items():
                if not name.startswith("_"):
                    yield from _parts(note)


def _getter(member: property) -> Any:
    assert member.fget
    return member.fget


def _parts(note: Any) -> Iterator[type]:
    if inspect.isclass(note) and note.__module__.partition(".")[0] == OURS:
        yield note
    for argument in typing.get_args(note):
        yield from _parts(argument)
