"""The noun group `evidence`: checkpoints, proofs and exports for third parties, verification, audit, disclosures."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import Document, Effect, Family, Group, SecondRight, Upload, operation, stream_of
from muniment.declaration.session import Session
from muniment.events.identity import ConversationKey, TurnId
from muniment.governance.views import View
from muniment.operations.evidence.disclosure_log import Disclosures, list_disclosures
from muniment.operations.evidence.export import export
from muniment.operations.evidence.inspect import InspectionReport, inspect
from muniment.operations.evidence.prove import CheckpointReport, checkpoint, prove
from muniment.operations.evidence.verify import AuditedSpaces, VerificationReport, audit, verify
from muniment.operations.parameters import InConversation, OnlyConversation, PageCursor, ThroughView
from muniment.operations.provenance.links import SEE_LINKS, LinkPage, MemoryKey, list_links


class Evidence(Group):
    """Checkpoints, proofs, exports, verification, audit, and who received what."""

    name = "evidence"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.VALIDATION)
    def checkpoint(self) -> CheckpointReport:
        """Sign the head of the log, pin it, and return the public key.

        A head that is already signed is not signed again. Appends nothing to the log.
        """
        return checkpoint(self._session.space)

    @operation(Effect.READ, family=Family.EXPORT)
    def prove(
        self,
        conversation: InConversation,
        turn: Annotated[TurnId, Meta(description="Id of the turn.")],
        view: ThroughView = View.EXPORT,
    ) -> Document:
        """Make the receipt of one turn: a C2SP tlog-proof that discloses what a view shows of it.

        Anyone with the public key can check it. Raises `evidence.missing` for a turn that does not exist.
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
    ) -> Document:
        """Export a conversation as a bundle that a third party can check offline.

        The bundle holds every event of the conversation, discloses what the view shows, and leads to a signed
        checkpoint. A certified export first appends `export.issued`, which proves that nothing was cut off and records
        who received what. Raises `evidence.missing` for a conversation that does not exist.
        """
        return export(self._session, conversation, view, recipient, purpose, certified=certified)

    @operation(Effect.READ, family=Family.VALIDATION, keyless=True, inspecting=True)
    def verify(
        self,
        bundle: Annotated[Upload, Meta(description="The export bundle.")],
        vkey: Annotated[str, Meta(description="Public key of the log, as checkpoint and export report it.")],
    ) -> VerificationReport:
        """Verify an export bundle with the public key of its log; needs no store.

        Raises `evidence.refused` with the reason as its problem when the bundle does not prove what it claims.
        """
        return verify(stream_of(bundle), vkey)

    @operation(Effect.READ, family=Family.VALIDATION, keyless=True, inspecting=True)
    def audit(
        self,
        vkey: Annotated[
            str | None,
            Meta(
                description="Public key of the only log to audit. Without it: every log, with the key that it declares."
            ),
        ] = None,
    ) -> AuditedSpaces:
        """Audit every log of the store from its headers; needs no secret key.

        Reads everything once: headers, chains, tree, checkpoints with their signatures. With `vkey` only the log of
        that key is audited, and its signatures are checked against that key; otherwise each log declares its own key.
        Raises `store.corrupt` at the first fault.
        """
        return audit(self._session, vkey)

    @operation(Effect.READ, family=Family.VALIDATION)
    def disclosures(
        self,
        conversation: OnlyConversation = None,
        limit: Annotated[int, Meta(description="Disclosures per page; above 0.")] = 50,
        cursor: PageCursor = None,
    ) -> Disclosures:
        """List who received what, when, under which view: exports, revealed content, contexts, refused attempts.

        Lists certified exports and recorded contexts, in the order of the log, of the whole space or of one
        conversation. Refused attempts belong to the space, because what was refused was not read. Every event of the
        stream is proved, so that none can be left out unnoticed. Raises `transcript.unknown_conversation`.
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
        """Show what a memory item was derived from, or what was derived from a conversation or a turn.

        Give `memory`, or `conversation`, with `turn` for one turn. Each link shows what was recorded, what is left of
        its source today, and whether the source is proved: the leaves of its turns, which remain after an erasure, give
        the recorded digest. Links come in the order of their creation, page by page. Needs the view `raw_owner` or
        `operator_audit`. Raises `transcript.unknown_conversation`, `transcript.unknown_place`, `cursor.invalid`.
        """
        return list_links(self._session, memory, conversation, turn, limit, cursor)

    @operation(Effect.READ, family=Family.VALIDATION, inspecting=True)
    def inspect(
        self,
        conversation: OnlyConversation = None,
        limit: Annotated[int, Meta(description="Maximum of findings to list; the counts are complete.")] = 100,
    ) -> InspectionReport:
        """Check everything that the store holds, of the space or of one conversation, and list the findings.

        Checks every event, its keys and its encrypted parts against the header and every field against its commitment;
        order, heads and names of conversations; content against erasures; holds, redactions and derived references
        against what they name; and for a space the tree, the checkpoints, the pin, and the projections in memory.
        Changes nothing, appends nothing, reads no other database, and works where a space is open for inspection only.
        A finding holds no content. Raises `transcript.unknown_conversation`.
        """
        return inspect(self._session, conversation, limit)
