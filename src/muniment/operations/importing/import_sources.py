"""The import of everything that was given: file by file, with one report of what became of each.

A file in which nothing is understood is refused, and the others are imported. Where it is the only one, that is an
error: probably something else was meant.

Whoever interrupts an import is told how far it came (a note on the `KeyboardInterrupt`, with counts alone).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from muniment.declaration.session import Session
from muniment.errors import FileUnavailable, InvalidInput
from muniment.events.identity import Channel, SubjectId
from muniment.formats.reading.databases.database_items import DatabaseItems, is_database
from muniment.formats.reading.import_format import DATABASES, Format
from muniment.formats.reading.items import Items
from muniment.formats.reading.source_files import SourceFile, source_files
from muniment.operations.importing.import_file import FileImport, ImportTarget
from muniment.operations.importing.import_report import FileCounts, ImportReport, Refusals, report_of
from muniment.operations.importing.turn_batch import TurnBatch

GZIP = ".gz"
UNKNOWN_FORMAT = "unknown_format"
UNKNOWN_TABLES = "unknown_tables"  # of a database


def import_sources(
    session: Session, given: Sequence[BinaryIO | Path], asked: Format, channel: Channel, subject: SubjectId
) -> ImportReport:
    """Import every file in what was given; report, or raise `request.invalid` for one file without a known format."""
    refusals, batch = Refusals(), TurnBatch(session)
    target = ImportTarget(session, channel, subject, batch)
    alone = len(given) == 1 and not (isinstance(given[0], Path) and given[0].is_dir())
    files: list[FileCounts] = []
    taken: set[str] = set()
    try:
        for source in source_files(given):
            counts = FileCounts(source.name, refusals, asked)
            files.append(counts)
            if source.unread is not None:
                counts.leave_unread(source.unread)
            else:
                _import_stream(target, source, _named(source.name, taken), counts)
            if alone and counts.fault is not None:
                raise counts.fault
        batch.commit()
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(_where_it_stopped(files))
        raise
    if len(files) == 1 and files[0].refused in {UNKNOWN_FORMAT, UNKNOWN_TABLES}:
        raise InvalidInput(at="file", problem=files[0].refused, found=files[0].lines["read"] or None)
    return report_of(files, refusals, asked)


def _import_stream(target: ImportTarget, source: SourceFile, named: str, counts: FileCounts) -> None:
    """Import one file, or count why it was refused."""
    assert source.stream is not None, "a file that is read has a stream"
    try:
        with _items(source.stream, counts) as items:
            FileImport(target, named, counts).run(items)
    except FileUnavailable as fault:
        counts.fault = fault
        counts.refused = fault.problem or fault.code
    if counts.format is Format.AUTO and counts.lines["read"] and not counts.damaged:
        counts.refuse_whole(UNKNOWN_FORMAT)


def _items(stream: io.BufferedReader, counts: FileCounts) -> Items | DatabaseItems:
    """Return the items of a file. Its tables say which format a database is in; one in none of them is refused."""
    if not is_database(stream):
        return Items(stream)
    forms = {str(name): form for name, form in DATABASES.items() if counts.format in {Format.AUTO, name}}
    items = DatabaseItems(stream, forms)
    if items.found is None:
        counts.refuse_whole(UNKNOWN_TABLES)
    else:
        counts.format = Format(items.found)
    return items


def _named(file: str, taken: set[str]) -> str:
    """Return what conversations without an id are named after: the file, packed or not, but no other one's name."""
    plain = file.removesuffix(GZIP)
    named = file if plain in taken else plain
    taken.add(named)
    return named


def _where_it_stopped(files: Sequence[FileCounts]) -> str:
    lines = sum(each.lines["read"] for each in files)
    turns = sum(each.turns["committed"] + each.turns["already_there"] for each in files)
    conversations = sum(each.conversations for each in files)
    return (
        f"Stopped in file {len(files)} after {lines:,} records; the space has {turns:,} turns of "
        f"{conversations:,} conversations of them. Repeat the command to go on: it skips what is there."
    )
