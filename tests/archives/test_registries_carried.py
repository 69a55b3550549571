"""Tool registries in archives: they go out with their owner, global ones with the shared part, and come in."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import ArchiveConflict, ArchiveRefused
from muniment.events.approving import GuardedAct
from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.events.identity import SubjectId
from muniment.events.tool_registries import RegistryScope
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.tools.register import RegistryDetail
from tests.archives.documents import (
    ADA,
    SHARED,
    TALKING,
    changed,
    exported,
    imported,
    line_where,
    lines_of,
    of_subject,
    rooted,
    seal,
)
from tests.backups import backed_up, root_of
from tests.memory.asking import contents_of
from tests.memory.tools import feedback, reference, registry
from tests.turns import SUBJECT
from tests.worlds import OPERATOR, World, memory_world, sqlite_world

RESTORE, INCLUDE, EXCLUDE = ImportMode.RESTORE, PrivateMaterial.INCLUDE, PrivateMaterial.EXCLUDE
BOB = ArchiveScope(kind=ScopeKind.SUBJECT, subject="bob")
OWNED = b'"registry":{"registry":"ada/tools"'


def register(world: World, name: str, owner: str = SUBJECT, **more: Any) -> None:
    fields: dict[str, Any] = {"scope": RegistryScope.OWNER, "note": f"note of {name}"} | more
    assert world.runtime.tools.register(registry(registry=name, owner=owner, **fields), "host").changed


def known(world: World) -> dict[str, RegistryDetail]:
    """Return the registries of a world with all that is told of them, but for where in its log they are."""
    tools = world.runtime.tools
    shown = [tools.show(each.registry, View.RAW_OWNER) for each in tools.list_().registries]
    return {
        each.registry.registry: replace(each, registry=replace(each.registry, position=0, revision=0)) for each in shown
    }


@pytest.fixture
def source() -> World:
    """Return a world with registries of Ada (one replaced, one removed), of Bob and of everybody."""
    world = memory_world("source").with_turns(2)
    register(world, "ada/tools", fingerprint="old", note="an old note")
    register(world, "ada/tools")
    register(world, "ada/project", scope=RegistryScope.PROJECT)
    register(world, "ada/removed")
    world.runtime.tools.remove("ada/removed", "sold", "host")
    register(world, "bob/tools", "bob")
    register(world, "shared", scope=RegistryScope.GLOBAL)
    for turn in (1, 2):
        world.runtime.tools.feedback(
            SubjectId(SUBJECT), feedback(registry=reference(registry="ada/tools"), turn=turn), "host"
        )
    return world


# --- there and back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "names"), [(ADA, ["ada/project", "ada/tools"]), (BOB, ["bob/tools"]), (SHARED, ["shared"])]
)
def test_each_registry_is_in_one_part_and_comes_in_as_it_was(
    source: World, tmp_path: Path, scope: ArchiveScope, names: list[str]
) -> None:
    """With what people wrote, and when; former snapshots stay behind; the archive of it is the same again."""
    out = exported(source.runtime, tmp_path / "x", scope)
    assert out.registries == out.root.registries == len(names)
    told = b"".join(lines_of(tmp_path / "x"))
    assert b"an old note" not in told
    target = sqlite_world(tmp_path / "target")
    report = imported(target.runtime, tmp_path / "x", scope)
    assert (report.registries_inserted, report.registries_deleted, report.erased_registries) == (len(names), 0, 0)
    assert report.last is not None
    assert known(target) == {name: known(source)[name] for name in names}
    assert exported(target.runtime, tmp_path / "y", scope).root == out.root
    assert lines_of(tmp_path / "y") == lines_of(tmp_path / "x")
    assert target.runtime.evidence.inspect().findings == []
    assert target.reopened().runtime.system.health().sound


def test_experience_gives_its_hints_where_both_came_in(source: World, tmp_path: Path) -> None:
    exported(source.runtime, tmp_path / "x")
    target = memory_world("target")
    imported(target.runtime, tmp_path / "x")
    told = [
        [replace(hint, position=0) for hint in world.runtime.tools.hints(SUBJECT).hints] for world in (source, target)
    ]
    assert told[0] == told[1] != []


def test_an_import_replaces_the_registries_of_its_scope_alone(source: World, tmp_path: Path) -> None:
    """Words of what is replaced are destroyed; the same archive once more leaves the same."""
    out = exported(source.runtime, tmp_path / "x")
    target = memory_world("target")
    register(target, "ada/tools", fingerprint="here", note="CANARY")
    register(target, "ada/here", note="CANARY")
    register(target, "shared", scope=RegistryScope.GLOBAL)
    before = known(target)["shared"]
    with pytest.raises(ArchiveConflict) as refused:
        imported(target.runtime, tmp_path / "x")
    assert (refused.value.at, refused.value.problem) == ("scope", "not_empty")
    for time in range(2):
        report = imported(target.runtime, tmp_path / "x", mode=RESTORE)
        assert (report.registries_inserted, report.registries_deleted) == (2, 2)
        assert known(target) == {name: known(source)[name] for name in ("ada/tools", "ada/project")} | {
            "shared": before
        }
        assert exported(target.runtime, tmp_path / f"{time}").root == out.root
    assert contents_of(target, "tools.registered") == [False, False, True, False, False, True, True]
    assert target.runtime.evidence.inspect().findings == []


def test_what_an_archive_does_not_speak_of_stays(source: World, tmp_path: Path) -> None:
    """Without private material, and of one conversation: no registry goes out, and none is replaced."""
    before = known(source)
    for number, (scope, private, count) in enumerate([(ADA, EXCLUDE, 2), (SHARED, EXCLUDE, 1), (TALKING, INCLUDE, 0)]):
        file = tmp_path / f"{number}"
        out = exported(source.runtime, file, scope, private)
        assert (out.registries, out.root.registries) == (0, None)
        assert sum(left.registries for left in out.left_out) == count
        assert b"tools.registered" not in b"".join(lines_of(file))
        source.runtime.archives.import_(str(file), scope, private, RESTORE)
        assert known(source) == before


@settings(max_examples=8)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["ada", "bob", None]), st.integers(0, 2)), max_size=8)
)
def test_the_parts_of_a_space_are_its_registries(steps: list[tuple[str, str | None, int]]) -> None:
    """EX-09: whatever was registered, taken over and removed, the parts together are all of it."""
    world, target = memory_world(), memory_world("target")
    for name, owner, note in steps:
        if owner is None:
            present = name in known(world)
            if present:
                world.runtime.tools.remove(name, "asked", "host")
            continue
        kind = RegistryScope.GLOBAL if note == 0 else RegistryScope.PROJECT
        world.runtime.tools.register(registry(registry=name, owner=owner, scope=kind, note=f"{note}"), "host")
    with tempfile.TemporaryDirectory() as home:
        for number, scope in enumerate((ADA, BOB, SHARED)):
            first = exported(world.runtime, Path(home) / f"{number}", scope)
            imported(target.runtime, Path(home) / f"{number}", scope)
            assert exported(target.runtime, Path(home) / f"{number} again", scope).root == first.root
    assert known(target) == known(world)
    assert target.runtime.evidence.inspect().findings == []


# --- what is in the way -----------------------------------------------------------------------------------------------


def test_holds_keep_registries_from_being_replaced(source: World, tmp_path: Path) -> None:
    """Those of the owner and of the space, in either part."""
    for number, (held, scope) in enumerate(
        [(Scope(subject=SubjectId("ada")), ADA), (Scope(whole_space="default"), SHARED)]
    ):
        file = tmp_path / f"{number}"
        exported(memory_world("none").runtime, file, scope)
        hold = source.runtime.lifecycle.hold(held, "court", OPERATOR)
        with pytest.raises(ArchiveConflict) as refused:
            imported(source.runtime, file, scope, RESTORE)
        assert refused.value.problem == "held"
        source.runtime.lifecycle.release(hold.position or 0, "over", OPERATOR)
    imported(source.runtime, tmp_path / "1", SHARED, RESTORE)
    assert sorted(known(source)) == ["ada/project", "ada/tools", "bob/tools"]


def test_an_erasure_that_takes_two_persons_is_not_done_by_an_archive(tmp_path: Path) -> None:
    world = memory_world()
    register(world, "ada/tools")
    exported(memory_world("none").runtime, tmp_path / "x")
    world.runtime.approvals.require([GuardedAct.ERASE], "two", OPERATOR)
    with pytest.raises(ArchiveConflict) as refused:
        imported(world.runtime, tmp_path / "x", mode=RESTORE)
    assert refused.value.problem == "erasing_takes_two_persons"


def test_a_registry_of_somebody_else_is_not_taken_over(source: World, tmp_path: Path) -> None:
    exported(source.runtime, tmp_path / "x")
    target = memory_world("target")
    register(target, "ada/tools", "bob")
    before = root_of(target.runtime)
    for mode in ImportMode:
        with pytest.raises(ArchiveConflict) as refused:
            imported(target.runtime, tmp_path / "x", mode=mode)
        assert (refused.value.at, refused.value.problem) == ("registry", "of_another_scope")
    assert root_of(target.runtime) == before


# --- what was erased --------------------------------------------------------------------------------------------------


def test_what_was_erased_with_its_owner_does_not_come_back(source: World, tmp_path: Path) -> None:
    """Whatever was registered since is another one, and comes back; that of another owner was never erased."""
    exported(source.runtime, tmp_path / "before")
    exported(source.runtime, tmp_path / "bob", BOB)
    assert source.runtime.lifecycle.erase(Scope(subject=SubjectId("ada")), "asked", OPERATOR).registries
    report = imported(source.runtime, tmp_path / "before", mode=RESTORE)
    assert (report.registries_inserted, report.erased_registries) == (0, 2)
    register(source, "ada/tools", note="later")
    later = known(source)["ada/tools"]
    exported(source.runtime, tmp_path / "after")
    assert imported(source.runtime, tmp_path / "before", mode=RESTORE).erased_registries == 2
    assert imported(source.runtime, tmp_path / "after", mode=RESTORE).registries_inserted == 1
    assert known(source)["ada/tools"] == later
    assert imported(source.runtime, tmp_path / "bob", BOB, RESTORE).registries_inserted == 1
    assert source.runtime.evidence.inspect().findings == []


def test_what_came_from_a_clock_that_is_ahead_stays_erased(source: World, tmp_path: Path) -> None:
    """The archive says when it was registered there; that is later than the erasure here, and still it was erased."""
    exported(source.runtime, tmp_path / "x")
    told = lines_of(tmp_path / "x")
    place = line_where(told, OWNED)
    seal(tmp_path / "x", rooted([*told[:place], changed(told[place], t=2**45), *told[place + 1 :]]))
    target = memory_world("target")
    imported(target.runtime, tmp_path / "x")
    target.runtime.lifecycle.erase(Scope(subject=SubjectId("ada")), "asked", OPERATOR)
    assert imported(target.runtime, tmp_path / "x", mode=RESTORE).erased_registries == 2


def test_what_an_archive_replaced_is_no_fence(source: World, tmp_path: Path) -> None:
    """Neither of a later archive nor of a backup that is older than the import."""
    exported(source.runtime, tmp_path / "x")
    exported(memory_world("none").runtime, tmp_path / "empty")
    lasting = sqlite_world(tmp_path / "lasting")
    imported(lasting.runtime, tmp_path / "x")
    backup = backed_up(lasting, str(tmp_path / "backup"))
    before = known(lasting)
    assert imported(lasting.runtime, tmp_path / "empty", mode=RESTORE).registries_deleted == 2
    assert known(lasting) == {}
    lasting.runtime.spaces.restore(str(backup), replace=True)
    assert known(lasting.reopened()) == before
    assert imported(lasting.runtime, tmp_path / "x", mode=RESTORE).registries_inserted == 2


# --- what is refused --------------------------------------------------------------------------------------------------


def edit(change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    """Return an edit of the line of a registry."""

    def edited(told: list[bytes]) -> list[bytes]:
        place = line_where(told, OWNED)
        return rooted([*told[:place], change(told[place]), *told[place + 1 :]])

    return edited


def within(old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    return edit(lambda line: line.replace(old, new, 1))


def member(**change: object) -> Callable[[list[bytes]], list[bytes]]:
    return edit(lambda line: changed(line, **change))


def before(word: bytes) -> Callable[[list[bytes]], list[bytes]]:
    """Return an edit that puts both registries before the first line with a word in it."""

    def edited(told: list[bytes]) -> list[bytes]:
        place = line_where(told, word)
        return rooted([*told[:place], *told[-2:], *told[place:-2]])

    return edited


FAULTS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "forged counts": lambda told: [changed(told[0], registries=7), *told[1:]],
    "an archive that says nothing of registries": lambda told: rooted([changed(told[0], registries=None), *told[1:]]),
    "a registry twice": lambda told: rooted([*told, told[-1]]),
    "registries in another order": lambda told: rooted([*told[:-2], told[-1], told[-2]]),
    "registries before conversations": before(b'"conversation":"talk"'),
    "registries before notebooks": before(b'{"subject":"ada","plane"'),
    "registries among the events of a conversation": before(b"turn.committed"),
    "an event behind a registry": lambda told: rooted([*told, told[line_where(told, b"item.recorded")]]),
    "a removal": within(b"tools.registered", b"tools.removed"),
    "a registry of somebody else": within(b'"owner":"ada"', b'"owner":"bob"'),
    "a registry of everybody": within(b'"scope":"owner"', b'"scope":"global"'),
    "a padded id": within(b'"registry":"ada/tools"', b'"registry":"ada/tools "'),
    "a padded requester": within(b'"requester":"host"', b'"requester":"host "'),
    "another number": within(b'"revision":1', b'"revision":2'),
    "a tool twice": within(b'"tool":"search"', b'"tool":"mail.send"'),
    "tools in another order": within(b'"tool":"mail.send"', b'"tool":"z"'),
    "a name for no tool": within(b'"names":[null,', b'"names":[null,null,'),
    "no words": member(content=None),
    "a turn": member(turn=1),
    "a target": member(target=0),
    "references": member(refs={"turn": 1}),
    "a reason": member(reason="erase"),
    "a time that is none": member(t=2**52),
    "a schema": within(b'"schema_fingerprint":"m1"', b'"schema_fingerprint":"m1","schema":{}'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_registry_with_a_fault_leaves_the_store_as_it_was(source: World, tmp_path: Path, fault: str) -> None:
    """EX-08: refused before the first write, with nothing of the words in the error."""
    exported(source.runtime, tmp_path / "x")
    told = lines_of(tmp_path / "x")
    forged = FAULTS[fault](told)
    assert forged != told
    seal(tmp_path / "x", forged)
    target = memory_world("target")
    before = root_of(target.runtime)
    for mode in ImportMode:
        with pytest.raises(ArchiveRefused) as refused:
            imported(target.runtime, tmp_path / "x", mode=mode)
        assert "ada" not in str(refused.value)
    assert root_of(target.runtime) == before


def test_no_conversation_stands_behind_a_registry(source: World, tmp_path: Path) -> None:
    """In an archive without notebooks, too."""
    source.with_turn(of_subject("ada", 1, "mixed")).with_turn(of_subject("bob", 2, "mixed"))
    exported(source.runtime, tmp_path / "x", SHARED)
    told = lines_of(tmp_path / "x")
    seal(tmp_path / "x", rooted([told[0], told[-1], *told[1:-1]]))
    with pytest.raises(ArchiveRefused) as refused:
        imported(memory_world("target").runtime, tmp_path / "x", SHARED)
    assert refused.value.problem == "order"


def test_an_archive_from_before_registries_leaves_them(source: World, tmp_path: Path) -> None:
    """It says nothing of them, so none is replaced."""
    exported(source.runtime, tmp_path / "x")
    told = [line for line in lines_of(tmp_path / "x") if not line.startswith(b'{"kind":"tools.registered"')]
    seal(tmp_path / "x", rooted([changed(told[0], registries=None), *told[1:]]))
    before = known(source)
    report = imported(source.runtime, tmp_path / "x", mode=RESTORE)
    assert (report.registries_inserted, report.registries_deleted) == (0, 0)
    assert known(source) == before
