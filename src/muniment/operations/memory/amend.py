"""Amend: one change of one item, on record with who asked for it and why."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import Conflict, InvalidInput, LimitExceeded
from muniment.events.changes import LifecycleRequest, Transition
from muniment.events.memory import (
    InvalidityGround,
    ItemPrivacy,
    ItemRetired,
    ItemRevised,
    ItemScope,
    Retirement,
    Revision,
    RevisionAction,
    StaleHint,
)
from muniment.events.records import EventKind
from muniment.events.references import SourceEvidence
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.candidate import Candidate, ItemSource, Ruling, SemanticJudgement, Share
from muniment.memory.fold import MemoryItem
from muniment.memory.likeness import normalised
from muniment.memory.merging import Merge, MergeOutcome, MergeReason
from muniment.memory.vocabulary import IN_PROMPTS, REFERENCES, WHOLE
from muniment.operations.memory.list_items import known_item, stream_of
from muniment.operations.memory.remember import ItemRecorder, PreparedItem, check_candidate
from muniment.operations.memory.shown_item import marked_text
from muniment.operations.provenance.derivations import Derivation, check_derivation, prepared_derivation

TARGET_NOT_FOUND, NOT_IN_USE, NOTHING_CHANGED, NOT_RETIRED = (
    "target_not_found", "not_in_use", "nothing_changed", "not_retired"
)  # fmt: skip
PRIVATE_TARGET, SLOT_TAKEN = "private_target", "slot_taken"


class CorrectItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="correct"):
    """Say it in other words, or with another confidence. Its privacy is changed by `change_privacy` alone."""

    text: Annotated[str | None, Meta(description="The statement.")] = None
    confidence: Annotated[Share | None, Meta(description="From 0 to 1.")] = None


class RefreshItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="refresh"):
    """Confirm that it is still true; it is as fresh as if it were observed now."""


class MarkItemStale(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="mark_stale"
):
    """Tell readers what to do before they rely on it."""

    hint: Annotated[StaleHint, Meta(description="What to do.")] = StaleHint.REVIEW_BEFORE_USE


class ChangeItemScope(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="change_scope"
):
    """Let it hold for something else."""

    scope: Annotated[ItemScope, Meta(description="What it holds for.")]


class ChangeItemPrivacy(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="change_privacy"
):
    """Let others see it, or fewer."""

    privacy: Annotated[ItemPrivacy, Meta(description="Who may see it.")]


class PinItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="pin"):
    """Let it outlive whatever evicts items, or no longer."""

    pinned: Annotated[bool, Meta(description="Whether it does.")] = True


class SupersedeItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="supersede"):
    """Put a new item in its slot and retire it, in one step."""

    text: Annotated[str, Meta(description="The statement of the new item.")]
    id: Annotated[str | None, Meta(description="Id of the new item. Without it one is drawn.")] = None
    confidence: Annotated[Share | None, Meta(description="From 0 to 1. Without it: high.")] = None
    evidence: Annotated[list[ItemSource], Meta(description="Turns that it rests on.")] = []


class InvalidateItem(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="invalidate"
):
    """Retire it as wrong, on a ground and with evidence."""

    ground: Annotated[InvalidityGround, Meta(description="On what ground.")]
    evidence: Annotated[list[ItemSource], Meta(description="Turns that show it.")]


class RestoreItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="restore"):
    """Use a retired item again, unless another one is in its slot."""


Amendment = (
    CorrectItem
    | RefreshItem
    | MarkItemStale
    | ChangeItemScope
    | ChangeItemPrivacy
    | PinItem
    | SupersedeItem
    | InvalidateItem
    | RestoreItem
)


class AmendReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of an amendment. One that is not accepted has a reason and changed nothing.

    `former_revision` and `revision` are the numbers before and after; `position` is that of the event, `successor`
    the id of the new item. `in_prompts` tells whether projections for prompts have to be made again.
    """

    accepted: bool
    changed: bool
    dry_run: bool
    amendment: str
    target: str
    reason: str | None = None
    former_revision: int | None = None
    revision: int | None = None
    position: int | None = None
    successor: str | None = None
    in_prompts: bool = False


class AmendRequest(Struct, frozen=True, kw_only=True):
    """One change of one item: who asks and why, and the revision that the caller has seen, if it matters."""

    item: str
    amendment: Amendment
    request: LifecycleRequest
    expected: int | None = None


def amend(session: Session, asked: AmendRequest, *, dry_run: bool) -> AmendReport:
    """Change an item, or say why nothing changes."""
    return Amending(session, asked).run(dry_run=dry_run)


class Amending:
    """One amendment, judged before the transaction for the report and again inside it."""

    def __init__(self, session: Session, asked: AmendRequest) -> None:
        self._session = session
        self._space = session.space
        self._asked = asked
        self._amendment = asked.amendment

    def run(self, *, dry_run: bool) -> AmendReport:
        """Change the item unless this is a dry run."""
        space = self._space
        with space.ledger.reader() as reader:
            item = space.notebooks.item(reader, self._asked.item)
            if item is None or self._session.access.subject not in {None, item.subject} or item.text is None:
                return self._report(None, TARGET_NOT_FOUND, dry_run=dry_run)
            refusal = self._refusal(reader, item)
            if refusal is not None or dry_run:
                return self._report(item, refusal, dry_run=dry_run)
            successor = self._successor(reader, item)
            evidence = self._evidence(reader, item)
        return space.ledger.transact(lambda writer: self._append(writer, successor, evidence))

    # --- judging ------------------------------------------------------------------------------------------------------

    def _refusal(self, reader: Reader, item: MemoryItem) -> str | None:
        """Return why the item does not change, or None; another revision than the caller has seen is a `Conflict`."""
        amendment, expected = self._amendment, self._asked.expected
        if expected is not None and expected != item.revision:
            raise Conflict(at="revision", problem="differs", limit=expected, found=item.revision)
        if isinstance(amendment, RestoreItem):
            return self._refusal_to_restore(reader, item)
        if not item.is_active:
            return NOT_IN_USE
        if isinstance(amendment, ChangeItemPrivacy) and amendment.privacy in {
            ItemPrivacy.PRIVATE_GARDEN,
            ItemPrivacy.SOUL_PRIVATE,
        }:
            return PRIVATE_TARGET
        if isinstance(amendment, SupersedeItem) and normalised(amendment.text) == normalised(item.text or ""):
            return NOTHING_CHANGED
        if isinstance(amendment, SupersedeItem | InvalidateItem | RefreshItem):
            return None
        return NOTHING_CHANGED if _is_idle(item, self._revision(item)) else None

    def _refusal_to_restore(self, reader: Reader, item: MemoryItem) -> str | None:
        if item.is_active:
            return NOT_RETIRED
        assert item.content is not None, "only items with words are restored"
        slot = self._space.notebooks.slot_name(item.subject, item.plane, item.meta.kind, item.content.topic)
        taken = any(other.is_active for other in self._space.notebooks.in_slot(reader, slot))
        return SLOT_TAKEN if taken else None

    def _revision(self, item: MemoryItem) -> Revision:
        """Return what of the item changes."""
        amendment, now_ms = self._amendment, self._asked.request.requested_ms
        match amendment:
            case CorrectItem():
                share = amendment.confidence
                return Revision(
                    text=None if amendment.text is None else self._marked(amendment.text, item),
                    confidence=None if share is None else round(share * WHOLE),
                )
            case RefreshItem():
                return Revision(confirmed_ms=now_ms)
            case MarkItemStale():
                return Revision(stale=amendment.hint)
            case ChangeItemScope():
                return Revision(scope=amendment.scope)
            case ChangeItemPrivacy():
                return Revision(privacy=amendment.privacy)
            case _:
                assert isinstance(amendment, PinItem), "the others are no revisions"
                return Revision(pinned=amendment.pinned)

    def _marked(self, text: str, item: MemoryItem) -> str:
        """Return a text with markers where the store replaces something before commits; an empty one is refused."""
        limit, size = self._space.limits.item_bytes_max, len(text.encode())
        if not text.strip():
            raise InvalidInput(at="amendment.text", problem="empty")
        if size > limit:
            raise LimitExceeded(at="amendment.text", problem="too_large", limit=limit, found=size)
        return marked_text(text, self._space.detection.before_commit.detectors_beside(frozenset({item.subject})))

    # --- what an amendment brings along -------------------------------------------------------------------------------

    def _successor(self, reader: Reader, item: MemoryItem) -> PreparedItem | None:
        """Return the item that takes the place, ready to be recorded."""
        amendment = self._amendment
        if not isinstance(amendment, SupersedeItem):
            return None
        assert item.content is not None, "an item in use has words"
        candidate = Candidate(
            subject=item.subject,
            plane=item.plane,
            kind=item.meta.kind,
            topic=item.content.topic,
            text=amendment.text,
            id=amendment.id,
            privacy=item.privacy,
            confidence=amendment.confidence,
            freshness=item.meta.freshness,
            scope=item.scope,
            pinned=item.pinned,
            evidence=amendment.evidence,
            attested=True,
            judgement=SemanticJudgement(decision=Ruling.ACCEPT),
        )
        check_candidate(self._session, candidate, "amendment")
        prepared = self._recorder().prepared(reader, candidate, "amendment")
        if not isinstance(prepared, PreparedItem):
            raise InvalidInput(at="amendment", problem=prepared.reason)
        return prepared

    def _recorder(self) -> ItemRecorder:
        return ItemRecorder(self._session, self._asked.request.requester, None)

    def _evidence(self, reader: Reader, item: MemoryItem) -> list[SourceEvidence]:
        """Return what an invalidation rests on, checked against the turns that it names."""
        amendment = self._amendment
        if not isinstance(amendment, InvalidateItem):
            return []
        if not amendment.evidence:
            raise InvalidInput(at="amendment.evidence", problem="empty")
        sources = []
        for number, source in enumerate(amendment.evidence):
            at = f"amendment.evidence[{number}]"
            derivation = Derivation(
                plane=REFERENCES[item.plane],
                key=item.id,
                subject=item.subject,
                conversation=source.conversation,
                turn=source.turn,
                message=source.message,
            )
            check_derivation(self._session, derivation, at)
            now_ms = self._asked.request.requested_ms
            sources.append(prepared_derivation(self._space, reader, derivation, at, now_ms).body.source)
        return sources

    # --- inside the transaction ---------------------------------------------------------------------------------------

    def _append(self, writer: Writer, successor: PreparedItem | None, evidence: list[SourceEvidence]) -> AmendReport:
        """Judge again, since others may have changed the item meanwhile, and append."""
        item = known_item(self._session, writer.tx, self._asked.item)
        refusal = TARGET_NOT_FOUND if item.text is None else self._refusal(writer.tx, item)
        if refusal is not None:
            return self._report(item, refusal, dry_run=False)
        if successor is not None:
            history = self._space.notebooks.in_slot(writer.tx, successor.slot)
            merge = Merge(MergeOutcome.SUPERSEDES, MergeReason.NEWER, 0.0)
            recorded = self._recorder().record(writer, successor, history, merge)
            return self._report(item, None, position=recorded.position, successor=recorded.item)
        kind, body, reason = self._said(item, evidence)
        refs = {"turn": item.number}
        change = Change(kind, self._asked.request.requested_ms, body, refs, reason)
        placed = writer.change(change, stream_of(writer.tx, item))
        return self._report(item, None, position=placed.position)

    def _said(
        self, item: MemoryItem, evidence: list[SourceEvidence]
    ) -> tuple[EventKind, ItemRetired | ItemRevised, str]:
        amendment, request = self._amendment, self._asked.request
        if isinstance(amendment, RestoreItem):
            return EventKind.ITEM_RETIRED, ItemRetired(request=request, cause=Retirement.RESTORED), Transition.RESTORE
        if isinstance(amendment, InvalidateItem):
            body = ItemRetired(
                request=request, cause=Retirement.INVALIDATED, ground=amendment.ground, evidence=evidence
            )
            return EventKind.ITEM_RETIRED, body, Transition.ARCHIVE
        action = RevisionAction(str(amendment.__struct_config__.tag))
        return EventKind.ITEM_REVISED, ItemRevised(revision=self._revision(item), request=request), action

    # --- reporting ----------------------------------------------------------------------------------------------------

    def _report(
        self,
        item: MemoryItem | None,
        refusal: str | None,
        *,
        dry_run: bool = False,
        position: int | None = None,
        successor: str | None = None,
    ) -> AmendReport:
        is_accepted = refusal in {None, NOTHING_CHANGED} and not dry_run
        revises = position is not None and not isinstance(self._amendment, SupersedeItem | InvalidateItem | RestoreItem)
        return AmendReport(
            accepted=is_accepted,
            changed=position is not None,
            dry_run=dry_run,
            amendment=str(self._amendment.__struct_config__.tag),
            target=self._asked.item,
            reason=refusal,
            former_revision=None if item is None else item.revision,
            revision=None if item is None else item.revision + revises,
            position=position,
            successor=successor,
            in_prompts=item is not None and item.is_active and item.privacy in IN_PROMPTS,
        )


def _is_idle(item: MemoryItem, revision: Revision) -> bool:
    """Tell whether a revision would change nothing."""
    told = {name: getattr(revision, name) for name in revision.__struct_fields__}
    return all(value is None or getattr(item, name) == value for name, value in told.items())
