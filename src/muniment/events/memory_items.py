"""Memory items: what a host concluded from turns, as entries of a notebook.

A notebook is a stream of the log, one for each subject and plane. An item is an entry of it, as a turn is an entry of a
conversation; `item.revised` and `item.retired` target it. Its encrypted meta has ids, names, numbers and times, and
survives an erasure. What it says (topic, text, keywords, tags, entities) is content and is destroyed when it is
forgotten, with the words of all its revisions.

An item names the turns that it rests on as its host does; a `ref.derived` in the stream of each of these proves them.
`memory.fold` says what becomes of an item that was revised, `memory.kinds` which words go together.

A proposal is an entry, too: what an item would say, in no slot and never in use, until somebody decides about it. So
are the words of a policy about the subject (`events.memory_governance`).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.events.changes import LifecycleRequest
from muniment.events.references import SourceEvidence


class MemoryPlane(StrEnum):
    """The part of a memory that a notebook belongs to."""

    LONG_TERM = "long_term"
    SHARED_FACT = "shared_fact"
    RUNTIME_SKILL = "runtime_skill"
    TOOL_EXPERIENCE = "tool_experience"
    SUMMARY = "summary"
    DIARY = "diary"


class ItemKind(StrEnum):
    """What an item is about. Names of other systems for these are in `memory.kinds`."""

    PREFERENCE = "preference"
    PROFILE = "profile"
    RELATIONSHIP = "relationship"
    PROJECT = "project"
    TASK = "task"
    CONSTRAINT = "constraint"
    FACT = "fact"
    DECISION = "decision"
    CORRECTION = "correction"
    PROCEDURE = "procedure"
    EXPERIENCE = "experience"
    SUMMARY = "summary"
    DIARY = "diary"


class ItemPrivacy(StrEnum):
    """Who may see an item."""

    PUBLIC_RUNTIME = "public_runtime"
    SHARED_WITH_SUBJECT = "shared_with_subject"
    PRIVATE_GARDEN = "private_garden"
    SOUL_PRIVATE = "soul_private"
    OPERATOR_DIAGNOSTIC = "operator_diagnostic"


class ItemSourceType(StrEnum):
    """How an item was learned."""

    CONVERSATION = "conversation"
    MANUAL_TOOL = "manual_tool"
    SYSTEM_RUNTIME = "system_runtime"
    EXTERNAL_OBSERVATION = "external_observation"
    IMPORTED = "imported"


class ItemScope(StrEnum):
    """What an item holds for: one chat, everything of its subject, or the world."""

    CHAT = "chat"
    USER = "user"
    WORLD = "world"


class Freshness(StrEnum):
    """How fast an item ages."""

    STABLE = "stable"
    DYNAMIC = "dynamic"
    VOLATILE = "volatile"


class StaleHint(StrEnum):
    """What a reader should do before relying on an item."""

    NONE = "none"
    REVIEW_BEFORE_USE = "review_before_use"
    VERIFY_AGAINST_CURRENT_STATE = "verify_against_current_state"


class Retirement(StrEnum):
    """Why an item was taken out of use. What was forgotten or replaced is destroyed; the others can be restored."""

    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"
    EVICTED = "evicted"
    UNDONE = "undone"
    SOURCE_GONE = "source_gone"
    FORGOTTEN = "forgotten"
    ACCEPTED = "accepted"  # of a proposal: an item says it now
    REJECTED = "rejected"  # of a proposal: somebody said no
    PROPOSED = "proposed"  # of a proposal nobody has decided about; no event names it
    POLICY = "policy"  # of the words of a policy; no event names it
    REPLACED = "replaced"  # an archive took the place of the notebook; nobody asked for it to be forgotten
    WITHDRAWN = "withdrawn"
    RESTORED = "restored"  # the other way round: it is in use again


class RevisionAction(StrEnum):
    """What a revision does; the header of `item.revised` names it in `reason`."""

    CORRECT = "correct"
    REFRESH = "refresh"
    MARK_STALE = "mark_stale"
    CHANGE_SCOPE = "change_scope"
    CHANGE_PRIVACY = "change_privacy"
    CHANGE_AUDIENCE = "change_audience"
    PIN = "pin"
    UNDO = "undo"
    CONFIRM = "confirm"
    EDIT = "edit"
    ENABLE = "enable"
    DISABLE = "disable"


class InvalidityGround(StrEnum):
    """On what ground an item was invalidated."""

    FACTUALLY_INCORRECT = "factually_incorrect"
    SOURCE_AUTHORITY_REVOKED = "source_authority_revoked"
    CONTRADICTED_BY_GOVERNED_EVIDENCE = "contradicted_by_governed_evidence"
    INTEGRITY_VIOLATION = "integrity_violation"


class NotebookOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The first event of a notebook's stream: whose items it has, and of which plane."""

    subject: str
    plane: MemoryPlane


class EntryRole(StrEnum):
    """What an entry of a notebook is; only items are ever in use."""

    ITEM = "item"
    PROPOSAL = "proposal"
    POLICY = "policy"


class Audience(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Which subjects may know of a shared fact: these alone, all but these, or (neither) all.

    Subjects are named as everywhere in meta bodies: their names outlive the erasure of what they said.
    """

    only: list[str] = []
    hidden_from: list[str] = []


class ObservedTool(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The tool that an experience is of: its id, that of its registry, and the fingerprint which that had then."""

    registry: str
    fingerprint: str
    tool: str


class Observations(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """How often a tool did what was asked of it, and how often it did not; what became of hints that were followed."""

    succeeded: int = 0
    failed: int = 0
    helped: int = 0
    misled: int = 0


class NamedSlot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The slot of a skill, or of an experience with a tool and what was observed of it: a name, which survives."""

    name: str
    tool: ObservedTool | None = None
    observations: Observations | None = None


class NotebookEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What an entry is and whom it is known to. `slot` is the keyed digest of the one that a proposal would take.

    `origin` is the name of what it was taken from outside of the log, as of a file. `named` is the slot of an item that
    has one by name.

    These are together because a body of more than 15 fields takes another form in MessagePack.
    """

    role: EntryRole = EntryRole.ITEM
    slot: str | None = None
    audience: Audience = Audience()
    origin: str | None = None
    named: NamedSlot | None = None


class ItemMeta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What survives the erasure of an item: ids, names, numbers and times.

    `confidence` and `importance` are thousandths. `observed_ms` is when it was true, `expires_ms` when it ends to be
    (0: never). An item without `evidence` was attested by `writer`, a person or a program. The `slot` of a skill
    and of an experience is a name, that of any other item is its kind and topic.
    """

    item: str
    kind: ItemKind
    writer: str
    observed_ms: int
    confidence: int
    importance: int = 500
    privacy: ItemPrivacy = ItemPrivacy.SHARED_WITH_SUBJECT
    source_type: ItemSourceType = ItemSourceType.CONVERSATION
    scope: ItemScope = ItemScope.USER
    freshness: Freshness = Freshness.STABLE
    pinned: bool = False
    expires_ms: int = 0
    evidence: list[SourceEvidence] = []
    run: str | None = None
    entry: NotebookEntry = NotebookEntry()


class ItemContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What an item says. `topic` and the kind are its slot: a newer statement there takes its place.

    `rationale` says why somebody proposes it. What is None has no field in the log. `note` is a remark of whoever
    operates the host.
    """

    topic: str
    text: str
    keywords: list[str] = []
    tags: list[str] = []
    entities: list[str] = []
    rationale: str | None = None
    title: str | None = None
    summary: str | None = None
    note: str | None = None


class Revision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What changes of an item; None stays as it is.

    `text`, `topic`, `title`, `summary` and `note` are words (`events.wording`). `evidence` and `observations` take the
    place of what was there.
    """

    text: str | None = None
    topic: str | None = None
    title: str | None = None
    summary: str | None = None
    note: str | None = None
    confidence: int | None = None
    privacy: ItemPrivacy | None = None
    scope: ItemScope | None = None
    stale: StaleHint | None = None
    pinned: bool | None = None
    confirmed_ms: int | None = None
    audience: Audience | None = None
    disabled: bool | None = None
    evidence: list[SourceEvidence] | None = None
    observations: Observations | None = None


class ItemRevised(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A revision of an item (`refs.turn` is its number in the notebook); the header names what kind in `reason`."""

    revision: Revision
    request: LifecycleRequest
    run: str | None = None


class ItemRetired(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One or more items were taken out of use, forgotten, or restored.

    The header says in `reason` what that is in the lifecycle of entries: `archive`, `erase` or `restore`. `successor`
    is the id of the item that took the place, `evidence` what an invalidation rests on.
    """

    request: LifecycleRequest
    cause: Retirement
    successor: str | None = None
    ground: InvalidityGround | None = None
    evidence: list[SourceEvidence] = []
    run: str | None = None
