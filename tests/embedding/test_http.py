"""The endpoint of an embedder, against a real server on this machine: what it says is parsed, or refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest

from muniment.embedding import http
from muniment.embedding.guarded import EmbedderFlaw, GuardedEmbedder
from muniment.embedding.http import Endpoint, HttpEmbedder
from muniment.errors import ModelInvalid, ModelUnavailable

DIMENSION = 3
KEY = "key-of-the-endpoint"
WAIT_S = 30.0

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


def rows(count: int, dimension: int = DIMENSION) -> list[dict[str, Any]]:
    """Return vectors as an endpoint tells them, last one first."""
    return [{"object": "embedding", "index": at, "embedding": [at + 1.0] * dimension} for at in reversed(range(count))]


def well(request: dict[str, Any]) -> tuple[int, bytes]:
    """Answer as an endpoint does."""
    return 200, json.dumps({"object": "list", "data": rows(len(request["input"])), "model": "m"}).encode()


def saying(data: Any) -> Answer:
    """Answer with these rows."""
    return lambda _request: (200, json.dumps({"data": data}).encode())


class Server:
    """A server that answers every request the same way, and remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        server = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((self.path, dict(self.headers), body))
                status, told = server.answer(body)
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", f"http://127.0.0.1:{server.port}/elsewhere")
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that it is called by
                del format, args

        self._server = HTTPServer(("127.0.0.1", 0), Answering)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def embedder(self, path: str = "/v1/embeddings", key: str | None = None) -> HttpEmbedder:
        """Return an embedder that asks here."""
        return HttpEmbedder(
            Endpoint(url=f"http://127.0.0.1:{self.port}{path}", model="m", dimension=DIMENSION, key=key)
        )

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that answers well."""
    made = Server(well)
    yield made
    made.close()


def test_texts_are_sent_and_vectors_come_back_in_their_order(server: Server) -> None:
    """Rows may come in any order; they are put in that of the texts, and made of unit length."""
    found = server.embedder("/v1/embeddings?version=2", KEY).encode(["one", "two\ud800", ""], query=False)
    assert found.dtype == np.float32
    assert np.allclose(found, 1 / np.sqrt(DIMENSION))
    [(path, headers, body)] = server.requests
    assert path == "/v1/embeddings?version=2"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "m", "input": ["one", "two?", " "], "encoding_format": "float"}


def test_many_texts_are_several_requests(server: Server) -> None:
    """No request holds more than a named number of texts; without texts there is none."""
    embedder = server.embedder()
    assert embedder.encode(["x"] * (2 * http.TEXTS_MAX + 1), query=True).shape == (2 * http.TEXTS_MAX + 1, DIMENSION)
    assert [len(body["input"]) for _, _, body in server.requests] == [http.TEXTS_MAX, http.TEXTS_MAX, 1]
    assert embedder.encode([], query=True).shape == (0, DIMENSION)
    assert "Authorization" not in server.requests[0][1]


FAULTS: dict[str, Answer] = {
    "an error": lambda _: (500, b"{}"),
    "no right": lambda _: (401, b"{}"),
    "a redirection": lambda _: (302, b""),
    "no JSON": lambda _: (200, b"<html>"),
    "no text": lambda _: (200, b"\xff\xfe"),
    "something else": lambda _: (200, b'{"data": 3}'),
    "a row too few": saying(rows(1)),
    "a row too many": saying(rows(3)),
    "the same row twice": saying([rows(1)[0], rows(1)[0]]),
    "words for numbers": saying([{"index": 0, "embedding": ["a"] * DIMENSION}, rows(1)[0]]),
    "another dimension": saying(rows(2, DIMENSION + 1)),
    "a number that is none": lambda _: (200, b'{"data": [{"index": 0, "embedding": [NaN, 1, 1]}]}'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_answer_is_refused(fault: str, server: Server) -> None:
    """One fault, one refusal; nothing is followed, and no text is in the error."""
    server.answer = FAULTS[fault]
    with pytest.raises(ModelUnavailable) as refused:
        server.embedder().encode(["secret words", "two"], query=False)
    assert "secret" not in str(refused.value)
    assert len(server.requests) == 1


def test_a_row_of_zeros_is_no_vector(server: Server) -> None:
    """What has no direction is malformed, behind the guard."""
    server.answer = saying([{"index": 0, "embedding": [0.0] * DIMENSION}])
    assert GuardedEmbedder(server.embedder()).encode(["one"], query=True, wait_s=WAIT_S) == (
        None,
        EmbedderFlaw.MALFORMED,
    )


def test_an_answer_that_is_too_large_is_not_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is not the endpoint's to fill."""
    monkeypatch.setattr(http, "RESPONSE_BYTES_MAX", 10)
    with pytest.raises(ModelUnavailable) as refused:
        server.embedder().encode(["one"], query=False)
    assert refused.value.problem == "too_large"


def test_nobody_there_is_no_error_of_a_search(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that is gone, or silent, is a flaw."""
    embedder = server.embedder()
    gate = threading.Event()

    def silent(request: dict[str, Any]) -> tuple[int, bytes]:
        gate.wait(WAIT_S)
        return well(request)

    server.answer = silent
    monkeypatch.setattr(http, "TIMEOUT_S", 0.05)
    assert GuardedEmbedder(embedder).encode(["one"], query=True, wait_s=WAIT_S) == (None, EmbedderFlaw.FAILED)
    gate.set()
    server.close()
    assert GuardedEmbedder(embedder).encode(["one"], query=True, wait_s=WAIT_S) == (None, EmbedderFlaw.FAILED)


@pytest.mark.parametrize(
    "url",
    ["http://example.org/v1", "ftp://localhost/", "//localhost", "", "https://", "https://user:pass@example.org/",
     "https://example.org:port/", "https://[::1", "http://localhost.example.org/"],
)  # fmt: skip
def test_words_are_sent_over_tls_or_not_beyond_this_machine(url: str) -> None:
    """An address that is not safe, or not an address, is refused before anything is sent."""
    with pytest.raises(ModelInvalid):
        HttpEmbedder(Endpoint(url=url, model="m", dimension=DIMENSION))


def test_an_endpoint_over_tls_is_another_embedder() -> None:
    """Address, model and dimension are in the digest; the key is not."""
    made = [
        HttpEmbedder(Endpoint(url=url, model=model, dimension=dimension, key=key)).digest
        for url, model, dimension, key in [
            ("https://example.org/v1", "m", 3, None), ("https://example.org/v2", "m", 3, None),
            ("https://example.org/v1", "n", 3, None), ("https://example.org/v1", "m", 4, None),
            ("https://example.org/v1", "m", 3, KEY),
        ]
    ]  # fmt: skip
    assert len(set(made)) == 4
    assert made[0] == made[4]


def test_tls_is_spoken_to_where_it_is_named() -> None:
    """A server that cannot speak it is no answer."""
    plain = Server(well)
    try:
        url = f"https://127.0.0.1:{plain.port}/"
        with pytest.raises(ModelUnavailable):
            HttpEmbedder(Endpoint(url=url, model="m", dimension=DIMENSION)).encode(["one"], query=False)
        assert plain.requests == []
    finally:
        plain.close()
