"""What a server refuses: malformed, oversized, slow and foreign requests. Never a 5xx, and nothing is written."""

from __future__ import annotations

import logging
import socket
import time
from urllib.parse import urlsplit

import httpx2
import pytest

from muniment.errors import (
    ExtraMissing,
    IssuerUnavailable,
    KeyUnavailable,
    MunimentError,
    ServerBusy,
    StoreBusy,
    StoreClosed,
    StoreFault,
    StoreNewer,
    StoreReadOnly,
)
from muniment.runtime.runtime import Runtime
from muniment.transports.http import body as bodies
from muniment.transports.http.call import BODY_BYTES_MAX
from muniment.transports.http.problem import problem_of
from muniment.transports.http.request_guard import GuardRules
from muniment.transports.http.status import HEAD_TOO_LARGE, MEANINGS, STATUSES, WRONG_HOST, WRONG_METHOD
from tests.served.conftest import Served, serving
from tests.turns import TALK

REPLAY = "/v1/transcripts/replay"
BAD_BODIES = [
    b"{",
    b"[]",
    b"7",
    b"null",
    b'"text"',
    b"\xff\xfe",
    b'{"conversation": {"conversation": "\xff"}}',
    b'{"conversation": {"conversation": "a", "conversation": "b"}}',
    b'{"conversation": {"conversation": "a"}, "limit": NaN}',
    b'{"conversation": {"conversation": "a"}, "limit": 9223372036854775808}',
    b'{"conversation": {"conversation": "a"}, "limit": "9"}',
    b'{"conversation": {"conversation": "a"}, "limit": 1e999}',
    b'{"conversation": {"conversation": "a"}, "nothing": 1}',
    b'{"conversation": ' + b"[" * 100_000,
    b'{"conversation": {"conversation": "\\ud800"}}',
    b'{"conversation": {"conversation": "a", "space": 7}}',
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_a_malformed_body_is_refused_by_name(served: Served, body: bytes) -> None:
    answer = served.http.post(REPLAY, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["code"] in {"request.invalid", "request.not_canonical"}


@pytest.mark.parametrize(("body", "status"), [(b" \t\r\n", 200), (b"\x0b", 400), (b"\x0c", 400), (b"\x1c", 400)])
def test_an_empty_body_has_nothing_but_the_blanks_of_json(served: Served, body: bytes, status: int) -> None:
    answer = served.http.post("/v1/system/capabilities", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status


@pytest.mark.parametrize(
    "query",
    ["conversation={", "conversation={}&conversation={}", "limit=x", "limit=1.5", "nothing=1", "view=%ff", "a&b"],
)
def test_a_malformed_query_is_refused_by_name(served: Served, query: str) -> None:
    answer = served.http.get(f"{REPLAY}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")


def test_a_body_has_its_type_and_no_query_beside_it(served: Served) -> None:
    for options in ({"headers": {"Content-Type": "text/xml"}}, {"params": {"limit": "1"}}):
        answer = served.http.post(REPLAY, content=b"{}", **options)  # type: ignore[arg-type]  # a table of options
        assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")


def test_paths_and_methods_that_are_not_there(served: Served) -> None:
    assert served.http.get("/v1/transcripts/nothing").status_code == 404
    assert served.http.get("/v1/transcripts/replay/").status_code == 404
    wrong = served.http.get("/v1/transcripts/commit")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert served.http.delete("/health/live").headers["allow"] == "GET, HEAD"
    assert served.http.head("/health/live").status_code == 200


def connected(url: str) -> socket.socket:
    """Return a connection to a server."""
    port = urlsplit(url).port
    assert port is not None
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def raw(served: Served, data: bytes) -> bytes:
    """Send bytes as they are and return what comes back first."""
    with connected(served.url) as connection:
        connection.sendall(data)
        return connection.recv(65_536)


def head_of(served: Served, path: str, length: str) -> bytes:
    """Return the head of a request that announces a body."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {served.key}"]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


@pytest.mark.parametrize("length", ["+0", "-1", "0x1", "1, 2", "1_0", "9" * 40])
def test_a_length_that_is_none_is_refused(served: Served, length: str) -> None:
    """HT-03: nothing is guessed about where a request ends."""
    answer = raw(served, head_of(served, REPLAY, length))
    assert answer.split(b" ")[1:2] in ([b"400"], [b"413"])


def test_a_declared_body_over_the_limit_is_refused_before_it_is_read(served: Served) -> None:
    answer = raw(served, head_of(served, REPLAY, str(1 << 30)))
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"request.limit_exceeded" in answer


@pytest.mark.parametrize(("more", "status"), [(0, 404), (1, 413)])
def test_a_body_of_exactly_the_limit_is_read(served: Served, more: int, status: int) -> None:
    """HT-03, however long the body is in truth."""
    body = b'{"conversation":{"conversation":"nobody has this one"}}'.ljust(BODY_BYTES_MAX + more)
    for content in (body, iter([body])):  # declared, and in chunks
        answer = served.http.post(REPLAY, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == status


def test_an_endless_body_is_cut_off_at_the_limit(served: Served) -> None:
    pieces = (b" " * (1 << 20) for _ in range(64))
    try:
        answer = served.http.post(REPLAY, content=pieces, headers={"Content-Type": "application/json"})
    except httpx2.TransportError:
        return  # the server answered and closed while we were still sending
    assert answer.status_code == 413


def test_a_body_that_stops_coming_is_given_up(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PIECE_S", 0.2)
    assert raw(served, head_of(served, REPLAY, "9")).startswith(b"HTTP/1.1 400")
    assert raw(served, head_of(served, "/v1/attachments/add", "9") + b"abc").startswith(b"HTTP/1.1 400")
    assert served.world.runtime.spaces.usage().events == 1


def test_a_caller_that_hangs_up_leaves_nothing(served: Served) -> None:
    with connected(served.url) as connection:
        connection.sendall(head_of(served, "/v1/attachments/add", "9") + b"abc")
    with connected(served.url) as connection:
        connection.sendall(head_of(served, REPLAY, "9"))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(65_536)
    assert served.post("spaces/usage").json()["events"] == 1


def test_garbage_behind_a_request_harms_nobody(served: Served) -> None:
    live = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = raw(served, live + b"\x00\xffgarbage\r\n\r\n" * 50)
    assert answer.split(b" ")[1] in {b"200", b"400"}
    assert served.http.get("/health/live").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::1"])
def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    """A name that somebody else's DNS points at this machine is not ours."""
    answer = served.http.get("/health/live", headers={"Host": host})
    assert answer.status_code == 421


def test_names_of_this_machine_pass(served: Served) -> None:
    for host in ("localhost", "LOCALHOST:8718", "127.0.0.1:1", "[::1]:9"):
        assert served.http.get("/health/live", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example"])
def test_a_page_of_another_origin_is_refused(served: Served, origin: str) -> None:
    answer = served.post("spaces/usage", headers={"Origin": origin})
    assert (answer.status_code, answer.json()["at"]) == (403, "origin")
    assert "access-control-allow-origin" not in answer.headers


def test_names_and_origins_that_were_allowed_pass(served: Served) -> None:
    rules = GuardRules(hosts=frozenset({"desk.example"}), origins=frozenset({"https://app.example"}))
    with serving(served.world.runtime, rules) as url:
        headers = {"Host": "desk.example", "Origin": "https://app.example"}
        assert httpx2.get(f"{url}/health/live", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (ServerBusy, True),
        (StoreBusy, True),
        (StoreClosed, True),
        (IssuerUnavailable, True),
        (KeyUnavailable, False),
        (StoreFault, False),
        (StoreNewer, False),
        (StoreReadOnly, False),
        (ExtraMissing, False),
    ],
)
def test_an_answer_says_when_to_come_back_only_where_waiting_helps(error: type[MunimentError], *, waits: bool) -> None:
    answer = problem_of(error())
    assert answer.status_code == 503
    assert ("retry-after" in answer.headers) == waits


def test_too_many_requests_at_once_are_told_to_come_back(served: Served) -> None:
    """The place in work that there is belongs to a request whose body does not come."""
    with serving(served.world.runtime, GuardRules(requests_max=1)) as url:
        with connected(url) as connection:
            connection.sendall(head_of(served, REPLAY, "9"))
            time.sleep(0.3)
            answer = httpx2.get(f"{url}/health/live")
            assert (answer.status_code, answer.json()["code"]) == (503, "request.busy")
            assert answer.headers["retry-after"]
        time.sleep(0.3)
        assert httpx2.get(f"{url}/health/live").status_code == 200


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return what the server logged; the client in this process logs, too."""
    return "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))


def test_a_bug_is_answered_and_says_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "canary-4711"

    def broken(_self: object, _key: str) -> None:
        raise RuntimeError(canary)

    monkeypatch.setattr(Runtime, "client_of", broken)
    with caplog.at_level(logging.DEBUG):
        answer = served.post("spaces/usage")
    assert (answer.status_code, answer.json()["problem"]) == (503, "bug")
    assert canary not in answer.text + logged(caplog)


def test_logs_know_requests_and_never_what_is_in_them(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """A canary in every place of a request, and the key, are in no line of log and in no refusal."""
    canary = "canary-4711"
    with caplog.at_level(logging.DEBUG):
        answers = [
            served.post("transcripts/replay", {"conversation": {"conversation": canary}}),
            served.post("transcripts/search", {"query": canary}),
            served.post("transcripts/commit", {"turn": {"turn": canary, canary: 1}}),
            served.http.get(f"/v1/{canary}", params={canary: canary}),
            served.http.get(REPLAY, params={canary: "1", "view": canary}),
            served.post("spaces/usage", headers={"Authorization": f"Bearer {canary}"}),
            served.post("spaces/usage", headers={"X-Request-Id": f"{canary} {canary}", "Origin": canary}),
            served.post("lifecycle/hold", {}, headers={"Idempotency-Key": f"{canary} {canary}"}),
        ]
    told = [answer.text for answer in answers if answer.status_code >= 400]
    assert len(told) >= 6
    assert not [text for text in told if canary in text and '"choices"' not in text]
    assert canary not in logged(caplog)
    assert served.key not in logged(caplog)
    assert '"route":"/v1/transcripts/search","status":200' in logged(caplog)


def test_a_request_is_known_by_its_id(served: Served) -> None:
    assert served.post("spaces/usage", headers={"X-Request-Id": "r-1"}).headers["x-request-id"] == "r-1"
    made = served.post("spaces/usage", headers={"X-Request-Id": "no good"}).headers["x-request-id"]
    assert made != "no good"
    assert len(made) == 22


def test_every_status_is_described() -> None:
    assert STATUSES - {WRONG_METHOD} == set(MEANINGS)


@pytest.mark.parametrize("status", [WRONG_HOST, HEAD_TOO_LARGE])
def test_what_is_refused_before_its_operation_is_described(served: Served, status: int) -> None:
    document = served.http.get("/openapi.json").json()
    assert all(str(status) in method["responses"] for path in document["paths"].values() for method in path.values())
    assert status in document["components"]["schemas"]["Problem"]["properties"]["status"]["enum"]


def test_nothing_of_all_that_was_written(served: Served) -> None:
    before = served.world.runtime.spaces.usage().events
    for body in BAD_BODIES:
        served.http.post("/v1/transcripts/commit", content=body, headers={"Content-Type": "application/json"})
    assert served.world.runtime.spaces.usage().events == before
    assert served.post("transcripts/replay", {"conversation": {"conversation": TALK}}).status_code == 404
