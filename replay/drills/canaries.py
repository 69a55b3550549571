"""Canaries: random strings, one for every field of a turn, each with where it must not show.

They end in a digit: no rule of a language takes the ending of such a word away.
"""

from __future__ import annotations

import random
import string

from msgspec import Struct

from muniment.events.identity import Channel, ChatId, ConversationId, ConversationKey, SubjectId, TurnId
from muniment.events.message import (
    BlobPart,
    FilePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.events.references import HostReference
from muniment.events.turn import Attribution, Source, ToolObservation, Turn
from muniment.governance.views import View
from muniment.memory.candidate import Candidate, ItemSource, Ruling, SemanticJudgement

CHARACTERS = 20
ALPHABET = string.ascii_lowercase + string.digits

EVERYWHERE = frozenset[View]()
FROM_EXPORT = frozenset({View.EXPORT})
FROM_AUDIT = frozenset({View.OPERATOR_AUDIT})
FROM_BOTH = FROM_EXPORT | FROM_AUDIT


class Canary(Struct, frozen=True, kw_only=True):
    """One canary: whether it is content, which an erasure destroys, and the exports that must not show it.

    One that is `attached` is in the bytes of a file, or in memory, which no export has.
    """

    text: str
    conversation: int
    is_content: bool
    hidden_from: frozenset[View]
    attached: bool = False


class Aviary:
    """Makes turns full of canaries, and knows them all."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - canaries are looked for, not kept secret
        self.canaries: list[Canary] = []
        self.conversation = 0

    def name(self, hidden_from: frozenset[View] = EVERYWHERE) -> str:
        """Return a new canary that is a name."""
        return self._new(is_content=False, hidden_from=hidden_from)

    def words(self, hidden_from: frozenset[View] = FROM_AUDIT) -> str:
        """Return a new canary that is content."""
        return self._new(is_content=True, hidden_from=hidden_from)

    def file(self) -> bytes:
        """Return the bytes of a file, with a new canary in it."""
        return b"a file of " + self._new(is_content=True, hidden_from=frozenset(View), attached=True).encode()

    def remembered(self) -> str:
        """Return a new canary that a memory item says."""
        return self._new(is_content=True, hidden_from=frozenset(View), attached=True)

    def candidate(self, turn: Turn) -> Candidate:
        """Return a candidate with a canary in every field that takes one, which rests on a turn."""
        key = ConversationKey(conversation=ConversationId(turn.conversation or ""), channel=Channel(turn.channel))
        return Candidate(
            id=self.name(FROM_EXPORT),
            subject=turn.subject,
            kind="fact",
            topic=self.remembered(),
            text=self.remembered(),
            keywords=[self.remembered()],
            tags=[self.remembered()],
            entities=[self.remembered()],
            evidence=[ItemSource(conversation=key, turn=turn.turn)],
            judgement=SemanticJudgement(decision=Ruling.ACCEPT),
        )

    def _new(self, *, is_content: bool, hidden_from: frozenset[View], attached: bool = False) -> str:
        text = "".join(self._chance.choices(ALPHABET, k=CHARACTERS - 1)) + self._chance.choice(string.digits)
        self.canaries.append(
            Canary(
                text=text,
                conversation=self.conversation,
                is_content=is_content,
                hidden_from=hidden_from,
                attached=attached,
            )
        )
        return text

    def turn(self, conversation: str, channel: str) -> Turn:
        """Return a turn with a canary in every field that takes one."""
        subject = self.name()
        return Turn(
            turn=TurnId(self.name()),
            subject=SubjectId(subject),
            conversation=ConversationId(conversation),
            channel=Channel(channel),
            chat=ChatId(self.name()),
            source=self._source(),
            actor=self._actor(subject),
            messages=[
                self._message(Role.USER, [TextPart(content=self.words()), *self._files()]),
                self._message(Role.ASSISTANT, self._steps()),
                self._message(Role.TOOL, [self._response()]),
                self._message(Role.ASSISTANT, [TextPart(content=f"{self.words()} ÄÖÜ 漢字 {self.words()}")]),
            ],
            tools=[
                ToolObservation(id=self.name(FROM_EXPORT), tool=self.name(FROM_EXPORT), summary=self.words(FROM_EXPORT))
            ],
            host_refs=[self._reference()],
            candidates=[self.name(FROM_EXPORT)],
        )

    def _source(self) -> Source:
        return Source(
            channel=self.name(FROM_EXPORT),
            provider=self.name(FROM_EXPORT),
            endpoint=self.name(FROM_EXPORT),
            model_alias=self.name(FROM_EXPORT),
            model=self.name(FROM_EXPORT),
            request_id=self.name(FROM_EXPORT),
            conversation_hint=self.name(FROM_EXPORT),
        )

    def _actor(self, subject: str) -> Attribution:
        return Attribution(
            speaker_id=self.name(),
            speaker_kind=self.name(),
            subject=subject,
            acting_subject=self.name(),
            mounted_subject=self.name(),
            agent_id=self.name(),
            trigger=self.name(),
        )

    def _message(self, role: Role, parts: list[Part]) -> Message:
        return Message(role=role, content=parts, speaker_id=self.name(), speaker_kind=self.name())

    def _files(self) -> list[Part]:
        return [
            BlobPart(content=self.words().encode(), mime_type=self.words(), modality=self.words()),
            FilePart(file_id=self.words(), mime_type=self.words(), modality=self.words()),
            UriPart(uri=self.words(), mime_type=self.words(), modality=self.words()),
        ]

    def _steps(self) -> list[Part]:
        arguments = {self.words(FROM_BOTH): [self.words(FROM_BOTH), 1.5, {self.words(FROM_BOTH): None}]}
        return [
            ReasoningPart(content=self.words(FROM_BOTH)),
            ToolCallPart(name=self.words(FROM_BOTH), id=self.words(FROM_BOTH), arguments=arguments),
        ]

    def _response(self) -> Part:
        return ToolCallResponsePart(response={"said": self.words(FROM_BOTH)}, id=self.words(FROM_BOTH))

    def _reference(self) -> HostReference:
        return HostReference(
            host=self.name(FROM_BOTH),
            type=self.name(FROM_BOTH),
            id=self.name(FROM_BOTH),
            label=self.words(FROM_BOTH),
        )
