"""The noun group `spaces`: which there are, what comes in and goes out, how much they hold, their keys."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from muniment.declaration.operation import Document, Group, operation
from muniment.declaration.session import Session
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationKey, SpaceName, SubjectId, check_name
from muniment.events.records import RotationCause
from muniment.formats.reading.import_format import Format
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.access import Effect
from muniment.governance.views import View
from muniment.operations.spaces.backup.restore import RestoreReport, open_backup, restore_backup
from muniment.operations.spaces.backup.take import Backup, take_backup
from muniment.operations.spaces.export_conversation import export_conversation
from muniment.operations.spaces.import_file import Importing, ImportReport
from muniment.space.rotation import nothing_else

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
    """What a rotation did: of the space key (version, bundles, versions destroyed) or of the root key (spaces)."""

    version: int | None = None
    bundles_rewrapped: int | None = None
    versions_destroyed: int | None = None
    spaces_rewrapped: int | None = None


class Spaces(Group):
    """Which spaces there are, what they hold, and their keys."""

    name = "spaces"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.ADMIN)
    def list_(self) -> SpaceList:
        """List the spaces of the store by name."""
        return SpaceList(spaces=[SpaceName(name) for name in self._session.store.names()])

    @operation(Effect.APPEND)
    def import_(
        self,
        file: str,
        format: Format = Format.AUTO,  # noqa: A002 - what the option is called everywhere
        channel: Channel = DEFAULT_CHANNEL,
        subject: SubjectId = IMPORTED,
    ) -> ImportReport:
        """Import the conversations of a file: JSON Lines or a JSON document, plain or gzip.

        Reads messages in OpenTelemetry parts (`otel`), OpenAI chats (`openai`), the exports of ChatGPT (`chatgpt`) and
        Claude (`claude`), logged requests to the Messages API of Anthropic (`anthropic`) and messages of LangChain
        (`langchain`). Groups messages into turns (a turn starts at a user message) and commits them under ids that
        follow from their place in their conversation, so that a repeat adds nothing, also after an interruption, and a
        file that grew adds what is new. A line or message that is not understood is refused by its place and the others
        are kept; content of unknown types is kept as JSON and what has no place here is left out, both counted by kind;
        a turn whose earlier import said something else is reported and left as it was. `file` is a path on the machine
        that holds the store, so that importing takes the right to administer as well. Raises `file.unavailable`, and
        `request.invalid` for a file in which nothing is of any format.
        """
        self._session.access.require(Effect.ADMIN)
        check_name(channel, at="channel")
        check_name(subject, at="subject")
        return Importing(self._session, Path(file), format, channel, subject).run()

    @operation(Effect.READ)
    def export(
        self,
        conversation: ConversationKey,
        format: ExportFormat = ExportFormat.MARKDOWN,  # noqa: A002 - what the option is called everywhere
        view: View = View.EXPORT,
    ) -> Document:
        """Export a conversation as a view shows it: for people, for models, or to be imported again.

        `markdown` is a transcript in which nothing that was said can pass for structure; `openai` the messages of a
        chat; `otel` the lines that an import reads back. What the view withholds stands there as withheld, with its
        reason. Nothing proves such a document: for evidence see `evidence.export`. Raises
        `transcript.unknown_conversation`, and `request.limit_exceeded` for a document of more than 64 MiB.
        """
        self._session.access.require_view(view)
        self._session.check_key(conversation)
        return export_conversation(self._session, conversation, format, view)

    @operation(Effect.ADMIN)
    def backup(self, target: str, keyring: str | None = None, sealed_by: str | None = None) -> Backup:
        """Write a backup of the open space: its log and its keys, as two sealed files.

        `target` is a directory on the machine that holds the store; `log.sealed` and `keys.sealed` are written there,
        or the latter into the directory `keyring`, so that the two never lie together. Nothing in them is readable
        without the root key of the store, or without the key that `sealed_by` names as --keys does (a passphrase, a key
        file that is made when there is none). Others may go on writing meanwhile. Both files are read back and held to
        every rule before they get their names. Appends nothing. Raises `file.taken` rather than write over anything,
        `file.unavailable`.
        """
        keys = None if keyring is None else Path(keyring)
        return take_backup(self._session, Path(target), keys, sealed_by)

    @operation(Effect.ERASE, spaceless=True)
    def restore(
        self,
        source: str,
        keyring: str | None = None,
        sealed_by: str | None = None,
        replace: bool = False,
        dry_run: bool = False,
    ) -> RestoreReport:
        """Restore a space from a backup, under its own name, whole or not at all.

        `source`, `keyring` and `sealed_by` are those of the backup. The space may be new to the store, also to one with
        another root key. Where it exists, or where a pin remembers more than the backup holds, `replace` must say that
        this is meant: what came after the backup is then lost, and the report says which positions. What the present
        log has erased is erased again. Every cursor ends. Appends `space.restored`. With `dry_run` the backup is
        verified and the report says what would happen. Takes the right to administer as well. Raises
        `backup.restore_conflict`, `key.wrong`, `store.corrupt`, `file.unavailable`.
        """
        self._session.access.require(Effect.ADMIN)
        keys = None if keyring is None else Path(keyring)
        backup = open_backup(self._session, Path(source), keys, sealed_by)
        return restore_backup(self._session, backup, replace=replace, dry_run=dry_run)

    @operation(Effect.READ)
    def usage(self) -> Usage:
        """Count what the open space holds; of conversations, those that are found under their names."""
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

    @operation(Effect.ADMIN)
    def rotate(self, root: str | None = None) -> KeysRotated:
        """Turn keys over: the key of the open space, or with `root` the root key of the whole store.

        The space key: wraps every bundle anew, destroys the older versions, appends `key.rotated`. The root key: `root`
        names the new one (`file:/path`, `env:NAME`, ...; a key file is made when there is none); the secrets of every
        space are wrapped anew. Neither touches an event, a cell or a proof.
        """
        if root is not None:
            return KeysRotated(spaces_rewrapped=self._session.store.rotate_root(root))
        done = self._session.space.rotate(RotationCause.REQUESTED, nothing_else)
        return KeysRotated(
            version=done.version,
            bundles_rewrapped=done.bundles_rewrapped,
            versions_destroyed=done.versions_destroyed,
        )
