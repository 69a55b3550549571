"""Files that somebody exchanged: health tells at opening, by a sample, and on demand, having read everything."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import muniment
from muniment import ConversationKey, Message, Role, Turn
from muniment.errors import MunimentError
from muniment.evidence.pin import FilePin
from muniment.ledger import sampling
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options

TURNS = 30
A, B = "left", "right"


def turn(conversation: str, number: int) -> Turn:
    words = [Message(role=Role.USER, content=f"{conversation} asks {number}")]
    return Turn(turn=f"t-{number}", subject="ada", conversation=conversation, messages=words)


def opened(home: Path, space: str = A) -> Runtime:
    return muniment.open(
        home / "store", keys=f"file:{home}/root.key", space=space, options=Options(pin=FilePin(home / "pins"))
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a directory with a store of two spaces, each with two conversations."""
    for space in (A, B):
        with opened(tmp_path, space) as runtime:
            runtime.transcripts.commit_many([turn(name, number) for number in range(TURNS) for name in (A, B)])
    return tmp_path


def exchange(log: Path, *statements: str) -> None:
    with closing(sqlite3.connect(log)) as raw:
        for statement in statements:
            raw.execute(statement)
        raw.commit()


def only_log(home: Path) -> Path:
    return min(home.glob("store/spaces/*/log.db"))


def space_of(home: Path, log: Path) -> str:
    """Return the space whose log this is."""
    for space in (A, B):
        before = log.stat().st_mtime_ns
        with opened(home, space) as runtime:
            runtime.transcripts.commit(turn("probe", 1))
        if log.stat().st_mtime_ns != before:
            return space
    raise AssertionError(log)


def exchange_contents(log: Path) -> None:
    """Let the third turns of the two conversations exchange their sealed contents."""
    exchange(
        log,
        "CREATE TEMP TABLE two AS SELECT position AS here, content AS cell FROM sealed WHERE turn_seq = 3",
        "UPDATE events SET content = (SELECT cell FROM two WHERE here <> position) WHERE turn_seq = 3",
    )


def test_contents_that_were_exchanged_are_told_in_health(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = only_log(home)
    space = space_of(home, log)
    exchange_contents(log)
    monkeypatch.setattr(sampling.sample_of, "__defaults__", (1000,))
    with opened(home, space) as runtime:
        health = runtime.system.health()
        assert (health.sound, health.fault) == (False, "store.corrupt")
        assert "position" in (health.fault_message or "")
        assert runtime.transcripts.commit(turn(A, 99)).committed
        assert runtime.transcripts.replay(ConversationKey(conversation="probe")).turns


def test_health_reads_everything_on_demand(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling.sample_of, "__defaults__", (0,))
    log = only_log(home)
    space = space_of(home, log)
    with opened(home, space) as runtime:
        whole = runtime.system.health(full=True)
        assert (whole.sound, whole.events_read) == (True, whole.events)
    exchange_contents(log)
    with opened(home, space) as runtime:
        assert (runtime.system.health().sound, runtime.system.health().events_read) == (True, 0)
        whole = runtime.system.health(full=True)
        assert (whole.sound, whole.fault, whole.events_read) == (False, "store.corrupt", whole.events)


def test_a_sample_reads_so_many_events_whole_and_erased_ones_are_sound(home: Path) -> None:
    space = space_of(home, only_log(home))
    with opened(home, space) as runtime:
        assert runtime.system.health().events_read == sampling.SAMPLE_EVENTS
        runtime.lifecycle.erase(Scope(conversation=A), "asked", "ada")
    for _ in range(5):
        with opened(home, space) as runtime:
            assert runtime.system.health().sound


@pytest.mark.parametrize("name", ["log.db", "keys.json"])
def test_files_exchanged_between_two_spaces_are_refused_at_opening(home: Path, name: str) -> None:
    one, other = sorted(path.parent / name for path in home.glob("store/spaces/*/log.db"))
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    for space in (A, B):
        assert trust(home, space) in {"not sound", "store.corrupt", "key.wrong", "key.missing"}


def trust(home: Path, space: str) -> str:
    """Return the error that opening a space raises, or whether it is sound."""
    try:
        with opened(home, space) as runtime:
            return "sound" if runtime.system.health().sound else "not sound"
    except MunimentError as refused:
        return refused.code
