"""An embedder on another machine: an endpoint that speaks like the embeddings of OpenAI.

The words of messages leave this machine when it is used, so it is never used unless it was named, for the spaces that
were named (`choice`), over TLS or to this very machine; nothing is followed anywhere else. What comes back is bounded
in time and size and is parsed into numbers or refused. That the weights behind an address stay the same is the
promise of whoever runs it: the digest can only name the address, the model and the dimension.
"""

from __future__ import annotations

import http.client
import ssl
from hashlib import sha256
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
from msgspec import DecodeError, Struct, ValidationError, json

from muniment.embedding.protocol import Vectors
from muniment.errors import ModelInvalid, ModelUnavailable

CODE = "http-1"  # changes whenever this file makes other vectors
TIMEOUT_S = 20.0  # for every step of a request
TEXTS_MAX = 64  # in a request
RESPONSE_BYTES_MAX = 32_000_000
HERE = frozenset({"localhost", "127.0.0.1", "::1"})
OK = 200


class Endpoint(Struct, frozen=True, kw_only=True):
    """The address of the embeddings, the model, the length of its vectors, and a key."""

    url: str
    model: str
    dimension: int
    key: str | None = None


class ResponseRow(Struct, frozen=True, kw_only=True):
    """A vector of a response, and the number of its text."""

    index: int
    embedding: list[float]


class EndpointResponse(Struct, frozen=True, kw_only=True):
    """The response of an endpoint; other fields are ignored."""

    data: list[ResponseRow]


class HttpEmbedder:
    """An embedder behind an address. Thread-safe: every request has a connection of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._place = _place_of(endpoint.url)
        self.name = endpoint.model
        self.dimension = endpoint.dimension
        identity = json.encode([endpoint.url, endpoint.model, endpoint.dimension])
        self.digest = f"{CODE}:{sha256(identity).hexdigest()}"

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return a row for each text; raises `ModelUnavailable` when the endpoint does not answer as it should."""
        del query
        parts = [self._ask(texts[first : first + TEXTS_MAX]) for first in range(0, len(texts), TEXTS_MAX)]
        return np.concatenate([np.empty((0, self.dimension), np.float32), *parts])

    def _ask(self, texts: list[str]) -> Vectors:
        spelt = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        body = json.encode({"model": self._endpoint.model, "input": spelt, "encoding_format": "float"})
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._endpoint.key is not None:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        return self._parsed(self._post(body, headers), len(texts))

    def _post(self, body: bytes, headers: dict[str, str]) -> bytes:
        connection = _connection_to(self._place)
        path = self._place.path + (f"?{self._place.query}" if self._place.query else "")
        try:
            connection.request("POST", path or "/", body, headers)
            with connection.getresponse() as response:
                if response.status != OK:
                    raise ModelUnavailable(at="embedder", problem="status", found=response.status)
                answer = response.read(RESPONSE_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException, UnicodeError):
            raise ModelUnavailable(at="embedder", problem="no_answer") from None
        finally:
            connection.close()
        if len(answer) > RESPONSE_BYTES_MAX:
            raise ModelUnavailable(at="embedder", problem="too_large", limit=RESPONSE_BYTES_MAX)
        return answer

    def _parsed(self, answer: bytes, count: int) -> Vectors:
        try:
            rows = sorted(json.decode(answer, type=EndpointResponse).data, key=lambda row: row.index)
        except (DecodeError, ValidationError, UnicodeDecodeError):
            raise ModelUnavailable(at="embedder", problem="not_understood") from None
        if [row.index for row in rows] != list(range(count)):
            raise ModelUnavailable(at="embedder", problem="count", limit=count, found=len(rows))
        if any(len(row.embedding) != self.dimension for row in rows):
            raise ModelUnavailable(at="embedder", problem="dimension", limit=self.dimension)
        numbers = np.array([row.embedding for row in rows], np.float64)
        with np.errstate(all="ignore"):
            vectors: Vectors = (numbers / np.linalg.norm(numbers, axis=1, keepdims=True)).astype(np.float32)
        return vectors


def _place_of(url: str) -> SplitResult:
    try:
        place = urlsplit(url)
        usable = place.scheme == "https" or (place.scheme == "http" and place.hostname in HERE)
        if usable and place.hostname and not place.username and place.port != 0:
            return place
    except ValueError:
        pass
    raise ModelInvalid(at="url", problem="not_allowed")


def _connection_to(place: SplitResult) -> http.client.HTTPConnection:
    options: dict[str, Any] = {"port": place.port, "timeout": TIMEOUT_S}
    assert place.hostname is not None, "it was parsed"
    if place.scheme == "https":
        return http.client.HTTPSConnection(place.hostname, context=ssl.create_default_context(), **options)
    return http.client.HTTPConnection(place.hostname, **options)
