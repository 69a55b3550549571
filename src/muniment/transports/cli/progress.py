"""Progress of long operations: a bar on a terminal, silence in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from muniment.space.options import Progress, no_progress


@contextmanager
def shown() -> Iterator[Progress]:
    """Yield the callback that shows the progress of an operation."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    bar = _Bar()
    try:
        yield bar.tell
    finally:
        bar.stop()


class _Bar:
    """A bar that appears with the first report of progress."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def tell(self, stage: str, done: int, total: int) -> None:
        if self._bar is None:
            from rich.console import Console  # noqa: PLC0415 - only a long operation at a terminal pays for it
            from rich.progress import Progress as Bar  # noqa: PLC0415 - the same

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=total)
        self._bar.update(self._tasks[stage], completed=done, total=total)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
