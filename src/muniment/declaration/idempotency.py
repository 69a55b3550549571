"""Calling an operation once, however often it is asked for: idempotency keys, the same over every transport.

A key belongs to its principal (a client, or whoever opened the store) in one space. The same key with the same request
gets the first answer again, over another transport as well; with another request it is refused. In this order (AD-04,
AD-09):

1. Rights are tested; a refused request reserves nothing.
2. The key is reserved. Of two at once, one runs; where the operation is idempotent, both may.
3. The operation runs. When it fails, the key is free again: nothing was changed.
4. The report is kept for a day with a keyed digest of the request, sealed under the key of the space. An erasure
   replaces that key, so it takes kept reports along; a repeat is then told that the request was carried out, and no
   more. So is a repeat of an operation whose report is a secret.

When a process dies between 2 and 4, an idempotent operation is run again, which changes nothing twice; of any other one
nobody knows the outcome, and a repeat is told so. Records outlive the process. What is kept of an idempotent operation
is not flushed (decision 0200), so a power cut may take it: then a repeat is run again, and its key is free.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec
from msgspec import Struct

from muniment.crypto.segment import NONCE_BYTES, open_sealed
from muniment.declaration.operation import Group, Operation, Request, Uploads, perform, permit
from muniment.declaration.session import Session
from muniment.declaration.upload import reading
from muniment.errors import AnswerErased, InvalidInput, KeyMissing, KeyReused, RequestInProgress, StoreClosed
from muniment.kernel.digest import b64url
from muniment.space.operational_records import RecordKind

KEY_CHARS_MAX = 255
KEPT_MS = 24 * 3600 * 1000
LEASE_MS = 30_000  # how long a request that does not end is taken to be still running
PIECE_BYTES = 1 << 16
CONTEXT = b"muniment/answer"


class KeyedReport(Struct, frozen=True, kw_only=True):
    """The report of an operation as JSON, and whether it is that of an earlier call."""

    report: bytes
    is_repeated: bool = False


class KeptAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a request: its digest and its sealed report, or until when it may be running."""

    request: str | None = None
    sealed: bytes | None = None
    running_until_ms: int | None = None


ANSWERS = RecordKind("answer", KeptAnswer, ttl_ms=KEPT_MS)


def perform_once(
    group: Group, operation: Operation, request: Request, key: str, upload: Uploads | None = None
) -> KeyedReport:
    """Run an operation unless this key has its answer already; return the report, or that of the first call.

    An upload is one file or stream.

    Raises `request.key_reused` for a key that belongs to another request, `request.in_progress` while the first call is
    running or when its outcome is unknown, and `request.answer_erased` when its answer is gone.
    """
    _check_idempotency_key(key)
    assert isinstance(group.gate, Session), "operations run in a session"
    permit(group, operation)
    call = _KeyedCall(group.gate, operation, key)
    with _digesting(operation, upload) as body:
        kept = call.reserve(request, body)
        if kept is not None:
            return call.answer_of(kept)
        try:
            report = msgspec.json.encode(perform(group, operation, request, None if body is None else body.stream))
        except BaseException:
            call.release()
            raise
        with contextlib.suppress(StoreClosed):  # by this very operation, or while it ran: what it did counts
            call.keep(request, body, report)
    return KeyedReport(report=report)


class _KeyedCall:
    """One call under a key: its place among the records, and what is kept there."""

    def __init__(self, session: Session, operation: Operation, key: str) -> None:
        self._space = session.inspected
        self._operation = operation
        self._records = session.store.records
        self._name = (session.client or "", self._space.name, key)

    def reserve(self, request: Request, body: _Digesting | None) -> KeptAnswer | None:
        """Reserve the key for this request, or return what is kept under it."""
        now_ms = self._space.sources.clock.now_ms()
        found: list[KeptAnswer] = []

        def reserved(kept: KeptAnswer | None) -> KeptAnswer:
            if kept is not None and (kept.sealed is not None or not self._operation.terms.idempotent):
                found.append(kept)
                return kept
            return KeptAnswer(running_until_ms=now_ms + LEASE_MS)

        self._change(reserved)
        if not found:
            return None
        if found[0].sealed is None:
            is_running = now_ms < (found[0].running_until_ms or 0)
            raise RequestInProgress(problem="still_running" if is_running else "outcome_unknown")
        if found[0].request != self._digest(request, body):
            raise KeyReused(at="idempotency_key")
        return found[0]

    def keep(self, request: Request, body: _Digesting | None, report: bytes) -> None:
        """Keep the report of a call that has ended."""
        sealed, digest = self._sealed(report), self._digest(request, body)
        self._change(lambda _: KeptAnswer(request=digest, sealed=sealed))

    def _sealed(self, report: bytes) -> bytes:
        """Return a report sealed under the key of the space; nothing of a secret one, and of a space that has ended."""
        keys = self._space.keys
        if self._operation.terms.secret or not keys.versions:
            return b""
        return keys.current.seal(self._space.sources.entropy.take(NONCE_BYTES), report, CONTEXT)

    def release(self) -> None:
        """Free the key of a call that failed."""
        self._change(lambda _: None)

    def _change(self, change: Callable[[KeptAnswer | None], KeptAnswer | None]) -> None:
        """Change what is kept; only that of an operation which is not idempotent has to outlive a power cut."""
        self._records.change(ANSWERS, change, *self._name, is_flushed=not self._operation.terms.idempotent)

    def answer_of(self, kept: KeptAnswer) -> KeyedReport:
        """Return a kept report."""
        assert kept.sealed is not None, "it has ended"
        if not kept.sealed:
            raise AnswerErased(problem="shown_once")
        try:
            report = open_sealed(self._space.keys, kept.sealed, CONTEXT, at="answer")
        except KeyMissing:
            raise AnswerErased from None
        return KeyedReport(report=report, is_repeated=True)

    def _digest(self, request: Request, body: _Digesting | None) -> str:
        text = msgspec.json.encode(request, order="sorted").decode()
        uploaded = "" if body is None else b64url(body.whole())
        return b64url(self._records.digest("request", self._operation.path, text, uploaded))


class _Digesting(io.RawIOBase):
    """A stream of bytes that knows the digest of all that it had when it has been read."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._source = stream
        self._digest = hashlib.sha256()
        self.stream = io.BufferedReader(self)  # what an operation reads

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what io hands over
        piece = self._source.read(len(buffer))
        self._digest.update(piece)
        buffer[: len(piece)] = piece
        return len(piece)

    def whole(self) -> bytes:
        """Read what is left and return the digest."""
        while self.read(PIECE_BYTES):
            pass
        return self._digest.digest()


@contextlib.contextmanager
def _digesting(operation: Operation, upload: Uploads | None) -> Iterator[_Digesting | None]:
    """Give the upload of an operation as a stream that knows its digest, or None where it takes none."""
    if operation.upload is None:
        yield None
        return
    with reading(upload, operation.upload) as stream:
        yield _Digesting(stream)


def _check_idempotency_key(key: str) -> None:
    if not key or len(key) > KEY_CHARS_MAX or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(at="idempotency_key", problem="not_a_key", limit=KEY_CHARS_MAX)
