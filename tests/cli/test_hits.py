"""How what was found is told: places, excerpts with their highlights, scores, and what is said of the query."""

from __future__ import annotations

import io
import json
import re

import pytest

from muniment.operations.transcripts.hits import Excerpt, SearchPage, SemanticCoverage
from muniment.search.query import Cap, CappedItem
from muniment.transports.cli.hit_page import excerpt_words
from muniment.transports.cli.plain_page import PlainPage, StyledText, TextStyle
from muniment.transports.cli.report_page import tell
from muniment.transports.cli.rich_page import RichPage
from tests.cli.shell import Shell

STRONG = "\x1b[1m"


def test_a_hit_is_told_in_two_lines_and_the_answer_ends_with_its_count(filled: Shell) -> None:
    told = filled.must("transcripts", "search", "hospital", "--sort", "time").out.splitlines()
    assert told[0] == "web-chat/order-LF-20418  3  turn-3#0  user nadia  2026-06-15 08:32:00Z  1.000"
    assert told[1].strip().endswith("come out of hospital.")
    assert told[2] == "found 1  semantic absent"


def test_highlights_are_bold_at_a_terminal_and_nothing_in_a_pipe(filled: Shell) -> None:
    terminal = filled.run("transcripts", "search", '"out of hospital"', "--limit", "1", terminal=True).out
    assert f"{STRONG}out of hospital\x1b" in terminal.replace("\n", " ").replace("  ", " ")
    assert "\x1b" not in filled.must("transcripts", "search", '"out of hospital"').out


def test_a_page_of_hits_leads_to_the_next(filled: Shell) -> None:
    asked = ("transcripts", "search", "from:nadia", "--sort", "time", "--limit", "2")
    told = filled.must(*asked).out
    cursor = told.split("next cursor")[1].strip()
    rest = filled.must(*asked, "--cursor", cursor).out
    pages = [re.findall(r"turn-\d#\d", page) for page in (told, rest)]
    assert [len(page) for page in pages] == [2, 2]
    assert not set(pages[0]) & set(pages[1])


def test_an_explained_search_has_a_table_of_scores_and_says_what_it_understood(filled: Shell) -> None:
    told = filled.must("transcripts", "search", 'the tent -bell role:boss "seam"', "--explain").out
    assert "scores:" in told
    header = told.split("scores:\n")[1].splitlines()[0].split()
    assert (header[:2], header[-1]) == (["hit", "keyword"], "total")
    for fact in ("terms ", "left out ", "excluded ", "phrases ", "taken as words  role:boss"):
        assert fact in told
    assert json.loads(filled.must("transcripts", "search", "tent", "--explain", "--json").out)["understood"]


def test_weights_and_presets_are_taken_and_not_both(filled: Shell) -> None:
    weights = json.dumps({"keyword": 2.0, "role": 0})
    asked = ("transcripts", "search", "tent", "--weights", "-", "--json")
    score = json.loads(filled.must(*asked, typed=weights).out)["hits"][0]["score"]
    assert score >= 2
    assert filled.must("transcripts", "search", "tent", "--preset", "seed").out
    both = filled.run(*asked, "--preset", "seed", typed=weights)
    assert (both.code, "given_twice" in both.said) == (2, True)
    assert filled.run(*asked, typed='{"keyword": 11}').code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("!?",), 2, "no word to search for"),
        (("x" * 2000,), 8, "query: too long"),
        (("tent", "--limit", "0"), 2, "limit: must be at least 1"),
        (("tent in:nowhere",), 4, "transcript.unknown_conversation"),
        (("tent", "--cursor", "x"), 2, "cursor.invalid"),
        (("tent", "--role", "boss"), 2, "unknown"),
        ((), 2, "query: missing"),
    ],
)
def test_what_is_no_search_ends_as_its_kind_says(
    arguments: tuple[str, ...], code: int, told: str, filled: Shell
) -> None:
    ran = filled.run("transcripts", "search", *arguments)
    assert (ran.code, told in ran.err) == (code, True)
    assert "xxx" not in ran.err


def test_an_excerpt_is_pieces_of_one_line() -> None:
    excerpt = Excerpt(text="a tea\nand tea", highlights=[(2, 5), (10, 13)], cut_before=True, cut_after=True)
    words = excerpt_words(excerpt)
    assert "".join(each.text for each in words) == "…a tea and tea…"
    assert [each.text for each in words if each.mood is TextStyle.STRONG] == ["tea", "tea"]
    assert [each.text for each in excerpt_words(Excerpt(text="tea\n"))] == ["tea "]


@pytest.mark.parametrize("page", [PlainPage, RichPage])
def test_pieces_are_said_side_by_side_and_cannot_command_a_terminal(page: type[PlainPage | RichPage]) -> None:
    out = io.StringIO()
    page(out).joined(StyledText("te"), StyledText("a\x1b[2J", TextStyle.STRONG), StyledText("!"), indent=2)
    assert out.getvalue().rstrip() == "  tea\\x1b[2J!"


def test_what_a_query_had_too_much_of_is_told() -> None:
    out = io.StringIO()
    cap = Cap(what=CappedItem.WORDS, limit=64, found=1000)
    tell(SearchPage(hits=[], total=0, semantic=SemanticCoverage.ABSENT, capped=[cap]), PlainPage(out))
    assert out.getvalue() == "found 0  semantic absent  words 64 of 1,000\n"


def test_a_total_that_is_not_whole_is_told_as_the_least() -> None:
    out = io.StringIO()
    tell(SearchPage(hits=[], total=20_123, total_is_least=True, semantic=SemanticCoverage.ABSENT), PlainPage(out))
    assert out.getvalue() == "found at least 20,123  semantic absent\n"
