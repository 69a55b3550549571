"""The noun group `evidence`: proofs and exports for third parties, verification, audit, disclosures, explanations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import (
    CHANNELS,
    SUBJECT_AND_CHANNELS,
    TEXT_FILE,
    Document,
    Effect,
    Family,
    Group,
    SecondRight,
    Upload,
    operation,
    stream_of,
)
from muniment.declaration.session import Session
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.records import ExportGrant
from muniment.governance.views import View
from muniment.operations.evidence.checkpoint import CheckpointReport, checkpoint
from muniment.operations.evidence.disclosure_log import Disclosures, list_disclosures
from muniment.operations.evidence.explain import Explanation, explain
from muniment.operations.evidence.export import export
from muniment.operations.evidence.inspect import InspectionReport, inspect
from muniment.operations.evidence.proof_document import EvidenceFormat
from muniment.operations.evidence.prove import prove
from muniment.operations.evidence.verify import AuditedSpaces, VerificationReport, audit, verify
from muniment.operations.parameters import InConversation, OnlyConversation, PageCursor, ThroughView
from muniment.operations.provenance.links import SEE_LINKS, LinkPage, MemoryKey, list_links

TrustedCertificate = Annotated[
    str | None,
    TEXT_FILE,
    Meta(description="Certificate in PEM that you trust for timestamps: of the authority or of one above it."),
]


class Evidence(Group):
    """Checkpoints, proofs, exports, verification, audit, and who received what."""

    name = "evidence"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.VALIDATION)
    def checkpoint(
        self,
        timestamp_url: Annotated[
            str | None,
            Meta(
                description="RFC 3161 authority that stamps the checkpoint. Without it: that of the settings, if any."
            ),
        ] = None,
    ) -> CheckpointReport:
        """Sign the head of the log, pin it, and return the public key; have it stamped by a timestamp authority.

        A head that is already signed is not signed again. Appends nothing to the log. With `timestamp_url`, or
        `MUNIMENT_TIMESTAMP_URL`, the authority is sent the digest of the checkpoint, and its token is kept in the note:
        it proves to anyone who trusts the authority that everything so far existed at that time. The
        witnesses of the settings cosign it, and refuse when the log did not grow from what they know. Raises
        `evidence.timestamp_unavailable` and `evidence.witness_unavailable`, and the checkpoint is kept without it then;
        and `evidence.witness_refused`.
        """
        url = self._session.timestamp_url if timestamp_url is None else timestamp_url
        return checkpoint(self._session.space, url, self._session.witnesses)

    @operation(Effect.READ, family=Family.EXPORT, heeds=SUBJECT_AND_CHANNELS, featured=True)
    def prove(
        self,
        conversation: InConversation,
        turn: Annotated[TurnId, Meta(description="Id of the turn.")],
        view: ThroughView = View.EXPORT,
    ) -> Document:
        """Make the receipt of one turn: a C2SP tlog-proof that discloses what a view shows of it.

        Anyone with the public key can check it. The store records it as `content.exported`. Raises
        `evidence.missing` for a turn that does not exist.
        """
        return prove(self._session, conversation, turn, view)

    @operation(Effect.APPEND, family=Family.EXPORT, request="ExportEvidenceRequest")
    def export(
        self,
        conversation: InConversation,
        view: ThroughView = View.EXPORT,
        certified: Annotated[
            bool, Meta(description="Record the export first, so that the bundle proves it is complete.")
        ] = True,
        recipient: Annotated[str | None, Meta(description="Who receives it; recorded.")] = None,
        purpose: Annotated[str | None, Meta(description="What it is for; recorded.")] = None,
        format: Annotated[  # noqa: A002 - what the option is called everywhere
            EvidenceFormat, Meta(description="Lines for programs, or a page for people that carries the same lines.")
        ] = EvidenceFormat.JSONL,
        *,
        first_event: Annotated[int, Meta(description="First event of the conversation to export, counted from 1.")] = 1,
        last_event: Annotated[
            int | None, Meta(description="Last event to export. Without it: the last of the conversation.")
        ] = None,
    ) -> Document:
        """Export a conversation as a bundle that a third party can check offline.

        The bundle holds every event of the conversation, discloses what the view shows, and leads to a signed
        checkpoint. A certified export first appends `export.issued`, which proves that nothing was cut off and records
        who received what; any other appends `content.exported`. The format `html` is one page that opens in any
        browser, without a network, and that `evidence verify` accepts like the bundle in it: every word that it shows
        is checked. A conversation of more than 100,000 events is exported in ranges (`first_event`, `last_event`):
        bundles that follow one another in one file are verified as one. The facts beside the bundle count what is left
        out, with the reason. Raises `transcript.unknown_conversation`.
        """
        grant = ExportGrant(view=view, recipient=recipient, purpose=purpose)
        return export(self._session, conversation, grant, (first_event, last_event), format, certified=certified)

    @operation(Effect.READ, family=Family.VALIDATION, heeds=SUBJECT_AND_CHANNELS, keyless=True, inspecting=True)
    def verify(
        self,
        bundle: Annotated[Upload, Meta(description="The bundle, page, receipt or erasure certificate.")],
        vkey: Annotated[str, Meta(description="Public key of the log, as checkpoint and export report it.")],
        show: Annotated[bool, Meta(description="Also show what is proved: who said what when.")] = False,
        timestamp_certificate: TrustedCertificate = None,
    ) -> VerificationReport:
        """Verify a bundle, page, receipt or erasure certificate with the public key of its log; needs no store.

        With `show` the report has every proved event as a person reads it. Raises `evidence.refused` with the reason as
        its problem when the file does not prove what it claims.
        """
        return verify(stream_of(bundle), vkey, timestamp_certificate, show=show)

    @operation(Effect.READ, family=Family.VALIDATION, keyless=True, inspecting=True)
    def audit(
        self,
        vkey: Annotated[
            str | None,
            Meta(
                description="Public key of the only log to audit. Without it: every log, with the key that it declares."
            ),
        ] = None,
        checkpoint: Annotated[
            str | None, TEXT_FILE, Meta(description="Checkpoint that somebody kept: only its log is audited.")
        ] = None,
        timestamp_certificate: TrustedCertificate = None,
    ) -> AuditedSpaces:
        """Audit every log of the store from its headers; needs no secret key.

        Reads everything once: headers, chains, tree, checkpoints with their signatures. With `vkey` only the log of
        that key is audited, and its signatures are checked against that key; otherwise each log declares its own key.
        With `checkpoint` (a signed note) only its log is audited, and `against` says whether the log is the `same` or
        `extends` it; one that is behind raises `store.rolled_back`, one that diverges `store.corrupt`. Counts what was
        erased. A client audits the log of its space. Raises `store.corrupt` at the first fault, `evidence.refused` for
        a checkpoint that the key did not sign or a timestamp that the certificate does not prove.
        """
        return audit(self._session, vkey, checkpoint, timestamp_certificate)

    @operation(Effect.READ, family=Family.VALIDATION)
    def disclosures(
        self,
        conversation: OnlyConversation = None,
        limit: Annotated[int, Meta(description="Disclosures per page; above 0.")] = 50,
        cursor: PageCursor = None,
    ) -> Disclosures:
        """List who received what, when, under which view: exports, revealed content, contexts, reads, refused attempts.

        Lists exports by every way (bundles, receipts, documents, archives, backups), revealed content, recorded
        contexts, and reads where the policy `record_reads` records them, in the order of the log, of the whole space or
        of one conversation. Refused attempts belong to the space, because what was refused was not read. Every event
        of the stream is proved, so that none can be left out unnoticed. Raises `transcript.unknown_conversation`.
        """
        return list_disclosures(self._session, conversation, limit, cursor)

    @operation(Effect.READ, family=Family.VALIDATION, also=(SecondRight(views=tuple(sorted(SEE_LINKS))),))
    def links(
        self,
        memory: Annotated[MemoryKey | None, Meta(description="The memory item.")] = None,
        conversation: Annotated[
            ConversationKey | None, Meta(description="The conversation, instead of a memory item.")
        ] = None,
        turn: Annotated[
            TurnId | None, Meta(description="Id of a turn of the conversation. Without it: the whole conversation.")
        ] = None,
        limit: Annotated[int, Meta(description="Links per page; above 0.")] = 50,
        cursor: PageCursor = None,
    ) -> LinkPage:
        """Show what a memory item was derived from, what was derived from a conversation or a turn, or all links.

        Give `memory`, or `conversation`, with `turn` for one turn, or nothing for every link of the space. Each link
        shows what was recorded, what is left of its source today, and whether the source is proved: the leaves of its
        turns, which remain after an erasure, give the recorded digest. Links come in the order of their creation, page
        by page. Needs the view `raw_owner` or `operator_audit`. Raises `transcript.unknown_conversation`,
        `transcript.unknown_place`, `cursor.invalid`.
        """
        return list_links(self._session, memory, conversation, turn, limit, cursor)

    @operation(Effect.READ, family=Family.REPLAY, request="ExplainTurnRequest", heeds=SUBJECT_AND_CHANNELS)
    def explain(
        self,
        turn: Annotated[str, Meta(description="Id of the turn or of a message of it, or its position in the log.")],
        conversation: Annotated[
            ConversationId | None, Meta(description="Its conversation. Needed where others have a turn of this id.")
        ] = None,
        channel: Annotated[
            Channel | None, Meta(description="Its channel. Needed where others have such a conversation.")
        ] = None,
    ) -> Explanation:
        """Tell everything about one turn: what each view shows, what happened to it, who received it, its proof.

        Shows every view that the access includes, with what it withholds and why. With the view `raw_owner` or
        `operator_audit` it also lists what happened to the turn (by whom, when, why), exports, backups, reveals and
        recorded reads that reached it, and the contexts and memory items that it fed; otherwise these parts are absent
        and named in `left_out`. They are absent, too, for a caller that is kept to a subject or channels, because
        exports, backups and items tell of turns of others. Id, then message id, then position is tried. Raises
        `transcript.unknown_place`, `transcript.unknown_conversation`, and `request.invalid` where several conversations
        have such a turn.
        """
        return explain(self._session, turn, conversation, channel)

    @operation(Effect.READ, family=Family.VALIDATION, heeds=CHANNELS, inspecting=True)
    def inspect(
        self,
        conversation: OnlyConversation = None,
        limit: Annotated[int, Meta(description="Maximum of findings to list; the counts are complete.")] = 100,
    ) -> InspectionReport:
        """Check everything that the store holds, of the space or of one conversation, and list the findings.

        Checks every event, its keys and its encrypted parts against the header and every field against its commitment;
        order, heads and names of conversations; content against erasures; holds, redactions, attributes and derived
        references against what they name; and for a space the tree, the checkpoints, the pin, and the projections in
        memory. Counts attributes and erasures. Changes nothing, appends nothing, reads no other database, and works
        where a space is open for inspection only. A finding holds no content. A caller that is kept to channels may
        inspect a conversation of these; one that is kept to a subject inspects nothing, because the checks of a
        conversation, its order and its heads, count the turns of all. Raises `transcript.unknown_conversation` and
        `access.denied`.
        """
        return inspect(self._session, conversation, limit)
