"""The runtime: a caller's hold on one open space. It has no operations of its own, only noun groups."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from msgspec.structs import replace

from muniment.governance.access import Access
from muniment.runtime.archives import Archives
from muniment.runtime.desk import Desk
from muniment.runtime.disclosure import Disclosure
from muniment.runtime.evidence import Evidence
from muniment.runtime.lifecycle import Lifecycle
from muniment.runtime.provenance import Provenance
from muniment.runtime.spaces import Spaces
from muniment.runtime.system import System
from muniment.runtime.transcripts import Transcripts


class Runtime:
    """An open space, through its noun groups. Thread-safe; close it, or use it in a `with` statement."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.transcripts = Transcripts(desk)
        self.lifecycle = Lifecycle(desk)
        self.evidence = Evidence(desk)
        self.disclosure = Disclosure(desk)
        self.provenance = Provenance(desk)
        self.spaces = Spaces(desk)
        self.archives = Archives(desk)
        self.system = System(desk)

    @property
    def access(self) -> Access:
        """The rights of this runtime."""
        return self._desk.access

    def restricted(self, access: Access) -> Runtime:
        """Return a runtime on the same store with the rights that both this one and `access` have.

        Rights only shrink: no chain of restrictions gives back what one of them took.
        """
        return Runtime(replace(self._desk, access=self._desk.access.narrowed(access), window=True))

    def close(self) -> None:
        """Sign and pin the head, then close the store. A second call does nothing.

        The store is closed by the runtime that opened it. Closing one that `restricted` made leaves it open.
        """
        if not self._desk.window:
            self._desk.home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
