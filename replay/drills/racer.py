"""A process of the race: threads that commit to, repeat into and read the same conversations as all other processes.

Started by the drill as `python -m replay.drills.racer`. Writes one line for each call that was answered.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from muniment.events.identity import TurnId
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from replay.drills.history import Append, Call, Read
from replay.stores import opened, pages_of
from replay.words import Words, key_of

CONVERSATIONS = 4
CHARACTERS = 40
REPEAT_SHARE, READ_SHARE = 0.15, 0.35

NamedCall = tuple[str, Call]


class Racer:
    """One thread: does so many calls, by chance, and tells what it was answered."""

    def __init__(self, runtime: Runtime, name: str, seed: str, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.runtime = runtime
        self._name = name
        self._chance = random.Random(seed)  # noqa: S311 - repeatable
        self._now_ns = now_ns
        self._words = Words(small=True)

    def run(self, calls: int) -> Iterator[NamedCall]:
        """Do so many calls; yield what each was answered."""
        done: list[tuple[str, int]] = []
        for number in range(calls):
            conversation = f"race {self._chance.randrange(CONVERSATIONS)}"
            draw = self._chance.random()
            if draw < READ_SHARE:
                yield conversation, self.read(conversation)
            elif draw < READ_SHARE + REPEAT_SHARE and done:
                yield self._append(*self._chance.choice(done))
            else:
                done.append((conversation, number))
                yield self._append(conversation, number)

    def _append(self, conversation: str, number: int) -> NamedCall:
        turn = Words(small=True).turn(conversation, number, characters=CHARACTERS)
        turn = msgspec.structs.replace(turn, turn=TurnId(f"{self._name}.{number}"))
        began = self._now_ns()
        place = self.append(conversation, turn)
        return conversation, Append(began=began, ended=self._now_ns(), item=turn.turn, place=place)

    def append(self, _conversation: str, turn: object) -> int:
        """Commit a turn; return its place."""
        sequence = self.runtime.transcripts.commit(turn).sequence  # type: ignore[arg-type]  # a turn, as made above
        assert sequence is not None, "a turn with words is kept"
        return sequence

    def read(self, conversation: str) -> Read:
        """Read how long a conversation is, and what stands last."""
        began = self._now_ns()
        length, last = self.seen(conversation)
        return Read(began=began, ended=self._now_ns(), length=length, last=last)

    def seen(self, conversation: str) -> tuple[int, str]:
        """Return the length of a conversation and its last turn."""
        pages = pages_of(self.runtime, key_of(conversation), View.HOST_UI)
        found = [turn for page in pages for turn in page.turns]
        assert [turn.sequence for turn in found] == list(range(1, len(found) + 1)), "a page has holes"
        return len(found), found[-1].turn if found else ""


def raced(runtime: Runtime, name: str, threads: int, calls: int, kind: type[Racer] = Racer) -> list[NamedCall]:
    """Let threads race; return what they were told."""
    with ThreadPoolExecutor(threads) as pool:
        jobs = [
            pool.submit(lambda n: list(kind(runtime, f"{name}.{n}", f"{name} {n}").run(calls)), number)
            for number in range(threads)
        ]
        return [told for job in jobs for told in job.result()]


def main() -> int:
    """Race in a store that is there."""
    directory, name, threads, calls = sys.argv[1:]
    with opened(Path(directory)) as runtime:
        told = raced(runtime, name, int(threads), int(calls))
    sys.stdout.buffer.write(msgspec.json.encode(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
