"""What an inspection reports, and what was folded from the log, held to a fold of the whole."""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import UnknownConversation
from muniment.events.identity import ConversationKey
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.profiles import Ceiling
from muniment.operations.page import limit_of_query
from muniment.projections.conversation_catalogue import Catalogue
from muniment.projections.inspection.findings import Finding, FindingKind, Findings
from muniment.projections.inspection.inspection import Inspection
from muniment.projections.transcript import Transcript

STAGE = "inspect"
FOLDS_MAX = 3  # attempts to catch a log at rest that others append to


class InspectionReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was looked at and what is wrong. `issues` are cut at the limit (`clipped`); every count is whole.

    `fail_closed`: there is an issue, so nothing that rests on what was looked at should be relied on. `kinds` counts
    the issues by kind. Without `conversation` the whole space was looked at.
    """

    events: int
    turns: int
    derived_refs: int
    lookups: int
    fail_closed: bool
    findings_total: int
    clipped: bool
    findings: list[Finding]
    kinds: dict[str, int]
    checkpoints: int | None = None
    projections: int | None = None
    conversation: ConversationKey | None = None
    budget_applied: list[BudgetApplied] = []


class Inspecting:
    """One inspection that was asked for."""

    def __init__(self, session: Session, limit: int) -> None:
        self._session = session
        self._space = session.inspected
        self._limit, self._budget = limit_of_query(limit, self._space.limits.report_items_max), session.budget()
        most = self._budget.inspection_findings
        self._findings = Findings(self._limit if most is None else min(self._limit, most))

    def run(self, conversation: ConversationKey | None) -> InspectionReport:
        """Look at the space, or at one conversation of it."""
        space, found = self._space, self._findings
        inspection = Inspection(space.ledger, space.name, found, lambda n, of: self._session.progress(STAGE, n, of))
        projections = None
        if conversation is None:
            inspection.space(space.notary)
            projections = 0 if found.total else self._folds()
        elif not inspection.conversation(conversation):
            raise UnknownConversation(at="conversation")
        return InspectionReport(
            conversation=conversation,
            events=found.events,
            turns=found.turns,
            derived_refs=found.derived_refs,
            lookups=found.lookups,
            checkpoints=found.checkpoints if conversation is None else None,
            projections=projections,
            fail_closed=found.total > 0,
            findings_total=found.total,
            clipped=found.total > len(found.findings),
            findings=found.findings,
            budget_applied=applied(self._budget, {Ceiling.INSPECTION_FINDINGS: min(found.total, self._limit)}),
            kinds={kind.value: count for kind, count in sorted(found.counts.items())},
        )

    def _folds(self) -> int:
        """Hold what this process folded bit by bit to a fold of the whole; return how many folds were compared."""
        space = self._space
        for _ in range(FOLDS_MAX):
            grown = space.catalogue.digests(self._session.progress)
            whole = Catalogue(space.ledger, Transcript(space.ledger)).digests(self._session.progress)
            if grown.size == whole.size:  # otherwise somebody appended in between
                for name, digest in grown.of.items():
                    if whole.of[name] != digest:
                        self._findings.add(Finding(kind=FindingKind.PROJECTION_MISMATCH, problem=name))
                return len(whole.of)
        return 0
