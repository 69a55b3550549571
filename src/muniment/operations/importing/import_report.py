"""What became of every line, message and turn of an import; nothing is left out of the counts.

| counted | equals |
|---|---|
| lines read | lines kept + lines refused |
| messages read | messages committed + already there + repeated + blank + skipped + refused |
| turns found | turns committed + already there + skipped |

Of a file that is no JSON Lines, the conversations are counted instead of lines. A refusal says in which file and line,
and why; never what was said there. Lists are cut at `REPORTED_MAX`, counts never.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from muniment.declaration.operation import JudgedReport
from muniment.errors import FileUnavailable, Kind, MunimentError
from muniment.events.identity import ConversationId
from muniment.formats.reading.import_format import Format
from muniment.formats.reading.parsed_item import ParsingNotes
from muniment.formats.reading.turn_assembler import CompleteTurn
from muniment.formats.reading.zip_members import Unread
from muniment.governance.admission import SkipReason
from muniment.governance.detection.before_commit import Replacements, add_replacements
from muniment.operations.transcripts.commit import ALREADY_COMMITTED, ALREADY_ERASED, CommitReceipt, PreparedTurn

REPORTED_MAX = 100
NOTHING_TO_KEEP = frozenset(SkipReason)  # a turn that says nothing is no loss


class RefusedLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line that was not taken, or a message in it, and why; never what it said. `at` leads from the line inwards."""

    file: str
    line: int
    code: str
    at: str | None = None
    problem: str | None = None


class RefusedTurn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn that was not committed: where it began in the file, its number in the conversation, and why.

    For a turn above a limit, `problem` and `limit` say which.
    """

    file: str
    line: int
    conversation: ConversationId
    number: int
    reason: str
    problem: str | None = None
    limit: int | None = None


class MessageCounts(Struct, frozen=True, kw_only=True):
    """What became of the messages that were read; the others add up to `read`.

    `repeated`: a request repeats its conversation. `blank`: says nothing, in a turn that was committed. `skipped`: in a
    turn in which nothing is to be kept.
    """

    read: int
    committed: int
    already_there: int
    repeated: int
    blank: int
    skipped: int
    refused: int


class ImportedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one file. `skipped` or `refused` says why it was not read, `damaged` that its end was missing."""

    file: str
    format: Format | None = None
    skipped: str | None = None
    refused: str | None = None
    damaged: bool = False
    conversations: int = 0
    lines_read: int = 0
    lines_refused: int = 0
    messages_refused: int = 0
    turns_committed: int = 0
    turns_already_there: int = 0
    turns_skipped: dict[str, int] = {}


class ImportReport(JudgedReport, frozen=True, kw_only=True, omit_defaults=True):
    """What an import did.

    `complete`: everything that the files say is in the space; no file, line, message or turn was refused, and no file
    was damaged. `turns_skipped` counts by reason; `messages` says what became of each message, `messages_refused`
    counts those of lines that were kept. `kept_as_json` counts, by kind, content of a type that is not known and was
    kept as JSON; `left_out` what was not kept. `clipped`: the lists of refusals were cut, the counts were not.
    `detection` is as in the report of a commit, for all turns that were committed. `format` is that of the first file
    that was read.
    """

    complete: bool
    format: Format
    conversations: int
    turns_committed: int
    turns_already_there: int
    turns_skipped: dict[str, int]
    lines_read: int
    lines_kept: int
    lines_refused: int
    messages: MessageCounts
    messages_refused: int
    kept_as_json: dict[str, int]
    left_out: dict[str, int]
    files: list[ImportedFile]
    refused_lines: list[RefusedLine]
    refused_turns: list[RefusedTurn]
    clipped: bool
    detection: Replacements | None = None

    @property
    def verdict(self) -> Kind | None:
        """Return that a file was damaged, that something was refused, or None for a complete import."""
        if self.complete:
            return None
        return Kind.CORRUPT if any(each.damaged for each in self.files) else Kind.INVALID


class Refusals:
    """The refusals of an import, as many as a report lists."""

    def __init__(self) -> None:
        self.lines: list[RefusedLine] = []
        self.turns: list[RefusedTurn] = []
        self._not_listed: Counter[str] = Counter()  # by file

    @property
    def clipped(self) -> bool:
        """Whether there were more."""
        return self._not_listed.total() > 0

    def add_line(self, file: str, line: int, error: MunimentError) -> None:
        """List a line, or a message in it."""
        if len(self.lines) >= REPORTED_MAX:
            self._not_listed[file] += 1
            return
        self.lines.append(RefusedLine(file=file, line=line, code=error.code, at=error.at, problem=error.problem))

    def add_turn(self, file: str, gathered: CompleteTurn, reason: str, error: MunimentError | None) -> None:
        """List a turn."""
        if len(self.turns) >= REPORTED_MAX:
            self._not_listed[file] += 1
            return
        refused = RefusedTurn(
            file=file,
            line=gathered.line,
            conversation=ConversationId(gathered.conversation),
            number=gathered.number,
            reason=reason,
            problem=None if error is None else error.problem,
            limit=None if error is None else error.limit,
        )
        self.turns.append(refused)

    def forget_lines(self, file: str) -> None:
        """Drop the lines of a file that is refused as a whole."""
        self.lines = [each for each in self.lines if each.file != file]
        del self._not_listed[file]


class FileCounts:
    """What an import of one file did so far."""

    def __init__(self, file: str, refusals: Refusals, asked: Format) -> None:
        self.file = file
        self.format = asked
        self.skipped: str | None = None
        self.refused: str | None = None
        self.fault: FileUnavailable | None = None
        self.damaged = False
        self.lines: Counter[str] = Counter()
        self.messages: Counter[str] = Counter()
        self.turns: Counter[str] = Counter()
        self.turns_skipped: Counter[str] = Counter()
        self.conversations = 0
        self.messages_refused = 0
        self.kept_as_json: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.detection: Replacements | None = None
        self._refusals = refusals

    @property
    def is_complete(self) -> bool:
        """Whether everything that the file says is in the space."""
        lost = self.turns_skipped.keys() - NOTHING_TO_KEEP
        return not (self.refused or self.damaged or self.lines["refused"] or self.messages_refused or lost)

    def leave_unread(self, unread: Unread) -> None:
        """Keep why the file was not read."""
        self.format = Format.AUTO
        self.fault = unread.fault
        if unread.is_skipped:
            self.skipped = unread.reason
        else:
            self.refused = unread.reason

    def refuse_whole(self, reason: str) -> None:
        """Refuse the file in place of its lines."""
        self.refused = reason
        self._refusals.forget_lines(self.file)

    def refuse_line(self, line: int, error: MunimentError) -> None:
        """Count a line that was not taken."""
        self.lines["refused"] += 1
        self._refusals.add_line(self.file, line, error)

    def refuse_messages(self, line: int, error: MunimentError, count: int) -> None:
        """Count messages of a line that were not taken, though the line was."""
        self.messages_refused += count
        self._refusals.add_line(self.file, line, error)

    def note(self, line: int, notes: ParsingNotes) -> None:
        """Count what a parser noted."""
        self.kept_as_json += notes.kept_as_json
        self.left_out += notes.left_out
        self.messages["read"] += len(notes.refused)
        self.messages["refused"] += len(notes.refused)
        for error in notes.refused:
            self.refuse_messages(line, error, 1)

    def count(self, gathered: CompleteTurn, prepared: PreparedTurn | None, outcome: CommitReceipt) -> None:
        """Count a turn that was committed, or is there; of one that was not prepared nothing would be kept."""
        assert outcome.committed or outcome.reason in {ALREADY_COMMITTED, ALREADY_ERASED}, "a plan keeps or finds"
        self.conversations += gathered.number == 1
        kept = 0 if prepared is None else len(prepared.kept.meta.messages)
        blank = gathered.messages_count - kept
        self.messages["blank"] += blank
        self.messages["committed" if outcome.committed else "already_there"] += gathered.messages_count - blank
        self.turns["committed" if outcome.committed else "already_there"] += 1
        if outcome.detection is not None:
            self.detection = add_replacements(self.detection, outcome.detection)

    def skip_turn(self, gathered: CompleteTurn, reason: str, error: MunimentError | None = None) -> None:
        """Count a turn that was not committed."""
        self.conversations += gathered.number == 1
        self.turns_skipped[reason] += 1
        self.messages["skipped" if reason in NOTHING_TO_KEEP else "refused"] += gathered.messages_count
        self._refusals.add_turn(self.file, gathered, reason, error)

    def imported(self) -> ImportedFile:
        """Return what became of the file."""
        return ImportedFile(
            file=self.file,
            format=None if self.format is Format.AUTO else self.format,
            skipped=self.skipped,
            refused=self.refused,
            damaged=self.damaged,
            conversations=self.conversations,
            lines_read=self.lines["read"],
            lines_refused=self.lines["refused"],
            messages_refused=self.messages_refused,
            turns_committed=self.turns["committed"],
            turns_already_there=self.turns["already_there"],
            turns_skipped=dict(self.turns_skipped),
        )


def report_of(files: list[FileCounts], refusals: Refusals, asked: Format) -> ImportReport:
    """Return the report of all files."""
    lines, messages, turns, skipped, kept_as_json, left_out = (
        sum((getattr(each, name) for each in files), Counter[str]())
        for name in ("lines", "messages", "turns", "turns_skipped", "kept_as_json", "left_out")
    )
    detection: Replacements | None = None
    for each in files:
        if each.detection is not None:
            detection = add_replacements(detection, each.detection)
    return ImportReport(
        complete=all(each.is_complete for each in files),
        format=next((each.format for each in files if each.format is not Format.AUTO), asked),
        conversations=sum(each.conversations for each in files),
        turns_committed=turns["committed"],
        turns_already_there=turns["already_there"],
        turns_skipped=dict(skipped),
        lines_read=lines["read"],
        lines_kept=lines["read"] - lines["refused"],
        lines_refused=lines["refused"],
        messages=MessageCounts(**{name: messages[name] for name in MessageCounts.__struct_fields__}),
        messages_refused=sum(each.messages_refused for each in files),
        kept_as_json=dict(kept_as_json),
        left_out=dict(left_out),
        files=[each.imported() for each in files],
        refused_lines=refusals.lines,
        refused_turns=refusals.turns,
        clipped=refusals.clipped,
        detection=detection,
    )
