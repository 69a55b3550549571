"""How the CPU time of a call grows with its input: a limit in seconds fails on slow machines and under coverage."""

import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

TIMES = 16
"""How much longer the longer input is. What is linear takes 16 times as long, what is quadratic 256 times."""
GROWTH_MAX = 64
NOISE_SECONDS = 0.02


def assert_linear(call: Callable[[Input], object], made: Callable[[int], Input], length: int) -> None:
    """Compare an input of this length with one of a sixteenth, in up to three runs."""
    short, long = made(length // TIMES), made(length)
    growths = ((_seconds(call, short), _seconds(call, long)) for _ in range(3))
    assert any(long_took <= GROWTH_MAX * short_took + NOISE_SECONDS for short_took, long_took in growths), (
        "grows faster than its input"
    )


def _seconds(call: Callable[[Input], object], given: Input) -> float:
    began = time.process_time()
    call(given)
    return time.process_time() - began
