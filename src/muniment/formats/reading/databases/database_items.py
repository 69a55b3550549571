"""SQLite databases of other programs as items, read without a change to them.

A format that is kept in a database says which tables it has and how its rows become items (`DatabaseForm`). An item is
a JSON document as the parser of the format takes it; its number is that of a row, and reports name it.

Nothing is written beside the database, no writer is kept waiting, and what is read is one state of it:

| the database | is read |
|---|---|
| has a rollback journal mode, and no journal beside it | in place, read only |
| is written ahead, and open elsewhere (`-shm` is there) | in place, read only |
| any other, and a stream that is no file | as a copy, with the log or journal beside it, in a temporary folder |
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import apsw

from muniment.errors import FileUnavailable, MunimentError

MAGIC = b"SQLite format 3\x00"
MODE_PLACE = 18  # the byte of the header that says how the database is written
WRITTEN_AHEAD = 2
BUSY_MS = 10_000
BESIDE = ("-wal", "-journal")

Database = apsw.Connection
NumberedItem = tuple[int, bytes | MunimentError]


class DatabaseForm(NamedTuple):
    """A format in a database: the tables that it has, and what reads its items in a stable order."""

    tables: frozenset[str]
    items: Callable[[Database], Iterator[NumberedItem]]


def is_database(stream: io.BufferedReader) -> bool:
    """Tell whether a stream begins as an SQLite database does; nothing is consumed."""
    try:
        return stream.peek(len(MAGIC))[: len(MAGIC)] == MAGIC
    except (EOFError, OSError, ValueError):
        return False


class DatabaseItems:
    """The items of a database in one of several formats, in a `with` statement, as `Items` has those of a text.

    `found` is the first of the formats whose tables are there; without one there are no items.
    """

    damaged = False

    def __init__(self, stream: io.BufferedReader, forms: Mapping[str, DatabaseForm]) -> None:
        self._held = ExitStack()
        try:
            self._connection = self._held.enter_context(closing(_opened(stream, self._held)))
            self._connection.set_busy_timeout(BUSY_MS)
            self._connection.execute("BEGIN")  # one state of the database, however long reading takes
            tables = {
                name for (name,) in self._connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            }
            self.bytes_total = self._connection.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).get
        except (apsw.Error, OSError, UnicodeError) as fault:
            self._held.close()
            raise _unreadable(fault) from None
        self.found = next((name for name, form in forms.items() if form.tables <= tables), None)
        self._form = None if self.found is None else forms[self.found]

    @property
    def bytes_done(self) -> int:
        """How many bytes were read: not known before the end."""
        return 0

    def __iter__(self) -> Iterator[NumberedItem]:
        """Yield every item with the number of its row."""
        if self._form is None:
            return
        try:
            yield from self._form.items(self._connection)
        except (apsw.Error, UnicodeError) as fault:  # of SQLite, or text in it that is none
            raise _unreadable(fault) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()


def _opened(stream: io.BufferedReader, held: ExitStack) -> apsw.Connection:
    """Open a database where it is, or a copy of it."""
    path = _path_of(stream)
    if path is not None and _is_safe_in_place(stream, path):
        return apsw.Connection(
            f"{path.absolute().as_uri()}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
    folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="muniment-import-")))
    copied = folder / "database"
    with copied.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    for ending in BESIDE if path is not None else ():
        beside = Path(f"{path}{ending}")
        if beside.is_file():
            shutil.copyfile(beside, f"{copied}{ending}")
    return apsw.Connection(str(copied))


def _path_of(stream: io.BufferedReader) -> Path | None:
    """Return the path of the file that a stream reads, or None for any other stream."""
    raw = stream.raw
    return (
        Path(raw.name)
        if isinstance(raw, io.FileIO) and isinstance(raw.name, str) and Path(raw.name).is_file()
        else None
    )


def _is_safe_in_place(stream: io.BufferedReader, path: Path) -> bool:
    is_ahead = stream.peek(MODE_PLACE + 1)[MODE_PLACE] == WRITTEN_AHEAD
    return Path(f"{path}-shm").exists() if is_ahead else not Path(f"{path}-journal").exists()


def _unreadable(fault: Exception) -> FileUnavailable:
    if isinstance(fault, OSError):
        return FileUnavailable.because(fault, at="file")
    return FileUnavailable(at="file", problem="database_unreadable")
