"""Changed: whether a conversation is still what somebody has read of it (decision 0203).

A state stands for all that a page of the conversation depends on, in every view: its events, the epoch of the log, the
rights of the caller, and the detectors of the store that was open. Equal states show equal pages; where something is
read as a profile allows, only how much of it may differ. What has been erased is noticed, because erasing a turn is an
event of its conversation, and erasing the space takes the key of the first event, which is opened each time.

No state is given to whoever must not do without reading: under a policy that records reads, and to an access that is
kept to a subject, who would learn from it what others say in the conversation.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.operation import Family
from muniment.declaration.session import Session
from muniment.errors import Corrupt, CursorInvalid
from muniment.events.identity import ConversationKey
from muniment.governance.policy import is_recorded
from muniment.operations.conversations.conversation_change import ChangeSince, ConversationChange
from muniment.operations.page import binding, short_leaf
from muniment.projections.conversation import Conversation

PURPOSE = "state"


class StateMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """A conversation as it was: how many events and turns it had, its newest event, and the opened space."""

    revision: int
    turns: int
    leaf: str
    opening: str


def changed(session: Session, key: ConversationKey, since: str | None) -> ConversationChange:
    """Return what happened to a conversation since a state of it."""
    session.check_key(key)
    space = session.space
    with space.ledger.reader() as reader:
        conversation = session.seen.find(reader, key)
        if conversation is None:
            return ConversationChange(conversation=key, change=ChangeSince.MISSING)
        first = reader.sealed(conversation.stream)
        if first is None:
            raise Corrupt(at=f"stream {conversation.stream}", problem="rows_missing")
        space.ledger.open(first)  # raises when the whole space was erased
        access = session.access
        if access.subject is not None or is_recorded(Family.REPLAY, access.policies):
            return ConversationChange(conversation=key, change=ChangeSince.OTHER)
        head = conversation.head
        mark = StateMark(revision=head.seq, turns=head.turns, leaf=short_leaf(head.leaf), opening=space.opening)
        bound = binding(session, reader, key.channel, key.conversation)
        state = space.cursors.issue(PURPOSE, bound, mark)  # the same for the same mark
        change = ChangeSince.NONE
        if state != since:
            try:
                known = None if since is None else space.cursors.accept(PURPOSE, bound, since, StateMark)
            except CursorInvalid:  # of another conversation, epoch or access
                known = None
            is_appended = known is not None and _only_appended(conversation, known, mark)
            change = ChangeSince.APPENDED if is_appended else ChangeSince.OTHER
        return ConversationChange(conversation=key, change=change, state=state, digest=head.leaf.hex())


def _only_appended(conversation: Conversation, known: StateMark, mark: StateMark) -> bool:
    """Tell whether nothing but commits of turns lies between two states."""
    events, turns = mark.revision - known.revision, mark.turns - known.turns
    if known.opening != mark.opening or events != turns or events < 0:
        return False
    rows = conversation.reader.in_stream(conversation.stream, known.revision, known.revision)
    return [short_leaf(row.leaf) for row in rows] == [known.leaf]
