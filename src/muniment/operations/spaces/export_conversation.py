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
from muniment.operations.transcripts.transcripts import Transcripts

DOCUMENT_BYTES_MAX = 64 * 2**20
PAGE_TURNS = 100


class Exporting:
    """One conversation on its way into a document."""

    def __init__(self, session: Session, conversation: ConversationKey, asked: ExportFormat, view: View) -> None:
        self._session = session
        self._conversation = conversation
        self._format = asked
        self._view = view
        self._counts: Counter[str] = Counter(turns=0, messages=0, withheld=0)

    def run(self) -> Document:
        """Read the conversation to its end and return it as a document."""
        writing = WRITERS[self._format]
        key = self._conversation
        told = ExportedConversation(key.channel, key.conversation, self._view, self._turns(self._last()))
        pieces: list[str] = []
        size = 0
        for piece in writing.write(told):
            pieces.append(piece)
            size += len(piece) if piece.isascii() else len(piece.encode())
            if size > DOCUMENT_BYTES_MAX:
                raise LimitExceeded(at="conversation", problem="document_too_large", limit=DOCUMENT_BYTES_MAX)
        summary: dict[str, str | int | bool | None] = {"format": self._format, "view": self._view}
        if looked_for := self._session.space.detection.view(self._view).summary:
            summary["looked_for"] = looked_for
        return Document(
            media_type=writing.media_type, text="".join(pieces), summary={**summary, **self._counts, "bytes": size}
        )

    def _last(self) -> int:
        """Return how many turns there are to tell; what is committed from now on is not waited for."""
        space = self._session.space
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, self._conversation)
            if stream is None:
                raise UnknownConversation(at="conversation")
            return space.transcript.head(reader, stream).turns

    def _turns(self, last: int) -> Iterator[ExportedTurn]:
        transcripts, cursor = (
            Transcripts(replace(self._session, profile=None)),
            None,
        )  # a document is whole (decision 0080)
        told = 0
        limit = min(PAGE_TURNS, self._session.space.limits.page_turns_max)
        more = last > 0
        while more:
            page = transcripts.replay(self._conversation, self._view, min(limit, last - told), cursor)
            of_turn: defaultdict[str, list[RedactionItem]] = defaultdict(list)
            for item in page.items:
                if item.attribute is not None:
                    continue  # no format has attributes, so none is missing
                of_turn[item.turn].append(item)
            for turn in page.turns:
                self._counts["turns"] += 1
                self._counts["messages"] += len(turn.messages)
                self._counts["withheld"] += len(of_turn[turn.turn])
                yield ExportedTurn(turn, of_turn[turn.turn])
            told, cursor = told + len(page.turns), page.next_cursor
            self._session.progress("export", told, last)
            more = told < last and cursor is not None
