"""The noun group `system`: what may be done here, whether all is well, recovery, closing."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.declaration.operation import Group, Operation, operation
from muniment.declaration.session import Session
from muniment.errors import Corrupt, MunimentError
from muniment.governance.access import Effect
from muniment.governance.policy import INSPECTING, Policy, hiding_operation, hiding_view
from muniment.governance.profiles import Budget
from muniment.governance.views import View
from muniment.projections.transcript import FoldDigests
from muniment.search.snapshots import IndexStatus
from muniment.space.embedders import ImportedModel, Reembedded
from muniment.space.space import Space
from muniment.version import __version__


class Hidden(StrEnum):
    """Why an operation or a view is not visible: a right is missing, a policy hides it, or the space has a fault."""

    ACCESS = "access"
    POLICY = "policy"
    STATE = "state"


class Capability(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An operation, what it may do, whether it needs the root key, and why it is hidden when it is not visible."""

    operation: str
    effect: Effect
    visible: bool
    needs_key: bool
    summary: str
    hidden: Hidden | None = None
    policy: Policy | None = None


class ViewCapability(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A view, and why it is hidden when it is not visible."""

    view: View
    visible: bool
    hidden: Hidden | None = None
    policy: Policy | None = None


class Capabilities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What may be done here, under which policies, and within which budget; without a profile there is none."""

    version: str
    operations: list[Capability]
    views: list[ViewCapability]
    policies: list[Policy]
    budget: Budget | None = None


class Health(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the open space may be trusted. With a `fault` it is open for inspection only.

    `indexes` are those for searching that this process has in memory.
    """

    space: str
    sound: bool
    events: int
    checkpoint_size: int | None = None
    pinned_size: int | None = None
    key_versions: int = 1
    fault: str | None = None
    fault_message: str | None = None
    indexes: list[IndexStatus] = []


class RebuiltProjection(Struct, frozen=True, kw_only=True):
    """A projection that was forgotten and made again from the log; `unchanged`: it is what it was."""

    projection: str
    unchanged: bool
    digest: str


class RecoveryReport(Struct, frozen=True, kw_only=True):
    """What a recovery found, completed and derived again. A log that is not sound has nothing derived from it."""

    sound: bool
    events: int
    contents_destroyed_again: int
    rotation_completed: bool
    projections: list[RebuiltProjection]


class Closed(Struct, frozen=True, kw_only=True):
    """The store is closed."""

    closed: bool


class System(Group):
    """What may be done here, whether all is well, recovery, closing."""

    name = "system"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, keyless=True)
    def capabilities(self) -> Capabilities:
        """List every operation and view, and why it is hidden when it is not visible; and the budget in force.

        Hidden by `access` is refused with `access.denied`, by `policy` with `capability.hidden`, by the `state` of a
        space that is open for inspection only with its fault. What needs the root key raises `key.unavailable` where a
        store was opened without it, visible or not.
        """
        access = self._session.access
        return Capabilities(
            version=__version__,
            operations=[self._capability(each) for each in self._session.catalogue()],
            views=[self._view(each) for each in View],
            policies=sorted(access.policies),
            budget=None if self._session.profile is None else self._session.budget(),
        )

    def _capability(self, operation: Operation) -> Capability:
        access, opened = self._session.access, self._session.opened
        policy = hiding_operation(operation.path, access.policies)
        unsound = opened is not None and opened.fault is not None and operation.path not in INSPECTING
        hidden = Hidden.STATE if unsound else None
        if operation.effect not in access.effects:
            hidden, policy = Hidden.ACCESS, None
        elif policy is not None:
            hidden = Hidden.POLICY
        return Capability(
            operation=operation.path,
            effect=operation.effect,
            visible=hidden is None,
            needs_key=not operation.keyless,
            summary=operation.summary,
            hidden=hidden,
            policy=policy,
        )

    def _view(self, view: View) -> ViewCapability:
        access = self._session.access
        policy = hiding_view(view, access.policies)
        if view not in access.views:
            return ViewCapability(view=view, visible=False, hidden=Hidden.ACCESS)
        if policy is not None:
            return ViewCapability(view=view, visible=False, hidden=Hidden.POLICY, policy=policy)
        return ViewCapability(view=view, visible=True)

    @operation(Effect.READ)
    def health(self) -> Health:
        """Tell whether the open space may be trusted, and how far it is signed and pinned.

        Answers for a space that is open for inspection only, too, and then says why.
        """
        space = self._session.inspected
        fault = space.fault
        with space.ledger.reader() as reader:
            try:
                events, kept = reader.frontier().size, reader.latest_checkpoint()
            except Corrupt as damaged:
                fault, events, kept = fault or damaged, reader.count(), None
        try:
            pinned = space.notary.pinned()
        except MunimentError as unreadable:
            fault, pinned = fault or unreadable, None
        return Health(
            space=space.name,
            sound=fault is None,
            events=events,
            checkpoint_size=None if kept is None else kept.size,
            pinned_size=None if pinned is None else pinned.size,
            key_versions=len(space.keys.versions),
            fault=None if fault is None else fault.code,
            fault_message=None if fault is None else str(fault),
            indexes=space.index_statuses(),
        )

    @operation(Effect.ADMIN)
    def recover(self) -> RecoveryReport:
        """Attest the open space anew, complete what was interrupted, destroy again what is erased, derive all anew.

        What was interrupted are rotations and replacements of key files; what is erased is what the log calls erased.
        Everything that is folded from the log in memory is forgotten and folded again; the report says whether it is
        the same. A repeat finds nothing to do. A fault that is found is raised by whatever is asked next.
        """
        space = self._session.inspected
        rotating = len(space.keys.versions) > 1
        projections = []
        try:
            if space.fault is None:
                projections = self._rederived(space)
        finally:
            healed = space.recover()  # whatever cannot be read must not keep the erased alive
        if space.fault is None and not projections:
            projections = self._rederived(space)
        return RecoveryReport(
            sound=space.fault is None,
            events=self.health().events,
            contents_destroyed_again=healed,
            rotation_completed=rotating and space.fault is None,
            projections=projections,
        )

    def _rederived(self, space: Space) -> list[RebuiltProjection]:
        """Forget what was folded from the log bit by bit, fold it anew, and say whether it is the same."""
        indexes = space.existing_indexes
        views = indexes.views() if indexes is not None else []

        def digests() -> list[FoldDigests]:
            found = [space.catalogue.digests(self._session.progress)]
            return found if indexes is None else [*found, indexes.digests(views, self._session.progress)]

        while True:
            grown = digests()
            space.catalogue.drop()
            space.transcript.drop()
            if indexes is not None:
                indexes.drop()
            whole = digests()
            if [each.size for each in grown] == [each.size for each in whole]:  # else somebody appended in between
                before = {name: digest for each in grown for name, digest in each.of.items()}
                return [
                    RebuiltProjection(projection=name, unchanged=before[name] == digest, digest=digest.hex())
                    for each in whole
                    for name, digest in sorted(each.of.items())
                ]

    @operation(Effect.ADMIN, spaceless=True)
    def import_model(self, folder: str) -> ImportedModel:
        """Import a model into the store, so that search finds by meaning: the folder of a BERT model for sentences.

        `folder` is a path on the machine that holds the store, with the layout of the Hugging Face hub: `config.json`,
        `vocab.txt` or `tokenizer.json`, `model.safetensors` (MiniLM, BGE, GTE, E5 of that kind). What is kept takes a
        quarter of it and is held against it before it is; it takes the place of a model that was imported before, whose
        vectors are dropped: `system.reembed` makes new ones. A repeat changes nothing. Nothing is fetched from
        anywhere. Raises `model.invalid`.
        """
        from muniment.operations.system.models import import_model  # noqa: PLC0415 - numpy is imported by who has a model

        return import_model(self._session, folder)

    @operation(Effect.ADMIN)
    def reembed(self, view: View = View.HOST_UI) -> Reembedded:
        """Make every vector of a view that is missing, so that all of it is found by meaning.

        Embeds in batches what has no vector of the present embedder; appends nothing. Whoever searches or erases
        meanwhile does not wait; what is erased meanwhile is not kept. A repeat finds nothing to do, one after an
        interruption what is left. Raises `model.unavailable` where no embedder was chosen, or when it is of no use.
        """
        from muniment.operations.transcripts.embed import reembed  # noqa: PLC0415 - numpy is imported when it is needed

        return reembed(self._session, view)

    @operation(Effect.ADMIN, keyless=True)
    def close(self) -> Closed:
        """Sign and pin the head, then close the store for everybody; every later operation raises `store.closed`."""
        self._session.store.close()
        return Closed(closed=True)
