"""The noun group `lifecycle`: what may happen to turns after they were committed.

Erasing is the one operation that destroys. In one write transaction it appends the event, removes content keys and
ciphertext, and turns the space key over; then the write-ahead log is emptied and the old space key is destroyed; only
then it answers, with a receipt that names every place it reached and what lies outside.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import InvalidInput
from muniment.events.changes import LifecycleRequest, Transition, TurnLifecycle, span_of
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.events.records import EventKind, RotationCause, TurnMeta
from muniment.events.turn import HostReference
from muniment.evidence.bundle import event_line
from muniment.evidence.receipt import receipt as tlog_proof
from muniment.evidence.tree import inclusion_proof
from muniment.governance.access import Effect
from muniment.governance.budgets import BudgetApplied, applied_to_slices
from muniment.governance.lifecycle import Phase, Run, after, runs
from muniment.governance.slices import RedactionItem, cut, hidden_references
from muniment.governance.views import View
from muniment.log.ledger import Writer, draft
from muniment.log.port import WHOLE_CONVERSATION, Reader, StreamHead
from muniment.runtime.desk import Desk
from muniment.runtime.operation import Group, operation
from muniment.runtime.space import Rotation

REASON_BYTES_MAX = 4096
ERASE_BATCH = 500


class ErasedPlace(Struct, frozen=True, kw_only=True):
    """One place where the words were, and what was done there."""

    place: str
    done: str


class ErasureReceipt(Struct, frozen=True, kw_only=True):
    """What an erasure did. `outside` lists what no store can reach; `proof` is a C2SP tlog-proof of the event."""

    position: int
    leaf: str
    turns_erased: int
    places: list[ErasedPlace]
    outside: list[str]
    proof: str


class LifecycleReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a transition did (BEHAVIOUR LC-04). `clipped`: lists were cut at a limit or budget; the counts are whole."""

    conversation: ConversationKey
    transition: Transition
    changed: bool
    affected_turns: int
    turns: list[TurnId]
    messages: list[str]
    host_refs: list[HostReference]
    host_refs_redacted: int
    items: list[RedactionItem]
    derived_refs: list[str]
    clipped: bool
    reason: str
    requester: str
    requested_ms: int
    position: int | None = None
    receipt: ErasureReceipt | None = None
    budget_applied: list[BudgetApplied] = []


class LifecycleEntry(Struct, frozen=True, kw_only=True):
    """A transition that the log holds: of the turns `first` to `last`."""

    position: int
    leaf: str
    transition: Transition
    first: int
    last: int
    reason: str
    requester: str
    requested_ms: int
    content_left: int
    proof: str


class Receipts(Struct, frozen=True, kw_only=True):
    """Every transition of a conversation, in log order, each with its proof."""

    entries: list[LifecycleEntry]


class Target(NamedTuple):
    """What a request is about: all turns of a stream, or one."""

    head: StreamHead
    turn: int | None

    @property
    def first(self) -> int:
        """The first turn."""
        return self.turn or 1

    @property
    def last(self) -> int:
        """The last turn."""
        return self.turn or self.head.turns


class Lifecycle(Group):
    """Archive, restore, mask, unmask, erase; and the receipts of it."""

    name = "lifecycle"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._desk = desk

    @operation(Effect.ERASE)
    def request(
        self,
        conversation: ConversationKey,
        transition: Transition,
        reason: str,
        requester: str,
        turn: TurnId | None = None,
    ) -> LifecycleReport:
        """Ask for a transition of one turn, or of all turns that a conversation has now.

        Appends one `turn.lifecycle` event with reason and requester when it changes anything. A repeat, and a request
        that no turn matches, completes with `changed` false and appends nothing. `delete_raw` destroys the
        words for ever and answers with a receipt; everything else of the turn stays. Nothing is refused because
        something was derived from the turn.
        """
        self._desk.check_key(conversation)
        _check_text(reason, "reason")
        check_name(requester, at="requester")
        return Asking(self._desk, conversation, transition, LifecycleRequest(
            reason=reason, requester=requester, requested_ms=self._desk.space.sources.clock.now_ms()
        )).run(turn)  # fmt: skip

    @operation(Effect.READ)
    def receipts(self, conversation: ConversationKey) -> Receipts:
        """List every transition of a conversation with who asked, why, and a proof that the log holds it.

        `content_left` counts the turns of an erasure whose content is there all the same; it is 0, or the store is not
        sound. Reading appends nothing.
        """
        self._desk.check_key(conversation)
        space = self._desk.space
        signed = space.checkpoint()
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, conversation)
            if stream is None:
                return Receipts(entries=[])
            head = space.transcript.head(reader, stream)
            space.transcript.changes(reader, head)  # proves that none is missing
            entries = []
            for row in reader.changes(stream, 0):
                if row.position >= signed.checkpoint.size:
                    break  # came meanwhile
                (header, exact), meta = space.ledger.header(row), space.ledger.open(row).meta
                if not isinstance(meta, TurnLifecycle):
                    continue
                first, last = span_of(header.refs)
                assert last is not None, "a transition is of turns that are there"
                transition = Transition(header.reason or "")
                left = 0
                if transition is Transition.DELETE_RAW:
                    for start in range(first, last + 1, ERASE_BATCH):
                        turns = reader.turns(stream, start, min(last, start + ERASE_BATCH - 1))
                        left += sum(found.content is not None for found in turns)
                proof = inclusion_proof(reader, row.position, signed.checkpoint.size)
                entries.append(
                    LifecycleEntry(
                        position=row.position,
                        leaf=row.leaf.hex(),
                        transition=transition,
                        first=first,
                        last=last,
                        reason=meta.request.reason,
                        requester=meta.request.requester,
                        requested_ms=meta.request.requested_ms,
                        content_left=left,
                        proof=tlog_proof(event_line(exact, {}), row.position, proof, signed.note),
                    )
                )
        return Receipts(entries=entries)


class Asking:
    """One request for a transition on its way."""

    def __init__(
        self, desk: Desk, conversation: ConversationKey, transition: Transition, request: LifecycleRequest
    ) -> None:
        self._space = desk.space
        self._budget = desk.budget()
        self._conversation = conversation
        self._transition = transition
        self._request = request

    def run(self, turn: TurnId | None) -> LifecycleReport:
        """Decide, change what is to change, and report."""
        with self._space.ledger.reader() as reader:
            target = self._target(reader, turn)
            affected = self._affected(reader, target)
            report = self._report(reader, target, affected)
        erasing = self._transition is Transition.DELETE_RAW
        if not affected or target is None:
            if erasing and len(self._space.keys.versions) > 1:
                self._space.rotate(RotationCause.ERASURE)  # an earlier erasure was kept from finishing
            return report
        if erasing:
            return self._erase(target, report)
        position = self._space.ledger.transact(lambda writer: self._append(writer, target))
        return replace(report, changed=position is not None, position=position)

    def _target(self, reader: Reader, turn: TurnId | None) -> Target | None:
        """Return what the request is about, or None when nothing of the kind is there."""
        transcript = self._space.transcript
        stream = transcript.stream_of(reader, self._conversation)
        if stream is None:
            return None
        head = transcript.head(reader, stream)
        if turn is None:
            return Target(head, None) if head.turns else None
        opened = transcript.turn(reader, head, self._conversation, turn)
        return None if opened is None else Target(head, opened.row.turn_seq)

    def _affected(self, reader: Reader, target: Target | None) -> list[Run]:
        """Return the runs of turns that the transition changes."""
        if target is None:
            return []
        steps = self._space.transcript.changes(reader, target.head).steps
        return [
            Run(first=max(run.first, target.first), last=min(run.last, target.last), phase=run.phase)
            for run in runs(target.head.turns, steps)
            if run.first <= target.last
            and run.last >= target.first
            and after(run.phase, self._transition) is not run.phase
        ]

    def _append(self, writer: Writer, target: Target) -> int | None:
        """Append the event if it still changes anything; return its position."""
        head = self._space.transcript.head(writer.tx, target.head.stream)
        present = Target(head, target.turn)
        if not self._affected(writer.tx, present):
            return None
        event = draft(
            self._space.sources.entropy,
            EventKind.TURN_LIFECYCLE,
            self._request.requested_ms,
            TurnLifecycle(request=self._request),
            reason=self._transition,
        )
        refs = {"through": head.turns} if target.turn is None else {"turn": target.turn}
        placed = writer.append(
            event,
            stream=head.stream,
            target=WHOLE_CONVERSATION if target.turn is None else target.turn,
            refs=refs,
        )
        return placed.position

    # --- erasing ------------------------------------------------------------------------------------------------------

    def _erase(self, target: Target, report: LifecycleReport) -> LifecycleReport:
        done: list[tuple[int, int]] = []

        def plan(writer: Writer) -> None:
            position = self._append(writer, target)
            if position is not None:
                head = self._space.transcript.head(writer.tx, target.head.stream)
                done.append((position, self._destroy(writer, Target(head, target.turn))))

        rotation = self._space.rotate(RotationCause.ERASURE, plan)
        if not done:
            return report
        position, erased = done[0]
        return replace(report, changed=True, position=position, receipt=self._receipt(position, erased, rotation))

    def _destroy(self, writer: Writer, target: Target) -> int:
        erased = 0
        for start in range(target.first, target.last + 1, ERASE_BATCH):
            rows = writer.tx.turns(target.head.stream, start, min(target.last, start + ERASE_BATCH - 1))
            erased += sum(writer.destroy_content(row) for row in rows)
        return erased

    def _receipt(self, position: int, erased: int, rotation: Rotation) -> ErasureReceipt:
        space = self._space
        signed = space.checkpoint()
        with space.ledger.reader() as reader:
            row = reader.sealed(position)
            assert row is not None, "the event was just made durable"
            exports = [
                found.position
                for found in reader.of_kind(EventKind.EXPORT_ISSUED, -1, space.limits.report_items_max)
                if space.ledger.header(found)[0].refs.get("stream") == row.stream
            ]
            proof = inclusion_proof(reader, position, signed.checkpoint.size)
        return ErasureReceipt(
            position=position,
            leaf=row.leaf.hex(),
            turns_erased=erased,
            places=[
                ErasedPlace(place="content keys", done=f"{erased} destroyed"),
                ErasedPlace(place="content cells", done=f"{erased} removed, freed pages overwritten"),
                ErasedPlace(place="digest of the turn's words", done="destroyed with its content cell"),
                ErasedPlace(place="write-ahead log", done=f"emptied, {rotation.scrub.wal_bytes} bytes left"),
                ErasedPlace(
                    place="space key",
                    done=f"version {rotation.version} in force, {rotation.versions_destroyed} older destroyed",
                ),
                ErasedPlace(place="memory of this process", done="nothing of the words is cached"),
            ],
            outside=[
                "copies that the host, model providers or readers of earlier replays keep",
                "backups of keyring and log made before, until they are restored or destroyed",
                "blocks that the file system or the disk keeps of overwritten key files",
                *(f"the certified export issued at position {issued}" for issued in exports),
            ],
            proof=tlog_proof(event_line(space.ledger.header(row)[1], {}), position, proof, signed.note),
        )

    # --- reporting ----------------------------------------------------------------------------------------------------

    def _report(self, reader: Reader, target: Target | None, affected: list[Run]) -> LifecycleReport:
        """List what is affected as the operator's view shows it; lists are cut at limit and budget, counts are not."""
        most, budget = self._space.limits.report_items_max, self._budget
        looking = self._space.lookout.view(View.OPERATOR_AUDIT)
        total = sum(run.last - run.first + 1 for run in affected)
        turns: list[TurnId] = []
        messages: list[str] = []
        host_refs: list[HostReference] = []
        items: list[RedactionItem] = []
        if target is not None:
            for run in affected:
                last = min(run.last, run.first + most - len(turns) - 1)
                if last < run.first:
                    break
                for read in self._space.transcript.page(reader, target.head, run.first, last, _labelled):
                    shown, withheld = cut(read.record, View.OPERATOR_AUDIT, budget.host_refs_per_turn, looking=looking)
                    turns.append(TurnId(shown.turn))
                    messages += [message.id for message in shown.messages]
                    host_refs += shown.host_refs
                    items += [item for item in withheld if item.host_ref is not None]
        over = applied_to_slices(budget, items)
        return LifecycleReport(
            conversation=self._conversation,
            transition=self._transition,
            changed=False,
            affected_turns=total,
            turns=turns,
            messages=messages[:most],
            host_refs=host_refs[:most],
            host_refs_redacted=hidden_references(items),
            items=items[: budget.redaction_items][:most],
            derived_refs=[],
            clipped=bool(over) or len(turns) < total or max(len(messages), len(host_refs), len(items)) > most,
            reason=self._request.reason,
            requester=self._request.requester,
            requested_ms=self._request.requested_ms,
            budget_applied=over,
        )


def _labelled(phase: Phase, meta: TurnMeta) -> bool:
    """Tell whether the report needs the words of a turn: only to say that references had labels."""
    return phase is Phase.ACTIVE and bool(meta.host_refs)


def _check_text(text: str, at: str) -> None:
    if not text.strip():
        raise InvalidInput(at=at, problem="empty")
    if len(text.encode()) > REASON_BYTES_MAX:
        raise InvalidInput(at=at, problem="too_long", limit=REASON_BYTES_MAX)
