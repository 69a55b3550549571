"""The runtime: a caller's access to one open space. It has no operations of its own, only noun groups.

A noun group is loaded when it is first used, so that opening a store imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from muniment.declaration.operation import Group
from muniment.declaration.operation_gate import Elsewhere
from muniment.declaration.session import Session
from muniment.errors import KeyUnavailable, NotAuthenticated, NotServed, SpaceErased
from muniment.events.identity import SpaceName, check_name
from muniment.governance.access import Access, Effect
from muniment.kernel.one_process import NeverPickled
from muniment.kernel.weak_calls import WeakCalls
from muniment.runtime.catalogue import GROUPS, group_class
from muniment.space.clients import Client, Clients
from muniment.space.open_store import StoreTotals

if TYPE_CHECKING:
    from muniment.operations.approvals.approvals import ApprovalGroup
    from muniment.operations.archives.archives import Archives
    from muniment.operations.attachments import Attachments
    from muniment.operations.clients.clients_group import ClientGroup
    from muniment.operations.conversations.conversations import ConversationGroup
    from muniment.operations.disclosure import Disclosure
    from muniment.operations.events.event_group import EventGroup
    from muniment.operations.evidence.evidence import Evidence
    from muniment.operations.lifecycle.lifecycle import Lifecycle
    from muniment.operations.memory.memory_group import MemoryGroup
    from muniment.operations.notebook.notebook_group import NotebookGroup
    from muniment.operations.provenance.provenance import Provenance
    from muniment.operations.redactions.redactions import Redactions
    from muniment.operations.skills.skills_group import SkillGroup
    from muniment.operations.spaces.spaces import Spaces
    from muniment.operations.subjects.subjects import Subjects
    from muniment.operations.system.system import System
    from muniment.operations.tables import Tables
    from muniment.operations.tools.tools_group import ToolGroup
    from muniment.operations.transcripts.transcripts import Transcripts


class Runtime(NeverPickled):
    """An open space, through its noun groups. Thread-safe; close it, or use it in a `with` statement."""

    if TYPE_CHECKING:
        transcripts: Transcripts
        attachments: Attachments
        conversations: ConversationGroup
        events: EventGroup
        subjects: Subjects
        redactions: Redactions
        memory: MemoryGroup
        notebook: NotebookGroup
        skills: SkillGroup
        tools: ToolGroup
        lifecycle: Lifecycle
        evidence: Evidence
        disclosure: Disclosure
        approvals: ApprovalGroup
        tables: Tables
        provenance: Provenance
        spaces: Spaces
        archives: Archives
        clients: ClientGroup
        system: System
    else:

        def __getattr__(self, name: str) -> Group:
            """Load a noun group and keep it."""
            if name not in GROUPS:
                raise AttributeError(name)
            return self.__dict__.setdefault(name, group_class(name)(self._gate))

    def __init__(self, gate: Session | Elsewhere) -> None:
        self._gate = gate
        self._forgetting = WeakCalls()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *GROUPS]

    @property
    def _session(self) -> Session:
        """What is open here. Of a store behind a server nothing is: rights and space are those of the client key."""
        if isinstance(self._gate, Elsewhere):
            raise NotServed(problem="of_the_client_key")
        return self._gate

    @property
    def access(self) -> Access:
        """The rights of this runtime."""
        return self._session.access

    def restricted(self, access: Access) -> Runtime:
        """Return a runtime on the same space with the rights that both this one and `access` have.

        Rights only shrink: no chain of restrictions gives back what one of them took.
        """
        access = self._session.access.narrowed(access)
        return Runtime(replace(self._session, access=access, window=True, leave=None))

    def space(self, name: str, *, create: bool = True) -> Runtime:
        """Return a runtime on another space of the same open store, with the same rights.

        The spaces share the store, the memory for its indexes and its model. A space that does not exist is created,
        or with `create` false raises `store.missing`. Takes the right to administer, without subject and channels; a
        client is refused.
        Closing the runtime that this returns leaves the store open.
        """
        self._session.access.require(Effect.ADMIN)
        self._session.access.require_whole()
        self._session.require_owner("space")
        check_name(name, at="space")
        store = self._session.store
        store.require_open()
        if store.keys is None:
            raise KeyUnavailable(problem="opened_without_key")
        opened = store.space(SpaceName(name), create=create)
        return Runtime(replace(self._session, opened=opened, window=True, leave=None))

    def client_of(self, key: str) -> Client:
        """Return the client that has a key; raises `access.not_authenticated` for one that opens nothing."""
        self._session.store.require_open()
        return Clients(self._session.store).authenticated(key)

    def client_at_once(self, key: str) -> Client | None:
        """Return what `client_of` would, where that and `as_client` need no disk and no lock of others; else None.

        For who may not wait, as an event loop. None says nothing of the key: ask `client_of`.
        """
        store = self._session.store
        store.require_open()
        client = Clients(store).at_once(key)
        return client if client is not None and store.is_open(client.space) else None

    def client_named(self, name: str) -> Client:
        """Return a client of this space whose keys are in force; raises `access.not_authenticated` for any other name.

        For who is known by something else than a key, as by a token of an issuer.
        """
        self._session.store.require_open()
        return Clients(self._session.store).named(name, self._session.space.name)

    def as_client(self, client: Client) -> Runtime:
        """Return a runtime on the space of a client, with the rights that it has and this runtime has, too.

        Close it behind each use: its space may be closed then when others need the room (`Options.spaces_max`). That
        leaves the store open. Raises `access.not_authenticated` when the space was erased.
        """
        session = self._session
        access = session.access.narrowed(client.scope.access())
        try:
            opened, leave = session.store.lend(client.space)
        except SpaceErased:  # by a process that was killed before it revoked the clients
            Clients(session.store).forget_space(client.space)
            raise NotAuthenticated(problem="unknown_key") from None
        caller = {"client": client.name, "client_until_ms": client.until_ms}
        return Runtime(replace(session, opened=opened, access=access, window=True, leave=leave, **caller))

    def on_commit(self, listener: Callable[[], object]) -> AbstractContextManager[None]:
        """Call a listener whenever this process has appended to the space, for as long as a `with` block runs.

        It is called in the thread that appended, so it has to be quick, and must not raise. It learns nothing but that
        there may be something new, for it or for others (`events.read` says what); other processes are not heard.
        """
        return self._session.space.heard(listener)

    def on_forget(self, listener: Callable[[], object]) -> None:
        """Call a method when what was read has to be dropped: this process erased content, or the runtime is closed.

        For whoever keeps in memory what this runtime read. It must not raise, and is not kept alive by this. Of a store
        behind a server only the end is told.
        """
        self._forgetting.add(listener)
        if not isinstance(self._gate, Elsewhere):
            self._gate.space.forgetting.add(listener)

    def totals(self) -> StoreTotals:
        """Return what the open spaces of the store hold together, in numbers. Takes an access to the whole space."""
        self._session.access.require_whole()
        self._session.store.require_open()
        return self._session.store.totals()

    def close(self) -> None:
        """Sign and pin the head, then close the store. A second call does nothing.

        The store is closed by the runtime that opened it. Closing one that `restricted` or `space` returned leaves it
        open; closing one that `connect` returned ends the connections.
        """
        self._forgetting()
        if isinstance(self._gate, Elsewhere):
            self._gate.close()
            return
        if self._gate.leave is not None:
            self._gate.leave()
        if not self._gate.window:
            self._gate.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
