"""The export of one conversation: page by page, under the rules of the view, into a document of a bounded size."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from muniment.declaration.operation import Document
from muniment.declaration.session import Session
from muniment.errors import LimitExceeded, UnknownConversation
from muniment.events.identity import ConversationKey
from muniment.formats.writing.export_format import WRITERS, ExportFormat
from muniment.formats.writing.pages import ExportedConversation, ExportedTurn
from muniment.governance.slices import RedactionItem
from muniment.governance.views import View
from muniment.operations.transcripts.replay import replay

DOCUMENT_BYTES_MAX = 64 * 2**20
PAGE_TURNS = 100


def export_conversation(session: Session, key: ConversationKey, wanted: ExportFormat, view: View) -> Document:
    """Read a conversation to its end and return it as a document."""
    writing, counts = WRITERS[wanted], Counter[str](turns=0, messages=0, withheld=0)
    turns = _turns(session, key, view, counts)
    pieces: list[str] = []
    size = 0
    for piece in writing.write(ExportedConversation(key.channel, key.conversation, view, turns)):
        pieces.append(piece)
        size += len(piece) if piece.isascii() else len(piece.encode())
        if size > DOCUMENT_BYTES_MAX:
            raise LimitExceeded(at="conversation", problem="document_too_large", limit=DOCUMENT_BYTES_MAX)
    summary: dict[str, str | int | bool | None] = {"format": wanted, "view": view}
    if looked_for := session.space.detection.view(view).summary:
        summary["looked_for"] = looked_for
    return Document(media_type=writing.media_type, text="".join(pieces), summary={**summary, **counts, "bytes": size})


def _turns(session: Session, key: ConversationKey, view: View, counts: Counter[str]) -> Iterator[ExportedTurn]:
    """Yield the turns that there are now, and count them; what is committed from now on is left out."""
    space = session.space
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, key)
        if stream is None:
            raise UnknownConversation(at="conversation")
        last = space.transcript.head(reader, stream).turns
    whole = replace(session, profile=None)  # a document is whole (decision 0080)
    limit, done, cursor = min(PAGE_TURNS, space.limits.page_turns_max), 0, None
    is_more = last > 0
    while is_more:
        page = replay(whole, key, view, min(limit, last - done), cursor)
        of_turn: defaultdict[str, list[RedactionItem]] = defaultdict(list)
        for item in page.items:
            if item.attribute is None:  # no format has attributes, so none is missing
                of_turn[item.turn].append(item)
        for turn in page.turns:
            counts.update(turns=1, messages=len(turn.messages), withheld=len(of_turn[turn.turn]))
            yield ExportedTurn(turn, of_turn[turn.turn])
        done, cursor = done + len(page.turns), page.next_cursor
        session.progress("export", done, last)
        is_more = done < last and cursor is not None
