"""Operations as spans of OpenTelemetry, for whoever asks for them (`MUNIMENT_TRACES=otel`, `Options(observer=...)`).

Spans go to the tracer provider of the process: that of the host, or the one that `opentelemetry-instrument` sets up.
Operations of memory are called what the conventions for generative AI call them; any other span has the name of its
operation. No span holds content, a query, a key or a name that a host chose: neither the space nor a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from opentelemetry import trace

from muniment.errors import MunimentError
from muniment.governance.covered_turns import CoveringReport
from muniment.version import __version__

# operation -> its name in the conventions (semantic-conventions-genai, memory)
MEMORY_OPERATIONS = {
    "memory.remember": "upsert_memory",
    "memory.import": "upsert_memory",
    "memory.amend": "update_memory",
    "memory.forget": "delete_memory",
    "memory.recall": "search_memory",
}
OPERATION, EFFECT, ERROR = "muniment.operation", "muniment.effect", "error.type"
GEN_AI_OPERATION, RECORDS = "gen_ai.operation.name", "gen_ai.memory.record.count"


class OperationTraces:
    """Makes a span of every operation, with a tracer provider or that of the process."""

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("muniment", __version__, provider)

    @contextmanager
    def around(self, operation: str, effect: str) -> Iterator[Callable[[object], None]]:
        """Return the block that an operation runs in."""
        known = MEMORY_OPERATIONS.get(operation)
        told = {OPERATION: operation, EFFECT: effect, **({} if known is None else {GEN_AI_OPERATION: known})}
        with self._tracer.start_as_current_span(
            known or operation,
            attributes=told,
            record_exception=False,  # its text may quote what is stored
            set_status_on_exception=False,
        ) as span:
            try:
                yield partial(_count, span) if known is not None else _ignore
            except BaseException as error:
                span.set_attribute(ERROR, error.code if isinstance(error, MunimentError) else type(error).__name__)
                span.set_status(trace.StatusCode.ERROR)
                raise


def _count(span: trace.Span, report: object) -> None:
    if isinstance(report, CoveringReport):
        covered = report.covered()
        span.set_attribute(RECORDS, len(set(covered.positions)))


def _ignore(_report: object) -> None:
    """Say nothing of a report."""
