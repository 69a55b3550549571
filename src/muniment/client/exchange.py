"""One call: what is sent, what an answer means, and when it is sent again. Nothing here touches a network.

`exchange` is a generator: it yields what to send and is given what came back, or yields for how long to wait. So the
client with threads and the one on an event loop are the same.

1. A call that changes something has an idempotency key, the same one in every attempt. Whatever was lost on the way, it
   is carried out once, and a later attempt gets the answer of the first.
2. What did not reach the server is sent again; so is what was lost behind that. A server that is silent for too long is
   asked again only under a key, which does not repeat the work; a call that only reads would.
3. A server that is busy, and a client that is too fast, wait as long as the server says.
4. An attempt may come while the former one is still running. Its answer is waited for.
5. An upload that cannot be read from its start again is sent once.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from muniment.client.destination import ConnectOptions
from muniment.client.problems import error_of
from muniment.client.received_file import ReceivedFile, as_sent
from muniment.client.uploads import UploadBody
from muniment.declaration.http_wire import BYTES, JSON, PROBLEM, is_served, path_of, query_of
from muniment.declaration.operation import Operation, Request
from muniment.errors import (
    AnswerInvalid,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    NotCanonical,
    NotServed,
    RequestInProgress,
    ServerUnavailable,
)
from muniment.events.binding import parse_json
from muniment.kernel.sources import Sources

QUERY_CHARS_MAX = 16 * 1024
FIRST_WAIT_S, WAIT_S_MAX = 0.1, 30.0
OK, TOO_MANY = 200, 429
PASSING = frozenset({502, 503, 504})  # of a proxy before the server
BUSY = frozenset({"request.busy", "request.rate_exceeded", "store.busy"})


class HttpCall(NamedTuple):
    """A POST: the path with its query, the headers of this call, the body, and where a file goes that comes back."""

    target: str
    headers: dict[str, str]
    body: bytes | UploadBody
    file: ReceivedFile | None = None


class HttpAnswer(NamedTuple):
    """What came back."""

    status: int
    media_type: str
    retry_after: str | None
    body: bytes


class Loss(StrEnum):
    """Why nothing came back."""

    NOT_REACHED = "not_reached"
    NOT_TRUSTED = "not_trusted"
    TIMED_OUT = "timed_out"
    CONNECTION_LOST = "connection_lost"


Exchange = Generator[HttpCall | float, HttpAnswer | Loss | None, Any]


def exchange(
    operation: Operation,
    request: Request,
    files: tuple[UploadBody | None, ReceivedFile | None],
    options: ConnectOptions,
    sources: Sources,
) -> Exchange:
    """Return the report of a call, or raise its error; yields what to send and how many seconds to wait.

    `files` are the upload and the download of the call.
    """
    upload, download = files
    call = _http_call(operation, request, upload, sources)._replace(file=download)
    patience = _Patience(operation, options, sources)
    while True:
        outcome = yield call
        assert outcome is not None, "what was sent has an outcome"
        if isinstance(outcome, HttpAnswer) and outcome.status == OK:
            report = _report(operation, outcome)
            return report if download is None else download.keep(report)
        error = _error(outcome)
        wait_s = patience.wait_s(outcome, error)
        if wait_s is None or not all(file is None or file.again() for file in files):
            raise error
        yield wait_s


def _http_call(operation: Operation, request: Request, upload: UploadBody | None, sources: Sources) -> HttpCall:
    operation, request = as_sent(operation, request)
    if not is_served(operation):
        raise NotServed(at=operation.path, problem="path_beside_the_store")
    headers = {"Accept": f"{JSON}, {PROBLEM}"}
    if operation.takes_key:
        headers["Idempotency-Key"] = sources.ids.new_id()
    body = _json_of(request)
    if upload is None:
        return HttpCall(path_of(operation), {**headers, "Content-Type": JSON}, body)
    query = urlencode(query_of(request))
    if len(query) > QUERY_CHARS_MAX:
        raise LimitExceeded(at="query", problem="request_too_large", limit=QUERY_CHARS_MAX, found=len(query))
    if upload.size is not None:
        headers["Content-Length"] = str(upload.size)
    return HttpCall(f"{path_of(operation)}?{query}", {**headers, "Content-Type": BYTES}, upload)


def _json_of(request: Request) -> bytes:
    """Return a request as JSON; refuses what JSON has no words for, and would say as null."""
    body = msgspec.json.encode(request)
    if msgspec.json.decode(body) != msgspec.to_builtins(request, str_keys=True):
        raise NotCanonical(problem="not_finite")
    return body


def _report(operation: Operation, answer: HttpAnswer) -> Any:
    try:
        return parse_json(answer.body, operation.report, limit=len(answer.body))
    except InvalidInput:
        raise AnswerInvalid(at=operation.path, problem="no_report") from None


def _error(outcome: HttpAnswer | Loss) -> MunimentError:
    if isinstance(outcome, Loss):
        return ServerUnavailable(problem=outcome)
    if outcome.media_type == PROBLEM:
        return error_of(outcome.body)
    if outcome.status in PASSING or outcome.status == TOO_MANY:
        return ServerUnavailable(problem="refused_before_it", found=outcome.status)
    return AnswerInvalid(problem="no_problem_document", found=outcome.status)


class _Patience:
    """How often and how long one call waits."""

    def __init__(self, operation: Operation, options: ConnectOptions, sources: Sources) -> None:
        self._has_key = operation.takes_key
        self._options = options
        self._sources = sources
        self._attempts = 0
        self._waited_s = 0.0

    def wait_s(self, outcome: HttpAnswer | Loss, error: MunimentError) -> float | None:
        """Return how long to wait before the call is sent again, or None where it is not."""
        self._attempts += 1
        if isinstance(error, RequestInProgress) and error.problem == "still_running":
            is_next = self._attempts > 1 and self._waited_s < self._options.timeout_s
        else:
            is_next = self._attempts < self._options.attempts_max and self._may_help(outcome, error)
        if not is_next:
            return None
        wait_s = _asked_s(outcome) or self._growing_s()
        self._waited_s += wait_s
        return wait_s

    def _may_help(self, outcome: HttpAnswer | Loss, error: MunimentError) -> bool:
        if isinstance(outcome, HttpAnswer):
            return error.code in BUSY or isinstance(error, ServerUnavailable)
        if outcome is Loss.TIMED_OUT:
            return self._has_key
        return outcome in {Loss.NOT_REACHED, Loss.CONNECTION_LOST}

    def _growing_s(self) -> float:
        """Return a wait that doubles, and is cut by up to a half, so that clients do not come back all at once."""
        whole = min(FIRST_WAIT_S * float(2 ** (self._attempts - 1)), WAIT_S_MAX)
        return whole * (0.5 + self._sources.entropy.take(1)[0] / 512)


def _asked_s(outcome: HttpAnswer | Loss) -> float | None:
    """Return how long the server asks to wait, if it does, and at most `WAIT_S_MAX`; a date is not read."""
    asked = outcome.retry_after if isinstance(outcome, HttpAnswer) else None
    if asked is None or not (asked.isascii() and asked.isdecimal()) or len(asked) > 9:
        return None
    return min(float(asked), WAIT_S_MAX)
