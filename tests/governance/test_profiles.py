"""Budgets follow from the figures of a profile, shrink under pressure, and only ever leave something out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.records import ReferenceRecord
from muniment.events.references import Relation, Visibility
from muniment.governance.budgets import applied, applied_to_slices
from muniment.governance.judgement import TurnRecord
from muniment.governance.profiles import (
    FIGURES,
    KIB,
    NO_BUDGET,
    PROFILE_POLICIES,
    SHARES,
    Budget,
    BudgetCause,
    Ceiling,
    Figures,
    Pressure,
    PressureLevel,
    Profile,
    budget_of,
    unscaled,
)
from muniment.governance.slices import audit, cut, disclosed_labels
from muniment.governance.views import Reason, View
from tests.turns import turn_records

# BEHAVIOUR BG-06 as it is there; a dash is a figure that is not noted. Body limits are in KiB.
FIGURES_NOTED = """
profile             source render body records events | page refs attrs items derived issues
tiny_embedded       1024   2048   8    512     256    | 4    1    2     8     4       4
small_standalone    2048   -      16   4096    2048   | 8    2    4     16    8       4
linux_device        4096   8192   64   12000   4096   | 16   8    8     32    23      8
desktop_embedded    2048   -      32   4096    2048   | 8    4    4     16    8       4
desktop_standalone  8192   12288  96   20000   8192   | 32   12   16    64    39      16
server_gateway      8192   16384  128  40000   16384  | 32   16   16    64    78      32
developer           16384  32768  256  80000   32768  | 64   32   32    128   156     64
"""
OURS = {
    Profile.EMBEDDED: "desktop_embedded",
    Profile.DESKTOP: "desktop_standalone",
    Profile.SERVER: "server_gateway",
    Profile.DEVELOPER: "developer",
}
NOTED = [
    Ceiling.PAGE_TURNS,
    Ceiling.HOST_REFS_PER_TURN,
    Ceiling.ATTRIBUTES_PER_TURN,
    Ceiling.REDACTION_ITEMS,
    Ceiling.DERIVED_REFS,
    Ceiling.INSPECTION_FINDINGS,
]

MIB = KIB * KIB
AMPLE = Pressure(memory_free_bytes=1024 * MIB, storage_free_bytes=1024 * MIB)

amounts = st.none() | st.integers(0, 2**40)
pressures = st.builds(
    Pressure,
    level=st.sampled_from(PressureLevel),
    memory_free_bytes=amounts,
    memory_floor_bytes=st.integers(0, 2**30),
    storage_free_bytes=amounts,
    provider_chars=st.none() | st.integers(0, 40_000),
)
profiles = st.sampled_from(Profile)


def rows() -> dict[str, tuple[Figures, list[int]]]:
    """Return profile -> figures and ceilings, as they are noted."""
    found = {}
    for line in FIGURES_NOTED.strip().splitlines()[1:]:
        left, _, right = line.partition("|")
        name, source, render, body, records, events = left.split()
        figures = Figures(
            source_chars=int(source),
            render_chars=0 if render == "-" else int(render),
            body_bytes=int(body) * KIB,
            records=int(records),
            events=int(events),
        )
        found[name] = (figures, [int(each) for each in right.split()])
    return found


def ceilings(budget: Budget) -> list[int]:
    """Return every ceiling of a budget."""
    found = [budget.ceiling(each) for each in Ceiling]
    return [each for each in found if each is not None]


# --- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", rows())
def test_ceilings_follow_from_the_figures_by_the_formulas(name: str) -> None:
    """BG-05, BG-06: page = source / 256, references = body / 8 KiB, ...; none below its floor."""
    figures, expected = rows()[name]
    assert [unscaled(figures, each) for each in NOTED] == expected


@pytest.mark.parametrize("profile", Profile)
def test_a_profile_has_the_figures_that_are_noted_for_it(profile: Profile) -> None:
    """BG-01, BG-06: without pressure the ceilings are those of the figures."""
    figures, expected = rows()[OURS[profile]]
    ours = FIGURES[profile]
    assert (ours.source_chars, ours.body_bytes) == (figures.source_chars, figures.body_bytes)
    assert (ours.records, ours.events) == (figures.records, figures.events)
    assert ours.render_chars == (figures.render_chars or 2 * ours.source_chars)
    budget = budget_of(profile)
    assert [budget.ceiling(each) for each in NOTED] == expected
    assert budget.rendered_chars == ours.render_chars
    assert (budget.profile, budget.percent, budget.limited_by) == (profile, 100, [])


@given(st.integers(0, 300))
def test_no_ceiling_is_below_its_floor_before_it_is_scaled(amount: int) -> None:
    """BG-05: page 4, references 1, attributes 2, redaction items 8, derived references 4, repair issues 4."""
    figures = Figures(source_chars=amount, render_chars=amount, body_bytes=amount, records=amount, events=amount)
    assert [unscaled(figures, each) for each in NOTED] == [4, 1, 2, max(8, amount // 128), 4, 4]


def test_every_profile_says_which_policies_it_brings() -> None:
    assert set(PROFILE_POLICIES) == set(FIGURES) == set(Profile)


def test_without_a_profile_there_is_no_ceiling() -> None:
    assert ceilings(NO_BUDGET) == []
    assert NO_BUDGET.page(500) == 500
    assert applied(NO_BUDGET, dict.fromkeys(Ceiling, 10**9)) == []
    assert applied_to_slices(NO_BUDGET, [], 500) == []


# --- pressure ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pressure", "percent", "causes"),
    [
        (AMPLE, 100, []),
        (
            Pressure(level=PressureLevel.CAUTIOUS, memory_free_bytes=MIB, memory_floor_bytes=1, storage_free_bytes=0),
            60,
            [BudgetCause.PRESSURE_CAUTIOUS],
        ),
        (
            Pressure(level=PressureLevel.CRITICAL, memory_free_bytes=MIB, memory_floor_bytes=1, storage_free_bytes=0),
            35,
            [BudgetCause.PRESSURE_CRITICAL],
        ),
        (
            Pressure(memory_free_bytes=99, memory_floor_bytes=100, storage_free_bytes=1),
            50,
            [BudgetCause.MEMORY_AT_FLOOR],
        ),
        (
            Pressure(memory_free_bytes=100, memory_floor_bytes=100, storage_free_bytes=1),
            50,
            [BudgetCause.MEMORY_AT_FLOOR],
        ),
        (
            Pressure(memory_free_bytes=101, memory_floor_bytes=100, storage_free_bytes=1),
            75,
            [BudgetCause.MEMORY_NEAR_FLOOR],
        ),
        (
            Pressure(memory_free_bytes=199, memory_floor_bytes=100, storage_free_bytes=1),
            75,
            [BudgetCause.MEMORY_NEAR_FLOOR],
        ),
        (Pressure(memory_free_bytes=200, memory_floor_bytes=100, storage_free_bytes=1), 100, []),
        (Pressure(storage_free_bytes=1), 50, [BudgetCause.MEMORY_UNKNOWN]),
        (Pressure(memory_free_bytes=1024 * MIB), 60, [BudgetCause.STORAGE_UNKNOWN]),
        (
            Pressure(level=PressureLevel.CRITICAL),
            35,
            [BudgetCause.PRESSURE_CRITICAL, BudgetCause.MEMORY_UNKNOWN, BudgetCause.STORAGE_UNKNOWN],
        ),
    ],
)
def test_pressure_scales_a_budget_and_the_budget_says_why(
    pressure: Pressure, percent: int, causes: list[BudgetCause]
) -> None:
    """BG-07: the levels, memory at, near and unknown, storage unknown; the smallest share counts."""
    budget = budget_of(Profile.SERVER, pressure)
    assert (budget.percent, budget.limited_by) == (percent, causes)
    assert ceilings(budget) == [max(1, whole * percent // 100) for whole in ceilings(budget_of(Profile.SERVER))]


@given(profiles, pressures)
def test_pressure_never_widens_a_budget_and_never_closes_it(profile: Profile, pressure: Pressure) -> None:
    """BG-05, BG-07: every ceiling lies between 1 and that of the figures; full only where nothing limits."""
    whole, budget = budget_of(profile), budget_of(profile, pressure)
    assert all(1 <= scaled <= full for scaled, full in zip(ceilings(budget), ceilings(whole), strict=True))
    assert budget.percent == min([SHARES[each] for each in budget.limited_by if each in SHARES], default=100)
    assert (budget == whole) == (budget.limited_by == [])


@given(profiles, pressures, st.integers(0, 40_000))
def test_a_provider_limits_the_rendered_text_and_nothing_else(profile: Profile, pressure: Pressure, most: int) -> None:
    """BG-07: a provider's limit caps the rendered text only."""
    free = Pressure(
        level=pressure.level,
        memory_free_bytes=pressure.memory_free_bytes,
        memory_floor_bytes=pressure.memory_floor_bytes,
        storage_free_bytes=pressure.storage_free_bytes,
    )
    limited = Pressure(**{name: getattr(free, name) for name in free.__struct_fields__} | {"provider_chars": most})
    before, after = budget_of(profile, free), budget_of(profile, limited)
    assert after.rendered_chars == max(1, min(most, before.rendered_chars or 0))
    assert ceilings(after)[:-1] == ceilings(before)[:-1]
    assert (BudgetCause.PROVIDER in after.limited_by) == (most < (before.rendered_chars or 0))


# --- what a budget does to a slice ------------------------------------------------------------------------------------


@given(turn_records(), st.sampled_from(View), st.integers(1, 4))
def test_a_budget_never_adds_content_or_a_reference(record: TurnRecord, view: View, most: int) -> None:
    """BG-02: what is left of a slice is the beginning of what it shows without a budget, and nothing else changes."""
    whole, withheld = cut(record, view)
    turn, items = cut(record, view, most)
    assert turn.host_refs == whole.host_refs[:most]
    assert turn.messages == whole.messages
    assert (turn.source, turn.tools, turn.external) == (whole.source, whole.tools, whole.external)
    beyond = [item for item in items if item.reason is Reason.PROFILE_BUDGET]
    assert len(beyond) == len(whole.host_refs) - len(turn.host_refs)
    places = {item.host_ref for item in beyond}
    assert [item for item in items if item not in beyond] == [
        item for item in withheld if item.host_ref is None or item.host_ref not in places
    ]
    assert audit(view, [turn], items).host_refs_redacted == len(record.meta.host_refs) - len(turn.host_refs)
    assert disclosed_labels(record, view) >= {f"host_ref/{place}" for place in places}


@given(turn_records())
def test_a_budget_of_one_shows_one_reference_of_three(record: TurnRecord) -> None:
    """BG-03: 1 shown, 2 redacted, and the reason is in the audit."""
    references = [
        ReferenceRecord(host="h", type="t", id=str(place), relation=Relation.ORIGIN, visibility=Visibility.EXPORT)
        for place in range(3)
    ]
    record = replace(record, meta=replace(record.meta, host_refs=references), content=None)
    turn, items = cut(record, View.EXPORT, 1)
    counted = audit(View.EXPORT, [turn], items)
    assert [reference.id for reference in turn.host_refs] == ["0"]
    assert counted.host_refs_redacted == 2
    assert Reason.PROFILE_BUDGET in counted.reasons
    assert [item.host_ref for item in items if item.reason is Reason.PROFILE_BUDGET] == [1, 2]
    (over,) = applied_to_slices(Budget(profile=Profile.EMBEDDED, host_refs_per_turn=1), items)
    assert (over.ceiling, over.limit, over.found) == (Ceiling.HOST_REFS_PER_TURN, 1, 3)
