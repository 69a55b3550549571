"""Everything about one turn in one answer: the first question after an incident.

What each view that the caller may use shows and withholds; what happened to it, who received it and what it fed, for
callers who may see structure (`SEE_LINKS`); and its proof. Nothing is shown that no other operation shows: a view that
the access lacks is absent, and so is the audit without the right to it. Appends nothing, and signs nothing.

Whoever is kept to a subject or channels gets the views and the proof of a turn that they see. The audit is left out:
an export or a backup that reached the turn says what else it had, and an item may rest on turns of others. So are size
and root of the checkpoint, which tell how much others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import AccessDenied
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.phases import Phase
from muniment.governance.slices import RedactionItem, SliceTurn
from muniment.governance.views import View, shown_planes
from muniment.operations.evidence.disclosure_entries import DisclosureEntry
from muniment.operations.evidence.turn_history import FedMemory, HistoryEntry, TurnTrail
from muniment.operations.evidence.turn_proof import TurnProof, proof_of
from muniment.operations.evidence.turn_search import FoundTurn, TurnNames, find_turn
from muniment.operations.provenance.links import SEE_LINKS
from muniment.projections.conversation import shown_turns

ENTRIES_MAX = 500  # of each list; the newest are kept
AUDIT_PARTS = ["history", "received", "contexts", "memory"]

Entry = TypeVar("Entry")


class ExplainedView(Struct, frozen=True, kw_only=True):
    """The turn as a view shows it, and an item for everything that the view withholds."""

    view: View
    turn: SliceTurn
    items: list[RedactionItem]


class Explanation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything about one turn.

    `history` is what happened to it, `received` who received it, both in the order of the log; `contexts` are recorded
    prompts that included or quoted it, `memory` the items that were derived from it; `memory_redacted` counts those
    that the access does not show. `left_out` names the parts that the access does not include, `clipped` those of which
    only the newest entries are listed.
    """

    conversation: ConversationKey
    turn: TurnId
    sequence: int
    position: int
    phase: Phase
    committed_ms: int
    views: list[ExplainedView]
    proof: TurnProof
    history: list[HistoryEntry] = []
    received: list[DisclosureEntry] = []
    contexts: list[DisclosureEntry] = []
    memory: list[FedMemory] = []
    memory_redacted: int = 0
    left_out: list[str] = []
    clipped: list[str] = []

    def covered(self) -> CoveredTurns:
        """Return the turn."""
        return CoveredTurns(positions=[self.position], views=[shown.view for shown in self.views])


def explain(session: Session, turn: str, conversation: ConversationId | None, channel: Channel | None) -> Explanation:
    """Return everything that the caller may know about a turn."""
    space = session.space
    views = session.access.views_in_force()
    if not views:
        raise AccessDenied(at=View.HOST_UI)
    named = TurnNames(turn, conversation, channel)
    named.check()
    pinned = space.notary.pinned()  # before the snapshot that is compared with it (`ledger.attest`)
    with space.ledger.reader() as reader:
        found = find_turn(session.seen, reader, named)
        record = found.conversation.at(found.sequence).record
        shown = [_shown(session, found, view) for view in views]
        is_audited = not SEE_LINKS.isdisjoint(views) and not session.access.bounds
        trail = TurnTrail(space, found, shown_planes(views)) if is_audited else None
        proof = proof_of(space, reader, found.row, pinned)
    if session.access.bounds:
        proof = replace(proof, checkpoint_size=None, checkpoint_root=None)
    parts = AUDIT_PARTS if trail is None else []
    lists = {} if trail is None else {name: getattr(trail, name) for name in AUDIT_PARTS}
    return Explanation(
        conversation=found.conversation.key,
        turn=TurnId(record.meta.delivery.turn),
        sequence=found.sequence,
        position=record.position,
        phase=record.phase,
        committed_ms=record.time_ms,
        views=shown,
        proof=proof,
        memory_redacted=0 if trail is None else trail.memory_redacted,
        left_out=parts,
        clipped=[name for name, entries in lists.items() if len(entries) > ENTRIES_MAX],
        **{name: _newest(entries) for name, entries in lists.items()},
    )


def _newest(entries: Sequence[Entry]) -> list[Entry]:
    return list(entries[-ENTRIES_MAX:])


def _shown(session: Session, found: FoundTurn, view: View) -> ExplainedView:
    budget, detection = session.budget(), session.space.detection.view(view)
    sequence = found.sequence
    (turn,), items = shown_turns(found.conversation, [(sequence, sequence)], view, detection, budget)
    return ExplainedView(view=view, turn=turn, items=items[: budget.redaction_items])
