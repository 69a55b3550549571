"""The keys of a space, and rotating them."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import shutil
import stat
import tempfile
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from muniment.crypto import files
from muniment.crypto.keyring import VERSIONS_MAX, SpaceKeys, is_erased, root_of
from muniment.crypto.segment import open_sealed
from muniment.crypto.signing_key import SigningKey
from muniment.errors import (
    Conflict,
    Corrupt,
    KeyMissing,
    KeyWrong,
    LimitExceeded,
    MunimentError,
    SpaceErased,
    StoreFault,
    StoreFull,
    StoreMissing,
    StoreNewer,
)
from tests.crypto.worlds import Crash, Disk, everything_under, flipped, new_root, new_space, opened_space

LEAF = bytes(32)


def secrets_of(keys: SpaceKeys) -> tuple[object, ...]:
    space = {version: keys.by_version(version).secret for version in keys.versions}
    return keys.log_id, keys.name, keys.signing_seed, keys.index_key, space


def wrapped_version(directory: Path, version: int) -> bytes:
    """Return the bytes that hold a version of the space key on the disk."""
    file = msgspec.json.decode((directory / "keys.json").read_bytes())
    found: str = next(entry["key"] for entry in file["space"] if entry["version"] == version)
    return found.encode()


def test_what_was_made_is_loaded_again(tmp_path: Path) -> None:
    made = new_space(tmp_path / "space")
    again = opened_space(tmp_path / "space")
    assert secrets_of(again) == secrets_of(made)
    assert (made.name, made.versions, len(made.log_id)) == ("a space", (1,), 22)
    assert (len(made.signing_seed), len(made.index_key), len(made.current.secret)) == (32, 32, 32)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"space": 0o700, "keys.json": 0o600, "keys.lock": 0o600}


def test_a_space_is_not_made_twice(tmp_path: Path) -> None:
    made = new_space(tmp_path)
    with pytest.raises(Conflict):
        new_space(tmp_path)
    assert secrets_of(opened_space(tmp_path)) == secrets_of(made)


def test_nothing_secret_and_no_name_is_readable_in_the_file(tmp_path: Path) -> None:
    made = new_space(tmp_path)
    contents = everything_under(tmp_path)
    for secret in (made.signing_seed, made.index_key, made.current.secret, b"a space"):
        assert secret not in contents
        assert secret.hex().encode() not in contents


def test_another_root_is_refused(tmp_path: Path) -> None:
    new_space(tmp_path)
    with pytest.raises(KeyWrong):
        opened_space(tmp_path, new_root("another"))
    with pytest.raises(StoreMissing):
        opened_space(tmp_path / "nowhere")


def test_no_bit_of_the_file_can_be_changed(tmp_path: Path) -> None:
    """Each byte of the file, changed in one bit, makes it refused; so does the file cut short anywhere."""
    new_space(tmp_path).begin_rotation()
    path = tmp_path / "keys.json"
    good = path.read_bytes()
    for at in range(len(good)):
        for bad in (flipped(good, at * 8 + at % 7), good[:at]):
            path.write_bytes(bad)
            with pytest.raises((Corrupt, KeyWrong, StoreNewer)):
                opened_space(tmp_path)
    path.write_bytes(good)
    assert opened_space(tmp_path).versions == (1, 2)


@pytest.mark.parametrize("bad", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format":"1"}', b'{"format":1}'])
def test_what_is_not_the_file_is_corrupt(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "keys.json").write_bytes(bad)
    with pytest.raises(Corrupt):
        opened_space(tmp_path)


def test_only_the_canonical_spelling_is_the_file(tmp_path: Path) -> None:
    new_space(tmp_path)
    path = tmp_path / "keys.json"
    path.write_bytes(path.read_bytes().replace(b":", b": ", 1))
    with pytest.raises(Corrupt, match="not canonical"):
        opened_space(tmp_path)


# --- rotating the space key ---------------------------------------------------------------------------------------


def test_a_rotation_adds_re_wraps_and_destroys(tmp_path: Path) -> None:
    """What is sealed goes over to the new version; afterwards the old one is nowhere, and what it sealed is lost."""
    keys = new_space(tmp_path)
    old = keys.current.seal(bytes(12), b"words", LEAF)
    added = keys.begin_rotation()
    assert (keys.current, keys.versions) == (added, (1, 2))
    new = added.seal(bytes(12), open_sealed(keys, old, LEAF, "here"), LEAF)
    retired = wrapped_version(tmp_path, 1)
    assert keys.finish_rotation(2) == 1
    assert keys.finish_rotation(2) == 0
    assert keys.versions == opened_space(tmp_path).versions == (2,)
    assert retired not in everything_under(tmp_path)
    assert open_sealed(keys, new, LEAF, "here") == b"words"
    with pytest.raises(KeyMissing) as caught:
        open_sealed(keys, old, LEAF, "here")
    assert caught.value.found == 1


def test_a_rotation_that_was_not_begun_cannot_be_finished(tmp_path: Path) -> None:
    keys = new_space(tmp_path)
    with pytest.raises(Conflict):
        keys.finish_rotation(2)
    assert keys.versions == (1,)


def test_a_rotation_that_ends_behind_a_later_one_has_nothing_left_to_destroy(tmp_path: Path) -> None:
    """Two processes rotate at once: whoever began first may end last."""
    one, other = new_space(tmp_path), opened_space(tmp_path)
    first, second = one.begin_rotation().version, other.begin_rotation().version
    assert other.finish_rotation(second) == 2
    assert (one.finish_rotation(first), one.versions) == (0, (second,))


def test_the_number_of_unfinished_rotations_is_limited(tmp_path: Path) -> None:
    keys = new_space(tmp_path)
    for _ in range(VERSIONS_MAX - 1):
        keys.begin_rotation()
    with pytest.raises(LimitExceeded):
        keys.begin_rotation()
    assert keys.finish_rotation(keys.current.version) == VERSIONS_MAX - 1
    assert keys.begin_rotation().version == VERSIONS_MAX + 1


def test_another_process_loads_the_changes(tmp_path: Path) -> None:
    """A version that is not known makes the file read again; `refresh` notices everything else."""
    one = new_space(tmp_path)
    other = opened_space(tmp_path)
    assert not other.refresh()
    added = one.begin_rotation()
    assert other.by_version(2).secret == added.secret
    one.finish_rotation(2)
    assert other.versions == (1, 2), "what is known is not asked for again"
    assert other.refresh()
    assert secrets_of(other) == secrets_of(one)
    assert not other.refresh()
    with pytest.raises(KeyMissing):
        other.by_version(1)


def test_the_first_durable_event_is_remembered_once(tmp_path: Path) -> None:
    """A repeat, also by a process that has not seen the first, leaves the file as it is."""
    one = new_space(tmp_path)
    other = opened_space(tmp_path)
    before = one.begun, other.begun
    one.mark_begun()
    written = (tmp_path / "keys.json").read_bytes()
    other.mark_begun()
    one.mark_begun()
    assert (tmp_path / "keys.json").read_bytes() == written
    assert (before, one.begun, other.begun, opened_space(tmp_path).begun) == ((False, False), True, True, True)


def test_the_next_signing_key_takes_over_and_the_former_seed_is_destroyed(tmp_path: Path) -> None:
    keys = new_space(tmp_path / "space")
    former = keys.signing_seed
    key, other = SigningKey(seed=b"s" * 32, life="a life"), SigningKey(seed=b"t" * 32)
    keys.begin_signing(other)
    keys.begin_signing(key)
    again = opened_space(tmp_path / "space")
    assert (again.unwrapped.next_signing, again.signing_seed, again.life) == (key, former, "")
    assert not again.finish_signing(other, ("note",))
    assert again.finish_signing(key, ("note",))
    assert not again.finish_signing(key, ("note",))
    assert keys.refresh()
    for one in (keys, opened_space(tmp_path / "space")):
        assert (one.unwrapped.signing, one.unwrapped.next_signing, one.life) == (key, None, "a life")
        assert one.unwrapped.announcements == ("note",)
    assert "s" * 32 not in repr(key)


def test_a_process_with_the_old_root_does_not_sign_with_a_former_key(tmp_path: Path) -> None:
    keys, another = new_space(tmp_path / "space"), opened_space(tmp_path / "space")
    assert another.rewrap(new_root("new"))
    assert not keys.refresh() or keys.signing_seed == another.signing_seed
    another.begin_signing(SigningKey(seed=b"s" * 32))
    with pytest.raises(KeyWrong):
        keys.refresh()


def test_rotations_of_many_processes_do_not_lose_each_other(tmp_path: Path) -> None:
    """Every rotation that was begun added a version of its own, whoever began it."""
    new_space(tmp_path)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        begun = pool.map(begin_three, [tmp_path] * 3)
        pool.close()
        pool.join()  # leaving the block ends the workers by a signal, which need not find them ready for it
    assert sorted(version for some in begun for version in some) == list(range(2, 11))
    assert opened_space(tmp_path).versions == tuple(range(1, 11))


def begin_three(directory: Path) -> list[int]:
    keys = opened_space(directory)
    return [keys.begin_rotation().version for _ in range(3)]


def test_readers_are_not_disturbed_by_rotations(tmp_path: Path) -> None:
    """While versions come and go, whoever opens the space finds whole keys."""
    keys = new_space(tmp_path)
    problems: list[MunimentError] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                opened_space(tmp_path)
            except MunimentError as problem:
                problems.append(problem)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(15):
        keys.finish_rotation(keys.begin_rotation().version)
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert keys.versions == (16,)


# --- rotating the root key ----------------------------------------------------------------------------------------


def test_the_root_key_can_be_rotated(tmp_path: Path) -> None:
    """The same secrets are there under the new root; nothing that the old one wrapped is left."""
    keys = new_space(tmp_path)
    keys.begin_rotation()
    before, retired = secrets_of(keys), wrapped_version(tmp_path, 2)
    assert keys.rewrap(new_root("next"))
    assert not keys.rewrap(new_root("next"))
    assert secrets_of(keys) == secrets_of(opened_space(tmp_path, new_root("next"))) == before
    assert root_of(tmp_path) == new_root("next").key_id
    assert retired not in everything_under(tmp_path)
    with pytest.raises(KeyWrong):
        opened_space(tmp_path)
    assert keys.begin_rotation().version == 3


def test_a_process_with_the_old_root_goes_on_with_the_keys_that_it_has(tmp_path: Path) -> None:
    """It reads and writes under versions that it knows; what is new it cannot unwrap, and it changes nothing."""
    one, other = new_space(tmp_path), opened_space(tmp_path)
    one.begin_rotation()
    other.refresh()
    one.rewrap(new_root("next"))
    one.finish_rotation(2)
    assert other.refresh()
    assert other.versions == (2,)
    for change in (other.begin_rotation, lambda: other.finish_rotation(2), lambda: other.rewrap(new_root("third"))):
        with pytest.raises(KeyWrong):
            change()
    one.begin_rotation()
    with pytest.raises(KeyWrong):
        other.refresh()
    assert other.current.version == 2


def test_a_file_that_only_claims_another_root_is_corrupt(tmp_path: Path) -> None:
    keys = new_space(tmp_path)
    path = tmp_path / "keys.json"
    path.write_bytes(path.read_bytes().replace(new_root().key_id.encode(), new_root("next").key_id.encode()))
    with pytest.raises(Corrupt):
        keys.refresh()


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_keys_as_they_were(tmp_path: Path) -> None:
    """Whatever call the disk refuses, the error is typed, and the next process finds the old or the new keys."""
    with Disk.watched() as disk:
        for stop in range(1, 100):
            directory = tmp_path / str(stop)
            keys = new_space(directory)
            with disk.stopping_at(stop, OSError(errno.ENOSPC, "full", "/a/path")):
                try:
                    keys.begin_rotation()
                except StoreFull:
                    pass
                else:
                    break
            again = opened_space(directory)
            assert again.versions in {(1,), (1, 2)}
            assert not files.unsettled(directory / "keys.json")
            keys.refresh()
            assert secrets_of(keys) == secrets_of(again)
    assert stop == 11


def test_a_reader_without_write_access_opens_a_space_with_an_interrupted_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = new_space(tmp_path)
    (tmp_path / "keys.json.new").write_bytes(b"half a fi")
    opener = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "read only")
        return opener(path, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)
        assert secrets_of(opened_space(tmp_path)) == secrets_of(made)
    assert files.unsettled(tmp_path / "keys.json")
    opened_space(tmp_path)
    assert not files.unsettled(tmp_path / "keys.json")


def test_a_failing_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = new_space(tmp_path)

    def broken(_: Path) -> files.Stamp:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(files, "stamp", broken)
    with pytest.raises(StoreFault):
        keys.refresh()


class Turning(RuleBasedStateMachine):
    """Two processes rotate keys, and the machine stops in the middle of it.

    Law: after a stop anywhere, opening again finds the keys as before or as after the interrupted change, whole; what
    was destroyed is nowhere on the disk; and nothing under a living version is ever lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.watching = Disk.watched()
        self.disk = self.watching.__enter__()
        self.root = "root 0"
        self.known: dict[int, bytes] = {}
        self.alive: set[int] = {1}
        self.wrapped: dict[int, bytes] = {}
        self.retired: list[bytes] = []

    @initialize()
    def make(self) -> None:
        self.keys = new_space(self.directory, new_root(self.root))
        self.other = opened_space(self.directory, new_root(self.root))
        self.secrets = secrets_of(self.keys)[:4]
        self.learn()

    def learn(self) -> None:
        for version in self.alive:
            self.known[version] = self.keys.by_version(version).secret

    def reopen(self) -> None:
        self.keys = opened_space(self.directory, new_root(self.root))
        self.other = opened_space(self.directory, new_root(self.root))

    @rule(stop=st.one_of(st.none(), st.integers(1, 10)))
    def begin(self, stop: int | None) -> None:
        if len(self.alive) == VERSIONS_MAX:
            return
        added = max(self.alive) + 1
        with self.disk.stopping_at(stop):
            try:
                self.keys.begin_rotation()
            except Crash:
                self.reopen()
        self.alive |= {added} & set(self.keys.versions)
        self.learn()

    @rule(stop=st.one_of(st.none(), st.integers(1, 10)), back=st.integers(0, 3))
    def finish(self, stop: int | None, back: int) -> None:
        version = sorted(self.alive)[-1 - min(back, len(self.alive) - 1)]
        kept = {alive for alive in self.alive if alive >= version}
        wrapped = [wrapped_version(self.directory, gone) for gone in self.alive - kept]
        with self.disk.stopping_at(stop):
            try:
                self.keys.finish_rotation(version)
            except Crash:
                self.reopen()
        assert set(self.keys.versions) in (kept, self.alive)
        if set(self.keys.versions) == kept:
            self.alive = kept
            self.retired += wrapped

    @rule(stop=st.one_of(st.none(), st.integers(1, 10)))
    def turn_the_root(self, stop: int | None) -> None:
        after = f"root {int(self.root[5:]) + 1}"
        wrapped = [wrapped_version(self.directory, version) for version in self.alive]
        with self.disk.stopping_at(stop), contextlib.suppress(Crash):
            self.keys.rewrap(new_root(after))
        if root_of(self.directory) == new_root(after).key_id:
            self.root = after
            self.retired += wrapped
        self.reopen()

    @rule()
    def wrap(self) -> None:
        self.other.refresh()
        version = self.other.current.version
        self.wrapped[version] = self.other.current.seal(bytes(12), b"words", LEAF)

    @invariant()
    def what_is_sealed_under_a_living_version_opens_alone(self) -> None:
        for version, sealed in self.wrapped.items():
            if version in self.alive:
                open_sealed(self.other, sealed, LEAF, "here")
            else:
                with pytest.raises(KeyMissing):
                    open_sealed(self.keys, sealed, LEAF, "here")

    @invariant()
    def the_disk_holds_what_is_alive_and_nothing_else(self) -> None:
        again = opened_space(self.directory, new_root(self.root))
        assert set(again.versions) == self.alive
        assert {version: again.by_version(version).secret for version in self.alive} == {
            version: self.known[version] for version in self.alive
        }
        assert secrets_of(again)[:4] == self.secrets
        contents = everything_under(self.directory)
        assert not any(wrapped in contents for wrapped in self.retired)
        assert {path.name for path in self.directory.iterdir()} == {"keys.json", "keys.lock"}

    def teardown(self) -> None:
        self.watching.__exit__(None, None, None)
        shutil.rmtree(self.directory)


TestTurning = Turning.TestCase
TestTurning.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [None, *range(1, 11)])
def test_destroying_the_keys_of_a_space_leaves_none_wherever_it_is_stopped(tmp_path: Path, stop: int | None) -> None:
    """Before the new file is in place they are all there, afterwards none is, and none of their bytes."""
    keys = new_space(tmp_path)
    wrapped, secrets = [wrapped_version(tmp_path, version) for version in keys.versions], secrets_of(keys)
    with Disk.watched() as disk, disk.stopping_at(stop), contextlib.suppress(Crash):
        assert keys.destroy()
    try:
        assert secrets_of(opened_space(tmp_path)) == secrets
        assert stop is not None
    except SpaceErased:
        assert not [key for key in wrapped if key in everything_under(tmp_path)]
        file = msgspec.json.decode((tmp_path / "keys.json").read_bytes())
        assert file == {"erased": True, "format": 1, "log": keys.log_id}


def test_other_holders_of_destroyed_keys_get_an_error(tmp_path: Path) -> None:
    """In this process and in another; a repeat destroys nothing."""
    keys = new_space(tmp_path)
    other, known = opened_space(tmp_path), keys.current.version
    assert keys.destroy()
    assert not keys.destroy()
    assert is_erased(tmp_path)
    for attempt in (
        keys.refresh, other.refresh, other.begin_rotation, lambda: other.finish_rotation(known),
        lambda: other.rewrap(new_root("new")), lambda: keys.by_version(known), lambda: root_of(tmp_path),
    ):  # fmt: skip
        with pytest.raises(SpaceErased):
            attempt()
