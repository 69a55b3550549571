"""The noun group `system`: capabilities, health, recovery, models, closing."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.operation import (
    SUBJECT_AND_CHANNELS,
    Bound,
    Effect,
    Family,
    Group,
    JudgedReport,
    Operation,
    SecondRight,
    ServerPath,
    operation,
)
from muniment.declaration.session import Session
from muniment.errors import Kind
from muniment.governance.policy import Policy, hiding_family, hiding_view
from muniment.governance.profiles import Budget
from muniment.governance.views import View
from muniment.operations.system.diagnosis import DoctorReport
from muniment.operations.system.health import Health, health_of
from muniment.projections.transcript import FoldDigests
from muniment.space.embedders import ImportedModel, Reembedded
from muniment.space.space import Space
from muniment.version import __version__

SEVERAL_FILES = "a model is a folder of several files"


class Hidden(StrEnum):
    """Why an operation or a view is not visible: a right is missing, a policy hides it, or the space has a fault."""

    ACCESS = "access"
    POLICY = "policy"
    STATE = "state"


class Capability(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An operation, what it may do, whether it needs the root key, and why it is hidden when it is not visible.

    `also` lists the rights that it takes beside its effect, for every request or for those that `when` describes.
    `keeps_to` lists the bounds of an access that it keeps to; an access with another bound is refused.
    """

    operation: str
    effect: Effect
    visible: bool
    needs_key: bool
    summary: str
    also: list[SecondRight] = []
    keeps_to: list[Bound] = []
    hidden: Hidden | None = None
    policy: Policy | None = None


class ViewCapability(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A view, and why it is hidden when it is not visible."""

    view: View
    visible: bool
    hidden: Hidden | None = None
    policy: Policy | None = None


class Capabilities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What may be done here, under which policies, and within which budget; without a profile there is none.

    `subject` and `channels` are what the access is kept to; without them it is not.
    """

    version: str
    operations: list[Capability]
    views: list[ViewCapability]
    policies: list[Policy]
    budget: Budget | None = None
    subject: str | None = None
    channels: list[str] | None = None


class RebuiltProjection(Struct, frozen=True, kw_only=True):
    """A projection that was forgotten and made again from the log; `unchanged`: it is what it was."""

    projection: str
    unchanged: bool
    digest: str


class RecoveryReport(JudgedReport, Struct, frozen=True, kw_only=True):
    """What a recovery found, completed and derived again. A log that is not sound has nothing derived from it.

    `pinned`: a checkpoint is kept outside the store.
    """

    sound: bool
    events: int
    pinned: bool
    contents_destroyed_again: int
    rotation_completed: bool
    projections: list[RebuiltProjection]

    @property
    def verdict(self) -> Kind | None:
        """Return whether the space may be trusted."""
        return None if self.sound else Kind.CORRUPT


class Closed(Struct, frozen=True, kw_only=True):
    """The store is closed."""

    closed: bool


class System(Group):
    """Capabilities, health, diagnosis, recovery, models for semantic search, closing."""

    name = "system"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.SYSTEM, heeds=SUBJECT_AND_CHANNELS, keyless=True, inspecting=True)
    def capabilities(self) -> Capabilities:
        """List every operation and view, and why it is hidden when it is not visible; and the budget in force.

        Hidden by `access` is refused with `access.denied`, by `policy` with `capability.hidden`, by the `state` of a
        space that is open for inspection only with its fault. What needs the root key raises `key.unavailable` where a
        store was opened without it, visible or not.
        """
        access = self._session.access
        return Capabilities(
            version=__version__,
            operations=[self._capability(operation) for operation in self._session.catalogue()],
            views=[self._view(view) for view in View],
            policies=sorted(access.policies),
            budget=None if self._session.profile is None else self._session.budget(),
            subject=access.subject,
            channels=None if access.channels is None else sorted(access.channels),
        )

    def _capability(self, operation: Operation) -> Capability:
        access, opened = self._session.access, self._session.opened
        terms = operation.terms
        policy = hiding_family(terms.family, access.policies)
        unsound = opened is not None and opened.fault is not None and not terms.inspecting
        hidden = Hidden.STATE if unsound else None
        missing = [right for right in terms.also if not access.has(right)]
        needed = [access.hiding_right(right) for right in missing if right.when is None]
        outside = access.missing(operation.path, terms.heeds) is not None
        if terms.effect not in access.effects or outside or None in needed:
            hidden, policy = Hidden.ACCESS, None
        elif policy is None and needed:
            hidden, policy = Hidden.POLICY, needed[0]
        elif policy is not None:
            hidden = Hidden.POLICY
        return Capability(
            operation=operation.path,
            effect=terms.effect,
            visible=hidden is None,
            needs_key=not terms.keyless,
            summary=operation.summary,
            also=list(terms.also),
            keeps_to=list(terms.heeds),
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

    @operation(Effect.READ, family=Family.SYSTEM, inspecting=True)
    def health(
        self,
        full: Annotated[
            bool, Meta(description="Read every event whole, instead of the sample that was read at opening.")
        ] = False,
    ) -> Health:
        """Report whether the open space can be trusted, and how far it is signed and pinned.

        Also works for a space that is open for inspection only, and then says why. `full` takes as long as
        `evidence.inspect`, which lists everything that it finds.
        """
        return health_of(self._session, full=full)

    @operation(Effect.ADMIN, family=Family.SYSTEM, inspecting=True, idempotent=True)
    def recover(self) -> RecoveryReport:
        """Attest the open space, complete interrupted work, destroy erased content again, rebuild all projections.

        Interrupted work is a rotation or the replacement of a key file; erased content is what the log says is erased.
        All projections in memory are dropped and rebuilt; the report says whether they are the same. A repeat finds
        nothing to do. A fault that is found is raised by the next operation.
        """
        space = self._session.inspected
        rotating = space.is_rotation_due
        projections = []
        try:
            if space.fault is None:
                projections = self._rederived(space)
        finally:
            healed = space.recover()  # whatever cannot be read must not keep the erased alive
        if space.fault is None and not projections:
            projections = self._rederived(space)
        health = self.health()
        return RecoveryReport(
            sound=space.fault is None,
            events=health.events,
            pinned=health.pinned,
            contents_destroyed_again=healed,
            rotation_completed=rotating and not space.is_rotation_due,
            projections=projections,
        )

    def _rederived(self, space: Space) -> list[RebuiltProjection]:
        """Drop the projections that grew incrementally, rebuild them, and say whether they are the same."""
        indexes = space.lazy_indexes.existing()
        names = indexes.names() if indexes is not None else []

        def digests() -> list[FoldDigests]:
            found = [space.catalogue.digests(self._session.progress)]
            return found if indexes is None else [*found, indexes.digests(names, self._session.progress)]

        while True:
            grown = digests()
            space.catalogue.drop()
            space.transcript.drop()
            if indexes is not None:
                indexes.drop()
            whole = digests()
            if [fold.size for fold in grown] == [fold.size for fold in whole]:  # else somebody appended in between
                before = {name: digest for fold in grown for name, digest in fold.of.items()}
                return [
                    RebuiltProjection(projection=name, unchanged=before[name] == digest, digest=digest.hex())
                    for fold in whole
                    for name, digest in sorted(fold.of.items())
                ]

    @operation(Effect.READ, family=Family.SYSTEM, keyless=True, spaceless=True, inspecting=True, diagnosing=True)
    def doctor(self) -> DoctorReport:
        """Check everything, and say of each finding what to do next.

        Checks health, pin, signatures, key files and their modes, every event, disk space, the model and the settings.
        Works without the root key, for a missing or unsound store and on a full disk, with the checks that are possible
        there. Changes nothing. `muniment doctor` is short for it.
        """
        from muniment.operations.system.doctor import examine  # noqa: PLC0415 - it knows every other check

        return examine(self._session)

    @operation(Effect.ADMIN, family=Family.SYSTEM, spaceless=True, idempotent=True)
    def import_model(
        self,
        folder: Annotated[
            str, ServerPath(reason=SEVERAL_FILES), Meta(description="Folder of the model, on the machine of the store.")
        ],
    ) -> ImportedModel:
        """Import a model into the store for semantic search: the folder of a BERT sentence model.

        The folder has the layout of the Hugging Face hub: `config.json`, `vocab.txt` or `tokenizer.json`,
        `model.safetensors` (MiniLM, BGE, GTE, E5 of that kind). The model is stored in a quarter of its size and
        compared with the original first. It replaces a model that was imported before, whose vectors are dropped:
        `system.reembed` makes new ones. A repeat changes nothing. Nothing is downloaded. Raises `model.invalid`.
        """
        from muniment.operations.system.models import import_model  # noqa: PLC0415 - numpy is imported by who has a model

        return import_model(self._session, folder)

    @operation(Effect.ADMIN, family=Family.SYSTEM, idempotent=True)
    def reembed(
        self,
        view: Annotated[View, Meta(description="View whose vectors are completed.")] = View.HOST_UI,
    ) -> Reembedded:
        """Make every missing vector of a view, so that semantic search covers all of it.

        Works in batches on what has no vector of the present embedder; appends nothing. Searches and erasures do not
        wait for it; what is erased in the meantime is not kept. A repeat finds nothing to do, one after an interruption
        the rest. Raises `model.unavailable` where no embedder is configured, or where it cannot be used.
        """
        from muniment.operations.transcripts.embed import reembed  # noqa: PLC0415 - numpy is imported when it is needed

        return reembed(self._session, view)

    @operation(Effect.ADMIN, family=Family.SYSTEM, keyless=True, inspecting=True, idempotent=True)
    def close(self) -> Closed:
        """Sign and pin the head, then close the store for everyone; every later operation raises `store.closed`.

        A client is refused: the store belongs to whoever opened it.
        """
        self._session.require_owner("store")
        self._session.store.close()
        return Closed(closed=True)
