"""JSON as text for people, in few short lines."""

from __future__ import annotations

import json
from typing import Any

LINE_CHARS_MAX = 76


def laid_out(value: Any, *, indent: int = 0) -> str:
    """Return a value as JSON: what fits a line is on one, everything else has its members on lines of their own."""
    return " " * indent + _laid_out(value, indent, 0)


def _laid_out(value: Any, indent: int, before: int) -> str:
    whole = json.dumps(value, ensure_ascii=False)
    if indent + before + len(whole) <= LINE_CHARS_MAX or not isinstance(value, dict | list):
        return whole
    inside = indent + 2
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    values = value.values() if isinstance(value, dict) else value
    members = [" " * inside + name + _laid_out(one, inside, len(name)) for name, one in zip(names, values, strict=True)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n" + ",\n".join(members) + f"\n{' ' * indent}{end}"
