"""Signals of a process that serves."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def handled(handler: Callable[[int, FrameType | None], None], *signals: signal.Signals) -> Iterator[None]:
    """Handle signals inside the block; elsewhere than in the main thread, which alone gets them, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {each: signal.signal(each, handler) for each in signals}
    try:
        yield
    finally:
        for each, was in former.items():
            signal.signal(each, was)
