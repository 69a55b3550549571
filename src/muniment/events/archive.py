"""Archives: which part of a space one contains, under which policy, and the events of an export and an import."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class ScopeKind(StrEnum):
    """A part of a space. Each conversation belongs to exactly one subject's part, or to the shared part."""

    SUBJECT = "subject"  # the conversations all of whose turns are of one mounted subject
    SHARED = "shared"  # all other conversations
    CONVERSATION = "conversation"  # one conversation, of any subject


class PrivateMaterial(StrEnum):
    """Whether an archive contains private material: content, aliases, attributes and derived references together."""

    EXCLUDE = "exclude"
    INCLUDE = "include"


class ImportMode(StrEnum):
    """`bootstrap` requires that nothing of the scope exists; `restore` replaces what exists."""

    BOOTSTRAP = "bootstrap"
    RESTORE = "restore"


class ArchiveScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A scope and its names: `subject` for a subject's part, `channel` and `conversation` for one conversation."""

    kind: Annotated[ScopeKind, Meta(description="What part of the space.")]
    subject: Annotated[str | None, Meta(description="The mounted subject, for the part of a subject.")] = None
    channel: Annotated[str | None, Meta(description="Channel of the conversation, for one conversation.")] = None
    conversation: Annotated[str | None, Meta(description="Id of the conversation, for one conversation.")] = None


class ArchiveExport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An archive that was written: its scope and policy, and the SHA-256 of the sealed file.

    Never of what is in the file: a code of four digits in an erased turn could be guessed from that (decision 0157).
    """

    scope: ArchiveScope
    private: PrivateMaterial
    digest: str


class ArchiveImport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An archive that was imported; `digest` is the SHA-256 of the sealed file.

    `into` is the id of the conversation, when it differs from the id in the archive. `erased` counts the turns that had
    been erased here before and were imported without content.
    """

    scope: ArchiveScope
    private: PrivateMaterial
    digest: str
    mode: ImportMode
    into: str | None = None
    erased: int = 0


class ArchiveExported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An archive was written."""

    archive: ArchiveExport


class ArchiveImported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An archive was imported; its events have the positions `refs.first` to `refs.last`."""

    archive: ArchiveImport
