"""The memory of a subject as a folder of Markdown, on record before anybody receives it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import DocumentFile, DocumentFolder
from muniment.declaration.session import Session
from muniment.errors import LimitExceeded
from muniment.events.identity import Count, SubjectId, check_name
from muniment.formats.writing.journal_files import JournalItem, folder_name, journal_files
from muniment.governance.item_visibility import hides_item
from muniment.governance.views import View
from muniment.kernel.times import MOMENT, written
from muniment.ledger.ledger import Writer
from muniment.log.port import StreamHead
from muniment.operations.memory.selection import EVERYTHING, items_of
from muniment.operations.memory.shown_item import ItemShower
from muniment.operations.notes.journal_item import journal_item, told_audience
from muniment.space.outgoing import ContentGrant, ExportWay, export_of

JOURNAL_BYTES_MAX = 64 * 2**20
OnDay = Annotated[Count | None, Meta(description="This day (UTC) alone. Without it: everything.", extra=MOMENT)]


def journal(session: Session, subject: SubjectId, view: View, day_ms: int | None) -> DocumentFolder:
    """Read what is remembered of a subject, record that it leaves the store, and return it as files."""
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    session.access.require_view(view)
    space, items = session.space, list[JournalItem]()
    with space.ledger.reader() as reader:
        heads = list(space.notebooks.heads(reader, subject))
        found = list(items_of(space, reader, subject, EVERYTHING))
        shower = ItemShower(space, reader, view)
        for item in found:
            shown = None if hides_item(view, item.privacy) is not None else shower.shown(item)
            if shown is not None and shown.text is not None and shown.topic is not None:
                items.append(journal_item(shown, shown.topic, shown.text, told_audience(item, shown)))
    items.sort(key=lambda item: (item.entry.note.observed_ms, item.entry.note.id))
    day = None if day_ms is None else written(day_ms).partition(" ")[0]
    folder = folder_name(subject)
    files = [DocumentFile(name=f"{folder}/{file.name}", text=file.text) for file in journal_files(subject, items, day)]
    size = sum(len(file.text.encode()) for file in files)
    if size > JOURNAL_BYTES_MAX:
        raise LimitExceeded(at="subject", problem="document_too_large", limit=JOURNAL_BYTES_MAX)
    if files:
        _record(session, view, heads)
    facts: dict[str, str | int | bool | None] = {"view": view, "folder": folder, "files": len(files)}
    facts |= {"items": len(items), "withheld": len(found) - len(items), "bytes": size}
    return DocumentFolder(files=files, summary=facts)


def _record(session: Session, view: View, heads: list[StreamHead]) -> None:
    """Append `content.exported` for each notebook, in one step."""
    space, grant = session.space, ContentGrant(way=ExportWay.DOCUMENT, view=view)
    changes = [export_of(space, session.access, grant, {"stream": head.stream, "through": head.seq}) for head in heads]

    def plan(writer: Writer) -> None:
        for change in changes:
            writer.change(change)

    space.ledger.transact(plan)
