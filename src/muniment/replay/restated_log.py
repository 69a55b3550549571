"""The commands that would append the events of a live log again, in synthetic text.

The log is read event by event. Kept is the structure that the product works on: roles, authorities, statuses,
visibilities, views, reasons that muniment defines, lengths, counts, and times as far from the first as they were. Names
become pseudonyms, and short synthetic text replaces content that is erased. Memory is restated by `restated_memory`.

Not every event was requested, and not every one can be requested again: rotations that an erasure made come with that
erasure; archives, backups, documents, restores, new signing keys, recorded contexts, refusals, approvals and the end of
a space are left out and counted.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import WITH_MEMORY, Custody, PolicySet, Transition, TurnLifecycle, TurnRedacted, span_of
from muniment.events.disclosures import ContentExported, ContentRevealed, ExportWay
from muniment.events.identity import named_message
from muniment.events.records import (
    AliasRecorded,
    ConversationOpened,
    EventKind,
    ExportIssued,
    KeyRotated,
    RotationCause,
    SignerAnnounced,
    SpaceOpened,
    TurnMeta,
)
from muniment.events.references import RefDerived, SourceEvidence
from muniment.evidence.verifier import open_announcement
from muniment.ledger.ledger import SPACE_STREAM
from muniment.replay.fixture import Command, HarnessCommand, Timing
from muniment.replay.live_event import LiveEvent
from muniment.replay.restated_memory import RestatedMemory, Surroundings
from muniment.replay.restating import command_of, restated_attribute, restated_turn
from muniment.replay.synthetic import Synthetic
from muniment.space.space import Space

EXPECT_FIRST = 100  # commands before the first measurement; then twice as many each time, as each reads everything
START_MS = Timing().start_ms
PART_EVENTS = 1000  # read in one snapshot


class RestatedLog:
    """The commands of a live log, with what could not be restated counted."""

    def __init__(self, space: Space, words: Synthetic) -> None:
        self.left_out: Counter[str] = Counter()
        self.events = 0
        self._space = space
        self._words = words
        self._names: dict[int, dict[str, str]] = {}  # of a stream
        self._turns: dict[int, list[bool]] = {}  # of a stream: whether the words were still there
        self._chat: dict[int, str] = {}  # an alias that the next turn of a stream brings
        self._streams: dict[tuple[str, str], int] = {}  # of a conversation, by channel and id
        self._sequences: dict[tuple[int, str], int] = {}  # of a turn, by stream and id
        self._first_ms: int | None = None
        self._memory = RestatedMemory(
            space, words, Surroundings(self._moved, self._sources, self._conversation, self.left_out)
        )
        self._say: dict[type[Any], Callable[[LiveEvent, Any], Iterator[Command]]] = {
            SpaceOpened: self._nothing,
            ConversationOpened: self._opened,
            AliasRecorded: self._alias,
            TurnMeta: self._turn,
            TurnRedacted: self._redacted,
            TurnLifecycle: self._lifecycle,
            PolicySet: self._policy,
            RefDerived: self._derived,
            ExportIssued: self._exported,
            ContentRevealed: self._revealed,
            ContentExported: self._handed_out,
            KeyRotated: self._rotated,
            SignerAnnounced: self._announced,
        }

    def commands(self) -> Iterator[Command]:
        """Yield the commands of the fixture."""
        said = itertools.chain(itertools.chain.from_iterable(map(self._of, self._log())), self._memory.flushed())
        due = EXPECT_FIRST
        for number, command in enumerate(said, start=1):
            yield command
            if number == due:
                due *= 2
                yield Command(do=HarnessCommand.EXPECT)
        yield Command(do=HarnessCommand.REBUILD)
        yield Command(do=HarnessCommand.REOPEN)
        yield Command(do=HarnessCommand.EXPECT)

    def _log(self) -> Iterator[LiveEvent]:
        ledger, first = self._space.ledger, 0
        while True:
            with ledger.reader() as reader:
                rows = list(reader.sealed_events(first, first + PART_EVENTS - 1))
            if not rows:
                return
            for row in rows:
                yield LiveEvent(row, ledger.header(row)[0], ledger.open(row))
            first += len(rows)

    def _of(self, event: LiveEvent) -> Iterator[Command]:
        self.events += 1
        self._first_ms = event.row.time if self._first_ms is None else self._first_ms
        meta = event.opened.meta
        if self._memory.takes(event):
            commands = self._memory.of(event)
        elif event.row.kind == EventKind.ATTR_RECORDED:
            commands = itertools.chain(self._memory.flushed(), self._annotated(event, meta))
        else:
            commands = itertools.chain(self._memory.flushed(), self._say.get(type(meta), self._left_out)(event, meta))
        for command in commands:
            yield replace(command, at_ms=self._moved(event.row.time) if command.at_ms is None else command.at_ms)

    def _moved(self, time_ms: int) -> int:
        return max(1, START_MS + time_ms - (self._first_ms or 0))

    def _left_out(self, event: LiveEvent, _meta: Any) -> Iterator[Command]:
        self.left_out[event.row.kind] += 1
        return iter(())

    def _nothing(self, _event: LiveEvent, _meta: Any) -> Iterator[Command]:
        return iter(())

    # --- conversations and turns --------------------------------------------------------------------------------------

    def _opened(self, event: LiveEvent, meta: ConversationOpened) -> Iterator[Command]:
        names = {"conversation": f"conversation-{len(self._names) + 1}"}
        channel = "default" if meta.channel == "default" else self._words.name("channel", meta.channel)
        self._names[event.row.stream] = {**names, "channel": channel}
        self._turns[event.row.stream] = []
        self._streams[meta.channel, meta.conversation] = event.row.stream
        return iter(())

    def _alias(self, event: LiveEvent, meta: AliasRecorded) -> Iterator[Command]:
        self._chat[event.row.stream] = self._words.name("chat", f"{meta.subject}\0{meta.channel}\0{meta.chat}")
        return iter(())

    def _turn(self, event: LiveEvent, meta: TurnMeta) -> Iterator[Command]:
        stream, content = event.row.stream, None
        try:
            content = self._space.ledger.words(event.opened)[1]
        except (KeyMissing, Corrupt):  # erased, or gone without having been erased
            content = None
        self._turns[stream].append(content is not None)
        self._sequences[stream, meta.delivery.turn] = len(self._turns[stream])
        given = restated_turn(self._words, meta, content, self._moved)
        given |= {**self._names[stream], "turn": self._turn_id(stream, len(self._turns[stream]))}
        if stream in self._chat:
            given["chat"] = self._chat.pop(stream)
        yield command_of("transcripts.commit", turn=given)

    def _turn_id(self, stream: int, sequence: int) -> str:
        return f"turn-{stream}-{sequence}"

    def _message_id(self, stream: int, refs: dict[str, int]) -> str:
        return f"{self._turn_id(stream, refs['turn'])}#{refs['message']}"  # for short: commands name the conversation

    # --- what was said of them ----------------------------------------------------------------------------------------

    def _redacted(self, event: LiveEvent, meta: TurnRedacted) -> Iterator[Command]:
        stream, turn = event.row.stream, event.header.about["turn"]
        passage = {"turn": self._turn_id(stream, turn), **msgspec.to_builtins(meta.target)}
        if not self._turns[stream][turn - 1]:  # of words that are gone, nobody knows where a range of them was
            passage = {name: passage[name] for name in ("turn", "message", "field") if name in passage}
        yield command_of(
            "transcripts.redact",
            conversation=self._names[stream],
            passage=passage,
            views=meta.views,
            reason=event.header.reason,
            requester=self._words.name("requester", meta.request.requester),
        )

    def _lifecycle(self, event: LiveEvent, meta: TurnLifecycle) -> Iterator[Command]:
        refs, stream, reason = event.header.about, event.row.stream, event.header.reason
        asked = {
            "reason": self._reason(meta.request.reason),
            "requester": self._words.name("requester", meta.request.requester),
        }
        if reason == Transition.ERASE:
            self._memory.follows(meta.request)
        if reason == Transition.ERASE and meta.request.subject is not None:
            yield from self._memory.erased(meta.request)
        elif reason == Custody.RELEASE:
            yield command_of("lifecycle.release", hold={"$from": f"hold-{refs['hold']}.position"}, **asked)
        elif reason == Custody.HOLD:
            held = command_of("lifecycle.hold", scope=self._held(stream, refs, meta.request.subject), **asked)
            yield replace(held, kept_as=f"hold-{event.row.position}")
        elif "message" in refs or WITH_MEMORY in refs:
            along = True if WITH_MEMORY in refs else None
            for scope in self._scopes(stream, refs):
                yield command_of("lifecycle.erase", scope=scope, with_memory=along, **asked)
        else:
            for turn in self._spanned(stream, refs):
                given = {"conversation": self._names[stream], "transition": reason, **asked}
                yield command_of("lifecycle.request", **(given if turn is None else {**given, "turn": turn}))

    def _scopes(self, stream: int, refs: dict[str, int]) -> Iterator[dict[str, str]]:
        """Yield what an erasure is about: a message, or turns."""
        if "message" in refs:
            yield {**self._names[stream], "message": self._message_id(stream, refs)}
            return
        for turn in self._spanned(stream, refs):
            yield self._names[stream] if turn is None else {**self._names[stream], "turn": turn}

    def _sources(self, evidence: Iterable[SourceEvidence]) -> list[dict[str, Any]]:
        """Return the turns of this log that evidence names, as requests name them."""
        found: list[dict[str, Any]] = []
        for source in evidence:
            stream = self._streams.get((source.channel, source.conversation), -1)
            sequence = self._sequences.get((stream, source.turn))
            if sequence is None:
                continue
            told: dict[str, Any] = {"conversation": self._names[stream], "turn": self._turn_id(stream, sequence)}
            message = None if source.message is None else named_message(source.message)
            if message is not None:
                told["message"] = f"{told['turn']}#{message.place}"
            if told not in found:
                found.append(told)
        return found

    def _conversation(self, channel: str, conversation: str) -> dict[str, str]:
        """Return the names of a conversation; of one that has yet to begin, others."""
        stream = self._streams.get((channel, conversation), -1)
        return self._names.get(stream, {"conversation": "conversation-0", "channel": "default"})

    def _spanned(self, stream: int, refs: dict[str, int]) -> list[str | None]:
        """Return the turns of a span; none named (one None) when they are all that the conversation has."""
        span, there = span_of(refs), len(self._turns[stream])
        last = there if span.last is None else span.last
        if (span.first, last) == (1, there):
            return [None]
        return [self._turn_id(stream, turn) for turn in range(span.first, last + 1)]

    def _held(self, stream: int, refs: dict[str, int], subject: str | None) -> dict[str, str]:
        if subject is not None:
            return {"subject": self._words.name("subject", subject)}
        if stream == SPACE_STREAM:
            return {"whole_space": "default"}
        turn = {"turn": self._turn_id(stream, refs["turn"])} if "turn" in refs else {}
        return {**self._names[stream], **turn}

    def _annotated(self, event: LiveEvent, meta: Any) -> Iterator[Command]:
        stream, refs = event.row.stream, event.header.about
        try:
            content = self._space.ledger.content(event.opened)[1]
        except (KeyMissing, Corrupt):
            content = None
        target = {"turn": self._turn_id(stream, refs["turn"])}
        if "message" in refs:
            target |= {"scope": "message", "message": self._message_id(stream, refs)}
        attribute = restated_attribute(self._words, meta, content) | {"target": target}
        yield command_of("transcripts.annotate", conversation=self._names[stream], attributes=[attribute])

    def _derived(self, event: LiveEvent, meta: RefDerived) -> Iterator[Command]:
        stream, refs = event.row.stream, event.header.about
        span = span_of(refs)
        derivation: dict[str, Any] = {
            "plane": meta.plane,
            "key": self._words.name("item", meta.key),
            "subject": self._words.name("subject", meta.subject),
            "conversation": self._names[stream],
            "turn": self._turn_id(stream, span.first),
        }
        if span.last not in {None, span.first}:
            derivation["through"] = self._turn_id(stream, span.last or 0)
        if "message" in refs:
            derivation["message"] = self._message_id(stream, {"turn": span.first, "message": refs["message"]})
        if meta.source.authority is not None:
            derivation["authority"] = meta.source.authority
        yield command_of("provenance.record", derivations=[derivation])

    # --- what was asked of the space ----------------------------------------------------------------------------------

    def _policy(self, _event: LiveEvent, meta: PolicySet) -> Iterator[Command]:
        policy = msgspec.to_builtins(meta.policy)
        names = next(
            (
                known
                for stream, known in self._names.items()
                if meta.policy.conversation is not None and self._is(stream, meta.policy)
            ),
            None,
        )
        if meta.policy.conversation is not None:
            policy |= names or {"conversation": "conversation-0", "channel": "default"}
        elif meta.policy.channel is not None and meta.policy.channel != "default":
            policy["channel"] = self._words.name("channel", meta.policy.channel)
        reason, requester = self._reason(meta.request.reason), self._words.name("requester", meta.request.requester)
        yield command_of("lifecycle.retain", reason=reason, requester=requester, **policy)

    def _is(self, stream: int, policy: Any) -> bool:
        with self._space.ledger.reader() as reader:
            row = reader.sealed(stream)
        names = None if row is None else self._space.transcript.names(row)
        return names is not None and (names.channel, names.conversation) == (policy.channel, policy.conversation)

    def _exported(self, event: LiveEvent, meta: ExportIssued) -> Iterator[Command]:
        grant = {
            "recipient": self._words.maybe("recipient", meta.export.recipient),
            "purpose": self._words.maybe("purpose", meta.export.purpose),
        }
        names = self._names.get(event.header.about["stream"])
        if names is None:  # of a notebook
            yield from self._left_out(event, meta)
            return
        yield command_of("evidence.export", conversation=names, view=meta.export.view, **grant)

    def _revealed(self, event: LiveEvent, meta: ContentRevealed) -> Iterator[Command]:
        refs = event.header.about
        given: dict[str, Any] = {
            "conversation": self._names[refs["stream"]],
            "turn": self._turn_id(refs["stream"], refs["turn"]),
            "reason": self._reason(meta.request.reason),
            "requester": self._words.name("requester", meta.request.requester),
        }
        yield command_of("disclosure.reveal", **given, **({"message": refs["message"]} if "message" in refs else {}))

    def _handed_out(self, event: LiveEvent, meta: ContentExported) -> Iterator[Command]:
        if meta.export.way != ExportWay.RECEIPT:
            yield from self._left_out(event, meta)
            return
        refs = event.header.about
        names, turn = self._names[refs["stream"]], self._turn_id(refs["stream"], refs["turn"])
        yield command_of("evidence.prove", conversation=names, turn=turn, view=meta.export.view)

    def _rotated(self, event: LiveEvent, _meta: KeyRotated) -> Iterator[Command]:
        if event.header.reason == RotationCause.REQUESTED:
            yield command_of("spaces.rotate")

    def _announced(self, event: LiveEvent, meta: SignerAnnounced) -> Iterator[Command]:
        told = open_announcement(meta.announcement)
        if told.former.name == told.key.name:
            yield command_of("spaces.replace_signer")
        else:  # a restore, which a fixture cannot repeat
            yield from self._left_out(event, meta)

    def _reason(self, reason: str) -> str:
        return self._words.text(reason) if reason.strip() else "x"
