"""Import memory that is kept as Markdown or exported by mem0: statements are candidates, judged as any others are.

The requester vouches for them, and the file is what they rest on: what was forgotten of a file does not come back from
it. An entry of a journal of ours is the item of its id. Where that is there already, nothing happens; where somebody
has changed what it says, that is a newer statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import SubjectId, check_given
from muniment.formats.memories.mem0_memories import noted
from muniment.formats.memories.memory_folders import MemoryFile, memory_files
from muniment.formats.memories.memory_notes import NotedStatement
from muniment.memory.candidate import Candidate
from muniment.memory.merging import MergeReason
from muniment.operations.memory.candidate_checks import check_candidate
from muniment.operations.memory.candidate_decisions import NOT_IN_USE
from muniment.operations.memory.remember import remember
from muniment.operations.notes.imported_notes import ImportedNotes, MemoryImport, RefusedStatement
from muniment.operations.notes.noted_candidates import candidate_of, known_outcome

REPORTED_MAX = 100  # lines of a file in each list; counts are always whole
RECORDED, DUPLICATES, REFUSED = "recorded", "duplicates", "refused"
# reason -> how it counts; all others are refusals
COUNTED_AS: dict[str, str] = {
    MergeReason.FREE_SLOT: RECORDED,
    MergeReason.NEWER: RECORDED,
    MergeReason.EXPIRED: RECORDED,
    NOT_IN_USE: DUPLICATES,
    MergeReason.SAME_TEXT: DUPLICATES,
    MergeReason.SAME_WORDS: DUPLICATES,
}


class NotesImport(Struct, frozen=True, kw_only=True):
    """Whose memory is imported, who vouches for it, in which run, and whether it is only tried."""

    subject: SubjectId
    requester: str
    run: str | None
    dry_run: bool


def import_notes(session: Session, given: Sequence[BinaryIO | Path], asked: NotesImport) -> MemoryImport:
    """Import all files; each batch of statements is one step, and a repeat adds nothing."""
    session.access.require_subjects(asked.subject)
    check_given(("subject", asked.subject), ("requester", asked.requester), ("run", asked.run))
    files = [_imported(session, file, asked) for file in memory_files(given)]
    return MemoryImport(
        dry_run=asked.dry_run,
        recorded=sum(file.recorded for file in files),
        duplicates=sum(file.duplicates for file in files),
        refused=sum(file.refused for file in files),
        not_understood=sum(file.not_understood for file in files),
        files=files,
    )


def _imported(session: Session, file: MemoryFile, asked: NotesImport) -> ImportedNotes:
    if file.content is None:
        return ImportedNotes(name=file.name, unread=file.reason)
    notes = noted(file.name, file.content, asked.subject)
    if any(flaw.line == 0 for flaw in notes.flaws):
        return ImportedNotes(name=file.name, unread=notes.flaws[0].reason)
    counts: Counter[str] = Counter()
    refused: list[RefusedStatement] = []
    for statement, reason in _outcomes(session, file.name, notes.statements, asked):
        counts[COUNTED_AS.get(reason, REFUSED)] += 1
        if reason not in COUNTED_AS:
            refused.append(RefusedStatement(line=statement.line, reason=reason))
    return ImportedNotes(
        name=file.name,
        statements=len(notes.statements),
        recorded=counts[RECORDED],
        duplicates=counts[DUPLICATES],
        refused=counts[REFUSED],
        not_understood=len(notes.flaws),
        refused_lines=sorted(refused, key=lambda one: one.line)[:REPORTED_MAX],
        flaws=notes.flaws[:REPORTED_MAX],
    )


def _outcomes(
    session: Session, origin: str, statements: Sequence[NotedStatement], asked: NotesImport
) -> Iterator[tuple[NotedStatement, str]]:
    """Yield every statement with the reason of what became of it, in batches."""
    size = session.space.limits.candidates_max
    for start in range(0, len(statements), size):
        batch: list[tuple[NotedStatement, Candidate]] = []
        chosen = [(each, candidate_of(each, origin, asked.subject)) for each in statements[start : start + size]]
        with session.space.ledger.reader() as reader:
            outcomes = [(each, known_outcome(session.space, reader, each, candidate)) for each, candidate in chosen]
        for statement, candidate in outcomes:
            if isinstance(candidate, str):
                yield statement, candidate
                continue
            try:
                check_candidate(session, candidate, "statement")
            except (InvalidInput, LimitExceeded) as refused:
                yield statement, refused.problem or refused.code
            else:
                batch.append((statement, candidate))
        if batch:
            given = [candidate for _, candidate in batch]
            report = remember(session, given, asked.requester, asked.run, dry_run=asked.dry_run)
            for (statement, _), decided in zip(batch, report.candidates, strict=True):
                yield statement, decided.reason
