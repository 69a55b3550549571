"""One notebook of a document that is read: its lines are checked by themselves and against the others.

Items are dense and none is there twice; changes are about items that are there, and say in the header what they say in
the body; words are exactly where nothing calls them erased; and no slot has two items in use.
"""

from __future__ import annotations

from msgspec import UNSET

from muniment.errors import ArchiveRefused
from muniment.events.changes import REPLACED
from muniment.events.identity import conversation_mark, named_message
from muniment.events.memory_items import EntryRole, ItemContent, ItemMeta, ItemRetired, ItemRevised, Retirement
from muniment.events.records import CONTENT_BODIES, META_BODIES, EventKind, MetaBody
from muniment.events.references import SourceEvidence
from muniment.governance.change_rules import StreamState, flaws_of
from muniment.log.port import WHOLE_CONVERSATION
from muniment.memory.amendment import PRIVATE
from muniment.memory.item_rules import change_flaws, item_flaws
from muniment.memory.kinds import slot_topic
from muniment.operations.archives.archived_conversation import check_names
from muniment.operations.archives.archived_erasures import ArchivedErasures
from muniment.operations.archives.document import ITEM_KINDS, EventLine, NotebookLine, body_of

# causes that an archive may not bring: proposals stay here, and what was replaced is no part of any
NOT_CARRIED = frozenset({Retirement.ACCEPTED, Retirement.REJECTED, Retirement.REPLACED})


class CheckedNotebook:
    """A notebook of a document, as far as it was read; `items` are the ids of all items of the document."""

    def __init__(self, notebook: NotebookLine, items: set[str], number: int) -> None:
        self._notebook = notebook
        self._items = items
        self._at = f"line {number}"
        self._number = 1
        self._count = 0
        self._worded: set[int] = set()
        self._slots: dict[int, tuple[str, str]] = {}
        self._retired: set[int] = set()
        self._erasures = ArchivedErasures()

    def take(self, line: EventLine, number: int) -> tuple[int, MetaBody, ItemContent | None]:
        """Read the next event; return its number in the notebook and its bodies."""
        at = f"line {number}"
        self._number += 1
        if line.kind not in ITEM_KINDS:
            raise ArchiveRefused(at=at, problem="foreign_kind")
        kind, content = EventKind(line.kind), None
        meta: MetaBody = body_of(line.meta, META_BODIES[kind], number)
        if line.content is not UNSET:
            if not isinstance(meta, ItemMeta):
                raise ArchiveRefused(at=at, problem="content")
            content = body_of(line.content, CONTENT_BODIES[kind], number)
        if isinstance(meta, ItemMeta):
            self._item(line, meta, content, at)
        else:
            self._change(line, meta, at)
        return self._number, meta, content

    def end(self) -> None:
        """Check what was read of a notebook as a whole."""
        items = set(range(1, self._count + 1))
        gone = set(filter(self._erasures.includes, items))
        if self._worded | gone != items or self._worded & gone or self._erasures.left_words():
            raise ArchiveRefused(at=self._at, problem="erased")
        used = [slot for item, slot in self._slots.items() if item not in self._retired]
        if len(set(used)) < len(used):
            raise ArchiveRefused(at=self._at, problem="slot_taken")

    def _item(self, line: EventLine, meta: ItemMeta, content: ItemContent | None, at: str) -> None:
        self._count += 1
        if line.turn != self._count or line.refs or line.target is not None or line.reason is not None:
            raise ArchiveRefused(at=at, problem="references")
        check_names(at, meta.item, meta.writer, *(name for name in (meta.run, meta.entry.origin) if name is not None))
        if meta.item in self._items:
            raise ArchiveRefused(at=at, problem="item_twice")
        self._items.add(meta.item)
        whose = self._notebook
        is_item = meta.entry.role is EntryRole.ITEM and meta.privacy not in PRIVATE
        if not is_item or any(item_flaws(meta, whose.subject, whose.plane)):
            raise ArchiveRefused(at=at, problem="item")
        _check_evidence(at, meta.evidence)
        if content is not None:
            if not content.text.strip() or not content.topic.strip():
                raise ArchiveRefused(at=at, problem="content")
            self._worded.add(self._count)
            named = meta.entry.named
            self._slots[self._count] = meta.kind, slot_topic(content.topic) if named is None else named.name

    def _change(self, line: EventLine, meta: MetaBody, at: str) -> None:
        """Check a change against the items that are there."""
        refs, item = line.refs, line.refs.get("turn")
        is_sound = (
            line.turn is None
            and line.target == (WHOLE_CONVERSATION if item is None else item)
            and not refs.keys() - {"turn", "first", "through"}
            and REPLACED not in refs
            and not any(flaws_of(line.kind, line.reason, refs, StreamState(self._count)))
        )
        if not is_sound:
            raise ArchiveRefused(at=at, problem="references")
        if isinstance(meta, ItemRevised):
            changes = meta.revision
            if item is None or changes.privacy in PRIVATE or any(change_flaws(meta, line.reason)):
                raise ArchiveRefused(at=at, problem="item")
            _check_evidence(at, changes.evidence or [])
        else:
            assert isinstance(meta, ItemRetired), "the kinds of a notebook have no other bodies"
            if meta.cause in NOT_CARRIED or any(change_flaws(meta, line.reason)):
                raise ArchiveRefused(at=at, problem="references")
            _check_evidence(at, meta.evidence)
            about = range(refs.get("turn", refs.get("first", 1)), refs.get("turn", refs.get("through", 0)) + 1)
            (self._retired.difference_update if meta.cause is Retirement.RESTORED else self._retired.update)(about)
        self._erasures.take(self._number, line.reason, refs, meta)


def _check_evidence(at: str, evidence: list[SourceEvidence]) -> None:
    """Refuse evidence that names a space, or a message of another turn."""
    for source in evidence:
        check_names(at, source.channel, source.conversation, source.turn)
        mark = conversation_mark(source.channel, source.conversation)
        named = None if source.message is None else named_message(source.message, mark)
        is_of_turn = source.message is None or (named is not None and named.turn == source.turn)
        if source.space or not is_of_turn:
            raise ArchiveRefused(at=at, problem="references")
