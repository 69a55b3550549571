"""A call is sent again when that helps, never carried out twice, and ends with an error that says why."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muniment.aio
from muniment import ConnectOptions
from muniment.client import exchange as exchanging
from muniment.client.exchange import HttpAnswer, Loss, exchange
from muniment.errors import (
    AccessDenied,
    AnswerErased,
    AnswerInvalid,
    InvalidInput,
    KeyUnavailable,
    RateExceeded,
    RequestInProgress,
    ServerBusy,
    ServerUnavailable,
    StoreBusy,
)
from muniment.kernel.sources import seeded_sources
from muniment.operations.attachments import AddedAttachment
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from tests.client.peers import DROP, ReceivedRequest, Scripted, losing, refusal, reported, scripted
from tests.client.test_same_as_embedded import connected, facts
from tests.served.conftest import EVERYTHING, serving
from tests.turns import TALK, plain_turn
from tests.worlds import World, key_of, memory_world

OPERATIONS = {each.path: each for each in catalogue()}
USAGE, DESCRIBE = "spaces.usage", "conversations.describe"
HTML: Scripted = (502, {"Content-Type": "text/html"}, b"<html>Bad gateway</html>")
BUSY = refusal(ServerBusy(limit=1), Retry_After="0")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with contextlib.closing(memory_world().with_turns(1)) as made:
        yield made


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanging, "FIRST_WAIT_S", 0.002)


def run(path: str, answers: list[Scripted], attempts_max: int = 5) -> tuple[Any, list[ReceivedRequest]]:
    """Call an operation of a server that answers by a script; return the report or error, and what was asked."""
    with scripted(answers) as (url, asked):
        options = ConnectOptions(attempts_max=attempts_max, timeout_s=1)
        with muniment.connect(url, key="key", options=options) as runtime:
            try:
                if path == USAGE:
                    return runtime.spaces.usage(), asked
                return runtime.conversations.describe(key_of(), "a title"), asked
            except muniment.MunimentError as error:
                return error, asked


# --- what is sent again -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [USAGE, DESCRIBE])
@pytest.mark.parametrize(
    "trouble",
    [DROP, BUSY, HTML, refusal(RateExceeded(limit=1), Retry_After="0"), refusal(StoreBusy()), (429, {}, b"slow down")],
)
def test_what_passes_is_sent_again_under_one_key(world: World, path: str, trouble: Scripted) -> None:
    runtime = world.runtime
    report = runtime.spaces.usage() if path == USAGE else runtime.conversations.describe(key_of(), "a title")
    found, asked = run(path, [trouble, trouble, reported(report)])
    assert found == report
    keys = {one.headers.get("idempotency-key") for one in asked}
    assert len(asked) == 3
    assert (keys == {None}) if path == USAGE else (len(keys) == 1 and None not in keys)
    assert {one.body for one in asked} == {asked[0].body}


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (refusal(AccessDenied(at="views")), AccessDenied),
        (refusal(KeyUnavailable(problem="mode")), KeyUnavailable),  # 503, but waiting does not help
        (refusal(RequestInProgress(problem="outcome_unknown")), RequestInProgress),
        (refusal(RequestInProgress(problem="still_running")), RequestInProgress),  # not ours: the key was new
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), AnswerInvalid),
        ((404, {"Content-Type": "text/html"}, b"<html>"), AnswerInvalid),
        ((200, {"Content-Type": "application/json"}, b'{"no": "report"}'), AnswerInvalid),
        ((200, {"Content-Type": "application/json"}, b"{"), AnswerInvalid),
        ((200, {"Content-Type": "text/html"}, b"<html>"), AnswerInvalid),
    ],
)
def test_what_stays_is_said_at_once(trouble: Scripted, kind: type[Exception]) -> None:
    found, asked = run(DESCRIBE, [trouble])
    assert (type(found), len(asked)) == (kind, 1)


@pytest.mark.parametrize(
    ("trouble", "kind", "problem"),
    [
        (DROP, ServerUnavailable, "connection_lost"),
        (HTML, ServerUnavailable, "refused_before_it"),
        (BUSY, ServerBusy, None),
    ],
)
def test_attempts_have_an_end(trouble: Scripted, kind: type[Exception], problem: str | None) -> None:
    found, asked = run(USAGE, [trouble], attempts_max=3)
    assert (type(found), found.problem, len(asked)) == (kind, problem, 3)


def test_nobody_there_is_said_after_all_attempts() -> None:
    runtime = muniment.connect("http://127.0.0.1:9", key="key", options=ConnectOptions(attempts_max=2))
    with pytest.raises(ServerUnavailable, match="cannot connect; check its address"):
        runtime.spaces.usage()


def test_an_attempt_that_meets_the_former_one_waits_for_its_answer(world: World) -> None:
    report = world.runtime.conversations.describe(key_of(), "a title")
    running = refusal(RequestInProgress(problem="still_running"))
    found, asked = run(DESCRIBE, [DROP, *[running] * 7, reported(report)])
    assert (found, len(asked)) == (report, 9)
    found, asked = run(DESCRIBE, [DROP, running])
    assert (type(found), len(asked) > 5) == (RequestInProgress, True), "until the time of the call is over"


def test_silence_is_asked_again_under_a_key_alone() -> None:
    """A read that takes too long would be done several times at once."""
    for path, attempts in ((USAGE, 1), (DESCRIBE, 3)):
        error, sent, _ = ended(path, lambda _: Loss.TIMED_OUT, attempts_max=3)
        assert (error.code, error.problem, sent) == ("server.unavailable", "timed_out", attempts), path


def ended(
    path: str, outcome: Callable[[int], HttpAnswer | Loss], attempts_max: int
) -> tuple[muniment.MunimentError, int, list[float]]:
    """Have a call of these outcomes end; return its error, how often it was sent, and how long it waited each time."""
    request = OPERATIONS[path].request(**({} if path == USAGE else {"conversation": key_of()}))
    options = ConnectOptions(attempts_max=attempts_max)
    steps = exchange(OPERATIONS[path], request, (None, None), options, seeded_sources("x"))
    sent, waits, answer = 0, [], None
    try:
        while True:
            step = steps.send(answer)
            answer = None if isinstance(step, float) else outcome(sent)
            sent += answer is not None
            waits += [step] if isinstance(step, float) else []
    except muniment.MunimentError as error:
        return error, sent, waits


@settings(max_examples=100)
@given(
    st.lists(
        st.sampled_from([*Loss])
        | st.builds(
            HttpAnswer,
            st.sampled_from([400, 403, 409, 429, 500, 502, 503]),
            st.sampled_from(["application/problem+json", "text/html", ""]),
            st.none() | st.sampled_from(["0", "1", "999999", "-1", "soon", "1.5", "²"]),
            st.sampled_from([b"", b"{", BUSY[2], refusal(StoreBusy())[2], refusal(AccessDenied())[2]]),
        ),
        min_size=1,
    ),
    st.integers(1, 6),
    st.sampled_from([USAGE, DESCRIBE]),
)
def test_a_call_ends_within_its_attempts_and_waits_within_bounds(
    outcomes: list[HttpAnswer | Loss], attempts_max: int, path: str
) -> None:
    """Whatever comes back, in whatever order."""
    _, sent, waits = ended(path, lambda sent: outcomes[sent % len(outcomes)], attempts_max)
    assert sent <= attempts_max
    assert len(waits) == sent - 1
    assert all(0 <= each <= exchanging.WAIT_S_MAX for each in waits)


# --- what is not done twice -------------------------------------------------------------------------------------------


def lost_answer(world: World, act: Callable[[Runtime], Any], lost: int = 1) -> Any:
    """Run an act through a proxy that loses the first answers."""
    key = world.runtime.clients.create(f"lost {lost}", EVERYTHING).key
    with (
        serving(world.runtime) as url,
        losing(url, lost) as (address, _),
        muniment.connect(address, key=key) as runtime,
    ):
        try:
            return act(runtime)
        finally:
            world.runtime.clients.revoke(f"lost {lost}")


@pytest.mark.parametrize("lost", [1, 3])
def test_a_turn_whose_answer_was_lost_is_committed_once(world: World, lost: int) -> None:
    turn = plain_turn(10 + lost)
    receipt = lost_answer(world, lambda runtime: runtime.transcripts.commit(turn), lost)
    assert (receipt.turn, receipt.committed) == (turn.turn, True), "the answer of the first attempt"
    shown = world.runtime.transcripts.replay(key_of(), limit=100)
    assert [one.turn for one in shown.turns].count(turn.turn) == 1


def test_what_a_repeat_would_do_twice_is_done_once(world: World) -> None:
    """A hold is no idempotent operation: two requests are two holds."""
    scope = Scope(conversation=TALK)
    before = world.runtime.spaces.usage().events
    held = lost_answer(world, lambda runtime: runtime.lifecycle.hold(scope, "a lawsuit", "desk"))
    assert world.runtime.spaces.usage().events == before + 1
    world.runtime.lifecycle.release(held.position, "over", "desk")


def test_a_secret_that_was_lost_is_not_shown_again(world: World) -> None:
    with pytest.raises(AnswerErased, match="shown once"):
        lost_answer(world, lambda runtime: runtime.clients.create("secret"))
    assert world.runtime.clients.revoke("secret").fingerprints


def test_awaited_calls_lose_nothing_either(world: World) -> None:
    async def run() -> Any:
        async with await muniment.aio.connect(address, key=key) as runtime:
            return await runtime.transcripts.commit(plain_turn(20))

    key = world.runtime.clients.create("awaited", EVERYTHING).key
    with serving(world.runtime) as url, losing(url, 2) as (address, _):
        receipt = asyncio.run(run())
    assert (receipt.turn, receipt.committed) == ("turn-20", True)


# --- uploads ----------------------------------------------------------------------------------------------------------


class Trickle(io.RawIOBase):
    """A stream without a place to go back to."""

    def __init__(self, content: bytes) -> None:
        self._source = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def readinto(self, buffer: Any) -> int:
        return self._source.readinto(buffer)


CONTENT = bytes(range(256)) * 1024


@pytest.mark.parametrize("form", ["bytes", "path", "text path", "stream", "stream behind its start"])
def test_an_upload_is_sent_again_from_its_start(world: World, form: str, tmp_path: Path) -> None:
    file = tmp_path / "file.bin"
    file.write_bytes(CONTENT)
    behind = io.BytesIO(b"before" + CONTENT)
    behind.seek(6)
    uploads: dict[str, Any] = {
        "bytes": CONTENT, "path": file, "text path": str(file), "stream": io.BytesIO(CONTENT),
        "stream behind its start": behind,
    }  # fmt: skip
    report = world.runtime.attachments.add(CONTENT)
    with scripted([DROP, BUSY, reported(report)]) as (url, asked), muniment.connect(url, key="key") as runtime:
        added = runtime.attachments.add(uploads[form], name="a & b.txt")
    assert isinstance(added, AddedAttachment)
    assert added == report
    assert [one.body == CONTENT for one in asked] == [True] * 3
    assert [one.headers["content-length"] for one in asked] == [str(len(CONTENT))] * 3
    assert asked[0].path.endswith("?name=a+%26+b.txt")


def test_a_stream_that_cannot_go_back_is_sent_once(world: World) -> None:
    report = world.runtime.attachments.add(CONTENT)
    with scripted([reported(report), DROP]) as (url, asked), muniment.connect(url, key="key") as runtime:
        runtime.attachments.add(io.BufferedReader(Trickle(CONTENT)))
        with pytest.raises(ServerUnavailable, match="connection lost"):
            runtime.attachments.add(io.BufferedReader(Trickle(CONTENT)))
    assert [one.body == CONTENT for one in asked] == [True, True]
    assert "content-length" not in asked[0].headers


def test_one_file_is_sent_in_a_call(tmp_path: Path) -> None:
    """Several files, and folders, are for whoever is beside the store."""
    runtime = muniment.connect("http://127.0.0.1:9", key="key")
    for several in ([b"a", b"b"], tmp_path):
        with pytest.raises(muniment.MunimentError) as refused:
            runtime.memory.import_(several, "ada", "who")
        assert (refused.value.code, refused.value.problem) == ("request.not_served", "one_file_a_call")


def test_parameters_beside_an_upload_have_a_limit() -> None:
    runtime = muniment.connect("http://127.0.0.1:9", key="key")
    with pytest.raises(muniment.MunimentError) as refused:
        runtime.memory.import_(b"", "ada", "a" * 20_000)
    assert (refused.value.code, refused.value.at) == ("request.limit_exceeded", "query")


def test_a_file_that_changes_while_it_is_sent_is_refused(world: World) -> None:
    class Growing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(size) or b"more"

    with connected(world) as runtime, pytest.raises(InvalidInput) as refused:
        runtime.attachments.add(Growing(CONTENT))
    assert facts(refused.value)[1]["problem"] == "changed_meanwhile"
