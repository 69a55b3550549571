"""Remembering an item beside appending a turn of the same words, and many items in one request."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.events.turn import Turn
from muniment.memory.candidate import Candidate
from muniment.runtime.runtime import Runtime
from replay.bench.contestants import CONVERSATION
from replay.bench.figures import Amount, Figure, at_most
from replay.bench.memory.items import WRITER, statement
from replay.bench.scene import Measured, Measuring, Scene
from replay.measure import Rounds, Work, timed_in_turns
from replay.stores import opened

RATIO_MAX = 1.3
COUNT, ROUNDS, COUNT_QUICK, ROUNDS_QUICK = 100, 7, 20, 3
AT_ONCE = 100  # candidates of a request
COMMIT, ONE, MANY = "commit", "remember", "remember many"


def remembering(scene: Scene) -> Measuring:
    """Commit turns and remember what they say, in turns in one store: each item rests on one turn."""
    count, rounds = (COUNT_QUICK, ROUNDS_QUICK) if scene.quick else (COUNT, ROUNDS)
    turns = scene.words.turns(CONVERSATION, 1, 4 * count * (rounds + 1))
    with opened(scene.fresh("remember")) as runtime:
        for turn in turns:
            runtime.transcripts.commit(turn)
        new = scene.words.turns("beside", 1, count * (rounds + 1))
        at_once = min(AT_ONCE, count)
        work: dict[str, Work] = {
            COMMIT: _commit(runtime, iter(new), count),
            ONE: _remember(runtime, _candidates(turns[0::4], "one"), count, 1),
            MANY: _remember(runtime, _candidates(turns[1::4], "many"), count, at_once),
        }
        done = timed_in_turns(work, rounds)
        again = _remember(runtime, _candidates(turns[2::4], "again"), count, 1)
        yield Measured(_figure("the same words as a turn, one candidate with one turn as evidence", done, ONE), again)
        yield Measured(_figure(f"the same, {at_once} candidates in one request, for each", done, MANY), again)


def _commit(runtime: Runtime, turns: Iterator[Turn], count: int) -> Work:
    def work() -> int:
        for _ in range(count):
            runtime.transcripts.commit(next(turns))
        return count

    return work


def _remember(runtime: Runtime, candidates: Iterator[Candidate], count: int, at_once: int) -> Work:
    def work() -> int:
        for _ in range(count // at_once):
            report = runtime.memory.remember([next(candidates) for _ in range(at_once)], WRITER)
            assert report.recorded == at_once, "every statement has a topic of its own"
        return count // at_once * at_once

    return work


def _candidates(turns: list[Turn], name: str) -> Iterator[Candidate]:
    """Yield what turns say, each as a statement of its own."""
    for number, turn in enumerate(turns):
        text = "".join(str(message.content) for message in turn.messages)
        yield statement(text, f"{name} {number}", turn.subject, (CONVERSATION, turn.turn))


def _figure(what: str, done: dict[str, Rounds], name: str) -> Figure:
    ours, commit = done[name], done[COMMIT]
    ratio = ours.cpu.median / commit.cpu.median
    return Figure(
        subject="memory",
        what=f"remember compared with a turn's append, {what}: CPU",
        target=f"<= {RATIO_MAX} x",
        measured=Amount(median=ratio, unit="x", digits=2),
        met=at_most(ratio, RATIO_MAX),
        note=f"CPU {ours.cpu.told('ms')} against {commit.cpu.told('ms')}, wall {ours.wall.told('ms')} against "
        f"{commit.wall.told('ms')}; an item is two events: itself, and the reference of the turn to it",
    )
