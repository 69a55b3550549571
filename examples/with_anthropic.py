"""The client of Anthropic: every exchange becomes a turn; what a call repeats of the conversation is stored once."""

from __future__ import annotations

from typing import Any

import httpx2
from anthropic import Anthropic

import muniment
from muniment import ConversationKey
from muniment.host.anthropic import record

LINES = ["At the depot in Lyon.", "Tomorrow, before noon."]


def scripted(_request: httpx2.Request) -> httpx2.Response:
    """Say the next line, in place of a model."""
    said = {"content": [{"type": "text", "text": LINES.pop(0)}], "stop_reason": "end_turn", "stop_sequence": None}
    answer = {"id": f"m-{len(LINES)}", "type": "message", "role": "assistant", "model": "scripted"}
    return httpx2.Response(200, json=answer | said | {"usage": {"input_tokens": 9, "output_tokens": 6}})


with muniment.open("memory:") as runtime:
    plain = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(scripted)))
    client = record(plain, runtime, subject="ada", conversation="parcel-7")
    messages: list[Any] = []
    for question in ("Where is my parcel?", "When does it arrive?"):
        messages.append({"role": "user", "content": question})
        answer = client.messages.create(model="scripted", max_tokens=99, messages=messages)
        messages.append({"role": "assistant", "content": answer.content})
        print(answer.content[0].text)
    page = runtime.transcripts.replay(ConversationKey(conversation="parcel-7"))
    assert [len(turn.messages) for turn in page.turns] == [2, 2]
