"""Traces: a span for every operation, in words of ours alone."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import muniment
from muniment import errors
from muniment.errors import AccessDenied, ExtraMissing, InvalidInput, MunimentError
from muniment.events.identity import SubjectId
from muniment.governance.access import Access, Effect
from muniment.kernel.sources import seeded_sources
from muniment.memory.candidate import Candidate
from muniment.runtime import settings
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.runtime.settings import set_observer
from muniment.runtime.traces import MEMORY_OPERATIONS, OperationTraces
from muniment.space.options import Options
from muniment.transports.http.http_app import http_app
from muniment.transports.http.serving import Listener, ServeOptions
from muniment.transports.http.trace_context import TraceContext
from tests.memory.items import candidate
from tests.runtime.every_operation import everything
from tests.turns import SUBJECT, plain_turn
from tests.worlds import key_of, root_key

PATHS = {operation.path for operation in catalogue()}
CODES = {each.code for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, MunimentError)}
WORDS = PATHS | {*MEMORY_OPERATIONS.values()} | {*Effect} | CODES


class Traced:
    """A store whose operations are traced, and the spans that there are."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        options = Options(sources=seeded_sources("traces"), observer=OperationTraces(provider))
        self.runtime: Runtime = muniment.open("memory:", keys=root_key(), options=options)

    def spans(self) -> list[ReadableSpan]:
        """Return the spans since the last time."""
        found = list(self._exporter.get_finished_spans())
        self._exporter.clear()
        return found


@pytest.fixture
def traced() -> Iterator[Traced]:
    made = Traced()
    with contextlib.closing(made.runtime):
        yield made


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_every_operation_is_a_span_and_says_nothing_of_hosts(traced: Traced) -> None:
    """Whatever is asked for, and whether it works: names, attributes and events of spans are words of the product."""
    traced.runtime.transcripts.commit(plain_turn(1))
    traced.spans()
    for path, call in everything(traced.runtime).items():
        with contextlib.suppress(MunimentError):
            call()
        spans = traced.spans()
        assert told(spans[-1])["muniment.operation"] == path
        for span in spans:
            texts = {span.name, *(value for value in told(span).values() if isinstance(value, str))}
            assert texts <= WORDS
            assert (list(span.events), list(span.links), span.status.description) == ([], [], None)


def test_memory_has_the_names_of_the_conventions(traced: Traced) -> None:
    assert set(MEMORY_OPERATIONS) <= PATHS
    runtime = traced.runtime
    runtime.transcripts.commit(plain_turn(1))
    one: Candidate = candidate("Lives in Oslo", id="i-1")
    runtime.memory.remember([one], "who")
    runtime.memory.recall(SubjectId(SUBJECT), "Oslo")
    commit, remember, recall = traced.spans()
    assert (commit.name, told(commit)) == (
        "transcripts.commit",
        {"muniment.operation": "transcripts.commit", "muniment.effect": "append"},
    )
    assert (remember.name, told(remember)["gen_ai.operation.name"]) == ("upsert_memory", "upsert_memory")
    assert (recall.name, told(recall)["gen_ai.memory.record.count"]) == ("search_memory", 1)


def test_what_is_refused_is_an_error_with_its_code(traced: Traced) -> None:
    runtime = traced.runtime.restricted(Access(views=frozenset()))
    with pytest.raises(AccessDenied):
        runtime.transcripts.replay(key_of())
    [span] = traced.spans()
    assert span.status.status_code is StatusCode.ERROR
    assert told(span)["error.type"] == "access.denied"


def test_a_request_goes_on_with_the_trace_of_its_caller(traced: Traced) -> None:
    runtime = traced.runtime
    key = runtime.clients.create("c").key
    app = TraceContext(http_app(runtime, catalogue(), seeded_sources("http")))
    listener = Listener(ServeOptions(port=0))
    traced.spans()
    trace_id, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    headers = {"Authorization": f"Bearer {key}", "traceparent": f"00-{trace_id}-{caller}-01"}
    with listener.serving(app), httpx2.Client(base_url=listener.url, headers=headers) as client:
        for _ in range(100):
            with contextlib.suppress(httpx2.TransportError):
                assert client.get("/v1/subjects/list").status_code == 200
                break
    [span] = traced.spans()
    assert span.context is not None
    assert span.parent is not None
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (trace_id, caller)


def test_traces_are_off_unless_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set_observer({}) is None
    assert isinstance(set_observer({"MUNIMENT_TRACES": "otel"}), OperationTraces)
    with pytest.raises(InvalidInput):
        set_observer({"MUNIMENT_TRACES": "elsewhere"})
    monkeypatch.setattr(settings, "find_spec", lambda _name: None)
    with pytest.raises(ExtraMissing):
        set_observer({"MUNIMENT_TRACES": "otel"})
    with contextlib.closing(muniment.open("memory:", keys=root_key())) as runtime:
        assert runtime._session.observer is None
