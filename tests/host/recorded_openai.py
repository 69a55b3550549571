"""A recorded OpenAI client on a scripted model, and what is in its conversation."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from muniment import Runtime
from muniment.errors import UnknownConversation
from muniment.events.identity import ConversationId, ConversationKey
from muniment.events.message import TextPart
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View
from muniment.host.failure_policy import FailurePolicy
from muniment.host.openai import record
from tests.host.scripted_model import ScriptedModel, completion

openai = pytest.importorskip("openai", reason="the package openai is not installed")
httpx2 = pytest.importorskip("httpx2")

KEY = ConversationKey(conversation=ConversationId("talk"))
MODEL = "gpt-test"


def client_of(model: ScriptedModel, runtime: Runtime, policy: FailurePolicy = FailurePolicy.FAIL_CLOSED) -> Any:
    http = httpx2.Client(transport=model.transport())
    client = openai.OpenAI(api_key="k", base_url="http://model/v1", http_client=http, max_retries=0)
    return record(client, runtime, subject="ada", conversation="talk", policy=policy)


def async_client_of(model: ScriptedModel, runtime: Runtime, policy: FailurePolicy = FailurePolicy.FAIL_CLOSED) -> Any:
    http = httpx2.AsyncClient(transport=model.transport())
    client = openai.AsyncOpenAI(api_key="k", base_url="http://model/v1", http_client=http, max_retries=0)
    return record(client, runtime, subject="ada", conversation="talk", policy=policy)


def turns(runtime: Runtime) -> list[SliceTurn]:
    """Return the turns of the conversation; none before its first."""
    with contextlib.suppress(UnknownConversation):
        return runtime.transcripts.replay(KEY, View.RAW_OWNER, 500).turns
    return []


def words(runtime: Runtime) -> list[list[str]]:
    """Return what is said in each turn."""
    return [
        [part.content for message in turn.messages for part in message.parts if isinstance(part, TextPart)]
        for turn in turns(runtime)
    ]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def numbered() -> ScriptedModel:
    """Return a model that answers the n-th request with `answer n`."""
    model = ScriptedModel(lambda _asked: completion(f"answer {len(model.requests)}", f"chatcmpl-{len(model.requests)}"))
    return model
