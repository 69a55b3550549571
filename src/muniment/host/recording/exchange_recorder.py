"""Commits completed exchanges with a model, each as one turn of one conversation.

1. A turn has the new messages of the request (`known_history`) and the answer. The conversation that a host sends again
   with every call is stored once.
2. The turn id is the provider's id of the response, and a host reference of the type `response`. The same response once
   more, after a crash or from a cache, is the same turn. Of a provider that gives one id to different responses, the
   later ones are numbered.
3. What was counted (tokens, why it stopped) becomes attributes of the turn, named as OpenTelemetry names them. It is
   written after the turn; when that fails, the turn stays without it, under either policy: a host that had an error
   would send messages again that are stored.
4. What breaks off or fails is not committed: nobody had the answer, and the next try brings the same messages.

A failure of the store follows the policy of the host (`FailurePolicy`): the exchange goes on, or the failure is raised
before the host has the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import (
    AccessDenied,
    CapabilityHidden,
    InvalidInput,
    MunimentError,
    TurnConflict,
    UnknownConversation,
)
from muniment.events.attributes import Attribute, AttributeSource, AttributeTarget, SourceKind, ValueKind
from muniment.events.identity import Channel, ConversationId, ConversationKey, SubjectId, TurnId, check_name
from muniment.events.message import BlobPart, Message, Part, Role
from muniment.events.references import HostReference, Relation, Visibility
from muniment.events.turn import Attribution, Source, Turn
from muniment.governance.profiles import Ceiling
from muniment.governance.views import View
from muniment.host.failure_policy import FailurePolicy
from muniment.host.recording.known_history import BLOB_BYTES_MAX, KnownMessage, continues, known_message, new_messages
from muniment.kernel.locks import new_lock
from muniment.kernel.sources import system_sources
from muniment.operations.transcripts.replay import Slice
from muniment.operations.transcripts.timeline import Anchor, AnchorKind, Timeline
from muniment.runtime.runtime import Runtime

KNOWN_MESSAGES_MAX = 10_000
PAGE_TURNS = 500
TURN_MESSAGES = 200  # of a request that begins with a long conversation, in one turn
SAME_ID_MAX = 16  # different responses to which a provider gives one id
ATTRIBUTE_PREFIX = "host.gen_ai."
WRITER = "muniment.host"

_log = logging.getLogger("muniment.host")


class Exchange(Struct, frozen=True, kw_only=True):
    """A completed exchange: what was sent, what came back, and what the provider counted.

    `id` is the provider's name of the response. `counted` has names of OpenTelemetry without `gen_ai.`. With
    `continues`, the provider keeps the conversation and the request has new messages alone.
    """

    id: str | None
    request: list[Message]
    answer: list[Message]
    source: Source
    counted: Mapping[str, int | str | list[str]]
    continues: bool = False


class RecordedCounts(Struct, frozen=True, kw_only=True):
    """How many exchanges were committed, were there already, ended without an answer, and are lost for the store.

    `unfinished` are streams that broke off or were abandoned, and answers that the provider gave up. `uncounted` are
    in the store without what the provider counted. `failure` is the code of the last failure.
    """

    committed: int = 0
    repeated: int = 0
    unfinished: int = 0
    failed: int = 0
    uncounted: int = 0
    failure: str | None = None


class ExchangeRecorder:
    """Commits the exchanges of one conversation, from any thread."""

    def __init__(self, runtime: Runtime, place: Turn, policy: FailurePolicy) -> None:
        """Record into `runtime`; every turn has the subject, the conversation and the actor of `place`."""
        self.counts = RecordedCounts()
        self.policy = FailurePolicy(policy)
        self._transcripts, self._attachments = runtime.transcripts, runtime.attachments
        self._place = place
        assert place.conversation is not None, "it is given by `record`"
        self._key = ConversationKey(conversation=place.conversation, channel=place.channel)
        self._lock, self._counting = new_lock(), new_lock()
        self._last: list[KnownMessage] = []  # the last request and its answer
        self._known: list[KnownMessage] | None = None  # what the store has; None before it was read
        self._readable = True
        self._cut = False
        self._sequence = 0

    def commit(self, exchange: Exchange) -> None:
        """Commit an exchange and what was counted; count it if it is there already. Raises what the store raises."""
        with self._lock:
            turn = replace(
                self._place,
                messages=[*self._new(exchange), *exchange.answer],
                source=exchange.source,
                host_refs=[*self._place.host_refs, *_reference(exchange)],
            )
            committed, name = self._commit_once(turn, exchange)
            self._remember([*exchange.request, *exchange.answer])
            self._count(RecordedCounts(committed=int(committed), repeated=int(not committed)))
            if exchange.counted:
                self._annotate(_attributes(name, exchange.counted))

    def unfinished(self) -> None:
        """Count an exchange that ended without an answer."""
        self._count(RecordedCounts(unfinished=1))

    def failed(self, error: Exception) -> None:
        """Count and log a failure: by its code, never with content."""
        code = _code(error)
        self._count(RecordedCounts(failed=1, failure=code))
        _log.error("an exchange is not in the store: %s (%d so far)", code, self.counts.failed)

    def _annotate(self, attributes: list[Attribute]) -> None:
        """Write what was counted of a turn that is committed; count and log it when that fails."""
        try:
            self._transcripts.annotate(self._key, attributes)
        except Exception as error:
            code = _code(error)
            self._count(RecordedCounts(uncounted=1, failure=code))
            _log.error("an exchange is in the store without its counts: %s (%d so far)", code, self.counts.uncounted)

    def _count(self, more: RecordedCounts) -> None:
        """Add to the counts; never waits for a commit."""
        with self._counting:
            counts = self.counts
            self.counts = RecordedCounts(
                committed=counts.committed + more.committed,
                repeated=counts.repeated + more.repeated,
                unfinished=counts.unfinished + more.unfinished,
                failed=counts.failed + more.failed,
                uncounted=counts.uncounted + more.uncounted,
                failure=more.failure or counts.failure,
            )

    # --- which turn ---------------------------------------------------------------------------------------------------

    def _commit_once(self, turn: Turn, exchange: Exchange) -> tuple[bool, TurnId]:
        """Commit a turn unless this response is there; return whether it was new, and its id."""
        name = exchange.id if exchange.id and _is_name(exchange.id) else system_sources().ids.new_id()
        for number in range(1, SAME_ID_MAX + 1):
            this = replace(turn, turn=TurnId(name if number == 1 else f"{name}-{number}"))
            try:
                turns = _within_limits(this, self._stored(this.messages))
                receipt = self._transcripts.commit_many(turns).receipts[-1]
            except TurnConflict:
                if self._is_same(this):
                    return False, this.turn
                continue
            if receipt.committed and receipt.sequence is not None:
                self._append(this.messages, receipt.sequence, len(turns))
            return receipt.committed, this.turn
        raise TurnConflict(at="turn", problem="already_exists")

    def _is_same(self, turn: Turn) -> bool:
        """Tell whether the turn of that id ends as this one does, or has no words any more."""
        anchor = Anchor(at=AnchorKind.AROUND, turn=turn.turn)
        try:
            there = self._transcripts.timeline(self._key, anchor, View.RAW_OWNER, 1)
        except MunimentError:
            return True  # nobody may read it: the same id is the same response
        if not there.turns:
            return True  # nothing of it is shown
        stored = _units_of(there)[-2:]
        wanted = [unit for message in turn.messages if (unit := known_message(message.role, message.parts()))][-2:]
        return all(one.digest is None or one == other for one, other in zip(stored, wanted, strict=False))

    def _stored(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages with their large files as attachments."""
        return [
            message
            if isinstance(message.content, str)
            else replace(message, content=[self._part(part) for part in message.content])
            for message in messages
        ]

    def _part(self, part: Part) -> Part:
        if isinstance(part, BlobPart) and len(part.content) > BLOB_BYTES_MAX:
            return self._attachments.add(part.content, part.mime_type, part.modality).part
        return part

    # --- which messages are new ---------------------------------------------------------------------------------------

    def _new(self, exchange: Exchange) -> list[Message]:
        said = exchange.request
        if exchange.continues:
            return said
        went_on = continues(self._last, said) if self._last else None
        places = list(range(went_on, len(said))) if went_on is not None else self._compared(said, read=False)
        if went_on is not None and any(said[place].role is Role.ASSISTANT for place in places):
            places = self._compared(said, read=True)  # somebody else recorded in between
        last = max((place for place, message in enumerate(said) if message.role is not Role.SYSTEM), default=None)
        if last is not None and said[last].role is not Role.ASSISTANT and last not in places:
            places.append(last)  # it is said again: a call has at least its last message
        return [said[place] for place in places]

    def _compared(self, said: Sequence[Message], *, read: bool) -> list[int]:
        """Return the places of the messages that the store does not have."""
        fresh = self._known is None or read
        if fresh:
            self._read()
        if not self._readable:
            answers = [place for place, message in enumerate(said) if message.role is Role.ASSISTANT]
            return list(range(answers[-1] + 1 if answers else 0, len(said)))
        places = new_messages(self._known or [], said, cut=self._cut)
        if not fresh and any(said[place].role is Role.ASSISTANT for place in places):
            return self._compared(said, read=True)
        return places

    def _read(self) -> None:
        """Read what the store has of the conversation."""
        known: list[KnownMessage] = []
        self._cut, cursor, more = False, None, True
        while more:
            try:
                page = self._transcripts.replay(self._key, View.RAW_OWNER, PAGE_TURNS, cursor)
            except UnknownConversation:
                break
            except (AccessDenied, CapabilityHidden):
                self._readable = False
                break
            known += _units_of(page)
            self._cut |= len(known) > KNOWN_MESSAGES_MAX
            known = known[-KNOWN_MESSAGES_MAX:]
            self._sequence = page.turns[-1].sequence if page.turns else self._sequence
            cursor, more = page.next_cursor, page.has_more
        self._known = known

    def _append(self, messages: Sequence[Message], sequence: int, turns: int) -> None:
        """Note what was committed; what others committed in between is read when it is needed."""
        if self._known is None or sequence != self._sequence + turns:
            self._known = None
            return
        self._sequence = sequence
        self._known += [unit for message in messages if (unit := known_message(message.role, message.parts()))]
        self._cut |= len(self._known) > KNOWN_MESSAGES_MAX
        del self._known[:-KNOWN_MESSAGES_MAX]

    def _remember(self, messages: Sequence[Message]) -> None:
        self._last = [unit for message in messages if (unit := known_message(message.role, message.parts()))]


def _units_of(page: Slice | Timeline) -> list[KnownMessage]:
    """Return the messages of a page to compare.

    A message of which anything is withheld, also a range or a part, takes any words for its own: the host has them all.
    """
    messages = [message for turn in page.turns for message in turn.messages]
    withheld = {item.message for item in page.items}
    if any(applied.ceiling is Ceiling.REDACTION_ITEMS for applied in page.budget_applied):
        withheld.update(message.id for message in messages)  # the report is cut: it may be any of them
    units = [
        KnownMessage(message.role, None) if message.id in withheld else known_message(message.role, message.parts)
        for message in messages
    ]
    return [unit for unit in units if unit is not None]


def _code(error: Exception) -> str:
    return error.code if isinstance(error, MunimentError) else type(error).__name__


def _within_limits(turn: Turn, messages: list[Message]) -> list[Turn]:
    """Return a turn as turns of a size that a store takes: the first request may bring a long conversation along."""
    first = len(messages) % TURN_MESSAGES or TURN_MESSAGES
    *earlier, last = [
        messages[max(0, end - TURN_MESSAGES) : end] for end in range(first, len(messages) + 1, TURN_MESSAGES)
    ]
    before = [
        replace(turn, turn=TurnId(f"{turn.turn}-before-{number}"), messages=chunk, host_refs=[])
        for number, chunk in enumerate(earlier, start=1)
    ]
    return [*before, replace(turn, messages=last)]


def _is_name(text: str) -> bool:
    try:
        check_name(text, at="id")
    except InvalidInput:
        return False
    return True


def _reference(exchange: Exchange) -> list[HostReference]:
    if not exchange.id or not _is_name(exchange.id):
        return []
    host = exchange.source.provider or "model"
    return [
        HostReference(
            host=host, type="response", id=exchange.id, relation=Relation.ORIGIN, visibility=Visibility.OPERATOR_AUDIT
        )
    ]


def _attributes(turn: TurnId, counted: Mapping[str, Any]) -> list[Attribute]:
    """Return what was counted, as attributes of the turn; the same names replace what is there."""
    kinds = {int: ValueKind.NUMBER, str: ValueKind.STRING, list: ValueKind.ARRAY}
    return [
        Attribute(
            id=f"{turn}:{name}",
            target=AttributeTarget(turn=turn),
            key=ATTRIBUTE_PREFIX + name,
            kind=kinds[type(value)],
            value=value,
            source=AttributeSource(writer=WRITER, kind=SourceKind.PROVIDER_REPORTED),
            visibility=Visibility.OPERATOR_AUDIT,
        )
        for name, value in counted.items()
    ]


def recorded_place(subject: str, conversation: str, channel: str, actor: Attribution | None) -> Turn:
    """Return what all turns of a recorder have in common, as a turn without messages."""
    return Turn(
        turn=TurnId("none"),
        subject=SubjectId(subject),
        messages=[],
        conversation=ConversationId(conversation),
        channel=Channel(channel),
        actor=actor,
    )


def counted(
    answer: Mapping[str, Any], names: Mapping[str, str], reasons: list[str]
) -> dict[str, int | str | list[str]]:
    """Return what a provider reports of an answer, by the names of attributes."""
    found: dict[str, int | str | list[str]] = {}
    for path, name in names.items():
        value: Any = answer.get("usage")
        for member in path.split("."):
            value = value.get(member) if isinstance(value, dict) else None
        if isinstance(value, int):
            found[name] = value
    if reasons:
        found["response.finish_reasons"] = reasons
    return found
