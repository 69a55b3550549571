"""Records what an Anthropic client exchanges with models (the package `anthropic`).

    client = record(Anthropic(), runtime, subject="ada", conversation="talk")
    client.messages.create(model=..., max_tokens=..., messages=[...])  # as before; the exchange is a turn

The Messages API is recorded, of `Anthropic` and `AsyncAnthropic`. How a client is wrapped: `recorded_client`; what
becomes a turn: `exchange_recorder`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from muniment.events.identity import DEFAULT_CHANNEL
from muniment.events.turn import Attribution, Source
from muniment.formats.reading.import_format import PARSERS, Format
from muniment.host.failure_policy import FailurePolicy
from muniment.host.recording.exchange_recorder import Exchange, ExchangeRecorder, counted, recorded_place
from muniment.host.recording.recorded_client import AnswerTap, Json, ModelEndpoint, recorded_client
from muniment.runtime.runtime import Runtime

C = TypeVar("C")

PROVIDER = "anthropic"
# member of the usage -> attribute
USAGE = {
    "input_tokens": "usage.input_tokens",
    "output_tokens": "usage.output_tokens",
    "cache_read_input_tokens": "usage.cache_read.input_tokens",
    "cache_creation_input_tokens": "usage.cache_creation.input_tokens",
}
# kind of a delta -> its member, and the member of the block that it is appended to
DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "partial_json"),
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
    """Return a client that does what `client` does and commits every completed exchange; as `host.openai.record`."""
    from anthropic import Anthropic, AsyncAnthropic  # noqa: PLC0415 - whoever has a client has the package

    recorder = ExchangeRecorder(runtime, recorded_place(subject, conversation, channel, actor), policy)
    return recorded_client(client, (Anthropic, AsyncAnthropic), AnswerTap(recorder, ENDPOINTS))


def messages_exchange(request: Json, answer: Json) -> Exchange | None:
    """Return the exchange of a message; None when the answer is none."""
    if answer.get("type") != "message":
        return None
    asked = PARSERS[Format.ANTHROPIC](msgspec.json.encode({"request": request}))
    said = PARSERS[Format.ANTHROPIC](msgspec.json.encode({"response": answer}))
    for parsed in (asked, said):
        if parsed.notes is not None and parsed.notes.refused:
            raise parsed.notes.refused[0]
    reason = answer.get("stop_reason")
    return Exchange(
        id=answer.get("id"),
        request=[*asked.system, *asked.messages],
        answer=said.messages,
        source=Source(
            provider=PROVIDER, endpoint="messages", model_alias=request.get("model"), model=answer.get("model")
        ),
        counted=counted(answer, USAGE, [str(reason)] if reason else []),
    )


class MessageStream:
    """Puts the events of a message together."""

    def __init__(self) -> None:
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}

    def add(self, data: bytes) -> Json | None:
        """Add an event; return the whole message at the end mark."""
        event = msgspec.json.decode(data, type=Json)
        kind = event.get("type")
        if kind == "message_start":
            self._message = event["message"]
        elif kind == "content_block_start":
            self._blocks[event["index"]] = event["content_block"]
        elif kind == "content_block_delta":
            _append(self._blocks[event["index"]], event["delta"])
        elif kind == "content_block_stop":
            _close(self._blocks[event["index"]])
        elif kind == "message_delta":
            self._message |= event["delta"]
            self._message["usage"] = {**(self._message.get("usage") or {}), **(event.get("usage") or {})}
        elif kind == "message_stop":
            return {**self._message, "content": [self._blocks[index] for index in sorted(self._blocks)]}
        return None


def _append(block: Json, delta: Json) -> None:
    kind = delta.get("type")
    if kind in DELTAS:
        member, into = DELTAS[kind]
        block[into] = (block.get(into) or "") + delta[member]
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]


def _close(block: Json) -> None:
    """Parse the input of a call, which arrives as text; one that is cut, by `max_tokens`, stays text."""
    given: Any = block.pop("partial_json", None)
    if given:
        try:
            block["input"] = msgspec.json.decode(given)
        except msgspec.DecodeError:
            block["input"] = given


ENDPOINTS = (ModelEndpoint("/messages", messages_exchange, MessageStream),)
