"""Hidden characters: which ones are escaped, and that nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.kernel.hidden_characters import escaped_hidden


def marked(char: str) -> str:
    """Return an escape that no text below has."""
    return f"[{ord(char):x}]"


@pytest.mark.parametrize(
    "char", ["\0", "\r", "\x1b", "\x85", "\u200b", "\u2028", "\u202e", "\ud800", "\ue000", "\ufeff", "\U000e0041"]
)
def test_what_a_reader_does_not_see_is_escaped(char: str) -> None:
    """Controls, line separators, marks of direction, surrogates, private and tag characters."""
    assert escaped_hidden(f"a{char}b", marked) == f"a[{ord(char):x}]b"


@pytest.mark.parametrize(
    "text", ["", "plain\n\ttext", "नम\u200dस्ते", "ক\u200cষ", "soft\u00adhyphen", "a\u00a0b \u3000字🙂"]
)
def test_what_writing_needs_is_left_alone(text: str) -> None:
    assert escaped_hidden(text, marked) == text


@given(st.text(st.characters()))
def test_escaping_changes_nothing_that_can_be_seen(text: str) -> None:
    """An escape stands for one character, and what is escaped twice is escaped once."""
    kept = escaped_hidden(text, lambda _char: "")
    assert escaped_hidden(kept, marked) == kept
    assert len(escaped_hidden(text, lambda _char: "-")) == len(text)
