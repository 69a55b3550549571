"""Tool registries go with the subject whose they are: their words, their tools as the store knows them, experience."""

from __future__ import annotations

import io
from typing import Any

import pytest

from muniment.errors import AccessDenied, ApprovalNeeded, EvidenceMissing
from muniment.events.approving import GuardedAct
from muniment.events.changes import Action
from muniment.events.identity import ConversationId, SubjectId
from muniment.events.tool_registries import RegistryScope
from muniment.evidence.verifier import verify_evidence
from muniment.governance.access import Access
from muniment.governance.views import View
from muniment.operations.lifecycle import erasure
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.scope import Scope
from tests.backups import backed_up
from tests.laws.every_key import Keys, opened_by, sealed_values
from tests.memory.asking import contents_of
from tests.memory.tools import feedback, reference, registry, saw
from tests.turns import SUBJECT, plain_turn
from tests.worlds import OPERATOR, FileWorld, World

OLGA, BOB = SubjectId("olga"), SubjectId("bob")
OF_OLGA = Scope(subject=OLGA)


def register(
    world: World, name: str, owner: str = OLGA, scope: RegistryScope = RegistryScope.OWNER, **more: Any
) -> None:
    snapshot = registry(registry=name, owner=owner, scope=scope, note=f"CANARY {name}", **more)
    world.runtime.tools.register(snapshot, "host")


def erase(world: World, scope: Scope = OF_OLGA) -> LifecycleReport:
    return world.runtime.lifecycle.erase(scope, "asked for", OPERATOR)


def registries(world: World) -> list[str]:
    return [one.registry for one in world.runtime.tools.list_().registries]


def experience_of(world: World, subject: str) -> int:
    return world.runtime.memory.list_(SubjectId(subject), View.RAW_OWNER).total


@pytest.fixture
def filled(world: World) -> World:
    """Return a world with turns of somebody else, registries of Olga, of Bob and of everybody, and experience."""
    world.with_turns(2)
    register(world, "olga/tools")
    register(world, "olga/project", scope=RegistryScope.PROJECT)
    register(world, "bob/tools", BOB)
    register(world, "shared", scope=RegistryScope.GLOBAL)
    for name in ("olga/tools", "bob/tools", "shared"):
        told = feedback(saw(), saw(), registry=reference(registry=name))
        world.runtime.tools.feedback(SubjectId(SUBJECT), told, "host")
    return world


def test_registries_go_with_their_owner_and_experience_goes_with_them(filled: World) -> None:
    """Nothing else goes; the review lists what the request does."""
    preview = filled.runtime.lifecycle.review(Action.ERASE, OF_OLGA)
    report = erase(filled)
    assert report.receipt is not None
    assert preview.registries == report.registries == report.receipt.registries == ["olga/project", "olga/tools"]
    assert preview.memory_items == report.memory_items
    assert (len(report.memory_items), report.receipt.items_erased, report.receipt.turns_erased) == (1, 1, 0)
    assert "tool registries" in {place.place for place in report.receipt.places}
    assert registries(filled) == ["bob/tools", "shared"]
    assert experience_of(filled, SUBJECT) == 2
    assert filled.runtime.evidence.inspect().findings == []
    again = erase(filled)
    assert (again.changed, again.registries) == (False, [])


@pytest.mark.parametrize("alone", [False, True], ids=["turns and registries", "registries alone"])
def test_a_certificate_says_that_registries_and_experience_are_gone(filled: World, alone: bool) -> None:
    """Of any event of the erasure; it is checked offline, and names neither a registry nor a tool."""
    subject = OLGA if alone else SubjectId(SUBJECT)
    if not alone:
        register(filled, "ada/tools", SUBJECT)
    receipt = erase(filled, Scope(subject=subject)).receipt
    assert receipt is not None
    counts = (receipt.turns_erased, receipt.items_erased, receipt.experience_erased, len(receipt.registries))
    assert counts == ((0, 1, 1, 2) if alone else (2, 3, 3, 1))
    assert "experience with tools" in {place.place for place in receipt.places}
    vkey = filled.runtime.evidence.checkpoint().vkey
    for position in receipt.positions:
        made = filled.runtime.lifecycle.certificate(position)
        told = tuple(made.summary[f"erased_{what}"] for what in ("turns", "items", "experience", "registries"))
        assert told == counts
        proved = verify_evidence(io.BytesIO(made.text.encode()), vkey)
        assert proved.erasures == len(receipt.positions)
        assert proved.statement is not None
        assert {"content of the memory items", "content of the tool registries"} <= {
            what for what, _ in proved.statement["places"]
        }
        assert not [word for word in ("olga/", "ada/", "CANARY", "mail.send") if word in made.text]


def test_a_removal_that_erases_nothing_has_no_certificate(filled: World) -> None:
    """Neither one that somebody asked for, nor any other event of the space."""
    removed = filled.runtime.tools.remove("bob/tools", "sold", "host").position
    for position in (0, removed):
        with pytest.raises(EvidenceMissing):
            filled.runtime.lifecycle.certificate(position)


@pytest.mark.slow
def test_all_words_of_a_registry_go_and_no_key_that_is_left_opens_them(lasting: FileWorld) -> None:
    """Also those of former snapshots, and why it was removed before."""
    register(lasting, "olga/tools")
    register(lasting, "olga/tools", fingerprint="f2")
    lasting.runtime.tools.remove("olga/tools", "CANARY", OPERATOR)
    register(lasting, "olga/tools", fingerprint="f3")
    lasting.close()
    before, keys = sealed_values(lasting.store), Keys()
    world = lasting.reopened()
    erase(world)
    assert contents_of(world, "tools.registered", "tools.removed") == [False, False, False, False, True]
    with keys.heard():
        world = world.reopened()
        assert world.runtime.evidence.inspect().findings == []
    assert opened_by(before, keys.all(), b"CANARY") == []
    register(world, "olga/tools", fingerprint="f4")
    assert world.runtime.tools.show("olga/tools", View.RAW_OWNER).note == "CANARY olga/tools"
    world.close()


def test_words_that_are_put_back_are_destroyed_again(lasting: FileWorld) -> None:
    """An opening finds the content of a registry that the log calls erased."""
    register(lasting, "olga/tools")
    lasting.runtime.close()
    read = "SELECT position, content FROM events WHERE kind = (SELECT kind FROM events WHERE position = 1)"
    with lasting.edited() as raw:
        [(position, content)] = raw.execute(read).fetchall()
    lasting.reopened()
    erase(lasting)
    lasting.runtime.close()
    with lasting.edited() as raw:
        raw.execute("UPDATE events SET content = ? WHERE position = ?", (content, position))
    world = lasting.reopened()
    assert contents_of(world, "tools.registered") == [False]
    assert world.runtime.evidence.inspect().findings == []
    world.close()


def test_an_older_backup_brings_no_registry_back(lasting: FileWorld) -> None:
    """What the present log erased is erased again in the log that takes its place; what it kept is there."""
    register(lasting, "olga/tools")
    register(lasting, "both")
    register(lasting, "bob/tools", BOB)
    backup = backed_up(lasting)
    register(lasting, "both", BOB, fingerprint="f2")
    erase(lasting)
    lasting.runtime.spaces.restore(str(backup), replace=True)
    assert registries(lasting) == ["bob/tools"]
    assert contents_of(lasting, "tools.registered") == [False, False, True]
    assert lasting.runtime.evidence.inspect().findings == []
    lasting.runtime.spaces.restore(str(backed_up(lasting, "again")), replace=True)
    assert registries(lasting) == ["bob/tools"]


def test_what_somebody_else_has_by_now_stays(world: World) -> None:
    """The words of Olga go, those of Bob are registered again."""
    register(world, "tools")
    register(world, "tools", BOB, fingerprint="f2")
    assert erase(world).registries == ["tools"]
    detail = world.runtime.tools.show("tools", View.RAW_OWNER)
    assert (detail.registry.owner, detail.registry.fingerprint, detail.note) == (BOB, "f2", "CANARY tools")
    assert contents_of(world, "tools.registered") == [False, False, True]
    assert world.runtime.evidence.inspect().findings == []
    assert not erase(world).changed


@pytest.mark.parametrize("scope", [OF_OLGA, Scope(whole_space="default")], ids=["subject", "space"])
def test_a_hold_keeps_registries_and_experience(filled: World, scope: Scope) -> None:
    """LC-08 of tools: a hold of the owner, or of the space, beats the erasure, and the report says so."""
    filled.runtime.lifecycle.hold(scope, "a dispute", OPERATOR)
    report = erase(filled)
    assert (report.changed, report.registries) == (False, [])
    assert report.kept_registries == ["olga/project", "olga/tools"]
    assert len(registries(filled)) == 4
    assert experience_of(filled, SUBJECT) == 3


def test_a_hold_of_who_has_the_experience_keeps_that_alone(filled: World) -> None:
    filled.runtime.lifecycle.hold(Scope(subject=SubjectId(SUBJECT)), "a dispute", OPERATOR)
    report = erase(filled)
    assert (report.registries, report.memory_items) == (["olga/project", "olga/tools"], [])
    assert experience_of(filled, SUBJECT) == 3


def test_other_erasures_leave_registries_alone(filled: World) -> None:
    report = erase(filled, Scope(conversation=ConversationId(plain_turn(1).conversation or "")))
    assert (report.affected_turns, report.registries) == (2, [])
    assert len(registries(filled)) == 4


def test_a_second_person_confirms_registries_once(world: World) -> None:
    register(world, "olga/tools")
    world.runtime.approvals.require([GuardedAct.ERASE], "two persons", OPERATOR)
    with pytest.raises(ApprovalNeeded) as waiting:
        erase(world)
    assert registries(world) == ["olga/tools"]
    world.runtime.approvals.confirm(waiting.value.limit or 0, "fine", "grace")
    assert erase(world).registries == ["olga/tools"]
    register(world, "olga/tools")
    with pytest.raises(ApprovalNeeded):
        erase(world)


def test_who_speaks_for_one_subject_is_told_no_experience_of_others(filled: World) -> None:
    mine = filled.runtime.restricted(Access(subject=OLGA)).lifecycle
    with pytest.raises(AccessDenied):  # a review counts what is in the whole space
        mine.review(Action.ERASE, OF_OLGA)
    assert mine.erase(OF_OLGA, "asked for", OLGA).registries == ["olga/project", "olga/tools"]


class Crashed(Exception):
    """The process ended here."""


def test_an_opening_after_a_crash_takes_what_was_registered_before_the_request(
    lasting: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the subject registers after the crash is not part of the request."""
    monkeypatch.setattr(erasure, "STEP_TURNS", 1)
    world = lasting.with_turns(3)
    register(world, "before", SUBJECT)
    register(world, "both", SUBJECT)

    def crash(*_: Any) -> Any:
        raise Crashed

    with monkeypatch.context() as crashing:
        crashing.setattr(erasure.Erasure, "_last", crash)
        with pytest.raises(Crashed):
            erase(world, Scope(subject=SubjectId(SUBJECT)))
    register(world, "both", SUBJECT, fingerprint="f2")
    register(world, "after", SUBJECT)
    world = world.crashed().reopened()
    assert registries(world) == ["after", "both"]
    assert world.runtime.tools.show("both", View.RAW_OWNER).note == "CANARY both"
    assert contents_of(world, "tools.registered") == [False, False, False, True, True]
    assert world.runtime.evidence.inspect().findings == []
    world.close()
