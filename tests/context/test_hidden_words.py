"""What a view hides is in no context of it, and changes none."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.events.changes import Transition
from muniment.events.message import Authority, Message, Role
from muniment.governance.detection.detection import Detect
from muniment.governance.detection.scan import DetectedType
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.context.prompt import Composition, QuoteScope, Shape
from muniment.operations.transcripts.redact import Passage
from tests.context.prompts import turn_of
from tests.laws.marked import marks_in, seen
from tests.laws.walks import KEYS, Walk, steps
from tests.turns import answered, asked
from tests.worlds import World, key_of, memory_world

EVERYTHING = Composition(
    lifecycle=LifecycleFilter.ACTIVE_AND_ARCHIVED,
    reach=QuoteScope.SPACE,
    reference_percent=50,
    overhead_tokens=0,
    begins=True,
)
_DIGEST = re.compile(r'"(digest|revision)":("[0-9a-f]*"|\d+)')


@settings(max_examples=25, deadline=None)
@given(
    st.lists(steps, max_size=16), st.sampled_from(Shape), st.integers(0, 2000), st.sampled_from(["", "question words"])
)
def test_a_context_shows_no_more_than_a_replay_of_its_view(
    drawn: list[tuple[int, int, int]], shape: Shape, budget: int, query: str
) -> None:
    """Whatever was masked, erased, redacted, archived or private: every mark in a context is one of the replay."""
    walk = Walk(memory_world())
    try:
        for step in drawn:
            walk.step(*step)
        runtime = walk.world.runtime
        for view in View:
            shown = {mark for key in KEYS for mark in seen(runtime, key, view)}
            for key in KEYS:
                found = runtime.transcripts.context(key, budget, query or None, shape, view, EVERYTHING)
                assert marks_in(msgspec.json.encode((found.messages, found.system)).decode()) <= shown
    finally:
        walk.world.close()


def told(world: World, secret: str, view: View) -> list[Any]:
    """Return the contexts of a conversation of which some words are hidden, without digests of the log."""
    private = Message(role=Role.ASSISTANT, content=f"the lamp {secret}", authority=Authority.SOUL_GOVERNANCE)
    world.commit(turn_of(1, asked(f"lamp {secret}"), answered(f"a lamp, {secret}"), private))
    world.commit(turn_of(2, asked("the lamp is green"), private, answered(f"a lamp, {secret}")))
    world.commit(turn_of(3, asked(f"lamp {secret} {secret}"), answered("of course")))
    for number in range(4, 20):
        world.commit(turn_of(number, asked("and then?"), answered("nothing of note")))
    world.request(Transition.MASK, 1)
    world.redact(Passage(turn=turn_of(2).turn, message=2), *View)
    world.request(Transition.ERASE, 3)
    ask = world.runtime.transcripts.context
    found = [
        ask(key_of(), budget, f"lamp {word}", view=view) for budget in (0, 300, 900) for word in ("one", "two", "x")
    ]
    return [json.loads(_DIGEST.sub(r'"\1":0', msgspec.json.encode(each).decode())) for each in found]


@pytest.mark.parametrize("view", [View.MODEL_CONTEXT, View.HOST_UI, View.EXPORT])
def test_words_that_are_hidden_change_no_context(view: View) -> None:
    """Two histories that differ in hidden words alone have the same contexts, counts and quotations."""
    first, second = memory_world(), memory_world()
    try:
        one, other = told(first, "one", view), told(second, "two two", view)
        assert one == other
        assert any("the lamp is green" in str(each["messages"][0]) for each in one if each.get("quoted"))
    finally:
        first.close()
        second.close()


def test_what_is_looked_for_is_in_no_context() -> None:
    """Neither in turns nor in quotations, and a system text may hold some, too."""
    detect = Detect(views={View.MODEL_CONTEXT: frozenset({DetectedType.EMAIL})})
    world = memory_world(detect=detect)
    try:
        address = "ada@lamp.example"
        system = Message(role=Role.SYSTEM, content=f"Write to {address}.")
        world.commit(turn_of(1, system, asked(f"My lamp, {address}, is broken.")))
        for number in range(2, 40):
            world.commit(turn_of(number, asked(f"I am {address}."), answered("Noted.")))
        found = world.runtime.transcripts.context(key_of(), 400, "broken lamp")
        assert len(found.quoted) == 1
        assert address not in str(found)
        assert found.withheld["detected"] == found.turns
    finally:
        world.close()
