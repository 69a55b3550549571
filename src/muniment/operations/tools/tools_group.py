"""The noun group `tools`: registries of the tools of a host, feedback about them, and hints. Nothing is executed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import SUBJECT, Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.events.identity import SubjectId, check_name
from muniment.governance.views import View
from muniment.memory.experience import ToolFeedback
from muniment.memory.tool_registry import RegistryReference, RegistrySnapshot
from muniment.operations.examples import FEEDBACK, REGISTRY, SNAPSHOT
from muniment.operations.memory.prepared_items import Writing
from muniment.operations.parameters import DryRun, Requester, ThroughView, Why, requested
from muniment.operations.tools.feedback import check_feedback, prepared_feedback
from muniment.operations.tools.record_experience import FeedbackReport, recorded_feedback
from muniment.operations.tools.register import (
    RegistryDetail,
    RegistryList,
    RegistryReport,
    list_registries,
    register,
    remove,
    show_registry,
)
from muniment.operations.tools.tool_hints import ToolHints, tool_hints

RegistryId = Annotated[str, Meta(description="Id of the registry.")]


class ToolGroup(Group):
    """Register the tools of a host, record what was observed of them, and get hints."""

    name = "tools"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="RegisterToolsRequest")
    def register(
        self,
        snapshot: Annotated[
            RegistrySnapshot, Meta(description="All tools of the registry, without schemas.", examples=[SNAPSHOT])
        ],
        requester: Requester,
    ) -> RegistryReport:
        """Record which tools a host has, in place of what was registered under the same id.

        Appends `tools.registered`; the same snapshot again appends nothing. A caller whose access is for one subject
        registers what that subject owns. Raises `request.invalid` for ids that are not canonical or there twice and for
        unknown fields, `request.limit_exceeded`, `access.denied`, and `log.conflict` for an id that somebody else has.
        """
        return register(self._session, snapshot, requester)

    @operation(Effect.READ, family=Family.LISTING, heeds=SUBJECT, request="ListRegistriesRequest")
    def list_(self, limit: Annotated[int, Meta(description="Maximum of registries.")] = 100) -> RegistryList:
        """List the tool registries by their ids, with what they are for and how many tools they have.

        A caller whose access is for one subject sees global ones and those of that subject. Raises `request.invalid`.
        """
        return list_registries(self._session, limit)

    @operation(Effect.READ, family=Family.LISTING, heeds=SUBJECT, request="ShowRegistryRequest")
    def show(self, registry: RegistryId, view: ThroughView = View.HOST_UI) -> RegistryDetail:
        """Show a tool registry with its tools. There are no schemas, and nothing is executed.

        `operator_audit` shows no display names, `raw_owner` also the note. Raises `transcript.unknown_place` for one
        that is not there, or that the caller may not know of.
        """
        return show_registry(self._session, registry, view)

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="RemoveRegistryRequest")
    def remove(self, registry: RegistryId, reason: Why, requester: Requester) -> RegistryReport:
        """Remove a tool registry. Experience with its tools stays, and gives no hints.

        Appends `tools.removed`; a repeat appends nothing. Raises `transcript.unknown_place` for one that never was.
        """
        return remove(self._session, registry, requested(self._session, reason, requester))

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT, idempotent=True, request="ToolFeedbackRequest")
    def feedback(
        self,
        subject: Annotated[SubjectId, Meta(description="Subject whose memory keeps the experience.")],
        feedback: Annotated[
            ToolFeedback, Meta(description="What was observed, and in which turns.", examples=[FEEDBACK])
        ],
        requester: Requester,
        dry_run: DryRun = False,
    ) -> FeedbackReport:
        """Record what was observed of tools, as experience that gives hints once it is repeated.

        One observation is deferred, with reason `unrepeated`: it is kept and gives no hint. Two in one feedback, or one
        more from another turn, are accepted. The same turns again change nothing. Feedback about a registry or a tool
        that is not registered like this is refused, with a reason. Appends `item.recorded` or `item.revised`, and a
        `ref.derived` in the conversation of each turn. Raises `request.invalid`, `request.limit_exceeded`,
        `access.denied`, `transcript.unknown_conversation`, `transcript.unknown_place`.
        """
        session = self._session
        check_feedback(session, subject, feedback)
        check_name(requester, at="requester")
        writing = Writing(requester, None, session.space.sources.clock.now_ms())
        with session.space.ledger.reader() as reader:
            prepared = prepared_feedback(session, reader, subject, feedback, writing)
        return recorded_feedback(session, prepared, writing, dry_run=dry_run)

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT, request="ToolHintsRequest")
    def hints(
        self,
        subject: Annotated[SubjectId, Meta(description="Subject whose experience is asked for.")],
        view: ThroughView = View.MODEL_CONTEXT,
        registries: Annotated[
            list[RegistryReference],
            Meta(description="Registries that the host has. Without any: all that are there.", examples=[[REGISTRY]]),
        ] = [],  # noqa: B006 - a request is frozen
    ) -> ToolHints:
        """Return what experience says of the tools that a host has. A hint authorises nothing; the host executes.

        Without repeated experience there are none, with reason `no_governed_tool_experience`; where a registry is
        missing or has another fingerprint there are none either, and the experience stays. Disabled tools, and
        experience whose turns were masked or erased, give none. Raises `access.denied`, `request.invalid`,
        `request.limit_exceeded`.
        """
        session = self._session
        check_name(subject, at="subject")
        session.access.require_subjects(subject)
        session.access.require_view(view)
        with session.space.ledger.reader() as reader:
            return tool_hints(session, reader, subject, view, registries)
