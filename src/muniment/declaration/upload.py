"""What a caller gave as an upload, as what an operation reads: one stream, or several streams and paths."""

from __future__ import annotations

import contextlib
import io
import typing
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from muniment.errors import FileUnavailable, InvalidInput


@contextlib.contextmanager
def reading(upload: object, at: str) -> Iterator[BinaryIO]:
    """Give an upload for reading; a file that is opened here is closed here."""
    if upload is None:
        raise InvalidInput(at=at, problem="missing_field")
    if isinstance(upload, bytes):
        yield io.BytesIO(upload)
    elif isinstance(upload, str | PathLike):
        try:
            file = Path(upload).open("rb")  # noqa: SIM115 - closed below
        except (OSError, ValueError) as fault:
            raise FileUnavailable.because(fault, at=at) from None
        with file:
            yield file
    elif isinstance(upload, io.IOBase) and not isinstance(upload, io.TextIOBase):
        yield typing.cast("BinaryIO", upload)
    else:
        raise InvalidInput(at=at, problem="wrong_type")


def named_sources(upload: object, at: str) -> list[BinaryIO | Path]:
    """Return uploads as streams and paths; nothing is opened."""
    several = list(upload) if isinstance(upload, list | tuple) else [upload]
    sources: list[BinaryIO | Path] = []
    for one in several:
        if one is None or one == "":
            raise InvalidInput(at=at, problem="missing_field")
        if isinstance(one, bytes):
            sources.append(io.BytesIO(one))
        elif isinstance(one, str | PathLike):
            sources.append(Path(one))
        elif isinstance(one, io.IOBase) and not isinstance(one, io.TextIOBase):
            sources.append(typing.cast("BinaryIO", one))
        else:
            raise InvalidInput(at=at, problem="wrong_type")
    if not sources:
        raise InvalidInput(at=at, problem="missing_field")
    return sources
