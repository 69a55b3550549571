"""A model provider on a transport in memory: it answers as it is told, with the bytes that providers send."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2

Script = Callable[[dict[str, Any]], Any]


class Cut(Exception):
    """The connection breaks here."""


class ScriptedBody(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that arrives in chunks; an exception among them is raised."""

    def __init__(self, chunks: list[Any]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, bytes):
                yield chunk
            else:
                raise chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            await asyncio.sleep(0)
            if isinstance(chunk, bytes):
                yield chunk
            else:
                raise chunk


class ScriptedModel:
    """Answers requests by a function of their JSON: with JSON, or with chunks, which are a stream of events."""

    def __init__(self, answer: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answer = answer
        self._lock = threading.Lock()

    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self._respond)

    def _respond(self, request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        with self._lock:
            self.requests.append(asked)
            answer = self._answer(asked)
        if isinstance(answer, httpx2.Response):
            return answer
        if isinstance(answer, list):
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=ScriptedBody(answer))
        return httpx2.Response(200, json=answer)


def events(*data: Any, named: bool = False) -> list[Any]:
    """Return JSON values as events, one a chunk; bytes and exceptions stay as they are."""
    return [one if isinstance(one, bytes | Exception) else _event(one, named=named) for one in data]


def _event(data: dict[str, Any], *, named: bool) -> bytes:
    head = f"event: {data['type']}\n" if named else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


# --- chat completions -------------------------------------------------------------------------------------------------

DONE = b"data: [DONE]\n\n"
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 5,
    "total_tokens": 16,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def completion(text: str, name: str = "chatcmpl-1", **message: Any) -> dict[str, Any]:
    """Return a chat completion."""
    said = {"role": "assistant", "content": text, "refusal": None, "annotations": [], **message}
    return {
        "id": name,
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "gpt-test-2026",
        "choices": [{"index": 0, "message": said, "finish_reason": "stop", "logprobs": None}],
        "usage": USAGE,
    }


def chunk(name: str = "chatcmpl-1", finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """Return a chunk of a streamed completion."""
    return {
        "id": name,
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": "gpt-test-2026",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def streamed(text: str, name: str = "chatcmpl-1") -> list[Any]:
    """Return a completion as a stream, a letter a chunk."""
    letters = [chunk(name, content=letter) for letter in text]
    usage = {**chunk(name), "choices": [], "usage": USAGE}
    return events(chunk(name, role="assistant", content=""), *letters, chunk(name, "stop"), usage, DONE)


# --- responses --------------------------------------------------------------------------------------------------------


def response(output: list[dict[str, Any]], name: str = "resp_1", status: str = "completed") -> dict[str, Any]:
    """Return a response."""
    return {
        "id": name,
        "object": "response",
        "created_at": 1_760_000_000,
        "status": status,
        "model": "gpt-test-2026",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 7,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": 16,
        },
    }


def output_text(text: str) -> dict[str, Any]:
    """Return an output item with a text."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": content}


# --- messages ---------------------------------------------------------------------------------------------------------


def message(*content: dict[str, Any], name: str = "msg_1", stop: str = "end_turn") -> dict[str, Any]:
    """Return a message of the Messages API."""
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "claude-test-2026",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 8,
            "output_tokens": 6,
            "cache_read_input_tokens": 1,
            "cache_creation_input_tokens": 0,
        },
    }


def message_events(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], name: str = "msg_1") -> list[Any]:
    """Return a message as a stream: each block as it starts, and its deltas."""
    start = {"type": "message_start", "message": {**message(name=name), "stop_reason": None}}
    between: list[dict[str, Any]] = []
    for index, (block, deltas) in enumerate(blocks):
        between.append({"type": "content_block_start", "index": index, "content_block": block})
        between += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        between.append({"type": "content_block_stop", "index": index})
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 6},
    }
    return events(start, *between, end, {"type": "message_stop"}, named=True)
