"""The events: what is written to the log, kind by kind.

An event has up to two parts that are sealed apart. `meta` says who, where and how; `content` is what somebody wrote.
Erasing destroys the key of `content` and leaves `meta`, so whatever a person may ask to be forgotten belongs into
`content` (decision 0003). Every body below is version 1 of its kind; `VERSION` counts up when a body changes shape,
and `events.cells` then learns to read the old shape. Fields are only ever added with a default, and a default never
changes: commitments are made over the fields as they are spelled here.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.events.archiving import ArchiveExported, ArchiveImported
from muniment.events.attributes import AttributeContent, AttributeRecorded
from muniment.events.changes import LifecycleRequest, PolicySet, TurnLifecycle, TurnRedacted
from muniment.events.disclosures import AccessRefused, ContentRevealed, ContextIssued
from muniment.events.message import Authority, Part, Role, Visibility
from muniment.events.references import RefDerived
from muniment.events.turn import Attribution, Delivery, Relation, Source


class EventKind(StrEnum):
    """The kinds of event of this release."""

    SPACE_OPENED = "space.opened"
    CONVERSATION_OPENED = "conversation.opened"
    ALIAS_RECORDED = "alias.recorded"
    TURN_COMMITTED = "turn.committed"
    TURN_REDACTED = "turn.redacted"
    TURN_LIFECYCLE = "turn.lifecycle"
    ATTR_RECORDED = "attr.recorded"
    REF_DERIVED = "ref.derived"
    KEY_ROTATED = "key.rotated"
    EXPORT_ISSUED = "export.issued"
    SPACE_RESTORED = "space.restored"
    ARCHIVE_EXPORTED = "archive.exported"
    ARCHIVE_IMPORTED = "archive.imported"
    POLICY_SET = "policy.set"
    SPACE_ERASED = "space.erased"
    CONTENT_REVEALED = "content.revealed"
    ACCESS_DENIED = "access.denied"
    CONTEXT_ISSUED = "context.issued"


class RotationCause(StrEnum):
    """Why the key of a space was replaced; the header of `key.rotated` names it in `reason`."""

    ERASURE = "erasure"
    REQUESTED = "requested"
    RESTORE = "restore"


class SpaceOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Position 0 of every log: the space has a name."""

    name: str


class ConversationOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The first event of a conversation's stream: its names."""

    channel: str
    conversation: str


class AliasRecorded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """For this subject the chat id stands for the conversation in whose stream this is."""

    subject: str
    channel: str
    chat: str


class DeliveryRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The turn's own id and what became of it."""

    turn: str
    status: Delivery


class MessageHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A message without its words. What is absent is the usual: the role's authority, the turn's speaker and time."""

    role: Role
    authority: Authority | None = None
    speaker_id: str | None = None
    speaker_kind: str | None = None
    observed_ms: int = 0


class ToolRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A tool observation without its summary."""

    id: str
    tool: str
    external: bool = False


class ReferenceRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A host reference without its label."""

    host: str
    type: str
    id: str
    relation: Relation
    visibility: Visibility


class TurnMeta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Who, where and how of a committed turn; it outlives the words. `attributed` fills in the actor."""

    actor: Attribution
    delivery: DeliveryRecord
    messages: list[MessageHead]
    source: Source = Source()
    tools: list[ToolRecord] = []
    host_refs: list[ReferenceRecord] = []
    external: bool = False
    candidates: list[str] = []


FROM_ARCHIVE = b"archive"  # in place of the digest of a turn that was handed over to somebody else


class TurnContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What was written in a turn: the parts of each message, the summaries and labels beside them.

    `digest` is the keyed digest of the turn as it was handed over; a repeat is held against it. It dies with the words
    (decision 0007) and is no field: nothing commits to it. A turn that came from an archive has
    `FROM_ARCHIVE` instead, one of which a message was erased has none (empty).
    """

    parts: list[list[Part]]
    digest: bytes
    summaries: list[str] = []
    labels: list[str | None] = []


class KeyRotated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """From here on the keyring is wrapped by this version of the space key."""

    version: int


class ExportGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Under which view a certified export was issued, to whom and what for."""

    view: str
    recipient: str | None = None
    purpose: str | None = None


class ExportIssued(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A certified export of a conversation (`refs.stream`) up to an event of it (`refs.through`)."""

    export: ExportGrant


class BackupRestore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A backup of so many events was put back; `erased_again` of its turns had been erased since.

    `former` is the signed checkpoint that the log grew to before and does not grow from any more.
    """

    events: int
    erased_again: int = 0
    former: str | None = None


class SpaceRestored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The log was put back from a backup. What is known to be lost stood from `refs.first` to `refs.last`."""

    restore: BackupRestore


class SpaceErasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The last event of a log: everything in the space was erased, and its keys are destroyed."""

    request: LifecycleRequest


MetaBody = (
    SpaceOpened
    | ConversationOpened
    | AliasRecorded
    | TurnMeta
    | TurnRedacted
    | TurnLifecycle
    | AttributeRecorded
    | RefDerived
    | KeyRotated
    | ExportIssued
    | SpaceRestored
    | ArchiveExported
    | ArchiveImported
    | PolicySet
    | SpaceErasure
    | ContentRevealed
    | AccessRefused
    | ContextIssued
)
ContentBody = TurnContent | AttributeContent

META_BODIES: dict[EventKind, type[MetaBody]] = {
    EventKind.SPACE_OPENED: SpaceOpened,
    EventKind.CONVERSATION_OPENED: ConversationOpened,
    EventKind.ALIAS_RECORDED: AliasRecorded,
    EventKind.TURN_COMMITTED: TurnMeta,
    EventKind.TURN_REDACTED: TurnRedacted,
    EventKind.TURN_LIFECYCLE: TurnLifecycle,
    EventKind.ATTR_RECORDED: AttributeRecorded,
    EventKind.REF_DERIVED: RefDerived,
    EventKind.KEY_ROTATED: KeyRotated,
    EventKind.EXPORT_ISSUED: ExportIssued,
    EventKind.SPACE_RESTORED: SpaceRestored,
    EventKind.ARCHIVE_EXPORTED: ArchiveExported,
    EventKind.ARCHIVE_IMPORTED: ArchiveImported,
    EventKind.POLICY_SET: PolicySet,
    EventKind.SPACE_ERASED: SpaceErasure,
    EventKind.CONTENT_REVEALED: ContentRevealed,
    EventKind.ACCESS_DENIED: AccessRefused,
    EventKind.CONTEXT_ISSUED: ContextIssued,
}

# kind -> the body of its content cell, for the kinds that have one
CONTENT_BODIES: dict[EventKind, type[ContentBody]] = {
    EventKind.TURN_COMMITTED: TurnContent,
    EventKind.ATTR_RECORDED: AttributeContent,
}

# kinds whose events target a turn, or all of them: what they say is folded into what a stream is (decision 0008)
CHANGES = frozenset({
    EventKind.TURN_REDACTED,
    EventKind.TURN_LIFECYCLE,
    EventKind.ATTR_RECORDED,
    EventKind.REF_DERIVED,
    EventKind.POLICY_SET,
})  # fmt: skip

# body type -> the version written today
VERSIONS: dict[type[Struct], int] = dict.fromkeys([*META_BODIES.values(), *CONTENT_BODIES.values()], 1)
