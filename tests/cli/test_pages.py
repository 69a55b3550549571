"""Pages: plain ones for pipes, rich ones for terminals, and neither lets a third party's words command a terminal."""

from __future__ import annotations

import io
import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from rich.console import Console

from muniment.events.message import (
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.transports.cli.plain_page import PlainPage, StyledText, TextStyle, on_one_line, printable
from muniment.transports.cli.report_page import tell
from muniment.transports.cli.rich_page import Leaf, RichPage
from muniment.transports.cli.scalars import period
from muniment.transports.cli.turn_page import part_words
from muniment.transports.guide_pages import TOPICS, chapter
from tests.cli.shell import Shell
from tests.cli.test_commands import CONVERSATION

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
BOXES = re.compile("[\u2500-\u257f]")


@given(st.text(), st.booleans())
def test_printed_text_cannot_command_a_terminal(text: str, rich: bool) -> None:
    """No control character and no change of direction comes out that went in."""
    out = io.StringIO()
    page = RichPage(out) if rich else PlainPage(out)
    page.line(StyledText(text))
    page.facts([("name", StyledText(text))])
    page.table(["one"], [[StyledText(text)]])
    page.prose(text)
    page.heading(text)
    for char in out.getvalue().replace("\n", ""):
        assert unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"} or char == "\t"
        assert char not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_ordinary_text_is_printed_as_it_is(text: str) -> None:
    assert printable(text) == text == on_one_line(text)


def test_what_is_spelt_out_says_what_it_was() -> None:
    assert printable("a\x1b[2Jb\r\nc\td\u202ee") == "a\\x1b[2Jb\nc\td\\u202ee"
    assert on_one_line("a\nb\tc") == "a\\nb\\tc"


class Row(Struct, frozen=True, kw_only=True):
    """A row."""

    name: str
    text: str
    at_ms: int
    tags: list[str] = []
    inner: Row | None = None
    rows: list[Row] = []


class Small(Struct, frozen=True, kw_only=True):
    """A struct with room beside its name."""

    at_ms: int
    held: bool = True


class Report(Struct, frozen=True, kw_only=True):
    """A report with every shape in it."""

    count: int
    held: bool
    absent: str | None
    counts: dict[str, int]
    nothing: dict[str, int]
    words: list[str]
    none: list[str]
    rows: list[Row]
    inner: Row
    small: Small


def _told(page_of: type[PlainPage | RichPage] = PlainPage) -> str:
    row = Row(name="a", text="one", at_ms=0, tags=["x", "y"])
    wide = Row(name="b", text="two\nlines", at_ms=1_700_000_000_000, inner=row, rows=[row, row])
    report = Report(
        count=1234567,
        held=True,
        absent=None,
        counts={"a": 1, "b": 2},
        nothing={},
        words=["v", "w"],
        none=[],
        rows=[row, wide],
        inner=row,
        small=Small(at_ms=1000),
    )
    out = io.StringIO()
    tell(report, page_of(out))
    return out.getvalue()


def test_a_report_is_told_by_its_shape() -> None:
    assert (
        _told()
        == """\
count    1,234,567
held     yes
counts   a 1, b 2
nothing  none
words    v
         w
none     none
small    at 1970-01-01 00:00:01Z, held yes
rows:
name  text       at                    tags  inner                                                rows
a     one        1970-01-01 00:00:00Z  x y
b     (2 lines)  2023-11-14 22:13:20Z        name a, text one, at 1970-01-01 00:00:00Z, tags x y  2

inner
-----
name  a
text  one
at    1970-01-01 00:00:00Z
tags  x
      y
rows  none
"""
    )


def test_a_terminal_gets_the_same_words_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    told = _told(RichPage)
    for words in ("1,234,567", "2023-11-14 22:13:20Z", "╭", "inner"):
        assert words in told


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (TextPart(content="Hello"), "Hello"),
        (ReasoningPart(content="Hm"), "(reasoning) Hm"),
        (ToolCallPart(name="look", arguments={"a": 1}), 'calls look {"a":1}'),
        (ToolCallResponsePart(response="found"), "returned found"),
        (BlobPart(content=b"12345", mime_type="image/png"), "image/png, 5 bytes"),
        (BlobPart(content=b"12345"), "data, 5 bytes"),
        (FilePart(file_id="f-1"), "file f-1"),
        (UriPart(uri="https://example.org/x"), "link https://example.org/x"),
    ],
)
def test_every_kind_of_part_has_words(part: Part, words: str) -> None:
    assert part_words(part).text == words


def test_wide_tables_are_folded_and_those_with_many_columns_become_facts() -> None:
    out = io.StringIO()
    page = PlainPage(out)
    page.table(["number", "words"], [[StyledText("1"), StyledText("word " * 60)]])
    folded = out.getvalue().splitlines()
    assert max(map(len, folded)) <= 140
    assert len(folded) > 3
    page.table(list("abcdef"), [[StyledText("word " * 10)] * 6])
    assert "\nf  word word" in out.getvalue()
    page.table(["empty"], [])
    assert out.getvalue().endswith("\nempty\n")


def test_many_columns_that_a_window_has_no_room_for_become_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = io.StringIO()
    page = RichPage(out)
    page.table(list("abcdef"), [[StyledText("0123456789abcdef")] * 6] * 2, "rows")
    assert "╭" not in out.getvalue()
    assert out.getvalue().count("0123456789abcdef") == 12
    page.table(list("abcdef"), [[StyledText("x")] * 6])
    assert "╭" in out.getvalue()


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_of_the_guide_cuts_nothing_off_in_a_small_window(topic: str) -> None:
    """A reader who sees half of the path of the root key looks in the wrong place."""
    out = io.StringIO()
    Console(file=out, width=60).print(Leaf(chapter(topic).text))
    assert out.getvalue().count("…") == chapter(topic).text.count("…")


def test_a_pipe_gets_no_colours_and_no_boxes_and_a_terminal_gets_both(filled: Shell) -> None:
    words = ["conversations", "list"]
    piped, shown = filled.must(*words).out, filled.run(*words, terminal=True).out
    assert not ESCAPE.search(piped)
    assert not BOXES.search(piped)
    assert ESCAPE.search(shown)
    assert BOXES.search(shown)
    assert "order-LF-20418" in ESCAPE.sub("", shown)


def test_json_is_one_line_in_a_pipe_and_indented_at_a_terminal(filled: Shell) -> None:
    piped = filled.must("spaces", "usage", "--json").out
    shown = filled.run("spaces", "usage", "--json", terminal=True).out
    assert piped.count("\n") == 1
    assert shown.count("\n") > 5
    assert json.loads(piped) == json.loads(shown)


def test_a_page_of_a_conversation_names_everything_withheld(filled: Shell) -> None:
    told = filled.must("transcripts", "replay", *CONVERSATION, "--view", "operator_audit", "--limit", "2").out
    assert "[content withheld: view_policy]" in told
    assert "[label of reference 0 withheld: host_ref_label]" in told
    assert "[reference 1 withheld: host_ref_visibility]" in told
    assert "observation  lookup_order call-1 found one order, delivered today" in told
    assert "next cursor" in told


def test_a_part_that_is_withheld_is_marked_in_its_place(filled: Shell) -> None:
    told = filled.must("transcripts", "replay", *CONVERSATION, "--view", "model_context", "--limit", "1").out
    assert "  [part withheld: view_policy]\n  calls lookup_order" in told


@pytest.mark.parametrize("mood", list(TextStyle))
def test_every_mood_has_a_style(mood: TextStyle) -> None:
    out = io.StringIO()
    RichPage(out).line(StyledText("words", mood))
    assert "words" in out.getvalue()


def test_progress_is_a_bar_on_a_terminal_and_silence_in_a_pipe(filled: Shell) -> None:
    words = ["evidence", "export", *CONVERSATION, "--json"]
    assert filled.must(*words).err == ""
    assert "export" in filled.run(*words, terminal=True).err


@pytest.mark.parametrize(
    ("ms", "told"),
    [(864_000_000, "10 days"), (86_400_000, "1 day"), (90 * 60_000, "90 minutes"), (1000, "1 second"), (1, "1 ms")],
)
def test_a_period_is_told_in_the_largest_unit_that_it_is_whole_in(ms: int, told: str) -> None:
    assert period(ms) == told


def test_a_rule_and_a_request_of_two_persons_are_told_in_words(filled: Shell) -> None:
    """A table says members, not the notation of a program, and how long a request waits is a duration."""
    filled.must("approvals", "require", "erase", "--within", "2 days", "--reason", "why", "--requester", "desk")
    assert filled.run("lifecycle", "erase", *CONVERSATION, "--reason", "y", "--requester", "z", "--yes").code == 3
    told = filled.must("approvals", "list").out
    assert re.search(r"(?m)^within +2 days$", told)
    assert "channel web-chat, conversation order-LF-20418" in told


def test_a_recall_tells_of_skills_and_registries_that_are_not_as_they_should_be(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AS-03, AS-04, TL-06: a skill that is recalled has no time, and what is broken is not silent."""
    for name, text in (("tents", "---\nname: tents\ndescription: Mends torn seams\n---\n"), ("broken", "nothing")):
        path = filled.directory / "skills" / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf-8")
    monkeypatch.setenv("MUNIMENT_SKILLS", str(filled.directory / "skills"))
    question = ("customer:nadia", "--query", "torn seams")
    (filled.directory / "registries.json").write_text('[{"registry": "desk", "fingerprint": "f1"}]', "utf-8")
    named = ("--registries", "registries.json")
    told = filled.must("memory", "recall", *question, *named).out
    assert "agent_skill  tents" in told
    assert "tents  score" in told
    assert re.search(r"mounted skills: \d+ problems, see skills mounted", told)
    assert "no hints of registry desk: registry_missing" in told
    prompted = filled.must("memory", "prompt", *question, *named, "--budget-tokens", "200").out
    assert "no hints of registry desk: registry_missing" in prompted
    assert "no hints" not in filled.must("memory", "recall", *question).out
