"""Let the clock jump, back and forward, by seconds and by years: nothing but times may change.

The same actions are done twice, once under a clock that ticks and once under one that jumps before each of them. What
every view shows must be equal but for the times, the log dense and sound, in the order in which it was asked.
The control: one action more under the second clock; then the answers must differ.
"""

from __future__ import annotations

import random
from pathlib import Path

import msgspec

import muniment
from muniment.crypto.root import LocalRoot
from muniment.errors import MunimentError
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.evidence.pin import FilePin
from muniment.governance.views import View
from muniment.kernel.sources import SystemEntropy, seeded_sources
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from replay.drills.governed import pages
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.words import Words, key_of

ROUNDS = 10
ACTIONS = 40
NAMES = ("one", "two")
START_MS = 1_700_000_000_000
JUMPS_MS = (1, 1000, 3_600_000, 86_400_000, 10 * 365 * 86_400_000)
TIMES = frozenset({"time_ms", "committed_ms", "observed_ms", "requested_ms", "first_observed_ms", "last_observed_ms"})


class JumpingClock:
    """A clock that somebody sets."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.at_ms = now_ms

    def now_ms(self) -> int:
        """Return what it shows."""
        return self.at_ms


def clock(count: int | None, seed: int) -> Outcome:
    """Do the same under two clocks, so many times."""
    rounds, failures, control = count or ROUNDS, [], False
    for number in range(rounds):
        name = f"{seed} {number}"
        with scratch_directory("clock") as scratch:
            try:
                ticking = _answers(scratch / "ticking", name, jumps=False)
                jumping = _answers(scratch / "jumping", name, jumps=True)
                more = _answers(scratch / "more", name, jumps=True, extra=True)
            except MunimentError as refused:
                failures.append(f"round {number}: {refused}")
                continue
        control = control or more != jumping
        if ticking != jumping:
            failures.append(f"round {number}: the answers differ")
    return Outcome(
        name="clock",
        tried=f"{rounds} rounds of {ACTIONS} actions under a clock that jumps",
        failures=failures,
        control="one action more",
        control_failed=control,
        seed=seed,
    )


def _answers(home: Path, name: str, *, jumps: bool, extra: bool = False) -> list[object]:
    """Do the actions; return what is shown afterwards, and after opening again, without times."""
    home.mkdir()
    chance, jump = random.Random(name), random.Random(f"{name} jump")  # noqa: S311 - repeatable
    time = JumpingClock()
    words, turns = Words(small=True), dict.fromkeys(NAMES, 0)
    found: list[object] = []
    with _opened(home, time) as runtime:
        for _ in range(ACTIONS):
            time.at_ms += jump.choice(JUMPS_MS) * jump.choice((-1, 1)) if jumps else 1000
            time.at_ms = max(0, min(time.at_ms, 2 * START_MS))
            conversation = chance.choice(NAMES)
            draw = chance.random()
            number = chance.randint(1, max(1, turns[conversation]))
            if draw < 0.6 or not turns[conversation]:
                turns[conversation] += 1
                runtime.transcripts.commit(words.turn(conversation, turns[conversation], characters=60))
            else:
                transition = chance.choice([Transition.MASK, Transition.UNMASK, Transition.ARCHIVE, Transition.ERASE])
                turn = TurnId(f"turn-{number}")
                try:
                    runtime.lifecycle.request(key_of(conversation), transition, "why", "drill", turn)
                except MunimentError as refused:
                    found.append(refused.code)
        if extra:
            runtime.transcripts.commit(words.turn(NAMES[0], turns[NAMES[0]] + 1))
        found.append(_shown(runtime))
    with _opened(home, time) as runtime:
        found.append(_shown(runtime))
        runtime.evidence.audit()
    return found


def _opened(home: Path, time: JumpingClock) -> Runtime:
    sources = msgspec.structs.replace(seeded_sources("clock"), clock=time, entropy=SystemEntropy())
    options = Options(pin=FilePin(home / "pins"), sources=sources)
    return muniment.open(home / "store", keys=LocalRoot(b"k" * 32, SystemEntropy()), options=options)


def _shown(runtime: Runtime) -> object:
    runtime.system.recover()
    return _timeless(
        [
            [pages(runtime, key_of(name), view) for name in NAMES for view in View],
            runtime.system.health().sound,
            runtime.evidence.inspect().kinds,
        ]
    )


def _timeless(answer: object) -> object:
    """Return an answer without its times."""
    if isinstance(answer, dict):
        return {name: _timeless(value) for name, value in answer.items() if name not in TIMES}
    return [_timeless(one) for one in answer] if isinstance(answer, list) else answer
