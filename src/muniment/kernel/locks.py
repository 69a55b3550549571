"""Locks that no interrupt leaves behind.

An interrupt can come after a lock was taken and before the `with` block that would release it, or between the end of
the block and the release. So whoever ends by an interrupt calls `let_go` when it has unwound. Nothing is paid for that
as long as nobody is interrupted.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress

_made: dict[int, weakref.ref[threading.RLock]] = {}


def new_lock() -> threading.RLock:
    """Return a lock for which `let_go` answers."""
    lock = threading.RLock()
    key = id(lock)
    _made[key] = weakref.ref(lock, lambda _: _made.pop(key, None))
    return lock


def let_go(*locks: threading.RLock) -> None:
    """Release these locks where this thread holds them; without any, all that `new_lock` made."""
    for lock in locks or [lock for made in list(_made.values()) if (lock := made()) is not None]:
        with suppress(RuntimeError):  # it is not held
            while True:
                lock.release()
