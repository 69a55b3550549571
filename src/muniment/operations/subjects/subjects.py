"""The noun group `subjects`: who there is, and everything about one of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import (
    SUBJECT,
    SUBJECT_AND_CHANNELS,
    Document,
    Effect,
    Family,
    Group,
    SecondRight,
    operation,
)
from muniment.declaration.session import Session
from muniment.events.identity import SubjectId
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.parameters import ListedTurns, PageCursor, ThroughView
from muniment.operations.subjects.export_subject import SubjectFormat, SubjectRequest, export_subject
from muniment.operations.subjects.inspect_memory import MemoryInspection, inspect_memory
from muniment.operations.subjects.people_list import SubjectsPage, list_subjects


class Subjects(Group):
    """List the subjects of a space, export everything about one of them, and inspect what memory holds."""

    name = "subjects"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.LISTING, heeds=SUBJECT_AND_CHANNELS, request="ListSubjectsRequest")
    def list_(
        self,
        lifecycle: ListedTurns = LifecycleFilter.ACTIVE,
        limit: Annotated[int, Meta(description="Subjects per page; above 0.")] = 50,
        cursor: PageCursor = None,
    ) -> SubjectsPage:
        """List the subjects of the space by name: their conversations and turns, the first and the last.

        Counts the turns that `lifecycle` asks for. Who only speaks in turns of others, or is named by them, is listed
        as well. A caller whose access is for one subject sees that one alone. To go on, repeat the request with the
        cursor; a change of what is listed raises `cursor.stale`.
        """
        return list_subjects(self._session, lifecycle, limit, cursor)

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT, request="InspectMemoryRequest")
    def inspect(
        self,
        subject: Annotated[SubjectId, Meta(description="The subject.")],
        view: ThroughView,
        query: Annotated[str | None, Meta(description="Items that have all these words. Without it: all.")] = None,
        length_max: Annotated[int, Meta(description="Maximum of characters of the text, from 0 up.")] = 4000,
    ) -> MemoryInspection:
        """Inspect what memory holds of a subject: counts by plane and state, skills, tool registries, and items.

        Writes out the items in use that match, as far as they fit; of those that need a review, none. What the view
        does not show is counted and not described. Appends nothing. Raises `access.denied`, `request.invalid`.
        """
        return inspect_memory(self._session, subject, view, query, length_max)

    @operation(
        Effect.APPEND,
        family=Family.EXPORT,
        heeds=SUBJECT,
        also=(SecondRight(effect=Effect.READ),),
        request="ExportSubjectRequest",
    )
    def export(
        self,
        subject: Annotated[SubjectId, Meta(description="The subject.")],
        format: Annotated[SubjectFormat, Meta(description="A page for people, or JSON for programs.")] = (  # noqa: A002 - what the option is called everywhere
            SubjectFormat.HTML
        ),
        view: ThroughView = View.EXPORT,
        recipient: Annotated[str | None, Meta(description="Who receives it; recorded.")] = None,
        purpose: Annotated[str | None, Meta(description="What it is for; recorded.")] = None,
    ) -> Document:
        """Export everything about a subject, to answer a request for access.

        Has every turn of the subject and every turn in which it speaks or is named, as the view shows them, with their
        attributes; what is withheld, with reasons; what was done to these turns later; and who received them. Has every
        memory item about the subject with its history, too; items about others that name the subject stay with those.
        First appends `export.issued` for each conversation and notebook, with recipient and purpose. A subject of which
        nothing is known gives an empty document. Raises `access.denied` for another subject than that of the access,
        and `request.limit_exceeded` for a document of more than 64 MiB.
        """
        request = SubjectRequest(subject=subject, format=format, view=view, recipient=recipient, purpose=purpose)
        return export_subject(self._session, request)
