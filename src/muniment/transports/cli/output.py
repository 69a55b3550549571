"""Where a command writes: a page for people, JSON for programs, a document for a file."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import IO

import msgspec

from muniment.declaration.operation import ResultTable
from muniment.errors import FileUnavailable
from muniment.transports.cli.plain_page import OutputPage, PlainPage


def write_json(value: object) -> None:
    """Write one JSON document: a line in a pipe, indented at a terminal."""
    data = msgspec.json.encode(value)
    if sys.stdout.isatty():
        data = msgspec.json.format(data, indent=2)
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def write_csv(table: ResultTable) -> None:
    """Write rows as CSV under the names of their columns; nothing is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    sys.stdout.buffer.write(text.getvalue().encode())
    sys.stdout.buffer.flush()


def page_on(file: IO[str]) -> OutputPage:
    """Return a page for a file: plain text, or styled for a terminal."""
    if not file.isatty():
        return PlainPage(file)
    from muniment.transports.cli.rich_page import RichPage  # noqa: PLC0415 - nothing in a pipe pays for colours

    return RichPage(file)


def require_writable(path: Path) -> None:
    """Raise for a path that cannot be written, before the log records that it was."""
    try:
        there = os.access(path, os.F_OK)
        if path.is_dir():
            raise IsADirectoryError
        if not there and not path.parent.is_dir():
            raise FileNotFoundError
        if not os.access(path if there else path.parent, os.W_OK):
            raise PermissionError
    except (OSError, ValueError) as fault:
        raise FileUnavailable.because(fault, at="out") from None


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(text.encode())
    except (OSError, ValueError) as fault:
        raise FileUnavailable.because(fault, at="out") from None
