"""Tool registries as a host describes them: compact snapshots, references to one, and when a reference is good.

Ids are canonical: ASCII letters, digits and `._:/@-`, a letter or digit at both ends. Ids that differ in case alone
count as one, so that nobody mistakes a tool for another. A snapshot has no schemas, and unknown fields are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.tool_registries import (
    RegisteredTool,
    RegistryContent,
    RegistryRecord,
    RegistryScope,
    ToolsRegistered,
)

ID_CHARS_MAX = 256
FINGERPRINT_CHARS_MAX = 128
TAG_CHARS_MAX = 64
TAGS_MAX = 32  # of a kind, of a tool
REFERENCES_MAX = 64  # in one request
TOOLS_MAX = 1000  # of a registry
DISPLAY_NAME_BYTES_MAX = 256
NOTE_BYTES_MAX = 4096
_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:/@-]*[A-Za-z0-9])?")
_FINGERPRINT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+/=-]*")


class ToolDescription(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tool of a host: ids, fingerprints and tags, and no schema."""

    tool: Annotated[str, Meta(description="Id of the tool.")]
    schema_fingerprint: Annotated[str, Meta(description="Fingerprint of its schema.")]
    display_name: Annotated[str | None, Meta(description="What people call it.")] = None
    version: Annotated[str | None, Meta(description="Its version.")] = None
    descriptor_fingerprint: Annotated[str | None, Meta(description="Fingerprint of its description.")] = None
    permissions: Annotated[list[str], Meta(description="Tags of what it may do.")] = []
    risks: Annotated[list[str], Meta(description="Tags of what may go wrong.")] = []
    groups: Annotated[list[str], Meta(description="Groups that it is in.")] = []
    disabled: Annotated[bool, Meta(description="Whether the host does not offer it.")] = False


class RegistrySnapshot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The tools of a host, all of them. `owner` is the subject that the registry belongs to, or the host."""

    registry: Annotated[str, Meta(description="Id of the registry.")]
    namespace: Annotated[str, Meta(description="Namespace of its tools.")]
    owner: Annotated[str, Meta(description="Whose it is.")]
    fingerprint: Annotated[str, Meta(description="Fingerprint of the whole registry.")]
    tools: Annotated[list[ToolDescription], Meta(description="Its tools.")]
    scope: Annotated[RegistryScope, Meta(description="What it is for.")] = RegistryScope.OWNER
    note: Annotated[str | None, Meta(description="A note, for `raw_owner` alone.")] = None


class RegistryReference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The registry that a host has at the moment."""

    registry: Annotated[str, Meta(description="Id of the registry.")]
    fingerprint: Annotated[str, Meta(description="Its fingerprint.")]
    scope: Annotated[RegistryScope | None, Meta(description="What it is for. Without it: anything.")] = None


class HintRefusal(StrEnum):
    """Why there are no hints about a registry or a tool."""

    REGISTRY_MISSING = "registry_missing"
    FINGERPRINT_MISMATCH = "fingerprint_mismatch"
    SCOPE_MISMATCH = "scope_mismatch"
    UNKNOWN_TOOL = "unknown_tool"
    TOOL_DISABLED = "tool_disabled"
    NEEDS_REVIEW = "needs_review"
    NO_GOVERNED_TOOL_EXPERIENCE = "no_governed_tool_experience"


class RegistryProblem(Struct, frozen=True, kw_only=True):
    """A registry that gives no hints, and why."""

    registry: str
    reason: HintRefusal


# Why the host has not the registry that experience is of.
NOT_THERE = frozenset({HintRefusal.REGISTRY_MISSING, HintRefusal.FINGERPRINT_MISMATCH})


def check_id(text: str, at: str) -> None:
    """Refuse an id that is not canonical."""
    _check(text, at, _ID, ID_CHARS_MAX)


def check_reference(reference: RegistryReference, at: str) -> None:
    """Refuse a malformed reference."""
    check_id(reference.registry, f"{at}.registry")
    _check(reference.fingerprint, f"{at}.fingerprint", _FINGERPRINT, FINGERPRINT_CHARS_MAX)


def check_references(references: Sequence[RegistryReference], at: str) -> None:
    """Refuse malformed references, and too many of them."""
    if len(references) > REFERENCES_MAX:
        raise LimitExceeded(at=at, problem="too_many", limit=REFERENCES_MAX, found=len(references))
    for number, reference in enumerate(references):
        check_reference(reference, f"{at}[{number}]")


def check_snapshot(snapshot: RegistrySnapshot, at: str) -> None:
    """Refuse a snapshot with an id that is not canonical, an id twice, or too much of anything."""
    for name in ("registry", "namespace"):
        check_id(getattr(snapshot, name), f"{at}.{name}")
    _check(snapshot.fingerprint, f"{at}.fingerprint", _FINGERPRINT, FINGERPRINT_CHARS_MAX)
    check_size(snapshot.note, f"{at}.note", NOTE_BYTES_MAX)
    if len(snapshot.tools) > TOOLS_MAX:
        raise LimitExceeded(at=f"{at}.tools", problem="too_many", limit=TOOLS_MAX, found=len(snapshot.tools))
    seen: set[str] = set()
    for number, tool in enumerate(snapshot.tools):
        _check_tool(tool, f"{at}.tools[{number}]")
        if tool.tool.lower() in seen:
            raise InvalidInput(at=f"{at}.tools[{number}].tool", problem="duplicate")
        seen.add(tool.tool.lower())


def check_size(text: str | None, at: str, limit: int) -> None:
    """Refuse a text that has more bytes than a limit."""
    size = 0 if text is None else len(text.encode())
    if size > limit:
        raise LimitExceeded(at=at, problem="too_large", limit=limit, found=size)


def _check_tool(tool: ToolDescription, at: str) -> None:
    check_id(tool.tool, f"{at}.tool")
    for name in ("schema_fingerprint", "descriptor_fingerprint", "version"):
        text = getattr(tool, name)
        if text is not None:
            _check(text, f"{at}.{name}", _FINGERPRINT, FINGERPRINT_CHARS_MAX)
    check_size(tool.display_name, f"{at}.display_name", DISPLAY_NAME_BYTES_MAX)
    for name in ("permissions", "risks", "groups"):
        tags: list[str] = getattr(tool, name)
        if len(tags) > TAGS_MAX:
            raise LimitExceeded(at=f"{at}.{name}", problem="too_many", limit=TAGS_MAX, found=len(tags))
        for number, tag in enumerate(tags):
            _check(tag, f"{at}.{name}[{number}]", _ID, TAG_CHARS_MAX)


def _check(text: str, at: str, form: re.Pattern[str], chars_max: int) -> None:
    if len(text) > chars_max:
        raise LimitExceeded(at=at, problem="too_long", limit=chars_max, found=len(text))
    if form.fullmatch(text) is None:
        raise InvalidInput(at=at, problem="not_canonical")


def record_of(snapshot: RegistrySnapshot, revision: int) -> RegistryRecord:
    """Return what is recorded of a registry."""
    return RegistryRecord(
        registry=snapshot.registry,
        namespace=snapshot.namespace,
        owner=snapshot.owner,
        scope=snapshot.scope,
        fingerprint=snapshot.fingerprint,
        revision=revision,
    )


def tools_of(snapshot: RegistrySnapshot) -> list[RegisteredTool]:
    """Return what is recorded of its tools, in the order of their ids."""
    return [
        RegisteredTool(
            tool=tool.tool,
            schema_fingerprint=tool.schema_fingerprint,
            version=tool.version,
            descriptor_fingerprint=tool.descriptor_fingerprint,
            permissions=sorted(set(tool.permissions)),
            risks=sorted(set(tool.risks)),
            groups=sorted(set(tool.groups)),
            disabled=tool.disabled,
        )
        for tool in _in_order(snapshot)
    ]


def content_of(snapshot: RegistrySnapshot) -> RegistryContent:
    """Return what people wrote in a snapshot."""
    return RegistryContent(names=[tool.display_name for tool in _in_order(snapshot)], note=snapshot.note)


def snapshot_of(registered: ToolsRegistered, content: RegistryContent) -> RegistrySnapshot:
    """Return the snapshot that is recorded in this way."""
    record = registered.registry
    return RegistrySnapshot(
        registry=record.registry,
        namespace=record.namespace,
        owner=record.owner,
        fingerprint=record.fingerprint,
        tools=[
            ToolDescription(
                tool=tool.tool,
                schema_fingerprint=tool.schema_fingerprint,
                display_name=name,
                version=tool.version,
                descriptor_fingerprint=tool.descriptor_fingerprint,
                permissions=tool.permissions,
                risks=tool.risks,
                groups=tool.groups,
                disabled=tool.disabled,
            )
            for tool, name in zip(registered.tools, content.names, strict=True)
        ],
        scope=record.scope,
        note=content.note,
    )


def _in_order(snapshot: RegistrySnapshot) -> Iterator[ToolDescription]:
    yield from sorted(snapshot.tools, key=lambda tool: tool.tool)


def reference_flaw(reference: RegistryReference, registry: RegistryRecord | None) -> HintRefusal | None:
    """Return why a host has not the registry that is recorded, or None."""
    if registry is None:
        return HintRefusal.REGISTRY_MISSING
    if reference.scope not in {None, registry.scope}:
        return HintRefusal.SCOPE_MISMATCH
    return HintRefusal.FINGERPRINT_MISMATCH if reference.fingerprint != registry.fingerprint else None
