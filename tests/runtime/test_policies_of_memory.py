"""Policies of memory through the front door: what they stop, how they end, and what is left of their words."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.errors import AccessDenied, InvalidInput, LimitExceeded
from muniment.events.changes import ERASED
from muniment.events.identity import SubjectId
from muniment.events.memory_governance import PolicyAction
from muniment.governance.access import Access
from muniment.memory.amendment import SupersedeItem
from muniment.memory.candidate import Ruling
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.notebook.policy_requests import MemoryPolicyReport, MemorySelector
from tests.laws.every_key import Keys, opened_by, sealed_values
from tests.memory.asking import amend, remember, size, texts
from tests.memory.items import candidate
from tests.turns import SUBJECT, TALK
from tests.worlds import OPERATOR, World, key_of, sqlite_world

ADA = SubjectId(SUBJECT)
PAUSE, SUPPRESS = PolicyAction.PAUSE, PolicyAction.SUPPRESS


def set_policy(world: World, action: PolicyAction, until_ms: int | None = None, **selector: Any) -> MemoryPolicyReport:
    asked = MemorySelector(**(selector or {"everything": True}))
    return world.runtime.notebook.set_policy(action, "asked for", OPERATOR, asked, until_ms)


def test_nobody_stops_all_memory_by_leaving_something_out(world: World) -> None:
    for asked in (MemorySelector(), MemorySelector(everything=True, kind="task")):
        with pytest.raises(InvalidInput):
            world.runtime.notebook.set_policy(SUPPRESS, "asked for", OPERATOR, asked)
    assert world.runtime.notebook.set_policy(SUPPRESS, "asked for", OPERATOR, MemorySelector(everything=True)).changed


def in_force(world: World) -> list[str]:
    return [policy.policy for policy in world.runtime.notebook.policies().policies]


@pytest.mark.parametrize(
    ("selector", "stops"),
    [
        ({}, True),
        ({"subject": ADA}, True),
        ({"subject": SubjectId("bob")}, False),
        ({"kind": "behaviour"}, True),
        ({"kind": "task"}, False),
        ({"topic": "HOME_city"}, True),
        ({"topic": "work"}, False),
        ({"subject": ADA, "topic": "home-*"}, True),
        ({"subject": ADA, "topic": "*work"}, False),
        ({"conversation": TALK}, True),
        ({"conversation": TALK, "channel": "mail"}, False),
        ({"scope": "user"}, True),
        ({"scope": "chat"}, False),
    ],
)
def test_a_policy_stops_what_matches_it_and_deletes_nothing(
    world: World, selector: dict[str, Any], stops: bool
) -> None:
    world.with_turns(2)
    remember(world)
    report = set_policy(world, SUPPRESS, **selector)
    before = size(world)
    new = remember(world, "Lives in Rome", 2)
    assert new.changed is not stops
    if stops:
        assert (new.decision, new.reason, new.policy) == (Ruling.REFUSE, "suppressed_by_policy", report.policy)
        assert (size(world), texts(world)) == (before, ["Lives in Oslo"])
        proposed = world.runtime.notebook.propose([candidate("Lives in Rome", 2)], "why", "host")
        assert (proposed.candidates[0].policy, size(world)) == (report.policy, before)


def test_a_person_may_still_amend_what_is_there(world: World) -> None:
    world.with_turns(1)
    remember(world, id="i-1")
    set_policy(world, SUPPRESS)
    assert amend(world, "i-1", SupersedeItem(text="Lives in Rome")).changed


def test_resume_ends_pauses_alone_and_lift_suppressions(world: World) -> None:
    world.with_turns(1)
    pause, suppression = set_policy(world, PAUSE, topic="home city"), set_policy(world, SUPPRESS, topic="home city")
    assert in_force(world) == [pause.policy, suppression.policy]
    assert remember(world).policy == suppression.policy
    assert set_policy(world, PolicyAction.RESUME, topic="Home-City").ended == [pause.policy]
    assert in_force(world) == [suppression.policy]
    assert remember(world).decision is Ruling.REFUSE
    nothing = set_policy(world, PolicyAction.LIFT, topic="work")
    assert (nothing.changed, nothing.reason) == (False, "nothing_in_force")
    assert set_policy(world, PolicyAction.LIFT, topic="home city").changed
    assert remember(world).changed


def test_what_is_in_force_already_is_not_set_again_and_a_new_end_replaces_the_old_one(world: World) -> None:
    now = world.runtime._session.space.sources.clock.now_ms()
    first = set_policy(world, PAUSE, now + 90_000, subject=ADA, topic="home*")
    before = size(world)
    again = set_policy(world, PAUSE, now + 90_000, subject=ADA, topic="home*")
    assert (again.changed, again.policy, again.reason, size(world)) == (
        False, first.policy, "already_in_force", before,
    )  # fmt: skip
    longer = set_policy(world, PAUSE, subject=ADA, topic="home*")
    assert (longer.ended, in_force(world)) == ([first.policy], [longer.policy])


def test_a_pause_ends_by_itself_and_defers_until_then(world: World) -> None:
    world.with_turns(1)
    clock = world.runtime._session.space.sources.clock
    until = clock.now_ms() + 60_000  # each reading of the clock moves it by a second
    set_policy(world, PAUSE, until)
    assert remember(world).decision is Ruling.DEFER
    while clock.now_ms() < until:
        pass
    assert in_force(world) == []
    assert remember(world).changed


def test_the_words_of_a_policy_die_with_its_subject_and_the_policy_with_them(tmp_path: Any) -> None:
    """A pattern and its reason are gone from every key and cell; a policy without pattern stays, without its reason."""
    world = sqlite_world(tmp_path).with_turns(1)
    notebook = world.runtime.notebook
    for subject, topic in ((ADA, "canarypattern*"), (ADA, None), (SubjectId("bob"), "keptpattern*")):
        notebook.set_policy(SUPPRESS, f"canary why {subject}", OPERATOR, MemorySelector(subject=subject, topic=topic))
    assert [policy.topic for policy in notebook.policies().policies] == ["canarypattern*", None, "keptpattern*"]
    world.close()
    before, keys = sealed_values(world.store), Keys()
    world = sqlite_world(tmp_path)
    assert world.runtime.lifecycle.erase(Scope(subject=ADA), "asked", OPERATOR).changed
    world.close()
    with keys.heard():
        world = sqlite_world(tmp_path)
        left = world.runtime.notebook.policies().policies
        assert [(policy.subject, policy.topic, policy.reason) for policy in left] == [
            (ADA, None, ERASED),
            ("bob", "keptpattern*", "canary why bob"),
        ]
        assert not world.runtime.evidence.inspect().fail_closed
        assert world.runtime.system.recover().sound
        world.close()
    after = sealed_values(world.store)
    known = keys.used()
    assert opened_by(after, known, b"keptpattern")
    for erased in (b"canarypattern", b"canary why ada"):
        assert not opened_by(before | after, known, erased)


def test_a_pattern_that_nothing_could_erase_is_refused(world: World) -> None:
    with pytest.raises(InvalidInput) as refused:
        set_policy(world, SUPPRESS, topic="health*")
    assert (refused.value.at, refused.value.problem) == ("selector.topic", "without_subject")
    assert set_policy(world, SUPPRESS, topic="health").changed
    (policy,) = world.runtime.notebook.policies().policies
    assert (policy.topic, policy.has_topic) == (None, True)


@pytest.mark.parametrize(
    ("action", "until", "selector"),
    [
        (PolicyAction.RESUME, 2**50, {}),
        (PolicyAction.FOLLOW, 2**50, {}),
        (PAUSE, 1, {}),
        (PAUSE, None, {"kind": "nothing"}),
        (PAUSE, None, {"channel": "mail"}),
        (PAUSE, None, {"conversation": "\n"}),
        (PAUSE, None, {"subject": "\n"}),
        (PAUSE, None, {"subject": ADA, "topic": " - "}),
    ],
)
def test_a_malformed_policy_is_refused(
    world: World, action: PolicyAction, until: int | None, selector: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        set_policy(world, action, until, **selector)
    with pytest.raises(LimitExceeded):
        set_policy(world, action if until is None else PAUSE, subject=ADA, topic="x" * 1025)


def test_a_caller_for_one_subject_governs_that_one_alone(world: World) -> None:
    mine, everybody = set_policy(world, PAUSE, subject=SubjectId("bob")), set_policy(world, PAUSE, subject=ADA)
    assert set_policy(world, PAUSE).changed
    bob = world.runtime.restricted(Access(subject="bob")).notebook
    assert [policy.policy for policy in bob.policies().policies] == [mine.policy]
    for refused in (MemorySelector(everything=True), MemorySelector(subject=ADA)):
        with pytest.raises(AccessDenied):
            bob.set_policy(PolicyAction.RESUME, "why", "bob", refused)
    with pytest.raises(AccessDenied):
        bob.policies(ADA)
    assert everybody.policy in in_force(world)


def test_policies_survive_a_reopening(tmp_path: Any) -> None:
    world = sqlite_world(tmp_path)
    policy = set_policy(world, SUPPRESS, subject=ADA, topic="home*", conversation=TALK)
    world.close()
    world = sqlite_world(tmp_path)
    (told,) = world.runtime.notebook.policies().policies
    assert (told.policy, told.topic, told.conversation) == (policy.policy, "home*", key_of())
    world.close()
