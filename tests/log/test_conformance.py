"""Both stores of the product pass the kit that every store has to pass, and broken ones do not."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest
from hypothesis import Phase, settings

from muniment.errors import Conflict
from muniment.log.conformance import SETTINGS, conformance
from muniment.log.memory import MemoryReader, MemoryStore, MemoryTransaction
from muniment.log.port import Reader, Transaction
from muniment.log.sqlite import SqliteStore

T = TypeVar("T")

QUICK = settings(SETTINGS, max_examples=200, phases=[Phase.generate], database=None, print_blob=False)

TestSqliteStore = conformance(lambda place: SqliteStore(place / "log.db"))
TestMemoryStore = conformance(lambda _place: MemoryStore(), durable=False)


class Agreeable(MemoryStore):
    """Refuses nothing."""

    def transact(self, plan: Callable[[Transaction], T]) -> T:
        try:
            return super().transact(plan)
        except Conflict:
            return None  # type: ignore[return-value]  # that is what is wrong with it


class Deaf(MemoryStore):
    """Keeps the errors of plans to itself."""

    def transact(self, plan: Callable[[Transaction], T]) -> T:
        try:
            return super().transact(plan)
        except LookupError:
            return None  # type: ignore[return-value]  # that is what is wrong with it


class Stubborn(MemoryStore):
    """Undoes nothing."""

    def transact(self, plan: Callable[[Transaction], T]) -> T:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MemoryTransaction, "undo", lambda _: None)
            return super().transact(plan)


class Restless(MemoryStore):
    """Lets snapshots see what is written later."""

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        reader = MemoryReader(self._state)
        yield reader
        reader.close()


class Careless(MemoryStore):
    """Goes on reading when a snapshot is closed."""

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        with super().reader():
            yield MemoryReader(self._state)


class Forgetful(MemoryStore):
    """Calls itself durable and is not."""


@pytest.mark.parametrize("broken", [Agreeable, Deaf, Stubborn, Restless, Careless, Forgetful])
def test_the_kit_finds_out_a_store_that(broken: Callable[[], MemoryStore]) -> None:
    case = conformance(lambda _place: broken(), durable=broken is Forgetful, settings=QUICK)
    result = unittest.TestResult()
    case("runTest").run(result)
    assert result.failures or result.errors
