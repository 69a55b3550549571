"""The noun group `notebook`: what governs memory over time."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import SUBJECT, Effect, Family, Group, SecondRight, operation
from muniment.declaration.session import Session
from muniment.events.identity import Count, SubjectId, check_name
from muniment.events.memory_governance import PolicyAction
from muniment.kernel.times import MOMENT
from muniment.memory.candidate import Candidate
from muniment.operations.examples import CANDIDATE, MEMORY_SELECTOR
from muniment.operations.notebook.decide import decide
from muniment.operations.notebook.decide_report import DecideReport, ProposalVerdict
from muniment.operations.notebook.list_proposals import ListedProposals, ProposalFilter, ProposalPage, list_proposals
from muniment.operations.notebook.policy_requests import (
    UNSAID,
    MemoryPolicyReport,
    MemorySelector,
    PoliciesInForce,
    asked_policy,
    policies_in_force,
    set_policy,
)
from muniment.operations.notebook.propose import ProposeReport, propose
from muniment.operations.notebook.undo import UndoReport, undo
from muniment.operations.parameters import DryRun, Requester, ThroughView, Why, check_reason, requested


class NotebookGroup(Group):
    """Govern memory: policies that stop writes, proposals to decide about, runs to undo."""

    name = "notebook"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(
        Effect.APPEND,
        family=Family.COMMIT,
        heeds=SUBJECT,
        also=(SecondRight(effect=Effect.ERASE, when="action is follow"),),
        idempotent=True,
        request="SetMemoryPolicyRequest",
    )
    def set_policy(
        self,
        action: Annotated[PolicyAction, Meta(description="What the policy does, or what ends one.")],
        reason: Why,
        requester: Requester,
        selector: Annotated[
            MemorySelector, Meta(description="What it is about; it has to say something.", examples=[MEMORY_SELECTOR])
        ] = UNSAID,
        until_ms: Annotated[
            Count | None, Meta(description="When it ends by itself. Without it: never.", extra=MOMENT)
        ] = None,
    ) -> MemoryPolicyReport:
        """Set a policy of memory, or end one: pause, resume, suppress, lift, follow, keep.

        What `suppress` matches is refused from now on, and what `pause` matches is deferred, by `memory.remember` and
        `notebook.propose`; `resume` ends pauses of the same selector, and `lift` suppressions. Items that `follow`
        matches are erased with the last turn that they rest on; `keep` ends that. Nothing that exists is deleted now,
        and amendments by hand go on. `follow` takes the right to erase, and a second person where erasures do. Appends
        `memory_policy.set`. A selector that says nothing is refused: all memory takes `everything`. A pattern with `*`
        takes a subject, and is destroyed when that is erased. Raises `request.invalid`, `access.denied`,
        `approval.needed`.
        """
        request = requested(self._session, reason, requester)
        return set_policy(self._session, asked_policy(self._session, action, selector, until_ms, request))

    @operation(Effect.READ, family=Family.LISTING, heeds=SUBJECT)
    def policies(
        self,
        subject: Annotated[
            SubjectId | None, Meta(description="Policies about this subject only. Without it: all.")
        ] = None,
    ) -> PoliciesInForce:
        """List the policies of memory that are in force, with who set them and why.

        A caller for one subject sees those about that subject alone. Raises `access.denied`.
        """
        return policies_in_force(self._session, subject)

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True)
    def propose(
        self,
        candidates: Annotated[list[Candidate], Meta(description="What should be remembered.", examples=[[CANDIDATE]])],
        rationale: Annotated[str, Meta(description="Why; for those who decide. At most 4,096 bytes.")],
        requester: Requester,
        dry_run: DryRun = False,
    ) -> ProposeReport:
        """Propose what should be remembered, for somebody else to decide about; nothing is remembered yet.

        Keeps what would change something as proposals (`item.recorded` in the subject's notebook), which only
        `notebook.proposals` shows. They are held, erased and forgotten (by id) as items are. The same again changes
        nothing. Raises what `memory.remember` raises.
        """
        check_reason(rationale, at="rationale")
        check_name(requester, at="requester")
        return propose(self._session, candidates, rationale, requester, dry_run=dry_run)

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT)
    def proposals(
        self,
        subject: Annotated[SubjectId, Meta(description="Subject of the proposals.")],
        view: ThroughView,
        state: Annotated[ProposalFilter, Meta(description="Those to decide about, or all.")] = ProposalFilter.OPEN,
        limit: Annotated[int, Meta(description="Maximum of proposals.")] = 100,
        after: Annotated[
            int | None, Meta(description="Go on behind this position. Without it: the first page.")
        ] = None,
    ) -> ListedProposals:
        """List the proposals about a subject as a view shows them, each with the item that it would be.

        Raises `access.denied`.
        """
        return list_proposals(self._session, subject, view, ProposalPage(state, limit, after))

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="DecideProposalRequest")
    def decide(
        self,
        proposal: Annotated[str, Meta(description="Id of the proposal.")],
        verdict: Annotated[ProposalVerdict, Meta(description="Accept or reject it.")],
        reason: Why,
        requester: Requester,
        dry_run: DryRun = False,
    ) -> DecideReport:
        """Accept or reject a proposal.

        Accepting hands it to the path of `memory.remember`, which judges it by the state of now: by policies, by what
        is left of its turns and by what is in its slot. When it is refused there, it stays a proposal. Appends
        `item.retired` for the proposal. A repeat changes nothing. Raises `transcript.unknown_place`.
        """
        check_name(proposal, at="proposal")
        request = requested(self._session, reason, requester)
        return decide(self._session, proposal, verdict, request, dry_run=dry_run)

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="UndoRunRequest")
    def undo(
        self,
        run: Annotated[str, Meta(description="Name of the run.")],
        reason: Why,
        requester: Requester,
        dry_run: DryRun = False,
    ) -> UndoReport:
        """Take back everything that a run of a writer did to memory.

        What it recorded goes out of use (and may be remembered again), what it replaced, evicted or retired is used
        again, what it revised says again what it said. What somebody changed since, or forgot, is left alone and
        reported. Appends `item.retired` and `item.revised`. A repeat changes nothing.
        """
        check_name(run, at="run")
        return undo(self._session, run, requested(self._session, reason, requester), dry_run=dry_run)
