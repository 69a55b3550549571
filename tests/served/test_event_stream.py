"""Events over HTTP: in order, resumable, bounded, and over when the key is."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from msgspec.structs import replace
from starlette.responses import Response
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from muniment.errors import CursorInvalid
from muniment.events.identity import Channel, SubjectId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.transports.http import event_stream
from muniment.transports.http.request_guard import BEGIN_STREAM, LOOPBACK_ONLY, RequestGuard
from tests.served.conftest import EVERYTHING, Served, serving
from tests.served.events import listening, take
from tests.turns import plain_turn
from tests.worlds import sqlite_world


def owner(served: Served) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.key}"}


def test_what_happens_is_told_as_it_happens(served: Served) -> None:
    served.world.with_turns(1)
    with listening(served.url, owner(served), view="host_ui") as sent:
        [first] = take(sent, 1)
        assert (first.type, first.data["turn"], first.data["id"]) == ("turn.committed", "turn-1", first.id)
        assert first.data["shown"]["messages"][0]["parts"][0]["content"] == "question 0001 of the user"
        began = time.monotonic()
        served.world.with_turns(1).masked(1).erased(2)
        told = take(sent, 3)
    assert [(each.type, each.data["turn"]) for each in told] == [
        ("turn.committed", "turn-2"),
        ("turn.lifecycle", "turn-1"),
        ("turn.erased", "turn-2"),
    ]
    assert time.monotonic() - began < event_stream.POLL_S  # it is woken, and does not wait for its next look
    assert told[2].data["receipt"].startswith("c2sp.org/tlog-proof")


def test_what_another_process_appends_is_told_too(served: Served) -> None:
    script = """
import sys, muniment
from muniment.space.options import Options
from muniment.evidence.pin import FilePin
from pathlib import Path
from tests.worlds import root_key
from tests.turns import plain_turn
store, pins = map(Path, sys.argv[1:])
with muniment.open(store, keys=root_key(), options=Options(pin=FilePin(pins))) as runtime:
    runtime.transcripts.commit(plain_turn(7))
"""
    home = served.world.store  # type: ignore[attr-defined]  # its store is a directory
    with listening(served.url, owner(served), after="now") as sent:
        ran = subprocess.run([sys.executable, "-c", script, str(home), str(home.parent / "pins")], check=False)
        assert ran.returncode == 0
        began = time.monotonic()
        assert take(sent, 1)[0].data["turn"] == "turn-7"
        assert time.monotonic() - began < event_stream.HEARTBEAT_S / 2  # a heartbeat would find it, too


def test_a_client_goes_on_where_it_was_even_with_another_server(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(5)
    with contextlib.closing(world):
        headers = {"Authorization": f"Bearer {world.runtime.clients.create('c', EVERYTHING).key}"}
        with serving(world.runtime) as url, listening(url, headers) as sent:
            whole = take(sent, 5)
        for place in range(5):
            world.reopened()
            with serving(world.runtime) as url:
                back = {**headers, "Last-Event-ID": whole[place].id or ""}
                with listening(url, back, after=whole[0].id or "") as sent:  # the header is the newer of the two
                    assert take(sent, 4 - place) == whole[place + 1 :]
        assert [each.data["turn"] for each in whole] == [f"turn-{number}" for number in range(1, 6)]


@pytest.mark.parametrize("cursor", ["x", "mc1.AAAA", "mc1.", "é", "mc1." + "A" * 5000, "foreign"])
def test_a_cursor_of_nobody_is_refused_before_the_stream_begins(served: Served, cursor: str) -> None:
    given = served.world.runtime.events.read(view=View.EXPORT).cursor if cursor == "foreign" else cursor
    answer = served.http.get("/v1/events", params={"after": given, "view": "host_ui"})
    assert (answer.status_code, answer.json()["code"]) == (400, CursorInvalid.code)
    assert (served.http.get("/v1/events", params={"view": "x"}).status_code) == 400
    assert (served.http.get("/v1/events", params={"limit": "0"}).status_code) == 400
    assert (served.http.post("/v1/events").status_code) == 405
    assert served.http.head("/v1/events").headers["content-type"].startswith("text/event-stream")


def test_a_key_sees_its_own_and_no_trace_of_others(served: Served) -> None:
    scope = ClientScope(subject=SubjectId("ada"), channels=[Channel("default")], views=[View.HOST_UI])
    mine, runtime = served.key_for("ada", scope), served.world.runtime
    with listening(served.url, mine) as sent:
        for number, (subject, channel) in enumerate([("bob", "default"), ("ada", "desk"), ("ada", "default")]):
            turn = plain_turn(number + 1, f"talk-{channel}-{subject}")
            runtime.transcripts.commit(_of(turn, subject, channel))
        assert [each.data["turn"] for each in take(sent, 1)] == ["turn-3"]
    assert served.http.get("/v1/events", headers=mine, params={"topics": '["governance"]'}).status_code == 403
    assert served.http.get("/v1/events", headers=mine, params={"view": "raw_owner"}).status_code == 403
    assert httpx2.get(f"{served.url}/v1/events").status_code == 401


def _of(turn: Turn, subject: str, channel: str) -> Turn:
    return replace(turn, subject=SubjectId(subject), channel=Channel(channel))


def test_a_stream_ends_with_its_key(served: Served) -> None:
    headers = served.key_for("short", EVERYTHING)
    with listening(served.url, headers) as sent:
        served.world.runtime.clients.revoke("short")
        [last] = take(sent, 1)
        assert (last.type, last.data["code"], last.data["status"]) == ("problem", "access.not_authenticated", 401)
        assert list(sent) == []  # the answer has ended


def test_a_stream_ends_with_its_server(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(1)
    with contextlib.closing(world), contextlib.ExitStack() as stack:
        headers = {"Authorization": f"Bearer {world.runtime.clients.create('c', EVERYTHING).key}"}
        server = contextlib.ExitStack()
        url = server.enter_context(serving(world.runtime))
        sent = stack.enter_context(listening(url, headers))
        take(sent, 1)
        began = time.monotonic()
        server.close()
        assert list(sent) == []
        assert time.monotonic() - began < 5  # and not after the time that requests have to end


def test_a_heartbeat_moves_a_client_on_that_sees_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "HEARTBEAT_S", 0.2)
    with listening(served.url, owner(served), topics='["erasures"]') as sent:
        served.world.with_turns(2)
        beats = [next(sent) for _ in range(3)]
    assert all(beat.data is None and beat.type == "" for beat in beats)
    assert len({beat.id for beat in beats}) == 3
    assert served.world.runtime.events.read(after=beats[-1].id, view=View.HOST_UI).events == []


def test_streams_have_a_budget(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each key and of all; whoever closes one may open another."""
    monkeypatch.setattr(event_stream, "STREAMS_PER_KEY_MAX", 2)
    monkeypatch.setattr(event_stream, "STREAMS_MAX", 3)
    other, third = served.key_for("other", EVERYTHING), served.key_for("third", EVERYTHING)
    with contextlib.ExitStack() as stack:
        first = contextlib.ExitStack()
        first.enter_context(listening(served.url, owner(served)))
        stack.enter_context(listening(served.url, owner(served)))
        refused = served.http.get("/v1/events")
        assert (refused.status_code, refused.json()["code"]) == (429, "request.streams_exceeded")
        stack.enter_context(listening(served.url, other))
        busy = served.http.get("/v1/events", headers=third)
        assert (busy.status_code, busy.json()["code"]) == (503, "request.busy")
        assert busy.headers["retry-after"]
        first.close()
        for _ in range(100):  # until the server has noticed
            if served.http.head("/v1/events", headers=third).status_code == 200:
                break
            time.sleep(0.02)
        stack.enter_context(listening(served.url, third))


def test_a_stream_takes_no_place_among_the_requests_in_work() -> None:
    """The place is given up once, and the next request finds it free."""
    found: list[int] = []

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        scope["state"][BEGIN_STREAM]()
        found.append(guard._in_work)
        await Response(b"")(scope, _receive, send)

    async def nothing(_message: AsgiMessage) -> None:
        pass

    async def gone() -> AsgiMessage:
        return {"type": "http.disconnect"}

    guard = RequestGuard(app, LOOPBACK_ONLY, seeded_sources("guard").ids)
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
    for _ in range(3):
        anyio.run(guard, dict(scope), gone, nothing)
    assert (found, guard._in_work) == ([0, 0, 0], 0)


def test_a_client_that_does_not_read_holds_up_nobody(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is let go, its place is free again, and it misses nothing when it comes back; commits and others go on."""
    monkeypatch.setattr(event_stream, "SEND_S", 0.5)
    host, port = served.url.removeprefix("http://").split(":")
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect((host, int(port)))
    asked = f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.key}\r\n\r\n"
    slow.sendall(asked.encode())
    large = "x" * 400_000
    with contextlib.closing(slow), listening(served.url, owner(served)) as sent:
        committed: list[float] = []

        def commit() -> None:
            for number in range(1, 25):
                began = time.monotonic()
                said = [Message(role=Role.USER, content=large)]
                served.world.commit(replace(plain_turn(number), messages=said))
                committed.append(time.monotonic() - began)

        thread = threading.Thread(target=commit)
        thread.start()
        told = [each.data["turn"] for each in take(sent, 24)]
        thread.join()
        assert told == [f"turn-{number}" for number in range(1, 25)]
        assert max(committed) < 2
        assert _logged_out(slow)


def _logged_out(slow: socket.socket) -> bool:
    """Wait for longer than the server does, read what is left, and tell whether the end came before all was sent."""
    time.sleep(1)
    slow.settimeout(10)
    got = 0
    while piece := slow.recv(1 << 16):
        got += len(piece)
    return got < 24 * 400_000
