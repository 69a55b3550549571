"""What somebody decides about a proposal, and the report about that."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from muniment.operations.memory.remember_report import RememberedCandidate
from muniment.operations.not_done import AnsweredRequest


class ProposalVerdict(StrEnum):
    """What somebody decides about a proposal."""

    ACCEPT = "accept"
    REJECT = "reject"


class DecideReport(AnsweredRequest, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a decision about a proposal. One that changes nothing has a `reason`.

    `candidate` is what became of it as a candidate, when it was accepted; one that is refused stays a proposal.
    """

    changed: bool
    dry_run: bool
    proposal: str
    asked: ProposalVerdict
    reason: str | None = None
    position: int | None = None
    candidate: RememberedCandidate | None = None

    def words(self) -> Iterator[str | None]:
        """Yield why nothing was decided, and what became of the candidate."""
        yield self.reason
        yield None if self.candidate is None else self.candidate.decision
