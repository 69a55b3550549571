"""The noun group `spaces`: list them, import and export, back up and restore, count, rotate keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.operation import (
    SUBJECT_AND_CHANNELS,
    Document,
    Effect,
    Family,
    Group,
    SecondRight,
    ServerPath,
    Uploads,
    operation,
    sources_of,
)
from muniment.declaration.session import Session
from muniment.events.identity import DEFAULT_CHANNEL, Channel, SpaceName, SubjectId, check_name
from muniment.events.records import RotationCause
from muniment.formats.reading.import_format import Format
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.views import View
from muniment.operations.importing.import_report import ImportReport
from muniment.operations.importing.import_sources import import_sources
from muniment.operations.parameters import DryRun, InConversation, SealedBy, ThroughView
from muniment.operations.spaces.backup.restore import RestoreReport, open_backup, restore_backup
from muniment.operations.spaces.backup.take import Backup, take_backup
from muniment.operations.spaces.export_conversation import export_conversation
from muniment.operations.spaces.replace_signer import SignerReplaced, replace_signer
from muniment.space.rotation import everything

ON_SERVER = ServerPath(
    reason="a backup is two files that must not be kept together, and both are read back where they are written"
)
NO_ROOT_KEY = "a directory of the backup, not a root key as in --keys"
IMPORTED = SubjectId("imported")  # whose turns these are when nobody says


class SpaceList(Struct, frozen=True, kw_only=True):
    """The spaces of a store, by name."""

    spaces: list[SpaceName]


class Usage(Struct, frozen=True, kw_only=True):
    """What the open space holds, in numbers."""

    space: SpaceName
    log: str
    events: int
    conversations: int
    turns: int
    messages: int
    bytes: int


class KeysRotated(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a rotation did: of the space key (version, segments, versions destroyed) or of the root key (spaces)."""

    version: int | None = None
    segments_rekeyed: int | None = None
    versions_destroyed: int | None = None
    spaces_rewrapped: int | None = None


class Spaces(Group):
    """Spaces: what they hold, what comes in and goes out, their backups and their keys."""

    name = "spaces"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.ADMIN, family=Family.STORE, inspecting=True, request="ListSpacesRequest")
    def list_(self) -> SpaceList:
        """List the spaces of the store by name. A client, whose key is valid for one space, is refused."""
        self._session.require_owner("spaces")
        return SpaceList(spaces=[SpaceName(name) for name in self._session.store.names()])

    @operation(
        Effect.APPEND,
        family=Family.IMPORT,
        also=(SecondRight(effect=Effect.ADMIN),),
        idempotent=True,
        request="ImportConversationsRequest",
    )
    def import_(
        self,
        file: Annotated[
            Uploads,
            Meta(
                description="Files and folders, or - for standard input. JSON Lines, JSON or SQLite; plain, gzip, zip."
            ),
        ],
        format: Annotated[  # noqa: A002 - what the option is called everywhere
            Format, Meta(description="Format of the file. `auto` uses the first one that fits.")
        ] = Format.AUTO,
        channel: Annotated[Channel, Meta(description="Channel to import into.")] = DEFAULT_CHANNEL,
        subject: Annotated[SubjectId, Meta(description="Subject of the turns.")] = IMPORTED,
    ) -> ImportReport:
        """Import conversations: a file, several, a folder, or the zip archive of a data export.

        Reads messages in OpenTelemetry parts (`otel`), OpenAI chats (`openai`), the exports of ChatGPT (`chatgpt`) and
        Claude (`claude`), logged requests to the Messages API of Anthropic (`anthropic`) and messages of LangChain
        (`langchain`), as JSON Lines or a JSON document, plain or gzip; and, also while they are written, the SQLite
        databases of sessions of the OpenAI Agents SDK (`agents`) and of Google ADK (`adk`), and of checkpoints of
        LangGraph (`langgraph`). Of a folder every file is read, except hidden ones; of a zip archive that has
        `conversations.json`, this alone. The report says what became of each file.

        Groups messages into turns (a turn starts at a user message). The id of a turn is its number in the
        conversation, so that a repeat adds nothing, also after an interruption, and a file that grew adds what is new.
        A conversation without an id is named after the file and its line, in a folder or an archive after the path. A
        line or message that is not understood is refused, and the report says where; the others are imported, and
        every message is in the counts. Where something was refused or a file was damaged, the report is not
        `complete`, and a command ends with exit code 1. Content of unknown types is kept as JSON; both that and what
        is left out are counted by kind. A turn that differs from an earlier import is reported and not changed.

        Needs the right to administer as well, because a path can name any file of the machine. Raises
        `file.unavailable` for one file that cannot be read, `request.invalid` for one without any known format, and
        `request.limit_exceeded` for more than 10,000 files.
        """
        check_name(channel, at="channel")
        check_name(subject, at="subject")
        return import_sources(self._session, sources_of(file), format, channel, subject)

    @operation(Effect.READ, family=Family.EXPORT, heeds=SUBJECT_AND_CHANNELS, request="ExportConversationRequest")
    def export(
        self,
        conversation: InConversation,
        format: Annotated[ExportFormat, Meta(description="Format of the document.")] = ExportFormat.MARKDOWN,  # noqa: A002 - what the option is called everywhere
        view: ThroughView = View.EXPORT,
    ) -> Document:
        """Export a conversation as a view shows it: for people, for models, or for another import.

        `markdown` is a transcript in which quoted text cannot fake structure; `openai` the messages of a chat; `otel`
        lines that can be imported again. What the view withholds is marked as withheld, with its reason, and counted.
        Such a document proves nothing: for evidence see `evidence.export`. The store records it as `content.exported`.
        Raises `transcript.unknown_conversation`, and `request.limit_exceeded` for a document of more than 64 MiB.
        """
        self._session.access.require_view(view)
        self._session.check_key(conversation)
        return export_conversation(self._session, conversation, format, view)

    @operation(Effect.ADMIN, family=Family.STORE)
    def backup(
        self,
        target: Annotated[
            str,
            ON_SERVER,
            Meta(description="Directory of the new backup, on the machine of the store."),
        ],
        keyring: Annotated[
            str | None, ON_SERVER, Meta(description=f"Another directory for keys.sealed; {NO_ROOT_KEY}.")
        ] = None,
        sealed_by: SealedBy = None,
    ) -> Backup:
        """Write a backup of the open space: its log and its keys, as two encrypted files.

        Writes `log.sealed` and `keys.sealed` into the directory `target`, or the latter into `keyring`, to keep the two
        apart. Nothing in them is readable without the root key of the store, or without the key that `sealed_by` names
        (a passphrase, or a key file, which is created if it does not exist). Others can go on writing in the meantime.
        Both files are read back and checked completely before they get their names. Appends `content.exported`
        first, so that the backup holds it, too. Raises `file.taken` instead of overwriting a file, `file.unavailable`.
        """
        keys = None if keyring is None else Path(keyring)
        return take_backup(self._session, Path(target), keys, sealed_by)

    @operation(
        Effect.ERASE, family=Family.STORE, also=(SecondRight(effect=Effect.ADMIN),), spaceless=True, inspecting=True
    )
    def restore(
        self,
        source: Annotated[str, ON_SERVER, Meta(description="Directory of the backup, on the machine of the store.")],
        keyring: Annotated[
            str | None,
            ON_SERVER,
            Meta(description=f"Directory of keys.sealed, if another one; {NO_ROOT_KEY}."),
        ] = None,
        sealed_by: SealedBy = None,
        replace: Annotated[
            bool, Meta(description="Restore over an existing space, or one older than its pin.")
        ] = False,
        dry_run: DryRun = False,
    ) -> RestoreReport:
        """Restore a space from a backup, under its own name, completely or not at all.

        `source`, `keyring` and `sealed_by` are those of the backup. The space may be new to the store, even to one with
        another root key. If it exists, or if a pin remembers more than the backup holds, confirm with `replace`: what
        came after the backup is then lost, and the report says which positions. What the present log has erased is
        erased again. Every cursor becomes invalid. Appends `space.restored`. With `dry_run` the backup is verified and
        the report says what would happen. Needs the right to administer as well. Raises `backup.restore_conflict`,
        `key.wrong`, `store.corrupt`, `file.unavailable`.
        """
        keys = None if keyring is None else Path(keyring)
        backup = open_backup(self._session, Path(source), keys, sealed_by)
        return restore_backup(self._session, backup, replace=replace, dry_run=dry_run)

    @operation(Effect.READ, family=Family.STORE)
    def usage(self) -> Usage:
        """Count what the open space holds; of conversations, those that can be found by name."""
        space = self._session.space
        with space.ledger.reader() as reader:
            opened = space.transcript.conversations(reader)
            rows = [row for row in opened if space.transcript.is_current(reader, row)]
            heads = [space.transcript.head(reader, row.stream) for row in rows]
            return Usage(
                space=SpaceName(space.name),
                log=space.ledger.log,
                events=reader.frontier().size,
                conversations=len(rows),
                turns=sum(head.turns for head in heads),
                messages=sum(head.messages for head in heads),
                bytes=reader.size_bytes(),
            )

    @operation(Effect.ADMIN, family=Family.STORE, request="RotateKeysRequest")
    def rotate(
        self,
        root: Annotated[
            str | None,
            Meta(description="The new root key, as in --keys. Without it: rotate the key of the open space."),
        ] = None,
    ) -> KeysRotated:
        """Rotate the key of the open space, or with `root` the root key of the whole store.

        The space key: replaces the keys of all segments of the log, so that nobody who knew a former key opens what is
        there now, destroys the older versions, and appends `key.rotated`. The root key: `root` names the new one
        (`file:/path`, `env:NAME`, ...; a key file is created if it does not exist), and the secrets of every space are
        rewrapped. Neither changes an event, its content or a proof. A client may rotate the key of its space alone.
        """
        if root is not None:
            self._session.require_owner("root")
            return KeysRotated(spaces_rewrapped=self._session.store.rotate_root(root))
        done = self._session.space.rotate(RotationCause.REQUESTED, everything)
        return KeysRotated(
            version=done.version,
            segments_rekeyed=done.segments_rekeyed,
            versions_destroyed=done.versions_destroyed,
        )

    @operation(Effect.ADMIN, family=Family.STORE)
    def replace_signer(
        self,
        external: Annotated[
            bool, Meta(description="Use the key that is kept outside the store, by the signer in MUNIMENT_SIGNER.")
        ] = False,
    ) -> SignerReplaced:
        """Replace the key that signs the checkpoints of the open space.

        The former key announces its successor and is destroyed. Appends `signer.announced`. Evidence from now on
        carries the announcement, so that either public key verifies it; what was issued before verifies as before. A
        checkpoint by the former key of anything behind the announcement is refused beside it (`signer_replaced`). With
        `external` the successor never enters the store, and the signer is asked for every signature. Raises
        `signer.unavailable`, `signer.wrong`.
        """
        return replace_signer(self._session.space, external=external)
