"""Which items a search of a key-value memory means: namespaces label by label, values by path and operator.

Labels are compared whole and as they are; only `*` in a condition stands for any one label. A filter names a field, or
a field within a field by a dotted path, and gives the value that it has, or operators:

| operator | true if the field |
|---|---|
| `$eq`, `$ne` | is, or is not, the value; a missing field is none |
| `$gt`, `$gte`, `$lt`, `$lte` | compares so with the value: two numbers, or two texts |
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ANY_LABEL = "*"
_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_COMPARING: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def check_filter(wanted: Mapping[str, Any]) -> None:
    """Refuse a filter with a key that names no field, or with an operator that does not exist."""
    for key, value in wanted.items():
        if not _KEY.fullmatch(key):
            raise ValueError("Invalid filter key: keys have letters, digits, `_`, `-`, and dots between fields")
        for sign in value if _has_operators(value) else ():
            if sign not in {"$eq", "$ne", *_COMPARING}:
                raise ValueError("Invalid filter operator: use $eq, $ne, $gt, $gte, $lt or $lte")


def has_values(item: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether an item has all values that a filter asks for."""
    return all(_matches(_field(item, key), value) for key, value in wanted.items())


def _field(item: Any, key: str) -> Any:
    """Return the field of a name or dotted path, and None where there is none."""
    if isinstance(item, Mapping) and key in item:
        return item[key]
    first, dot, rest = key.partition(".")
    return _field(item[first], rest) if dot and isinstance(item, Mapping) and first in item else None


def _matches(value: Any, wanted: Any) -> bool:
    if not _has_operators(wanted):
        return _equal(value, wanted)
    return all(_holds(sign, value, other) for sign, other in wanted.items())


def _has_operators(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(str(key).startswith("$") for key in wanted)


def _holds(sign: str, value: Any, other: Any) -> bool:
    if sign in {"$eq", "$ne"}:
        return _equal(value, other) is (sign == "$eq")
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, other))
    return (numbers or (isinstance(value, str) and isinstance(other, str))) and _COMPARING[sign](value, other)


def _equal(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) is isinstance(other, bool)


def begins_with(namespace: Sequence[str], path: Sequence[str]) -> bool:
    """Tell whether the first labels of a namespace are those of a path, in which `*` is any label."""
    return len(namespace) >= len(path) and all(map(_is_label, namespace, path))


def ends_with(namespace: Sequence[str], path: Sequence[str]) -> bool:
    """Tell whether the last labels of a namespace are those of a path, in which `*` is any label."""
    return begins_with(namespace[::-1], path[::-1])


def _is_label(label: str, wanted: str) -> bool:
    return wanted in {ANY_LABEL, label}
