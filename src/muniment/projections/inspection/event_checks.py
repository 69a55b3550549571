"""One event at rest, held to its proofs: header, columns, keys, cells, and the commitment of every field.

1. The header is the one that the leaf was made of, and the columns say what it says.
2. The envelope opens with every column of the row, and what it says can be decoded.
3. Words are there unless an event erased them, and then neither they nor their key are.
4. Every field that can be read is the one that the header commits to, and none that the header commits to is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

from muniment.errors import Corrupt, KeyMissing, StoreNewer
from muniment.events.message import part_label
from muniment.events.records import CONTENT_BODIES, WORDS, TurnContent, TurnMeta
from muniment.evidence.header import Header, commit, disclose
from muniment.governance.phases import Phase, phase_of, runs
from muniment.kernel.digest import Salts
from muniment.ledger.attached_files import require_attachments
from muniment.ledger.ledger import SPACE_STREAM, Ledger, OpenedEvent
from muniment.log.port import Reader, SealedRow
from muniment.projections.change_fold import NOTHING, Changes, lost_in_conversation
from muniment.projections.inspection.findings import FindingKind, Findings
from muniment.projections.inspection.seen import ReadEvent, StreamTail
from muniment.projections.space_words import is_lost
from muniment.projections.transcript import Transcript

# why the changes of a stream cannot be folded -> the finding, where it is the head's
HEAD_FINDINGS: dict[str, FindingKind] = {
    "head_missing": FindingKind.HEAD_MISSING,
    "head": FindingKind.HEAD_MISMATCH,
    "changes_missing": FindingKind.HEAD_MISMATCH,
}


class ExpectedContent(NamedTuple):
    """What should be left of the words of an event: nothing, or all but the messages that were erased alone."""

    erased: bool
    messages: frozenset[int] = NOTHING


class EventChecks:
    """Looks at events one by one."""

    def __init__(self, ledger: Ledger, transcript: Transcript, findings: Findings) -> None:
        self._ledger = ledger
        self._transcript = transcript
        self._findings = findings
        self._unfolded: set[int] = set()
        self._gone: dict[int, tuple[Changes, frozenset[int]]] = {}

    def look(self, reader: Reader, row: SealedRow) -> ReadEvent:
        """Look at an event; whatever is wrong with it is a finding."""
        self._findings.events += 1
        header = self._header(row)
        try:
            self._ledger.unsealed(row)
        except Corrupt as corrupt:
            self._findings.of(row, FindingKind.KEYS_DAMAGED, corrupt.problem)
            return ReadEvent(row, header, None)
        except KeyMissing:
            return self._look_again(row, header)
        return self._sealed(reader, row, header)

    def changes(self, reader: Reader, stream: int) -> Changes | None:
        """Return the changes of a stream, or None where they cannot be folded; what prevents it is a finding."""
        if stream in self._unfolded:
            return None
        try:
            return self._transcript.changes(reader, self._transcript.head(reader, stream))
        except (Corrupt, KeyMissing) as fault:
            self._unfolded.add(stream)
            kind = HEAD_FINDINGS.get(fault.problem or "")  # else it is the fault of an event, reported there
            if kind is not None:
                self._findings.of_stream(stream, kind, fault.problem)
            return None

    def count_erased(self, reader: Reader, tails: Iterable[StreamTail]) -> None:
        """Count the turns and the messages that are erased; of a stream that cannot be folded, none."""
        for tail in tails:
            changes = None if tail.stream == SPACE_STREAM else self.changes(reader, tail.stream)
            if changes is not None:
                erased = [run for run in runs(tail.turns, changes.steps) if run.phase is Phase.ERASED]
                self._findings.erased_turns += sum(run.last - run.first + 1 for run in erased)
                self._findings.erased_messages += sum(len(places) for places in changes.erased.values())

    def finish(self) -> None:
        """Say of streams whose changes cannot be folded that it is so, when nothing else says why."""
        for stream in self._unfolded if not self._findings.total else ():
            self._findings.of_stream(stream, FindingKind.UNATTESTED, "changes")

    def _header(self, row: SealedRow) -> Header | None:
        try:
            header, _ = self._ledger.header(row)
        except Corrupt as corrupt:
            self._findings.of(row, FindingKind.HEADER_MISMATCH, corrupt.problem)
            return None
        return header

    def _look_again(self, row: SealedRow, header: Header | None) -> ReadEvent:
        """Look at the present log: a rotation may have retired the key that an older snapshot was wrapped by."""
        with self._ledger.store.reader() as present:
            again = present.sealed(row.position)
            if again is not None:
                try:
                    self._ledger.unsealed(again)
                    return self._sealed(present, again, header)
                except (Corrupt, KeyMissing):
                    pass
        self._findings.of(row, FindingKind.KEYS_MISSING)
        return ReadEvent(row, header, None)

    def _sealed(self, reader: Reader, row: SealedRow, header: Header | None) -> ReadEvent:
        try:
            opened = self._ledger.open(row)
        except StoreNewer as newer:
            self._findings.of(row, FindingKind.RECORD_UNKNOWN, newer.problem)
            return ReadEvent(row, header, None)
        except Corrupt as corrupt:
            self._findings.of(row, FindingKind.RECORD_DAMAGED, corrupt.problem)
            return ReadEvent(row, header, None)
        told = dict(self._ledger.meta_fields(opened))
        if header is not None:
            self._compare(row, header, opened.meta_seed, told.items())
        if row.kind in CONTENT_BODIES:
            self._content(reader, opened, header, told.keys())
        elif row.content is not None or opened.key is not None:
            self._findings.of(row, FindingKind.CONTENT_LEFT, "no_content_in_this_kind")
        return ReadEvent(row, header, opened)

    # --- words --------------------------------------------------------------------------------------------------------

    def _content(self, reader: Reader, opened: OpenedEvent, header: Header | None, told: Iterable[str]) -> None:
        row = opened.row
        words = WORDS.get(type(opened.meta))
        expected = self._expected(reader, row)
        if words is not None and header is not None and header.fields.keys().isdisjoint(words):
            expected = ExpectedContent(erased=True)  # nothing was written
        is_whole = row.content is not None and opened.key is not None
        if expected is None:
            return  # that it is not known is a finding already
        if expected.erased:
            if row.content is not None or opened.key is not None:
                self._findings.of(row, FindingKind.CONTENT_LEFT)
            return
        if not is_whole:
            self._findings.of(row, FindingKind.CONTENT_MISSING)
            return
        try:
            salts, content = self._ledger.content(opened)
            fields = dict(self._ledger.content_fields(opened, content))
            if header is not None:
                self._compare(row, header, salts, fields.items())
            require_attachments(lambda: nullcontext(reader), row.position, salts, content)
        except Corrupt as corrupt:
            self._findings.of(row, FindingKind.CONTENT_DAMAGED, corrupt.problem)
            return
        if isinstance(opened.meta, TurnMeta) and isinstance(content, TurnContent):
            self._complete(opened.meta, content, expected, row)
        if header is not None:
            gone = tuple(f"{part_label(place, 0).rpartition('/')[0]}/" for place in expected.messages)
            for label in sorted(header.fields.keys() - fields.keys() - set(told)):
                if not label.startswith(gone):
                    self._findings.of(row, FindingKind.COMMITMENT_MISMATCH, "field_missing", label)

    def _expected(self, reader: Reader, row: SealedRow) -> ExpectedContent | None:
        """Return what should be left of the words of an event, or None when that cannot be told."""
        if row.stream == SPACE_STREAM:
            return ExpectedContent(erased=is_lost(self._ledger, reader, row, partial(self.changes, reader)))
        changes = self.changes(reader, row.stream)
        if changes is None:
            return None
        if row.turn_seq is None:
            return ExpectedContent(erased=row.position in self._lost(row.stream, changes))
        if phase_of(row.turn_seq, changes.steps) is Phase.ERASED:
            return ExpectedContent(erased=True)
        return ExpectedContent(erased=False, messages=changes.erased.get(row.turn_seq, NOTHING))

    def _lost(self, stream: int, changes: Changes) -> frozenset[int]:
        """Return the positions of the changes of a stream that have lost their content, worked out once a state."""
        known = self._gone.get(stream)
        if known is None or known[0] is not changes:
            known = self._gone[stream] = (changes, frozenset(lost_in_conversation(changes)))
        return known[1]

    def _complete(self, meta: TurnMeta, content: TurnContent, expected: ExpectedContent, row: SealedRow) -> None:
        if len(content.parts) != len(meta.messages):
            self._findings.of(row, FindingKind.CORRUPT_RECORD, "messages")
        for place in expected.messages:
            if place < len(content.parts) and content.parts[place]:
                self._findings.of(row, FindingKind.CONTENT_LEFT, "message", f"message/{place}")

    def _compare(self, row: SealedRow, header: Header, salts: Salts, fields: Iterable[tuple[str, bytes]]) -> None:
        for label, value in fields:
            if header.fields.get(label) != commit(disclose(salts, label, value)):
                self._findings.of(row, FindingKind.COMMITMENT_MISMATCH, label=label)
