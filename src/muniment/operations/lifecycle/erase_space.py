"""Erasing a whole space: its log ends, its keys are destroyed, and what is left proves that and nothing else.

1. In one transaction: everything sealed is removed, cells and keys, and the last event is appended (`space.erased`);
   from then on the log takes no events from any process. The head is signed.
2. The chunks of attachments are removed, and the write-ahead log is emptied; the final checkpoint is pinned.
3. Its clients are revoked, and forgotten.
4. All keys of the space are destroyed in `keys.json`: the space key, the index key, by which names were found, the
   signing key, and the name. Headers, tree and checkpoints stay, so that the audit and everything that was handed out
   before still verify.

A crash after step 1 is completed by the next opening. Opening the space afterwards raises `space.erased` (decision
0052). A hold or a legal minimum anywhere in the space refuses all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import Action, LifecycleRequest
from muniment.events.identity import SpaceName
from muniment.events.records import EventKind, SpaceErasure
from muniment.governance.access import Effect
from muniment.ledger.drafts import Change
from muniment.operations.approvals.gate import GuardedAct, GuardedRequest
from muniment.operations.lifecycle.guard import Guard, Judgements
from muniment.operations.lifecycle.receipt import OUTSIDE, chunks_place, event_proof
from muniment.operations.lifecycle.refusals import append_space_refusal
from muniment.operations.lifecycle.report import ErasedPlace, ErasureReceipt, HoldInForce, LifecycleReport
from muniment.operations.lifecycle.reporting import Reporting
from muniment.operations.lifecycle.scope import Scope
from muniment.space.clients import Clients
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.ledger.ledger import Writer
    from muniment.log.port import Reader, ScrubReport


class SpaceJudgements(NamedTuple):
    """What becomes of every turn of a space, and the policies and holds in force."""

    guard: Guard
    turns: list[Judgements]
    holds: list[HoldInForce]

    @property
    def refuse(self) -> bool:
        """Whether anything in the space must be kept."""
        return bool(self.holds) or any(judgements.kept for judgements in self.turns)


def erase_space(session: Session, request: LifecycleRequest) -> LifecycleReport:
    """Erase the space unless something keeps any of it, and report."""
    space = session.space
    session.access.require(Effect.ADMIN)
    report = _report(session, request)
    about = {"whole_space": space.name}
    guarded = GuardedRequest(session=session, act=GuardedAct.ERASE, about=about, request=request)
    with space.ledger.reader() as reader:
        is_refused = _judged(space, reader, request.requested_ms).refuse
    if not is_refused:
        guarded.ask()

    def plan(writer: Writer) -> int | None:
        judged = _judged(space, writer.tx, request.requested_ms)
        if judged.refuse:
            append_space_refusal(space, writer, judged.turns, [hold.position for hold in judged.holds], request)
            return None
        guarded.spend(writer)
        for position in range(writer.tx.frontier().size):
            writer.destroy_sealed(position)
        body = SpaceErasure(request=request)
        placed = writer.change(Change(EventKind.SPACE_ERASED, request.requested_ms, body))
        writer.end()
        return placed.position

    position = space.with_reserve(lambda: space.ledger.transact(plan))
    if position is None:
        return report
    clients = Clients(session.store).forget_space(SpaceName(space.name))
    receipt = _receipt(space, position, report.affected_turns, clients, *space.destroy_keys())
    return replace(report, changed=True, position=position, receipt=receipt)


def review_space_erasure(session: Session) -> LifecycleReport:
    """Return what erasing the space would erase now, and what keeps it."""
    return _report(session, None)


def _report(session: Session, request: LifecycleRequest | None) -> LifecycleReport:
    space = session.space
    limit, scope = space.limits.report_items_max, Scope(whole_space=SpaceName(space.name))
    with space.ledger.reader() as reader:
        now_ms = request.requested_ms if request else space.sources.clock.now_ms()
        judged = _judged(space, reader, now_ms)
        reporting = Reporting(space, reader, session.budget(), session.access.open_views)
        return replace(
            reporting.report(Action.ERASE, scope, request, judged.turns),
            holds=judged.holds[:limit],
            policies=list(reporting.policies(judged.guard.policies))[:limit],
        )


def _judged(space: Space, reader: Reader, now_ms: int) -> SpaceJudgements:
    """Judge every turn, and list every hold in force, also those of conversations without any content to keep yet."""
    guard, reporting = Guard(space, reader, now_ms), Reporting(space, reader)
    judged = guard.judge_everything(requested=True)
    holds = list(reporting.holds(guard.holds))
    for judgements in judged:
        turns = judgements.turns
        holds += reporting.holds(space.transcript.changes(reader, turns.head).holds.values(), turns.conversation)
    return SpaceJudgements(guard, judged, holds)


def _receipt(space: Space, position: int, erased: int, clients: int, chunks: int, scrub: ScrubReport) -> ErasureReceipt:
    with space.ledger.reader() as reader:
        signed = reader.latest_checkpoint()
        assert signed is not None, "it was signed with the event"
        exports = sum(1 for _ in reader.of_kind(EventKind.EXPORT_ISSUED))
        leaf, proof = event_proof(space, reader, position, signed.size, signed.note)
    exported = [f"{exports} certified exports that were handed out"] if exports else []
    return ErasureReceipt(
        position=position,
        leaf=leaf,
        turns_erased=erased,
        places=[
            ErasedPlace(place="content of all events", done="removed, freed pages overwritten"),
            ErasedPlace(place="envelopes of all events", done="removed, freed pages overwritten"),
            *chunks_place(chunks),
            ErasedPlace(place="write-ahead log", done=f"emptied, {scrub.wal_bytes} bytes left"),
            *([ErasedPlace(place="clients", done=f"{clients} revoked, with their keys and names")] if clients else []),
            ErasedPlace(place="space key", done="every version destroyed"),
            ErasedPlace(place="index key", done="destroyed: no name leads anywhere, no digest can be tried"),
            ErasedPlace(place="signing key and name of the space", done="destroyed"),
            ErasedPlace(place="headers, tree, checkpoints", done="kept: they hold no words and no names"),
            ErasedPlace(place="search indexes", done="forgotten in memory, removed at rest"),
            ErasedPlace(place="memory of this process", done="keys forgotten by the key ring of this space"),
        ],
        outside=[*OUTSIDE, "pins, which hold the origin of the log and its root", *exported],
        proof=proof,
        positions=[position],
    )
