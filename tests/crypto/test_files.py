"""Files whose old contents must really go."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from muniment.crypto import files
from muniment.errors import Corrupt, MunimentError, StoreBusy, StoreFault, StoreFull, StoreMissing, StoreReadOnly
from tests.crypto.worlds import Crash, Disk, everything_under

OLD, NEW = b"the old contents, which must go " * 40, b"the new contents " * 50


def test_a_replaced_file_is_new_private_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    old = os.umask(0o277)  # as strict as it gets: not even the owner may write
    try:
        files.replace(path, OLD)
        files.replace(path, NEW)
    finally:
        os.umask(old)
    assert files.read(path)[0] == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_contents_are_overwritten_where_they_were(tmp_path: Path) -> None:
    """Whoever still holds the old file open sees zeros in it."""
    path = tmp_path / "file"
    files.replace(path, OLD)
    with path.open("rb") as held:
        files.replace(path, NEW)
        assert held.read() == bytes(len(OLD))


@pytest.mark.parametrize("first", [True, False], ids=["first contents", "other contents"])
def test_a_replacement_that_stops_anywhere_can_be_completed(tmp_path: Path, *, first: bool) -> None:
    """After a stop before any call to the disk, settling leaves exactly the old or exactly the new contents.

    Once the new contents hold, nothing is left of the old ones; before, nothing is left of the new ones.
    """
    with Disk.watched() as disk:
        for stop in range(1, 100):
            path = tmp_path / str(stop) / "file"
            files.make_directory(path.parent)
            if not first:
                files.replace(path, OLD)
            with disk.stopping_at(stop):
                try:
                    files.replace(path, NEW)
                except Crash:
                    pass
                else:
                    break
            before = None if first else OLD
            assert (path.read_bytes() if path.exists() else None) in {before, NEW}
            files.settle(path)
            assert not files.unsettled(path)
            left = everything_under(path.parent)
            assert left in {before or b"", NEW}
    assert stop == (5 if first else 11), "every step was stopped at, and the last one was not"


def test_settling_can_be_stopped_too(tmp_path: Path) -> None:
    """A stop while an interrupted replacement is completed is itself completed by the next."""
    with Disk.watched() as disk:
        for first_stop in range(1, 11):
            for second_stop in range(1, 10):
                path = tmp_path / f"{first_stop}.{second_stop}" / "file"
                files.make_directory(path.parent)
                files.replace(path, OLD)
                with disk.stopping_at(first_stop), pytest.raises(Crash):
                    files.replace(path, NEW)
                held = path.read_bytes()
                with disk.stopping_at(second_stop), contextlib.suppress(Crash):
                    files.settle(path)
                files.settle(path)
                assert everything_under(path.parent) == held


def test_a_reader_never_sees_contents_that_are_being_destroyed(tmp_path: Path) -> None:
    """While one thread replaces the file over and over, others read only whole contents."""
    path = tmp_path / "file"
    files.replace(path, OLD)
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(files.read(path)[0])

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(60):
        files.replace(path, (OLD, NEW)[turn % 2])
    done.set()
    for reader in readers:
        reader.join()
    assert seen <= {OLD, NEW}


def test_a_later_file_of_the_same_number_is_not_taken_for_the_one_that_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was destroyed while it was read gives its number free as soon as its reader closes it."""
    path, torn = tmp_path / "file", b"torn"
    files.replace(path, OLD)
    number = path.stat().st_ino
    read_all, close = files._read_all, os.close

    def destroyed_meanwhile(_descriptor: int) -> bytes:
        monkeypatch.setattr(files, "_read_all", read_all)
        files.replace(path, NEW)
        monkeypatch.setattr(os, "close", closed_at_the_wrong_time)
        return torn

    def closed_at_the_wrong_time(descriptor: int) -> None:
        monkeypatch.setattr(os, "close", close)
        close(descriptor)
        for _ in range(20):
            if path.stat().st_ino != number:
                files.replace(path, NEW)

    monkeypatch.setattr(files, "_read_all", destroyed_meanwhile)
    assert files.read(path)[0] == NEW


def test_a_reader_that_is_always_late_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.replace(path, OLD)
    monkeypatch.setattr(files, "stamp", lambda _: (0, 0, 0, 0))
    with pytest.raises(StoreBusy):
        files.read(path)


def test_a_file_that_cannot_be_ours_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(files.FILE_BYTES_MAX + 1))
    os.mkfifo(tmp_path / "pipe")
    for name in ("large", "pipe"):
        with pytest.raises(Corrupt):
            files.read(tmp_path / name)


def test_the_stamp_changes_with_every_replacement(tmp_path: Path) -> None:
    path = tmp_path / "file"
    stamps = set()
    for _ in range(20):
        files.replace(path, OLD)
        stamps.add(files.stamp(path))
    assert len(stamps) == 20


def test_a_lock_keeps_others_out_for_as_long_as_they_have_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_ATTEMPTS_MAX", 3)
    monkeypatch.setattr(files, "LOCK_PAUSE_S", 0.001)
    lock = tmp_path / "lock"
    with files.locked(lock), pytest.raises(StoreBusy), files.locked(lock):
        pytest.fail("two hold one lock")
    with files.locked(lock):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EROFS, StoreReadOnly),
        (errno.EACCES, StoreReadOnly),
        (errno.ENOENT, StoreMissing),
        (errno.EIO, StoreFault),
        (None, StoreFault),
    ],
)
def test_an_error_of_the_disk_does_not_quote_the_path(number: int | None, error: type[MunimentError]) -> None:
    with pytest.raises(error) as caught, files.faults("keys.json"):
        raise OSError(number, "text", "/home/somebody/secret name") if number else OSError
    assert type(caught.value) is error
    assert "somebody" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_directories_are_made_for_the_owner_alone(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    files.make_directory(deep)
    files.make_directory(deep)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (deep, deep.parent)] == [0o700, 0o700]


def test_a_directory_that_somebody_else_makes_meanwhile_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def late(path: Path, mode: int) -> None:
        mkdir(path, mode)
        mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", late)
    files.make_directory(tmp_path / "a")
    assert (tmp_path / "a").is_dir()


def test_a_file_where_a_directory_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(OSError, match="exists"):
        files.make_directory(tmp_path / "a")
