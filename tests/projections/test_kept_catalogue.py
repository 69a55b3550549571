"""The catalogue at rest: opened when it is what it must be, else dropped; the same as one made from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.events.changes import Transition
from muniment.events.identity import SpaceName, SubjectId, TurnId
from muniment.events.references import Plane
from muniment.ledger.snapshots import Snapshots
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.provenance.derivations import Derivation
from muniment.projections import conversation_catalogue, kept_catalogue
from muniment.projections.conversation_list import ConversationList
from muniment.projections.kept_catalogue import NAME, PREFIX
from tests.turns import SUBJECT
from tests.worlds import FileWorld, key_of, open_store, sqlite_world


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileWorld]:
    """Return an empty world whose smallest catalogue is kept at rest, and read in small parts."""
    monkeypatch.setattr(kept_catalogue, "KEPT_EVENTS_MIN", 1)
    monkeypatch.setattr(kept_catalogue, "LEFT_EVENTS", 1)
    monkeypatch.setattr(conversation_catalogue, "PART_EVENTS", 5)
    made = sqlite_world(tmp_path)
    yield made
    made.close()


def at_rest(world: FileWorld) -> Path:
    return world.database.with_name(f"{PREFIX}{NAME}.sealed")


def listed(world: FileWorld) -> list[tuple[str, int]]:
    return [(one.conversation, one.turns) for one in world.runtime.conversations.list_().conversations]


def digests(world: FileWorld) -> dict[str, bytes]:
    return world.runtime._session.space.catalogue.digests().of


def rebuilt(world: FileWorld) -> dict[str, bytes]:
    world.runtime._session.space.catalogue.drop()
    world.runtime._session.space.transcript.drop()
    return digests(world)


def derived(world: FileWorld) -> None:
    one = Derivation(
        plane=Plane.LONG_TERM,
        key="fact",
        subject=SubjectId(SUBJECT),
        conversation=key_of(),
        turn=TurnId("turn-1"),
    )
    world.runtime.provenance.record([one])


def filled(world: FileWorld) -> FileWorld:
    """Let a world have some of everything, list it once, and come back."""
    world.with_turns(6).with_turns(3, "walk").with_turns(2, "gone").masked(2).archived(3).erased(None, "gone")
    derived(world)
    assert listed(world) == EXPECTED
    return world.reopened()


EXPECTED = [("walk", 3), ("talk", 4)]


class Reads:
    """Counts the events that the catalogue takes from the log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events = 0
        take = ConversationList.take

        def counted(listing: ConversationList, *arguments: object, **named: object) -> None:
            self.events += 1
            take(listing, *arguments, **named)  # type: ignore[arg-type]  # as it was called

        monkeypatch.setattr(ConversationList, "take", counted)


def test_a_catalogue_comes_back_without_reading_the_log(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads only what was appended since, and is the same as one made from the log."""
    filled(kept)
    reads = Reads(monkeypatch)
    assert listed(kept) == EXPECTED
    assert reads.events == 0
    kept.with_turns(1).archived(1, "walk")
    assert listed(kept) == [("walk", 2), ("talk", 5)]
    assert reads.events == 2
    grown = digests(kept)
    assert grown == rebuilt(kept)
    assert [link.key for link in kept.runtime.evidence.links().links] == ["fact"]


def test_links_come_back_as_they_were(kept: FileWorld) -> None:
    filled(kept)
    assert [link.key for link in kept.runtime.evidence.links(conversation=key_of()).links] == ["fact"]


@settings(max_examples=15, deadline=None)
@given(
    steps=st.lists(
        st.sampled_from(["talk", "walk", "mask", "unmask", "archive", "erase", "derive", "reopen", "rotate", "list"]),
        max_size=10,
    )
)
def test_a_kept_catalogue_is_the_one_that_the_log_gives(
    steps: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever happens between two openings, and whoever asks in between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_catalogue, "KEPT_EVENTS_MIN", 1)
        patch.setattr(kept_catalogue, "LEFT_EVENTS", 1)
        world = sqlite_world(tmp_path_factory.mktemp("kept")).with_turns(2)
        does: dict[str, Callable[[], object]] = {
            "talk": lambda: world.with_turns(1),
            "walk": lambda: world.with_turns(1, "walk"),
            "mask": lambda: world.masked(2),
            "unmask": lambda: world.request(Transition.UNMASK),
            "archive": lambda: world.archived(1),
            "erase": lambda: world.erased(1),
            "derive": lambda: derived(world),
            "reopen": world.reopened,
            "rotate": lambda: world.runtime.spaces.rotate().version,
            "list": lambda: listed(world),
        }
        for step in steps:
            does[step]()
        listed(world)
        world.reopened()
        grown = digests(world)
        assert grown == rebuilt(world)
        world.close()


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def edited(data: bytes) -> bytes:
    return data[:-20] + bytes((data[-20] ^ 1,)) + data[-19:]


def smaller(data: bytes) -> bytes:
    return data.replace(b'"size":', b'"size":1', 1)


@pytest.mark.parametrize("fault", [cut, edited, smaller, bytes.lower])
def test_a_damaged_snapshot_is_dropped_and_made_anew(kept: FileWorld, fault: Callable[[bytes], bytes]) -> None:
    filled(kept)
    at_rest(kept).write_bytes(fault(at_rest(kept).read_bytes()))
    assert listed(kept) == EXPECTED
    assert not at_rest(kept).exists()
    kept.reopened()
    assert at_rest(kept).exists()
    assert listed(kept) == EXPECTED


@pytest.mark.parametrize("attribute", ["__version__", "NAME"])
def test_a_snapshot_of_something_else_is_dropped(
    kept: FileWorld, attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another release may fold otherwise; a file of another name is another file."""
    filled(kept)
    monkeypatch.setattr(kept_catalogue, attribute, "other")
    assert listed(kept) == EXPECTED


def test_a_snapshot_of_another_byte_order_is_dropped(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(kept)
    monkeypatch.setattr("muniment.projections.kept_catalogue.sys.byteorder", "other")
    assert listed(kept) == EXPECTED


def test_an_erasure_retires_the_snapshot_and_the_end_of_the_space_seals_another_one(kept: FileWorld) -> None:
    """Whether it is in memory or at rest alone; a copy of the former file opens for nobody, and no event is lost."""
    for in_memory in (True, False):
        filled(kept) if in_memory else kept.with_turns(1, "more").reopened()
        if in_memory:
            listed(kept)
        former = at_rest(kept).read_bytes()
        kept.erased(1, "walk" if in_memory else "more")
        assert not at_rest(kept).exists()
        space = kept.runtime._session.space
        at_rest(kept).write_bytes(former)
        snapshots = Snapshots(at_rest(kept).parent, space.keys, space.sources.entropy, PREFIX)
        assert snapshots.unlock(NAME) is None
        kept.reopened()
        assert at_rest(kept).read_bytes() != former
        assert digests(kept) == rebuilt(kept)


def test_names_are_nowhere_readable_and_the_file_is_for_the_owner(kept: FileWorld) -> None:
    filled(kept)
    assert b"walk" not in at_rest(kept).read_bytes()
    assert at_rest(kept).stat().st_mode & 0o777 == 0o600


def test_a_small_catalogue_is_not_kept(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(3)
    assert listed(world) == [("talk", 3)]
    world.reopened()
    assert not at_rest(world).exists()
    world.close()


def test_a_large_one_is_written_while_the_space_is_open(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_catalogue, "GROWN_EVENTS", 5)
    kept.with_turns(6)
    listed(kept)
    assert at_rest(kept).exists()


def test_an_erased_space_leaves_no_catalogue(kept: FileWorld) -> None:
    filled(kept)
    path = at_rest(kept)
    kept.runtime.lifecycle.erase(Scope(whole_space=SpaceName("default")), "asked for", "ada")
    assert not path.exists()


def test_a_snapshot_of_another_space_is_dropped(kept: FileWorld) -> None:
    filled(kept)
    theirs, name = at_rest(kept).read_bytes(), at_rest(kept).name
    with open_store(kept.home, "other", space="other") as other:
        place = other._session.space.keys._directory / name
        place.write_bytes(theirs)
        assert other.conversations.list_().conversations == []
        assert not place.exists()


def test_who_reads_meanwhile_is_not_waited_for(kept: FileWorld) -> None:
    """A rotation beside a reading removes the snapshot instead of waiting for its end."""
    catalogue = filled(kept).runtime._session.space.catalogue
    key = catalogue.before_rotation()
    with catalogue.caught_up():
        catalogue.after_rotation(key)
        assert not at_rest(kept).exists()
    assert digests(kept) == rebuilt(kept)


def test_a_disk_that_takes_no_snapshot_costs_nothing_but_time(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(kept)
    listed(kept)
    monkeypatch.setattr(Snapshots, "write", lambda *_: False)
    kept.erased(1, "walk")
    assert not at_rest(kept).exists()
    assert listed(kept) == [("walk", 2), ("talk", 4)]
