"""Change one bit somewhere in the files of a closed store: the change is refused, or it changes no answer.

What is refused and what is harmless is said in `everything`. With the number 0 every byte of every file is changed, one
at a time; else so many bytes by chance. Harmless are bytes that nothing is read from: what SQLite leaves free in its
pages, counters that it keeps for itself, a key that is sealed for another purpose, the file that only keeps room.

The control are plain rows in `sqlite3`: there a changed bit must be read as if it had always been so.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from replay.bench.contestants import PlainRows
from replay.drills.everything import Verdict, answers_of, verdict
from replay.drills.exhibits import Exhibit
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.words import Words

FLIPS = 20_000
LOG_BYTES = 256 * 1024
TURNS = 40
TURNS_OF_EVERY_BYTE = 124  # make a log of a quarter of a megabyte
CONTROL_FLIPS = 300
CONTROL_TURNS = 50
ONE = ("default",)
HOLDS_NOTHING = frozenset({"ballast", "store.lock", "keys.lock"})


def bitflip(count: int | None, seed: int) -> Outcome:
    """Change so many bits; 0 for one in every byte that there is."""
    chance = random.Random(seed)  # noqa: S311 - which bits a drill changes is no secret
    failures: list[str] = []
    counts: Counter[Verdict] = Counter()
    with scratch_directory("bitflip") as scratch:
        exhibit = Exhibit(scratch / "exhibit", TURNS if count else TURNS_OF_EVERY_BYTE, ONE)
        files = _files(exhibit.newer)
        size = sum(len(held) for held in files.values())
        for path, at in _places(files, FLIPS if count is None else count, chance):
            with exhibit.copied(scratch / "home") as home:
                _flip(home / path, at, chance)
                found = verdict(exhibit.answers, answers_of(home, ONE))
            counts[found] += 1
            if found is Verdict.SILENT:
                failures.append(f"byte {at} of {path.name} is a silent change")
        control = _control(scratch, chance)
    return Outcome(
        name="bitflip",
        tried=f"{counts.total():,} bits in {len(files)} files of {size:,} bytes, {counts[Verdict.REFUSED]:,} refused, "
        f"{counts[Verdict.HARMLESS]:,} harmless, {counts[Verdict.HEALED]:,} healed",
        failures=failures,
        control=f"plain sqlite3 rows, {control} of {CONTROL_FLIPS} changes read as if they were true",
        control_failed=control > 0,
        seed=seed,
    )


def _files(home: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(home): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.name not in HOLDS_NOTHING
    }


def _places(files: dict[Path, bytes], count: int, chance: random.Random) -> Iterator[tuple[Path, int]]:
    """Yield bytes: all of them, or so many; in each file as many as its size calls for, and the small ones not less."""
    every = [(path, at) for path, held in files.items() for at in range(len(held))]
    if not count or count >= len(every):
        yield from every
        return
    small = [place for place in every if len(files[place[0]]) < LOG_BYTES // 8]
    few = min(len(small), count // 4)
    yield from chance.sample(small, few)
    yield from chance.sample(every, count - few)


def _flip(path: Path, at: int, chance: random.Random) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        (held,) = file.read(1)
        file.seek(at)
        file.write(bytes([held ^ 1 << chance.randrange(8)]))


def _control(scratch: Path, chance: random.Random) -> int:
    """Return how many bits of plain rows could be changed so that other words are read."""
    words, silent = Words(small=True), 0
    directory = scratch / "plain"
    directory.mkdir()
    rows = PlainRows(directory)
    for number in range(1, CONTROL_TURNS + 1):
        rows.append(words.turn("one", number))
    rows.close()
    held = rows.path.read_bytes()
    true = _read(rows.path)
    for _ in range(CONTROL_FLIPS):
        rows.path.write_bytes(held)
        _flip(rows.path, chance.randrange(len(held)), chance)
        read = _read(rows.path)
        silent += read is not None and read != true
    return silent


def _read(path: Path) -> list[tuple[object, ...]] | None:

    try:
        with closing(sqlite3.connect(path)) as raw:
            (table,) = raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1").fetchone()
            return raw.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - as the file says
    except (sqlite3.Error, TypeError, UnicodeDecodeError):
        return None
