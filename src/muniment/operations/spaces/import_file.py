"""The import of one file: turns are committed in batches, and everything that did not become a turn is reported.

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

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, MunimentError, NotCanonical, TurnConflict
from muniment.events.identity import Channel, ConversationId, SubjectId, TurnId, check_name
from muniment.events.message import Message, Role
from muniment.events.references import HostReference
from muniment.events.turn import Delivery, Source, Turn
from muniment.formats.reading.continuations import Continuations, OpenConversation
from muniment.formats.reading.import_format import PARSERS, PROTOCOLS, Format, sniff
from muniment.formats.reading.items import Items
from muniment.formats.reading.parsed_item import ParsedItem, ParsingNotes
from muniment.formats.reading.turn_assembler import CompleteTurn, TurnAssembler, size_of, turns_of
from muniment.governance.detection.before_commit import Replacements, add_replacements
from muniment.ledger.ledger import Writer
from muniment.operations.transcripts.commit import (
    ALREADY_COMMITTED,
    ALREADY_ERASED,
    CommitReceipt,
    PreparedTurn,
    SkippedTurn,
    append,
    prepare,
)

BATCH_TURNS_MAX = 128
BATCH_BYTES_MAX = 4 * 2**20
REPORTED_MAX = 100
PROGRESS_LINES = 500
FILE_DAMAGED = "file_damaged"
UNNAMED = "import"
TURN_CONFLICT = "turn_conflict"


class RefusedLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line that was not taken, or a message in it, and why; never what it said. `at` leads from the line inwards.

    Of a file that is no JSON Lines, the conversations are counted instead of lines.
    """

    line: int
    code: str
    at: str | None = None
    problem: str | None = None


class RefusedTurn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn that was not committed: where it began in the file, its number in the conversation, and why."""

    line: int
    conversation: ConversationId
    number: int
    reason: str


class ImportReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an import did. `turns_skipped` counts by reason; `clipped`: the lists were cut, the counts were not.

    `refused_lines` has the messages that were refused beside the lines. `kept_as_json` counts, by kind, content of a
    type that is not known and was kept as JSON; `left_out` what was not kept. `detection` is as in the
    report of a commit, for all turns that were committed.
    """

    format: Format
    conversations: int
    turns_committed: int
    turns_already_there: int
    turns_skipped: dict[str, int]
    lines_read: int
    lines_refused: int
    messages_refused: int
    kept_as_json: dict[str, int]
    left_out: dict[str, int]
    refused_lines: list[RefusedLine]
    refused_turns: list[RefusedTurn]
    clipped: bool
    detection: Replacements | None = None


def name_of(file: BinaryIO) -> str:
    """Return the name of the file behind a stream; conversations without an id are named after it."""
    name = getattr(file, "name", None)
    return Path(name).name if isinstance(name, str) else UNNAMED


class Importing:
    """One file on its way into a space."""

    def __init__(self, session: Session, file: BinaryIO, asked: Format, channel: Channel, subject: SubjectId) -> None:
        self._session = session
        self._file = file
        self._file_name = name_of(file)
        self._format = asked
        self._channel = channel
        self._subject = subject
        self._grouping = TurnAssembler(session.space.limits)
        self._continuing = Continuations()
        self._batch: dict[tuple[str, TurnId], tuple[CompleteTurn, PreparedTurn]] = {}
        self._batch_bytes = 0
        self._report = _Counts()

    def run(self) -> ImportReport:
        """Read the file to its end, commit what is complete, and report."""
        with Items(self._file) as lines:
            for number, line in lines:
                self._report.lines_read += 1
                if isinstance(line, MunimentError):
                    self._report.refuse_line(number, line)
                else:
                    self._take(number, line)
                if self._report.lines_read % PROGRESS_LINES == 0:
                    self._session.progress("import", lines.bytes_done, lines.bytes_total)
            if self._format is Format.AUTO and self._report.lines_read:
                raise InvalidInput(at="file", problem="unknown_format", found=self._report.lines_read)
            self._finish(damaged=lines.damaged)
            self._commit()
            self._session.progress("import", lines.bytes_total, lines.bytes_total)
        return self._report.imported(self._format)

    def _take(self, number: int, line: bytes) -> None:
        """Understand a line and queue the turns that are complete because of it, or refuse it."""
        try:
            spoken = self._parsed(line)
        except (InvalidInput, LimitExceeded) as refusal:
            self._report.refuse_line(number, refusal)
            return
        if spoken.notes is not None:
            self._report.note(number, spoken.notes)
        for each in (spoken, *spoken.branches):
            try:
                self._hear(number, each, len(line))
            except (InvalidInput, LimitExceeded) as refusal:
                self._report.refuse_line(number, refusal)

    def _hear(self, number: int, spoken: ParsedItem, size: int) -> None:
        """Queue the turns that are complete because of what was said."""
        unnamed = f"{self._file_name.removesuffix('.gz')}#{number}"
        name = unnamed if spoken.conversation is None else spoken.conversation
        check_name(name, at="conversation_id")
        if spoken.answers or (spoken.whole and self._format is Format.ANTHROPIC):
            for waiting in self._continuing.add(spoken, unnamed, number, size):
                self._queue_all(self._told(waiting))
        elif spoken.whole:
            self._queue_all(self._turns_of(name, spoken.messages, number), spoken.origin)
        else:
            for message in spoken.messages:
                self._queue_all(self._grouping.add(name, message, number, size, spoken.named))

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
            self._report.refuse_turn(gathered, FILE_DAMAGED)
        else:
            self._queue(gathered)

    def _told(self, waiting: OpenConversation) -> Iterable[CompleteTurn]:
        return self._turns_of(waiting.conversation, waiting.messages, waiting.item)

    def _turns_of(self, name: str, messages: list[Message], number: int) -> Iterable[CompleteTurn]:
        return turns_of(name, messages, number, sum(map(size_of, messages)), self._session.space.limits)

    def _queue_all(self, turns: Iterable[CompleteTurn], origin: tuple[HostReference, ...] = ()) -> None:
        for gathered in turns:
            self._queue(gathered, origin)

    def _parsed(self, line: bytes) -> ParsedItem:
        if self._format is not Format.AUTO:
            return PARSERS[self._format](line)
        self._format, spoken = sniff(line)
        return spoken

    def _queue(self, gathered: CompleteTurn, origin: tuple[HostReference, ...] = ()) -> None:
        """Prepare a turn for the next batch, or report why it is none."""
        if gathered.refusal is not None:
            self._report.refuse_turn(gathered, gathered.refusal.code)
            return
        try:
            turn = self._turn(gathered, origin)
            prepared = prepare(self._session, turn)
        except (InvalidInput, LimitExceeded, NotCanonical) as refusal:
            self._report.refuse_turn(gathered, refusal.code)
            return
        if isinstance(prepared, SkippedTurn):
            self._report.refuse_turn(gathered, prepared.reason)
            return
        place = (gathered.conversation, turn.turn)
        if place in self._batch:  # a plan must see the turn it repeats
            self._commit()
        self._batch[place] = (gathered, prepared)
        self._batch_bytes += gathered.bytes
        if len(self._batch) >= BATCH_TURNS_MAX or self._batch_bytes >= BATCH_BYTES_MAX:
            self._commit()

    def _turn(self, gathered: CompleteTurn, origin: tuple[HostReference, ...]) -> Turn:
        said_by_users_alone = all(message.role is Role.USER for message in gathered.messages)
        delivery = Delivery.USER_ONLY if said_by_users_alone else Delivery.DELIVERED
        turn = f"import-{gathered.number}"
        if gathered.named is not None:
            turn, delivery = gathered.named.turn, gathered.named.delivery or delivery
        return Turn(
            turn=TurnId(turn),
            subject=self._subject,
            conversation=ConversationId(gathered.conversation),
            channel=self._channel,
            messages=gathered.messages,
            delivery=delivery,
            source=Source(protocol=PROTOCOLS[self._format]),
            host_refs=list(origin),
        )

    def _commit(self) -> None:
        """Commit the batch in one transaction and count what became of each turn."""
        batch = list(self._batch.values())
        if not batch:
            return

        def plan(writer: Writer) -> list[CommitReceipt | None]:
            return [_planned(prepared, writer) for _, prepared in batch]

        outcomes = self._session.space.ledger.transact(plan)
        for (gathered, _), outcome in zip(batch, outcomes, strict=True):
            if outcome is None:
                self._report.refuse_turn(gathered, TURN_CONFLICT)
            else:
                self._report.count(gathered, outcome)
        self._batch, self._batch_bytes = {}, 0


def _planned(prepared: PreparedTurn, writer: Writer) -> CommitReceipt | None:
    """Run one plan of a batch; a conflict is found before anything is appended and leaves the others alone."""
    try:
        return append(prepared, writer)
    except TurnConflict:
        return None


class _Counts:
    """What an import did so far."""

    def __init__(self) -> None:
        self.lines_read = 0
        self._lines_refused = 0
        self._conversations = 0
        self._committed = 0
        self._already = 0
        self._skipped: dict[str, int] = {}
        self._lines: list[RefusedLine] = []
        self._turns: list[RefusedTurn] = []
        self._turns_refused = 0
        self._messages_refused = 0
        self._kept_as_json: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._detection: Replacements | None = None

    def count(self, gathered: CompleteTurn, outcome: CommitReceipt) -> None:
        assert outcome.committed or outcome.reason in {ALREADY_COMMITTED, ALREADY_ERASED}, "a plan keeps or finds"
        self._conversations += gathered.number == 1
        self._committed += outcome.committed
        self._already += not outcome.committed
        if outcome.detection is not None:
            self._detection = add_replacements(self._detection, outcome.detection)

    def note(self, line: int, notes: ParsingNotes) -> None:
        self._kept_as_json += notes.kept_as_json
        self._left_out += notes.left_out
        self._messages_refused += len(notes.refused)
        for error in notes.refused:
            self._list(line, error)

    def refuse_line(self, line: int, error: MunimentError) -> None:
        self._lines_refused += 1
        self._list(line, error)

    def _list(self, line: int, error: MunimentError) -> None:
        if len(self._lines) < REPORTED_MAX:
            self._lines.append(RefusedLine(line=line, code=error.code, at=error.at, problem=error.problem))

    def refuse_turn(self, gathered: CompleteTurn, reason: str) -> None:
        self._turns_refused += 1
        self._conversations += gathered.number == 1
        self._skipped[reason] = self._skipped.get(reason, 0) + 1
        if len(self._turns) < REPORTED_MAX:
            self._turns.append(
                RefusedTurn(
                    line=gathered.line,
                    conversation=ConversationId(gathered.conversation),
                    number=gathered.number,
                    reason=reason,
                )
            )

    def imported(self, found: Format) -> ImportReport:
        return ImportReport(
            format=found,
            conversations=self._conversations,
            turns_committed=self._committed,
            turns_already_there=self._already,
            turns_skipped=self._skipped,
            lines_read=self.lines_read,
            lines_refused=self._lines_refused,
            messages_refused=self._messages_refused,
            kept_as_json=dict(self._kept_as_json),
            left_out=dict(self._left_out),
            refused_lines=self._lines,
            refused_turns=self._turns,
            clipped=self._lines_refused + self._messages_refused > len(self._lines)
            or self._turns_refused > len(self._turns),
            detection=self._detection,
        )
