"""Hints about tools: what experience says of the tools that a host has, and never an authorisation (TL-03 to TL-06)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.events.identity import SubjectId
from muniment.events.memory_items import MemoryPlane, Observations
from muniment.events.tool_registries import ToolsRegistered
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.item_visibility import hides_item
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.memory.experience import Experience, GivenHint, HintReason, WithheldHint, hints_of
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import WHOLE
from muniment.memory.tool_registry import (
    NOT_THERE,
    HintRefusal,
    RegistryProblem,
    RegistryReference,
    check_references,
    reference_flaw,
)
from muniment.operations.memory.selection import ItemSelection, items_of
from muniment.operations.memory.shown_item import ItemShower, ShownItem
from muniment.operations.tools.registries import every_registry, registered_for

EXPERIENCES = ItemSelection(planes=[MemoryPlane.TOOL_EXPERIENCE])


class ToolHint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What experience says of a tool. It authorises nothing: the host decides and executes.

    `text` is what was observed last, as far as the view shows it; it is text from outside.
    """

    tool: str
    registry: str
    fingerprint: str
    schema_fingerprint: str
    reason: HintReason
    confidence: float
    observations: Observations
    item: str
    position: int
    permissions: list[str] = []
    risks: list[str] = []
    groups: list[str] = []
    text: str | None = None
    host_execution_required: bool


class ToolHints(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Hints, the surest first; without any, `reason` says why.

    `registries` are named registries that the host has not, as it seems; `without` are tools with experience that gives
    no hint. `withheld` counts the experience that the view does not show.
    """

    hints: list[ToolHint]
    withheld: int
    reason: HintRefusal | None = None
    registries: list[RegistryProblem] = []
    without: list[WithheldHint] = []

    def covered(self) -> CoveredTurns:
        """Return the items that this shows."""
        return CoveredTurns(positions=[hint.position for hint in self.hints])

    @property
    def refused(self) -> list[RegistryProblem]:
        """The registries that give no hint because the host has them not, or not like this: named, or of experience."""
        giving = {hint.registry for hint in self.hints}
        reasons = {each.registry: each.reason for each in self.without if each.reason in NOT_THERE}
        reasons |= {each.registry: each.reason for each in self.registries}
        return [RegistryProblem(registry=name, reason=reasons[name]) for name in sorted(reasons.keys() - giving)]


def tool_hints(
    session: Session, reader: Reader, subject: SubjectId, view: View, references: Sequence[RegistryReference] = ()
) -> ToolHints:
    """Return the hints for the registries that are named, or for all that the caller may know of.

    The caller has checked the right to speak for the subject and to use the view.
    """
    check_references(references, "registries")
    found = list(items_of(session.space, reader, subject, EXPERIENCES))
    visible = [item for item in found if item.meta.entry.named is not None and hides_item(view, item.privacy) is None]
    shower = ItemShower(session.space, reader, view)
    shown = {item.id: shower.shown(item) for item in visible}
    registered, problems = _registries(session, reader, references)
    named = {reference.registry for reference in references}
    experiences = [Experience(item, shown[item.id].state) for item in visible if not named or _of(item) in named]
    given, without = hints_of(experiences, registered)
    first = problems[0].reason if problems else None
    return ToolHints(
        hints=[_hint(hint, registered, shown[hint.item.id]) for hint in given],
        withheld=len(found) - len(visible),
        reason=None if given else first or _common(without),
        registries=problems,
        without=without,
    )


def _of(item: MemoryItem) -> str | None:
    """Return the registry of the tool that an experience is of."""
    slot = item.meta.entry.named
    return None if slot is None or slot.tool is None else slot.tool.registry


def _registries(
    session: Session, reader: Reader, references: Sequence[RegistryReference]
) -> tuple[dict[str, ToolsRegistered], list[RegistryProblem]]:
    """Return the registries that hints are given for, by id, and what is wrong with the others that are named."""
    if not references:
        known = every_registry(session, reader)
        return {each.registered.registry.registry: each.registered for each in known if each.registered}, []
    good: dict[str, ToolsRegistered] = {}
    problems: list[RegistryProblem] = []
    for reference in references:
        found = registered_for(session, reader, reference.registry)
        registered = None if found is None else found.registered
        flaw = reference_flaw(reference, None if registered is None else registered.registry)
        if flaw is not None:
            problems.append(RegistryProblem(registry=reference.registry, reason=flaw))
        elif registered is not None:
            good[reference.registry] = registered
    return good, problems


def _common(without: Sequence[WithheldHint]) -> HintRefusal:
    """Return the reason that all tools without a hint have in common, or that there is no governed experience."""
    reasons = {each.reason for each in without}
    return reasons.pop() if len(reasons) == 1 else HintRefusal.NO_GOVERNED_TOOL_EXPERIENCE


def _hint(hint: GivenHint, registered: dict[str, ToolsRegistered], shown: ShownItem) -> ToolHint:
    item, tool = hint.item, hint.tool
    record = registered[_of(item) or ""].registry
    return ToolHint(
        tool=tool.tool,
        registry=record.registry,
        fingerprint=record.fingerprint,
        schema_fingerprint=tool.schema_fingerprint,
        reason=hint.reason,
        confidence=item.confidence / WHOLE,
        observations=item.observations or Observations(),
        item=item.id,
        position=item.position,
        permissions=tool.permissions,
        risks=tool.risks,
        groups=tool.groups,
        text=shown.text,
        host_execution_required=True,
    )
