"""The noun group `evidence`: checkpoints, proofs and exports for strangers, verification, audit, disclosures."""

from __future__ import annotations

from muniment.declaration.operation import Document, Group, Upload, operation
from muniment.declaration.session import Session
from muniment.events.identity import ConversationKey, TurnId
from muniment.governance.access import Effect
from muniment.governance.views import View
from muniment.operations.evidence.disclosure_log import Disclosures, list_disclosures
from muniment.operations.evidence.export import export
from muniment.operations.evidence.inspect import InspectionReport, inspect
from muniment.operations.evidence.prove import CheckpointReport, checkpoint, prove
from muniment.operations.evidence.verify import AuditedSpaces, VerificationReport, audit, verify
from muniment.operations.provenance.links import LinkPage, MemoryKey, list_links


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
        return checkpoint(self._session.space)

    @operation(Effect.READ)
    def prove(self, conversation: ConversationKey, turn: TurnId, view: View = View.EXPORT) -> Document:
        """Make the receipt of one turn: a C2SP tlog-proof that discloses what a view shows of it.

        Anybody can check it with the public key alone. Raises `evidence.missing` for a turn that is not there.
        """
        return prove(self._session, conversation, turn, view)

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
        return export(self._session, conversation, view, recipient, purpose, certified=certified)

    @operation(Effect.READ, keyless=True)
    def verify(self, bundle: Upload, vkey: str) -> VerificationReport:
        """Verify an export bundle with the public key of its log; needs no store.

        Raises `evidence.refused` with the reason as its problem when the bundle does not prove what it claims.
        """
        return verify(bundle, vkey)

    @operation(Effect.READ, keyless=True)
    def audit(self, vkey: str | None = None) -> AuditedSpaces:
        """Audit every log of the store by its headers alone; needs no secret key.

        Reads everything once: headers, chains, tree, checkpoints with their signatures. With `vkey` only the log of
        that key is audited, and its signatures are held against that key; otherwise a log's own word for its key is
        taken. Raises `store.corrupt` at the first thing that does not hold.
        """
        return audit(self._session, vkey)

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
        return list_disclosures(self._session, conversation, limit, cursor)

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
        return list_links(self._session, memory, conversation, turn, limit, cursor)

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
        return inspect(self._session, conversation, limit)
