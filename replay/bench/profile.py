"""What the profile shows of a path that misses its figure: the functions that take the most time of their own."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, cast

from msgspec import Struct

FUNCTIONS_MAX = 14

Table = dict[tuple[str, int, str], tuple[int, int, float, float, Any]]


class Hot(Struct, frozen=True, kw_only=True):
    """A function, how often it was called, and its share of the time."""

    function: str
    calls: int
    own_ms: float
    share: float


def hottest(path: Callable[[], object]) -> list[Hot]:
    """Run a path under the profiler; return its hottest functions, hottest first. Profiling slows calls down."""
    profiler = cProfile.Profile()
    profiler.runcall(path)
    # pstats keeps its table in an attribute that the type stubs leave out.
    table = cast(
        "dict[tuple[str, int, str], tuple[int, int, float, float, Any]]", vars(pstats.Stats(profiler))["stats"]
    )
    total = sum(own for _, _, own, _, _ in table.values()) or 1.0
    ranked = sorted(table.items(), key=lambda row: row[1][2], reverse=True)[:FUNCTIONS_MAX]
    return [
        Hot(function=_named(place), calls=calls, own_ms=own * 1000, share=own / total)
        for place, (_, calls, own, _, _) in ranked
    ]


def _named(place: tuple[str, int, str]) -> str:
    """Return a function as `package/file.py:function`; where it lies on this machine is nobody's business."""
    file, _, function = place
    if file == "~":
        return function
    parts = PurePath(file).parts
    for root in ("muniment", "site-packages", "replay"):
        if root in parts[:-1]:
            parts = parts[len(parts) - 1 - parts[::-1].index(root) :]
            break
    return "/".join(parts[-3:]) + f":{function}"
