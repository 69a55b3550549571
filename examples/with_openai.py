"""The client of OpenAI: every exchange becomes a turn; what a call repeats of the conversation is stored once."""

from __future__ import annotations

import json
from typing import Any

import httpx2
from openai import OpenAI

import muniment
from muniment import ConversationKey
from muniment.host.openai import record

LINES = ["At the depot in Lyon.", "Tomorrow, before noon."]


def scripted(request: httpx2.Request) -> httpx2.Response:
    """Say the next line, in place of a model."""
    asked = json.loads(request.content)
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": LINES.pop(0)}}
    answer = {"id": f"c-{len(LINES)}", "object": "chat.completion", "created": 0, "model": asked["model"]}
    return httpx2.Response(200, json=answer | {"choices": [said]})


with muniment.open("memory:") as runtime:
    plain = OpenAI(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(scripted)))
    client = record(plain, runtime, subject="ada", conversation="parcel-7")
    messages: list[Any] = []
    for question in ("Where is my parcel?", "When does it arrive?"):
        messages.append({"role": "user", "content": question})
        answer = client.chat.completions.create(model="scripted", messages=messages)
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
        print(messages[-1]["content"])
    page = runtime.transcripts.replay(ConversationKey(conversation="parcel-7"))
    assert [len(turn.messages) for turn in page.turns] == [2, 2]
