"""All that an object holds in memory, however deep: texts, bytes and arrays, as bytes.

Follows references, not names, so that what was forgotten in some cache is found as well. Types, modules and functions
belong to the program and are not followed.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType

from msgspec import Struct

PROGRAM = (type, ModuleType, FunctionType, BuiltinFunctionType)


def held(root: object) -> Iterator[bytes]:
    """Yield what is reachable from an object."""
    seen: dict[int, object] = {}  # kept, so that no number is given twice
    left = [root]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, PROGRAM):
            continue
        seen[id(one)] = one
        if isinstance(one, str):
            yield one.encode("utf-8", "replace")
        else:
            yield from _bytes_of(one)
            left.extend(_referred(one))


def _bytes_of(one: object) -> Iterator[bytes]:
    """Yield the bytes of what is a buffer."""
    try:
        view = memoryview(one)  # type: ignore[arg-type]  # whether it is a buffer is what is asked
    except TypeError:
        return
    yield view.tobytes()


def _referred(one: object) -> Iterable[object]:
    """Return what an object refers to; what the garbage collector passes over is asked: keys, and plain structs."""
    if isinstance(one, Struct):
        return [getattr(one, name) for name in one.__struct_fields__]
    if isinstance(one, dict):
        return [*one, *gc.get_referents(one)]
    return gc.get_referents(one)
