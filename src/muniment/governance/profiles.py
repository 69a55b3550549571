"""Profiles: the size of responses in a kind of deployment, as tables.

A profile is a row of figures. Each ceiling of its budget is derived from them (`FORMULAS`) and scaled by what the host
reports about the machine (`SHARES`). Without a profile there is no budget. A profile belongs to the process that opens
a store, never to the store. Nothing here measures a machine.

A budget shortens a response and reports it; it does not decide what a view shows. guide/profiles.md is generated from
the tables.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.governance.policy import Policy

KIB, MIB = 2**10, 2**20
WHOLE = 100  # percent


class Profile(StrEnum):
    """A kind of deployment."""

    EMBEDDED = "embedded"
    DESKTOP = "desktop"
    SERVER = "server"
    DEVELOPER = "developer"


class Figures(Struct, frozen=True, kw_only=True):
    """The capacity of a deployment; ceilings are derived from it."""

    source_chars: int
    render_chars: int
    body_bytes: int
    records: int
    events: int


FIGURES: dict[Profile, Figures] = {
    Profile.EMBEDDED: Figures(
        source_chars=2048, render_chars=4096, body_bytes=32 * KIB, records=4096, events=2048
    ),
    Profile.DESKTOP: Figures(
        source_chars=8192, render_chars=12_288, body_bytes=96 * KIB, records=20_000, events=8192
    ),
    Profile.SERVER: Figures(
        source_chars=8192, render_chars=16_384, body_bytes=128 * KIB, records=40_000, events=16_384
    ),
    Profile.DEVELOPER: Figures(
        source_chars=16_384, render_chars=32_768, body_bytes=256 * KIB, records=80_000, events=32_768
    ),
}  # fmt: skip

# profile -> the policies that it adds (a desktop replays for its interface, not for debugging)
PROFILE_POLICIES: dict[Profile, frozenset[Policy]] = {
    Profile.EMBEDDED: frozenset({Policy.NO_DEBUG_REPLAY}),
    Profile.DESKTOP: frozenset({Policy.NO_DEBUG_REPLAY}),
    Profile.SERVER: frozenset(),
    Profile.DEVELOPER: frozenset(),
}


class Ceiling(StrEnum):
    """A limit of a budget; each is a field of `Budget`."""

    PAGE_TURNS = "page_turns"
    HOST_REFS_PER_TURN = "host_refs_per_turn"
    ATTRIBUTES_PER_TURN = "attributes_per_turn"
    REDACTION_ITEMS = "redaction_items"
    DERIVED_REFS = "derived_refs"
    INSPECTION_FINDINGS = "inspection_findings"
    RENDERED_CHARS = "rendered_chars"


class Formula(NamedTuple):
    """A ceiling is a figure divided by `divisor`, at least `floor` before it is scaled."""

    figure: str
    divisor: int
    floor: int


FORMULAS: dict[Ceiling, Formula] = {
    Ceiling.PAGE_TURNS: Formula("source_chars", 256, 4),
    Ceiling.HOST_REFS_PER_TURN: Formula("body_bytes", 8 * KIB, 1),
    Ceiling.ATTRIBUTES_PER_TURN: Formula("source_chars", 512, 2),
    Ceiling.REDACTION_ITEMS: Formula("source_chars", 128, 8),
    Ceiling.DERIVED_REFS: Formula("records", 512, 4),
    Ceiling.INSPECTION_FINDINGS: Formula("events", 512, 4),
    Ceiling.RENDERED_CHARS: Formula("render_chars", 1, 1),
}


# --- pressure ---------------------------------------------------------------------------------------------------------


class PressureLevel(StrEnum):
    """How short of resources a host is, by its own account."""

    NORMAL = "normal"
    CAUTIOUS = "cautious"
    CRITICAL = "critical"


class Pressure(Struct, frozen=True, kw_only=True):
    """What a host reports about its machine. An unknown value (None) counts as a shortage.

    `provider_chars` is the amount of rendered text that the model provider accepts.
    """

    level: PressureLevel = PressureLevel.NORMAL
    memory_free_bytes: int | None = None
    memory_floor_bytes: int = 256 * MIB
    storage_free_bytes: int | None = None
    provider_chars: int | None = None


class BudgetCause(StrEnum):
    """Why a budget is smaller than the figures of its profile."""

    PRESSURE_CAUTIOUS = "pressure_cautious"
    PRESSURE_CRITICAL = "pressure_critical"
    MEMORY_AT_FLOOR = "memory_at_floor"
    MEMORY_NEAR_FLOOR = "memory_near_floor"
    MEMORY_UNKNOWN = "memory_unknown"
    STORAGE_UNKNOWN = "storage_unknown"
    PROVIDER = "provider"


# cause -> the remaining percentage of the figures. The provider's limit is an amount, not a percentage.
SHARES: dict[BudgetCause, int] = {
    BudgetCause.PRESSURE_CAUTIOUS: 60,
    BudgetCause.PRESSURE_CRITICAL: 35,
    BudgetCause.MEMORY_AT_FLOOR: 50,
    BudgetCause.MEMORY_NEAR_FLOOR: 75,
    BudgetCause.MEMORY_UNKNOWN: 50,
    BudgetCause.STORAGE_UNKNOWN: 60,
}

_LEVELS: dict[PressureLevel, BudgetCause | None] = {
    PressureLevel.NORMAL: None,
    PressureLevel.CAUTIOUS: BudgetCause.PRESSURE_CAUTIOUS,
    PressureLevel.CRITICAL: BudgetCause.PRESSURE_CRITICAL,
}


def causes(pressure: Pressure) -> list[BudgetCause]:
    """Return the causes that scale a budget under this pressure."""
    applying = [_LEVELS[pressure.level], _memory(pressure.memory_free_bytes, pressure.memory_floor_bytes)]
    if pressure.storage_free_bytes is None:
        applying.append(BudgetCause.STORAGE_UNKNOWN)
    return [cause for cause in applying if cause is not None]


def _memory(free: int | None, floor: int) -> BudgetCause | None:
    if free is None:
        return BudgetCause.MEMORY_UNKNOWN
    if free <= floor:
        return BudgetCause.MEMORY_AT_FLOOR
    return BudgetCause.MEMORY_NEAR_FLOOR if free < 2 * floor else None


# --- budgets ----------------------------------------------------------------------------------------------------------


class Budget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The ceilings in force, None without one; `attributes_per_turn` also applies to a message.

    `percent` is the remaining share of the figures of the profile, because of `limited_by`.
    """

    profile: Profile | None = None
    percent: int = WHOLE
    limited_by: list[BudgetCause] = []
    page_turns: int | None = None
    host_refs_per_turn: int | None = None
    attributes_per_turn: int | None = None
    redaction_items: int | None = None
    derived_refs: int | None = None
    inspection_findings: int | None = None
    rendered_chars: int | None = None

    def ceiling(self, which: Ceiling) -> int | None:
        """Return one of the ceilings."""
        ceiling: int | None = getattr(self, which)
        return ceiling

    def page(self, limit: int) -> int:
        """Return the size of a page with this requested limit."""
        return limit if self.page_turns is None else min(limit, self.page_turns)


NO_BUDGET = Budget()


def budget_of(profile: Profile, pressure: Pressure | None = None) -> Budget:
    """Return the budget of a profile under a pressure; without a pressure, the figures are not scaled.

    The smallest share applies, not the product, because several causes are often one shortage. No ceiling is below 1.
    """
    limited_by = [] if pressure is None else causes(pressure)
    percent = min((SHARES[cause] for cause in limited_by), default=WHOLE)
    scaled = {ceiling: max(1, unscaled(FIGURES[profile], ceiling) * percent // WHOLE) for ceiling in Ceiling}
    provider = None if pressure is None else pressure.provider_chars
    if provider is not None and provider < scaled[Ceiling.RENDERED_CHARS]:
        scaled[Ceiling.RENDERED_CHARS] = max(1, provider)
        limited_by.append(BudgetCause.PROVIDER)
    return Budget(
        profile=profile,
        percent=percent,
        limited_by=limited_by,
        page_turns=scaled[Ceiling.PAGE_TURNS],
        host_refs_per_turn=scaled[Ceiling.HOST_REFS_PER_TURN],
        attributes_per_turn=scaled[Ceiling.ATTRIBUTES_PER_TURN],
        redaction_items=scaled[Ceiling.REDACTION_ITEMS],
        derived_refs=scaled[Ceiling.DERIVED_REFS],
        inspection_findings=scaled[Ceiling.INSPECTION_FINDINGS],
        rendered_chars=scaled[Ceiling.RENDERED_CHARS],
    )


def unscaled(figures: Figures, ceiling: Ceiling) -> int:
    """Return a ceiling of a profile before it is scaled."""
    figure, divisor, floor = FORMULAS[ceiling]
    amount: int = getattr(figures, figure)
    return max(floor, amount // divisor)
