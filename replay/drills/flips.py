"""Changed bits, many at once where that says as much about each of them as one after the other.

A store is opened for each reading, which takes longer than the reading. So bits are changed together and only those
that do not explain what came of it are looked at again, by themselves in the end (`everything.verdict`):

1. Bytes side by side (`near`): when all of them change no answer, none does. When they are refused, they are taken
   apart into eighths, and into bytes. When all that is refused is one conversation, they are put off to step 2.
2. Of each conversation one of these (`finish`): where it is the conversation that is refused, and all others give the
   answer that they gave, the byte is refused.
3. Bytes by chance, so far apart that no two are in the same conversation (`apart`): those that keep the store from
   being opened are found by halving; with the rest every conversation is refused, or gives the answer that it gave.

An answer that differs, and was not refused, always leads to a look at each byte by itself.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from muniment.errors import MunimentError
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from replay.drills.everything import Answers, Verdict, answers_of, verdict
from replay.stores import opened, pages_of
from replay.words import key_of

ONE = ("default",)
HOLDS_NOTHING = frozenset({"ballast", "store.lock", "keys.lock"})
UNTOUCHED_NS = 10**18  # the time of a file that nobody has written to since
PIECES = 8  # what is refused side by side is taken apart into so many

Shown = dict[str, bytes | None]  # by conversation: a digest of what is shown, or None where that is refused


class Flip(NamedTuple):
    """A bit of a byte of a file."""

    path: Path
    at: int
    bit: int


class Judge:
    """Changes bits of a closed store and tells what came of it. Nobody else uses the store in `home` meanwhile."""

    def __init__(self, home: Path, conversations: Sequence[str], views: Sequence[View] = tuple(View)) -> None:
        self._home = home
        self._conversations = conversations
        self._views = views
        self._held = {path: (home / path).read_bytes() for path in files_of(home)}
        self.counts: Counter[Verdict] = Counter()
        self.silent: list[Flip] = []
        self._answers: Answers | None = None
        shown = self._shown()
        assert isinstance(shown, dict), shown
        self._before = shown
        self._put_off: dict[str, list[Flip]] = {}

    @property
    def sizes(self) -> dict[Path, int]:
        """The files that hold something, and how much."""
        return {path: len(held) for path, held in self._held.items()}

    # --- side by side -------------------------------------------------------------------------------------------------

    def near(self, flips: Sequence[Flip]) -> None:
        """Judge bytes side by side."""
        if len(flips) == 1:
            self.alone(flips[0])
            return
        answers = self._unchanged()
        with self._changed(flips):
            shown = self._shown()
            if shown == self._before and self._full() == answers:
                self.counts[Verdict.HARMLESS] += len(flips)
                return
        refused = self._refused(shown) if isinstance(shown, dict) else []
        if len(refused) == 1:
            self._put_off.setdefault(refused[0], []).extend(flips)
            return
        size = max(1, len(flips) // PIECES)
        for start in range(0, len(flips), size):
            self.near(flips[start : start + size])

    def finish(self) -> None:
        """Judge what was put off: of each conversation one, together."""
        while self._put_off:
            chosen = {name: flips.pop() for name, flips in self._put_off.items()}
            self._put_off = {name: flips for name, flips in self._put_off.items() if flips}
            with self._changed(list(chosen.values())):
                shown = self._shown()
            refused = set(self._refused(shown)) if isinstance(shown, dict) else set()
            told = refused if refused <= set(chosen) else set()
            self.counts[Verdict.REFUSED] += len(told)
            self.each([flip for name, flip in chosen.items() if name not in told])

    # --- far apart ----------------------------------------------------------------------------------------------------

    def apart(self, flips: Sequence[Flip]) -> None:
        """Judge bytes so far apart that no two are in the way of the same conversation."""
        shut = set(self._keeping_shut(flips))
        there = [flip for flip in flips if flip not in shut]
        with self._changed(there):
            shown = self._shown()
        if isinstance(shown, str) or not self._same_or_refused(shown):
            self.each(there)
            return
        refused = len(self._refused(shown))
        self.counts[Verdict.REFUSED] += refused
        self.counts[Verdict.HARMLESS] += len(there) - refused

    def _keeping_shut(self, flips: Sequence[Flip]) -> list[Flip]:
        """Count and return those that keep the store from being opened as sound, each by itself."""
        with self._changed(flips):
            if not flips or self._opens():
                return []
        if len(flips) == 1:
            self.counts[Verdict.REFUSED] += 1
            return list(flips)
        half = len(flips) // 2
        return [*self._keeping_shut(flips[:half]), *self._keeping_shut(flips[half:])]

    # --- by itself ----------------------------------------------------------------------------------------------------

    def each(self, flips: Sequence[Flip]) -> None:
        """Judge each byte by itself."""
        for flip in flips:
            self.alone(flip)

    def alone(self, flip: Flip) -> None:
        """Judge one byte."""
        answers = self._unchanged()
        with self._changed([flip]):
            found = verdict(answers, self._full())
        self.counts[found] += 1
        if found is Verdict.SILENT:
            self.silent.append(flip)

    # --- reading ------------------------------------------------------------------------------------------------------

    def _unchanged(self) -> Answers:
        """Return everything that the store answers as it is."""
        if self._answers is None:
            answers = self._full()
            assert isinstance(answers, Answers), answers
            self._answers = answers
            self._restore()
        return self._answers

    def _full(self) -> Answers | str:
        return answers_of(self._home, ONE, self._conversations)

    def _opens(self) -> bool:
        try:
            with opened(self._home) as runtime:
                return runtime.system.health().sound
        except MunimentError:
            return False

    def _shown(self) -> Shown | str:
        """Return what the views show, conversation by conversation, or how opening was refused."""
        try:
            with opened(self._home) as runtime:
                if not runtime.system.health().sound:
                    return "unsound"
                return {name: _pages(runtime, name, self._views) for name in self._conversations}
        except MunimentError as refused:
            return refused.code

    def _refused(self, shown: Shown) -> list[str]:
        """Return the conversations that are refused, if all others are as they were."""
        return [name for name, told in shown.items() if told is None] if self._same_or_refused(shown) else []

    def _same_or_refused(self, shown: Shown) -> bool:
        return all(told in {None, self._before[name]} for name, told in shown.items())

    # --- changing -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _changed(self, flips: Sequence[Flip]) -> Iterator[None]:
        """Have these bits changed, in files that are else as they were."""
        for flip in flips:
            self._write(flip, self._held[flip.path][flip.at] ^ 1 << flip.bit)
        for path in self._held:
            os.utime(self._home / path, ns=(UNTOUCHED_NS, UNTOUCHED_NS))
        try:
            yield
        finally:
            untouched = {path for path in self._held if _written_ns(self._home / path) == UNTOUCHED_NS}
            for flip in flips:
                if flip.path in untouched:
                    self._write(flip, self._held[flip.path][flip.at])
            for path in untouched:
                os.utime(self._home / path, ns=(UNTOUCHED_NS, UNTOUCHED_NS))
            self._restore()

    def _write(self, flip: Flip, byte: int) -> None:
        with (self._home / flip.path).open("r+b") as file:
            file.seek(flip.at)
            file.write(bytes([byte]))

    def _restore(self) -> None:
        """Put every file that somebody has written to as it was."""
        for path in files_of(self._home):
            if path not in self._held:
                (self._home / path).unlink()
        for path, held in self._held.items():
            place = self._home / path
            if _written_ns(place) != UNTOUCHED_NS:
                place.write_bytes(held)


def _written_ns(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def files_of(home: Path) -> list[Path]:
    """Return the files of a store that hold something, as they are called in it."""
    return [
        path.relative_to(home) for path in sorted(home.rglob("*")) if path.is_file() and path.name not in HOLDS_NOTHING
    ]


def flip_at(path: Path, at: int, chance: random.Random) -> Flip:
    """Choose a bit of a byte."""
    return Flip(path, at, chance.randrange(8))


def _pages(runtime: Runtime, name: str, views: Sequence[View]) -> bytes | None:
    """Return a digest of what views show of a conversation, or None where one of them refuses it."""
    digest = hashlib.blake2b()
    try:
        for view in views:
            digest.update(msgspec.json.encode(pages_of(runtime, key_of(name), view)))
    except MunimentError:
        return None
    return digest.digest()
