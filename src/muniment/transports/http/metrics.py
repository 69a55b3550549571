"""Metrics for Prometheus, counted in this process: requests, streams, and how large the logs are.

Labels are routes, methods, statuses and codes of errors, of which there are few and which are ours. No metric has a
name that a host chose, a key, a fingerprint or anything that somebody wrote.

They are served at an address of their own, of this machine alone, and not at that of the operations: a proxy that
passes on everything would make them public, and how busy a store is, is nobody's business. So they need no key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import anyio.to_thread
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from muniment.kernel.sources import IdSource
from muniment.space.open_store import StoreTotals
from muniment.transports.http.http_app import Paths, Route
from muniment.transports.http.request_guard import LOOPBACK_ONLY, RequestGuard, SeenRequest

PATH = "/metrics"
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH"})
NO_ROUTE, OTHER_METHOD = "none", "other"


class StoreCollector(Collector):
    """Asks how much the logs hold whenever somebody collects."""

    def __init__(self, totals: Callable[[], StoreTotals]) -> None:
        self._totals = totals

    def collect(self) -> Iterator[Metric]:
        """Yield what the open spaces hold, together."""
        totals = self._totals()
        yield GaugeMetricFamily("muniment_spaces_open", "Spaces that this process has open.", totals.spaces)
        yield GaugeMetricFamily("muniment_log_events", "Events in the logs of the open spaces.", totals.events)
        yield GaugeMetricFamily("muniment_log_bytes", "Bytes on the disk of the logs of the open spaces.", totals.bytes)
        yield CounterMetricFamily("muniment_commits", "Transactions of this process.", totals.commits)


class HttpMetrics:
    """The metrics of a server; it is told of every request."""

    def __init__(self, totals: Callable[[], StoreTotals]) -> None:
        self._registry = own = CollectorRegistry()
        labels = ["route", "method", "status"]
        self._requests = Counter("muniment_http_requests", "Requests that have ended.", labels, registry=own)
        self._seconds = Histogram("muniment_http_request_seconds", "Time of requests.", ["route"], registry=own)
        self._in_work = Gauge("muniment_http_requests_in_work", "Requests in work.", registry=own)
        self._streams = Gauge("muniment_http_streams", "Streams of events that are open.", registry=own)
        self._refusals = Counter("muniment_http_refusals", "Refused requests.", ["code"], registry=own)
        own.register(StoreCollector(totals))
        ProcessCollector(registry=own)

    def begun(self) -> None:
        """Count a request in work."""
        self._in_work.inc()

    def streams(self) -> None:
        """Count it as a stream instead."""
        self._in_work.dec()
        self._streams.inc()

    def ended(self, request: SeenRequest) -> None:
        """Count a request that has ended."""
        (self._streams if request.is_stream else self._in_work).dec()
        route, method = request.route or NO_ROUTE, request.method if request.method in METHODS else OTHER_METHOD
        self._requests.labels(route, method, str(request.status)).inc()
        if not request.is_stream:
            self._seconds.labels(route).observe(request.seconds)
        if request.refusal is not None:
            self._refusals.labels(request.refusal).inc()

    def app(self, ids: IdSource) -> ASGIApp:
        """Return the application that serves them, to callers of this machine."""
        return RequestGuard(Paths({PATH: Route(self._answered)}, {}), LOOPBACK_ONLY, ids)

    async def _answered(self, request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        text = await anyio.to_thread.run_sync(encode, self._registry)
        return Response(text, headers={"Content-Type": media_type, "Cache-Control": "no-store"})
