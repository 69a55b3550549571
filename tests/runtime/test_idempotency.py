"""Idempotency keys: an operation is carried out once, however often it is asked for."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muniment.declaration.idempotency import ANSWERS, LEASE_MS, KeptAnswer, KeyedReport, perform_once
from muniment.declaration.operation import bound
from muniment.errors import (
    AccessDenied,
    AnswerErased,
    InvalidInput,
    KeyReused,
    MunimentError,
    RequestInProgress,
    TurnConflict,
    UnknownConversation,
)
from muniment.governance.access import Access, Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from replay.disk import watched
from tests.runtime.every_operation import everything
from tests.turns import TALK, plain_turn
from tests.worlds import World, sqlite_world

OPERATIONS = {each.path: each for each in catalogue()}
WRITER = ClientScope(effects=list(Effect), views=list(View))


def call(runtime: Runtime, path: str, given: dict[str, Any], key: str, upload: bytes | None = None) -> KeyedReport:
    """Call an operation under a key, as a transport does."""
    operation = OPERATIONS[path]
    body = None if upload is None else io.BytesIO(upload)
    return perform_once(getattr(runtime, operation.group), operation, bound(operation, given), key, body)


def commit(runtime: Runtime, number: int, key: str) -> KeyedReport:
    """Commit a plain turn."""
    return call(runtime, "transcripts.commit", {"turn": msgspec.to_builtins(plain_turn(number))}, key)


REVEAL = {"conversation": {"conversation": TALK}, "turn": "turn-1", "reason": "why", "requester": "who"}


def reveal(runtime: Runtime, key: str) -> KeyedReport:
    """Reveal a turn, which appends an event each time that it is carried out."""
    return call(runtime, "disclosure.reveal", REVEAL, key)


def test_a_repeat_gets_the_first_answer_and_changes_nothing(world: World) -> None:
    world.with_turns(1)
    first = reveal(world.runtime, "k-1")
    events = world.runtime.spaces.usage().events
    again = reveal(world.runtime, "k-1")
    assert (first.is_repeated, again.is_repeated) == (False, True)
    assert again.report == first.report
    assert world.runtime.spaces.usage().events == events
    assert not reveal(world.runtime, "k-2").is_repeated
    assert world.runtime.spaces.usage().events == events + 1


def test_a_key_costs_an_idempotent_operation_no_flush(tmp_path: Path) -> None:
    """One operation that must not run twice has its reservation and its answer flushed; a commit has the log alone."""
    with watched() as disk:
        world = sqlite_world(tmp_path).with_turns(1)
        reveal(world.runtime, "first")  # the file is made

        def flushes(work: Callable[[], object]) -> int:
            before = disk.wal_syncs
            work()
            return disk.wal_syncs - before

        assert flushes(lambda: world.runtime.transcripts.commit(plain_turn(7))) == 1
        assert flushes(lambda: commit(world.runtime, 8, "k-8")) == 1
        assert flushes(lambda: reveal(world.runtime, "k-9")) == 3
        assert commit(world.runtime, 8, "k-8").is_repeated
        world.close()


def test_the_same_key_with_another_request_is_refused(world: World) -> None:
    commit(world.runtime, 1, "k")
    with pytest.raises(KeyReused):
        commit(world.runtime, 2, "k")
    with pytest.raises(KeyReused):
        reveal(world.runtime, "k")
    assert world.runtime.spaces.usage().turns == 1


def test_a_key_belongs_to_its_principal_in_its_space(world: World) -> None:
    """The same key of another client, or in another space, is another key."""
    clients = world.runtime.clients
    first, second = (
        world.runtime.as_client(world.runtime.client_of(clients.create(name, WRITER).key)) for name in ("desk", "till")
    )
    other = world.runtime.space("other")
    reports = [commit(runtime, number, "k") for number, runtime in enumerate((first, second, world.runtime, other), 1)]
    assert not any(each.is_repeated for each in reports)
    assert commit(first, 1, "k").is_repeated


def test_what_was_refused_reserves_no_key(world: World) -> None:
    """AD-04 and AD-09: rights come first, and a failure leaves the key free."""
    reader = world.runtime.restricted(Access(effects=frozenset({Effect.READ})))
    with pytest.raises(AccessDenied):
        commit(reader, 1, "k")
    world.with_turns(1)
    changed = msgspec.to_builtins(plain_turn(1)) | {"subject": "somebody-else"}
    with pytest.raises(TurnConflict):
        call(world.runtime, "transcripts.commit", {"turn": changed}, "k")
    assert not commit(world.runtime, 2, "k").is_repeated


def test_what_failed_leaves_the_key_of_an_operation_free_that_is_never_run_again(world: World) -> None:
    """AD-09: nobody asks what became of a call that is known to have failed."""
    with pytest.raises(UnknownConversation):
        reveal(world.runtime, "k")
    world.with_turns(1)
    assert not reveal(world.runtime, "k").is_repeated


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256, "a\n"])
def test_a_key_is_visible_ascii(world: World, key: str) -> None:
    with pytest.raises(InvalidInput):
        commit(world.runtime, 1, key)


def test_an_erasure_takes_kept_answers_along(world: World) -> None:
    """A repeat behind it is told that the request was carried out, and runs nothing again."""
    world.with_turns(2)
    reveal(world.runtime, "k")
    world.erased(2)
    events = world.runtime.spaces.usage().events
    with pytest.raises(AnswerErased):
        reveal(world.runtime, "k")
    assert world.runtime.spaces.usage().events == events


def test_a_secret_is_shown_once_however_often_it_is_asked_for(world: World) -> None:
    """The key of a client is in no record, so a repeat cannot show it."""
    first = json.loads(call(world.runtime, "clients.create", {"client": "desk"}, "k").report)
    with pytest.raises(AnswerErased):
        call(world.runtime, "clients.create", {"client": "desk"}, "k")
    assert world.runtime.client_of(first["key"]).name == "desk"


def test_an_answer_is_kept_for_a_day(world: World) -> None:
    """The clock of this world goes on by a second with each reading, so the record is aged by hand."""
    first = commit(world.runtime, 1, "k")
    assert ANSWERS.ttl_ms == 24 * 3600 * 1000
    assert commit(world.runtime, 1, "k") == KeyedReport(report=first.report, is_repeated=True)


def interrupted(world: World, key: str, running_until_ms: int) -> None:
    """Leave a key as a process leaves it that was killed while the operation ran."""
    kept = KeptAnswer(running_until_ms=running_until_ms)
    store = world.runtime.clients._session.store
    store.records.change(ANSWERS, lambda _: kept, "", "default", key)


def test_after_a_crash_an_idempotent_operation_runs_again(world: World) -> None:
    world.with_turns(1)
    interrupted(world, "k", 2**52)
    report = json.loads(commit(world.runtime, 1, "k").report)
    assert report["turn"] == "turn-1"
    assert world.runtime.spaces.usage().turns == 1


@pytest.mark.parametrize(("until_ms", "problem"), [(2**52, "still_running"), (1, "outcome_unknown")])
def test_after_a_crash_nobody_knows_the_outcome_of_another_operation(world: World, until_ms: int, problem: str) -> None:
    world.with_turns(1)
    interrupted(world, "k", until_ms)
    with pytest.raises(RequestInProgress) as refused:
        reveal(world.runtime, "k")
    assert refused.value.problem == problem
    assert LEASE_MS >= 10_000


def test_of_many_at_once_one_is_carried_out(world: World) -> None:
    """Sixteen callers with one key append one hold."""
    world.with_turns(1)
    outcomes: list[object] = []

    def attempt() -> None:
        try:
            outcomes.append(reveal(world.runtime, "k").report)
        except MunimentError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=attempt) for _ in range(16)]
    before = world.runtime.spaces.usage().events
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.runtime.spaces.usage().events == before + 1
    assert set(outcomes) <= {reveal(world.runtime, "k").report, "request.in_progress"}


def test_every_report_is_the_same_when_it_is_read_again(world: World) -> None:
    """A command reads the answer of an earlier call back into the report that it shows."""
    world.with_turns(2)
    kinds = {each.path: each.report for each in catalogue()}
    read = 0
    for path, run in everything(world.runtime).items():
        try:
            report = run()
        except MunimentError:
            continue
        assert msgspec.json.decode(msgspec.json.encode(report), type=kinds[path]) == report, path
        read += 1
    assert read > 30


def test_an_upload_belongs_to_its_request(world: World) -> None:
    first = call(world.runtime, "attachments.add", {}, "k", b"bytes of a file")
    assert call(world.runtime, "attachments.add", {}, "k", b"bytes of a file") == KeyedReport(
        report=first.report, is_repeated=True
    )
    with pytest.raises(KeyReused):
        call(world.runtime, "attachments.add", {}, "k", b"other bytes")


def test_what_ends_the_store_or_the_space_is_answered_all_the_same(world: World) -> None:
    """Its answer can be kept nowhere, and it was carried out."""
    world.with_turns(1)
    erase = {"scope": {"whole_space": "default"}, "reason": "over", "requester": "who"}
    answer = call(world.runtime, "lifecycle.erase", erase, "k-1")
    assert json.loads(answer.report)["changed"]
    assert json.loads(call(world.runtime, "spaces.list", {}, "k-2").report)["spaces"] == []
    assert call(world.runtime, "system.close", {}, "k-3").report
