"""Verification of a bundle, and the audit of whole logs; neither needs a secret key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import Corrupt, EvidenceMissing, EvidenceRefused, LimitExceeded, RolledBack
from muniment.events.binding import UPLOAD_BYTES_MAX
from muniment.evidence import pin as pins
from muniment.evidence import verifier
from muniment.evidence.pins import Pins
from muniment.evidence.verifier import Entry, Refused, SignerReport, Timestamp
from muniment.ledger import attest
from muniment.ledger.signing import declared_succession
from muniment.log.port import Reader
from muniment.operations.outfile import outside


class VerifiedStream(Struct, frozen=True, kw_only=True):
    """One stream of a verified bundle: its events from `first` to `last`."""

    stream: int
    events: int
    turns: int
    first: int
    last: int
    complete: bool


class VerificationReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a file proved: that these events are in the log, unchanged, with these values disclosed.

    `form` is `bundle`, `receipt` or `certificate`; `page`: it came as a page for people, and the page says exactly what
    is proved. `export` says what a bundle shows (its view, who exported it), `certified` that the log recorded this.
    `complete`: no event of the streams up to the checkpoint is absent; `as_of_ms` is then the time of its last event,
    by the word of the log. Nothing speaks of events after its checkpoint. `masks`, `redactions` and `erasures` count
    events, `erased_turns` and `erased_messages` what was erased, `withheld` fields that are not disclosed. A timestamp
    is `checked` when the certificate that was given proves it. `statement` is what an erasure certificate states beside
    its proof. `entries` are the proved events as a person reads them, when they were asked for.
    """

    form: str
    origin: str
    size: int
    root: str
    view: str
    events: int
    disclosed: int
    withheld: int
    masks: int
    redactions: int
    erasures: int
    erased_turns: int
    streams: list[VerifiedStream]
    complete: bool
    export: dict[str, Any] = {}
    certified: bool = False
    page: bool = False
    as_of_ms: int | None = None
    erased_messages: int = 0
    key: str = ""
    key_version: int = 1
    signers: list[SignerReport] = []
    timestamps: list[Timestamp] = []
    statement: dict[str, Any] | None = None
    entries: list[Entry] = []


class AgainstCheckpoint(StrEnum):
    """What a log is to a checkpoint that somebody kept; one that is behind it or diverges from it raises instead."""

    SAME = "same"
    EXTENDS = "extends"


class AgainstPins(StrEnum):
    """What a log that is sound in itself is to the pins outside the store.

    `unpinned`: no place knows the log, so that an older copy of it would not be noticed.
    """

    EXTENDS = "extends"
    UNPINNED = "unpinned"
    ROLLED_BACK = "rolled_back"
    DIVERGES = "diverges"


class SpaceAudit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One log that was audited and found sound. The key is the one that the log declares, unless one was given.

    `erasures` counts events, `erased_turns` and `erased_messages` what they erased. `against` says what the log is to
    the checkpoint that was given. `pin` is what the log is to the pins
    outside the store. `timestamps` are those of its checkpoints, and of the one that was given.
    """

    origin: str
    signed_by: str
    key_version: int
    events: int
    streams: int
    turns: int
    checkpoints: int
    root: str
    key: str
    erasures: int
    erased_turns: int
    erased_messages: int = 0
    pin: AgainstPins | None = None
    against: AgainstCheckpoint | None = None
    signers: list[SignerReport] = []
    timestamps: list[Timestamp] = []


class AuditedSpaces(Struct, frozen=True, kw_only=True):
    """Every log that was audited; one that is not sound raises instead."""

    spaces: list[SpaceAudit]


def verify(bundle: BinaryIO, vkey: str, certificate: str | None, *, show: bool) -> VerificationReport:
    """Return what a file proves, or raise `EvidenceRefused`."""
    try:
        authorities = None if certificate is None else verifier.read_authorities(certificate.encode())
        with outside("bundle"):
            proved = verifier.verify_evidence(BoundedSource(bundle), vkey, authorities, show=show)
    except Refused as refused:
        raise EvidenceRefused(at=refused.at or None, problem=refused.code) from None
    facts = {name: getattr(proved, name) for name in VerificationReport.__struct_fields__}
    facts["streams"] = [
        VerifiedStream(**{name: getattr(stream, name) for name in VerifiedStream.__struct_fields__})
        for stream in proved.streams
    ]
    return VerificationReport(
        **{
            **facts,
            "signers": list(proved.signers),
            "timestamps": list(proved.timestamps),
            "entries": list(proved.entries),
        }
    )


class BoundedSource:
    """A stream that is not read on when what was read is too large together."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._size = 0

    def readline(self, size: int, /) -> bytes:
        """Return the next line, or as much of it."""
        return self._counted(self._stream.readline(size))

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""
        return self._counted(self._stream.read(size))

    def _counted(self, data: bytes) -> bytes:
        self._size += len(data)
        if self._size > UPLOAD_BYTES_MAX:
            raise LimitExceeded(at="bundle", problem="request_too_large", limit=UPLOAD_BYTES_MAX, found=self._size)
        return data


def audit(session: Session, vkey: str | None, checkpoint: str | None, certificate: str | None) -> AuditedSpaces:
    """Audit every log of the store, or the one of a key or of a checkpoint that somebody kept."""
    audited: list[SpaceAudit] = []
    with _refused("timestamp_certificate"):
        authorities = None if certificate is None else verifier.read_authorities(certificate.encode())
    kept = None if checkpoint is None else checkpoint.rstrip() + "\n"
    logs = session.store.logs() if session.client is None else [session.inspected.store]  # a client has one space
    for store in logs:
        with store.reader() as reader:
            keys = declared_succession(reader)
            if vkey is not None and vkey not in map(str, keys.keys):
                continue
            if kept is not None and _log_of(kept) != verifier.log_of(keys.current.name):
                continue
            audited.append(_audited(session, reader, keys, kept, is_given=vkey is not None))
            if authorities is not None:
                audited[-1] = replace(audited[-1], timestamps=_stamps(reader, kept, authorities))
    if not audited and (vkey is not None or kept is not None):
        raise EvidenceMissing(at="checkpoint" if vkey is None else "vkey")
    return AuditedSpaces(spaces=audited)


def _audited(
    session: Session, reader: Reader, keys: verifier.Succession, kept: str | None, *, is_given: bool
) -> SpaceAudit:
    log = verifier.log_of(keys.current.name)
    report = attest.audit(reader, log, keys, partial(session.progress, "audit"))
    return SpaceAudit(
        origin=keys.current.name,
        signed_by=keys.current.key_id.hex(),
        key_version=len(keys.keys),
        signers=list(keys.reports()),
        events=report.events,
        streams=report.streams,
        turns=report.turns,
        checkpoints=report.checkpoints,
        root=report.root.hex(),
        key="given" if is_given else "self-declared",
        erasures=report.erasures,
        erased_turns=report.erased_turns,
        erased_messages=report.erased_messages,
        pin=_pin(session, reader, keys),
        against=None if kept is None else _against(reader, kept, keys),
        timestamps=_stamps(reader, kept, None),
    )


def _pin(session: Session, reader: Reader, keys: verifier.Succession) -> AgainstPins | None:
    """Compare a log with every place for pins; None where there is no place."""
    places = Pins.of(session.store.pin)
    if places is None:
        return None
    known = [note for note in places.notes(keys.current.name) if note is not None]
    try:
        for note in known:
            pins.compare(keys.open(note), reader, reader.frontier())
    except RolledBack:
        return AgainstPins.ROLLED_BACK
    except (Corrupt, Refused):
        return AgainstPins.DIVERGES
    return AgainstPins.EXTENDS if known else AgainstPins.UNPINNED


def _log_of(note: str) -> str:
    """Return the log that a checkpoint names, unverified."""
    with _refused("checkpoint"):
        return verifier.log_of(verifier.parse_checkpoint(verifier.parse_note(note).text).origin)


def _against(reader: Reader, note: str, keys: verifier.Succession) -> AgainstCheckpoint:
    """Compare a log, which was audited, with a checkpoint that somebody kept; raise when it does not continue it."""
    with _refused("checkpoint"):
        kept = keys.open(note)
    head = reader.frontier()
    try:
        pins.compare(kept, reader, head)
    except Corrupt:
        raise Corrupt(at="checkpoint", problem="diverges", limit=kept.size, found=head.size) from None
    return AgainstCheckpoint.SAME if kept.size == head.size else AgainstCheckpoint.EXTENDS


def _stamps(reader: Reader, kept: str | None, authorities: verifier.Authorities | None) -> list[Timestamp]:
    notes = [row.note for row in reader.checkpoints()] + ([] if kept is None else [kept])
    with _refused("timestamp"):
        stamps = verifier.timestamps_of(dict.fromkeys(notes), authorities)
    return list(stamps)


@contextmanager
def _refused(at: str) -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        raise EvidenceRefused(at=at, problem=refused.code) from None
