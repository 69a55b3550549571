"""What every holder of a key has in common: it shows its name, never its bytes, and cannot be pickled.

A key reaches a log, a crash report or another process by accident through three doors: `repr`, exception arguments and
pickle. Holders close the first and the third here; the second is kept by our errors, which take no free text.
"""

from __future__ import annotations

from typing import NoReturn

KEY_BYTES = 32


class Secret:
    """A holder of key material. Subclasses say how they are called in `_label`."""

    __slots__ = ()

    def _label(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._label()}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is never copied or pickled")
