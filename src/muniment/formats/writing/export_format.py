"""Export formats: one table from the name of a format to its writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from muniment.formats.writing.markdown import markdown
from muniment.formats.writing.openai import openai
from muniment.formats.writing.otel import otel
from muniment.formats.writing.pages import ExportedConversation


class ExportFormat(StrEnum):
    """The format of an exported conversation."""

    MARKDOWN = "markdown"
    OPENAI = "openai"
    OTEL = "otel"


class DocumentWriter(NamedTuple):
    """The media type of the document, and the function that yields its text in pieces."""

    media_type: str
    write: Callable[[ExportedConversation], Iterator[str]]


WRITERS: dict[ExportFormat, DocumentWriter] = {
    ExportFormat.MARKDOWN: DocumentWriter("text/markdown", markdown),
    ExportFormat.OPENAI: DocumentWriter("application/json", openai),
    ExportFormat.OTEL: DocumentWriter("application/jsonl", otel),
}
