"""What a transcript that was never asked before refuses, and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muniment.errors import Kind, MunimentError
from muniment.log.port import Reader
from muniment.projections.transcript import Transcript
from tests.log.ledgers import Book


def refusal(book: Book, read: Callable[[Transcript, Reader], object]) -> tuple[str | None, str | None]:
    """Return what a transcript that is made again says of a log that is not whole."""
    with pytest.raises(MunimentError) as refused, book.ledger.reader() as reader:
        read(Transcript(book.ledger), reader)
    assert refused.value.kind is Kind.CORRUPT
    return refused.value.at, refused.value.problem
