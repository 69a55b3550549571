"""The export of one conversation: page by page, under the rules of the view, into a document of a bounded size."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from muniment.declaration.operation import Document
from muniment.declaration.session import Session
from muniment.errors import LimitExceeded
from muniment.events.identity import ConversationKey
from muniment.formats.writing.export_format import WRITERS, ExportFormat
from muniment.formats.writing.pages import ExportedConversation, ExportedTurn
from muniment.governance.slices import RedactionItem
from muniment.governance.views import View
from muniment.operations.left_out import LeftOut, reasons_of
from muniment.operations.transcripts.replay import replay
from muniment.space.outgoing import ContentGrant, ExportWay, record_export

DOCUMENT_BYTES_MAX = 64 * 2**20
PAGE_TURNS = 100


def export_conversation(session: Session, key: ConversationKey, wanted: ExportFormat, view: View) -> Document:
    """Read a conversation to its end, record that it leaves the store, and return it as a document."""
    writing, counts, left_out = WRITERS[wanted], Counter[str](turns=0, messages=0, withheld=0), LeftOut()
    space = session.space
    with space.ledger.reader() as reader:
        conversation = session.seen.opened(reader, key)
    head = conversation.head
    turns = _counted(_turns(session, key, view, len(conversation.sequences)), counts, left_out)
    pieces: list[str] = []
    size = 0
    for piece in writing.write(ExportedConversation(key.channel, key.conversation, view, turns)):
        pieces.append(piece)
        size += len(piece) if piece.isascii() else len(piece.encode())
        if size > DOCUMENT_BYTES_MAX:
            raise LimitExceeded(at="conversation", problem="document_too_large", limit=DOCUMENT_BYTES_MAX)
    summary: dict[str, str | int | bool | None] = {"format": wanted, "view": view}
    if looked_for := space.detection.view(view).summary:
        summary["looked_for"] = looked_for
    sent = ContentGrant(way=ExportWay.DOCUMENT, view=view, turns=counts["turns"])
    record_export(space, session.access, sent, {"stream": head.stream, "through": head.seq})
    facts = {**summary, **counts, **left_out.summary(), "bytes": size}
    return Document(media_type=writing.media_type, text="".join(pieces), summary=facts)


def _counted(turns: Iterator[ExportedTurn], counts: Counter[str], left_out: LeftOut) -> Iterator[ExportedTurn]:
    for exported in turns:
        counts.update(turns=1, messages=len(exported.turn.messages), withheld=len(exported.items))
        left_out.take(reasons_of(exported.turn, exported.items))
        yield exported


def _turns(session: Session, key: ConversationKey, view: View, last: int) -> Iterator[ExportedTurn]:
    """Yield so many turns of the conversation; what is committed from now on is left out."""
    space = session.space
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
            yield ExportedTurn(turn, of_turn[turn.turn])
        done, cursor = done + len(page.turns), page.next_cursor
        session.progress("export", done, last)
        is_more = done < last and cursor is not None
