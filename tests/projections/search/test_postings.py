"""Places by term: what was asked before changes no answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muniment.projections.search.postings import Postings

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


def test_what_was_asked_of_a_tail_is_not_told_of_another_one_that_is_as_long() -> None:
    """A tail that was settled and grew again is looked through again."""
    postings = Postings()
    postings.add(["a", "b"], 0)
    assert postings.of("a").tolist() == [0]
    postings.settle()
    postings.add(["b", "a"], 2)
    assert postings.of("a").tolist() == [0, 3]
