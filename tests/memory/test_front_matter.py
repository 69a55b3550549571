"""Front matter: what is understood means what YAML says, and what is not understood is reported, never guessed."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.memory.front_matter import KEYS_MAX, LINES_MAX, FlawedLine, FrontMatter, LineFlaw, front_matter


def of_lines(*lines: str) -> FrontMatter:
    """Return the front matter that has these lines."""
    return front_matter("\n".join(["---", *lines, "---", "# Below", "below: not read"]))


def flaws(found: FrontMatter) -> list[tuple[str, int]]:
    """Return what is wrong on which line."""
    return [(each.flaw.value, each.line) for each in found.flaws]


# what is behind `key:` -> the text that it means; PyYAML agrees but for nulls, and the tab, which only YAML 1.2 allows
TEXTS = {
    "": "",
    " ~": "",
    " null": "",
    " # nothing": "",
    " plain": "plain",
    "\tplain  ": "plain",
    " plain # comment": "plain",
    " c#": "c#",
    " 1.0": "1.0",
    " yes": "yes",
    " http://x": "http://x",
    " -x ?y :z": "-x ?y :z",
    " it's \"so\"": 'it\'s "so"',
    " one\n  two\n   three": "one two three",
    " one\n\n\n  two": "one\n\ntwo",
    "\n  one\n  two": "one two",
    "\n\n  one # comment": "one",
    " # comment\n  one": "one",
    "\n  # comment": "",
    " one\n  - two": "one - two",
    " one\n# comment": "one",
    " one\n\n# comment\n\n# comment\n": "one",
    " one\n  ": "one",
    " 'it''s: # {so}'": "it's: # {so}",
    " '' # comment": "",
    r' "a\tb\\ \"c\" \x41\u00e9\U0001F642\/\_\ d"': 'a\tb\\ "c" A\xe9\U0001f642/\xa0 d',
    ' "# no comment" # comment': "# no comment",
    " |\n  one\n\n   two\n  three\n": "one\n\n two\nthree\n",
    " |-\n  one\n\n": "one",
    " |+\n  one\n\n": "one\n\n\n",
    " |": "",
    " |+\n\n": "\n\n",
    " | # comment\n    one\n    - two: three # four": "one\n- two: three # four\n",
    " |\n\n  one": "\none\n",
    " |\n  one\n    \n  two": "one\n  \ntwo\n",
    " >\n  one\n  two\n\n  three\n": "one two\nthree\n",
    " >-\n  one\n  two": "one two",
    " >\n\n  one": "\none\n",
    " >\n  one\n   two\n   three\n  four": "one\n two\n three\nfour\n",
    " >-\n  one\n\n   two\n\n  three": "one\n\n two\n\nthree",
    " >+\n  one\n\n": "one\n\n\n",
    " |\n  one\n# comment": "one\n",
}  # fmt: skip

NOT_PLAIN = [
    " [a, b]", " {a: b}", " &a b", " *a", " !!str a", " @a", " `a", " %a", " ,a", " ]", " - a", " ? a", " : a", " > a",
    " when: now", " ends:", "\n  a: b", "\n  - a", "\n- a\n- b", "\n-", " a\n- b", "\n\ta", " a\n\tb",
    " 'a' b", " 'a\n  b'", ' "a\n  b"', ' "a" b', r' "\q"', r' "\ud800"', r' "\U00110000"', r' "\x4"',
    " |2\n    a", " |x", " |\n  a\n b", " >\n   \n  a", " |\n  a\n# comment\n  b",
    " a # comment\n  b", " a\n  # comment\n  b", " a\n# comment\n  b", "\n# comment\n  a: b",
]  # fmt: skip


@pytest.mark.parametrize("behind", TEXTS)
def test_a_value_means_what_yaml_says(behind: str) -> None:
    found = of_lines(f"key:{behind}", "next: one")
    assert found.values == {"key": TEXTS[behind], "next": "one"}
    assert not found.flaws


@pytest.mark.parametrize("behind", NOT_PLAIN)
def test_what_is_no_plain_text_is_reported_and_left_out(behind: str) -> None:
    """Its line is that of the key; the keys around it are read."""
    found = of_lines("before: one", f"key:{behind}", "after: two")
    assert (LineFlaw.NOT_PLAIN_TEXT.value, 3) in flaws(found)
    assert "key" not in found.values
    assert found.lines["key"] == 3
    assert found.values["before"] == "one"


@pytest.mark.parametrize(
    "opened", ["'a", '"a', "[a", "{a", '!!str "a', "&a 'b", "[a, [b]", "\n  'a", "# comment\n  'a"]
)
def test_nothing_is_read_behind_what_may_go_on(opened: str) -> None:
    """Whether the next key is a key, or in the middle of a text, another reader may see in another way."""
    found = of_lines("before: one", f"key: {opened}", "name: two", "end: '")
    assert found.values == {"before": "one"}
    assert flaws(found) == [("not_plain_text", 3), ("not_understood", 4 + opened.count("\n"))]
    assert flaws(of_lines(f"key: {opened}")) == [("not_plain_text", 2)]


@pytest.mark.parametrize(
    "line", ["no key", "two words: one", '"key": one', ": one", "? key", "key :one", "...", "é: one"]
)
def test_a_line_without_a_key_is_reported(line: str) -> None:
    found = of_lines("before: one", line, "after: two")
    assert found.values == {"before": "one", "after": "two"}
    assert flaws(found) == [("not_understood", 3)]


def test_what_may_be_the_value_of_an_empty_key_is_not_left_to_chance() -> None:
    """Some readers take a block that is not indented."""
    found = of_lines("key:", "|", "  one")
    assert (found.values, flaws(found)) == ({}, [("not_plain_text", 2), ("not_understood", 3)])


def test_lines_before_the_first_key_belong_to_none() -> None:
    assert flaws(of_lines("", "# comment", "key: one")) == []
    assert flaws(of_lines("  indented", "key: one")) == [("not_understood", 2)]


def test_a_key_that_is_there_twice_has_no_text() -> None:
    found = of_lines("key: one", "other: two", "key: three", "key: four")
    assert found.values == {"other": "two"}
    assert flaws(found) == [("duplicate_key", 4), ("duplicate_key", 5)]


def test_ends_of_lines_and_a_byte_order_mark_do_not_matter() -> None:
    for end in ("\n", "\r\n", "\r"):
        assert front_matter(f"\ufeff---{end}key: |{end}  one{end}  two{end}---  {end}").values == {"key": "one\ntwo\n"}


@pytest.mark.parametrize(
    "text", ["", "# Title\n", " ---\nkey: one\n---", "----\nkey: one\n---", "\n---\nkey: one\n---"]
)
def test_a_text_without_front_matter_is_told_so(text: str) -> None:
    assert front_matter(text) == FrontMatter({}, {}, [FlawedLine(LineFlaw.MISSING, 1)])


@pytest.mark.parametrize(
    "text", ["---", "---\nkey: one\n", "---\nkey: one\n ---", "---\n" * 1 + "key: one\n" * 2000 + "---"]
)
def test_front_matter_without_an_end_is_told_so(text: str) -> None:
    """Also where the end is further away than is looked for."""
    assert front_matter(text) == FrontMatter({}, {}, [FlawedLine(LineFlaw.UNCLOSED, 1, LINES_MAX)])


@pytest.mark.parametrize("char", ["\0", "\x1b", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "\x0b"])
def test_characters_that_yaml_forbids_or_reads_in_two_ways_are_refused(char: str) -> None:
    assert front_matter(f"---\nkey: one\nother: a{char}b\n---\n{char}") == FrontMatter(
        {}, {}, [FlawedLine(LineFlaw.NOT_TEXT, 3)]
    )


def test_too_many_keys_are_reported() -> None:
    found = of_lines(*(f"key{number}: one" for number in range(KEYS_MAX + 2)))
    assert len(found.values) == KEYS_MAX
    assert found.flaws == [FlawedLine(LineFlaw.TOO_MANY_KEYS, KEYS_MAX + 2 + extra, KEYS_MAX) for extra in (0, 1)]


pieces = st.lists(
    st.sampled_from([
        *("key", "name", ": ", ":", " ", "\n", "\n  ", "\n ", "\n\n", "- ", "#", " #", "'", '"', "\\", "\\n"),
        *("|", ">", "|-", ">+", "[", "]", "{", "&", "!", "?", "text", "é", "\t", "\r", "\n---\n", "---\n", "\0"),
    ]),
    max_size=20,
).map("".join)  # fmt: skip


def test_long_lines_take_no_longer_than_they_are() -> None:
    """Nothing is tried again at every character: hundreds of thousands of them are read at once."""
    for char in (" ", "\t", "'", '"', "#", " #", "\\", ":", "[", "- "):
        assert of_lines(f"key: a{char * 200_000}").lines
        assert of_lines(f"key: {char * 200_000}!").lines
        assert of_lines("key:", f"  {char * 200_000}!").lines


@given(st.text() | pieces)
@example("---\nkey: \\\n---")
def test_reading_never_fails_and_leaves_nothing_out_in_silence(text: str) -> None:
    """Each key of which a line is known has a text, or the front matter has a flaw."""
    for whole in (text, f"---\n{text}\n---\n"):
        found = front_matter(whole)
        assert found.values.keys() <= found.lines.keys()
        assert found.flaws or found.values.keys() == found.lines.keys()
        assert [each.line for each in found.flaws] == sorted(each.line for each in found.flaws)


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"], exclude_characters="\ufeff\ufffe\uffff")
    )
)
def test_any_text_can_be_written_in_quotes_and_in_a_block(text: str) -> None:
    """What somebody quotes in the usual way is read back."""
    single, double = text.replace("'", "''"), text.replace("\\", "\\\\").replace('"', '\\"')
    found = of_lines(f"single: '{single}'", f'double: "{double}"', "block: |-", f"  x{text}")
    assert found.values == {"single": text, "double": text, "block": f"x{text}"}
