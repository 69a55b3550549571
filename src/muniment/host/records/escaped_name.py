"""Any text of a framework as a name: ids of threads, keys and namespaces have no rules, names of muniment have some.

A text that is a name stays as it is, so that people find it again. In others `%` and what no name may have are escaped,
and a long one becomes its digest. Two texts never become the same name.
"""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote

NAME_BYTES_MAX = 400  # leaves room for what is put behind a name


def escaped_name(*texts: str) -> str:
    """Return texts as one name, joined by `/`; a slash within one of several is escaped."""
    reserved = "%/" if len(texts) > 1 else "%"
    name = "/".join(_escaped(text, reserved) for text in texts) or "%empty"
    if len(name.encode()) <= NAME_BYTES_MAX:
        return name
    return f"%sha256-{sha256(name.encode()).hexdigest()}"


def _escaped(text: str, reserved: str) -> str:
    whole = "".join(char if char.isprintable() and char not in reserved else _hex(char) for char in text)
    core = whole.strip()
    before, _, after = whole.partition(core) if core else ("", "", whole)
    return "".join(map(_hex, before)) + core + "".join(map(_hex, after))


def _hex(char: str) -> str:
    return quote(char.encode("utf-8", "surrogatepass"), safe="")
