"""Records what an OpenAI client exchanges with models (the package `openai`).

    client = record(OpenAI(), runtime, subject="ada", conversation="talk")
    client.chat.completions.create(model=..., messages=[...])  # as before; the exchange is a turn of the conversation

Chat completions and responses are recorded, of `OpenAI`, `AsyncOpenAI` and the clients of Azure. How a client is
wrapped: `recorded_client`; what becomes a turn: `exchange_recorder`. A response that is still made in the background is
counted as unfinished.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from muniment.errors import InvalidInput
from muniment.events.identity import DEFAULT_CHANNEL
from muniment.events.message import BlobPart, Message, Role, TextPart
from muniment.events.turn import Attribution, Protocol, Source
from muniment.formats.reading.import_format import PARSERS, Format
from muniment.formats.reading.openai import ROLES, OpenaiRole
from muniment.formats.reading.openai_responses import JSON_TYPE, responses_input, responses_items
from muniment.host.failure_policy import FailurePolicy
from muniment.host.recording.exchange_recorder import Exchange, ExchangeRecorder, counted, recorded_place
from muniment.host.recording.recorded_client import AnswerTap, Json, ModelEndpoint, recorded_client
from muniment.runtime.runtime import Runtime

C = TypeVar("C")

PROVIDER = "openai"
ENDED = frozenset({"completed", "incomplete"})  # what a response is when nothing more comes
END_EVENTS = frozenset({"response.completed", "response.incomplete"})

# member of the usage -> attribute
CHAT_USAGE = {
    "prompt_tokens": "usage.input_tokens",
    "completion_tokens": "usage.output_tokens",
    "prompt_tokens_details.cached_tokens": "usage.cache_read.input_tokens",
    "completion_tokens_details.reasoning_tokens": "usage.reasoning.output_tokens",
}
RESPONSES_USAGE = {
    "input_tokens": "usage.input_tokens",
    "output_tokens": "usage.output_tokens",
    "input_tokens_details.cached_tokens": "usage.cache_read.input_tokens",
    "output_tokens_details.reasoning_tokens": "usage.reasoning.output_tokens",
}


def record(
    client: C,
    runtime: Runtime,
    *,
    subject: str,
    conversation: str,
    channel: str = DEFAULT_CHANNEL,
    actor: Attribution | None = None,
    policy: FailurePolicy = FailurePolicy.FAIL_OPEN,
) -> C:
    """Return a client that does what `client` does and commits every completed exchange as a turn of a conversation.

    The client that is given is unchanged and shares its connections with the new one, so that one client can be
    recorded into many conversations; close either. Every call repeats the conversation, which is stored once; the same
    response is committed once. Streams are committed at their end mark, and not at all without one. With `fail_open` a
    failure of the store is counted (`recorded_counts`) and logged; with `fail_closed` it is raised before the caller
    has the answer, and of a stream before its end. Raises `request.invalid` for another kind of client.
    """
    from openai import AsyncOpenAI, OpenAI  # noqa: PLC0415 - whoever has a client has the package

    recorder = ExchangeRecorder(runtime, recorded_place(subject, conversation, channel, actor), policy)
    return recorded_client(client, (OpenAI, AsyncOpenAI), AnswerTap(recorder, ENDPOINTS))


# --- chat completions -------------------------------------------------------------------------------------------------


def chat_exchange(request: Json, answer: Json) -> Exchange | None:
    """Return the exchange of a chat completion; every choice is a message."""
    choices = answer.get("choices") or []
    reasons = [str(choice["finish_reason"]) for choice in choices if choice.get("finish_reason")]
    return Exchange(
        id=answer.get("id"),
        request=chat_messages(request["messages"]),
        answer=chat_messages([choice["message"] for choice in choices]),
        source=_source(request, answer, Protocol.OPENAI_CHAT, "chat.completions"),
        counted=counted(answer, CHAT_USAGE, reasons),
    )


def chat_messages(given: list[Json]) -> list[Message]:
    """Return messages of a chat as ours; one of an unknown form as JSON."""
    return [message for one in given for message in _chat_message(one)]


def _chat_message(given: Json) -> list[Message]:
    try:
        parsed = PARSERS[Format.OPENAI](msgspec.json.encode({"messages": [given]}))
    except InvalidInput:
        named = given.get("role")
        role = ROLES[OpenaiRole(named)] if named in set(OpenaiRole) else Role.SYSTEM
        return [Message(role=role, content=[BlobPart(content=msgspec.json.encode(given), mime_type=JSON_TYPE)])]
    return parsed.messages


class ChatStream:
    """Puts the chunks of a chat completion together."""

    def __init__(self) -> None:
        self._answer: Json = {}
        self._choices: dict[int, Json] = {}

    def add(self, data: bytes) -> Json | None:
        """Add a chunk; return the whole completion at the end mark."""
        if data.startswith(b"[DONE]"):
            choices = [self._choices[index] for index in sorted(self._choices)]
            return {**self._answer, "choices": choices} if choices else None
        chunk = msgspec.json.decode(data, type=Json)
        for choice in chunk.pop("choices", None) or []:
            known = self._choices.setdefault(choice.get("index", 0), {"message": {"role": OpenaiRole.ASSISTANT}})
            _merge(known["message"], choice.get("delta") or {})
            known["finish_reason"] = choice.get("finish_reason") or known.get("finish_reason")
        self._answer |= {name: value for name, value in chunk.items() if value is not None}
        return None


def _merge(known: Json, delta: Json) -> None:
    """Add a delta: text is appended, members of a list are named by their index, anything else replaces."""
    for name, value in delta.items():
        there = known.get(name)
        if value is None or name in {"index", "type", "role", "id"}:
            known[name] = there if value is None else value
        elif isinstance(there, str) and isinstance(value, str):
            known[name] = there + value
        elif isinstance(value, dict):
            known[name] = there if isinstance(there, dict) else {}
            _merge(known[name], value)
        elif isinstance(value, list) and all(isinstance(one, dict) and "index" in one for one in value):
            known[name] = there if isinstance(there, list) else []
            for one in value:
                same = next((old for old in known[name] if old["index"] == one["index"]), None)
                if same is None:
                    known[name].append(same := {})
                _merge(same, one)
        else:
            known[name] = value


# --- responses --------------------------------------------------------------------------------------------------------


def responses_exchange(request: Json, answer: Json) -> Exchange | None:
    """Return the exchange of a response; None for one that failed or is still made."""
    if answer.get("status", "completed") not in ENDED:
        return None
    instructions = request.get("instructions")
    system = [Message(role=Role.SYSTEM, content=[TextPart(content=instructions)])] if instructions else []
    return Exchange(
        id=answer.get("id"),
        request=[*system, *responses_input(request.get("input") or [])],
        answer=responses_items(answer.get("output") or []),
        source=_source(request, answer, Protocol.OPENAI_RESPONSES, "responses"),
        counted=counted(answer, RESPONSES_USAGE, [str(answer["status"])] if "status" in answer else []),
        continues=bool(request.get("previous_response_id") or request.get("conversation")),
    )


class ResponsesStream:
    """Waits for the last event of a response, which contains the whole."""

    def add(self, data: bytes) -> Json | None:
        """Return the response when the event is its last."""
        if data.startswith(b"[DONE]"):
            return None
        event = msgspec.json.decode(data, type=Json)
        whole: Json | None = event["response"] if event.get("type") in END_EVENTS else None
        return whole


def _source(request: Json, answer: Json, protocol: Protocol, endpoint: str) -> Source:
    return Source(
        provider=PROVIDER,
        protocol=protocol,
        endpoint=endpoint,
        model_alias=request.get("model"),
        model=answer.get("model"),
    )


ENDPOINTS = (
    ModelEndpoint("/chat/completions", chat_exchange, ChatStream),
    ModelEndpoint("/responses", responses_exchange, ResponsesStream),
)
