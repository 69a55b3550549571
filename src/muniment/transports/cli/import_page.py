"""The report of an import on a page: the totals, what happened to each file, what was refused and where, what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.operations.importing.import_report import ImportedFile, ImportReport, RefusedLine, RefusedTurn
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle
from muniment.transports.cli.struct_page import members

SHOWN_MAX = 20
# reason in a report -> how a page says it, where the word itself does not read well
REASONS: dict[str, str] = {
    "archive_too_large": "the archive is too large",
    "beside_conversations": "no conversations of this export",
    "beside_database": "belongs to a database; read with it",
    "database_unreadable": "the database cannot be read",
    "duplicate": "a second file of this name",
    "file_damaged": "the file ends in the middle of it",
    "gzip_damaged": "the file is damaged: its end is missing",
    "file_cut": "the file is damaged: its end is missing",
    "link": "a link; links are not followed",
    "missing_field": "a field is missing",
    "nested_archive": "an archive in an archive",
    "not_a_file": "no regular file",
    "not_json": "no JSON",
    "packed_too_densely": "unpacks to far more than its size",
    "packed_unusually": "packed in a way that is not read",
    "path_outside": "its name leads out of the archive",
    "too_many": "too many",
    "too_many_members": "too many files in the archive",
    "turn_conflict": "differs from what an earlier import brought",
    "unknown_format": "no known format",
    "unknown_tables": "a database of no known format",
    "unknown_word": "an unknown word",
    "zip_damaged": "the archive is damaged",
}


def tell_import(report: ImportReport, page: OutputPage) -> None:
    """Write the report of an import."""
    page.facts([(name, StyledText(text)) for name, text in _totals(report) if text])
    if len(report.files) > 1:
        _tell_files(report.files, page)
    _tell_refused(report, page)
    page.line()
    if report.complete:
        page.line(StyledText("Complete: nothing was refused.", TextStyle.GOOD))
        return
    page.line(StyledText(f"Not complete: {_lost(report)}. What could be kept was kept.", TextStyle.BAD))
    for limit in sorted({each.limit for each in report.refused_turns if each.problem == "too_many" and each.limit}):
        page.line(
            StyledText(
                f"A turn may have {limit:,} messages. To allow more, repeat the import with "
                f"MUNIMENT_LIMITS=turn_messages_max={4 * limit}."
            )
        )


def _totals(report: ImportReport) -> list[tuple[str, str]]:
    other = {
        name: count
        for name in ("already_there", "repeated", "blank", "skipped", "refused")
        if (count := getattr(report.messages, name))
    }
    return [
        ("format", ", ".join(dict.fromkeys(each.format for each in report.files if each.format)) or str(report.format)),
        ("conversations", f"{report.conversations:,}"),
        ("turns committed", f"{report.turns_committed:,}"),
        ("turns already there", f"{report.turns_already_there:,}"),
        ("turns skipped", _by_reason(report.turns_skipped)),
        ("lines read", f"{report.lines_read:,}"),
        ("lines refused", _unless_zero(report.lines_refused)),
        ("messages read", f"{report.messages.read:,}" + (f" ({members(other)})" if other else "")),
        ("kept as JSON", members(report.kept_as_json)),
        ("left out", members(report.left_out)),
        ("replaced", "" if report.detection is None else members(_members_of(report.detection))),
    ]


def _members_of(struct: Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _tell_files(files: list[ImportedFile], page: OutputPage) -> None:
    page.line()
    rows = [
        [
            StyledText(each.file),
            StyledText("" if each.format is None else str(each.format.value)),
            StyledText(_unless_zero(each.conversations)),
            StyledText(_unless_zero(each.turns_committed)),
            StyledText(_unless_zero(each.turns_already_there)),
            _outcome(each),
        ]
        for each in files
    ]
    page.table(("file", "format", "conversations", "new turns", "already there", "outcome"), rows)


def _outcome(file: ImportedFile) -> StyledText:
    """Return what happened to a file in a few words."""
    if file.skipped is not None:
        return StyledText(f"skipped: {reason(file.skipped)}", TextStyle.FAINT)
    if file.refused is not None:
        return StyledText(f"REFUSED: {reason(file.refused)}", TextStyle.BAD)
    lost = [_counted(file.lines_refused, "line"), _counted(file.messages_refused, "message")]
    turns = sum(file.turns_skipped.values())
    told = " and ".join(filter(None, lost))
    parts = ["DAMAGED"] if file.damaged else []
    parts += [f"{told} refused"] if told else []
    parts += [f"{_counted(turns, 'turn')} skipped"] if turns else []
    return StyledText(", ".join(parts), TextStyle.BAD) if parts else StyledText("imported", TextStyle.GOOD)


def _tell_refused(report: ImportReport, page: OutputPage) -> None:
    lines = [_line_told(each) for each in report.refused_lines]
    turns = [_turn_told(each) for each in report.refused_turns]
    for title, told in (("refused", lines), ("turns skipped", turns)):
        if told:
            page.line()
            page.table(("file", "line", title), told[:SHOWN_MAX])
        if len(told) > SHOWN_MAX or (told and report.clipped):
            page.line(StyledText("There are more; --json lists up to 100, and counts all.", TextStyle.FAINT))


def _line_told(refused: RefusedLine) -> list[StyledText]:
    why = reason(refused.problem or refused.code)
    told = why if refused.at in {None, "line", "file"} else f"{refused.at}: {why}"
    return [StyledText(refused.file), StyledText(f"{refused.line:,}"), StyledText(told)]


def _turn_told(refused: RefusedTurn) -> list[StyledText]:
    why = reason(refused.reason)
    if refused.problem is not None:
        limit = "" if refused.limit is None else f" (limit {refused.limit:,})"
        why = f"{refused.reason}: {reason(refused.problem)}{limit}"
    told = f"turn {refused.number:,} of {refused.conversation}: {why}"
    return [StyledText(refused.file), StyledText(f"{refused.line:,}"), StyledText(told)]


def _lost(report: ImportReport) -> str:
    """Return what was refused, counted."""
    files = sum(each.refused is not None for each in report.files)
    damaged = sum(each.damaged and each.refused is None for each in report.files)
    turns = sum(report.turns_skipped.values())
    counts = [
        (files, "file", "refused"),
        (damaged, "file", "damaged"),
        (report.lines_refused, "line", "refused"),
        (report.messages_refused, "message", "refused"),
        (turns, "turn", "skipped"),
    ]
    return ", ".join(f"{_counted(count, noun)} {what}" for count, noun, what in counts if count)


def _by_reason(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason(name)} {count:,}" for name, count in counts.items())


def reason(word: str) -> str:
    """Return a reason as a page says it."""
    return REASONS.get(word, word if "." in word else word.replace("_", " "))


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}" if count else ""


def _unless_zero(count: int) -> str:
    return f"{count:,}" if count else ""


TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {ImportReport: tell_import}
