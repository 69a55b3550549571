"""The report about an import of memory that is kept as Markdown."""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.operation import JudgedReport
from muniment.errors import Kind
from muniment.formats.memories.memory_notes import FlawedNote


class RefusedStatement(Struct, frozen=True, kw_only=True):
    """A statement that became no item: where it begins, and why."""

    line: int
    reason: str


class ImportedNotes(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a file: its statements are `recorded`, were there before (`duplicates`), or are `refused`.

    `unread` says why the whole file was not read. `refused_lines` and `flaws` list the first 100 of their kind;
    `not_understood` counts all lines that are no statement.
    """

    name: str
    statements: int = 0
    recorded: int = 0
    duplicates: int = 0
    refused: int = 0
    not_understood: int = 0
    unread: str | None = None
    refused_lines: list[RefusedStatement] = []
    flaws: list[FlawedNote] = []


class MemoryImport(JudgedReport, frozen=True, kw_only=True, omit_defaults=True):
    """What became of each file, in their order, and of all statements; of a dry run, what would become of them."""

    dry_run: bool
    recorded: int
    duplicates: int
    refused: int
    not_understood: int
    files: list[ImportedNotes]

    @property
    def verdict(self) -> Kind | None:
        """Say that something is wrong where a file was not read."""
        return Kind.INVALID if any(file.unread is not None for file in self.files) else None
