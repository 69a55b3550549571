"""The noun group `evidence`: checkpoints, proofs and exports for strangers, verification, audit, disclosures."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import Struct

from muniment.declaration.operation import Document, Group, Upload, operation
from muniment.declaration.session import Session
from muniment.errors import Corrupt, EvidenceMissing, EvidenceRefused, ForeignSpace, LimitExceeded
from muniment.events.attributes import AttributeRecorded
from muniment.events.identity import ConversationKey, TurnId, check_key, check_name
from muniment.events.records import EventKind, ExportGrant, ExportIssued
from muniment.evidence import verifier
from muniment.evidence.bundle import BundleHead, bundle, event_line
from muniment.evidence.header import Header, commit, disclose
from muniment.evidence.receipt import receipt
from muniment.evidence.tree import inclusion_proof, multiproof
from muniment.evidence.verifier import Refused, VerifierKey
from muniment.governance.access import Effect
from muniment.governance.attribute_visibility import disclosed_attribute_labels
from muniment.governance.judgement import needs_content, standing
from muniment.governance.slices import disclosed_labels
from muniment.governance.views import View
from muniment.kernel.digest import Salts
from muniment.ledger.attest import SignedCheckpoint, audit
from muniment.ledger.ledger import SPACE_STREAM, OpenedEvent, Writer, draft
from muniment.log.port import Reader, SealedRow
from muniment.operations.evidence.disclosure_log import Disclosing, Disclosures
from muniment.operations.evidence.inspect import Inspecting, InspectionReport
from muniment.operations.provenance.links import Linking, LinkPage, MemoryKey, asked_of_one
from muniment.projections.transcript import ReadTurn
from muniment.space.space import VKEY, Space

BUNDLE_TYPE = "application/jsonl"
RECEIPT_TYPE = "text/plain"
BUNDLE_EVENTS_MAX = 100_000


class CheckpointReport(Struct, frozen=True, kw_only=True):
    """A signed checkpoint of the head: what it says, the note, and the public key that verifies it."""

    origin: str
    size: int
    root: str
    note: str
    vkey: str


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
    """One log that was audited and found sound. The key is the log's own word unless one was given."""

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


class Evidence(Group):
    """Checkpoints, proofs, exports, verification, audit, and who received what."""

    name = "evidence"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ)
    def checkpoint(self) -> CheckpointReport:
        """Sign the head of the log and pin it; give the public key along.

        A head that is signed already is not signed again. Appends nothing to the log.
        """
        space = self._session.space
        signed = space.checkpoint()
        return CheckpointReport(
            origin=signed.checkpoint.origin,
            size=signed.checkpoint.size,
            root=signed.checkpoint.root.hex(),
            note=signed.note,
            vkey=str(space.notary.key),
        )

    @operation(Effect.READ)
    def prove(self, conversation: ConversationKey, turn: TurnId, view: View = View.EXPORT) -> Document:
        """Make the receipt of one turn: a C2SP tlog-proof that discloses what a view shows of it.

        Anybody can check it with the public key alone. Raises `evidence.missing` for a turn that is not there.
        """
        space = self._session.space
        self._session.access.require_view(view)
        self._session.check_key(conversation)
        check_name(turn, at="turn")
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, conversation)
            if stream is None:
                raise EvidenceMissing(at="conversation")
            opened = space.transcript.turn(reader, space.transcript.head(reader, stream), conversation, turn)
        if opened is None:
            raise EvidenceMissing(at="turn")
        row, signed = (
            opened.row,
            space.checkpoint(),
        )  # signed when the turn was there, so that it is among what is signed
        with space.ledger.reader() as reader:
            line = next(_lines(space, reader, row.stream, row.seq, row.seq, view))
            proof = inclusion_proof(reader, row.position, signed.checkpoint.size)
        text = receipt(line, row.position, proof, signed.note)
        report = _checked_receipt(text, space)
        return Document(
            media_type=RECEIPT_TYPE,
            text=text,
            summary={
                "position": row.position,
                "size": signed.checkpoint.size,
                "disclosed": len(report.disclosed),
                "vkey": str(space.notary.key),
                **_looked_for(space, view),
            },
        )

    @operation(Effect.APPEND)
    def export(
        self,
        conversation: ConversationKey,
        view: View = View.EXPORT,
        certified: bool = True,
        recipient: str | None = None,
        purpose: str | None = None,
    ) -> Document:
        """Export a conversation as a bundle that a stranger can check offline.

        The bundle holds every event of the conversation, discloses what the view shows, and leads to a signed
        checkpoint. A certified export first appends `export.issued`, which makes it checkable that nothing was cut
        off; it also keeps on record who received what. Raises `evidence.missing` for a conversation that is not
        there.
        """
        space = self._session.space
        self._session.access.require_view(view)
        self._session.check_key(conversation)
        for at, text in (("recipient", recipient), ("purpose", purpose)):
            if text is not None:
                check_name(text, at=at)
        issued = (
            self._certify(conversation, ExportGrant(view=view, recipient=recipient, purpose=purpose))
            if certified
            else None
        )
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, conversation)
            if stream is None:
                raise EvidenceMissing(at="conversation")
            head = space.transcript.head(reader, stream)
            through = _through(space, reader, issued) if issued is not None else head.seq
        signed = space.checkpoint()  # after `through` was read, so that all of it is among what is signed
        with space.ledger.reader() as reader:
            text, events = self._bundled(reader, stream, through, view, issued, signed)
        return Document(
            media_type=BUNDLE_TYPE,
            text=text,
            summary={
                "events": events,
                "size": signed.checkpoint.size,
                "view": view,
                "certificate": issued,
                "vkey": str(space.notary.key),
                **_looked_for(space, view),
            },
        )

    @operation(Effect.READ, keyless=True)
    def verify(self, bundle: Upload, vkey: str) -> VerificationReport:
        """Verify an export bundle with the public key of its log; needs no store.

        Raises `evidence.refused` with the reason as its problem when the bundle does not prove what it claims.
        """
        try:
            report = verifier.verify_bundle(verifier.read_lines(io.BytesIO(bundle.encode())), vkey)
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
                VerifiedStream(stream=one.stream, events=one.events, turns=one.turns, complete=one.complete)
                for one in report.streams
            ],
            complete=report.complete,
        )

    @operation(Effect.READ, keyless=True)
    def audit(self, vkey: str | None = None) -> AuditedSpaces:
        """Audit every log of the store by its headers alone; needs no secret key.

        Reads everything once: headers, chains, tree, checkpoints with their signatures. With `vkey` only the log of
        that key is audited, and its signatures are held against that key; otherwise a log's own word for its key is
        taken. Raises `store.corrupt` at the first thing that does not hold.
        """
        audited: list[SpaceAudit] = []
        for store in self._session.store.logs():
            with store.reader() as reader:
                own = _own_key(reader)
                if vkey is not None and own != vkey:
                    continue
                key = VerifierKey.parse(own)
                report = audit(reader, key.name.removeprefix(verifier.ORIGIN_PREFIX), key, self._told)
            audited.append(
                SpaceAudit(
                    origin=key.name,
                    events=report.events,
                    streams=report.streams,
                    turns=report.turns,
                    checkpoints=report.checkpoints,
                    root=report.root.hex(),
                    key="given" if vkey is not None else "the log's own word",
                )
            )
        if vkey is not None and not audited:
            raise EvidenceMissing(at="vkey")
        return AuditedSpaces(spaces=audited)

    @operation(Effect.READ)
    def disclosures(
        self, conversation: ConversationKey | None = None, limit: int = 50, cursor: str | None = None
    ) -> Disclosures:
        """List who received what, when, under which view: exports, revealed words, contexts, refused attempts.

        Of exports the certified ones, of contexts the recorded ones, in the order of the log, of the whole space or of
        one conversation; a refused attempt is of the space, because what was refused was not looked at. `limit` counts
        disclosures and is above 0. Every event of the stream is proved, so that none is left out unseen.
        Raises `transcript.unknown_conversation`.
        """
        return Disclosing(self._session, conversation, limit).run(cursor)

    @operation(Effect.READ)
    def links(
        self,
        memory: MemoryKey | None = None,
        conversation: ConversationKey | None = None,
        turn: TurnId | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> LinkPage:
        """Tell where an item of memory came from, or what was derived from a conversation or a turn.

        Give `memory` (plane and key), or `conversation`, with `turn` for what names that turn. Each link shows what was
        recorded, what is left of its source today, and whether the source is proved: the leaves of its turns, which
        outlive their words, give the recorded digest. Links come in the order of their creation, page by page; the
        cursor of a page leads to the next one. Takes the view `raw_owner` or `operator_audit`. Raises
        `transcript.unknown_conversation`, `transcript.unknown_place`, `cursor.invalid`.
        """
        asked_of_one(memory, conversation, turn)
        linking = Linking(self._session, limit)
        if memory is not None:
            return linking.of_memory(memory, cursor)
        assert conversation is not None, "one of both was given"
        return linking.of_conversation(conversation, turn, cursor)

    @operation(Effect.READ)
    def inspect(self, conversation: ConversationKey | None = None, limit: int = 100) -> InspectionReport:
        """Inspect everything that the store owns, of the space or of one conversation, and say what is wrong.

        Holds every event, its keys and its sealed parts to the header and every field to its commitment; order, heads
        and names of conversations; words to what was erased; holds, redactions and derived references to what they
        name; and for a space the tree, the checkpoints, the pin, and what is folded in memory. Changes nothing, appends
        nothing, looks into no other database, and works where a space is open for inspection only. `limit` cuts the
        list of issues; the counts are whole. An issue holds no content. Raises
        `transcript.unknown_conversation`.
        """
        if conversation is not None:
            check_key(conversation)
            if conversation.space not in {None, self._session.inspected.name}:
                raise ForeignSpace(at="space")
        return Inspecting(self._session, limit).run(conversation)

    def _told(self, done: int, total: int) -> None:
        self._session.progress("audit", done, total)

    def _certify(self, conversation: ConversationKey, grant: ExportGrant) -> int:
        """Append `export.issued` for a conversation as it is now; return its position."""
        space = self._session.space
        event = draft(
            space.sources.entropy,
            EventKind.EXPORT_ISSUED,
            space.sources.clock.now_ms(),
            ExportIssued(export=grant),
        )

        def plan(writer: Writer) -> int:
            stream = space.transcript.stream_of(writer.tx, conversation)
            if stream is None:
                raise EvidenceMissing(at="conversation")
            head = space.transcript.head(writer.tx, stream)
            refs = {"stream": stream, "through": head.seq}
            return writer.append(event, stream=SPACE_STREAM, refs=refs).position

        return space.ledger.transact(plan)

    def _bundled(
        self, reader: Reader, stream: int, through: int, view: View, issued: int | None, signed: SignedCheckpoint
    ) -> tuple[str, int]:
        space = self._session.space
        if through > BUNDLE_EVENTS_MAX:
            raise LimitExceeded(at="conversation", problem="too_many_events", limit=BUNDLE_EVENTS_MAX, found=through)
        positions: list[int] = []
        events: list[bytes] = []
        for row, line in _placed_lines(space, reader, stream, 1, through, view):
            positions.append(row.position)
            events.append(line)
            self._session.progress("export", len(events), through)
        if issued is not None:
            certificate = reader.sealed(issued)
            assert certificate is not None, "the certificate was just made durable"
            positions.append(issued)
            events.append(event_line(space.ledger.header(certificate)[1], {}))
        size = signed.checkpoint.size
        head = BundleHead(log=space.ledger.log, size=size, streams={stream: through}, view=view)
        lines = bundle(head, events, multiproof(reader, positions, size), signed.note)
        return b"".join(lines).decode(), len(events)


def _looked_for(space: Space, view: View) -> dict[str, str]:
    """Say what the view looks for; a part in which it is found is not disclosed."""
    told = space.detection.view(view).summary
    return {"looked_for": told} if told else {}


def _through(space: Space, reader: Reader, issued: int) -> int:
    row = reader.sealed(issued)
    assert row is not None, "the certificate was just made durable"
    return space.ledger.header(row)[0].refs["through"]


def _own_key(reader: Reader) -> str:
    own = reader.meta(VKEY)
    if own is None:
        raise Corrupt(at="vkey", problem="missing")
    try:
        return str(VerifierKey.parse(own.decode()))
    except (Refused, UnicodeDecodeError):
        raise Corrupt(at="vkey", problem="malformed") from None


def _checked_receipt(text: str, space: Space) -> verifier.ReceiptReport:
    """Check our own receipt before it leaves the house: a wrong node in the store must not go out as a proof."""
    try:
        return verifier.verify_receipt(text.encode(), str(space.notary.key))
    except Refused as refused:
        raise Corrupt(at="proof", problem=refused.code) from None


# --- events with what a view discloses of them ------------------------------------------------------------------------


def _lines(space: Space, reader: Reader, stream: int, first: int, last: int, view: View) -> Iterator[bytes]:
    for _, line in _placed_lines(space, reader, stream, first, last, view):
        yield line


def _placed_lines(
    space: Space, reader: Reader, stream: int, first: int, last: int, view: View
) -> Iterator[tuple[SealedRow, bytes]]:
    """Yield the events of a stream in a range of seq, each as the line that discloses what the view shows of it."""
    changes = space.transcript.changes(reader, space.transcript.head(reader, stream))
    expected = first
    for row in reader.in_stream(stream, first, last):
        if row.seq != expected:
            break
        expected += 1
        header, exact = space.ledger.header(row)
        if row.turn_seq is not None:
            read = space.transcript.read(row, row.turn_seq, changes, partial(needs_content, view))
            disclosed = _of_turn(space, read, header, view)
        elif row.kind == EventKind.ATTR_RECORDED:
            disclosed = _of_attribute(space, reader, row, header, view)
        else:
            disclosed = _of_other(space, space.ledger.open(row), header, view)
        yield row, event_line(exact, disclosed)
    if expected != last + 1:
        raise Corrupt(at=f"stream {stream}", problem="events_missing", limit=last, found=expected - 1)


def _of_turn(space: Space, read: ReadTurn, header: Header, view: View) -> dict[str, str]:
    """Return what a view is shown of a turn, as disclosures by label."""
    record, salts = read.record, read.content_salts
    content = None if salts is None or record.content is None else (salts, record.content)
    shown = disclosed_labels(record, view, space.detection.view(view))
    return _disclosures(
        header, (field for field in space.ledger.disclosable(read.opened, content) if field[1] in shown)
    )


def _of_attribute(space: Space, reader: Reader, row: SealedRow, header: Header, view: View) -> dict[str, str]:
    """Return what a view is shown of an attribute as it is now; of one that was replaced since, nothing."""
    transcript, opened, turn = space.transcript, space.ledger.open(row), header.refs["turn"]
    assert isinstance(opened.meta, AttributeRecorded), "rows of this kind have this body"
    head = transcript.head(reader, row.stream)
    if not transcript.changes(reader, head).attributes.is_newest(turn, opened.meta.attribute.id, row.position):
        return {}
    (read,) = transcript.page(reader, head, turn, turn, lambda _phase, _meta: False)
    record = transcript.attribute_of(opened, read.record, view)
    place = standing(read.record, view, opened.meta.attribute.message)
    detectors = space.detection.view(view).detectors(read.record.meta)
    shown = disclosed_attribute_labels(view, place, record, detectors)
    content = None if record.content is None else space.ledger.content(opened)
    return _disclosures(header, (each for each in space.ledger.disclosable(opened, content) if each[1] in shown))


def _of_other(space: Space, opened: OpenedEvent, header: Header, view: View) -> dict[str, str]:
    """Return what a view is shown of an event beside the turns: names for all, reasons for operators."""
    row = opened.row
    public = view in {View.RAW_OWNER, View.OPERATOR_AUDIT} or row.kind == EventKind.CONVERSATION_OPENED
    return _disclosures(header, space.ledger.disclosable(opened, None)) if public else {}


def _disclosures(header: Header, fields: Iterable[tuple[Salts, str, bytes]]) -> dict[str, str]:
    """Return the disclosures of fields by label; each is held against the commitment that the header made."""
    disclosures: dict[str, str] = {}
    for salts, label, value in fields:
        disclosure = disclose(salts, label, value)
        if commit(disclosure) != header.fields.get(label):
            raise Corrupt(at=f"position {header.pos}", problem="commitment")
        disclosures[label] = disclosure
    return disclosures
