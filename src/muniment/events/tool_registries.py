"""Tool registries: which tools a host has, as snapshots in the stream of the space.

A snapshot is compact: ids, versions, fingerprints and tags, and no schema. It is found by the id of its registry; each
one has a number, and takes the place of the one before. Its meta has names of the host and survives. What a person may
have written (display names, the note) is content; it names no turn, and is destroyed with the space.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.events.changes import LifecycleRequest


class RegistryScope(StrEnum):
    """What a registry is for. All but `global` is for its owner alone."""

    GLOBAL = "global"
    OWNER = "owner"
    PROJECT = "project"
    WORKSPACE = "workspace"
    CONVERSATION = "conversation"


class RegistryRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A registry: `revision` counts its snapshots and removals from 1, `fingerprint` is what the host says of it."""

    registry: str
    namespace: str
    owner: str
    scope: RegistryScope
    fingerprint: str
    revision: int


class RegisteredTool(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A tool without its display name."""

    tool: str
    schema_fingerprint: str
    version: str | None = None
    descriptor_fingerprint: str | None = None
    permissions: list[str] = []
    risks: list[str] = []
    groups: list[str] = []
    disabled: bool = False


class ToolsRegistered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """From this event on the registry has these tools, in the order of their ids; `requester` says so."""

    registry: RegistryRecord
    tools: list[RegisteredTool]
    requester: str


class RegistryContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The display names of the tools, in their order, and a note."""

    names: list[str | None]
    note: str | None = None


class ToolsRemoved(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """From this event on there is no such registry."""

    registry: str
    revision: int
    request: LifecycleRequest
