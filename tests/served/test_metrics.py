"""Metrics: what a server counts, who may read it, and what is in none of it."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from muniment.errors import AccessDenied
from muniment.governance.access import Access
from muniment.governance.client_scope import ClientScope
from muniment.kernel.sources import system_sources
from muniment.transports.http.metrics import HttpMetrics
from muniment.transports.http.serving import Listener, ServeOptions
from tests.cli.shell import Shell
from tests.served.conftest import EVERYTHING, serving
from tests.served.events import listening, take
from tests.turns import TALK, plain_turn
from tests.worlds import World, sqlite_world

Samples = dict[tuple[str, str], float]
SECRET = "canarymetric"


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[tuple[World, str, str]]:
    """Return a world, the address of its server, and that of its metrics."""
    world = sqlite_world(tmp_path)
    with contextlib.closing(world):
        metrics = HttpMetrics(world.runtime.totals)
        listener = Listener(ServeOptions(port=0))
        with listener.serving(metrics.app(system_sources().ids)), serving(world.runtime, observer=metrics) as url:
            yield world, url, listener.url


def samples(url: str) -> Samples:
    """Return every sample by its name and labels, as a scraper reads them."""
    text = httpx2.get(f"{url}/metrics").text
    return {
        (sample.name, ",".join(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_streams_and_logs_are_counted(counted: tuple[World, str, str]) -> None:
    world, url, metrics = counted
    headers = {"Authorization": f"Bearer {world.runtime.clients.create('c', EVERYTHING).key}"}
    world.with_turns(2)
    with httpx2.Client(base_url=url, headers=headers) as client:
        for _ in range(3):
            client.get("/v1/subjects/list")
        client.post("/v1/subjects/list", content=b"{")
        client.get("/no/such/path")
        client.request("PROPFIND", "/v1/subjects/list")
    with listening(url, headers) as sent:
        take(sent, 2)
        during = samples(metrics)
        assert during["muniment_http_streams", ""] == 1
        assert during["muniment_http_requests_in_work", ""] == 0
    found = samples(metrics)
    route = "/v1/subjects/list"
    assert found["muniment_http_requests_total", f"GET,{route},200"] == 3
    assert found["muniment_http_requests_total", f"POST,{route},400"] == 1
    assert found["muniment_http_requests_total", "GET,none,404"] == 1
    assert found["muniment_http_requests_total", f"other,{route},405"] == 1
    assert found["muniment_http_refusals_total", "request.invalid"] == 1
    assert found["muniment_http_refusals_total", "request.route_missing"] == 1
    assert found["muniment_http_request_seconds_count", route] == 5
    assert found["muniment_log_events", ""] == world.runtime.system.health().events
    assert found["muniment_log_bytes", ""] > 0
    assert found["muniment_commits_total", ""] >= 2
    assert found["muniment_spaces_open", ""] == 1


def test_no_metric_has_a_name_a_key_or_content(counted: tuple[World, str, str]) -> None:
    world, url, metrics = counted
    issued = world.runtime.clients.create(SECRET, ClientScope())
    headers = {"Authorization": f"Bearer {issued.key}", "X-Request-Id": SECRET, "User-Agent": SECRET}
    world.commit(plain_turn(1, SECRET))
    with httpx2.Client(base_url=url, headers=headers) as client:
        client.get(f"/v1/transcripts/search?query={SECRET}")
        client.get(f"/{SECRET}?x={SECRET}")
        client.request(SECRET.upper(), f"/v1/{SECRET}")
        client.get("/v1/events", params={"after": SECRET})
        client.post("/v1/transcripts/replay", json={"conversation": {"conversation": SECRET, "channel": SECRET}})
        client.get("/health/live", headers={"Host": f"{SECRET}.example"})
        client.get("/health/live", headers={"Authorization": f"Bearer {SECRET}"})
    text = httpx2.get(f"{metrics}/metrics").text
    assert SECRET not in text.lower()
    assert issued.fingerprint not in text
    assert issued.key not in text


def test_metrics_are_for_this_machine_and_not_at_the_address_of_the_operations(
    counted: tuple[World, str, str],
) -> None:
    _, url, metrics = counted
    assert httpx2.get(f"{url}/metrics").status_code == 404
    assert httpx2.get(f"{metrics}/v1/subjects/list").status_code == 404
    assert httpx2.get(f"{metrics}/metrics", headers={"Host": "evil.example"}).status_code == 421
    assert httpx2.get(f"{metrics}/metrics", headers={"Origin": "https://evil.example"}).status_code == 403
    assert httpx2.post(f"{metrics}/metrics").status_code == 405
    open_metrics = httpx2.get(f"{metrics}/metrics", headers={"Accept": "application/openmetrics-text"})
    assert open_metrics.headers["content-type"].startswith("application/openmetrics-text")
    assert open_metrics.text.endswith("# EOF\n")


def test_totals_are_of_the_whole_store(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    with contextlib.closing(world):
        before = world.runtime.totals()
        world.runtime.space("other").transcripts.commit(plain_turn(1, TALK))
        after = world.runtime.totals()
        assert (before.spaces, after.spaces) == (1, 2)
        assert after.events == before.events + world.runtime.space("other").system.health().events
        with pytest.raises(AccessDenied):
            world.runtime.restricted(Access(subject="ada")).totals()


def test_the_command_serves_metrics_when_it_is_asked(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "muniment", "serve", "--demo", "--port", "0", "--metrics", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            url = next(line.split()[-1] for line in server.stdout if line.startswith("metrics are at"))
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url)
            assert "muniment_log_events" in httpx2.get(url).text
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.read()
    assert "--metrics" in Shell(tmp_path).run("serve", "--help").out
