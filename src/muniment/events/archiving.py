"""Archives: what part of a space one holds, under which policy, and the events that one left and one came."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class ScopeKind(StrEnum):
    """What part of a space: each conversation is in exactly one subject's part or in the shared one."""

    SUBJECT = "subject"  # the conversations all of whose turns are of one mounted subject
    SHARED = "shared"  # all other conversations
    CONVERSATION = "conversation"  # one conversation, whoever's it is


class Private(StrEnum):
    """Whether private material is in an archive: words, aliases, attributes and derived references, all or none."""

    EXCLUDE = "exclude"
    INCLUDE = "include"


class ImportMode(StrEnum):
    """What an import finds: `bootstrap` wants nothing of the scope to be there, `restore` replaces what is there."""

    BOOTSTRAP = "bootstrap"
    RESTORE = "restore"


class ArchiveScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A scope by its names: `subject` for a subject's part, `channel` and `conversation` for one conversation."""

    kind: Annotated[ScopeKind, Meta(description="What part of the space.")]
    subject: Annotated[str | None, Meta(description="The mounted subject, for the part of a subject.")] = None
    channel: Annotated[str | None, Meta(description="Channel of the conversation, for one conversation.")] = None
    conversation: Annotated[str | None, Meta(description="Id of the conversation, for one conversation.")] = None


class ArchiveExport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What an archive held: its scope, its policy, its root digest."""

    scope: ArchiveScope
    private: Private
    digest: str


class ArchiveImport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What came in with an archive, and how.

    `into` is the conversation that it came into, when it has another id than in the archive. `erased` of the turns had
    been erased here before and came without their words.
    """

    scope: ArchiveScope
    private: Private
    digest: str
    mode: ImportMode
    into: str | None = None
    erased: int = 0


class ArchiveExported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An archive was written."""

    archive: ArchiveExport


class ArchiveImported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An archive was imported; the events that came with it stand from `refs.first` to `refs.last`."""

    archive: ArchiveImport
