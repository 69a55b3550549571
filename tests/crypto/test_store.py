"""The keys of a store, its root keys, and their rotation."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muniment.crypto import files
from muniment.crypto.keyring import SpaceKeys, root_of
from muniment.crypto.root import LocalRoot, RootKey
from muniment.crypto.root_sources import Argon2, OpenerContext, RootDescriptor
from muniment.crypto.store import StoreKeys, descriptors, open_keys
from muniment.errors import Conflict, Corrupt, KeyInvalid, KeyUnavailable, KeyWrong, StoreFull, StoreMissing, StoreNewer
from muniment.kernel.digest import b64url
from muniment.kernel.sources import SystemEntropy, seeded_sources, system_sources
from tests.crypto.worlds import FROM_FILE, Crash, Disk, everything_under, flipped, new_root, new_store

ENTROPY = SystemEntropy()
CHEAP = Argon2(salt=b64url(bytes(16)), memory_kib=8192, iterations=1, lanes=1)


def opened(directory: Path, root: str = "root") -> StoreKeys:
    return StoreKeys(directory, new_root(root))


def secrets_of(space: SpaceKeys) -> tuple[object, ...]:
    return space.log_id, space.name, space.signing_seed, space.index_key, space.current.secret


def test_a_created_store_can_be_opened(tmp_path: Path) -> None:
    made = new_store(tmp_path / "store")
    again = opened(tmp_path / "store")
    assert (again.store_id, again.root_id, again.unfinished) == (made.store_id, new_root().key_id, False)
    assert again.space_directory("x") == made.space_directory("x")
    assert descriptors(tmp_path / "store") == (FROM_FILE,)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"store": 0o700, "store.json": 0o600, "store.lock": 0o600}


def test_an_existing_store_is_not_created_again(tmp_path: Path) -> None:
    made = new_store(tmp_path)
    assert new_store(tmp_path).store_id == made.store_id
    with pytest.raises(KeyWrong):
        new_store(tmp_path, new_root("another"))


def test_a_wrong_root_reads_and_writes_nothing(tmp_path: Path) -> None:
    """No neighbour of the root key opens the store, and none leaves a trace in it."""
    new_store(tmp_path).create_space("a", system_sources())
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.rglob("*")}
    for bit in range(256):
        with pytest.raises(KeyWrong):
            StoreKeys(tmp_path, LocalRoot(flipped(b"root".ljust(32, b"."), bit), ENTROPY))
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.rglob("*")} == before


class Impostor(LocalRoot):
    """A root that has the id of the right one and another key."""

    __slots__ = ()

    @property
    def key_id(self) -> str:
        return new_root().key_id


def test_a_root_that_only_has_the_right_id_is_refused(tmp_path: Path) -> None:
    new_store(tmp_path)
    with pytest.raises(KeyWrong):
        StoreKeys(tmp_path, Impostor(bytes(32), ENTROPY))


class Forgetful:
    """A service that gives back something else than it was given."""

    key_id = "service"

    def wrap(self, secret: bytes, context: bytes) -> bytes:
        return secret + context

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        return wrapped.removesuffix(context)[:-1]


def test_a_root_that_does_not_give_back_the_check_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyWrong):
        StoreKeys.create(tmp_path, Forgetful(), RootDescriptor(scheme="kms"), system_sources())
    store = new_store(tmp_path)
    with pytest.raises(KeyWrong):
        store.rotate_root(Forgetful(), RootDescriptor(scheme="kms"), ENTROPY)
    assert not opened(tmp_path).unfinished


def test_no_bit_of_the_file_can_be_changed(tmp_path: Path) -> None:
    """Each byte of the file, changed in one bit, makes it refused; so does the file cut short anywhere."""
    new_store(tmp_path)
    path = tmp_path / "store.json"
    good = path.read_bytes()
    for at in range(len(good)):
        for bad in (flipped(good, at * 8 + at % 7), good[:at]):
            path.write_bytes(bad)
            with pytest.raises((Corrupt, KeyWrong, StoreNewer)):
                opened(tmp_path)


@pytest.mark.parametrize("bad", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"format":1}'])
def test_what_is_not_the_file_is_corrupt(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "store.json").write_bytes(bad)
    with pytest.raises(Corrupt):
        opened(tmp_path)
    with pytest.raises(Corrupt):
        descriptors(tmp_path)


def test_only_the_canonical_spelling_is_the_file(tmp_path: Path) -> None:
    new_store(tmp_path)
    path = tmp_path / "store.json"
    path.write_bytes(path.read_bytes().replace(b":", b": ", 1))
    with pytest.raises(Corrupt, match="not canonical"):
        opened(tmp_path)


def test_a_ruinous_cost_in_the_file_is_corrupt(tmp_path: Path) -> None:
    """Who can write the file cannot make the next one to open it use all memory."""
    StoreKeys.create(tmp_path, new_root(), RootDescriptor(scheme="passphrase", argon2=CHEAP), system_sources())
    path = tmp_path / "store.json"
    path.write_bytes(path.read_bytes().replace(b'"memory_kib":8192', b'"memory_kib":999999999'))
    with pytest.raises(Corrupt):
        descriptors(tmp_path)


# --- spaces -----------------------------------------------------------------------------------------------------------


def test_spaces_are_apart_and_their_names_are_not_on_the_disk(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    names = {"Acme GmbH", "Acme GmbH ", "../../etc", "", "ä" * 1000}
    made = {name: secrets_of(store.create_space(name, system_sources())) for name in names}
    assert {space.name: secrets_of(space) for space in opened(tmp_path).spaces(ENTROPY)} == made
    assert len({space[0] for space in made.values()}) == len(names)
    listing = "\n".join(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert "Acme" not in listing
    assert b"Acme" not in everything_under(tmp_path)


def test_an_existing_space_is_opened_and_not_created_again(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    made = secrets_of(store.create_space("a", system_sources()))
    assert secrets_of(store.create_space("a", system_sources())) == made
    assert secrets_of(opened(tmp_path).space("a", ENTROPY)) == made
    with pytest.raises(StoreMissing):
        store.space("b", ENTROPY)
    assert not store.space_directory("b").exists()


def test_the_same_names_lie_elsewhere_in_another_store(tmp_path: Path) -> None:
    one, other = new_store(tmp_path / "1"), new_store(tmp_path / "2")
    assert one.space_directory("a").name != other.space_directory("a").name


def test_a_space_in_the_directory_of_another_is_corrupt(tmp_path: Path) -> None:
    """Directories of spaces cannot be swapped or copied to another name."""
    store = new_store(tmp_path)
    store.create_space("a", system_sources())
    store.space_directory("a").rename(store.space_directory("b"))
    with pytest.raises(Corrupt):
        store.space("b", ENTROPY)
    with pytest.raises(Corrupt):
        list(store.spaces(ENTROPY))


def test_all_who_make_a_store_and_a_space_at_once_share_them(tmp_path: Path) -> None:
    found: list[tuple[object, ...]] = []
    start = threading.Barrier(6)

    def make() -> None:
        start.wait()
        found.append(secrets_of(new_store(tmp_path).create_space("a", system_sources())))

    makers = [threading.Thread(target=make) for _ in range(6)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(found) == 6
    assert len(set(found)) == 1


def test_a_caller_that_waits_while_another_makes_the_space_shares_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The space comes into being after the caller saw none and before it has the lock."""
    store, locked = new_store(tmp_path), files.locked
    made: list[tuple[object, ...]] = []

    @contextmanager
    def after_another(path: Path) -> Iterator[None]:
        monkeypatch.setattr(files, "locked", locked)
        made.append(secrets_of(opened(tmp_path).create_space("a", system_sources())))
        with locked(path):
            yield

    monkeypatch.setattr(files, "locked", after_another)
    assert secrets_of(store.create_space("a", system_sources())) == made[0]
    assert len(made) == 1


def test_the_same_seeds_give_the_same_keys(tmp_path: Path) -> None:
    """Every byte of a new store and a new space follows from the sources."""
    kept = []
    for directory in (tmp_path / "1", tmp_path / "2"):
        sources = seeded_sources("a seed")
        root = LocalRoot(bytes(32), sources.entropy)
        StoreKeys.create(directory, root, FROM_FILE, sources).create_space("a", sources)
        kept.append(everything_under(directory))
    assert kept[0] == kept[1]


# --- the front door ---------------------------------------------------------------------------------------------------


def test_a_first_opening_makes_the_key_and_the_store(tmp_path: Path) -> None:
    store, uri = tmp_path / "store", f"file:{tmp_path / 'key'}"
    with pytest.raises(StoreMissing):
        open_keys(store, uri, system_sources())
    assert not (tmp_path / "key").exists()
    made = open_keys(store, uri, system_sources(), create=True)
    assert open_keys(store, uri, system_sources()).store_id == made.store_id
    assert open_keys(store, uri, system_sources(), create=True).store_id == made.store_id


def test_a_key_is_never_created_for_an_existing_store(tmp_path: Path) -> None:
    new_store(tmp_path / "store")
    with pytest.raises(KeyUnavailable):
        open_keys(tmp_path / "store", f"file:{tmp_path / 'key'}", system_sources(), create=True)
    assert not (tmp_path / "key").exists()


def test_a_store_opens_with_the_passphrase_that_it_was_made_with(tmp_path: Path) -> None:
    def asked(answer: str, *, create: bool = False) -> StoreKeys:
        return open_keys(tmp_path, "passphrase:", system_sources(), create=create, ask=lambda _: answer)

    made = asked("open sesame", create=True)
    assert asked("open sesame").store_id == made.store_id
    with pytest.raises(KeyWrong):
        asked("open sesam")
    assert b"sesame" not in everything_under(tmp_path)


def test_a_store_opens_with_a_root_that_the_host_hands_over(tmp_path: Path) -> None:
    made = open_keys(tmp_path, new_root(), system_sources(), create=True)
    assert open_keys(tmp_path, new_root(), system_sources()).store_id == made.store_id
    assert descriptors(tmp_path) == (RootDescriptor(scheme="host"),)

    def opener(_rest: str, _occasion: OpenerContext) -> RootKey:
        return new_root()

    assert open_keys(tmp_path, "kms:x", system_sources(), openers={"kms": opener}).store_id == made.store_id


# --- rotating the root key ----------------------------------------------------------------------------------------


def three_spaces(directory: Path) -> dict[str, tuple[object, ...]]:
    store = new_store(directory)
    return {name: secrets_of(store.create_space(name, system_sources())) for name in ("a", "b", "c")}


def test_another_root_takes_over_everything(tmp_path: Path) -> None:
    made = three_spaces(tmp_path)
    store = opened(tmp_path)
    assert store.rotate_root(new_root("next"), RootDescriptor(scheme="env"), ENTROPY) == 3
    for keys in (store, opened(tmp_path, "next")):
        assert keys.root_id == new_root("next").key_id
        assert not keys.unfinished
        assert {space.name: secrets_of(space) for space in keys.spaces(ENTROPY)} == made
    assert descriptors(tmp_path) == (RootDescriptor(scheme="env"),)
    assert new_root().key_id.encode() not in everything_under(tmp_path)
    with pytest.raises(KeyWrong):
        opened(tmp_path)
    with pytest.raises(KeyInvalid):
        store.rotate_root(new_root("next"), FROM_FILE, ENTROPY)


def test_a_rotation_that_stops_anywhere_can_be_completed_or_reversed(tmp_path: Path) -> None:
    """After a stop before any call to the disk, no space is lost, and either root can be made the only one."""
    with Disk.watched() as disk:
        for stop in range(1, 200):
            for last, used in (("next", "root"), ("root", "next")):
                directory = tmp_path / f"{stop} {last}"
                made = three_spaces(directory)
                with disk.stopping_at(stop):
                    try:
                        opened(directory).rotate_root(new_root("next"), RootDescriptor(scheme="env"), ENTROPY)
                    except Crash:
                        pass
                    else:
                        assert stop == 51
                        return
                finish(directory, used, last)
                found = {space.name: secrets_of(space) for space in opened(directory, last).spaces(ENTROPY)}
                assert found == made
                assert {path.suffix for path in directory.rglob("*") if path.is_file()} == {".json", ".lock"}
                roots = {root_of(path.parent) for path in directory.glob("spaces/*/keys.json")}
                assert roots == {new_root(last).key_id}


def finish(directory: Path, used: str, last: str) -> None:
    """Make `last` the only root key, opening with the other one while it still has an entry."""
    try:
        store = opened(directory, used)
    except KeyWrong:
        store = opened(directory, last)
        assert not store.unfinished
        return
    store.rotate_root(new_root(last), RootDescriptor(scheme="env"), ENTROPY)


def unfinished(directory: Path) -> dict[str, tuple[object, ...]]:
    """Leave a turn of the root key when one of three spaces has gone over."""
    made = three_spaces(directory)
    with Disk.watched() as disk, disk.stopping_at(24), pytest.raises(Crash):
        opened(directory).rotate_root(new_root("next"), RootDescriptor(scheme="env"), ENTROPY)
    return made


def reachable(directory: Path, root: str) -> tuple[set[str], set[str | None]]:
    found, problems = set(), set()
    store = opened(directory, root)
    assert store.unfinished
    for name in ("a", "b", "c"):
        try:
            found.add(store.space(name, ENTROPY).name)
        except KeyWrong as refusal:
            problems.add(refusal.problem)
    return found, problems


def test_an_unfinished_turn_says_so_where_the_other_root_is_needed(tmp_path: Path) -> None:
    """Both roots open the store, each space opens with one of them, and the other is told why it does not."""
    made = unfinished(tmp_path)
    old, told_to_old = reachable(tmp_path, "root")
    new, told_to_new = reachable(tmp_path, "next")
    assert (len(old), len(new), old | new) == (2, 1, set(made))
    assert told_to_old == told_to_new == {"root_rotation_unfinished"}
    assert descriptors(tmp_path) == (RootDescriptor(scheme="env"), FROM_FILE)


def test_an_unfinished_turn_is_finished_before_another_is_begun(tmp_path: Path) -> None:
    unfinished(tmp_path)
    with pytest.raises(Conflict):
        opened(tmp_path).rotate_root(new_root("third"), FROM_FILE, ENTROPY)
    assert opened(tmp_path).rotate_root(new_root("next"), FROM_FILE, ENTROPY) == 2


def test_a_space_that_is_created_during_an_unfinished_rotation_is_not_lost(tmp_path: Path) -> None:
    unfinished(tmp_path)
    opened(tmp_path, "root").create_space("made with the old", system_sources())
    opened(tmp_path, "next").create_space("made with the new", system_sources())
    assert opened(tmp_path).rotate_root(new_root("next"), FROM_FILE, ENTROPY) == 3
    assert len(list(opened(tmp_path, "next").spaces(ENTROPY))) == 5


def test_both_passphrases_open_a_store_during_a_root_key_rotation(tmp_path: Path) -> None:
    """Each entry has its own salt."""
    other = Argon2(salt=b64url(bytes(range(16))), memory_kib=8192, iterations=1, lanes=1)
    roots = [LocalRoot(argon2.stretch(b"words"), ENTROPY) for argon2 in (CHEAP, other)]
    descriptions = [RootDescriptor(scheme="passphrase", argon2=argon2) for argon2 in (CHEAP, other)]
    store = StoreKeys.create(tmp_path, roots[0], descriptions[0], system_sources())
    store.create_space("a", system_sources())
    with Disk.watched() as disk, disk.stopping_at(15), pytest.raises(Crash):
        store.rotate_root(roots[1], descriptions[1], ENTROPY)
    assert descriptors(tmp_path) == (descriptions[1], descriptions[0])
    assert open_keys(tmp_path, "passphrase:", system_sources(), ask=lambda _: "words").root_id == roots[1].key_id
    with pytest.raises(KeyWrong):
        open_keys(tmp_path, "passphrase:", system_sources(), ask=lambda _: "other words")


def test_a_process_whose_root_key_was_retired_creates_no_space(tmp_path: Path) -> None:
    """A space under a root that is gone could never be opened again."""
    late = new_store(tmp_path)
    late.create_space("b", system_sources())
    opened(tmp_path).rotate_root(new_root("next"), FROM_FILE, ENTROPY)
    with pytest.raises(KeyWrong):
        late.create_space("a", system_sources())
    with pytest.raises(KeyWrong):
        late.rotate_root(new_root("third"), FROM_FILE, ENTROPY)
    with pytest.raises(KeyWrong):
        late.space("b", ENTROPY)
    assert not late.space_directory("a").exists()


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_disk_that_refuses_leaves_a_store_or_none(tmp_path: Path) -> None:
    """Whatever call is refused while a store is made, the error is typed and a second try succeeds."""
    with Disk.watched() as disk:
        for stop in range(1, 100):
            directory = tmp_path / str(stop)
            with disk.stopping_at(stop, OSError(errno.ENOSPC, "full", "/a/path")):
                try:
                    new_store(directory)
                except StoreFull:
                    pass
                else:
                    break
            assert new_store(directory).store_id == opened(directory).store_id
    assert stop == 7


def test_who_may_only_read_opens_an_unsettled_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = new_store(tmp_path)
    (tmp_path / "store.json.new").write_bytes(b"half a fi")
    opener = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "read only")
        return opener(path, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)
        assert opened(tmp_path).store_id == made.store_id
    assert opened(tmp_path).store_id == made.store_id
    assert not (tmp_path / "store.json.new").exists()
