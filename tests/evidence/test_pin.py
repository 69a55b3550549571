"""Pins: a log that forgets is caught by whoever remembers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import Corrupt, RolledBack, StoreFault
from muniment.evidence import tree
from muniment.evidence.notes import Signer
from muniment.evidence.pin import FilePin, Pin, compare
from muniment.evidence.verifier import EMPTY_ROOT, Checkpoint
from tests.evidence.logs import numbered, rows

ORIGIN = "muniment.example/AAECAwQFBgcICQoLDA0ODw"
SIGNER = Signer(ORIGIN, bytes(32))


def note(size: int, root: bytes = bytes(32), origin: str = ORIGIN) -> str:
    return SIGNER.sign_checkpoint(origin, size, root)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "pins"


def test_a_pin_remembers_the_last_checkpoint_of_each_log(directory: Path) -> None:
    pin: Pin = FilePin(directory)
    assert pin.read(ORIGIN) is None
    pin.write(ORIGIN, note(1))
    pin.write(ORIGIN, note(5))
    pin.write("other", note(2, origin="other"))
    assert FilePin(directory).read(ORIGIN) == note(5)
    assert FilePin(directory).read("other") == note(2, origin="other")


def test_a_pin_is_readable_by_its_owner_alone(directory: Path) -> None:
    FilePin(directory).write(ORIGIN, note(1))
    (file,) = directory.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert ORIGIN not in file.name


def test_a_pin_never_goes_backwards(directory: Path) -> None:
    pin = FilePin(directory)
    pin.write(ORIGIN, note(5))
    with pytest.raises(RolledBack):
        pin.write(ORIGIN, note(4))
    with pytest.raises(Corrupt):
        pin.write(ORIGIN, note(5, root=bytes(31) + b"\1"))
    pin.write(ORIGIN, note(5))
    assert pin.read(ORIGIN) == note(5)


def test_leftovers_of_a_crash_do_not_affect_a_pin(directory: Path) -> None:
    pin = FilePin(directory)
    pin.write(ORIGIN, note(1))
    (file,) = directory.iterdir()
    file.with_suffix(".new").write_text("half a no")
    pin.write(ORIGIN, note(2))
    assert pin.read(ORIGIN) == note(2)
    assert list(directory.iterdir()) == [file]


@pytest.mark.parametrize("content", [b"", b"\xff", b"garbage", note(3, origin="other").encode(), b"x" * 2_000_000])
def test_a_damaged_pin_is_not_treated_as_absent(directory: Path, content: bytes) -> None:
    pin = FilePin(directory)
    pin.write(ORIGIN, note(1))
    (file,) = directory.iterdir()
    file.write_bytes(content)
    with pytest.raises(Corrupt):
        pin.read(ORIGIN)
    with pytest.raises(Corrupt):
        pin.write(ORIGIN, note(2))


def test_a_location_that_cannot_store_a_pin_is_a_fault(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    pin = FilePin(occupied / "pins")
    with pytest.raises(StoreFault):
        pin.write(ORIGIN, note(1))
    with pytest.raises(StoreFault):
        pin.read(ORIGIN)


def test_a_checkpoint_is_pinned_under_its_own_origin_only(directory: Path) -> None:
    with pytest.raises(AssertionError):
        FilePin(directory).write("other", note(1))


LEAVES = numbered(120)
STORED = rows(LEAVES)


@given(st.integers(0, 120), st.integers(0, 120))
def test_a_log_that_grew_from_its_pin_is_sound_and_a_shorter_one_is_not(pinned: int, head: int) -> None:
    """Comparison passes exactly when the pinned size is not beyond the head, for any two sizes of one log."""
    checkpoint = Checkpoint(origin=ORIGIN, size=pinned, root=tree.root_at(STORED, pinned))
    if pinned <= head:
        compare(checkpoint, STORED, tree.frontier_at(STORED, head))
    else:
        with pytest.raises(RolledBack) as refused:
            compare(checkpoint, STORED, tree.frontier_at(STORED, head))
        assert (refused.value.limit, refused.value.found) == (pinned, head)


@given(st.integers(1, 120), st.integers(0, 119), st.integers(0, 119))
def test_a_log_with_another_past_is_corrupt(pinned: int, extra: int, forged: int) -> None:
    """One leaf below the pin exchanged, all hashes above it recomputed: the pin tells."""
    head = min(120, pinned + extra)
    other = list(LEAVES[:head])
    other[forged % pinned] = EMPTY_ROOT
    stored = rows(other)
    checkpoint = Checkpoint(origin=ORIGIN, size=pinned, root=tree.root_at(STORED, pinned))
    with pytest.raises(Corrupt):
        compare(checkpoint, stored, stored.frontier)


def test_the_names_of_pins_do_not_leave_their_directory(directory: Path) -> None:
    FilePin(directory).write("../../x", note(1, origin="../../x"))
    assert len(list(directory.iterdir())) == 1


def test_a_note_that_a_restore_abandoned_makes_room_and_is_kept(directory: Path) -> None:
    """A shorter log takes the place of the one that was named, and of no other; asking twice is asking once."""
    pin = FilePin(directory)
    pin.write(ORIGIN, note(9))
    with pytest.raises(Corrupt):
        pin.replace(ORIGIN, note(8), note(3))
    for _ in range(2):
        pin.replace(ORIGIN, note(9), note(3))
        assert pin.read(ORIGIN) == note(3)
    (kept,) = directory.glob("*.abandoned")
    assert kept.read_text() == note(9)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    pin.write(ORIGIN, note(4))
    with pytest.raises(RolledBack):
        pin.write(ORIGIN, note(2))


def test_a_pin_is_flushed_before_it_takes_the_place_of_the_last_one(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new file first, then its name, then the directory: a cut leaves the old pin or the new one, whole."""
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def flushed(descriptor: int) -> None:
        where = Path(f"/proc/self/fd/{descriptor}").readlink() if Path("/proc/self/fd").is_dir() else None
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        done.append(f"flush {kind}" if where is None or directory in (where, where.parent) else "elsewhere")
        fsync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        done.append("rename")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", renamed)
    FilePin(directory).write(ORIGIN, note(1))
    assert done == ["flush file", "rename", "flush directory"]
