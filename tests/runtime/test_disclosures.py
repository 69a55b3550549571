"""Reads on record: words that were revealed, attempts that were refused, and the list of who received what."""

from __future__ import annotations

from functools import partial
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.errors import (
    AccessDenied,
    CapabilityHidden,
    Corrupt,
    CursorInvalid,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    UnknownConversation,
    UnknownPlace,
    WordsErased,
)
from muniment.events.changes import LifecycleRequest, RedactionReason, Transition, TurnLifecycle
from muniment.events.identity import TurnId
from muniment.events.records import EventKind
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access, Effect
from muniment.governance.phases import Phase
from muniment.governance.policy import Policy
from muniment.governance.views import Reason, View
from muniment.kernel.sources import seeded_sources
from muniment.ledger.drafts import draft
from muniment.operations.disclosure import REASON_BYTES_MAX, Revealed
from muniment.operations.evidence.disclosure_entries import DisclosureEntry
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from muniment.space.denials import QUIET_MS
from muniment.space.options import Options
from tests.turns import RICH, answer, message_of, question, rich_turn, short
from tests.worlds import OPERATOR, PINS, STORE, FileWorld, World, key_of, memory_world, root_key

FIRST = TurnId("turn-1")
NOTHING = Access(effects=frozenset())
READER = Access(effects=frozenset({Effect.READ}), views=frozenset({View.HOST_UI}))


def disclosures(world: World) -> list[DisclosureEntry]:
    """Return everything that was disclosed or refused, read page by page."""
    found: list[DisclosureEntry] = []
    cursor = None
    for _ in islice(iter(int, 1), 100):
        page = world.runtime.evidence.disclosures(limit=2, cursor=cursor)
        assert page.has_more == (page.next_cursor is not None)
        found += page.disclosures
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise AssertionError("the pages have no end")


def reveal(world: World | Runtime, turn: TurnId = FIRST, message: int | None = None) -> Revealed:
    runtime = world if isinstance(world, Runtime) else world.runtime
    return runtime.disclosure.reveal(key_of(), turn, "complaint 17", "dpo", message)


def denied(call: Any) -> None:
    """Call something that is refused."""
    with pytest.raises((AccessDenied, CapabilityHidden)):
        call()


# --- revealing --------------------------------------------------------------------------------------------------------


def test_words_outside_every_view_are_shown_after_they_are_on_record(world: World) -> None:
    """DESIGN §6: its own right, and an audited event; no view is needed."""
    world.with_turns(2).masked(1)
    officer = world.runtime.restricted(Access(effects=frozenset({Effect.REVEAL}), views=frozenset(), subject="ada"))
    shown = reveal(officer)
    assert [message.parts for message in shown.turn.messages] == [
        [muniment.TextPart(content=question(1))],
        [muniment.TextPart(content=answer(1))],
    ]
    assert (shown.turn.phase, shown.items) == (Phase.MASKED, [])
    (entry,) = disclosures(world)
    assert (entry.kind, entry.position) == (EventKind.CONTENT_REVEALED, shown.position)
    assert (entry.conversation, entry.turn, entry.sequence, entry.message) == (key_of(), FIRST, 1, None)
    assert (entry.views, entry.subject) == ([], "ada")
    assert (entry.requester, entry.reason) == ("dpo", "complaint 17")
    assert world.replay().turns[0].messages[0].redacted


def test_a_reveal_shows_all_that_is_not_erased(world: World) -> None:
    """Redacted words and those of private planes, summaries and labels."""
    world.commit(rich_turn())
    before = world.replay()
    world.redact(Passage(turn=RICH))
    assert reveal(world, RICH).turn == before.turns[0]
    assert world.replay().turns[0] != before.turns[0]


def test_a_message_may_be_revealed_alone(world: World) -> None:
    world.commit(rich_turn())
    shown = reveal(world, RICH, 5)
    assert [short(message.id) for message in shown.turn.messages] == ["rich#5"]
    assert (shown.turn.tools, shown.turn.host_refs) == ([], [])
    assert disclosures(world)[0].message == 5
    assert disclosures(world)[0].views == sorted(View)


def test_each_reveal_is_an_event_of_its_own(world: World) -> None:
    world.with_turns(1)
    positions = [reveal(world).position for _ in range(3)]
    assert [entry.position for entry in disclosures(world)] == positions
    assert len(set(positions)) == 3


@pytest.mark.parametrize(
    ("turn", "message", "error", "at"),
    [
        (TurnId("nobody"), None, UnknownPlace, "turn"),
        (FIRST, 2, UnknownPlace, "message"),
        (TurnId("turn-2"), None, WordsErased, "turn"),
        (TurnId("turn-2"), 0, WordsErased, "turn"),
        (TurnId(" "), None, InvalidInput, "turn"),
    ],
)
def test_what_cannot_be_revealed_is_no_disclosure(
    world: World, turn: TurnId, message: int | None, error: type[MunimentError], at: str
) -> None:
    world.with_turns(2).erased(2)
    with pytest.raises(error) as raised:
        reveal(world, turn, message)
    assert raised.value.at == at
    assert disclosures(world) == []


def test_a_reveal_says_who_and_why(world: World) -> None:
    world.with_turns(1)
    ask = world.runtime.disclosure.reveal
    with pytest.raises(UnknownConversation):
        ask(key_of("nowhere"), FIRST, "why", "who")
    with pytest.raises(InvalidInput, match="reason: must not be empty"):
        ask(key_of(), FIRST, " ", "who")
    with pytest.raises(InvalidInput, match="requester: must not be empty"):
        ask(key_of(), FIRST, "why", "")
    with pytest.raises(LimitExceeded):
        ask(key_of(), FIRST, "ä" * (REASON_BYTES_MAX // 2) + "a", "who")
    assert ask(key_of(), FIRST, "ä" * (REASON_BYTES_MAX // 2), "who").position


def test_an_erased_message_stays_erased_when_its_turn_is_revealed(world: World) -> None:
    """The item says so; alone it cannot be revealed. The erasure is planted, as that of one message is on record."""
    space = world.with_turns(1).runtime._session.space
    request = LifecycleRequest(reason="asked for", requester=OPERATOR, requested_ms=1)
    body = TurnLifecycle(request=request)
    event = draft(space.sources.entropy, EventKind.TURN_LIFECYCLE, 1, body, reason=Transition.ERASE)
    refs = {"turn": 1, "message": 0}
    space.ledger.transact(lambda writer: writer.append(event, stream=1, target=1, refs=refs))
    shown = reveal(world)
    assert [message.redacted for message in shown.turn.messages] == [True, False]
    assert [(item.message, item.reason) for item in shown.items] == [(message_of("turn-1", 0), Reason.ERASED)]
    with pytest.raises(WordsErased) as raised:
        reveal(world, FIRST, 0)
    assert raised.value.at == "message"


# --- what was refused -------------------------------------------------------------------------------------------------


def test_refused_attempts_are_on_record(world: World) -> None:
    """Rights, views and policies that were missing, for every operation; the subject that the access speaks for."""
    world.with_turns(1)
    runtime = world.runtime
    few = runtime.restricted(Access(effects=READER.effects, views=READER.views, subject="ada"))
    hidden = runtime.restricted(Access(policies=frozenset({Policy.NO_DEBUG_REPLAY})))
    denied(lambda: reveal(few))
    denied(lambda: few.evidence.export(key_of(), View.RAW_OWNER))
    denied(lambda: few.evidence.prove(key_of(), FIRST, View.RAW_OWNER))
    denied(lambda: few.lifecycle.request(key_of(), Transition.ERASE, "why", OPERATOR))
    denied(lambda: few.transcripts.replay(key_of(), View.MODEL_CONTEXT))
    denied(lambda: few.spaces.import_("nowhere"))
    denied(lambda: reveal(hidden))
    denied(lambda: hidden.transcripts.replay(key_of(), View.RAW_OWNER))
    told = [(entry.operation, entry.right, entry.policy, entry.subject) for entry in disclosures(world)]
    assert told == [
        ("disclosure.reveal", "reveal", None, "ada"),
        ("evidence.export", "append", None, "ada"),
        ("evidence.prove", "raw_owner", None, "ada"),
        ("lifecycle.request", "erase", None, "ada"),
        ("transcripts.replay", "model_context", None, "ada"),
        ("spaces.import", "append", None, "ada"),
        ("disclosure.reveal", "disclosure.reveal", "no_debug_replay", None),
        ("transcripts.replay", "raw_owner", "no_debug_replay", None),
    ]
    assert all((entry.kind, entry.attempts) == (EventKind.ACCESS_DENIED, 1) for entry in disclosures(world))


def test_what_is_refused_for_another_reason_is_no_denial(world: World) -> None:
    world.with_turns(1)
    with pytest.raises(UnknownPlace):
        reveal(world, TurnId("nobody"))
    with pytest.raises(InvalidInput):
        world.runtime.transcripts.replay("talk")  # type: ignore[arg-type]  # as a host may get it wrong
    assert disclosures(world) == []


# --- floods -----------------------------------------------------------------------------------------------------------


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at_ms = 1

    def now_ms(self) -> int:
        return self.at_ms


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1, 1000, QUIET_MS - 1, QUIET_MS, -5])), max_size=25))
@settings(deadline=None)
def test_a_flood_costs_one_event_a_minute_and_no_attempt_is_lost(attempts: list[tuple[bool, int]]) -> None:
    """For each operation and right: events are a quiet minute apart, and together they count every attempt.

    But for those behind the last event, which wait for the next one.
    """
    clock = Hands()
    sources = replace(seeded_sources("flood"), clock=clock)
    runtime = muniment.open("memory:", keys=root_key(), options=Options(sources=sources))
    nobody = runtime.restricted(NOTHING)
    made: dict[str, list[int]] = {"system.health": [], "spaces.usage": []}
    for which, passed_ms in attempts:
        clock.at_ms = max(1, clock.at_ms + passed_ms)
        name, call = ("system.health", nobody.system.health) if which else ("spaces.usage", nobody.spaces.usage)
        denied(call)
        made[name].append(clock.at_ms)
    found = runtime.evidence.disclosures(limit=100).disclosures
    for name, times in made.items():
        events = [entry for entry in found if entry.operation == name]
        assert bool(events) == bool(times)
        at = 0
        for entry in events:
            assert entry.attempts is not None
            assert entry.since_ms == times[at]
            at += entry.attempts
            assert entry.at_ms == times[at - 1]
        assert all(0 <= time - events[-1].at_ms < QUIET_MS for time in times[at:])
        assert all(not 0 <= later.at_ms - earlier.at_ms < QUIET_MS for earlier, later in pairwise(events))
    runtime.close()


def at_time(world: FileWorld, at_ms: int) -> Runtime:
    """Open the store as another process would at that time."""
    sources = seeded_sources(f"at {at_ms}", start_ms=at_ms)
    return muniment.open(
        world.home / STORE, keys=root_key(), options=Options(sources=sources, pin=FilePin(world.home / PINS))
    )


def test_processes_share_the_count(lasting: FileWorld) -> None:
    """A process that lives for one attempt adds no event of its own within the minute."""
    lasting.with_turns(1).close()
    now_ms = 1_800_000_000_000
    for process in range(4):
        with at_time(lasting, now_ms + process) as runtime:
            for _ in range(process + 1):
                denied(runtime.restricted(NOTHING).system.health)
    with at_time(lasting, now_ms + 2 * QUIET_MS) as runtime:
        denied(runtime.restricted(NOTHING).system.health)
        found = runtime.evidence.disclosures().disclosures
    assert [entry.attempts for entry in found] == [1, 10]
    lasting.reopened()


def test_a_count_that_somebody_edited_counts_nothing(lasting: FileWorld) -> None:
    lasting.with_turns(1)
    for _ in range(2):
        denied(lasting.runtime.restricted(NOTHING).system.health)
    with lasting.edited() as raw:
        assert raw.execute("UPDATE meta SET value = X'78' WHERE name LIKE 'denials/%'").rowcount == 1
    denied(lasting.runtime.restricted(NOTHING).system.health)
    assert [entry.attempts for entry in disclosures(lasting)] == [1, 1]


def test_an_attempt_is_refused_where_it_cannot_be_written_down(world: World) -> None:
    """A store that is closed, or that is open for inspection only: denied all the same, and nothing breaks."""
    denials = world.runtime._session.inspected.denials
    nobody = world.runtime.restricted(NOTHING)
    world.runtime._session.inspected.store.close()
    denied(nobody.system.health)
    assert len(denials._waiting) == 1
    denials.settle()
    denied(nobody.system.health)
    world.runtime._session.store._spaces.clear()


def test_a_space_with_a_fault_takes_no_denial(lasting: FileWorld) -> None:
    with lasting.with_turns(1).edited() as raw:
        raw.execute("DELETE FROM events WHERE position = 2")
    denied(lasting.runtime.restricted(NOTHING).system.health)
    assert lasting.runtime._session.inspected.denials._waiting == {}


# --- the list ---------------------------------------------------------------------------------------------------------


def test_the_list_tells_who_received_what(world: World) -> None:
    """Certified exports, revealed words and refused attempts in the order of the log; of one conversation its own."""
    world.with_turns(1).with_turns(1, "other")
    runtime = world.runtime
    runtime.evidence.export(key_of(), View.EXPORT, recipient="court", purpose="case 17")
    runtime.evidence.export(key_of("other"), View.RAW_OWNER)
    runtime.evidence.export(key_of(), View.EXPORT, certified=False)
    runtime.spaces.rotate()
    denied(runtime.restricted(NOTHING).system.health)
    runtime.disclosure.reveal(key_of("other"), FIRST, "why", "who")
    found = disclosures(world)
    assert [entry.kind for entry in found] == [
        EventKind.EXPORT_ISSUED, EventKind.EXPORT_ISSUED, EventKind.CONTENT_EXPORTED, EventKind.ACCESS_DENIED,
        EventKind.CONTENT_REVEALED,
    ]  # fmt: skip
    first = found[0]
    assert (first.conversation, first.through, first.views) == (key_of(), 2, ["export"])
    assert (first.recipient, first.purpose) == ("court", "case 17")
    assert found[1].recipient is None
    of_other = runtime.evidence.disclosures(key_of("other")).disclosures
    assert of_other == [found[1], found[4]]
    assert all(entry.at_ms > 1 for entry in found)
    with pytest.raises(UnknownConversation):
        runtime.evidence.disclosures(key_of("nowhere"))


def test_the_cursor_of_a_list_survives_what_is_disclosed_later(world: World) -> None:
    """And leads on in the same list alone."""
    world.with_turns(1)
    for _ in range(3):
        reveal(world)
    ask = world.runtime.evidence.disclosures
    page = ask(limit=2)
    reveal(world)
    assert [entry.position for entry in ask(limit=2, cursor=page.next_cursor).disclosures] == [
        entry.position for entry in disclosures(world)[2:]
    ]
    for other in (partial(ask, limit=3), partial(ask, key_of(), 2), partial(ask, limit=2, cursor="mc1.x")):
        with pytest.raises(CursorInvalid):
            other(**({} if other.keywords.get("cursor") else {"cursor": page.next_cursor}))
    with pytest.raises(InvalidInput):
        ask(limit=0)


def test_a_cursor_beyond_the_end_of_the_list_is_refused(lasting: FileWorld) -> None:
    """After a restore that no pin saw."""
    older = lasting.with_turns(1).copy("older")
    for _ in range(3):
        reveal(lasting)
    cursor = lasting.runtime.evidence.disclosures(limit=2).next_cursor
    lasting.close()
    for pin in (lasting.home / PINS).rglob("*.checkpoint"):
        pin.unlink()
    lasting.put_back(older)
    with pytest.raises(CursorInvalid):
        lasting.runtime.evidence.disclosures(limit=2, cursor=cursor)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET kind = 'key.rotated' WHERE kind = 'content.revealed'",
        "DELETE FROM events WHERE kind = 'content.revealed'",
        "UPDATE events SET time = time + 1 WHERE kind = 'content.revealed'",
        "DELETE FROM events WHERE kind = 'conversation.opened'",
    ],
)
def test_a_disclosure_cannot_be_hidden_at_rest(lasting: FileWorld, statement: str) -> None:
    """An edit while the store is open: the list is refused, never shorter."""
    lasting.with_turns(1)
    reveal(lasting)
    lasting.runtime.spaces.rotate()
    lasting.edited_while_open(statement)
    with pytest.raises(Corrupt):
        lasting.runtime.evidence.disclosures()


def test_disclosures_outlive_what_was_disclosed(world: World) -> None:
    """After the words are erased it still stands who received them."""
    world.with_turns(1)
    reveal(world)
    world.redact(Passage(turn=FIRST), reason=RedactionReason.LEGAL)
    world.erased(1)
    (entry,) = disclosures(world)
    assert (entry.turn, entry.requester) == (FIRST, "dpo")


def test_an_answer_of_another_space_is_not_in_the_list() -> None:
    """Each space has its own record."""
    one, other = memory_world("one").with_turns(1), memory_world("other").with_turns(1)
    reveal(one)
    assert (len(disclosures(one)), disclosures(other)) == (1, [])
    one.close()
    other.close()
