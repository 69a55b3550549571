"""A middleware for agents of LangChain: each run of an agent becomes one turn, and memory comes into its prompts.

    agent = create_agent(model, tools, middleware=[EvidenceMiddleware(store, subject="ada")], checkpointer=checkpointer)

What a run says is collected in private state of the graph, so it survives a checkpoint, an interrupt that waits for a
person, and a middleware that shortens the messages. When the run ends, all of it is committed: the input, the steps
with their calls and results, and the answer that was delivered.

| what happens | what is recorded |
|---|---|
| the run ends | one turn; its id is made of the ids of its messages, so a repeat of the last step adds nothing |
| it fails, is cancelled or waits | nothing yet; the messages are in the turn of the run that ends after it |
| the store is unavailable | nothing yet; the next run of the thread commits it, too |
| another answer is made of an earlier checkpoint | a turn of its own |

The second and third line need a checkpointer: without one, nothing of a run is left when it stops. A run without a
thread is a conversation of its own. Artifacts of tools are left out: they are for the host, not for the model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.runtime import Runtime as GraphRuntime
from langgraph.types import Command

from muniment.errors import InvalidInput
from muniment.events.identity import ConversationKey
from muniment.events.name_types import DEFAULT_CHANNEL
from muniment.events.turn import Source, ToolObservation, Turn
from muniment.host.adapted_store import StoreGiven
from muniment.host.failure_policy import FailurePolicy
from muniment.host.histories.langchain_items import items_of, langchain_history
from muniment.host.off_loop import off_loop
from muniment.host.recording.run_evidence import RECALL_TOKENS, RunEvidence
from muniment.kernel.digest import framed, sha256

UNSETTLED_RUNS_MAX = 32  # in the state of a thread, the newest ones

Messages = list[AnyMessage]
NameOf = Callable[[GraphRuntime[Any]], str | None]


class EvidenceRunState(AgentState[Any]):
    """What a run said so far, and ended runs that the store could not take."""

    evidence_run: NotRequired[Annotated[Messages, PrivateStateAttr]]  # type: ignore[valid-type] # untyped here
    evidence_unsettled: NotRequired[Annotated[list[Messages], PrivateStateAttr]]  # type: ignore[valid-type] # the same


def thread_of(runtime: GraphRuntime[Any]) -> str | None:
    """Return the `thread_id` of a run."""
    return None if runtime.execution_info is None else runtime.execution_info.thread_id


class EvidenceMiddleware(AgentMiddleware[EvidenceRunState, Any, Any]):
    """Commits the runs of an agent and recalls for them. Put it first among the middlewares.

    `store` is a runtime, or a path that is opened (`evidence.close` closes it). `subject` is who the conversation is
    with, or tells it of the runtime of a run, as from its context. `conversation` tells the conversation, by default
    the thread. With `recall_tokens` above 0, what memory has on the newest message of the user comes before the
    messages of each prompt, in a block of at most so many tokens; it is in no state and in no turn. Failures of the
    store are counted (`evidence.failures`), logged, and stop no run unless `policy` says so.
    """

    state_schema = EvidenceRunState

    def __init__(
        self,
        store: StoreGiven,
        subject: str | NameOf,
        *,
        conversation: NameOf = thread_of,
        channel: str = DEFAULT_CHANNEL,
        recall_tokens: int = RECALL_TOKENS,
        policy: FailurePolicy = FailurePolicy.FAIL_OPEN,
    ) -> None:
        super().__init__()
        self.evidence = RunEvidence(store, recall_tokens=recall_tokens, policy=policy)
        self._subject = subject
        self._conversation = conversation
        self._channel = channel

    # --- a run --------------------------------------------------------------------------------------------------------

    def before_agent(
        self,
        state: EvidenceRunState,
        runtime: GraphRuntime[Any],  # noqa: ARG002 - the graph passes it by this name
    ) -> dict[str, Any]:
        """Begin a run with its input, behind what an earlier one left when it stopped."""
        run = _continued(state.get("evidence_run", []), state["messages"])
        unsettled = list(state.get("evidence_unsettled", []))
        given = _input_of(run)
        earlier = run[: len(run) - len(given)]
        if earlier and _is_answer(earlier[-1]):  # it ended, and the process did before it was noted
            run, unsettled = given, [*unsettled, earlier]
        return {"evidence_run": run, "evidence_unsettled": unsettled}

    async def abefore_agent(self, state: EvidenceRunState, runtime: GraphRuntime[Any]) -> dict[str, Any]:
        """Do as `before_agent`."""
        return self.before_agent(state, runtime)

    def after_agent(self, state: EvidenceRunState, runtime: GraphRuntime[Any]) -> dict[str, Any]:
        """Commit the run, and before it those that the store could not take."""
        ended = _continued(state.get("evidence_run", []), state["messages"])
        runs = [*state.get("evidence_unsettled", []), ended]
        unsettled = [run for run in runs if run and not self.evidence.settled(partial(self._append, run, runtime))]
        return {"evidence_run": [], "evidence_unsettled": unsettled[-UNSETTLED_RUNS_MAX:]}

    async def aafter_agent(self, state: EvidenceRunState, runtime: GraphRuntime[Any]) -> dict[str, Any]:
        """Do as `after_agent`, in a thread; when the run is cancelled, the commit still ends."""
        return await off_loop(self.after_agent, state, runtime)

    # --- a call of the model ------------------------------------------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ExtendedModelResponse[Any]:
        """Put what memory has before the messages, and keep the steps of the run so far."""
        return _keeping(request, handler(self._with_memory(request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ExtendedModelResponse[Any]:
        """Do as `wrap_model_call`; memory is asked in a thread."""
        return _keeping(request, await handler(await off_loop(self._with_memory, request)))

    def _with_memory(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        asked = next((str(each.text) for each in reversed(request.messages) if isinstance(each, HumanMessage)), "")
        thread = self._conversation(request.runtime)
        key = None if thread is None else ConversationKey(conversation=thread, channel=self._channel)
        block = self.evidence.recalled(lambda: self._subject_of(request.runtime), key, asked)
        return request.override(messages=[HumanMessage(block), *request.messages]) if block else request

    # --- a turn -------------------------------------------------------------------------------------------------------

    def _subject_of(self, runtime: GraphRuntime[Any]) -> str:
        subject = self._subject if isinstance(self._subject, str) else self._subject(runtime)
        if not subject:
            raise InvalidInput(at="subject", problem="empty")
        return subject

    def _append(self, run: Messages, runtime: GraphRuntime[Any]) -> None:
        turn_id = sha256(framed("run of an agent", *(each.id or "" for each in run))).hex()[:32]
        turn = Turn(
            turn=turn_id,
            subject=self._subject_of(runtime),
            messages=[],
            conversation=self._conversation(runtime) or turn_id,
            channel=self._channel,
            source=_source_of(run),
            tools=[_observed(each) for each in run if isinstance(each, ToolMessage)],
        )
        _ = langchain_history(self.evidence.store, turn).append(items_of(map(_without_artifact, run)), turn_id=turn_id)


def _keeping(request: ModelRequest[Any], response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
    """Return a response with a note of what the run said until this call: its messages may be shortened later."""
    state = cast("EvidenceRunState", request.state)
    run = _continued(state.get("evidence_run", []), state["messages"])
    return ExtendedModelResponse(response, Command(update={"evidence_run": run}))


def _continued(run: Messages, messages: Sequence[AnyMessage]) -> Messages:
    """Return a run with the messages that followed it.

    A run that has none yet begins behind the newest answer or result. When its own messages were all taken out of the
    state, what follows begins with the newest step.
    """
    if not run:
        return _input_of(messages)
    known = {each.id for each in run}
    last = max((place for place, each in enumerate(messages) if each.id in known), default=None)
    if last is None:
        last = (
            max((place for place, each in enumerate(messages) if isinstance(each, AIMessage)), default=len(messages))
            - 1
        )
    return [*run, *messages[last + 1 :]]


def _input_of(messages: Sequence[AnyMessage]) -> Messages:
    """Return the messages behind the newest answer or result."""
    said = [place for place, each in enumerate(messages) if isinstance(each, AIMessage | ToolMessage)]
    return list(messages[said[-1] + 1 :] if said else messages)


def _is_answer(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and not message.tool_calls


def _source_of(run: Messages) -> Source:
    told: dict[str, Any] = next((each.response_metadata for each in reversed(run) if isinstance(each, AIMessage)), {})
    return Source(provider=told.get("model_provider"), model=told.get("model_name"))


def _observed(result: ToolMessage) -> ToolObservation:
    return ToolObservation(id=result.tool_call_id, tool=result.name or "unknown", summary=result.status)


def _without_artifact(message: AnyMessage) -> AnyMessage:
    has_artifact = isinstance(message, ToolMessage) and message.artifact is not None
    return message.model_copy(update={"artifact": None}) if has_artifact else message
