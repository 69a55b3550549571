"""The runtime: a caller's hold on one open space. It has no operations of its own, only noun groups."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.governance.access import Access
from muniment.operations.archives.archives import Archives
from muniment.operations.disclosure import Disclosure
from muniment.operations.evidence.evidence import Evidence
from muniment.operations.lifecycle import Lifecycle
from muniment.operations.provenance.provenance import Provenance
from muniment.operations.spaces.spaces import Spaces
from muniment.operations.system.system import System
from muniment.operations.transcripts.transcripts import Transcripts


class Runtime:
    """An open space, through its noun groups. Thread-safe; close it, or use it in a `with` statement."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.transcripts = Transcripts(session)
        self.lifecycle = Lifecycle(session)
        self.evidence = Evidence(session)
        self.disclosure = Disclosure(session)
        self.provenance = Provenance(session)
        self.spaces = Spaces(session)
        self.archives = Archives(session)
        self.system = System(session)

    @property
    def access(self) -> Access:
        """The rights of this runtime."""
        return self._session.access

    def restricted(self, access: Access) -> Runtime:
        """Return a runtime on the same store with the rights that both this one and `access` have.

        Rights only shrink: no chain of restrictions gives back what one of them took.
        """
        return Runtime(replace(self._session, access=self._session.access.narrowed(access), window=True))

    def close(self) -> None:
        """Sign and pin the head, then close the store. A second call does nothing.

        The store is closed by the runtime that opened it. Closing one that `restricted` made leaves it open.
        """
        if not self._session.window:
            self._session.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
