"""What is open belongs to the process that opened it: it is never pickled or copied, and not used after a fork.

A fork copies connections whose locks stay with the parent, and locks that another thread may hold for good. So whatever
a child does with them is refused by the number of its process; it opens the store again.
"""

from __future__ import annotations

import os
from typing import NoReturn

from muniment.errors import StoreClosed


class NeverPickled:
    """The base of what is open: another process, or a copy, would share what it must not share."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError("what is open is never pickled or copied: open it again in the other process")


class OneProcess(NeverPickled):
    """The base of what remembers which process opened it."""

    def __init__(self) -> None:
        self._opened_by = os.getpid()

    @property
    def is_foreign(self) -> bool:
        """Whether this is the copy that a fork made in a child."""
        return os.getpid() != self._opened_by

    def require_own_process(self) -> None:
        """Raise `StoreClosed` in a child that was forked."""
        if os.getpid() != self._opened_by:  # as `is_foreign`, without a call for each use
            raise StoreClosed(problem="forked")
