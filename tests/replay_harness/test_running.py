"""A run says what held, what did not and what nobody looked at; crashes lose what was not acknowledged and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from muniment.errors import StoreFault
from muniment.log.memory import MemoryStore
from muniment.projections.conversation_list import ConversationList
from muniment.replay.comparing import first_difference
from muniment.replay.crashing import CrashingStore, CrashTrigger
from muniment.replay.filling import filled
from muniment.replay.fixture import CrashPoint, DerivationMode, parse_fixture
from muniment.replay.replay_report import CheckOutcome, report_of
from muniment.replay.running import run_fixture
from muniment.space.options import StoreKind
from muniment.space.space import Space
from tests.replay_harness.histories import checks, commit, erase, history, measured, replayed, run, the_failure

LOG = {"size": 4}
WHOLE = [commit(1, report={"committed": True}), commit(2), erase(1), {"do": "rebuild"}, measured()]
each_store = pytest.mark.parametrize("store", list(StoreKind))


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_what_is_expected_and_so_holds() -> None:
    ran = run(commit(1, report={"committed": True, "sequence": 1}), measured(log={"size": 3}, keys={"contents": 1}))
    assert ran.passed
    assert [check.what for check in checks(ran, CheckOutcome.HELD)] == ["report", "log.size", "keys.contents"]


def test_what_nobody_expects_is_unchecked_and_never_held() -> None:
    """BEHAVIOUR RH-02: an expected fingerprint that is left empty is not checked, and the result says so."""
    ran = run(commit(1, report={}), measured(log={"root": ""}, views={"export": ""}, projections={"links": ""}))
    assert not ran.passed, "a run that checked nothing has not passed"
    assert {check.verdict for check in ran.checks} == {CheckOutcome.UNCHECKED}
    assert {"log.root", "view export", "projection links", "report"} <= {check.what for check in ran.checks}
    assert (ran.held, ran.failed, ran.unchecked) == (0, 0, len(ran.checks))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([commit(1, report={"sequence": 2})], "report: report.sequence: 1, not 2"),
        ([commit(1, error={"code": "transcript.turn_conflict"})], "error: no error"),
        ([commit(1), commit(1, "else")], "error: transcript.turn_conflict (at turn, problem None)"),
        ([commit(1), commit(1, "else", error={"code": "x"})], "error: code: transcript.turn_conflict, not x"),
        ([{"do": "transcripts.burn"}], "error: request.invalid (at line 2, do, problem unknown_word)"),
        ([{"do": "transcripts.commit"}], "error: request.invalid (at turn, problem missing_field)"),
        ([commit(1), measured(log={"size": 4})], "log.size: 3, not 4"),
        ([commit(1), measured(sound=False)], "sound: true, not false"),
        ([commit(1), measured(projections={"no such": "0" * 64})], f"projection no such: none, not {'0' * 64}"),
        ([commit(1), measured(fault="space.erased")], "fault: none, not space.erased"),
        ([{"do": "file", "with": {"name": "../x", "text": ""}}], "error: request.invalid (at file, problem malformed)"),
        ([commit(1, report={"$from": "nothing"})], "report: report: request.invalid at $from"),
        ([{"do": "crash", "point": "planned", "nth": 7, "during": commit(1)}], "crashed: the point was not met"),
    ],
)
def test_what_does_not_hold_is_told(lines: list[Any], told: str) -> None:
    assert the_failure(run(*lines)) == told


def test_a_report_never_has_a_word_of_what_was_said() -> None:
    lines = [commit(1, "a secret", "another"), replayed(report={"turns": [{"messages": []}]}), *WHOLE[1:]]
    told = msgspec.json.encode(report_of([run(*lines)], [])).decode()
    assert not [word for word in ("secret", "another", "talk", "ada") if word in told.replace("another text", "")]


def test_nothing_run_is_nothing_passed() -> None:
    assert not report_of([], []).passed
    assert report_of([run(commit(1, report={"committed": True}))], []).passed


# --- the same everywhere ----------------------------------------------------------------------------------------------


def test_every_store_and_mode_measures_the_same() -> None:
    runs = [run(*WHOLE, store=store, mode=mode) for store in StoreKind for mode in DerivationMode]
    assert [first_difference(runs[0], each) for each in runs] == [None] * len(runs)


def test_a_difference_is_told_by_line_projection_and_key() -> None:
    ran, other = run(*WHOLE), run(commit(1, report={"committed": True}), commit(2), *WHOLE[3:])
    assert (first := first_difference(ran, other)) is not None
    assert first.told() == "line 6: size: 6, and 4"
    mine, theirs = ran.measured[0], other.measured[0]
    alike = replace(theirs, line=6, size=mine.size, root=mine.root, checkpoint=mine.checkpoint, keys=mine.keys)
    found = first_difference(ran, replace(other, measured=[alike]))
    assert found is not None
    assert found.told().startswith("line 6: projection catalogue, conversation 1: ")
    assert first_difference(ran, replace(ran, measured=[])) is not None
    no_links = replace(mine, projections={n: each for n, each in mine.projections.items() if n != "links"})
    assert first_difference(ran, replace(ran, measured=[no_links])).key == "all of it"  # type: ignore[union-attr]  # it is there


def test_a_projection_that_grows_otherwise_than_it_is_rebuilt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rebuild names the projection and the first key that differs."""
    settle = ConversationList.settle

    def forgetful(self: ConversationList, stream: int, phases: Any) -> None:
        settle(self, stream, None if self.size < 6 else phases)

    monkeypatch.setattr(ConversationList, "settle", forgetful)
    masked = {"conversation": {"conversation": "talk"}, "transition": "mask", "reason": "so", "requester": "ada"}
    lines = [commit(1), {"do": "lifecycle.request", "with": masked}, commit(2), commit(3)]
    assert the_failure(run(*lines, {"do": "rebuild"})) == "rebuilt: catalogue, conversation 1"


# --- crashes ----------------------------------------------------------------------------------------------------------


@each_store
@pytest.mark.parametrize(("point", "kept"), [("before", 1), ("planned", 1), ("committed", 2)])
def test_a_crash_leaves_what_was_durable(store: StoreKind, point: str, kept: int) -> None:
    crash = {"do": "crash", "point": point, "during": commit(2)}
    turns = [{"turn": f"turn-{number}"} for number in range(1, kept + 1)]
    again = commit(2, report={"committed": kept == 1, "sequence": 2})
    ran = run(commit(1), crash, replayed(report={"turns": turns}), again, {"do": "rebuild"}, store=store)
    assert ran.passed


@each_store
def test_a_crash_between_two_commands_loses_nothing(store: StoreKind) -> None:
    assert run(commit(1), {"do": "crash"}, replayed(report={"turns": [{}]}), store=store).passed


@each_store
def test_an_error_before_the_point_is_an_error_and_no_crash(store: StoreKind) -> None:
    crash = {"do": "crash", "point": "committed", "during": commit(1, "another")}
    assert the_failure(run(commit(1), crash, store=store)).startswith("error: transcript.turn_conflict")


@each_store
def test_spaces_of_one_store_come_back_from_a_reopening(store: StoreKind) -> None:
    beside = {**commit(1), "space": "beside"}
    lines = [commit(1), beside, {"do": "reopen"}, {**measured(log={"size": 3}), "space": "beside"}]
    assert run(*lines, store=store).passed


def test_the_clock_stands_where_it_is_set_and_moves_by_its_step() -> None:
    lines = [commit(1), {**commit(2), "at_ms": 5}, commit(3)]
    times = [{"committed_ms": at} for at in (1_000, 5, 12)]
    assert run(*lines, replayed(report={"turns": times}), clock={"start_ms": 1_000, "step_ms": 7}).passed


# --- filling in -------------------------------------------------------------------------------------------------------


def test_what_was_left_open_is_filled_in_and_what_was_said_stays() -> None:
    """A fixture that was filled in holds, and checks everything that it measures."""
    fixture = history(*WHOLE[:-1], measured(log={"size": 99}), measured())
    ran = run_fixture(fixture, StoreKind.MEMORY)
    again = parse_fixture(filled(fixture, ran, projections=True))
    assert again.commands[-2].expect is not None
    assert again.commands[-2].expect.log is not None
    assert again.commands[-2].expect.log.size == 99
    checked = run_fixture(again, StoreKind.SQLITE)
    assert the_failure(checked) == "log.size: 6, not 99"
    assert {check.what for check in checks(checked, CheckOutcome.UNCHECKED)} == {"report"}


def test_a_space_that_has_ended_is_measured_as_ended() -> None:
    ended = {"scope": {"whole_space": "default"}, "reason": "over", "requester": "ada"}
    fixture = history(commit(1), {"do": "lifecycle.erase", "with": ended}, measured())
    runs = [run_fixture(fixture, StoreKind.SQLITE, mode) for mode in DerivationMode]
    assert [ran.measured[0].fault for ran in runs] == ["space.erased"] * len(runs)
    assert parse_fixture(filled(fixture, runs[0], projections=True)).commands[-1].expect.fault == "space.erased"  # type: ignore[union-attr]  # it is there


def test_a_view_is_measured_through_all_of_its_pages() -> None:
    """The digest is of what is shown, not of the first page."""
    lines = [commit(number) for number in range(1, 6)]
    paged = run(*lines, measured(), limits={"page_turns_max": 2}).measured[0]
    assert paged.views == run(*lines, measured()).measured[0].views
    assert paged.views != run(*lines[:-1], commit(5, "else"), measured()).measured[0].views


def test_a_store_that_crashed_answers_nothing_any_more() -> None:
    """Neither readers nor writers nor who only tidies up."""
    fuse = CrashTrigger()
    store = CrashingStore(MemoryStore(), fuse, kept=False)
    assert list(store.subscribe(-1)) == []
    fuse.set(CrashPoint.SCRUBBED, 1, bool)
    asked: list[Callable[[], Any]] = [
        store.scrub,
        store.scrub,
        lambda: store.transact(bool),
        lambda: store.subscribe(-1),
    ]
    for ask in asked:
        with pytest.raises(StoreFault):
            ask()
    with pytest.raises(StoreFault), store.reader():
        pass
    store.close()


@pytest.mark.parametrize(("method", "what"), [("begin", "open"), ("close", "close")])
def test_a_store_that_cannot_be_opened_or_closed_has_failed(
    monkeypatch: pytest.MonkeyPatch, method: str, what: str
) -> None:
    def broken(_: Space) -> None:
        raise StoreFault(problem="broken")

    monkeypatch.setattr(Space, method, broken)
    ran = run_fixture(history(commit(1, report={"committed": True})), StoreKind.MEMORY)
    assert [(check.command, check.difference) for check in checks(ran, CheckOutcome.FAILED)] == [(what, "store.fault")]
