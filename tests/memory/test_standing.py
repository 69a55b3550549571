"""Where an item stands among others for a prompt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.memory_items import ItemPrivacy, MemoryPlane, Retirement
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import WHOLE
from muniment.memory.standing import NOT_IN_PROMPTS, NUMBERS, PLACES, section_of, standing
from tests.memory.items import item

shares = st.integers(0, WHOLE)
items = st.builds(
    lambda plane, pinned, confidence, importance: _item(
        plane, pinned=pinned, confidence=confidence, importance=importance
    ),
    st.sampled_from([plane for plane in MemoryPlane if plane is not MemoryPlane.TOOL_EXPERIENCE]),
    st.booleans(),
    shares,
    shares,
)


def _item(plane: MemoryPlane, *, pinned: bool, confidence: int, importance: int) -> MemoryItem:
    made = item()
    return replace(
        made, plane=plane, pinned=pinned, confidence=confidence, meta=replace(made.meta, importance=importance)
    )


@given(items, items)
def test_items_are_ordered_by_section_then_pinned_then_confidence_then_importance(
    one: MemoryItem, other: MemoryItem
) -> None:
    """IJ-01: in one number."""

    def key(of: MemoryItem) -> tuple[int, bool, int, int]:
        return NUMBERS[section_of(of)], of.pinned, of.confidence, of.meta.importance

    assert (standing(one) < standing(other)) == (key(one) < key(other))
    assert standing(one) // PLACES == NUMBERS[section_of(one)]


def test_what_no_prompt_may_hold_stands_nowhere() -> None:
    made = item()
    assert standing(replace(made, privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)) == NOT_IN_PROMPTS
    assert standing(replace(made, retired=Retirement.EVICTED)) == NOT_IN_PROMPTS
    assert standing(replace(made, disabled=True)) == NOT_IN_PROMPTS
    assert standing(replace(made, plane=MemoryPlane.TOOL_EXPERIENCE)) == NOT_IN_PROMPTS
