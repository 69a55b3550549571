"""A turn: what one exchange delivered, as a host commits it.

A turn is an ordered list of messages. The last assistant message is the answer; messages between the user's input and
the answer (calls, results, system text) are steps. `governance.admission` decides what is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.message import AttachmentPart, Message, Role
from muniment.events.name_types import DEFAULT_CHANNEL, Channel, ChatId, ConversationId, SpaceName, SubjectId, TurnId
from muniment.events.references import HostReference


class Delivery(StrEnum):
    """How the exchange ended."""

    DELIVERED = "delivered"
    USER_ONLY = "user_only"
    UPSTREAM_FAILED = "upstream_failed"
    CANCELLED = "cancelled"
    INCOMPLETE_STREAM = "incomplete_stream"
    REJECTED_BY_POLICY = "rejected_by_policy"


class Ingress(StrEnum):
    """What started a turn: a person, or the host itself."""

    USER = "user"
    SYSTEM = "system"


class Protocol(StrEnum):
    """The protocol that a turn came through."""

    OPENAI_CHAT = "openai_chat"
    OPENAI_RESPONSES = "openai_responses"
    OLLAMA_CHAT = "ollama_chat"
    OLLAMA_GENERATE = "ollama_generate"
    NATIVE = "native"


class Source(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Where a turn came from. The conversation hint is the client's own name of its conversation."""

    ingress: Ingress = Ingress.USER
    channel: str | None = None
    provider: str | None = None
    protocol: Protocol = Protocol.NATIVE
    endpoint: str | None = None
    model_alias: str | None = None
    model: str | None = None
    request_id: str | None = None
    conversation_hint: str | None = None


class Attribution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The participants of a turn: seven values that are never merged.

    Each may be absent; `attributed` fills the absent ones. `subject` defaults to that of the turn.
    """

    speaker_id: str | None = None
    speaker_kind: str | None = None
    subject: str | None = None
    acting_subject: str | None = None
    mounted_subject: str | None = None
    agent_id: str | None = None
    trigger: str | None = None


class ToolObservation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A note of the host about the use of a tool: a summary, never a raw result."""

    id: str
    tool: str
    summary: str = ""
    external: bool = False


ForeignMessages = Sequence[Mapping[str, Any]]
ReadMessages = Callable[[str, ForeignMessages], "tuple[list[Message], Source]"]


class ForeignReader:
    """What reads messages of another shape. The room of foreign formats puts it here; this one knows none of them."""

    read: ReadMessages | None = None


def ending_of(messages: Iterable[Message]) -> Delivery:
    """Return how an exchange of these messages ended: without an answer when only users speak, else delivered."""
    return Delivery.USER_ONLY if all(message.role is Role.USER for message in messages) else Delivery.DELIVERED


class Turn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The input of a commit.

    A turn names its conversation by `conversation`, or by `chat` alone, which then serves as conversation id.
    With both, `chat` becomes an alias of the conversation for this turn's mounted subject.
    """

    turn: TurnId
    subject: SubjectId
    messages: list[Message]
    conversation: ConversationId | None = None
    channel: Channel = DEFAULT_CHANNEL
    space: SpaceName | None = None
    chat: ChatId | None = None
    delivery: Delivery = Delivery.DELIVERED
    source: Source = Source()
    actor: Attribution | None = None
    tools: list[ToolObservation] = []
    host_refs: list[HostReference] = []
    external: bool = False
    candidates: list[str] = []

    @classmethod
    def from_openai(
        cls,
        messages: ForeignMessages,
        *,
        turn: TurnId,
        subject: SubjectId,
        conversation: ConversationId | None = None,
        channel: Channel = DEFAULT_CHANNEL,
        delivery: Delivery | None = None,
    ) -> Turn:
        """Return a turn of the messages of an OpenAI chat, as plain dictionaries.

        Reads what `muniment spaces import --format openai` reads. Without `delivery`, a turn that has only user
        messages is `user_only`. Set any other field with `msgspec.structs.replace`.
        Raises `request.invalid` for a message that cannot be read.
        """
        placed = cls(turn=turn, subject=subject, messages=[], conversation=conversation, channel=channel)
        return placed._saying("openai", messages, delivery)

    @classmethod
    def from_anthropic(
        cls,
        messages: ForeignMessages,
        *,
        turn: TurnId,
        subject: SubjectId,
        conversation: ConversationId | None = None,
        channel: Channel = DEFAULT_CHANNEL,
        delivery: Delivery | None = None,
    ) -> Turn:
        """Return a turn of messages of the Messages API; otherwise as `from_openai`."""
        placed = cls(turn=turn, subject=subject, messages=[], conversation=conversation, channel=channel)
        return placed._saying("anthropic", messages, delivery)

    @classmethod
    def from_langchain(
        cls,
        messages: ForeignMessages,
        *,
        turn: TurnId,
        subject: SubjectId,
        conversation: ConversationId | None = None,
        channel: Channel = DEFAULT_CHANNEL,
        delivery: Delivery | None = None,
    ) -> Turn:
        """Return a turn of LangChain messages, of any of their forms; otherwise as `from_openai`."""
        placed = cls(turn=turn, subject=subject, messages=[], conversation=conversation, channel=channel)
        return placed._saying("langchain", messages, delivery)

    def _saying(self, shape: str, messages: ForeignMessages, delivery: Delivery | None) -> Turn:
        """Return this turn with foreign messages, where they came from, and how the exchange ended."""
        assert ForeignReader.read is not None, "`muniment.Turn` brings it along (decision 0137)"
        known, source = ForeignReader.read(shape, messages)
        return replace(self, messages=known, source=source, delivery=delivery or ending_of(known))


def has_attachments(turn: Turn) -> bool:
    """Tell whether a turn brings files along."""
    for message in turn.messages:
        if type(message.content) is not str:
            for part in message.content:
                if type(part) is AttachmentPart:
                    return True
    return False


ATTRIBUTIONS_CACHED_MAX = 1024
SUBJECT_SPEAKS = "subject"  # the default kind of speaker


@lru_cache(maxsize=ATTRIBUTIONS_CACHED_MAX)
def attributed(actor: Attribution) -> Attribution:
    """Fill the absent values of an attribution: identities with the subject, the kind with "subject"."""
    subject = actor.subject
    return Attribution(
        speaker_id=actor.speaker_id or subject,
        speaker_kind=actor.speaker_kind or SUBJECT_SPEAKS,
        subject=subject,
        acting_subject=actor.acting_subject or subject,
        mounted_subject=actor.mounted_subject or subject,
        agent_id=actor.agent_id or subject,
        trigger=actor.trigger,
    )


def input_of_history(history: Sequence[Message]) -> list[Message]:
    """Return this turn's input from a full protocol history: the user messages after the last assistant entry.

    An empty assistant entry and one that only calls tools are boundaries too. Keeps no state.
    """
    boundaries = [index for index, message in enumerate(history) if message.role is Role.ASSISTANT]
    after = boundaries[-1] + 1 if boundaries else 0
    return [message for message in history[after:] if message.role is Role.USER]
