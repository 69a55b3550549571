"""How long a recall takes among many items: by words and by meaning, of one subject and of many."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from replay.bench.figures import Amount, Figure, at_most
from replay.bench.memory.items import fill, questions, subject
from replay.bench.scene import Measured, Measuring, Scene
from replay.embedders import PROJECTED
from replay.measure import Spread, percentile, spread
from replay.stores import opened
from replay.words import Words

ITEMS, ITEMS_QUICK = 100_000, 500
SUBJECTS, SUBJECTS_QUICK = 1_000, 10
QUESTIONS, QUESTIONS_QUICK = 200, 10
WORDS_MS_MAX, HYBRID_MS_MAX = 20, 60
PROMPT_ITEMS, PROMPT_ITEMS_QUICK = 10_000, 200
PROMPT_TOKENS, PROMPT_MS_MAX = 2_000, 20
PROMPTS, PROMPTS_QUICK = 50, 3


class Answers(NamedTuple):
    """What answers took, in milliseconds of wall and of CPU time."""

    wall: list[float]
    cpu: list[float]

    def told(self) -> str:
        """Return what a p95 does not say."""
        p50, cpu = percentile(self.wall, 0.5), (percentile(self.cpu, 0.5), percentile(self.cpu, 0.95))
        return f"p50 {p50:.1f} ms; CPU p50 {cpu[0]:.1f}, p95 {cpu[1]:.1f} ms"


def recalling(scene: Scene) -> Measuring:
    """Recall from items of one subject, then from as many of many subjects."""
    count = ITEMS_QUICK if scene.quick else ITEMS
    for subjects in (1, SUBJECTS_QUICK if scene.quick else SUBJECTS):
        words, directory = Words(small=scene.quick), scene.fresh(f"recall-{subjects}")
        with opened(directory) as runtime:
            fill(runtime, words, count, subjects)
        asked = questions(words, QUESTIONS_QUICK if scene.quick else QUESTIONS)
        whose = "of one subject" if subjects == 1 else f"of {subjects:,} subjects"
        what = f"recall from {count:,} items {whose}"
        yield from _by_words(what, directory, asked, subjects)
        yield from _by_meaning(what, directory, asked, subjects)


def _by_words(what: str, directory: Path, asked: list[str], subjects: int) -> Measuring:
    with opened(directory) as runtime:
        start = time.process_time()
        _ask(runtime, asked[0], 0)
        made = time.process_time() - start
        path = partial(_answers, runtime, asked, subjects)
        done = path()
        yield Measured(_figure(f"{what}, by words", WORDS_MS_MAX, done, f"index made in {made:.1f} CPU-seconds"), path)


def _by_meaning(what: str, directory: Path, asked: list[str], subjects: int) -> Measuring:
    with opened(directory, options=PROJECTED.options()) as runtime:
        _ask(runtime, asked[0], 0)
        PROJECTED.embed(runtime, View.MODEL_CONTEXT)
        path = partial(_answers, runtime, asked, subjects)
        done = path()
        semantic = runtime.memory.recall(subject(0), asked[0]).semantic
        note = f"semantic: {semantic}; vectors of {PROJECTED.make().dimension} dimensions, made without a model"
        yield Measured(_figure(f"{what}, by words and meaning", HYBRID_MS_MAX, done, note), path)


def _answers(runtime: Runtime, asked: list[str], subjects: int) -> Answers:
    taken = Answers([], [])
    for number, question in enumerate(asked):
        wall, cpu = time.perf_counter(), time.process_time()
        _ask(runtime, question, number % subjects)
        taken.wall.append((time.perf_counter() - wall) * 1000)
        taken.cpu.append((time.process_time() - cpu) * 1000)
    return taken


def _ask(runtime: Runtime, question: str, number: int) -> None:
    runtime.memory.recall(subject(number), question)


def _figure(what: str, most: float, done: Answers, note: str) -> Figure:
    p95 = percentile(done.wall, 0.95)
    return Figure(
        subject="memory",
        what=f"{what}: p95",
        target=f"<= {most} ms",
        measured=Amount(median=p95, unit="ms", digits=1),
        met=at_most(p95, most),
        note=f"{done.told()}; {note}",
    )


def projecting(scene: Scene) -> Measuring:
    """Write the prompt of a subject with many items, again and again."""
    count = PROMPT_ITEMS_QUICK if scene.quick else PROMPT_ITEMS
    with opened(scene.fresh("prompt")) as runtime:
        fill(runtime, Words(small=scene.quick), count, 1)
        prompt = partial(runtime.memory.prompt, subject(0), PROMPT_TOKENS)
        first = _milliseconds(prompt)
        taken = [_milliseconds(prompt) for _ in range(PROMPTS_QUICK if scene.quick else PROMPTS)]
        wall, cpu = spread([one for one, _ in taken]), spread([one for _, one in taken])
        yield Measured(_projected(count, wall, cpu, first), prompt)


def _milliseconds(step: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    step()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def _projected(count: int, wall: Spread, cpu: Spread, first: tuple[float, float]) -> Figure:
    return Figure(
        subject="memory",
        what=f"prompt of {PROMPT_TOKENS:,} tokens from {count:,} items",
        target=f"<= {PROMPT_MS_MAX} ms",
        measured=Amount(median=wall.median, low=wall.low, high=wall.high, unit="ms", digits=1),
        met=at_most(wall.median, PROMPT_MS_MAX),
        note=f"CPU {cpu.told('ms', 1)}; the first one of a process {first[0]:.0f} ms, CPU {first[1]:.0f} ms",
    )
