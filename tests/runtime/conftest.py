"""Worlds for the tests of the front door: one in memory, one in a directory, and both in turn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.errors import Corrupt
from replay.served import Server
from tests.worlds import FileWorld, World, memory_world, sqlite_world

STORES = ["memory", "sqlite"]
# Tests of what a client calls run over HTTP, too: those of the operations that most programs use. Every operation runs
# there in the histories (tests/replay_harness/test_histories.py).
SERVED = {
    "test_annotate", "test_chat_messages", "test_commit", "test_commit_many", "test_conversations", "test_evidence",
    "test_forgetting", "test_lifecycle", "test_memory", "test_memory_prompt", "test_proposals", "test_recall_gates",
    "test_replay", "test_search_pages", "test_skills", "test_spaces", "test_subjects",
}  # fmt: skip
BESIDE = {  # suggestions are not sent
    "test_an_unknown_conversation_is_the_same_error_for_every_reader",
    "test_suggestions_are_alike_and_few",
    "test_a_caller_is_told_of_no_conversation_that_it_may_not_list",
}


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Return a server that runs."""
    with Server().running() as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of some modules behind a server, too."""
    served = metafunc.module.__name__.rpartition(".")[2] in SERVED and metafunc.definition.name not in BESIDE
    if served and "world" in metafunc.fixturenames:
        metafunc.definition.add_marker(pytest.mark.parametrize("world", [*STORES, "served"], indirect=True))


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Return an empty world over each store, and where `pytest_generate_tests` says so, behind a server."""
    made = sqlite_world(tmp_path) if request.param == "sqlite" else memory_world()
    if request.param == "served":
        made.runtime = request.getfixturevalue("server").reached(made.runtime)
    yield made
    made.close()


@pytest.fixture
def lasting(tmp_path: Path) -> Iterator[FileWorld]:
    """Return an empty world that can be come back to."""
    made = sqlite_world(tmp_path)
    yield made
    with contextlib.suppress(Corrupt):  # closing tells what was edited under the open store, too
        made.close()
