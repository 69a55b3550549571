"""The formats of documents: one table from the name of a format to what makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from muniment.formats.writing.markdown import markdown
from muniment.formats.writing.openai import openai
from muniment.formats.writing.otel import otel
from muniment.formats.writing.pages import Told


class ExportFormat(StrEnum):
    """How a conversation is written down."""

    MARKDOWN = "markdown"
    OPENAI = "openai"
    OTEL = "otel"


class Writing(NamedTuple):
    """What the document is, and what makes it piece by piece."""

    media_type: str
    write: Callable[[Told], Iterator[str]]


WRITINGS: dict[ExportFormat, Writing] = {
    ExportFormat.MARKDOWN: Writing("text/markdown", markdown),
    ExportFormat.OPENAI: Writing("application/json", openai),
    ExportFormat.OTEL: Writing("application/jsonl", otel),
}
