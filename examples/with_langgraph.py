"""LangGraph: a graph with a checkpointer and a store of muniment; its thread is deleted with a receipt."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

import muniment
from muniment.host.langgraph_saver import MunimentSaver
from muniment.host.langgraph_store import MunimentStore


def answer(state: MessagesState, runtime: Runtime) -> dict[str, Any]:
    """Answer in place of a model, and note something in the store."""
    assert runtime.store is not None
    runtime.store.put(("ada", "facts"), "city", {"text": "The parcels of Ada go to Lyon."})
    asked = sum(message.type == "human" for message in state["messages"])
    return {"messages": [("ai", ("At the depot in Lyon.", "Tomorrow, before noon.")[asked - 1])]}


with muniment.open("memory:") as evidence:
    saver, store = MunimentSaver(evidence), MunimentStore(evidence)
    builder = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver, store=store)
    thread: Any = {"configurable": {"thread_id": "parcel-7", "user_id": "ada"}}
    for question in ("Where is my parcel?", "When does it arrive?"):
        print(graph.invoke({"messages": [("user", question)]}, thread)["messages"][-1].content)
    assert len(list(graph.get_state_history(thread))) == 6
    print([item.value["text"] for item in store.search(("ada",))])
    saver.delete_thread("parcel-7")
    assert not list(graph.get_state_history(thread))
