"""The words of a recall: the question, and the newest messages of the conversation where it has too few words."""

from __future__ import annotations

import re
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.events.identity import check_given
from muniment.events.message import Role, TextPart
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.memory.tool_registry import check_references
from muniment.operations.memory.recall_report import AskedRecall
from muniment.operations.page import check_limit
from muniment.operations.transcripts.timeline import LATEST, TimelineRequest, timeline
from muniment.ranking.words import COMMON
from muniment.search.query import without_syntax

WORDS_ENOUGH = 2  # that are not in every sentence
EXTENDED_TURNS = 2
EXTENDED_CHARS = 400

_WORD = re.compile(r"\w+")


class Wording(NamedTuple):
    """What is searched for, and whether that is more than was asked."""

    text: str
    extended: bool = False


def check_asked(session: Session, asked: AskedRecall, view: View) -> None:
    """Refuse malformed names, a limit out of range, and what the caller may not ask."""
    scope = asked.scope
    check_given(
        ("subject", asked.subject), ("scope.channel", scope.channel), ("scope.conversation", scope.conversation)
    )
    session.access.require_subjects(asked.subject)
    session.access.require_view(view)
    check_references(asked.registries, "registries")
    check_limit(asked.limit, session.space.limits.page_turns_max)


def worded(session: Session, asked: AskedRecall, view: View) -> Wording:
    """Return the words of a question without the syntax of queries; a weak one extended, if a conversation goes on."""
    text, key = without_syntax(asked.query), asked.scope.key
    telling = {word.casefold() for word in _WORD.findall(text)} - COMMON
    if key is None or len(telling) >= WORDS_ENOUGH:
        return Wording(text)
    request = TimelineRequest(
        conversation=key, anchor=LATEST, view=view, limit=EXTENDED_TURNS, lifecycle=LifecycleFilter.ACTIVE
    )
    said = [
        part.content
        for turn in timeline(session, request, None).turns
        for message in turn.messages
        if message.role is Role.USER
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    more = without_syntax("\n".join(said)[-EXTENDED_CHARS:])
    return Wording(f"{text} {more}".strip(), extended=True) if more else Wording(text)
