"""Frames: how many functions of ours one warmed operation calls, and which ones.

A library in Python costs about what its calls cost. Their number is the same on every machine, however busy it is, so
that a budget for it can be narrow, and the list of the functions that are called most says where to cut.

1. A frame is a `call` event of `sys.setprofile` for code of the package `muniment`, in the thread that asks: an
   append, its group commit included, runs in that one. A step of a generator counts. A comprehension counts before
   Python 3.12, which inlines it. Frames of libraries do not count; they change with their versions.
2. The store is a directory, filled through the front door with seeded sources and invented words: a conversation of
   200 turns to read, one of 100 turns to erase from and to add to, each turn a question and an answer of 400
   characters.
3. Operations run in the order of `OPERATIONS`, each once to warm up and then in rounds, on other turns and with other
   questions where there are any. The round in the middle is the figure. Searches come last, so that no search index is
   open before: what an erasure and an append do to an open one is not in these figures.
4. No garbage is collected while frames are counted.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType

import muniment
from muniment import Options, Scope, View
from muniment.kernel.sources import seeded_sources
from replay.bench.contestants import PAGE_TURNS
from replay.bench.figures import Amount, Figure, at_most
from replay.bench.memory.items import statement
from replay.bench.scene import Measured, Measuring, Scene
from replay.stores import opened
from replay.words import Words, key_of

READ, BESIDE = "read", "beside"
READ_TURNS, BESIDE_TURNS = 200, 100
QUESTIONS_CHARACTERS = 2_000  # a word of them is a question
WARM_UPS, ROUNDS = 1, 7
FUNCTIONS_MAX = 20  # that a report names
TARGETS = {"commit": 160, "page": 8 * PAGE_TURNS}
PACKAGE = str(Path(muniment.__file__).parent) + "/"

Calls = Counter[str]  # function -> how often it was called
Step = Callable[[], object]


class Stage:
    """A filled store, and what each round of an operation works on."""

    def __init__(self, directory: Path) -> None:
        words = Words(invented=True)
        self.runtime = opened(directory, options=Options(sources=seeded_sources("frames")))
        self.beside = words.turns(BESIDE, 1, BESIDE_TURNS)
        for turn in (*words.turns(READ, 1, READ_TURNS), *self.beside):
            self.runtime.transcripts.commit(turn)
        self.new = words.turns(BESIDE, BESIDE_TURNS + 1, WARM_UPS + ROUNDS)
        self.questions = words.take(QUESTIONS_CHARACTERS).split()[1:-1]


def _page(stage: Stage, _number: int) -> Step:
    return partial(stage.runtime.transcripts.replay, key_of(READ), View.HOST_UI, PAGE_TURNS)


def _erase(stage: Stage, number: int) -> Step:
    scope = Scope(conversation=key_of(BESIDE).conversation, turn=stage.beside[number].turn)
    return partial(stage.runtime.lifecycle.erase, scope, "asked for", "bench")


def _commit(stage: Stage, number: int) -> Step:
    return partial(stage.runtime.transcripts.commit, stage.new[number])


def _export(stage: Stage, _number: int) -> Step:
    return partial(stage.runtime.evidence.export, key_of(READ))


def _search(stage: Stage, number: int) -> Step:
    return partial(stage.runtime.transcripts.search, stage.questions[number])


def _remember(stage: Stage, number: int) -> Step:
    turn = stage.beside[number]
    text = "".join(str(message.content) for message in turn.messages)
    candidate = statement(text, f"item {number}", turn.subject, (BESIDE, stage.beside[-1].turn))
    return partial(stage.runtime.memory.remember, [candidate], "bench")


def _recall(stage: Stage, number: int) -> Step:
    return partial(stage.runtime.memory.recall, stage.beside[0].subject, stage.questions[number])


OPERATIONS: dict[str, tuple[str, Callable[[Stage, int], Step]]] = {
    "page": (f"a page of {PAGE_TURNS} turns", _page),
    "erase": (f"the erasure of one turn of {READ_TURNS + BESIDE_TURNS}, receipt included", _erase),
    "commit": ("the commit of one turn", _commit),
    "export": (f"the certified export of a conversation of {READ_TURNS} turns", _export),
    "remember": ("remembering one item that rests on one turn", _remember),
    "search": ("a search for one word", _search),
    "recall": (f"a recall of one word from {WARM_UPS + ROUNDS} items and {READ_TURNS + BESIDE_TURNS} turns", _recall),
}


def counted(directory: Path) -> dict[str, Calls]:
    """Return the calls of each operation; the same ones whenever and wherever the same code is counted."""
    stage = Stage(directory)
    found = {}
    for name, (_, prepare) in OPERATIONS.items():
        rounds = [calls_of(prepare(stage, number)) for number in range(WARM_UPS + ROUNDS)]
        found[name] = sorted(rounds[WARM_UPS:], key=Counter.total)[ROUNDS // 2]
    stage.runtime.close()
    return found


def calls_of(step: Step) -> Calls:
    """Run a step; return which functions of ours were called, how often."""
    seen: Counter[CodeType] = Counter()

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen[frame.f_code] += 1

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(see)
    try:
        step()
    finally:
        sys.setprofile(before)
        gc.enable()
    calls: Calls = Counter()
    for code, count in seen.items():
        if code.co_filename.startswith(PACKAGE):
            calls[f"{code.co_filename.removeprefix(PACKAGE)}:{code.co_qualname}"] += count
    return calls


def frames(scene: Scene) -> Measuring:
    """Count the frames of each operation, and name the functions that are called most."""
    for name, calls in counted(scene.fresh("frames")).items():
        target = TARGETS.get(name)
        yield Measured(
            Figure(
                subject="frames",
                what=f"Python frames of {OPERATIONS[name][0]}",
                target=None if target is None else f"<= {target}",
                measured=Amount(median=calls.total(), unit="frames", digits=0),
                met=None if target is None else at_most(calls.total(), target),
                calls=dict(calls.most_common(FUNCTIONS_MAX)),
            )
        )
