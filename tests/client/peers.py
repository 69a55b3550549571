"""Peers of a client: a server that answers by a script, and a proxy that loses answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from muniment.errors import MunimentError
from muniment.transports.http.problem import problem_of

Scripted = tuple[int, dict[str, str], bytes]  # status, headers, body
DROP: Scripted = (0, {}, b"")  # the connection is closed without an answer


def refusal(error: MunimentError, **headers: str) -> Scripted:
    """Return an error as a server answers it."""
    response = problem_of(error)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return response.status_code, {"Content-Type": str(response.headers["content-type"]), **named}, bytes(response.body)


def reported(report: object) -> Scripted:
    """Return a report as a server answers it."""
    return 200, {"Content-Type": "application/json"}, msgspec.json.encode(report)


class ReceivedRequest(msgspec.Struct):
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


@contextlib.contextmanager
def scripted(answers: Sequence[Scripted]) -> Iterator[tuple[str, list[ReceivedRequest]]]:
    """Answer requests by a script, the last answer again and again; give the address and what was asked."""
    asked: list[ReceivedRequest] = []

    class Peer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # as http.server names it
            body = self._body()
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked.append(ReceivedRequest(self.path, headers, body))
            status, told, text = answers[min(len(asked), len(answers)) - 1]
            if not status:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **told}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length", "0")))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def losing(url: str, lost: int, *, before: bool = False) -> Iterator[tuple[str, Callable[[], int]]]:
    """Stand between a client and a server, and lose the first answers; with `before`, the requests themselves.

    Gives the address, and how many connections were made.
    """
    host, _, port = url.rpartition("//")[2].partition(":")
    listener = socket.create_server(("127.0.0.1", 0))
    made: list[socket.socket] = []

    def carry(client: socket.socket, is_lost: bool) -> None:
        with client, socket.create_connection((host, int(port))) as server, contextlib.suppress(OSError):
            if is_lost and before:
                return
            forth = threading.Thread(target=_copied, args=[client, server], daemon=True)
            forth.start()
            if is_lost:
                server.recv(1)  # it was carried out
                client.shutdown(socket.SHUT_RDWR)
            else:
                _copied(server, client)
            forth.join()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                made.append(client)
                threading.Thread(target=carry, args=[client, len(made) <= lost], daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", lambda: len(made)
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _copied(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 16):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
