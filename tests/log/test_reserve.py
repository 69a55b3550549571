"""The reserve for erasures: made once, released once, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muniment.log.connection import OpenMode
from muniment.log.memory import MemoryStore
from muniment.log.reserve import NAME, RESERVE_BYTES
from muniment.log.sqlite import SqliteStore


def test_room_is_kept_until_it_is_given_away(store: SqliteStore, log: Path) -> None:
    """A private file of one size; a repeat changes nothing, and it can be made again."""
    file = log.with_name(NAME)
    for _ in range(2):
        store.keep_reserve()
        store.keep_reserve()
        assert file.stat().st_size == RESERVE_BYTES
        assert file.stat().st_mode & 0o777 == 0o600
        assert [store.release_reserve(), store.release_reserve()] == [True, False]
        assert not file.exists()


def test_a_disk_without_room_has_none_to_keep(store: SqliteStore, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told, and nothing is left of the attempt: whoever opens a store wants something else."""

    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "full")

    monkeypatch.setattr(os, "write", full)
    store.keep_reserve()
    assert not log.with_name(NAME).exists()


def test_who_only_reads_keeps_no_room_and_memory_has_none(store: SqliteStore, log: Path) -> None:
    reading = SqliteStore(log, mode=OpenMode.READ)
    reading.keep_reserve()
    reading.close()
    assert not log.with_name(NAME).exists()
    memory = MemoryStore()
    memory.keep_reserve()
    assert not memory.release_reserve()
    assert store.release_reserve() is False
