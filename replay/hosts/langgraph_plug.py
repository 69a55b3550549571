"""LangGraph's conformance kit for checkpointers, run against the saver of muniment: a test for each capability."""

from collections.abc import AsyncIterator

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from muniment.host.langgraph_saver import MunimentSaver


@checkpointer_test(name="MunimentSaver")
async def plugged() -> AsyncIterator[MunimentSaver]:
    with MunimentSaver("memory:") as saver:
        yield saver


@pytest.mark.parametrize("capability", [one.value for one in Capability])
async def test_capability(capability: str) -> None:
    report = await validate(plugged, capabilities={capability})
    result = report.results[capability]
    assert result.passed, result.failures
