"""Pydantic AI: a capability that commits each run of an agent as one turn and recalls for it, and a message history.

    agent = Agent(model, capabilities=[EvidenceCapability(store, subject="ada")])
    history = ModelMessageHistory(store, subject="ada", conversation="lamp")
    result = await agent.run("Is it on?", conversation_id="lamp", message_history=await history.messages())

| what happens | what is recorded |
|---|---|
| a run ends | one turn with its new messages; its id is that of the run, so a repeat adds nothing |
| a run fails or is cancelled | a turn with what the user said; it is evidence, and in no history |
| a run pauses for deferred tools | one turn; the run that goes on is another |

The conversation is that of the run (`conversation_id`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace as with_fields
from typing import Any

from msgspec.structs import replace
from pydantic_ai import AgentRunResult, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT

from muniment.errors import InvalidInput, MunimentError
from muniment.events.identity import ConversationKey
from muniment.events.name_types import DEFAULT_CHANNEL
from muniment.events.turn import Delivery, Source, Turn
from muniment.host.adapted_store import StoreGiven
from muniment.host.failure_policy import FailurePolicy
from muniment.host.histories.item_history import ItemHistory
from muniment.host.histories.pydantic_ai_items import FORM, items_of, messages_of, words_of_item
from muniment.host.off_loop import off_loop
from muniment.host.recording.run_evidence import RECALL_TOKENS, RunEvidence
from muniment.runtime.runtime import Runtime

REQUESTER = "pydantic_ai"


class ModelMessageHistory:
    """The messages of one conversation, for `message_history=`. Any number of them may share a conversation."""

    def __init__(self, store: Runtime, *, subject: str, conversation: str, channel: str = DEFAULT_CHANNEL) -> None:
        self._turn = Turn(turn="", subject=subject, messages=[], conversation=conversation, channel=channel)
        self._items = ItemHistory(store, self._turn, words_of=words_of_item, fields_of_form=FORM, requester=REQUESTER)

    async def messages(self) -> list[ModelMessage]:
        """Return all messages, oldest first, exactly as they were appended; what was redacted or erased has markers."""
        return await off_loop(lambda: messages_of(self._items.newest()))

    async def append(self, messages: Sequence[ModelMessage], *, run_id: str | None = None) -> None:
        """Append messages as one turn, durably, as those of `result.new_messages()`.

        With the id of a run, a repeat appends nothing, and other messages raise `transcript.turn_conflict`. What has
        begun ends, even when the caller is cancelled. Raises `request.invalid`, `request.limit_exceeded`.
        """
        _ = await off_loop(self.commit, messages, run_id)

    async def clear(self) -> None:
        """Mask all turns that the conversation has now. Nothing is destroyed; `Runtime.lifecycle.erase` does that."""
        _ = await off_loop(self._items.clear)

    def commit(
        self, messages: Sequence[ModelMessage], run_id: str | None = None, delivery: Delivery = Delivery.DELIVERED
    ) -> None:
        """Do as `append`, at once; `delivery` is how the run ended."""
        like = replace(self._turn, source=_source_of(messages), delivery=delivery)
        _ = self._items.append(items_of(messages), turn_id=run_id, like=like)


class EvidenceCapability(AbstractCapability[AgentDepsT]):
    """Commits the runs of an agent and recalls for them.

    `store` is a runtime, or a path that is opened (`evidence.close` closes it). `subject` is who the conversation is
    with, or tells it of the context of a run, as from its `deps`. With `recall_tokens` above 0, what memory
    has on the newest prompt of the user comes before the messages of each request, in a block of at most so many
    tokens; it is in no history and in no turn. Failures of the store are counted (`evidence.failures`), logged, and
    stop no run unless `policy` says so.
    """

    def __init__(
        self,
        store: StoreGiven,
        subject: str | Callable[[RunContext[AgentDepsT]], str],
        *,
        channel: str = DEFAULT_CHANNEL,
        recall_tokens: int = RECALL_TOKENS,
        policy: FailurePolicy = FailurePolicy.FAIL_OPEN,
    ) -> None:
        self.evidence = RunEvidence(store, recall_tokens=recall_tokens, policy=policy)
        self._subject = subject
        self._channel = channel

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put what memory has before the messages of a request."""
        question = _newest_prompt(request_context.messages)
        key = ConversationKey(conversation=ctx.conversation_id or "", channel=self._channel)
        block = await off_loop(lambda: self.evidence.recalled(lambda: self._subject_of(ctx), key, question))
        if not block:
            return request_context
        recalled = ModelRequest(parts=[UserPromptPart(block)])
        return with_fields(request_context, messages=[recalled, *request_context.messages])

    async def after_run(self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Commit the run."""
        await self._settle(ctx, result.new_messages(), Delivery.DELIVERED)
        return result

    async def on_run_error(self, ctx: RunContext[AgentDepsT], *, error: BaseException) -> AgentRunResult[Any]:
        """Commit what the user said, and let the run fail with its own error; a note says if the store failed, too."""
        cancelled = isinstance(error, asyncio.CancelledError)
        said = [] if ctx.prompt is None else [ModelRequest(parts=[UserPromptPart(ctx.prompt)])]
        try:
            await self._settle(ctx, said, Delivery.CANCELLED if cancelled else Delivery.UPSTREAM_FAILED)
        except MunimentError as failure:
            error.add_note(f"The store failed, too: {failure}")
        raise error

    async def _settle(self, ctx: RunContext[AgentDepsT], messages: Sequence[ModelMessage], delivery: Delivery) -> None:
        if not messages:
            return
        _ = await off_loop(lambda: self.evidence.settled(lambda: self._commit(ctx, messages, delivery)))

    def _commit(self, ctx: RunContext[AgentDepsT], messages: Sequence[ModelMessage], delivery: Delivery) -> None:
        subject, conversation = self._subject_of(ctx), ctx.conversation_id or ""
        history = ModelMessageHistory(
            self.evidence.store, subject=subject, conversation=conversation, channel=self._channel
        )
        suffix = "" if delivery is Delivery.DELIVERED else f".{delivery}"  # a run may succeed when it is run again
        history.commit(messages, f"{ctx.run_id}{suffix}", delivery)

    def _subject_of(self, ctx: RunContext[AgentDepsT]) -> str:
        subject = self._subject if isinstance(self._subject, str) else self._subject(ctx)
        if not subject:
            raise InvalidInput(at="subject", problem="empty")
        return subject


def _newest_prompt(messages: Sequence[ModelMessage]) -> str:
    """Return the text of the newest prompt of the user."""
    prompts = (
        part.content
        for message in reversed(messages)
        if isinstance(message, ModelRequest)
        for part in reversed(message.parts)
        if isinstance(part, UserPromptPart)
    )
    content = next(prompts, "")
    return content if isinstance(content, str) else "\n".join(each for each in content if isinstance(each, str))


def _source_of(messages: Sequence[ModelMessage]) -> Source:
    answer = next((each for each in reversed(messages) if isinstance(each, ModelResponse)), None)
    return Source() if answer is None else Source(provider=answer.provider_name, model=answer.model_name)
