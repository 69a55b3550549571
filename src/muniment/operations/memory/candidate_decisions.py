"""What becomes of candidates in one state of the log: the rules that look at what is there.

The first that applies decides: a repeat of its id, a policy that stops it, evidence that nobody is shown, what is in
its slot (`memory.merging`), and whether its notebook is full (`memory.eviction`).
"""

from __future__ import annotations

from msgspec.structs import replace

from muniment.errors import Conflict
from muniment.events.memory_items import Retirement
from muniment.log.port import Reader
from muniment.memory.candidate import Ruling
from muniment.memory.eviction import evicted
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import RETELLING
from muniment.memory.merging import Merge, MergeOutcome, MergeReason, in_use, merged
from muniment.memory.policies import STOPS, SUPPRESSED_BY_POLICY, in_force, stopped_by
from muniment.operations.memory.prepared_items import EVIDENCE_HIDDEN, PreparedItem, Undecided
from muniment.operations.memory.remember_report import RememberedCandidate
from muniment.space.space import Space

NOT_IN_USE, NOTEBOOK_FULL = "not_in_use", "notebook_full"


class CandidateDecisions:
    """Decides about candidates in one state of the log of a space; `is_prepared_here`: they were prepared in it.

    `histories` are the items of the slots that were looked at, the newest first.
    """

    def __init__(self, space: Space, reader: Reader, now_ms: int, *, is_prepared_here: bool = False) -> None:
        self.histories: dict[bytes, list[MemoryItem]] = {}
        self._is_prepared_here = is_prepared_here
        self._space = space
        self._reader = reader
        self._now_ms = now_ms
        self._policies = in_force(space.notebooks.policies(reader), now_ms)

    def about(self, prepared: PreparedItem | Undecided) -> RememberedCandidate:
        """Return what would become of a candidate."""
        if isinstance(prepared, Undecided):
            return RememberedCandidate(decision=prepared.ruling, reason=prepared.reason.value, changed=False)
        notebooks = self._space.notebooks
        known = self._known(prepared)
        if known is not None:
            return known
        policy = stopped_by(self._policies, prepared.statement, notebooks.topic_digest)
        if policy is not None:
            ruling = STOPS[policy.event.action]
            return RememberedCandidate(decision=ruling, reason=SUPPRESSED_BY_POLICY, changed=False, policy=policy.id)
        if not self._is_shown(prepared):
            return RememberedCandidate(decision=Ruling.REFUSE, reason=EVIDENCE_HIDDEN, changed=False)
        told = prepared.candidate
        history = self.histories[prepared.slot] = notebooks.in_slot(self._reader, prepared.slot)
        history = history + notebooks.forgotten_from(self._reader, told.subject, told.plane, prepared.meta)
        merge = merged(prepared.incoming(self._now_ms), history)
        decided = _merged(merge, history)
        takes_room = merge.outcome is MergeOutcome.RECORDED or merge.reason is MergeReason.EXPIRED
        return self._with_room(prepared, decided) if takes_room else decided

    def _is_shown(self, prepared: PreparedItem) -> bool:
        """Tell whether the words of all turns that an item rests on are still shown to somebody."""
        if self._is_prepared_here and prepared.candidate.plane not in RETELLING:
            return prepared.rested_on_nothing_hidden
        return prepared.rests_on_nothing_hidden(self._space, self._reader)

    def _known(self, prepared: PreparedItem) -> RememberedCandidate | None:
        """Return what a repeat gets: the item of its id, if that says the same; another one is a `Conflict`.

        One that was recorded in a run that was undone is decided about again.
        """
        if prepared.candidate.id is None:  # it was just drawn
            return None
        item = self._space.notebooks.item(self._reader, prepared.meta.item)
        if item is None:
            return None
        if not item.is_item or not prepared.is_same(item):
            raise Conflict(at="id", problem="taken")
        if item.retired is Retirement.UNDONE:
            return None
        return RememberedCandidate(
            decision=Ruling.REFUSE if item.content is None else Ruling.ACCEPT,
            reason=reason_of_repeat(item),
            changed=False,
            item=item.id,
            position=item.position,
        )

    def _with_room(self, prepared: PreparedItem, decided: RememberedCandidate) -> RememberedCandidate:
        """Return a decision with the items that make room, or a refusal where nothing does."""
        space, given = self._space, prepared.candidate
        limit = space.limits.items_max
        head = None if limit is None else space.notebooks.head(self._reader, given.subject, given.plane)
        if limit is None or head is None:
            return decided
        items = space.notebooks.items(self._reader, head)
        present = [item for item in items if item.is_active and not item.has_expired(self._now_ms)]
        leaving = evicted(present, prepared.meta.confidence, limit)
        if leaving is None:
            return RememberedCandidate(decision=Ruling.REFUSE, reason=NOTEBOOK_FULL, changed=False)
        return replace(decided, evicted=[item.id for item in leaving])


def reason_of_repeat(item: MemoryItem) -> str:
    """Return why an item changes nothing that is offered again under its id."""
    if item.content is None:
        return MergeReason.FORGOTTEN.value
    return MergeReason.SAME_TEXT.value if item.is_active else NOT_IN_USE


def _merged(merge: Merge, history: list[MemoryItem]) -> RememberedCandidate:
    """Return what a merge decided, before anything is recorded."""
    present = in_use(history)
    return RememberedCandidate(
        decision=Ruling.REFUSE if merge.outcome is MergeOutcome.REFUSED else Ruling.ACCEPT,
        reason=merge.reason.value,
        changed=False,
        item=present.id if present is not None and merge.outcome is MergeOutcome.DUPLICATE else None,
        replaces=present.id if present is not None and merge.outcome is MergeOutcome.SUPERSEDES else None,
        likeness=merge.likeness if history else None,
    )
