"""Logs for tests: plans that append a turn, and a file system that counts, waits and breaks on demand."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import apsw

from muniment.evidence.tree import extend, frontier_at
from muniment.log.port import SealedRow, Store, Transaction
from muniment.log.tail import longer

TURN = "turn.committed"


def turn_row(tx: Transaction, stream: int, content: bytes) -> SealedRow:
    """Return the next turn of a stream."""
    position, head = tx.frontier().size, tx.stream_head(stream)
    seq, turns = (head.seq, head.turns) if head else (0, 0)
    return SealedRow(
        position=position,
        stream=stream,
        seq=seq + 1,
        kind=TURN,
        turn_seq=turns + 1,
        target_seq=None,
        time=1_700_000_000_000 + position,
        leaf=hashlib.sha256(b"%d" % position + content).digest(),
        header=b'{"pos":%d}' % position,
        envelope=b"envelope",
        content=content,
    )


def add(tx: Transaction, row: SealedRow) -> None:
    """Append one row and put the head of its stream."""
    head = tx.stream_head(row.stream)
    frontier, nodes = extend(tx.frontier(), [row.leaf])
    tx.append([row], nodes, frontier, b"")
    tx.put_stream_head(longer(head, row))


def a_turn(stream: int = 0, content: bytes = b"words") -> Callable[[Transaction], int]:
    """Return a plan that appends a turn to a stream and returns its position."""

    def plan(tx: Transaction) -> int:
        row = turn_row(tx, stream, content)
        add(tx, row)
        return row.position

    return plan


def check_whole(store: Store) -> int:
    """Check that the log is dense and that its tree is the tree over its leaves; return its size."""
    with store.reader() as reader:
        frontier = reader.frontier()
        assert [row.position for row in reader.sealed_events(0, frontier.size)] == list(range(frontier.size))
        assert reader.count() == sum(head.seq for head in reader.stream_heads()) == frontier.size
        assert frontier_at(reader, frontier.size) == frontier
        return frontier.size


class Disk(apsw.VFS):
    """The disk below SQLite. Counts flushes by file, may take its time for them, and breaks when told to.

    `broken` maps a method and the end of a file name (`("xSync", "-wal")`) to the error that it raises.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.syncs: Counter[str] = Counter()
        self.sync_s = 0.0
        self.at_sync: dict[str, Callable[[], object]] = {}
        self.broken: dict[tuple[str, str], type[apsw.Error]] = {}
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's
        """Open a file."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self.meet("xOpen", path)
        return _File(self, name, path, flags)

    def meet(self, method: str, path: str) -> None:
        """Break, if that was asked for."""
        for (broken, ending), error in self.broken.items():
            if broken == method and path.endswith(ending):
                raise error


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, path: str, flags: list[int]) -> None:
        self._disk, self._path = disk, path
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's
        suffix = Path(self._path).suffix
        self._disk.syncs[suffix] += 1
        self._disk.at_sync.get(suffix, lambda: None)()
        time.sleep(self._disk.sync_s)
        self._disk.meet("xSync", self._path)
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's
        self._disk.meet("xWrite", self._path)
        super().xWrite(data, offset)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - SQLite's
        self._disk.meet("xRead", self._path)
        return super().xRead(amount, offset)
