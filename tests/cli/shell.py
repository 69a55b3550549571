"""A shell for tests: runs `muniment` in this process, with its own streams and with sources that can be repeated."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from muniment.kernel.sources import Sources, seeded_sources
from muniment.transports.cli.__main__ import main
from muniment.transports.cli.store_options import StoreOptions


class Ran(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Everything it said."""
        return self.out + self.err


class Stream(io.TextIOWrapper):
    """A stream that may claim to be a terminal."""

    def __init__(self, data: bytes = b"", *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", errors="backslashreplace", write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def text(self) -> str:
        """Return what was written."""
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode(errors="backslashreplace")


class Shell:
    """A directory to run commands in; the store is `store` beneath it, key and pins are there too."""

    def __init__(self, directory: Path, sources: Sources | None = None) -> None:
        self.directory = directory
        self.sources = sources or seeded_sources("shell", step_ms=0)

    def run(self, *arguments: str, typed: str | bytes = b"", terminal: bool = False) -> Ran:
        """Run a command; `terminal` makes its streams claim to be one."""
        data = typed.encode() if isinstance(typed, str) else typed
        streams = Stream(data, terminal=terminal), Stream(terminal=terminal), Stream(terminal=terminal)
        with self._entered(streams):
            code = main(list(arguments), StoreOptions(self.sources))
        return Ran(code, streams[1].text(), streams[2].text())

    def must(self, *arguments: str, typed: str | bytes = b"") -> Ran:
        """Run a command that must succeed."""
        ran = self.run(*arguments, typed=typed)
        assert ran.code == 0, ran
        return ran

    @contextlib.contextmanager
    def _entered(self, streams: Sequence[Stream]) -> Iterator[None]:
        before, kept, where = (sys.stdin, sys.stdout, sys.stderr), dict(os.environ), Path.cwd()
        sys.stdin, sys.stdout, sys.stderr = streams
        os.environ |= {
            "HOME": str(self.directory),
            "MUNIMENT_STORE": str(self.directory / "store"),
            "COLUMNS": "120",
            "TERM": "xterm-256color",
        }
        os.chdir(self.directory)
        log, told = logging.getLogger("muniment"), logging.StreamHandler(sys.stderr)  # as a process of its own would
        log.addHandler(told)
        log.propagate = False
        try:
            yield
        finally:
            log.removeHandler(told)
            log.propagate = True
            os.chdir(where)
            os.environ.clear()
            os.environ |= kept
            sys.stdin, sys.stdout, sys.stderr = before
