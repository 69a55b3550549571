"""Hosts to kill: programs that exchange numbered questions with a model, each through another adapter.

A host is given a store and does one exchange at a time. `answered` is called when the model has answered and nothing is
committed yet. Killed anywhere after that and started again, it repeats the exchange that it has no acknowledgement of.
The model is scripted and in the process: a repeated request has the same response. What is beneath an adapter is a host
of its own, which needs no framework.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from muniment.events.message import TextPart
from muniment.events.name_types import ConversationId, SubjectId, TurnId
from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.host.histories.item_history import ItemHistory
from muniment.host.records.kept_items import KeptItems, PutValue
from muniment.host.records.record_chains import RecordChains
from muniment.runtime.runtime import Runtime
from replay.stores import pages_of
from replay.words import key_of

CONVERSATION, SUBJECT = "drill", "ada"
CHAINS, ITEMS = "chains", "items"  # channels
SESSIONS = "muniment.host.openai_agents"

Answered = Callable[[], None]
HostProcess = Callable[[int], None]  # does, or repeats, the exchange of this number


def texts_of(runtime: Runtime) -> list[str]:
    """Return all texts of the conversation, in order."""
    return [
        part.content
        for page in pages_of(runtime, key_of(CONVERSATION), View.RAW_OWNER)
        for turn in page.turns
        for message in turn.messages
        for part in message.parts
        if isinstance(part, TextPart)
    ]


class Adapter(NamedTuple):
    """An adapter: the packages that it needs, how a host starts, and everything that it said, as a store has it."""

    packages: tuple[str, ...]
    start: Callable[[Runtime, Answered], HostProcess]
    said: Callable[[Runtime], list[str]] = texts_of

    @property
    def missing(self) -> str | None:
        """The first package that is not installed."""
        return next((name for name in self.packages if find_spec(name) is None), None)


def question(number: int) -> str:
    """Return what is asked."""
    return f"question {number}"


def answer(number: int) -> str:
    """Return what the model answers."""
    return f"answer {number}"


def said(count: int) -> list[str]:
    """Return everything that is said in so many exchanges."""
    return [text(number) for number in range(1, count + 1) for text in (question, answer)]


# --- recorded clients -------------------------------------------------------------------------------------------------


def _chat(number: int) -> list[dict[str, Any]]:
    """Return the whole conversation up to a question, as a host sends it."""
    texts = [*said(number - 1), question(number)]
    return [{"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(texts)]


def _asked(request: Any) -> int:
    messages = json.loads(request.content)["messages"]
    return int(messages[-1]["content"].rpartition(" ")[2])


def _completion(number: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer(number)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _completion_events(number: int) -> bytes:
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: list[dict[str, Any]] = [{"delta": {"content": letter}, "finish_reason": None} for letter in answer(number)]
    ended = [*deltas, {"delta": {}, "finish_reason": "stop"}]
    chunks = [json.dumps({**head, "choices": [{"index": 0, **delta}]}) for delta in ended]
    return "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]).encode()


def _openai(runtime: Runtime, answered: Answered, *, is_stream: bool = False) -> HostProcess:
    from httpx2 import Client, MockTransport, Response  # noqa: PLC0415 - where it is installed
    from openai import OpenAI  # noqa: PLC0415 - the same

    from muniment.host.failure_policy import FailurePolicy  # noqa: PLC0415 - the same
    from muniment.host.openai import record  # noqa: PLC0415 - the same

    def respond(request: Any) -> Response:
        number = _asked(request)
        answered()
        if is_stream:
            events = {"content-type": "text/event-stream"}
            return Response(200, headers=events, content=_completion_events(number))
        return Response(200, json=_completion(number))

    http = Client(transport=MockTransport(respond))
    client: Any = record(
        OpenAI(api_key="k", base_url="http://model/v1", http_client=http, max_retries=0),
        runtime,
        subject=SUBJECT,
        conversation=CONVERSATION,
        policy=FailurePolicy.FAIL_CLOSED,
    )

    def exchange(number: int) -> None:
        got = client.chat.completions.create(model="m", messages=_chat(number), stream=is_stream)
        if is_stream:
            list(got)

    return exchange


def _openai_stream(runtime: Runtime, answered: Answered) -> HostProcess:
    return _openai(runtime, answered, is_stream=True)


def _anthropic(runtime: Runtime, answered: Answered) -> HostProcess:
    from anthropic import Anthropic  # noqa: PLC0415 - where it is installed
    from httpx2 import Client, MockTransport, Response  # noqa: PLC0415 - the same

    from muniment.host.anthropic import record  # noqa: PLC0415 - the same
    from muniment.host.failure_policy import FailurePolicy  # noqa: PLC0415 - the same

    def respond(request: Any) -> Response:
        number = _asked(request)
        answered()
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "end_turn",
        }
        usage = {"input_tokens": 1, "output_tokens": 1}
        return Response(200, json={**message, "content": [{"type": "text", "text": answer(number)}], "usage": usage})

    http = Client(transport=MockTransport(respond))
    client: Any = record(
        Anthropic(api_key="k", base_url="http://model", http_client=http, max_retries=0),
        runtime,
        subject=SUBJECT,
        conversation=CONVERSATION,
        policy=FailurePolicy.FAIL_CLOSED,
    )

    def exchange(number: int) -> None:
        client.messages.create(model="m", max_tokens=10, messages=_chat(number))

    return exchange


# --- sessions ---------------------------------------------------------------------------------------------------------


def _agents_session(runtime: Runtime, answered: Answered) -> HostProcess:
    """Save each exchange at once; one that is there already is not saved again, as the protocol has no ids."""
    session: Any = import_module(SESSIONS).MunimentSession(CONVERSATION, runtime, subject=SUBJECT)

    def exchange(number: int) -> None:
        items = [{"role": "user", "content": question(number)}, {"role": "assistant", "content": answer(number)}]
        saved = asyncio.run(session.get_items())
        answered()
        if saved[-2:] != items:
            asyncio.run(session.add_items(items))

    return exchange


def _item_history(runtime: Runtime, answered: Answered) -> HostProcess:
    """Append each exchange under an id of its own: what adapters of lists of messages do, without a framework."""
    like = Turn(turn=TurnId("like"), subject=SubjectId(SUBJECT), conversation=ConversationId(CONVERSATION), messages=[])
    history = ItemHistory(runtime, like)

    def exchange(number: int) -> None:
        answered()
        items = [{"role": "user", "content": question(number)}, {"role": "assistant", "content": answer(number)}]
        history.append(items, turn_id=f"exchange-{number}")

    return exchange


# --- checkpoints and stores -------------------------------------------------------------------------------------------


def _record_chains(runtime: Runtime, answered: Answered) -> HostProcess:
    """Append each exchange as a record under a key of its own, as a saver puts a checkpoint."""
    chains = RecordChains(runtime, CHAINS)

    def exchange(number: int) -> None:
        answered()
        body = json.dumps([question(number), answer(number)]).encode()
        chains.append(chains.place(CONVERSATION), f"exchange {number}", SUBJECT, {"exchange": number}, body)

    return exchange


def _in_record_chains(runtime: Runtime) -> list[str]:
    chains = RecordChains(runtime, CHAINS)
    place = chains.place(CONVERSATION)
    records = reversed(list(chains.newest_first(place)))
    return [text for record in records for text in json.loads(chains.body(place, record))]


def _kept_items(runtime: Runtime, answered: Answered) -> HostProcess:
    """Write each exchange as a batch of two keys; one that is there already is not written again, which adds values."""
    items = KeptItems(runtime, ITEMS)

    def exchange(number: int) -> None:
        items.follow()
        answered()
        batch = [
            PutValue(namespace=(CONVERSATION,), key=text, text=json.dumps({"text": text}), subject=SUBJECT)
            for text in (question(number), answer(number))
        ]
        if not items.versions((batch[0].namespace, batch[0].key)):
            items.write(batch)

    return exchange


def _in_kept_items(runtime: Runtime) -> list[str]:
    """Return every value of every key, in the order in which they were written."""
    items = KeptItems(runtime, ITEMS)
    items.follow()
    written = sorted((item for versions in items.newest_first() for item in versions), key=lambda item: item.position)
    return [str(value["text"]) for value in items.values(written) if value is not None]


ADAPTERS: dict[str, Adapter] = {
    "ItemHistory": Adapter((), _item_history),
    "RecordChains": Adapter((), _record_chains, _in_record_chains),
    "KeptItems": Adapter((), _kept_items, _in_kept_items),
    "record(openai)": Adapter(("openai", "httpx2"), _openai),
    "record(openai), streams": Adapter(("openai", "httpx2"), _openai_stream),
    "record(anthropic)": Adapter(("anthropic", "httpx2"), _anthropic),
    "MunimentSession": Adapter(("agents", SESSIONS), _agents_session),
}
