"""The noun group `archives`: a part of a space as one sealed document, out and in."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from muniment.declaration.operation import Group, operation
from muniment.declaration.session import Session
from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial
from muniment.events.identity import ConversationId
from muniment.governance.access import Effect
from muniment.operations.archives.document import ArchiveRoot
from muniment.operations.archives.export_archive import ArchiveReport, Archiving
from muniment.operations.archives.import_archive import ArchiveImporting, ArchiveImportReport
from muniment.operations.archives.scopes import check_into


class ArchiveCheck(Struct, frozen=True, kw_only=True):
    """An archive that holds to every rule: what it says of itself, and how many turns it holds."""

    root: ArchiveRoot
    turns: int


class Archives(Group):
    """A part of a space as one sealed document: write it, check it, import it."""

    name = "archives"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.ADMIN)
    def export(
        self,
        file: str,
        scope: ArchiveScope,
        private: PrivateMaterial = PrivateMaterial.EXCLUDE,
        sealed_by: str | None = None,
    ) -> ArchiveReport:
        """Export a part of the open space as an archive: a sealed document that another space can import.

        `scope` is one subject's part (conversations all of whose turns are of this mounted subject), the shared part
        (all others), or one conversation. With `private` excluded, words, aliases, attributes and derived references
        stay behind together; turns then travel as erased ones do, by who, when and what happened. Messages of soul
        governance never leave. Keys are never in an archive. `file` is a path on the machine that holds the store; the
        document is sealed with the root key of the store, or with what `sealed_by` names as --keys does. Appends
        `archive.exported` once the document was read back. The same part gives the same root digest again. Raises
        `file.taken`, `file.unavailable`, `access.denied` for words without the raw_owner view.
        """
        return Archiving(self._session, Path(file), scope, private, sealed_by).run()

    @operation(Effect.READ)
    def inspect(self, file: str, sealed_by: str | None = None) -> ArchiveCheck:
        """Check an archive without importing it: every line, and the root over all of them.

        `file` is a path on the machine that holds the store, so that this takes the right to administer as well. Raises
        `archive.refused`, `key.wrong`, `file.unavailable`.
        """
        self._session.access.require(Effect.ADMIN)
        root, turns = ArchiveImporting(self._session, Path(file), sealed_by).inspect()
        return ArchiveCheck(root=root, turns=turns)

    @operation(Effect.ERASE)
    def import_(
        self,
        file: str,
        scope: ArchiveScope,
        private: PrivateMaterial = PrivateMaterial.EXCLUDE,
        mode: ImportMode = ImportMode.BOOTSTRAP,
        into: ConversationId | None = None,
        sealed_by: str | None = None,
    ) -> ArchiveImportReport:
        """Import an archive: all of it in one step, or nothing.

        `scope` and `private` must be those of the archive. `bootstrap` wants nothing of the scope to be here; `restore`
        replaces what is here: those conversations are erased, and their names lead to what came in. `into` gives one
        conversation another id. Events keep their times and come under fresh keys; other scopes are not touched. Words
        of a turn that was erased here do not come back: the turn comes as erased. Appends the events of the archive and
        `archive.imported`. Takes the right to administer as well. Raises `archive.refused` for a document that does not
        hold or is not what was asked for, `archive.conflict` for what is in its way (a hold or a legal minimum too),
        `key.wrong`.
        """
        self._session.access.require(Effect.ADMIN)
        check_into(scope, into)
        return ArchiveImporting(self._session, Path(file), sealed_by).run(scope, private, mode, into)
