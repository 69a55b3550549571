"""Events as lines that disclose what a view shows of them: what receipts and bundles are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING

from muniment.errors import Corrupt
from muniment.events.attributes import AttributeRecorded
from muniment.events.records import ContentBody, EventKind
from muniment.events.references import RefDerived
from muniment.evidence.bundle import event_line
from muniment.evidence.header import Field, Header, disclosures
from muniment.governance.attribute_visibility import disclosed_attribute_labels
from muniment.governance.judgement import judge, needs_content, standing
from muniment.governance.slices import disclosed_labels
from muniment.governance.views import Reason, View, shown_planes
from muniment.kernel.digest import Salts
from muniment.ledger.ledger import OpenedEvent
from muniment.ledger.worded import readable_fields
from muniment.log.port import SealedRow
from muniment.projections.conversation import Conversation

if TYPE_CHECKING:
    from muniment.space.space import Space

Withheld = Callable[[Sequence[Reason | None]], object]
SaltedFields = tuple[Salts, list[Field]]


def event_lines(
    space: Space, conversation: Conversation, first: int, last: int, view: View, take: Withheld = bool
) -> Iterator[tuple[SealedRow, bytes]]:
    """Yield the events of a conversation in a range of seq, each with the line that discloses what the view shows.

    `take` is given, for each turn, why each of its messages is withheld as a whole, or None.
    """
    expected, wanted, detection = first, partial(needs_content, view), space.detection.view(view)
    for row in conversation.reader.in_stream(conversation.stream, first, last):
        if row.seq != expected:
            break
        expected += 1
        header, exact = space.ledger.header(row)
        opened = space.ledger.open(row)
        if row.turn_seq is not None:
            read = conversation.read(opened, wanted)
            judged = judge(view, read.record, detection)
            labels = disclosed_labels(read.record, view, detection, judged)
            take(judged.messages)
            shown = _fields(space, opened, read.content_salts, read.record.content, labels)
        elif isinstance(opened.meta, AttributeRecorded):
            shown = _of_attribute(space, conversation, opened, header, view)
        else:
            shown = _of_other(space, opened, view)
        yield row, event_line(exact, disclosures(header, shown))
    if expected != last + 1:
        at = f"stream {conversation.stream}"
        raise Corrupt(at=at, problem="events_missing", limit=last, found=expected - 1)


def _of_attribute(
    space: Space, conversation: Conversation, opened: OpenedEvent, header: Header, view: View
) -> list[SaltedFields]:
    """Return what a view is shown of an attribute as it is now; of one that was replaced since, nothing."""
    meta, turn = opened.meta, header.about["turn"]
    assert isinstance(meta, AttributeRecorded), "the caller looked"
    if not conversation.changes.attributes.is_newest(turn, meta.attribute.id, opened.row.position):
        return []
    about = conversation.at(turn).record
    record = space.transcript.attribute_of(opened, about, view)
    detectors = space.detection.view(view).detectors(about.meta)
    labels = disclosed_attribute_labels(view, standing(about, view, meta.attribute.message), record, detectors)
    salts = None if record.content is None else space.ledger.content(opened)[0]
    return _fields(space, opened, salts, record.content, labels)


def _of_other(space: Space, opened: OpenedEvent, view: View) -> list[SaltedFields]:
    """Return what a view is shown of any other event: names for all views, reasons and links for operators."""
    if isinstance(opened.meta, RefDerived) and opened.meta.plane not in shown_planes((view,)):
        return []
    public = view in {View.RAW_OWNER, View.OPERATOR_AUDIT} or opened.row.kind == EventKind.CONVERSATION_OPENED
    return readable_fields(space.ledger, opened) if public else []


def _fields(
    space: Space, opened: OpenedEvent, salts: Salts | None, content: ContentBody | None, labels: set[str]
) -> list[SaltedFields]:
    """Return the fields with these labels, as far as they can still be read, by where their salts come from."""
    parts: list[SaltedFields] = [(opened.meta_seed, space.ledger.meta_fields(opened))]
    if salts is not None and content is not None:
        parts.append((salts, space.ledger.content_fields(opened, content)))
    label = itemgetter(0)
    return [(own, list(compress(fields, map(labels.__contains__, map(label, fields))))) for own, fields in parts]
