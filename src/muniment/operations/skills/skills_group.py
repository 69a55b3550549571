"""The noun group `skills`: what an agent learned to do, and which skills its host mounts.

Skills are written by `memory.remember` and destroyed by `memory.forget`; nothing here creates, imports or executes one.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import SUBJECT, SUBJECT_AND_CHANNELS, Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.events.changes import LifecycleRequest
from muniment.events.identity import SubjectId
from muniment.governance.views import View
from muniment.memory.amendment import RestoreItem, amendment_name
from muniment.memory.skills import DisableSkill, EditSkill, EnableSkill, RetireItem, SkillChange, SkillStatus
from muniment.operations.examples import SKILL_EDIT
from muniment.operations.memory.amend import amend, unknown_target
from muniment.operations.memory.amend_report import AmendReport, AskedAmendment
from muniment.operations.parameters import Requester, ThroughView, Why, requested
from muniment.operations.skills.mounted_skills import MountedSkills, mounted
from muniment.operations.skills.skill_lookup import check_skill, lineage_of, present_skill
from muniment.operations.skills.skill_pages import SkillDetail, SkillQuery, SkillsPage, list_skills, show_skill

OfSubject = Annotated[SubjectId, Meta(description="Subject of the skill.")]
SkillName = Annotated[str, Meta(description="Name of the skill, as `runtime_skill__deploy`.")]
Expected = Annotated[
    int | None, Meta(description="Revision that was seen; another one is a conflict. Without it: any.")
]


class SkillGroup(Group):
    """List, show, edit, enable, disable and retire what an agent learned to do; list the skills of the host."""

    name = "skills"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT, request="ListSkillsRequest")
    def list_(
        self,
        subject: Annotated[SubjectId, Meta(description="Subject of the skills.")],
        view: ThroughView = View.HOST_UI,
        query: Annotated[str | None, Meta(description="Skills that have all these words. Without it: all.")] = None,
        include: Annotated[
            list[SkillStatus], Meta(description="Also these, beside the active ones: disabled, expired, retired.")
        ] = [],  # noqa: B006 - a request is frozen
        limit: Annotated[int, Meta(description="Maximum of skills.")] = 100,
    ) -> SkillsPage:
        """List the runtime skills of a subject in short, the last changed first.

        Words are looked for in what the view shows: name, title, topic, summary, procedure, keywords and tags. Counts
        what the view does not show. Executes nothing. Raises `access.denied`, `request.invalid`.
        """
        asked = SkillQuery(words=query, statuses=frozenset({SkillStatus.ACTIVE, *include}), limit=limit)
        return list_skills(self._session, subject, asked, view)

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT, request="ShowSkillRequest")
    def show(self, subject: OfSubject, name: SkillName, view: ThroughView = View.HOST_UI) -> SkillDetail:
        """Show a runtime skill: its procedure, citations, history, and what was known under its name before.

        Executes nothing. Raises `transcript.unknown_place` for a name that there never was or that was forgotten,
        `request.invalid` for one that is none of a skill, and `access.denied`.
        """
        return show_skill(self._session, subject, name, view)

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="EditSkillRequest")
    def edit(
        self,
        subject: OfSubject,
        name: SkillName,
        edit: Annotated[
            EditSkill, Meta(description="What to say instead; what is not given stays.", examples=[SKILL_EDIT])
        ],
        reason: Why,
        requester: Requester,
        expected: Expected = None,
    ) -> AmendReport:
        """Say a runtime skill in other words: procedure, title, topic or summary.

        Appends `item.revised`; a repeat appends nothing. An unknown skill is not accepted, with reason
        `target_not_found`. Raises `log.conflict` when the skill has another revision than
        `expected`, `request.invalid` and `request.limit_exceeded`.
        """
        request = requested(self._session, reason, requester)
        return self._change(subject, name, edit, request, expected)

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="EnableSkillRequest")
    def enable(self, subject: OfSubject, name: SkillName, reason: Why, requester: Requester) -> AmendReport:
        """Offer a disabled skill again; changes nothing else.

        Appends `item.revised`; a repeat appends nothing. Raises `request.invalid`.
        """
        return self._change(subject, name, EnableSkill(), requested(self._session, reason, requester))

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="DisableSkillRequest")
    def disable(self, subject: OfSubject, name: SkillName, reason: Why, requester: Requester) -> AmendReport:
        """Leave a skill out of lists, recall and prompts, until it is enabled; changes nothing else.

        Nothing newer takes the place of a disabled skill. Appends `item.revised`; a repeat appends nothing. Raises
        `request.invalid`.
        """
        return self._change(subject, name, DisableSkill(), requested(self._session, reason, requester))

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="RetireSkillRequest")
    def retire(self, subject: OfSubject, name: SkillName, reason: Why, requester: Requester) -> AmendReport:
        """Take a skill out of use and keep it with its history; `skills restore` puts it back.

        Appends `item.retired`; a repeat appends nothing. `memory forget` destroys a skill. Raises `request.invalid`.
        """
        return self._change(subject, name, RetireItem(), requested(self._session, reason, requester))

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="RestoreSkillRequest")
    def restore(self, subject: OfSubject, name: SkillName, reason: Why, requester: Requester) -> AmendReport:
        """Use a retired skill again, as it was.

        Appends `item.retired` with reason `restore`; of a skill in use it changes nothing. Raises `request.invalid`.
        """
        return self._change(subject, name, RestoreItem(), requested(self._session, reason, requester))

    @operation(Effect.READ, family=Family.SYSTEM, heeds=SUBJECT_AND_CHANNELS)
    def mounted(self) -> MountedSkills:
        """List the agent skills in the directories that the host mounts, and what is wrong with them.

        The directories are those of `Options(skills=...)` or `MUNIMENT_SKILLS`. Reads the name and description of each
        `SKILL.md`, counts its other files and takes a fingerprint. Executes, writes and changes nothing there; links
        are not followed. A broken skill is a finding, the others still work.
        """
        return mounted(self._session)

    def _change(
        self,
        subject: SubjectId,
        name: str,
        change: SkillChange | RestoreItem,
        request: LifecycleRequest,
        expected: int | None = None,
    ) -> AmendReport:
        """Change the skill of a subject and name as any item is changed, or say why nothing changes."""
        check_skill(self._session, subject, name)
        with self._session.space.ledger.reader() as reader:
            item = present_skill(lineage_of(self._session, reader, subject, name))
        if item is None:
            return unknown_target(amendment_name(change), name)
        return amend(self._session, AskedAmendment(item.id, change, request, expected), dry_run=False)
