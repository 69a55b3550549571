"""Inspection: what is wrong in a log, and whether what was folded from it equals a fold of the whole."""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from muniment.declaration.operation import JudgedReport
from muniment.declaration.session import Session
from muniment.errors import ForeignSpace, Kind, MunimentError, UnknownConversation
from muniment.events.identity import ConversationKey, check_key
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.profiles import Ceiling
from muniment.operations.page import limit_of_query
from muniment.projections.conversation_catalogue import Catalogue
from muniment.projections.inspection.findings import Finding, FindingKind, Findings
from muniment.projections.inspection.inspection import Inspection
from muniment.projections.transcript import Transcript
from muniment.space.options import Progress
from muniment.space.space import Space

STAGE = "inspect"
FOLDS_MAX = 3  # attempts to compare at one size of a log that others append to


class InspectionReport(JudgedReport, Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was inspected and what is wrong. `findings` are cut at the limit (`clipped`); every count is whole.

    `fail_closed`: there is a finding, so rely on nothing that rests on what was inspected. `kinds` counts the findings
    by kind. Without `conversation` the whole space was inspected; then `pinned` says whether a checkpoint is kept
    outside the store. `items` counts the entries of notebooks, `erasures` the requests that erased something;
    `erased_turns` are without content now, `erased_messages` are those that were erased alone.
    """

    events: int
    turns: int
    items: int
    attributes: int
    derived_refs: int
    erasures: int
    erased_turns: int
    erased_messages: int
    lookups: int
    fail_closed: bool
    findings_total: int
    clipped: bool
    findings: list[Finding]
    kinds: dict[str, int]
    checkpoints: int | None = None
    projections: int | None = None
    conversation: ConversationKey | None = None
    pinned: bool | None = None
    budget_applied: list[BudgetApplied] = []

    @property
    def verdict(self) -> Kind | None:
        """Return whether there is a finding."""
        return Kind.CORRUPT if self.fail_closed else None


def inspect(session: Session, key: ConversationKey | None, limit: int) -> InspectionReport:
    """Inspect the space, or one conversation of it."""
    space = session.inspected
    if key is None:
        session.access.require_whole()
    else:
        check_key(key)
        if key.space not in {None, space.name}:
            raise ForeignSpace(at="space")
        if not session.access.shows_channel(key.channel):
            raise UnknownConversation(at="conversation")
    limit, budget = limit_of_query(limit, space.limits.report_items_max), session.budget()
    listed_max = limit if budget.inspection_findings is None else min(limit, budget.inspection_findings)
    findings = Findings(listed_max)
    inspection = Inspection(space.ledger, space.name, findings, partial(session.progress, STAGE))
    projections = None
    if key is None:
        inspection.space(space.notary)
        projections = 0 if findings.total else _compared_folds(space, findings, session.progress)
    elif not inspection.conversation(key):
        raise UnknownConversation(at="conversation")
    return InspectionReport(
        conversation=key,
        events=findings.events,
        turns=findings.turns,
        items=findings.items,
        attributes=findings.attributes,
        derived_refs=findings.derived_refs,
        erasures=findings.erasures,
        erased_turns=findings.erased_turns,
        erased_messages=findings.erased_messages,
        lookups=findings.lookups,
        checkpoints=findings.checkpoints if key is None else None,
        projections=projections,
        pinned=None if key is not None else _is_pinned(space),
        fail_closed=findings.total > 0,
        findings_total=findings.total,
        clipped=findings.total > len(findings.findings),
        findings=findings.findings,
        budget_applied=applied(budget, {Ceiling.INSPECTION_FINDINGS: min(findings.total, limit)}),
        kinds={kind.value: count for kind, count in sorted(findings.counts.items())},
    )


def _is_pinned(space: Space) -> bool:
    try:
        return space.notary.pinned() is not None
    except MunimentError:  # there is one, and a finding says what is wrong with it
        return True


def _compared_folds(space: Space, findings: Findings, progress: Progress) -> int:
    """Compare what this process folded incrementally with a fold of the whole log; return how many were compared."""
    for _ in range(FOLDS_MAX):
        grown = space.catalogue.digests(progress)
        whole = Catalogue(space.ledger, Transcript(space.ledger)).digests(progress)
        if grown.size == whole.size:  # otherwise somebody appended in between
            for name, digest in grown.of.items():
                if whole.of[name] != digest:
                    findings.add(Finding(kind=FindingKind.PROJECTION_MISMATCH, problem=name))
            return len(whole.of)
    return 0
