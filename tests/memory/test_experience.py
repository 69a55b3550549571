"""Experience with tools, as decisions: when it is repeated, how sure it is, which hints it gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.memory_items import ItemKind, MemoryPlane, NotebookEntry, Observations, ObservedTool, Retirement
from muniment.events.tool_registries import ToolsRegistered
from muniment.memory.experience import (
    CONFIDENCE_MAX,
    UNREPEATED_CONFIDENCE,
    Experience,
    ExperienceStep,
    HintReason,
    ReuseOutcome,
    ToolOutcome,
    WithheldHint,
    confidence_of,
    experience_change,
    experience_slot,
    hints_of,
    is_repeated,
    observed,
    together,
)
from muniment.memory.fold import EvidenceState, MemoryItem
from muniment.memory.merging import sources_of
from muniment.memory.tool_registry import HintRefusal, RegistrySnapshot, record_of, reference_flaw, tools_of
from tests.memory.items import item, source
from tests.memory.tools import TOOLS, reference, registry, saw

counts = st.builds(Observations, succeeded=st.integers(0, 99), failed=st.integers(0, 99), misled=st.integers(0, 9))
ids = st.from_regex(r"[A-Za-z0-9](?:[A-Za-z0-9._:/@-]{0,9}[A-Za-z0-9])?", fullmatch=True)
TWICE = Observations(succeeded=2)


def experience(
    observations: Observations = TWICE, tool: str = "search", fingerprint: str = "f1", **more: Any
) -> MemoryItem:
    used = ObservedTool(registry="desk", fingerprint=fingerprint, tool=tool)
    named = NotebookEntry(named=experience_slot(used, observations))
    fields: dict[str, Any] = {"kind": ItemKind.EXPERIENCE, "entry": named}
    fields |= {"observations": observations, "confidence": confidence_of(observations)}
    return item("found it", plane=MemoryPlane.TOOL_EXPERIENCE, **fields | more)


def registered(snapshot: RegistrySnapshot | None = None) -> dict[str, ToolsRegistered]:
    told = snapshot or registry()
    body = ToolsRegistered(registry=record_of(told, 1), tools=tools_of(told), requester="host")
    return {told.registry: body}


@given(counts, counts)
def test_observations_add_up_in_any_order(one: Observations, other: Observations) -> None:
    """In any order, and nothing is lost."""
    assert together(one, other) == together(other, one)
    assert together(one, Observations()) == one


@given(counts)
def test_a_confidence_is_a_share_and_low_until_something_is_repeated(observations: Observations) -> None:
    """One observation is never more than low; nothing is ever certain."""
    assert 0 <= confidence_of(observations) <= CONFIDENCE_MAX
    if not is_repeated(observations):
        assert confidence_of(observations) == UNREPEATED_CONFIDENCE


@given(counts.filter(is_repeated))
def test_the_same_outcome_again_never_makes_it_less_sure(observations: Observations) -> None:
    """And a hint that misled never makes it surer."""
    is_success = observations.succeeded >= observations.failed
    more = Observations(succeeded=1) if is_success else Observations(failed=1)
    assert confidence_of(together(observations, more)) >= confidence_of(observations)
    assert confidence_of(together(observations, Observations(misled=1))) <= confidence_of(observations)


@given(ids, ids, ids, ids)
def test_no_two_tools_share_a_slot(one: str, other: str, third: str, fourth: str) -> None:
    """Whatever separators are in the ids."""
    names = {
        experience_slot(ObservedTool(registry=first, fingerprint="f", tool=second), TWICE).name
        for first, second in ((one, other), (third, fourth))
    }
    assert len(names) == len({(one, other), (third, fourth)})


FIRST: dict[str, Any] = {"evidence": [source()]}
STEPS: list[tuple[list[MemoryItem], str, bool, ExperienceStep]] = [
    ([], "turn-1", False, ExperienceStep.RECORD),
    ([experience(**FIRST)], "turn-1", False, ExperienceStep.ALREADY_OBSERVED),
    ([experience(**FIRST)], "turn-2", False, ExperienceStep.CONFIRM),
    ([experience(**FIRST)], "turn-2", True, ExperienceStep.BEGIN_AGAIN),
    ([experience(**FIRST, latest_evidence=[source("turn-2")])], "turn-2", False, ExperienceStep.ALREADY_OBSERVED),
    ([experience(**FIRST, retired=Retirement.FORGOTTEN)], "turn-1", False, ExperienceStep.FORGOTTEN),
    ([experience(**FIRST, retired=Retirement.FORGOTTEN)], "turn-2", False, ExperienceStep.RECORD),
    ([experience(**FIRST, retired=Retirement.INVALIDATED)], "turn-1", False, ExperienceStep.ALREADY_OBSERVED),
]


@pytest.mark.parametrize(("history", "turn", "is_gone", "step"), STEPS)
def test_what_feedback_does_depends_on_its_turns(
    history: list[MemoryItem], turn: str, is_gone: bool, step: ExperienceStep
) -> None:
    change = experience_change(history, sources_of([source(turn)]), TWICE, lambda _: is_gone)
    assert change.step is step
    added = step is ExperienceStep.CONFIRM
    if step in {ExperienceStep.RECORD, ExperienceStep.BEGIN_AGAIN, ExperienceStep.CONFIRM}:
        assert change.observations == (Observations(succeeded=4) if added else TWICE)


@pytest.mark.parametrize(("first", "again"), [(None, "turn-1#0"), ("turn-1#0", None), ("turn-1#0", "turn-1#1")])
def test_one_turn_is_observed_once_whichever_message_is_named(first: str | None, again: str | None) -> None:
    history = [experience(evidence=[source("turn-1", first)])]
    change = experience_change(history, sources_of([source("turn-1", again)]), TWICE, lambda _: False)
    assert change.step is ExperienceStep.ALREADY_OBSERVED


def test_observations_are_counted_by_outcome() -> None:
    found = observed([saw(), saw(outcome=ToolOutcome.FAILED), saw()], ReuseOutcome.MISLED)
    assert found == Observations(succeeded=2, failed=1, misled=1)


@pytest.mark.parametrize(
    ("observations", "reason"),
    [(TWICE, HintReason.REPEATED_SUCCESS), (Observations(failed=3, succeeded=0), HintReason.REPEATED_FAILURE)],
)
def test_repeated_experience_gives_a_hint(observations: Observations, reason: HintReason) -> None:
    (hint,), without = hints_of([Experience(experience(observations), EvidenceState.RECENT_STATE)], registered())
    assert (hint.tool.schema_fingerprint, hint.reason, without) == ("s1", reason, [])


RECENT, NONE = EvidenceState.RECENT_STATE, HintRefusal.NO_GOVERNED_TOOL_EXPERIENCE
ONCE, MIXED = Observations(succeeded=1), Observations(succeeded=2, failed=2)
DISABLED = registry(tools=[replace(TOOLS[0], disabled=True)])
WITHOUT: list[tuple[MemoryItem, dict[str, ToolsRegistered], EvidenceState, Any]] = [
    (experience(), {}, RECENT, HintRefusal.REGISTRY_MISSING),
    (experience(fingerprint="f0"), registered(), RECENT, HintRefusal.FINGERPRINT_MISMATCH),
    (experience(tool="gone"), registered(), RECENT, HintRefusal.UNKNOWN_TOOL),
    (experience(), registered(DISABLED), RECENT, HintRefusal.TOOL_DISABLED),
    (experience(), registered(), EvidenceState.NEEDS_REVIEW, HintRefusal.NEEDS_REVIEW),
    (
        experience(Observations(succeeded=1)),
        registered(),
        EvidenceState.RECENT_STATE,
        HintRefusal.NO_GOVERNED_TOOL_EXPERIENCE,
    ),
    (
        experience(ONCE, confidence=900),
        registered(),
        EvidenceState.RECENT_STATE,
        HintRefusal.NO_GOVERNED_TOOL_EXPERIENCE,
    ),
    (
        experience(Observations(succeeded=2, failed=2)),
        registered(),
        EvidenceState.RECENT_STATE,
        HintRefusal.NO_GOVERNED_TOOL_EXPERIENCE,
    ),
]


@pytest.mark.parametrize(("known", "registries", "state", "reason"), WITHOUT)
def test_anything_else_gives_none_and_says_why(
    known: MemoryItem, registries: dict[str, ToolsRegistered], state: EvidenceState, reason: Any
) -> None:
    given_hints, without = hints_of([Experience(known, state)], registries)
    slot = known.meta.entry.named
    assert slot is not None
    assert slot.tool is not None
    assert (given_hints, without) == ([], [WithheldHint(registry="desk", tool=slot.tool.tool, reason=reason)])


@given(st.lists(counts, max_size=5))
def test_the_surest_hint_comes_first(many: list[Observations]) -> None:
    """Same experience, same order, however it comes."""
    known = [
        Experience(experience(each, position=place), EvidenceState.RECENT_STATE) for place, each in enumerate(many)
    ]
    hints, _ = hints_of(known, registered())
    assert [hint.item.confidence for hint in hints] == sorted((hint.item.confidence for hint in hints), reverse=True)
    assert hints == hints_of(known[::-1], registered())[0]


def test_a_reference_is_good_for_the_registry_that_is_there() -> None:
    record = record_of(registry(), 1)
    assert reference_flaw(reference(), record) is None
    assert reference_flaw(reference("f2"), record) is HintRefusal.FINGERPRINT_MISMATCH
    assert reference_flaw(reference(), None) is HintRefusal.REGISTRY_MISSING
