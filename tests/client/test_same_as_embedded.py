"""A call over a network is the call beside the store: the same reports, the same errors, the same mistakes refused."""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import muniment
from muniment import errors
from muniment.client.problems import error_of
from muniment.declaration.http_wire import is_served, query_of
from muniment.declaration.operation import Operation, bound, perform
from muniment.errors import AnswerInvalid, InvalidInput, MunimentError, NotServed
from muniment.events.binding import parse_json
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.transports.http.problem import problem_of
from muniment.transports.http.query_string import json_of
from tests.laws.canary_world import full_world
from tests.laws.test_canaries import requests
from tests.runtime.every_operation import everything
from tests.served.conftest import EVERYTHING, serving
from tests.turns import plain_turn
from tests.worlds import World, key_of, memory_world

OPERATIONS = {each.path: each for each in catalogue()}
UPLOAD = b'{"messages": [{"role": "user", "content": "hi"}]}\n'
EACH_MAX = 12  # requests of one operation, from all over its list
# These report nothing without preparations that only they need. Histories that run over HTTP have some of them.
PREPARED = {
    "approvals.confirm", "approvals.refuse", "archives.import", "archives.inspect", "evidence.verify",
    "lifecycle.certificate", "lifecycle.release", "redactions.apply", "system.reembed",
}  # fmt: skip
ERRORS = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, MunimentError)]


@contextlib.contextmanager
def connected(world: World) -> Iterator[Runtime]:
    """Serve a world; give a runtime that is connected to it with every right."""
    key = world.runtime.clients.create("test", EVERYTHING).key
    with serving(world.runtime) as url, muniment.connect(url, key=key) as runtime:
        yield runtime


def asked_of(home: Path) -> Iterator[tuple[Operation, dict[str, Any]]]:
    """Yield requests of every operation, of each a few from all over its list."""
    for path, listed in requests(home).items():
        step = -(-len(listed) // EACH_MAX)
        yield from ((OPERATIONS[path], given) for given in listed[::step])


def outcome(runtime: Runtime, operation: Operation, given: dict[str, Any]) -> Any:
    """Return what a call returns or raises."""
    upload = None if operation.upload is None else io.BytesIO(UPLOAD)
    try:
        return perform(getattr(runtime, operation.group), operation, bound(operation, given), upload)
    except MunimentError as error:
        return error


def facts(error: MunimentError) -> tuple[Any, ...]:
    """Return everything that an error tells."""
    return type(error), error.report()


# --- the way there and back -------------------------------------------------------------------------------------------


def test_every_report_and_every_error_survives_the_way(tmp_path: Path) -> None:
    """Of every operation, in a world that has everything in it: what is written as JSON is read as the same value."""
    seen: dict[str, int] = {}
    with contextlib.closing(full_world()) as world:
        for operation, given in asked_of(tmp_path):
            found = outcome(world.runtime, operation, given)
            if isinstance(found, MunimentError):
                assert facts(error_of(bytes(problem_of(found).body))) == facts(found), operation.path
            else:
                assert parse_json(msgspec.json.encode(found), operation.report) == found, operation.path
                seen[operation.path] = seen.get(operation.path, 0) + 1
    assert {path for path, each in OPERATIONS.items() if is_served(each)} - seen.keys() == PREPARED


def test_every_request_survives_the_way(tmp_path: Path) -> None:
    """As the body of a POST, and in the query beside an upload."""
    for operation, given in asked_of(tmp_path):
        try:
            request = bound(operation, given)
        except InvalidInput:
            continue
        assert bound(operation, msgspec.json.encode(request)) == request, operation.path
        assert bound(operation, json_of(operation, query_of(request))) == request, operation.path


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.code)
def test_every_error_comes_back_as_itself(kind: type[MunimentError]) -> None:
    error = kind.__new__(kind)
    MunimentError.__init__(error, at="turn.messages[3]", problem="shape", limit=5, found=7, choices=("this", "that"))
    again = error_of(bytes(problem_of(error).body))
    assert (facts(again), vars(again)) == (facts(error), vars(error))
    assert getattr(again, "explanation", "") == ""


@pytest.mark.parametrize("document", [b"", b"<html>", b"[]", b'{"code": 5}', b'{"code": "no.such", "at": "x"}'])
def test_what_is_no_error_of_ours_is_an_invalid_answer(document: bytes) -> None:
    assert type(error_of(document)) is AnswerInvalid


# --- over a network ---------------------------------------------------------------------------------------------------


def test_every_operation_does_over_a_network_what_it_does_beside_the_store(tmp_path: Path) -> None:
    """Twin worlds, one of them behind a server: call by call the same type of report, or the same error."""
    differing: dict[str, Any] = {}
    with contextlib.closing(full_world()) as here, contextlib.closing(full_world()) as there, connected(there) as far:
        near_by = here.runtime.as_client(here.runtime.client_of(here.runtime.clients.create("test", EVERYTHING).key))
        for path, listed in requests(tmp_path).items():
            operation, given = OPERATIONS[path], listed[0]
            near, remote = (outcome(runtime, operation, given) for runtime in (near_by, far))
            if operation.download is not None:
                Path(given[operation.download]).unlink(missing_ok=True)
                remote = outcome(far, operation, given)
            if operation.download is None and not is_served(operation):
                assert type(remote) is NotServed, path
                outcome(there.runtime, operation, given)
            elif isinstance(near, MunimentError) and facts(near) != facts(remote):
                differing[path] = (facts(near), remote)
            elif type(near) is not type(remote):
                differing[path] = (type(near), remote)
    assert differing == {}


def test_groups_and_verbs_are_those_of_an_open_store() -> None:
    """The same type, whose calls bind their arguments alike: by place, by name, with defaults."""
    with contextlib.closing(memory_world()) as world, connected(world) as far:
        assert type(far) is Runtime
        assert everything(far).keys() == everything(world.runtime).keys()
        receipt = far.transcripts.commit(plain_turn(1))
        assert (receipt.turn, receipt.committed) == ("turn-1", True)
        assert far.transcripts.replay(key_of(), limit=5) == world.runtime.transcripts.replay(key_of(), limit=5)
        assert far.conversations.list_() == world.runtime.conversations.list_()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda runtime: runtime.transcripts.commit(5),
        lambda runtime: runtime.transcripts.replay(key_of(), limits=1),
        lambda runtime: runtime.transcripts.replay(),
        lambda runtime: runtime.transcripts.search("a" * 10**8),
        lambda runtime: runtime.transcripts.replay(key_of(), limit=10**9),
        lambda runtime: runtime.tables.query("SELECT nothing"),
        lambda runtime: runtime.transcripts.replay(key_of(), cursor="x"),
        lambda runtime: runtime.attachments.add(5),
        lambda runtime: runtime.attachments.add(None),
        lambda runtime: runtime.attachments.add("/no/such/file"),
        lambda runtime: runtime.memory.import_([], "ada", "who"),
    ],
)
def test_mistakes_are_refused_as_beside_the_store(mistake: Any) -> None:
    with contextlib.closing(memory_world().with_turns(1)) as world, connected(world) as far:
        told = []
        for runtime in (world.runtime, far):
            with pytest.raises(MunimentError) as refused:
                mistake(runtime)
            told.append(facts(refused.value))
        assert told[0] == told[1]


def test_a_mistake_in_a_request_is_found_before_anything_is_sent() -> None:
    runtime = muniment.connect("http://127.0.0.1:9", key="key")
    with pytest.raises(InvalidInput):
        runtime.transcripts.search("word", no_such=1)  # type: ignore[call-arg]  # what it refuses
