"""muniment stores the conversations of AI agents as encrypted, verifiable evidence and lets you query them.

This module refuses a platform that cannot keep a store, then re-exports the public names. A name is imported when it is
first used, so that `import muniment` costs a millisecond and a tool that only wants the version never loads a database
or a cipher.
"""

from importlib import import_module

try:
    import_module("fcntl")  # stands for all of POSIX that is used: flock, fsync of a directory, file modes, geteuid
except ImportError:
    raise ImportError(
        "muniment needs a POSIX platform (Linux, macOS): this Python has no `fcntl`, so it cannot lock the files of a "
        "store. Windows is not supported yet: install muniment inside WSL"
    ) from None

TYPE_CHECKING = False  # spelt like typing's, which would cost more than all the rest of this module
if TYPE_CHECKING:
    from muniment.client.connect import connect
    from muniment.client.destination import ConnectOptions
    from muniment.embedding.choice import EmbedderChoice, EmbedderKind
    from muniment.errors import Kind, MunimentError
    from muniment.events.approving import GuardedAct
    from muniment.events.attributes import (
        Attribute,
        AttributeGovernance,
        AttributeLink,
        AttributePolicy,
        AttributeScope,
        AttributeSource,
        AttributeTarget,
        SourceKind,
        ValueKind,
    )
    from muniment.events.changes import Action, RedactionReason, Transition
    from muniment.events.identity import ConversationKey
    from muniment.events.memory_governance import PolicyAction
    from muniment.events.memory_items import (
        Freshness,
        InvalidityGround,
        ItemKind,
        ItemPrivacy,
        ItemScope,
        ItemSourceType,
        MemoryPlane,
        StaleHint,
    )
    from muniment.events.message import (
        AttachmentPart,
        Authority,
        BlobPart,
        FilePart,
        Message,
        ReasoningPart,
        Role,
        TextPart,
        ToolCallPart,
        ToolCallResponsePart,
        UriPart,
    )
    from muniment.events.references import HostReference, Plane, Relation, Visibility
    from muniment.events.tool_registries import RegistryScope
    from muniment.events.turn import (
        Attribution,
        Delivery,
        Ingress,
        Protocol,
        Source,
        ToolObservation,
        input_of_history,
    )
    from muniment.evidence.cosignatures import HttpWitness
    from muniment.evidence.pin import FilePin
    from muniment.evidence.pins import PinFailure, Pins
    from muniment.formats.turns import Turn
    from muniment.formats.writing.chat_messages import anthropic_messages, langchain_messages, openai_messages
    from muniment.governance.access import Access, Effect
    from muniment.governance.client_scope import ClientScope
    from muniment.governance.detection.detection import Detect
    from muniment.governance.detection.scan import DetectedType, Detector
    from muniment.governance.limits import Limits
    from muniment.governance.listing import LifecycleFilter
    from muniment.governance.policy import Policy
    from muniment.governance.profiles import Pressure, PressureLevel, Profile
    from muniment.governance.views import View
    from muniment.kernel.sources import FixedClock, Sources
    from muniment.memory.amendment import (
        ChangeItemAudience,
        ChangeItemPrivacy,
        ChangeItemScope,
        CorrectItem,
        InvalidateItem,
        MarkItemStale,
        PinItem,
        RefreshItem,
        RestoreItem,
        SupersedeItem,
    )
    from muniment.memory.candidate import Candidate, ItemAudience, ItemSource, JudgedBy, Ruling, SemanticJudgement
    from muniment.memory.experience import ObservedOutcome, ReuseOutcome, ToolFeedback, ToolOutcome
    from muniment.memory.namespace import Namespace
    from muniment.memory.recall_weights import RecallPreset, RecallWeights
    from muniment.memory.skills import EditSkill, SkillStatus
    from muniment.memory.tool_registry import RegistryReference, RegistrySnapshot, ToolDescription
    from muniment.operations.attachments import AttachmentPlace
    from muniment.operations.context.prompt import Composition, Gaps, QuoteScope, Shape, SystemText
    from muniment.operations.conversations.activity import TimeRange
    from muniment.operations.conversations.listed import ConversationFilter
    from muniment.operations.events.space_event import EventTopic
    from muniment.operations.lifecycle.scope import Scope
    from muniment.operations.memory.forget_targets import ForgetTarget
    from muniment.operations.memory.prompt_report import BlockComposition
    from muniment.operations.memory.recall_report import RecallPlane, RecallRanking, RecallScope
    from muniment.operations.memory.selection import ItemFilter, ItemSelection
    from muniment.operations.notebook.decide_report import ProposalVerdict
    from muniment.operations.notebook.list_proposals import ProposalFilter
    from muniment.operations.notebook.policy_requests import MemorySelector
    from muniment.operations.provenance.derivations import Derivation
    from muniment.operations.provenance.links import MemoryKey
    from muniment.operations.transcripts.hits import Preset, SearchRanking, SearchScope, Sort
    from muniment.operations.transcripts.redact import Passage
    from muniment.operations.transcripts.timeline import Anchor, AnchorKind
    from muniment.ranking.weights import Weights
    from muniment.runtime.open import open as open  # noqa: A004 - muniment.open() is what a newcomer types
    from muniment.runtime.open import open_store as open_store
    from muniment.runtime.runtime import Runtime
    from muniment.space.options import Options
    from muniment.space.token_counter import token_counter
    from muniment.version import __version__

# Public name -> the module that defines it. schemas/api.txt is generated from this table.
_HOMES = {
    "Access": "muniment.governance.access",
    "Action": "muniment.events.changes",
    "Anchor": "muniment.operations.transcripts.timeline",
    "AnchorKind": "muniment.operations.transcripts.timeline",
    "AttachmentPart": "muniment.events.message",
    "AttachmentPlace": "muniment.operations.attachments",
    "Attribute": "muniment.events.attributes",
    "AttributeGovernance": "muniment.events.attributes",
    "AttributeLink": "muniment.events.attributes",
    "AttributePolicy": "muniment.events.attributes",
    "AttributeScope": "muniment.events.attributes",
    "AttributeSource": "muniment.events.attributes",
    "AttributeTarget": "muniment.events.attributes",
    "Attribution": "muniment.events.turn",
    "Authority": "muniment.events.message",
    "BlobPart": "muniment.events.message",
    "BlockComposition": "muniment.operations.memory.prompt_report",
    "Candidate": "muniment.memory.candidate",
    "ChangeItemPrivacy": "muniment.memory.amendment",
    "ChangeItemScope": "muniment.memory.amendment",
    "ClientScope": "muniment.governance.client_scope",
    "ConnectOptions": "muniment.client.destination",
    "Composition": "muniment.operations.context.prompt",
    "ConversationFilter": "muniment.operations.conversations.listed",
    "ConversationKey": "muniment.events.identity",
    "CorrectItem": "muniment.memory.amendment",
    "Delivery": "muniment.events.turn",
    "Derivation": "muniment.operations.provenance.derivations",
    "Detect": "muniment.governance.detection.detection",
    "DetectedType": "muniment.governance.detection.scan",
    "Detector": "muniment.governance.detection.scan",
    "Effect": "muniment.governance.access",
    "EmbedderChoice": "muniment.embedding.choice",
    "EmbedderKind": "muniment.embedding.choice",
    "EventTopic": "muniment.operations.events.space_event",
    "FilePart": "muniment.events.message",
    "FilePin": "muniment.evidence.pin",
    "FixedClock": "muniment.kernel.sources",
    "ForgetTarget": "muniment.operations.memory.forget_targets",
    "Freshness": "muniment.events.memory_items",
    "Gaps": "muniment.operations.context.prompt",
    "GuardedAct": "muniment.events.approving",
    "HostReference": "muniment.events.references",
    "HttpWitness": "muniment.evidence.cosignatures",
    "Ingress": "muniment.events.turn",
    "ChangeItemAudience": "muniment.memory.amendment",
    "ItemAudience": "muniment.memory.candidate",
    "MemorySelector": "muniment.operations.notebook.policy_requests",
    "PolicyAction": "muniment.events.memory_governance",
    "ProposalFilter": "muniment.operations.notebook.list_proposals",
    "ProposalVerdict": "muniment.operations.notebook.decide_report",
    "InvalidateItem": "muniment.memory.amendment",
    "InvalidityGround": "muniment.events.memory_items",
    "ItemFilter": "muniment.operations.memory.selection",
    "ItemKind": "muniment.events.memory_items",
    "ItemPrivacy": "muniment.events.memory_items",
    "ItemScope": "muniment.events.memory_items",
    "ItemSelection": "muniment.operations.memory.selection",
    "ItemSource": "muniment.memory.candidate",
    "ItemSourceType": "muniment.events.memory_items",
    "JudgedBy": "muniment.memory.candidate",
    "Kind": "muniment.errors",
    "LifecycleFilter": "muniment.governance.listing",
    "Limits": "muniment.governance.limits",
    "MarkItemStale": "muniment.memory.amendment",
    "Namespace": "muniment.memory.namespace",
    "EditSkill": "muniment.memory.skills",
    "RegistryReference": "muniment.memory.tool_registry",
    "RegistryScope": "muniment.events.tool_registries",
    "RegistrySnapshot": "muniment.memory.tool_registry",
    "ReuseOutcome": "muniment.memory.experience",
    "ToolDescription": "muniment.memory.tool_registry",
    "ToolFeedback": "muniment.memory.experience",
    "ObservedOutcome": "muniment.memory.experience",
    "ToolOutcome": "muniment.memory.experience",
    "SkillStatus": "muniment.memory.skills",
    "MemoryKey": "muniment.operations.provenance.links",
    "MemoryPlane": "muniment.events.memory_items",
    "Message": "muniment.events.message",
    "MunimentError": "muniment.errors",
    "Options": "muniment.space.options",
    "Passage": "muniment.operations.transcripts.redact",
    "PinFailure": "muniment.evidence.pins",
    "PinItem": "muniment.memory.amendment",
    "Pins": "muniment.evidence.pins",
    "Plane": "muniment.events.references",
    "Policy": "muniment.governance.policy",
    "Preset": "muniment.operations.transcripts.hits",
    "Pressure": "muniment.governance.profiles",
    "PressureLevel": "muniment.governance.profiles",
    "Profile": "muniment.governance.profiles",
    "Protocol": "muniment.events.turn",
    "QuoteScope": "muniment.operations.context.prompt",
    "ReasoningPart": "muniment.events.message",
    "RecallPlane": "muniment.operations.memory.recall_report",
    "RecallPreset": "muniment.memory.recall_weights",
    "RecallRanking": "muniment.operations.memory.recall_report",
    "RecallScope": "muniment.operations.memory.recall_report",
    "RecallWeights": "muniment.memory.recall_weights",
    "RedactionReason": "muniment.events.changes",
    "RefreshItem": "muniment.memory.amendment",
    "Relation": "muniment.events.references",
    "RestoreItem": "muniment.memory.amendment",
    "Role": "muniment.events.message",
    "Ruling": "muniment.memory.candidate",
    "Runtime": "muniment.runtime.runtime",
    "Scope": "muniment.operations.lifecycle.scope",
    "SearchRanking": "muniment.operations.transcripts.hits",
    "SearchScope": "muniment.operations.transcripts.hits",
    "SemanticJudgement": "muniment.memory.candidate",
    "Shape": "muniment.operations.context.prompt",
    "Sort": "muniment.operations.transcripts.hits",
    "Source": "muniment.events.turn",
    "SourceKind": "muniment.events.attributes",
    "Sources": "muniment.kernel.sources",
    "StaleHint": "muniment.events.memory_items",
    "SupersedeItem": "muniment.memory.amendment",
    "SystemText": "muniment.operations.context.prompt",
    "TextPart": "muniment.events.message",
    "TimeRange": "muniment.operations.conversations.activity",
    "ToolCallPart": "muniment.events.message",
    "ToolCallResponsePart": "muniment.events.message",
    "ToolObservation": "muniment.events.turn",
    "Transition": "muniment.events.changes",
    "Turn": "muniment.formats.turns",
    "UriPart": "muniment.events.message",
    "ValueKind": "muniment.events.attributes",
    "View": "muniment.governance.views",
    "Visibility": "muniment.events.references",
    "Weights": "muniment.ranking.weights",
    "__version__": "muniment.version",
    "anthropic_messages": "muniment.formats.writing.chat_messages",
    "connect": "muniment.client.connect",
    "input_of_history": "muniment.events.turn",
    "langchain_messages": "muniment.formats.writing.chat_messages",
    "open": "muniment.runtime.open",
    "open_store": "muniment.runtime.open",
    "openai_messages": "muniment.formats.writing.chat_messages",
    "token_counter": "muniment.space.token_counter",
}

__all__ = [
    "Access",
    "Action",
    "Anchor",
    "AnchorKind",
    "AttachmentPart",
    "AttachmentPlace",
    "Attribute",
    "AttributeGovernance",
    "AttributeLink",
    "AttributePolicy",
    "AttributeScope",
    "AttributeSource",
    "AttributeTarget",
    "Attribution",
    "Authority",
    "BlobPart",
    "BlockComposition",
    "Candidate",
    "ChangeItemAudience",
    "ChangeItemPrivacy",
    "ChangeItemScope",
    "ClientScope",
    "Composition",
    "ConnectOptions",
    "ConversationFilter",
    "ConversationKey",
    "CorrectItem",
    "Delivery",
    "Derivation",
    "Detect",
    "DetectedType",
    "Detector",
    "EditSkill",
    "Effect",
    "EmbedderChoice",
    "EmbedderKind",
    "EventTopic",
    "FilePart",
    "FilePin",
    "FixedClock",
    "ForgetTarget",
    "Freshness",
    "Gaps",
    "GuardedAct",
    "HostReference",
    "HttpWitness",
    "Ingress",
    "InvalidateItem",
    "InvalidityGround",
    "ItemAudience",
    "ItemFilter",
    "ItemKind",
    "ItemPrivacy",
    "ItemScope",
    "ItemSelection",
    "ItemSource",
    "ItemSourceType",
    "JudgedBy",
    "Kind",
    "LifecycleFilter",
    "Limits",
    "MarkItemStale",
    "MemoryKey",
    "MemoryPlane",
    "MemorySelector",
    "Message",
    "MunimentError",
    "Namespace",
    "ObservedOutcome",
    "Options",
    "Passage",
    "PinFailure",
    "PinItem",
    "Pins",
    "Plane",
    "Policy",
    "PolicyAction",
    "Preset",
    "Pressure",
    "PressureLevel",
    "Profile",
    "ProposalFilter",
    "ProposalVerdict",
    "Protocol",
    "QuoteScope",
    "ReasoningPart",
    "RecallPlane",
    "RecallPreset",
    "RecallRanking",
    "RecallScope",
    "RecallWeights",
    "RedactionReason",
    "RefreshItem",
    "RegistryReference",
    "RegistryScope",
    "RegistrySnapshot",
    "Relation",
    "RestoreItem",
    "ReuseOutcome",
    "Role",
    "Ruling",
    "Runtime",
    "Scope",
    "SearchRanking",
    "SearchScope",
    "SemanticJudgement",
    "Shape",
    "SkillStatus",
    "Sort",
    "Source",
    "SourceKind",
    "Sources",
    "StaleHint",
    "SupersedeItem",
    "SystemText",
    "TextPart",
    "TimeRange",
    "ToolCallPart",
    "ToolCallResponsePart",
    "ToolDescription",
    "ToolFeedback",
    "ToolObservation",
    "ToolOutcome",
    "Transition",
    "Turn",
    "UriPart",
    "ValueKind",
    "View",
    "Visibility",
    "Weights",
    "__version__",
    "anthropic_messages",
    "connect",
    "input_of_history",
    "langchain_messages",
    "open",
    "open_store",
    "openai_messages",
    "token_counter",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
