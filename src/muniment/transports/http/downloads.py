"""Answers that are files: what an operation writes into a stream, and the text of a document.

A download is written to a spool first and sent when the operation has ended. So a failure is a refusal like any other,
the answer says how long it is and which digest it has, its report stands in a header, and nobody's slow connection
keeps an erasure waiting. The spool is encrypted under a key that nobody keeps, in a file without a name.

A document is sent as itself to whoever accepts no JSON.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tempfile
from functools import partial
from mimetypes import guess_extension
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import quote

import anyio
import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.stream import SALT_BYTES, SealedReader, SealedWriter
from muniment.declaration.download import DownloadReport, WrittenFile
from muniment.declaration.http_wire import BYTES, JSON, REPORT, digest_of
from muniment.declaration.operation import Document, Operation, bound, perform
from muniment.errors import ServerBusy
from muniment.kernel.sources import Entropy
from muniment.operations.outfile import temporary
from muniment.transports.http.body import PIECE_S
from muniment.transports.http.request_runtimes import used_up

if TYPE_CHECKING:
    from muniment.runtime.runtime import Runtime

DOWNLOADS_MAX = 16  # at once, of one process; each may take as much disk as its file is large
IN_MEMORY_BYTES = 1 << 20  # of a spool, before it goes to a file
PIECE_BYTES = 1 << 16
CONTEXT = b"muniment/http/spool"
MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}", re.ASCII)
UNPLAIN = re.compile(r"[^A-Za-z0-9._ -]", re.ASCII)
AS_REPORT = frozenset({"", JSON, "application/*", "*/*"})


class Spool(io.RawIOBase):
    """What an operation has written for somebody: its length, its digest, and its bytes once it is complete."""

    def __init__(self, entropy: Entropy) -> None:
        super().__init__()
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115 - `close` closes it
        self._key = entropy.take(KEY_BYTES)
        self._sealed = SealedWriter(cast("BinaryIO", self._file), self._key, entropy.take(SALT_BYTES), CONTEXT)
        self._digest = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        """Tell that this can be written."""
        return True

    def write(self, data: Any, /) -> int:
        """Take some more."""
        piece = bytes(data)
        with temporary():
            self._sealed.write(piece)
        self._digest.update(piece)
        self.size += len(piece)
        return len(piece)

    def sealed(self) -> SealedReader:
        """End the writing and give what was written."""
        with temporary():
            self._sealed.finish()
            self._file.seek(0)
            return SealedReader(self._file, self._key, CONTEXT)

    @property
    def digest(self) -> str:
        """The digest of what was written, as RFC 9530 spells it."""
        return digest_of(self._digest.digest())

    def close(self) -> None:
        """Leave nothing of it."""
        self._file.close()
        super().close()


class Downloads:
    """The downloads of one application."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._underway = 0

    async def answered(self, runtime: Runtime, operation: Operation, given: bytes) -> Response:
        """Run an operation and return what it writes; raises `request.busy`, and what the operation does."""
        if self._underway >= DOWNLOADS_MAX:
            raise ServerBusy(limit=DOWNLOADS_MAX)
        self._underway += 1
        try:
            response = await anyio.to_thread.run_sync(partial(self._spooled, runtime, operation, given))
        except BaseException:
            self._underway -= 1
            raise
        return response

    def _spooled(self, runtime: Runtime, operation: Operation, given: bytes) -> SpoolResponse:
        spool = Spool(self._entropy)
        try:
            with used_up(runtime):
                request, group = bound(operation, given), getattr(runtime, operation.group)
                report = perform(group, operation, request, download=cast("BinaryIO", spool))
            return SpoolResponse(report, spool, self._end)
        except BaseException:
            spool.close()
            raise

    def _end(self) -> None:
        self._underway -= 1


class SpoolResponse(Response):
    """A spool as an answer. One that nothing was written to is 204, and the report says why."""

    def __init__(self, report: DownloadReport, spool: Spool, end: Any) -> None:
        self._reader = spool.sealed()
        self._spool = spool
        self._end = end
        headers = {"Cache-Control": "no-store", REPORT: header_text(report)}
        written = report.written
        if written is not None:
            headers |= file_headers(written, spool.size, spool.digest)
        super().__init__(status_code=204 if written is None else 200, headers=headers)

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it piece by piece; whoever does not take a piece in time is cut off, and misses what was announced."""
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while piece := await anyio.to_thread.run_sync(self._reader.read, PIECE_BYTES):
                with anyio.fail_after(PIECE_S):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._end()
            self._spool.close()


def as_document(request: Request, operation: Operation, report: bytes) -> Response | None:
    """Return a document as itself, where whoever asks accepts no JSON; None for any other report, or to anybody else.

    `Accept: */*`, which is what programs send that do not choose, takes the report.
    """
    if operation.report is not Document:
        return None
    accepted = {one.partition(";")[0].strip().lower() for one in request.headers.get("accept", "").split(",")}
    if accepted & AS_REPORT:
        return None
    document = msgspec.json.decode(report, type=Document)
    text, ending = document.text.encode(), guess_extension(document.media_type) or ""
    charset = "; charset=utf-8" if document.media_type.startswith("text/") else ""
    written = WrittenFile(name=f"{operation.group}-{operation.name}{ending}", media_type=document.media_type + charset)
    headers = file_headers(written, len(text), digest_of(hashlib.sha256(text).digest()))
    return Response(text, headers=headers | {REPORT: header_text(document.summary)})


def file_headers(written: WrittenFile, size: int, digest: str) -> dict[str, str]:
    """Return what says of an answer that it is a file to be kept; no browser shows one as a page of ours."""
    plain = UNPLAIN.sub("_", written.name)  # for programs that know nothing of RFC 6266
    is_known = MEDIA_TYPE.fullmatch(written.media_type.partition(";")[0].strip())
    return {
        "Content-Type": written.media_type if is_known and written.media_type.isascii() else BYTES,
        "Content-Length": str(size),
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(written.name, safe='')}",
        "Repr-Digest": digest,
        "X-Content-Type-Options": "nosniff",
    }


def header_text(report: Any) -> str:
    """Return a report as JSON that a header can hold: in ASCII."""
    return json.dumps(msgspec.to_builtins(report), separators=(",", ":"))
