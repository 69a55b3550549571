"""Places by term: what was asked before changes no answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.search import postings as postings_module
from muniment.search.postings import Postings

TERMS = ("a", "b", "c")


@given(st.lists(st.sampled_from((*TERMS, "settle", "ask", "drop", "purge")), max_size=40))
def test_a_term_stands_where_it_was_put_whatever_was_asked_before(steps: list[str]) -> None:
    """All places of a term are told, those that were added, settled or taken out since the last question too."""
    postings, there = Postings(), dict[int, str]()
    for place, step in enumerate(steps):
        match step:
            case "settle":
                postings.settle()
            case "purge":
                postings.purge()
            case "drop":
                if there:
                    first = min(there)
                    del there[first]
                    postings.drop([(first, first + 1)])
            case "ask":
                for term in TERMS:
                    assert postings.of(term).tolist() == [at for at, each in there.items() if each == term]
            case _:
                postings.add([step], place)
                there[place] = step
    for term in TERMS:
        assert postings.of(term).tolist() == [at for at, each in there.items() if each == term]


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(TERMS), min_size=1), st.integers(0, 3)), max_size=8), st.integers(1, 9)
)
def test_a_tail_is_settled_in_parts_of_any_size(added: list[tuple[list[str], int]], part: int) -> None:
    """However the tail is cut, also within what was added at once, the places of a term are those that it had."""
    postings, there = Postings(), dict[int, str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings_module, "BLOCK_PLACES", part)
        place = 0
        for terms, gap in added:
            postings.add(terms, place)
            there |= dict(enumerate(terms, start=place))
            place += len(terms) + gap
            if gap == 1:
                postings.settle()
        postings.settle()
    for term in TERMS:
        assert postings.of(term).tolist() == [at for at, each in there.items() if each == term]


def test_what_was_asked_of_a_tail_is_not_told_of_another_one_that_is_as_long() -> None:
    """A tail that was settled and grew again is looked through again."""
    postings = Postings()
    postings.add(["a", "b"], 0)
    assert postings.of("a").tolist() == [0]
    postings.settle()
    postings.add(["b", "a"], 2)
    assert postings.of("a").tolist() == [0, 3]
