"""Connections: how many there may be, how long and how large a head may be, and who gives way."""

from __future__ import annotations

import socket
import struct
import sys
import time
from contextlib import ExitStack

import httpx2
import pytest

from muniment.transports.http import client_connection as connections
from tests.served.conftest import Served
from tests.served.test_refusals import connected, head_of, raw

LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
REPLAY = "/v1/transcripts/replay"
DATA_SEGMENTS_IN = 152  # where it is in what the system tells of a connection


def ends(connection: socket.socket) -> bool:
    """Tell whether the other side closes a connection within its time-out."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ")[1])


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 40_000,
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n" + b"X-Many: 1\r\n" * 4_000,
        b"GET /" + b"x" * 40_000,
    ],
    ids=["one long header", "many headers", "a long path"],
)
def test_a_head_without_end_is_refused(served: Served, head: bytes) -> None:
    answer = raw(served, head)
    assert status_of(answer) == 431
    assert b"request.limit_exceeded" in answer


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET /health/live HTTP/9.9\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX\x00Y: 1\r\n\r\n",
        b"GET /health\x00/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/spaces/usage HTTP/1.1\r\nHost: localhost\r\nContent-Length: +0\r\n\r\n",
        b"POST /v1/spaces/usage HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/spaces/usage HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        "GET /h\u00e9alth HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"),
    ],
)
def test_what_is_no_http_is_refused_as_a_problem_document(served: Served, garbage: bytes) -> None:
    answer = raw(served, garbage)
    assert status_of(answer) == 400
    assert b"application/problem+json" in answer
    assert b'"code":"request.invalid"' in answer


@pytest.mark.parametrize("size", [b"zz", b"-1", b"ffffffffffffffffff", b"+1", b"0x1"])
def test_a_chunk_of_a_wrong_size_ends_the_connection(served: Served, size: bytes) -> None:
    """The request is refused or dropped; nothing is written, and the server goes on."""
    head = head_of(served, "/v1/attachments/add", "0").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    with connected(served.url) as connection:
        connection.sendall(head + size + b"\r\nabc\r\n0\r\n\r\n")
        assert ends(connection)
    assert served.post("spaces/usage").json()["events"] == 1


@pytest.mark.parametrize("path", ["%00", "%ff", "..%2f..%2fetc", "transcripts%00/replay", "%F0%9F%98%80"])
def test_a_strange_path_is_not_there(served: Served, path: str) -> None:
    answer = raw(served, f"GET /v1/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert status_of(answer) == 404


def test_a_head_that_does_not_end_is_given_up(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether nothing comes, a part of it, or one byte after the other."""
    monkeypatch.setattr(connections, "HEAD_S", 0.4)
    with connected(served.url) as silent, connected(served.url) as half, connected(served.url) as slow:
        half.sendall(LIVE[:20])
        began = time.monotonic()
        for at in range(len(LIVE)):
            try:
                slow.sendall(LIVE[at : at + 1])
            except OSError:
                break
            time.sleep(0.05)
        assert time.monotonic() - began < 2, "the deadline is that of the whole head"
        assert all(ends(each) for each in (silent, half, slow))


def test_the_rest_of_a_body_that_nobody_waits_for_has_its_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.4)
    with connected(served.url) as connection:
        connection.sendall(head_of(served, REPLAY, str(1 << 30)))
        assert status_of(connection.recv(65_536)) == 413
        assert ends(connection)


def flood(connection: socket.socket) -> None:
    """Send a gibibyte."""
    for _ in range(1 << 10):
        connection.sendall(bytes(1 << 20))


def test_what_nobody_waits_for_is_thrown_away_up_to_a_limit(served: Served) -> None:
    with connected(served.url) as connection:
        connection.sendall(head_of(served, REPLAY, str(1 << 30)))
        with pytest.raises(OSError, match=r"."):
            flood(connection)


def test_the_longest_idle_connection_gives_way(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", 8)
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(served.url)) for _ in range(40)]
        assert httpx2.get(f"{served.url}/health/live").status_code == 200
        gone = [each for each in idle if not is_open(each)]
        assert len(gone) >= 32
        assert gone == idle[: len(gone)], "the oldest went first"


def is_open(connection: socket.socket) -> bool:
    """Tell whether the other side keeps a connection."""
    connection.settimeout(0.05)
    try:
        return bool(connection.recv(1))
    except TimeoutError:
        return True
    except ConnectionResetError:
        return False


def test_where_all_connections_work_a_new_one_is_told_to_come_back(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", 4)
    served.http.close()
    with ExitStack() as stack:
        for _ in range(4):
            working = stack.enter_context(connected(served.url))
            working.sendall(head_of(served, REPLAY, "9"))
        time.sleep(0.3)
        answer = raw(served, LIVE)
        assert status_of(answer) == 503
        assert b"retry-after: 1" in answer
        assert b"request.busy" in answer
    time.sleep(0.3)
    assert status_of(raw(served, LIVE)) == 200


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what came")
def test_an_answer_is_one_piece(served: Served) -> None:
    """Its head is not sent alone: that would cost another call and wake whoever waits twice."""
    with connected(served.url) as connection:
        connection.sendall(LIVE)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        time.sleep(0.1)
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    assert struct.unpack_from("I", info, DATA_SEGMENTS_IN) == (1,)


def test_answers_to_requests_that_come_together_keep_their_order(served: Served) -> None:
    head, missing = LIVE.replace(b"GET", b"HEAD", 1), LIVE.replace(b"/live", b"/none", 1)
    with connected(served.url) as connection:
        connection.sendall(head + missing + LIVE)
        answers = b""
        while not answers.endswith(b'{"alive":true}'):
            piece = connection.recv(65_536)
            assert piece, "the connection stays open"
            answers += piece
    statuses = [status_of(b"HTTP/1.1 " + each) for each in answers.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200, 404, 200]
    assert answers.split(b"HTTP/1.1 ")[1].endswith(b"\r\n\r\n"), "a HEAD request has no body"
