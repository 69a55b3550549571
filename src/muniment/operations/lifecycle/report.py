"""What a request to the lifecycle reports: its struct, and the lists in it as they grow."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.changes import Action
from muniment.events.identity import Channel, ConversationId, ConversationKey, SpaceName, SubjectId, TurnId, message_id
from muniment.events.references import HostReference
from muniment.governance.budgets import BudgetApplied, applied, applied_to_slices
from muniment.governance.custody import Rule
from muniment.governance.detection.detection import NOWHERE
from muniment.governance.profiles import Budget, Ceiling
from muniment.governance.slices import RedactionItem, cut, hidden_references
from muniment.governance.views import View
from muniment.operations.not_done import AnsweredRequest
from muniment.operations.provenance.derived_refs import DerivedRef
from muniment.projections.transcript import ReadTurn


class ErasedPlace(Struct, frozen=True, kw_only=True):
    """One location of the content, and what was done there."""

    place: str
    done: str


class ErasureReceipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an erasure did. `outside` lists what no store can reach; `proof` is a C2SP tlog-proof of the event.

    An erasure that had to leave turns in between, or reached several conversations, is several events: `positions` are
    all of them, `position`, `leaf` and `proof` those of the first; `lifecycle receipts` has the proofs of the others.
    `experience_erased` counts those of the items that were experience with tools, `registries` are the ids of tool
    registries that went with their owner.
    """

    position: int
    leaf: str
    turns_erased: int
    places: list[ErasedPlace]
    outside: list[str]
    proof: str
    positions: list[int]
    items_erased: int = 0
    experience_erased: int = 0
    registries: list[str] = []


class AffectedConversation(Struct, frozen=True, kw_only=True):
    """What of a conversation a request affects, where it is about several."""

    channel: Channel
    conversation: ConversationId
    affected_turns: int
    turns: list[TurnId]


class KeptTurn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn whose words stay, and one thing that keeps it: a hold, or the policy with its legal minimum.

    `position` is that of the event; a turn that several holds keep is listed once for each. `turn` is absent where the
    turn does not open any more.
    """

    sequence: int
    rule: Rule
    position: int
    reason: str
    requester: str
    turn: TurnId | None = None
    keep_until_ms: int | None = None
    channel: Channel | None = None
    conversation: ConversationId | None = None


class HoldInForce(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hold of a turn (`first` is `last`), of a conversation (no `last`), of a subject, or of the space (no names)."""

    position: int
    reason: str
    requester: str
    requested_ms: int
    channel: Channel | None = None
    conversation: ConversationId | None = None
    first: int | None = None
    last: int | None = None
    subject: SubjectId | None = None


class RetentionInForce(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A retention policy in force: of a conversation, a channel (no conversation) or the space (neither)."""

    position: int
    reason: str
    requester: str
    channel: Channel | None = None
    conversation: ConversationId | None = None
    keep_at_least_ms: int | None = None
    erase_after_ms: int | None = None


class RefusedErasure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An erasure that was asked for and refused: of `kept_turns` turns between `first` and `last`, or of the space.

    `kept_by` has the positions of the holds and policies that kept them then.
    """

    position: int
    requester: str
    reason: str
    requested_ms: int
    kept_turns: int
    kept_by: list[int]
    conversation: ConversationKey | None = None
    first: int | None = None
    last: int | None = None
    message: int | None = None
    subject: SubjectId | None = None
    leaf: str | None = None
    proof: str | None = None


class LifecycleReport(AnsweredRequest, Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request did. `clipped`: lists were cut at a limit or budget; the counts are whole.

    It is about `conversation`, `subject` or `whole_space`; what is about several conversations lists them. Host
    references and derived references are those that the views of the caller show. `kept_turns` were to be erased and
    are not, `kept` says why; `affected_items` and `kept_items` count memory items, `memory_items` are the ids of those
    that go because they rest on nothing else, or are experience with tools of `registries`. These are the tool
    registries that go with their owner, `kept_registries` those that a hold keeps. `unreadable_turns` do not open any
    more and were left alone, because nobody can tell whether they belong to the scope. `holds` and `policies` are
    listed by a review: those in force that concern the scope; likewise `refused`, the erasures that were asked for and
    refused, the newest first.
    """

    conversation: ConversationKey | None = None
    subject: SubjectId | None = None
    whole_space: SpaceName | None = None
    transition: Action
    changed: bool
    affected_turns: int
    turns: list[TurnId]
    messages: list[str]
    host_refs: list[HostReference]
    host_refs_redacted: int
    items: list[RedactionItem]
    derived_refs: list[DerivedRef]
    derived_refs_total: int
    derived_refs_redacted: int = 0
    clipped: bool
    reason: str = ""
    requester: str = ""
    requested_ms: int = 0
    affected_items: int = 0
    kept_turns: int = 0
    kept_items: int = 0
    unreadable_turns: int = 0
    conversations: list[AffectedConversation] = []
    memory_items: list[str] = []
    registries: list[str] = []
    kept_registries: list[str] = []
    kept: list[KeptTurn] = []
    holds: list[HoldInForce] = []
    policies: list[RetentionInForce] = []
    refused: list[RefusedErasure] = []
    position: int | None = None
    receipt: ErasureReceipt | None = None
    budget_applied: list[BudgetApplied] = []

    def words(self) -> Iterator[str | None]:
        """Yield that something was left as it is: kept, or not readable any more."""
        yield "kept" if self.kept_turns or self.kept_items else None
        yield "unreadable" if self.unreadable_turns else None


class ReportLists:
    """The lists of a report as they grow."""

    def __init__(self, budget: Budget, view: View | None) -> None:
        self._budget = budget
        self._view = view
        self.turns: list[TurnId] = []
        self.messages: list[str] = []
        self.host_refs: list[HostReference] = []
        self.items: list[RedactionItem] = []
        self.conversations: list[AffectedConversation] = []

    def add(self, read: ReadTurn, message: int | None) -> None:
        """Take a turn, or one message of it."""
        # only ids and references of the slice are used, so that nothing has to be detected in its content
        references_max = 0 if self._view is None else self._budget.host_refs_per_turn
        view = self._view or View.OPERATOR_AUDIT
        shown, withheld = cut(read.record, view, references_max, detection=NOWHERE)
        self.turns.append(TurnId(shown.turn))
        if message is not None:
            self.messages.append(message_id(read.record.mark, shown.turn, message))
            return
        self.messages += [shown_message.id for shown_message in shown.messages]
        self.host_refs += [replace(reference, label=None) for reference in shown.host_refs]
        self.items += [item for item in withheld if item.host_ref is not None]  # an item says a reason, and no id

    @property
    def host_refs_redacted(self) -> int:
        """How many references were withheld."""
        return hidden_references(self.items)

    def over_budget(self, derived_refs: int) -> list[BudgetApplied]:
        """Return the ceilings of the budget that the lists reach, and so many derived references."""
        return applied_to_slices(self._budget, self.items) + applied(self._budget, {Ceiling.DERIVED_REFS: derived_refs})
