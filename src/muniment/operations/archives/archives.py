"""The noun group `archives`: export a part of a space as one encrypted file, check it, import it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.download import Download
from muniment.declaration.operation import Effect, Family, Group, SecondRight, ServerPath, Upload, operation, stream_of
from muniment.declaration.session import Session
from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial
from muniment.events.identity import ConversationId
from muniment.governance.views import View
from muniment.operations.archives.archive_appender import ArchiveImportReport
from muniment.operations.archives.document import ArchiveRoot, going_back
from muniment.operations.archives.export_archive import ArchiveReport, export_archive
from muniment.operations.archives.import_archive import ArchiveFile, import_archive, inspect_archive
from muniment.operations.archives.scopes import check_into
from muniment.operations.parameters import SealedBy

READ_BACK = "an archive gets its name when it was read back and the log records it"


class ArchiveCheck(Struct, frozen=True, kw_only=True):
    """An archive that holds to every rule: what it says of itself, and how many turns it holds."""

    root: ArchiveRoot
    turns: int


class Archives(Group):
    """A part of a space as one encrypted file: export it, check it, import it."""

    name = "archives"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(
        Effect.ADMIN,
        family=Family.EXPORT,
        also=(SecondRight(views=(View.RAW_OWNER,), when="private is include"),),
        request="ExportArchiveRequest",
    )
    def export(
        self,
        file: Annotated[
            Download,
            ServerPath(reason=READ_BACK),
            Meta(description="Path of the new archive, on the machine of the store."),
        ],
        scope: Annotated[ArchiveScope, Meta(description="What to export.")],
        private: Annotated[
            PrivateMaterial, Meta(description="Whether text, aliases, attributes, memory and registries are included.")
        ] = PrivateMaterial.EXCLUDE,
        sealed_by: SealedBy = None,
    ) -> ArchiveReport:
        """Export a part of the open space as an archive: an encrypted file that another space can import.

        `scope` is the part of one subject (its memory, its tool registries, and the conversations whose turns all have
        this mounted subject), the shared part (all other conversations, and global registries), or one conversation.
        Without `private`, text, aliases, attributes, derived references, memory and registries are left out together;
        turns are then archived like erased ones: who, when and what happened. Messages of soul governance are never
        exported. Keys are never in an archive. Appends `archive.exported` once the file was read back. The same part
        gives the same root digest again. Raises `file.taken`, `file.unavailable`, `access.denied` for content
        without the raw_owner view.
        """
        return export_archive(self._session, file, scope, private, sealed_by)

    @operation(
        Effect.READ, family=Family.VALIDATION, also=(SecondRight(effect=Effect.ADMIN),), request="InspectArchiveRequest"
    )
    def inspect(
        self,
        file: Annotated[Upload, Meta(description="The archive.")],
        sealed_by: SealedBy = None,
    ) -> ArchiveCheck:
        """Check an archive without importing it: every line, and the root over all of them.

        Needs the right to administer as well, because a path can name any file of the machine. Raises
        `archive.refused`, `key.wrong`, `file.unavailable`.
        """
        with going_back(stream_of(file)) as archive:
            root, turns = inspect_archive(ArchiveFile(self._session, archive, sealed_by))
        return ArchiveCheck(root=root, turns=turns)

    @operation(
        Effect.ERASE, family=Family.IMPORT, also=(SecondRight(effect=Effect.ADMIN),), request="ImportArchiveRequest"
    )
    def import_(
        self,
        file: Annotated[Upload, Meta(description="The archive.")],
        scope: Annotated[ArchiveScope, Meta(description="The scope of the archive.")],
        private: Annotated[
            PrivateMaterial, Meta(description="What the archive includes: as it was exported.")
        ] = PrivateMaterial.EXCLUDE,
        mode: Annotated[
            ImportMode,
            Meta(
                description="`bootstrap` requires that nothing of the scope is here; `restore` erases and replaces it."
            ),
        ] = ImportMode.BOOTSTRAP,
        into: Annotated[ConversationId | None, Meta(description="Another id for the one conversation.")] = None,
        sealed_by: SealedBy = None,
    ) -> ArchiveImportReport:
        """Import an archive: all of it in one step, or nothing.

        `scope` and `private` must be those of the archive. `bootstrap` requires that the scope is empty here; `restore`
        replaces it: those conversations are erased, and their names lead to the imported ones. So are memory and tool
        registries, unless the archive says nothing of them. `into` gives one conversation another id. Events keep their
        times and get new keys; other scopes are not touched. What was erased or forgotten here does not come back: it
        is imported without content, and a registry not at all. Appends the events of the archive and
        `archive.imported`. Needs the right to administer as well. Raises `archive.refused` for a file that fails a
        check or is not the requested one, `archive.conflict` for what blocks the import (a hold or a legal minimum
        too), `key.wrong`.
        """
        check_into(scope, into)
        with going_back(stream_of(file)) as stream:
            archive = ArchiveFile(self._session, stream, sealed_by)
            return import_archive(self._session, archive, scope, private, mode, into)
