"""The standard tests of LangChain for retrievers, run against `RecallRetriever`."""

from __future__ import annotations

from typing import Any

from langchain_tests.integration_tests import RetrieversIntegrationTests

import muniment
from muniment import Message, Turn
from muniment.events.message import Role
from muniment.host.langchain_retriever import RecallRetriever

SAID = [f"My lamp number {number} is red." for number in range(5)]


class TestRecallRetriever(RetrieversIntegrationTests):
    """A store in which one subject said five things."""

    @property
    def retriever_constructor(self) -> type[RecallRetriever]:
        """The class under test."""
        return RecallRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """Return a retriever's store and subject."""
        store = muniment.open("memory:")
        messages = [Message(role=Role.USER, content=text) for text in SAID]
        _ = store.transcripts.commit(Turn(turn="t-1", subject="ada", conversation="lamp", messages=messages))
        return {"store": store, "subject": "ada"}

    @property
    def retriever_query_example(self) -> str:
        """A question that all five answer."""
        return "Which lamp is red?"
