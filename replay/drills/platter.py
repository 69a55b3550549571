"""What a disk may hold when its power is cut: everything that was flushed, and of the rest anything.

A platter is played a tape step by step. At any step `cut` returns what may be found afterwards: of the writes and
truncations of each file that were not flushed yet, all, none, some, or pieces of sectors of some, in any combination;
and of the names that were made or removed since the directory was flushed last, the first few.

Modelled after what SQLite assumes of disks: a sector of 512 bytes is written whole or not at all, a write damages
nothing beside it. A flush that failed lets go of what it should have flushed: some of it is on the disk, and no later
flush tries again.
"""

from __future__ import annotations

import random
from enum import StrEnum

from replay.drills.tape import Did, SmallFiles, Step

SECTOR_BYTES = 512


class Left(StrEnum):
    """What becomes of what was not flushed."""

    NOTHING = "nothing"
    ALL = "all"
    FIRST = "first"  # up to some step, the last one torn
    SOME = "some"  # any of them
    TORN = "torn"  # sectors of any of them


class Platter:
    """A disk with a history."""

    def __init__(self, logs: dict[str, bytes], small: dict[str, bytes]) -> None:
        self._small = SmallFiles(small)
        self.told = 0
        self._names = {name: number for number, name in enumerate(sorted(logs), start=1)}
        self._firm = {number: bytearray(logs[name]) for name, number in self._names.items()}
        self._loose: dict[int, list[Step]] = {}
        self._renames: list[tuple[str, int]] = []  # a name, and the file that it leads to: 0 for none

    def play(self, step: Step, chance: random.Random) -> None:
        """Let the disk do a step."""
        if step.did in {Did.WRITE, Did.TRUNCATE}:
            self._loose.setdefault(step.inode, []).append(step)
        elif step.did is Did.SYNC:
            for loose in self._loose.pop(step.inode, []):
                _apply(self._firm[step.inode], loose)
            if any(inode == step.inode for _, inode in self._renames):
                self._settle()  # SQLite flushes the directory with a file that it made
        elif step.did is Did.LOSE:
            self._firm[step.inode] = self._mixed(step.inode, chance)
            self._loose.pop(step.inode, None)
        elif step.did is Did.CREATE:
            self._firm[step.inode] = bytearray()
            self._renames.append((step.name, step.inode))
        elif step.did is Did.DELETE:
            self._renames.append((step.name, 0))
        elif step.did is Did.SETTLE:
            self._settle()
        elif step.did is Did.SMALL:
            self._small = step.small or SmallFiles({})
        else:
            self.told = step.told

    def cut(self, chance: random.Random) -> dict[str, bytes]:
        """Return the files of a cut now, by name."""
        names = self._names | dict(self._renames[: chance.randint(0, len(self._renames))])
        return {name: bytes(self._mixed(inode, chance)) for name, inode in names.items() if inode}

    def cut_small(self, chance: random.Random) -> dict[str, bytes]:
        """Return the small files of a cut now; of one directory the names before or after what was not flushed."""
        small = self._small
        if small.is_firm:
            return small.there
        found: dict[str, bytes] = dict(small.there)
        links: dict[str, int] = {}
        for then, now in small.names:
            for name in now:
                del found[name]
            links.update(chance.choice((then, now)))
        changed = {name for _, now in small.names for name in now}
        inodes = {name: inode for name, inode in small.inodes.items() if name not in changed} | links
        kept = {inode: _left_of(*small.contents[inode], chance) for inode in set(inodes.values())}
        return found | {name: kept[inode] for name, inode in inodes.items()}

    def _settle(self) -> None:
        for name, inode in self._renames:
            if inode:
                self._names[name] = inode
            else:
                self._names.pop(name, None)
        self._renames.clear()

    def _mixed(self, inode: int, chance: random.Random) -> bytearray:
        held, loose = bytearray(self._firm[inode]), self._loose.get(inode, [])
        left = chance.choice(list(Left)) if loose else Left.NOTHING
        if left is Left.ALL:
            chosen = loose
        elif left is Left.FIRST:
            chosen = loose[: chance.randint(0, len(loose))]
            if chosen:
                chosen = [*chosen[:-1], *_torn(chosen[-1], chance)]
        elif left is Left.SOME:
            chosen = [step for step in loose if chance.random() < 0.5]
        elif left is Left.TORN:
            chosen = [piece for step in loose for piece in _torn(step, chance)]
        else:
            chosen = []
        for step in chosen:
            _apply(held, step)
        return held


def _left_of(firm: bytes | None, now: bytes, chance: random.Random) -> bytes:
    """Return what is left of contents that may not have been flushed: those of before, these, or a part of them."""
    if firm == now:
        return now
    return chance.choice((firm or b"", now, now[: chance.randint(0, len(now))]))


def _torn(step: Step, chance: random.Random) -> list[Step]:
    """Return some sectors of a write."""
    if step.did is Did.TRUNCATE:
        return [step] if chance.random() < 0.5 else []
    pieces = []
    at = 0
    while at < len(step.data):
        end = at + SECTOR_BYTES - (step.offset + at) % SECTOR_BYTES
        if chance.random() < 0.5:
            pieces.append(step._replace(offset=step.offset + at, data=step.data[at:end]))
        at = end
    return pieces


def _apply(held: bytearray, step: Step) -> None:
    if step.did is Did.TRUNCATE:
        if step.offset < len(held):
            del held[step.offset :]
        held.extend(bytes(step.offset - len(held)))
        return
    held.extend(bytes(max(0, step.offset - len(held))))
    held[step.offset : step.offset + len(step.data)] = step.data
