"""A shadow writes to two stores, is answered by the old one, and reports every difference."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import InvalidInput, StoreClosed
from muniment.host import shadowed_call
from muniment.host.shadow import shadowed
from muniment.host.shadowed_call import READ, WRITE, DifferenceKind, ShadowedCall, differences, shadow, unchanged

CALLS = {"add": WRITE, "pop": ShadowedCall(writes=True, seen=unchanged), "all": READ, "each": READ, "newest": READ}


class Items:
    """A list of items, and what is wrong with it."""

    def __init__(self, fault: str = "", shadow_of: Items | None = None) -> None:
        self.items: list[Any] = []
        self.fault = fault
        if shadow_of is not None:
            shadow(self, shadow_of, CALLS)

    def add(self, item: Any) -> None:
        if self.fault == "raises":
            raise StoreClosed
        if self.fault != "forgets":
            self.items.append(f"{item}!" if self.fault == "changes" else item)
        if self.fault == "repeats":
            self.items.append(item)

    def pop(self) -> Any:
        return self.items.pop() if self.items else None

    def all(self) -> list[Any]:
        return list(self.items)

    def each(self) -> Iterator[Any]:
        yield from self.items

    @property
    def newest(self) -> Any:
        return self.items[-1] if self.items else None


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("", []),
        ("forgets", [(DifferenceKind.MISSING, "[0]", "a", None), (DifferenceKind.MISSING, "[1]", "b", None)]),
        ("changes", [(DifferenceKind.DIFFERENT, "[0]", "a", "a!"), (DifferenceKind.DIFFERENT, "[1]", "b", "b!")]),
        ("repeats", [(DifferenceKind.EXTRA, "[0]", None, "a"), (DifferenceKind.EXTRA, "[3]", None, "b")]),
    ],
)
def test_every_difference_is_reported_and_the_old_store_answers(fault: str, found: list[Any]) -> None:
    kept: Any = Items(fault, shadow_of=Items())
    for item in "ab":
        kept.add(item)
    assert kept.all() == ["a", "b"]
    assert list(kept.each()) == ["a", "b"]
    assert kept.newest == "b"
    report = kept.shadow.report()
    told = [(one.kind, one.place, one.old, one.ours) for one in report.differences if one.call == "all"]
    assert told == found
    assert (report.writes, report.reads, report.same) == (2, 3, not fault)
    assert [(one.kind, one.place, one.old, one.ours) for one in kept.shadow.compare("all")] == found


def test_a_failure_of_ours_is_in_the_report_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    kept: Any = Items("raises", shadow_of=Items())
    kept.add("my secret")
    assert kept.all() == ["my secret"]
    failed, missing = kept.shadow.report().differences
    assert (failed.kind, failed.call, failed.reason) == (DifferenceKind.FAILED, "add", StoreClosed.code)
    assert missing.kind is DifferenceKind.MISSING
    assert StoreClosed.code in caplog.text
    assert "secret" not in caplog.text


def test_what_the_old_store_refuses_is_not_written_to_ours() -> None:
    kept: Any = Items(shadow_of=Items("raises"))
    with pytest.raises(StoreClosed):
        kept.add("a")
    assert kept.shadow.ours.items == []


def test_a_result_of_a_write_is_compared_too() -> None:
    kept: Any = Items("forgets", shadow_of=Items())
    kept.add("a")
    assert kept.pop() == "a"
    [found] = kept.shadow.report().differences
    assert (found.call, found.kind) == ("pop", DifferenceKind.MISSING)


def test_a_shadow_is_of_the_class_of_its_adapter_and_others_are_none() -> None:
    kept, other = Items(shadow_of=Items()), Items()
    assert isinstance(kept, Items)
    other.add("a")
    assert (other.all(), kept.all()) == (["a"], [])


def test_a_read_beside_a_write_proves_nothing() -> None:
    """Both stores are right, and one is ahead."""
    old = Items()
    kept: Any = Items(shadow_of=old)
    entered, go = threading.Event(), threading.Event()
    ours = kept.shadow.ours

    class Slow(list[Any]):
        def append(self, item: Any) -> None:
            entered.set()
            go.wait(10)
            super().append(item)

    ours.items = Slow()
    writing = threading.Thread(target=kept.add, args=["a"])
    writing.start()
    entered.wait(10)
    assert kept.all() == ["a"]
    go.set()
    writing.join()
    report = kept.shadow.report()
    assert (report.unsettled, report.found) == (1, 0)
    assert kept.all() == ["a"]
    assert kept.shadow.report().same


def test_a_report_lists_so_many_and_counts_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadowed_call, "DIFFERENCES_MAX", 3)
    kept: Any = Items("forgets", shadow_of=Items())
    for item in range(5):
        kept.add(item)
    kept.all()
    report = kept.shadow.report()
    assert (len(report.differences), report.found) == (3, 5)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(JSON, JSON)
def test_values_differ_when_a_difference_is_found(one: Any, other: Any) -> None:
    assert bool(differences("call", one, other)) is (one != other)


class Session(Items):
    """Has what a session of the OpenAI Agents SDK has, by one method."""

    def get_items(self) -> list[Any]:
        return self.items


def test_stores_of_different_kinds_are_no_shadows_of_each_other() -> None:
    """The error names the kinds of stores that are taken."""
    with pytest.raises(InvalidInput, match=r"adapter.*session of the OpenAI Agents SDK, .*service of Google ADK"):
        shadowed(Items(), shadow_of=Session())
    with pytest.raises(InvalidInput, match=r"shadow_of.*one of: session of the OpenAI Agents SDK\b") as refused:
        shadowed(Session(), shadow_of=Items())
    assert len(refused.value.choices) == 1
