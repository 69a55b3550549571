"""The import of one file: its items become turns, and everything that did not become a turn is reported.

A turn's id is `import-<number in its conversation>`. So a repeat finds every turn in its place and adds nothing, an
import that was interrupted goes on where it stopped, and a file that grew at its end adds what is new. When the new
lines continue a turn that was committed when the file ended earlier, the turn that is kept stays as it is, and the
longer one is reported as a conflict: the log never changes what it said, and the rest of the file is imported.

A turn that the file names has that name as its id; a line of a conversation's branch is a turn of a conversation of its
own. Requests that repeat their conversation wait until it is known how far it goes (`continuing`).

Where a file was cut off (a damaged archive) the turns that are not complete by then are left out, so that they can be
committed whole from a whole file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, MunimentError, NotCanonical
from muniment.events.identity import Channel, ConversationId, SubjectId, TurnId, check_name
from muniment.events.message import Message
from muniment.events.references import HostReference
from muniment.events.turn import Source, Turn, ending_of
from muniment.formats.reading.continuations import Continuations, OpenConversation
from muniment.formats.reading.databases.database_items import DatabaseItems
from muniment.formats.reading.import_format import PARSERS, PROTOCOLS, Format, sniff
from muniment.formats.reading.items import Items
from muniment.formats.reading.parsed_item import ParsedItem
from muniment.formats.reading.turn_assembler import CompleteTurn, TurnAssembler, size_of, turns_of
from muniment.operations.importing.import_report import FileCounts
from muniment.operations.importing.turn_batch import BatchedTurn, TurnBatch
from muniment.operations.transcripts.commit import SkippedTurn, prepare

PROGRESS_LINES = 500
FILE_DAMAGED = "file_damaged"


class ImportTarget(NamedTuple):
    """Where the turns of an import go, and whose they are."""

    session: Session
    channel: Channel
    subject: SubjectId
    batch: TurnBatch


class FileImport:
    """One file on its way into a space; `named` is what its conversations without an id are named after."""

    def __init__(self, target: ImportTarget, named: str, counts: FileCounts) -> None:
        self._target = target
        self._named = named
        self._counts = counts
        self._grouping = TurnAssembler(target.session.space.limits)
        self._continuing = Continuations()
        self._titles: dict[str, str] = {}  # of conversations whose first turn is still to come

    def run(self, items: Items | DatabaseItems) -> None:
        """Read the items to the end and queue the turns that are complete."""
        counts, progress = self._counts, self._target.session.progress
        for number, item in items:
            counts.lines["read"] += 1
            if isinstance(item, MunimentError):
                counts.refuse_line(number, item)
            else:
                self._take(number, item)
            if counts.lines["read"] % PROGRESS_LINES == 0:
                progress("import", items.bytes_done, items.bytes_total)
        counts.damaged = items.damaged
        self._finish(damaged=items.damaged)
        progress("import", items.bytes_total, items.bytes_total)

    def _take(self, number: int, item: bytes) -> None:
        """Understand an item and queue the turns that are complete because of it, or refuse it."""
        try:
            parsed = self._parsed(item)
            unnamed = f"{self._named}#{number}"
            check_name(unnamed if parsed.conversation is None else parsed.conversation, at="conversation_id")
        except (InvalidInput, LimitExceeded) as refusal:
            self._counts.refuse_line(number, refusal)
            return
        if parsed.notes is not None:
            self._counts.note(number, parsed.notes)
        self._hear(number, parsed, unnamed, len(item))
        for branch in parsed.branches:
            self._hear(number, branch, unnamed, len(item), is_branch=True)

    def _parsed(self, item: bytes) -> ParsedItem:
        if self._counts.format is not Format.AUTO:
            return PARSERS[self._counts.format](item)
        self._counts.format, parsed = sniff(item)
        return parsed

    def _hear(self, number: int, parsed: ParsedItem, unnamed: str, size: int, *, is_branch: bool = False) -> None:
        """Queue the turns that are complete because of what was said; what cannot be taken is refused."""
        name = unnamed if parsed.conversation is None else parsed.conversation
        said = len(parsed.messages) + len(parsed.system)
        self._counts.messages["read"] += said
        taken = 0
        try:
            check_name(name, at="conversation_id")
            if parsed.title is not None:
                self._titles[name] = parsed.title
            if parsed.answers or (parsed.whole and self._counts.format is Format.ANTHROPIC):
                repeated_before = self._continuing.repeated
                closed = list(self._continuing.add(parsed, unnamed, number, size))
                taken = said
                self._counts.messages["repeated"] += self._continuing.repeated - repeated_before
                for waiting in closed:
                    self._queue_all(self._told(waiting))
            elif parsed.whole:
                turns = list(self._turns_of(name, parsed.messages, number))
                taken = said
                self._queue_all(turns, parsed.origin)
            else:
                for message in parsed.messages:
                    complete = list(self._grouping.add(name, message, number, size // said, parsed.named))
                    taken += 1
                    self._queue_all(complete)
        except (InvalidInput, LimitExceeded) as refusal:
            self._counts.messages["refused"] += said - taken
            if is_branch or taken:
                self._counts.refuse_messages(number, refusal, said - taken)
            else:
                self._counts.refuse_line(number, refusal)

    def _finish(self, *, damaged: bool) -> None:
        """Queue what the end of the file completes; where the end is missing, a last turn may have gone on."""
        for waiting in self._continuing.finish():
            turns = list(self._told(waiting))
            self._queue_all(turns[:-1])
            for last in turns[-1:]:
                self._queue_last(last, damaged=damaged)
        for gathered in self._grouping.finish():
            self._queue_last(gathered, damaged=damaged)

    def _queue_last(self, gathered: CompleteTurn, *, damaged: bool) -> None:
        if damaged:
            self._counts.skip_turn(gathered, FILE_DAMAGED)
        else:
            self._queue(gathered)

    def _told(self, waiting: OpenConversation) -> Iterable[CompleteTurn]:
        return self._turns_of(waiting.conversation, waiting.messages, waiting.item)

    def _turns_of(self, name: str, messages: list[Message], number: int) -> Iterable[CompleteTurn]:
        return turns_of(name, messages, number, sum(map(size_of, messages)), self._target.session.space.limits)

    def _queue_all(self, turns: Iterable[CompleteTurn], origin: tuple[HostReference, ...] = ()) -> None:
        for gathered in turns:
            self._queue(gathered, origin)

    def _queue(self, gathered: CompleteTurn, origin: tuple[HostReference, ...] = ()) -> None:
        """Prepare a turn for the next batch, or report why it is none."""
        if gathered.refusal is not None:
            self._counts.skip_turn(gathered, gathered.refusal.code, gathered.refusal)
            return
        try:
            turn = self._turn(gathered, origin)
            prepared = prepare(self._target.session, turn)
        except (InvalidInput, LimitExceeded, NotCanonical) as refusal:
            self._counts.skip_turn(gathered, refusal.code, refusal)
            return
        if isinstance(prepared, SkippedTurn):
            self._target.batch.skip(gathered, prepared, self._counts)
            return
        title = self._titles.pop(gathered.conversation, None) if gathered.number == 1 else None
        self._target.batch.add(BatchedTurn(gathered, prepared, self._counts, title))

    def _turn(self, gathered: CompleteTurn, origin: tuple[HostReference, ...]) -> Turn:
        delivery = ending_of(gathered.messages)
        turn = f"import-{gathered.number}"
        if gathered.named is not None:
            turn, delivery = gathered.named.turn, gathered.named.delivery or delivery
        return Turn(
            turn=TurnId(turn),
            subject=self._target.subject,
            conversation=ConversationId(gathered.conversation),
            channel=self._target.channel,
            messages=gathered.messages,
            delivery=delivery,
            source=Source(protocol=PROTOCOLS[self._counts.format]),
            host_refs=list(origin),
        )
