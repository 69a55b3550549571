"""Forget: the words of items and of all their revisions are destroyed, with the keys that could open them.

This is an erasure like that of turns (`lifecycle.erasure`): holds keep items, a second person may have to confirm, and
the receipt proves what was done. What is left of an item (its id, its kind, the turns that it rested on) keeps it from
coming back from the same evidence.
"""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.events.changes import LifecycleRequest, TurnSpan
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import MemoryPlane
from muniment.memory.fold import MemoryItem
from muniment.memory.likeness import normalised
from muniment.operations.approvals.gate import GuardedAct, GuardedRequest
from muniment.operations.lifecycle.destroy import destroy_turns
from muniment.operations.lifecycle.guard import judged_turns
from muniment.operations.lifecycle.scope import NotebookKey, StreamKey
from muniment.operations.lifecycle.targets import TurnsTarget, spans_of
from muniment.operations.memory.forget_report import (
    AMBIGUOUS,
    CONFIRMATION_DIFFERS,
    CONFIRMATION_REQUIRED,
    KEPT,
    TARGET_NOT_FOUND,
    ForgetReport,
)
from muniment.operations.memory.forget_targets import ForgetTarget, items_meant, proposals_behind
from muniment.operations.memory.item_changes import stream_of


def forget(
    session: Session, subject: SubjectId, target: ForgetTarget, request: LifecycleRequest, *, dry_run: bool
) -> ForgetReport:
    """Destroy the words of items of a subject, or say why not."""
    space = session.space
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    target.check()
    with space.ledger.reader() as reader:
        items = list(items_meant(session, reader, subject, target))
        items = [
            item
            for item in (*items, *proposals_behind(session, reader, subject, target, items))
            if item.text is not None
        ]
        streams = {item.id: stream_of(reader, item) for item in items}
        chosen: dict[StreamKey, tuple[int, list[TurnSpan]]] = {}
        for plane in MemoryPlane:
            numbers = sorted(item.number for item in items if item.plane is plane)
            stream = next((streams[item.id] for item in items if item.plane is plane), 0)
            if numbers:
                chosen[NotebookKey(subject=subject, plane=plane)] = stream, list(spans_of(numbers))
        spans = TurnsTarget(space, chosen)
        judged = judged_turns(space, reader, spans.turns(reader), request.requested_ms, requested=True)
    kept = [
        item.id
        for judgements in judged
        for item in items
        for held in judgements.kept
        if streams[item.id] == judgements.turns.head.stream and held.span.includes(item.number)
    ]
    token = _token(session, subject, target, items)
    refusal = _refusal(target, items, kept, token, dry_run=dry_run)
    report = ForgetReport(
        accepted=False,
        changed=False,
        dry_run=dry_run,
        items=[item.id for item in items],
        kept=kept,
        reason=refusal,
        token=token if dry_run and target.words is not None and items else None,
    )
    if dry_run or refusal is not None:
        return report
    about = {"subject": subject, "items": " ".join(report.items)}
    guarded = GuardedRequest(session=session, act=GuardedAct.ERASE, about=about, request=request)
    guarded.ask()
    receipt = destroy_turns(space, spans, request, guarded=guarded)
    return ForgetReport(
        accepted=True,
        changed=receipt is not None,
        dry_run=False,
        items=report.items,
        kept=kept,
        position=None if receipt is None else receipt.position,
        receipt=receipt,
    )


def _refusal(
    target: ForgetTarget, items: list[MemoryItem], kept: list[str], token: str, *, dry_run: bool
) -> str | None:
    """Return why nothing is forgotten, or None; a dry run of a query gives the token that it takes."""
    if not items:
        return TARGET_NOT_FOUND
    if target.turn is not None and sum(item.is_item for item in items) > 1:
        return AMBIGUOUS
    is_confirmed = target.words is None or (dry_run and target.token is None)
    if not is_confirmed and target.token != token:
        return CONFIRMATION_REQUIRED if target.token is None else CONFIRMATION_DIFFERS
    return KEPT if len(kept) == len(items) else None


def _token(session: Session, subject: str, target: ForgetTarget, items: list[MemoryItem]) -> str:
    """Return what confirms a query: a keyed digest of it, and of every item that it matches as that is now."""
    if target.words is None:
        return ""
    matched = (f"{item.id} {item.revision}" for item in items)
    return session.space.ledger.name_digest("forget", subject, normalised(target.words), *matched).hex()
