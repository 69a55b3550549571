"""The gate in front of what takes a second person.

An operation makes a `GuardedRequest` of what it was asked. `ask` lets it pass, or records the request and raises. What
the operation then does, it does in a write transaction in which `spend` looks again and uses the approval up: of two
that run at once, one finds it spent. The act runs when the one who asked repeats the request, never by the
confirmation, so that it is judged by the state, the rights and the holds of that moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import ApprovalNeeded, Corrupt
from muniment.events.approving import (
    APPROVAL,
    ApprovalDecided,
    ApprovalRequested,
    ApprovalSet,
    ApprovalStep,
    ExactRequest,
    GuardedAct,
)
from muniment.events.caller import Caller
from muniment.events.changes import LifecycleRequest
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.records import EventKind
from muniment.governance.approval_rules import ApprovalBody, Approvals, ApprovalState, KnownApproval, approvals_of
from muniment.kernel.canonical import encode_plain
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.log.port import Reader
from muniment.space.space import Space

__all__ = ["GuardedAct", "GuardedRequest", "caller_of", "decide", "known_approvals"]  # what guarded operations need

KINDS = (EventKind.APPROVAL_SET, EventKind.APPROVAL_REQUESTED, EventKind.APPROVAL_DECIDED)


def known_approvals(space: Space, reader: Reader) -> Approvals:
    """Return the rule in force and all requests, complete or `Corrupt`."""
    noted = space.transcript.changes(reader, space.transcript.head(reader, SPACE_STREAM)).noted
    positions = sorted(change.position for kind in KINDS for change in noted.get(kind, ()))
    return approvals_of(_events(space, reader, positions)) if positions else Approvals()


def _events(space: Space, reader: Reader, positions: list[int]) -> Iterator[tuple[int, ApprovalBody]]:
    for position in positions:
        row = reader.sealed(position)
        if row is None:
            raise Corrupt(at=f"position {position}", problem="rows_missing")
        body, (header, _) = space.ledger.open(row).meta, space.ledger.header(row)
        if isinstance(body, ApprovalDecided):
            yield position, (header.about[APPROVAL], ApprovalStep(header.reason or ""), body)
        else:
            assert isinstance(body, ApprovalSet | ApprovalRequested), "rows of these kinds have these bodies"
            yield position, body


def caller_of(session: Session) -> Caller:
    """Return the access of the caller as events record it."""
    return Caller(views=sorted(session.access.views), subject=session.access.subject)


class GuardedRequest(Struct, frozen=True, kw_only=True):
    """A request for an act that may take a second person: `about` names what, by the fields of the request."""

    session: Session
    act: GuardedAct
    about: dict[str, str]
    request: LifecycleRequest

    @property
    def digest(self) -> str:
        """The keyed digest of the exact request: the same only for the same act, targets, reason and person."""
        asked = self.request
        exact = [self.act, self.about, asked.reason, asked.requester, self.session.access.subject]
        return self.session.space.ledger.name_digest("approval", encode_plain(exact).decode()).hex()

    def ask(self) -> None:
        """Return where no second person is needed or one has confirmed; else record the request and raise."""
        space = self.session.space
        with space.ledger.reader() as reader:
            known = known_approvals(space, reader)
            if not known.takes_two(self.act):
                return
            state = self._state(known)
        if state is ApprovalState.CONFIRMED:
            return
        raise ApprovalNeeded(at=self.act, limit=space.ledger.transact(self._append))

    def spend(self, writer: Writer) -> None:
        """Use the approval up, inside the transaction of the act; raise where there is none any more."""
        known = known_approvals(self.session.space, writer.tx)
        if not known.takes_two(self.act):
            return
        approval = known.open_request(self.digest, self._now_ms)
        if approval is None or approval.state(self._now_ms) is not ApprovalState.CONFIRMED:
            raise ApprovalNeeded(at=self.act)
        body = ApprovalDecided(request=self.request, caller=caller_of(self.session))
        decide(writer, approval, ApprovalStep.USED, body)

    @property
    def _now_ms(self) -> int:
        return self.request.requested_ms

    def _state(self, known: Approvals) -> ApprovalState | None:
        approval = known.open_request(self.digest, self._now_ms)
        return None if approval is None else approval.state(self._now_ms)

    def _append(self, writer: Writer) -> int:
        """Append the request unless it waits already; return its position."""
        space, known = self.session.space, known_approvals(self.session.space, writer.tx)
        waiting = known.open_request(self.digest, self._now_ms)
        if waiting is not None:
            return waiting.position
        within_ms = 0 if known.rule is None else known.rule.within_ms
        body = ApprovalRequested(
            act=self.act,
            about=self.about,
            exact=ExactRequest(digest=self.digest),
            expires_ms=self._now_ms + within_ms,
            request=self.request,
            caller=caller_of(self.session),
        )
        refs = {"first": 1}
        if "conversation" in self.about:
            channel, conversation = Channel(self.about["channel"]), ConversationId(self.about["conversation"])
            key = ConversationKey(channel=channel, conversation=conversation)
            stream = space.transcript.stream_of(writer.tx, key)
            refs |= {} if stream is None else {"stream": stream}
        position = writer.change(Change(EventKind.APPROVAL_REQUESTED, self._now_ms, body, refs)).position
        writer.flush()  # plans read the state that they decide on
        return position


def decide(writer: Writer, approval: KnownApproval, step: ApprovalStep, body: ApprovalDecided) -> int:
    """Append what became of a request; return the position."""
    refs = {"first": 1, APPROVAL: approval.position}
    change = Change(EventKind.APPROVAL_DECIDED, body.request.requested_ms, body, refs, step)
    position = writer.change(change).position
    writer.flush()  # plans read the state that they decide on
    return position
