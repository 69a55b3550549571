"""The base of every class that holds a key: its `repr` shows a label, never the bytes, and it cannot be pickled.

A key leaks into a log, a crash report or another process in three ways: `repr`, exception arguments and pickle. This
class prevents the first and the third; our errors take no free text, which prevents the second.
"""

from __future__ import annotations

from typing import NoReturn

KEY_BYTES = 32


class Secret:
    """A holder of key material. Subclasses return the text of their `repr` from `_label`."""

    __slots__ = ()

    def _label(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._label()}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is never copied or pickled")
