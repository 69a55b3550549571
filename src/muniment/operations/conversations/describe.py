"""Describe: the title and the tags of a conversation, kept as attributes of one of its turns.

So they are erased with the conversation, masked and redacted with the turn, and shown by the views that show words. The
turn is the one that has a title or tags already, or the first one whose words are not hidden. What is detected before
commits is replaced in them by markers, too.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import Corrupt, InvalidInput, LimitExceeded, WordsErased
from muniment.events.attributes import (
    TAGS_KEY,
    TITLE_KEY,
    Attribute,
    AttributeGovernance,
    AttributeSource,
    AttributeTarget,
    SourceKind,
    ValueKind,
)
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.events.records import TurnMeta
from muniment.events.references import Visibility
from muniment.governance.detection.parts import found_in
from muniment.governance.listing import LISTABLE
from muniment.governance.phases import Phase, PhaseRun
from muniment.governance.redaction import replaced
from muniment.governance.views import View
from muniment.ledger.ledger import Writer
from muniment.operations.transcripts.annotate import annotate, append, checked
from muniment.projections.conversation import Conversation, opened
from muniment.space.space import Space

TITLE_BYTES_MAX = 1024
TAGS_MAX = 32
WRITER = "muniment"
WHY = "describes the conversation"


class Description(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was recorded of a conversation, and at which positions. `changed`: something was."""

    conversation: ConversationKey
    changed: bool
    title: str | None = None
    tags: list[str] | None = None
    positions: list[int] = []


def describe(session: Session, key: ConversationKey, title: str | None, tags: list[str] | None) -> Description:
    """Record a title, tags, or both."""
    session.check_key(key)
    if title is None and tags is None:
        raise InvalidInput(at="title", problem="missing_field")
    space = session.space
    with space.ledger.reader() as reader:
        conversation = session.seen.opened(reader, key)
        sequence = _turn_for(conversation)
        meta = conversation.at(sequence).record.meta
        title = None if title is None else _without_detected(space, checked_title(title), meta)
        tags = None if tags is None else [_without_detected(space, tag, meta) for tag in checked_tags(tags)]
        values: dict[str, Any] = {
            name: value for name, value in ((TITLE_KEY, title), (TAGS_KEY, tags)) if value is not None
        }
        known = {name: _known(space, conversation, sequence, name) for name in values}
    turn = TurnId(meta.delivery.turn)
    new = [description(name, value, turn, sequence) for name, value in values.items() if known[name] != value]
    positions: list[int] = []
    if new:
        report = annotate(session, key, new, None, dry=False)
        if report.refused:  # it was erased in between, or has as many attributes as a turn may have
            refused = next(each.reason for each in report.attributes if each.reason is not None)
            raise InvalidInput(at="conversation", problem=refused)
        positions = [each.position for each in report.attributes if each.position is not None]
    return Description(conversation=key, changed=bool(new), title=title, tags=tags, positions=positions)


def checked_title(title: str) -> str:
    """Return a title on one line, or refuse it."""
    line = " ".join(title.split())
    size = len(line.encode())
    if size > TITLE_BYTES_MAX:
        raise LimitExceeded(at="title", problem="too_long", limit=TITLE_BYTES_MAX, found=size)
    return line


def shortened(title: str) -> str:
    """Return the title of a foreign file, cut to the size of ours."""
    return title.encode()[:TITLE_BYTES_MAX].decode(errors="ignore").rstrip()


def checked_tags(tags: list[str]) -> list[str]:
    """Return tags, each once, or refuse them."""
    if len(tags) > TAGS_MAX:
        raise LimitExceeded(at="tags", problem="too_many", limit=TAGS_MAX, found=len(tags))
    for place, tag in enumerate(tags):
        check_name(tag, at=f"tags[{place}]")
    return list(dict.fromkeys(tags))


def record_title(session: Session, writer: Writer, key: ConversationKey, turn: TurnId, title: str) -> None:
    """Record the title of a conversation that has none, of its first turn; runs inside the write transaction."""
    writer.flush()
    conversation = opened(session.space.transcript, writer.tx, key)
    commit = conversation.turn(turn)
    if commit is None or commit.row.turn_seq is None:
        raise Corrupt(at="turn", problem="lookup_missing")
    sequence = commit.row.turn_seq
    if conversation.changes.attributes.known(_id(TITLE_KEY, sequence)) is not None:
        return
    assert isinstance(commit.meta, TurnMeta), "only turns have a turn sequence"
    words = _without_detected(session.space, title, commit.meta)
    append(checked(session, key, [description(TITLE_KEY, words, turn, sequence)], None), writer)
    writer.flush()


def description(key: str, value: str | list[str], turn: TurnId, sequence: int) -> Attribute:
    """Return the attribute of a turn that describes its conversation."""
    return Attribute(
        id=_id(key, sequence),
        target=AttributeTarget(turn=turn),
        key=key,
        kind=ValueKind.STRING if isinstance(value, str) else ValueKind.ARRAY,
        value=value,
        source=AttributeSource(writer=WRITER, kind=SourceKind.HOST_REPORTED, reason=WHY),
        visibility=Visibility.HOST_UI,
        governance=AttributeGovernance(export_allowed=True),
    )


def _id(key: str, sequence: int) -> str:
    return f"{key}#{sequence}"


def _turn_for(conversation: Conversation) -> int:
    """Return the turn that describes the conversation; raise where the words of all turns are erased."""
    phases = conversation.phases(conversation.head.turns)
    attributes = conversation.changes.attributes
    described = sorted(
        turn for name, turn in attributes.turn_of.items() if name in {_id(TITLE_KEY, turn), _id(TAGS_KEY, turn)}
    )
    for wanted in (LISTABLE, tuple(phase for phase in Phase if phase is not Phase.ERASED)):
        turns = [run for run in phases if run.phase in wanted]
        if turns:
            return next((turn for turn in described if _is_within(turn, turns)), turns[0].first)
    raise WordsErased(at="conversation")


def _is_within(turn: int, phases: list[PhaseRun]) -> bool:
    return any(run.first <= turn <= run.last for run in phases)


def _known(space: Space, conversation: Conversation, sequence: int, key: str) -> Any:
    """Return what is recorded of a turn under a key, or None."""
    latest = conversation.changes.attributes.of(sequence).get(_id(key, sequence))
    if latest is None:
        return None
    record = conversation.at(sequence).record
    content = space.transcript.attribute(conversation.reader, latest.position, record, View.RAW_OWNER).content
    return None if content is None else content.value


def _without_detected(space: Space, text: str, meta: TurnMeta) -> str:
    return replaced(text, found_in(text, space.detection.before_commit.detectors(meta)))
