"""LangChain: a middleware commits each run of an agent as a turn, with the call of a tool and its result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

import muniment
from muniment import ConversationKey
from muniment.host.langchain_middleware import EvidenceMiddleware


class Scripted(GenericFakeChatModel):
    """Say the lines of a script, in place of a model."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """Know the tools already: the script calls them."""
        return self


@tool
def where(parcel: str) -> str:
    """Tell where a parcel is."""
    return f"{parcel}: depot in Lyon"


def script() -> Iterator[AIMessage]:
    """Look up the first answer; know the second."""
    yield AIMessage("", tool_calls=[{"name": "where", "args": {"parcel": "7"}, "id": "call-1"}])
    yield AIMessage("At the depot in Lyon.")
    yield AIMessage("Tomorrow, before noon.")


with muniment.open("memory:") as runtime:
    evidence = EvidenceMiddleware(runtime, subject="ada")
    agent: Any = create_agent(Scripted(messages=script()), [where], middleware=[evidence], checkpointer=InMemorySaver())
    for question in ("Where is my parcel?", "When does it arrive?"):
        asked = {"messages": [{"role": "user", "content": question}]}
        print(agent.invoke(asked, {"configurable": {"thread_id": "parcel-7"}})["messages"][-1].content)
    page = runtime.transcripts.replay(ConversationKey(conversation="parcel-7"), "raw_owner")
    assert [len([each for each in turn.messages if each.role != "system"]) for turn in page.turns] == [4, 2]
