"""The events: their kinds and the bodies that are written to the log.

An event has up to two parts, encrypted separately. `meta` says who, where and how; `content` is what somebody wrote.
Erasing destroys the key of `content` and keeps `meta`, so everything that a person may want erased belongs in
`content` (decision 0003). Every body below is version 1 of its kind. A body that changes shape gets the next version,
and `events.cells` still reads the old shape. New fields have a default, and a default never changes: commitments are
made over the fields as they are spelled here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.events.approving import ApprovalDecided, ApprovalRequested, ApprovalSet
from muniment.events.archive import ArchiveExported, ArchiveImported
from muniment.events.attributes import AttributeContent, AttributeRecorded
from muniment.events.changes import ERASED, LifecycleRequest, PolicySet, TurnLifecycle, TurnRedacted
from muniment.events.disclosures import (
    AccessRefused,
    ContentExported,
    ContentRead,
    ContentRevealed,
    ContextIssued,
    ErasureRefused,
)
from muniment.events.memory_governance import MemoryPolicySet, RunRecorded
from muniment.events.memory_items import ItemContent, ItemMeta, ItemRetired, ItemRevised, NotebookOpened
from muniment.events.message import Authority, Part, Role
from muniment.events.references import RefDerived, Relation, Visibility
from muniment.events.tool_registries import RegistryContent, ToolsRegistered, ToolsRemoved
from muniment.events.turn import Attribution, Delivery, Source
from muniment.events.wording import WordField, WordFields, Words, without_words


class EventKind(StrEnum):
    """The kinds of event that this release knows."""

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
    SIGNER_ANNOUNCED = "signer.announced"
    ARCHIVE_EXPORTED = "archive.exported"
    ARCHIVE_IMPORTED = "archive.imported"
    POLICY_SET = "policy.set"
    SPACE_ERASED = "space.erased"
    CONTENT_REVEALED = "content.revealed"
    ACCESS_DENIED = "access.denied"
    CONTEXT_ISSUED = "context.issued"
    ERASURE_REFUSED = "erasure.refused"
    APPROVAL_SET = "approval.set"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_DECIDED = "approval.decided"
    CONTENT_READ = "content.read"
    CONTENT_EXPORTED = "content.exported"
    NOTEBOOK_OPENED = "notebook.opened"
    ITEM_RECORDED = "item.recorded"
    ITEM_REVISED = "item.revised"
    ITEM_RETIRED = "item.retired"
    MEMORY_POLICY_SET = "memory_policy.set"
    RUN_RECORDED = "run.recorded"
    TOOLS_REGISTERED = "tools.registered"
    TOOLS_REMOVED = "tools.removed"


class RotationCause(StrEnum):
    """Why the key of a space was replaced; the header of `key.rotated` names it in `reason`."""

    ERASURE = "erasure"
    REQUESTED = "requested"
    RESTORE = "restore"


class SpaceOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Position 0 of every log: the name of the space."""

    name: str


class ConversationOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The first event of a conversation's stream: its names."""

    channel: str
    conversation: str


class AliasRecorded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """For this subject, the chat id is an alias of the conversation that has this event in its stream."""

    subject: str
    channel: str
    chat: str


class DeliveryRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The turn's own id and how its exchange ended."""

    turn: str
    status: Delivery


class MessageHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A message without its content. An absent authority is that of the role, an absent time that of the commit.

    `governance.shown_speaker` says who is shown as the speaker.
    """

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
    """Who, where and how of a committed turn; it survives erasure. `attributed` fills in the actor."""

    actor: Attribution
    delivery: DeliveryRecord
    messages: list[MessageHead]
    source: Source = Source()
    tools: list[ToolRecord] = []
    host_refs: list[ReferenceRecord] = []
    external: bool = False
    candidates: list[str] = []


FROM_ARCHIVE = b"archive"  # instead of a digest: the turn was committed to another log


class TurnContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The content of a turn: the parts of each message, the summaries of tools, the labels of host references.

    `digest` is the keyed digest of the turn as it was committed; a repeated commit is compared with it. It is erased
    with the content (decision 0007) and is no field: no commitment covers it. An imported turn has `FROM_ARCHIVE`
    instead, a turn with an erased message has an empty digest.
    """

    parts: list[list[Part]]
    digest: bytes
    summaries: list[str] = []
    labels: list[str | None] = []


class KeyRotated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """From this event on, this version of the space key seals the keys of segments."""

    version: int


class ExportGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The view, recipient and purpose of an export on record, and the subject that its caller acted for.

    An export of what concerns one subject names that subject.
    """

    view: str
    recipient: str | None = None
    purpose: str | None = None
    subject: str | None = None


class ExportIssued(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A certified export of a conversation (`refs.stream`) up to an event of it (`refs.through`)."""

    export: ExportGrant


class BackupRestore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A backup of `events` events was restored; `erased_again` of its turns had been erased after the backup.

    `former` is the signed checkpoint that the log had reached before, and that it no longer extends.
    """

    events: int
    erased_again: int = 0
    former: str | None = None


class SpaceRestored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The log was restored from a backup. Known lost events had the positions `refs.first` to `refs.last`."""

    restore: BackupRestore


class SignerAnnounced(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """From this event on another key signs the log: the checkpoint of the former key, just before, that names it.

    Where the origin is another one, too, the log was restored there from a backup, and another life of it began.
    """

    announcement: str


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
    | SignerAnnounced
    | ArchiveExported
    | ArchiveImported
    | PolicySet
    | SpaceErasure
    | ContentRevealed
    | AccessRefused
    | ContextIssued
    | ErasureRefused
    | ApprovalSet
    | ApprovalRequested
    | ApprovalDecided
    | ContentRead
    | ContentExported
    | NotebookOpened
    | ItemMeta
    | ItemRevised
    | ItemRetired
    | MemoryPolicySet
    | RunRecorded
    | ToolsRegistered
    | ToolsRemoved
)
ContentBody = TurnContent | AttributeContent | ItemContent | RegistryContent | Words

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
    EventKind.SIGNER_ANNOUNCED: SignerAnnounced,
    EventKind.ARCHIVE_EXPORTED: ArchiveExported,
    EventKind.ARCHIVE_IMPORTED: ArchiveImported,
    EventKind.POLICY_SET: PolicySet,
    EventKind.SPACE_ERASED: SpaceErasure,
    EventKind.CONTENT_REVEALED: ContentRevealed,
    EventKind.ACCESS_DENIED: AccessRefused,
    EventKind.CONTEXT_ISSUED: ContextIssued,
    EventKind.ERASURE_REFUSED: ErasureRefused,
    EventKind.APPROVAL_SET: ApprovalSet,
    EventKind.APPROVAL_REQUESTED: ApprovalRequested,
    EventKind.APPROVAL_DECIDED: ApprovalDecided,
    EventKind.CONTENT_READ: ContentRead,
    EventKind.CONTENT_EXPORTED: ContentExported,
    EventKind.NOTEBOOK_OPENED: NotebookOpened,
    EventKind.ITEM_RECORDED: ItemMeta,
    EventKind.ITEM_REVISED: ItemRevised,
    EventKind.ITEM_RETIRED: ItemRetired,
    EventKind.MEMORY_POLICY_SET: MemoryPolicySet,
    EventKind.RUN_RECORDED: RunRecorded,
    EventKind.TOOLS_REGISTERED: ToolsRegistered,
    EventKind.TOOLS_REMOVED: ToolsRemoved,
}

REASON, REMARK, OFFSET = WordField(ERASED, ERASED), WordField(None, ERASED), WordField(None, None)

# body -> those of its fields that hold what a person wrote, by label; they are kept in the content cell (decision 0158)
WORDS: dict[type[Struct], WordFields] = {
    TurnRedacted: {"request/reason": REASON, "target/start": OFFSET, "target/end": OFFSET},
    TurnLifecycle: {"request/reason": REASON},
    ContentRevealed: {"request/reason": REASON},
    ErasureRefused: {"request/reason": REASON},
    ApprovalRequested: {"request/reason": REASON, "exact/digest": REASON},
    ApprovalDecided: {"request/reason": REASON},
    ExportIssued: {"export/purpose": REMARK},
    ContentExported: {"export/purpose": REMARK},
    ItemRevised: {
        "request/reason": REASON,
        **{f"revision/{name}": REMARK for name in ("text", "topic", "title", "summary", "note")},
    },
    ItemRetired: {"request/reason": REASON},
    MemoryPolicySet: {"request/reason": REASON},
    ToolsRemoved: {"request/reason": REASON},
}

# kind -> the body of its content cell, for the kinds that have one
CONTENT_BODIES: dict[EventKind, type[ContentBody]] = {
    EventKind.TURN_COMMITTED: TurnContent,
    EventKind.ATTR_RECORDED: AttributeContent,
    EventKind.ITEM_RECORDED: ItemContent,
    EventKind.TOOLS_REGISTERED: RegistryContent,
    **{kind: Words for kind, body in META_BODIES.items() if body in WORDS},
}


class StreamShape(NamedTuple):
    """What a type of stream consists of: the kind that opens it and, unless it has none, its entries.

    An entry is what later events may change: its type, the kind that commits it, and the kind whose events archive,
    mask, hold or erase it. A log tells entries and types by its headers and heads, never by kinds.
    """

    type: str
    opened: str
    entry: str | None = None
    committed: str | None = None
    lifecycle: str | None = None


SPACE = StreamShape("space", EventKind.SPACE_OPENED)
CONVERSATION = StreamShape(
    "conversation", EventKind.CONVERSATION_OPENED, "turn", EventKind.TURN_COMMITTED, EventKind.TURN_LIFECYCLE
)
NOTEBOOK = StreamShape("notebook", EventKind.NOTEBOOK_OPENED, "item", EventKind.ITEM_RECORDED, EventKind.ITEM_RETIRED)
STREAM_SHAPES = [SPACE, CONVERSATION, NOTEBOOK]

OPENS = {shape.opened: shape.type for shape in STREAM_SHAPES}  # kind -> the type of stream that it opens
ENTRIES = {shape.committed: shape.entry for shape in STREAM_SHAPES if shape.committed and shape.entry}
LIFECYCLES = [shape.lifecycle for shape in STREAM_SHAPES if shape.lifecycle]

LifecycleBody = TurnLifecycle | ItemRetired  # what the events of these kinds say

# kinds whose events change turns: current state is the fold of a commit and of these (decision 0008)
CHANGES = frozenset({
    EventKind.TURN_REDACTED,
    EventKind.TURN_LIFECYCLE,
    EventKind.ATTR_RECORDED,
    EventKind.REF_DERIVED,
    EventKind.POLICY_SET,
    EventKind.ERASURE_REFUSED,
    EventKind.APPROVAL_SET,
    EventKind.APPROVAL_REQUESTED,
    EventKind.APPROVAL_DECIDED,
    EventKind.ITEM_REVISED,
    EventKind.ITEM_RETIRED,
    EventKind.MEMORY_POLICY_SET,
    EventKind.RUN_RECORDED,
})  # fmt: skip

# body type -> the version written today
VERSIONS: dict[type[Struct], int] = dict.fromkeys([*META_BODIES.values(), *CONTENT_BODIES.values()], 1)


def worded_no_more(meta: MetaBody) -> MetaBody:
    """Return a meta body as it is read once the words in it are gone."""
    words = WORDS.get(type(meta))
    return meta if words is None else without_words(meta, words)
