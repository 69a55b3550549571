"""What is open belongs to the process that opened it."""

from __future__ import annotations

import copy
import pickle

import pytest

from muniment.errors import StoreClosed
from muniment.kernel.one_process import OneProcess


def test_what_another_process_opened_is_refused() -> None:
    """A child has the memory of its parent, and the number of the process that opened it."""
    own, foreign = OneProcess(), OneProcess()
    foreign._opened_by += 1
    own.require_own_process()
    assert (own.is_foreign, foreign.is_foreign) == (False, True)
    with pytest.raises(StoreClosed):
        foreign.require_own_process()


def test_what_is_open_is_never_pickled_or_copied() -> None:
    """A copy would share files and keys with the original."""
    for share in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            share(OneProcess())
