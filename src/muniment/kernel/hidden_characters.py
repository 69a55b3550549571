"""Characters that a reader does not see, or that change what is seen: controls, marks of direction, tags, surrogates.

Text from outside may have them; where it is put into text of ours they are escaped, each place in its own way.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})  # categories of Unicode
WRITTEN = frozenset("\n\t\u200c\u200d\u00ad")  # of them, those that writing needs


def escaped_hidden(text: str, escape: Callable[[str], str]) -> str:
    """Return a text with `escape(character)` for each character that is hidden."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(escape(char) if _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    return char not in WRITTEN and unicodedata.category(char) in HIDDEN
