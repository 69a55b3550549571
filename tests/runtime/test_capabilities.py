"""What a policy, a profile, the access or a fault hides is refused with a reason, and listed with the same one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import muniment
from muniment.declaration.operation import Document, operation
from muniment.errors import AccessDenied, CapabilityHidden, Corrupt, InvalidInput, MunimentError
from muniment.governance.access import Access, Effect, SecondRight
from muniment.governance.policy import Family, Policy
from muniment.governance.profiles import Pressure, PressureLevel, Profile
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.operations.system.system import Hidden
from muniment.runtime.catalogue import catalogue
from muniment.runtime.open import open_without_key
from muniment.runtime.runtime import Runtime
from muniment.runtime.settings import set_policies, set_profile
from muniment.space.options import Options
from tests.cli.shell import Shell
from tests.runtime.every_operation import everything
from tests.turns import plain_turn
from tests.worlds import FileWorld, World, key_of, memory_world, root_key

# What answers for a space that is open for inspection only; everything else raises its fault.
INSPECTING = {
    "evidence.verify",
    "evidence.audit",
    "evidence.inspect",
    "spaces.list",
    "spaces.restore",
    "system.capabilities",
    "system.health",
    "system.recover",
    "system.doctor",
    "system.close",
}


def memory(**chosen: Any) -> Runtime:
    """Return a store in memory with one turn, opened with these options."""
    options = replace(Options(sources=seeded_sources("capabilities"), profile=None, policies=frozenset()), **chosen)
    runtime = muniment.open("memory:", keys=root_key(), options=options)
    runtime.transcripts.commit(plain_turn(1))
    return runtime


def keyless(runtime: Runtime) -> dict[str, Callable[[], Any]]:
    """Return a call of every operation that needs no key, but the one that closes the store."""
    return {
        "evidence.verify": lambda: runtime.evidence.verify(b"", "muniment.example/x+00000000+AAAA"),
        "evidence.audit": runtime.evidence.audit,
        "system.capabilities": runtime.system.capabilities,
        "system.doctor": runtime.system.doctor,
        "tables.describe": runtime.tables.describe,
    }


def refusal(call: Callable[[], Any]) -> MunimentError | None:
    """Return the error that a call ends with, if any."""
    try:
        call()
    except MunimentError as refused:
        return refused
    return None


# --- families ---------------------------------------------------------------------------------------------------------


def test_every_operation_belongs_to_a_family() -> None:
    """CP-01, CP-02: a new operation is looked at for each policy before it ships (governance/policy.py)."""
    assert {each.terms.family for each in catalogue()} == set(Family)
    with pytest.raises(TypeError, match="family"):
        operation(Effect.READ)  # type: ignore[call-arg]  # that mypy refuses it is the point


def test_what_answers_with_a_document_is_an_export() -> None:
    """CP-02: "no export" hides every way out that the catalogue knows. A certificate of an erasure holds no words."""
    assert {each.path for each in catalogue() if each.report is Document} - {"lifecycle.certificate"} <= {
        each.path for each in catalogue() if each.terms.family is Family.EXPORT
    }


# --- what is refused is what is listed --------------------------------------------------------------------------------


@pytest.mark.parametrize("policies", [[Policy.NO_EXPORT], [Policy.NO_DEBUG_REPLAY], list(Policy)], ids=str)
def test_what_a_policy_hides_is_refused_and_listed_with_the_same_reason(policies: list[Policy]) -> None:
    """CP-01, CP-02: operation by operation and view by view, through the front door."""
    with memory(policies=frozenset(policies)) as runtime:
        told = runtime.system.capabilities()
        assert told.policies == sorted(policies)
        calls = everything(runtime) | keyless(runtime)
        for each in told.operations:
            refused = refusal(calls.get(each.operation, bool))
            assert each.visible == (each.hidden is None) == (not isinstance(refused, CapabilityHidden))
            if refused is not None and not each.visible:
                assert (each.hidden, refused.at, refused.problem) == ("policy", each.operation, each.policy)
        for view in told.views:
            for read in (runtime.transcripts.replay, runtime.transcripts.timeline):
                refused = refusal(lambda: read(key_of(), view=view.view))  # noqa: B023 - called at once
                assert view.visible == (view.hidden is None) == (refused is None)
                if refused is not None:
                    assert (view.hidden, refused.at, refused.problem) == ("policy", view.view, view.policy)


@pytest.mark.parametrize("profile", Profile)
def test_a_profile_of_a_desktop_keeps_the_interface_and_denies_debugging(profile: Profile) -> None:
    """RP-14: a host interface is replayed under every profile; whoever has a desktop does not debug with it."""
    with memory(profile=profile) as runtime:
        assert runtime.transcripts.replay(key_of()).turns
        denied = [each.view for each in runtime.system.capabilities().views if not each.visible]
        debugging = [View.RAW_OWNER, View.OPERATOR_AUDIT]
        assert denied == (debugging if profile in {Profile.EMBEDDED, Profile.DESKTOP} else [])
        for view in denied:
            with pytest.raises(CapabilityHidden):
                runtime.transcripts.replay(key_of(), view)


def test_policies_are_added_and_never_taken_back(world: World) -> None:
    """A runtime that was handed on is under the policies of both, whatever it is handed on with again."""
    window = world.with_turns(1).runtime.restricted(Access(policies=frozenset({Policy.NO_EXPORT})))
    again = window.restricted(Access(policies=frozenset({Policy.NO_DEBUG_REPLAY}))).restricted(Access())
    assert again.system.capabilities().policies == ["no_debug_replay", "no_export"]
    with pytest.raises(CapabilityHidden):
        again.spaces.export(key_of())
    world.runtime.spaces.export(key_of())


def test_a_missing_right_is_the_reason_before_a_policy_is() -> None:
    with memory(policies=frozenset({Policy.NO_EXPORT, Policy.NO_DEBUG_REPLAY})) as runtime:
        reading = runtime.restricted(Access(effects=frozenset({Effect.READ}), views=frozenset({View.EXPORT})))
        told = reading.system.capabilities()
        reasons = {each.operation: (each.hidden, each.policy) for each in told.operations}
        assert reasons["evidence.export"] == (Hidden.ACCESS, None)
        assert reasons["evidence.prove"] == (Hidden.POLICY, Policy.NO_EXPORT)
        assert {each.view: each.hidden for each in told.views if each.hidden} == {
            view: Hidden.ACCESS for view in View if view is not View.EXPORT
        }
        with pytest.raises(AccessDenied):
            reading.evidence.export(key_of())


def test_second_rights_are_listed_and_what_lacks_one_is_hidden() -> None:
    """A right that every request takes hides the operation; one that some take is listed with its condition."""
    with memory() as runtime:
        listed = {each.operation: each.also for each in runtime.system.capabilities().operations if each.also}
        assert listed == {
            "transcripts.context": [SecondRight(effect=Effect.APPEND, when="composition.record")],
            "subjects.export": [SecondRight(effect=Effect.READ)],
            "redactions.find": [SecondRight(views=(View.RAW_OWNER,))],
            "redactions.apply": [SecondRight(views=(View.RAW_OWNER,))],
            "notebook.set_policy": [SecondRight(effect=Effect.ERASE, when="action is follow")],
            "lifecycle.erase": [SecondRight(effect=Effect.ADMIN, when="scope.whole_space")],
            "evidence.links": [SecondRight(views=(View.OPERATOR_AUDIT, View.RAW_OWNER))],
            "memory.import": [SecondRight(effect=Effect.ADMIN)],
            "spaces.import": [SecondRight(effect=Effect.ADMIN)],
            "spaces.restore": [SecondRight(effect=Effect.ADMIN)],
            "archives.export": [SecondRight(views=(View.RAW_OWNER,), when="private is include")],
            "archives.inspect": [SecondRight(effect=Effect.ADMIN)],
            "archives.import": [SecondRight(effect=Effect.ADMIN)],
        }
        no_admin = Access(
            effects=frozenset(Effect) - {Effect.ADMIN}, views=frozenset({View.HOST_UI, View.MODEL_CONTEXT, View.EXPORT})
        )
        window = runtime.restricted(no_admin)
        calls = everything(window)
        for each in window.system.capabilities().operations:
            refused = refusal(calls[each.operation]) if each.operation in calls else None
            assert isinstance(refused, AccessDenied) == (each.hidden is Hidden.ACCESS and each.operation in calls)


def test_a_cursor_from_under_another_policy_is_refused(world: World) -> None:
    """PG-05: a cursor is bound to the capabilities in force."""
    runtime = world.with_turns(3).runtime
    cursor = runtime.transcripts.replay(key_of(), limit=1).next_cursor
    hidden = runtime.restricted(Access(policies=frozenset({Policy.NO_EXPORT})))
    with pytest.raises(MunimentError) as refused:
        hidden.transcripts.replay(key_of(), limit=1, cursor=cursor)
    assert refused.value.code == "cursor.invalid"


def test_a_space_with_a_fault_hides_what_raises_it(lasting: FileWorld) -> None:
    """CP-01: open for inspection only, operation by operation; what is listed is what happens."""
    lasting.with_turns(2)
    with lasting.edited() as raw:
        raw.execute("UPDATE events SET leaf = zeroblob(32) WHERE position = 2")
    runtime = lasting.runtime
    told = {each.operation: each.hidden for each in runtime.system.capabilities().operations}
    assert {path for path, hidden in told.items() if hidden is None} == INSPECTING
    assert set(told.values()) == {None, Hidden.STATE}
    for path, call in everything(runtime).items():
        if told[path] is Hidden.STATE:
            with pytest.raises(Corrupt):
                call()
        elif told[path] is None and path != "spaces.restore":  # which looks at its file first too
            call()


# --- choosing ---------------------------------------------------------------------------------------------------------


def test_profile_and_policies_come_from_the_environment_unless_they_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MUNIMENT_PROFILE", "server")
    monkeypatch.setenv("MUNIMENT_POLICIES", "no_export, no_debug_replay")
    with memory_world().runtime as runtime:
        told = runtime.system.capabilities()
        assert told.budget is not None
        assert (told.budget.profile, told.policies) == ("server", ["no_debug_replay", "no_export"])
    with memory(profile=Profile.DEVELOPER) as runtime:
        told = runtime.system.capabilities()
        assert told.budget is not None
        assert (told.budget.profile, told.policies) == ("developer", [])
    with memory() as runtime:
        told = runtime.system.capabilities()
        assert (told.budget, told.policies) == (None, [])


def test_without_the_key_profile_and_policies_are_listed_too(lasting: FileWorld, monkeypatch: Any) -> None:
    monkeypatch.setenv("MUNIMENT_PROFILE", "desktop")
    with open_without_key(lasting.store) as third_party:
        told = third_party.system.capabilities()
        assert told.budget is not None
        assert (told.budget.page_turns, told.policies) == (32, ["no_debug_replay"])


def test_a_word_that_is_none_is_refused_and_never_passed_over() -> None:
    assert (set_profile({}), set_policies({})) == (None, frozenset())
    with pytest.raises(InvalidInput, match="MUNIMENT_PROFILE") as refused:
        set_profile({"MUNIMENT_PROFILE": "laptop"})
    assert "laptop" not in str(refused.value)
    with pytest.raises(InvalidInput, match="MUNIMENT_POLICIES"):
        set_policies({"MUNIMENT_POLICIES": "no_export,no_xport"})


def test_the_budget_that_is_told_is_the_one_of_this_moment() -> None:
    """BG-07: the report lists what limited it; the host is asked again each time."""
    levels: Iterator[PressureLevel] = iter(PressureLevel)
    ample = Pressure(memory_free_bytes=2**40, storage_free_bytes=2**40)
    with memory(profile=Profile.SERVER, pressure=lambda: replace(ample, level=next(levels))) as runtime:
        budgets = [runtime.system.capabilities().budget for _ in PressureLevel]
    told = [(each.page_turns, each.percent, each.limited_by) for each in budgets if each is not None]
    assert told == [(32, 100, []), (19, 60, ["pressure_cautious"]), (11, 35, ["pressure_critical"])]


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_command_line_refuses_as_python_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-02: the same error, and its exit code is that of what is denied."""
    shell = Shell(tmp_path)
    (tmp_path / "turn.json").write_text(json.dumps({
        "turn": "t", "subject": "ada", "conversation": "c", "messages": [{"role": "user", "content": "words"}],
    }))  # fmt: skip
    shell.must("transcripts", "commit", "turn.json")
    monkeypatch.setenv("MUNIMENT_POLICIES", "no_export")
    ran = shell.run("spaces", "export", "c", "--json")
    error = json.loads(ran.out)["error"]
    assert (ran.code, error["code"], error["problem"]) == (3, "capability.hidden", "no_export")
    for place in (
        ("--profile", "desktop", "transcripts", "replay", "c"),
        ("transcripts", "replay", "c", "--profile", "desktop"),
    ):
        assert shell.must(*place).code == 0
        ran = shell.run(*place, "--view", "raw_owner")
        assert (ran.code, "raw_owner: no_debug_replay" in ran.err) == (3, True)
    told = json.loads(shell.must("system", "capabilities", "--profile", "embedded", "--json").out)
    assert (told["policies"], told["budget"]["page_turns"]) == (["no_debug_replay", "no_export"], 8)
    refused = shell.run("system", "capabilities", "--profile", "laptop")
    assert (refused.code, "laptop" in refused.said, "profile: unknown" in refused.err) == (2, False, True)


def test_the_help_names_every_profile(tmp_path: Path) -> None:
    said = " ".join(Shell(tmp_path).must("transcripts", "replay", "--help").out.split())
    assert all(profile in said for profile in Profile)
