"""Verification of a bundle, and the audit of whole logs; neither needs a secret key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import Corrupt, EvidenceMissing, EvidenceRefused, LimitExceeded
from muniment.events.binding import UPLOAD_BYTES_MAX
from muniment.evidence import verifier
from muniment.evidence.verifier import Refused, VerifierKey
from muniment.ledger import attest
from muniment.ledger.ledger import VKEY
from muniment.log.port import Reader
from muniment.operations.outfile import outside


class VerifiedStream(Struct, frozen=True, kw_only=True):
    """One stream of a verified bundle."""

    stream: int
    events: int
    turns: int
    complete: bool


class VerificationReport(Struct, frozen=True, kw_only=True):
    """What a bundle proved: that these events are in the log, unchanged, with these values disclosed."""

    origin: str
    size: int
    root: str
    view: str
    events: int
    disclosed: int
    withheld: int
    streams: list[VerifiedStream]
    complete: bool


class SpaceAudit(Struct, frozen=True, kw_only=True):
    """One log that was audited and found sound. The key is the one that the log declares, unless one was given."""

    origin: str
    events: int
    streams: int
    turns: int
    checkpoints: int
    root: str
    key: str


class AuditedSpaces(Struct, frozen=True, kw_only=True):
    """Every log that was audited; one that is not sound raises instead."""

    spaces: list[SpaceAudit]


def verify(bundle: BinaryIO, vkey: str) -> VerificationReport:
    """Return what a bundle proves, or raise `EvidenceRefused`."""
    try:
        with outside("bundle"):
            report = verifier.verify_bundle(_bounded(verifier.read_lines(bundle)), vkey)
    except Refused as refused:
        raise EvidenceRefused(at=refused.at or None, problem=refused.code) from None
    return VerificationReport(
        origin=report.origin,
        size=report.size,
        root=report.root,
        view=report.view,
        events=report.events,
        disclosed=report.disclosed,
        withheld=report.withheld,
        streams=[
            VerifiedStream(stream=stream.stream, events=stream.events, turns=stream.turns, complete=stream.complete)
            for stream in report.streams
        ],
        complete=report.complete,
    )


def _bounded(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines, and refuse to read on when they are too large together."""
    size = 0
    for line in lines:
        size += len(line)
        if size > UPLOAD_BYTES_MAX:
            raise LimitExceeded(at="bundle", problem="request_too_large", limit=UPLOAD_BYTES_MAX, found=size)
        yield line


def audit(session: Session, vkey: str | None) -> AuditedSpaces:
    """Audit every log of the store, or the one of a key."""
    audited: list[SpaceAudit] = []
    for store in session.store.logs():
        with store.reader() as reader:
            own = _own_key(reader)
            if vkey is not None and own != vkey:
                continue
            key = VerifierKey.parse(own)
            origin = key.name.removeprefix(verifier.ORIGIN_PREFIX)
            report = attest.audit(reader, origin, key, partial(session.progress, "audit"))
        audited.append(
            SpaceAudit(
                origin=key.name,
                events=report.events,
                streams=report.streams,
                turns=report.turns,
                checkpoints=report.checkpoints,
                root=report.root.hex(),
                key="given" if vkey is not None else "self-declared",
            )
        )
    if vkey is not None and not audited:
        raise EvidenceMissing(at="vkey")
    return AuditedSpaces(spaces=audited)


def _own_key(reader: Reader) -> str:
    own = reader.meta(VKEY)
    if own is None:
        raise Corrupt(at="vkey", problem="missing")
    try:
        return str(VerifierKey.parse(own.decode()))
    except (Refused, UnicodeDecodeError):
        raise Corrupt(at="vkey", problem="malformed") from None
