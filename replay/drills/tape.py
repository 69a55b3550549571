"""A disk that is taped: a layer below SQLite that takes down every write, truncation, flush and removal, in order.

It becomes the default of SQLite in this process, so that a store that is opened through the front door lies on it.
Reading and writing go to the real file system. Whoever writes or flushes by hand (`os.pwrite`, `os.fsync`) is recorded,
too: a log that was written or flushed, or its directory. What is not SQLite's is small; it is taken down as it is there
whenever anything else is. Of pins and key files, which are replaced by rename and flushed by their own protocol, that
is durable which was flushed: the contents with the file, the name with the directory. All else counts as durable at
once.

The write-ahead log's shared memory is not on the tape: it does not outlive a loss of power.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import apsw

NAME = "muniment-taped"
LOG_NAMES = (".db", ".db-wal", ".db-journal")
NOT_KEPT = (".db-shm",)
FLUSHED_BY_HAND = (".checkpoint", ".key", "keys.json", "store.json", ".new")  # parts of their names


class Did(StrEnum):
    """What was done to the disk."""

    CREATE = "create"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    LOSE = "lose"  # a flush that failed: what it should have flushed is not tried again
    DELETE = "delete"
    SETTLE = "settle"  # the directory was flushed
    SMALL = "small"  # the small files are now these
    TOLD = "told"  # somebody outside was given an answer


class SmallFiles(NamedTuple):
    """The small files: what is there; and of those that are not durable as they are, what may be there instead.

    `names` has for each directory whose names changed since it was flushed the files by their names then and now;
    `contents` has for each file its contents when it was flushed, if it ever was, and now.
    """

    there: dict[str, bytes]
    names: Sequence[tuple[Mapping[str, int], Mapping[str, int]]] = ()
    contents: Mapping[int, tuple[bytes | None, bytes]] = MappingProxyType({})
    inodes: Mapping[str, int] = MappingProxyType({})  # of all that is there

    @property
    def is_firm(self) -> bool:
        """Whether a cut changes nothing."""
        return not self.names and all(firm == now for firm, now in self.contents.values())


class Step(NamedTuple):
    """One thing that was done: to a file (`inode`), under a name, or to all small files at once."""

    did: Did
    inode: int = 0
    offset: int = 0
    data: bytes = b""
    name: str = ""
    small: SmallFiles | None = None
    told: int = 0


def is_log(name: str) -> bool:
    """Tell whether a file is one that SQLite writes."""
    return name.endswith(LOG_NAMES)


def logs_of(home: Path) -> dict[str, bytes]:
    """Return what is in the files below a directory that SQLite writes, by path."""
    return {name: data for name, data in _files_of(home) if is_log(name)}


def small_of(home: Path) -> dict[str, bytes]:
    """Return what is in all other files below a directory, by path."""
    return {name: data for name, data in _files_of(home) if not is_log(name)}


def _files_of(home: Path) -> Iterator[tuple[str, bytes]]:
    for folder, _, names in os.walk(home):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - asked at every step of a tape, and Path takes ten times as long
            if not name.endswith(NOT_KEPT):
                with open(path, "rb") as file:  # noqa: PTH123 - as above
                    yield os.path.relpath(path, home), file.read()


class Tape(apsw.VFS):
    """The file system below `home`, with every step taken down in `steps`. A lying one takes down no flush."""

    def __init__(self, home: Path, base: str, *, lies: bool = False) -> None:
        self.home = home
        self.base = base
        self.lies = lies
        self.fail_sync = 0  # the how many-th flush from now fails
        self.steps: list[Step] = []
        self.inodes: dict[str, int] = {name: number for number, name in enumerate(sorted(logs_of(home)), start=1)}
        self._next = len(self.inodes) + 1
        self._small = SmallFiles({})
        self._firm_names: dict[str, dict[str, int]] = {}  # by directory
        self._firm: dict[int, bytes] = {}
        self._contents: dict[int, bytes] = {}
        super().__init__(NAME, base, makedefault=True)
        self._began()
        self.take()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's
        """Open a file of SQLite."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        assert path, "a store makes no temporary files"
        was_there = Path(path).exists()
        file = TapedFile(self, name, flags)
        if self.short(path) not in self.inodes:
            assert not was_there or not Path(path).stat().st_size, "a file of somebody else appeared"
            self.inodes[self.short(path)] = self._next
            self._next += 1
            self.add(Step(Did.CREATE, self.inodes[self.short(path)], name=self.short(path)))
        file.inode = self.inodes[self.short(path)]
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's
        """Remove a file."""
        super().xDelete(filename, syncdir)
        self.add(Step(Did.DELETE, self.inodes.pop(self.short(filename), 0), name=self.short(filename)))
        if syncdir:
            self.add(Step(Did.SETTLE))

    def short(self, path: str) -> str:
        """Return a path as it is called on the tape."""
        return os.path.relpath(path, self.home)

    def add(self, step: Step) -> None:
        """Take a step down, and before it what became of the small files meanwhile."""
        self.take()
        self.steps.append(step)

    def take(self) -> None:
        """Take down the small files, if any of them changed."""
        there = small_of(self.home)
        now = self._names(there)
        directories = now.keys() | self._firm_names.keys()
        names = tuple(
            (then, here)
            for directory in sorted(directories)
            if (then := self._firm_names.get(directory, {})) != (here := now.get(directory, {}))
        )
        used = {inode for each in chain(now.values(), *names) for inode in each.values()}
        contents = {inode: (self._firm.get(inode), self._contents[inode]) for inode in sorted(used)}
        inodes = {name: inode for here in now.values() for name, inode in here.items()}
        small = SmallFiles(there, names, contents, inodes)
        if small != self._small:
            self._small = small if there != self._small.there else small._replace(there=self._small.there)
            self.steps.append(Step(Did.SMALL, small=self._small))

    def _names(self, there: dict[str, bytes]) -> dict[str, dict[str, int]]:
        """Return the files that are flushed by hand, by directory and name; note what is in them."""
        found: dict[str, dict[str, int]] = {}
        for name, data in there.items():
            if any(part in os.path.basename(name) for part in FLUSHED_BY_HAND):  # noqa: PTH119 - texts
                inode = (self.home / name).stat().st_ino
                found.setdefault(os.path.dirname(name), {})[name] = inode  # noqa: PTH120 - texts
                self._contents[inode] = data
        return found

    def _began(self) -> None:
        """Count as durable what is there when the tape begins."""
        self._firm_names = self._names(small_of(self.home))
        self._firm = dict(self._contents)

    def flushed_by_hand(self, name: str, inode: int) -> None:
        """Take down that somebody flushed a small file, or the directory of one."""
        self.take()
        now = self._names(small_of(self.home))
        directory = "" if name == "." else name
        if inode in self._contents:
            self._firm[inode] = self._contents[inode]
        elif directory in now or directory in self._firm_names:
            self._firm_names[directory] = now.get(directory, {})
        self.take()

    def flushed(self, name: str) -> None:
        """Take down that somebody flushed a file or a directory by hand."""
        if self.lies:
            return
        if name in self.inodes:
            self.add(Step(Did.SYNC, self.inodes[name]))
        elif any(name == os.path.dirname(log) for log in self.inodes):  # noqa: PTH120 - texts
            self.add(Step(Did.SETTLE))

    def wrote(self, name: str, data: bytes, offset: int) -> None:
        """Take down that somebody wrote to a log by hand."""
        if name in self.inodes:
            self.add(Step(Did.WRITE, self.inodes[name], offset, data))

    def told(self, number: int) -> None:
        """Take down that an answer was given."""
        self.add(Step(Did.TOLD, told=number))

    def meets_failure(self) -> bool:
        """Count a flush; tell whether it is the one that fails."""
        self.fail_sync -= 1
        return self.fail_sync == 0


class TapedFile(apsw.VFSFile):
    """One file on the taped disk."""

    def __init__(self, tape: Tape, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._tape = tape
        self.inode = 0
        super().__init__(tape.base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's
        """Write."""
        super().xWrite(data, offset)
        self._tape.add(Step(Did.WRITE, self.inode, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's
        """Cut, or lengthen."""
        super().xTruncate(newsize)
        self._tape.add(Step(Did.TRUNCATE, self.inode, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's
        """Flush; the real file system need not, because nobody cuts its power."""
        del flags
        if self._tape.meets_failure():
            self._tape.add(Step(Did.LOSE, self.inode))
            raise apsw.IOError
        if not self._tape.lies:
            self._tape.add(Step(Did.SYNC, self.inode))


@contextmanager
def taped(home: Path, *, lies: bool = False) -> Iterator[Tape]:
    """Put every database that is opened inside on a taped disk; hear who flushes by hand."""
    usual, fsync, pwrite = apsw.vfs_names()[0], os.fsync, os.pwrite
    tape = Tape(home, usual, lies=lies)

    def named(descriptor: int) -> str:
        return tape.short(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115 - no path comes of it

    def flushed(descriptor: int) -> None:
        tape.take()
        tape.flushed(named(descriptor))
        tape.flushed_by_hand(named(descriptor), os.fstat(descriptor).st_ino)

    def written(descriptor: int, data: bytes, offset: int) -> int:
        count = pwrite(descriptor, data, offset)
        tape.wrote(named(descriptor), data[:count], offset)
        return count

    os.fsync, os.pwrite = flushed, written  # type: ignore[assignment]  # as far as anybody here calls them
    try:
        yield tape
    finally:
        os.fsync, os.pwrite = fsync, pwrite
        tape.unregister()
        apsw.set_default_vfs(usual)
