"""What adapters keep of their reads: it saves reading, and never shows what a view has begun to hide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import muniment
from muniment import Access, Detect, DetectedType, Options, Passage, Policy, Runtime, Scope, View
from muniment.errors import MunimentError, StoreClosed
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import ConversationKey
from muniment.events.turn import Turn
from muniment.host.histories.item_history import ItemHistory
from muniment.host.kept_reads import CONVERSATION_BYTES_MAX, kept_reads
from muniment.host.records.kept_items import KeptItems, PutValue
from muniment.host.records.record_chains import RecordChains
from muniment.operations.conversations.conversation_change import ChangeSince
from tests.turns import SUBJECT, TALK

LIKE = Turn(turn="like", subject=SUBJECT, conversation=TALK, messages=[])
WHO = "host"
Change = Callable[[Runtime, ConversationKey, str], object]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Runtime]:
    """Open a store for a second time, as another process would."""
    with muniment.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def runtime(tmp_path: Path, other: Runtime) -> Iterator[Runtime]:
    """Open the same store."""
    del other
    with muniment.open(tmp_path / "store") as opened:
        yield opened


def said(text: str) -> dict[str, Any]:
    """Return an item in which somebody says something."""
    return {"role": "user", "content": text}


def redacted(runtime: Runtime, key: ConversationKey, turn: str) -> None:
    """Redact what a turn says, for models."""
    views = [View.MODEL_CONTEXT]
    runtime.transcripts.redact(key, Passage(turn=turn, message=0), views, RedactionReason.LEGAL, WHO)


def masked(runtime: Runtime, key: ConversationKey, turn: str) -> None:
    """Mask a turn."""
    runtime.lifecycle.request(key, Transition.MASK, "why", WHO, turn)


def erased(runtime: Runtime, key: ConversationKey, turn: str) -> None:
    """Erase a turn."""
    runtime.lifecycle.erase(Scope(conversation=key.conversation, channel=key.channel, turn=turn), "why", WHO)


def erased_subject(runtime: Runtime, key: ConversationKey, _turn: str) -> None:
    """Erase all that a person said."""
    del key
    runtime.lifecycle.erase(Scope(subject=SUBJECT), "why", WHO)


CHANGES: list[Change] = [redacted, masked, erased, erased_subject]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_by_another_is_seen_by_the_next_read_of_a_history(
    runtime: Runtime, other: Runtime, change: Change
) -> None:
    """Whoever hides words, and through whichever opened store: no later read shows them."""
    history = ItemHistory(runtime, LIKE)
    history.append([said("the old secret")], turn_id="first")
    history.append([said("something else")], turn_id="second")
    assert history.newest() == history.newest() == [said("the old secret"), said("something else")]
    change(other, history.key, "first")
    assert "the old secret" not in str(history.newest())


def test_what_another_appends_is_read_next_and_what_was_before_it_is_not_read_again(
    runtime: Runtime, other: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A growing history is read once."""
    history = ItemHistory(runtime, LIKE)
    for number in range(5):
        history.append([said(f"words {number}")])
    assert len(history.newest()) == 5
    sizes: list[int] = []
    timeline = runtime.transcripts.timeline

    def counted(*given: Any, **named: Any) -> Any:
        page = timeline(*given, **named)
        sizes.append(len(page.turns))
        return page

    monkeypatch.setattr(runtime.transcripts, "timeline", counted)
    assert len(history.newest()) == 5
    assert sizes == []
    ItemHistory(other, LIKE).append([said("words 5")])
    assert [item["content"] for item in history.newest()] == [f"words {number}" for number in range(6)]
    assert sizes == [1, 1]
    assert [item["content"] for item in history.newest(2)] == ["words 4", "words 5"]
    assert sizes == [1, 1]


def test_each_reader_gets_items_of_its_own(runtime: Runtime) -> None:
    """Who changes an item changes it for nobody else."""
    history = ItemHistory(runtime, LIKE)
    history.append([said("words") | {"list": [1.5, {"deep": 2**80}]}])
    first = history.newest()
    first[0]["list"][1]["deep"] = 0
    assert history.newest() == [said("words") | {"list": [1.5, {"deep": 2**80}]}]


def test_views_of_other_rights_and_detectors_are_not_mixed(tmp_path: Path) -> None:
    """A state is of the rights it was asked with, and of one opened store, with its detectors."""
    looking = Options(detect=Detect(views={View.MODEL_CONTEXT: frozenset({DetectedType.EMAIL})}))
    with muniment.open(tmp_path / "store") as plain, muniment.open(tmp_path / "store", options=looking) as careful:
        history = ItemHistory(plain, LIKE)
        history.append([said("write to ada@example.com")])
        state = plain.conversations.changed(history.key).state
        assert plain.conversations.changed(history.key, state).change is ChangeSince.NONE
        assert careful.conversations.changed(history.key, state).change is ChangeSince.OTHER
        less = plain.restricted(replace(plain.access, views=frozenset({View.MODEL_CONTEXT})))
        assert less.conversations.changed(history.key, state).change is ChangeSince.OTHER
        assert "ada@example.com" in str(history.newest())
        assert "ada@example.com" not in str(ItemHistory(careful, LIKE).newest())


def test_where_reads_are_recorded_every_read_is_one(runtime: Runtime) -> None:
    """Nothing is shown from memory that would not be on record."""
    recording = runtime.restricted(Access(policies=frozenset({Policy.RECORD_READS})))
    history = ItemHistory(recording, LIKE)
    history.append([said("words")])

    def grown_by(read: Callable[[], object]) -> int:
        before = runtime.system.health().events
        read()
        return runtime.system.health().events - before

    assert grown_by(history.newest) == grown_by(history.newest) == 2
    assert recording.conversations.changed(history.key).state is None


def test_who_may_not_ask_reads_each_time(runtime: Runtime) -> None:
    """An access that names its operations needs no other one than before, and one refusal is on record."""
    named = runtime.restricted(Access(operations=frozenset({"transcripts.*"})))
    history = ItemHistory(named, LIKE)
    history.append([said("words")])
    before = runtime.system.health().events
    assert history.newest() == history.newest() == [said("words")]
    assert kept_reads(named).size == 0
    assert runtime.system.health().events <= before + 1


def test_who_is_kept_to_a_subject_is_given_no_state(runtime: Runtime) -> None:
    """A state would tell when others speak."""
    history = ItemHistory(runtime, LIKE)
    history.append([said("words")])
    own = runtime.restricted(Access(subject=SUBJECT)).conversations.changed(history.key)
    assert (own.change, own.state, own.digest) == (ChangeSince.OTHER, None, None)
    others = runtime.restricted(Access(subject="somebody")).conversations.changed(history.key)
    assert others.change is ChangeSince.MISSING


def test_a_space_that_was_erased_is_read_by_nobody(runtime: Runtime, other: Runtime) -> None:
    """Erasing the space takes what is kept of it, too."""
    history, chains = ItemHistory(runtime, LIKE), RecordChains(runtime, "records")
    history.append([said("words")])
    chains.append(chains.place("thread"), "key", SUBJECT, {}, b"words")
    assert len(history.newest()) == len(list(chains.newest_first(chains.place("thread")))) == 1
    other.lifecycle.erase(Scope(whole_space="default"), "why", WHO)
    with pytest.raises(MunimentError):
        history.newest()
    with pytest.raises(MunimentError):
        list(chains.newest_first(chains.place("thread")))


def test_what_is_kept_is_dropped_when_the_runtime_is_closed(tmp_path: Path) -> None:
    """No words stay behind a closed store."""
    opened = muniment.open(tmp_path / "store")
    history = ItemHistory(opened, LIKE)
    history.append([said("words")])
    history.newest()
    kept = kept_reads(opened)
    assert kept.size > 0
    opened.close()
    assert kept.size == 0
    with pytest.raises(StoreClosed):
        history.newest()


def test_what_is_kept_is_dropped_when_this_process_erases(runtime: Runtime) -> None:
    """No words of an erased turn stay in memory, as its receipt says; and what is left is read again."""
    history, items = ItemHistory(runtime, LIKE), KeptItems(runtime, "items")
    history.append([said("words")])
    put(items, "k", "l")
    items.follow()
    assert history.newest() == [said("words")]
    assert items.values(items.versions((("a",), "k"))) == [{"said": "words"}]
    assert kept_reads(runtime).size > 0
    assert items.size > 0
    items.erase((("a",), "k"), "why", WHO)
    assert kept_reads(runtime).size == items.size == 0
    items.follow()
    assert items.versions((("a",), "k")) == ()
    assert items.values(items.versions((("a",), "l"))) == [{"said": "words"}]
    assert history.newest() == [said("words")]


def test_of_a_long_conversation_the_newest_turns_are_kept(runtime: Runtime) -> None:
    """There is a bound, and what is beyond it is read each time."""
    history = ItemHistory(runtime, LIKE)
    for number in range(12):
        history.append([said(str(number) + "x" * 500_000)])
    for _ in range(2):
        items = [next(shown).item for shown in [history._backwards(1)]]  # read turn by turn
        assert items[0]["content"].startswith("11")
        found = [shown.item["content"].rstrip("x") for shown in history._backwards(1)]
        assert found == [str(number) for number in range(11, -1, -1)]
        assert 0 < kept_reads(runtime).size <= CONVERSATION_BYTES_MAX
    history.append([said("12")])
    assert [item["content"].rstrip("x") for item in history.newest(3)] == ["10", "11", "12"]
    assert kept_reads(runtime).size <= CONVERSATION_BYTES_MAX


@pytest.mark.parametrize("change", [masked, erased])
def test_a_change_by_another_is_seen_by_the_next_read_of_records(
    runtime: Runtime, other: Runtime, change: Change
) -> None:
    """Records of a thread are as a history: what is hidden is not read any more."""
    chains = RecordChains(runtime, "records")
    place = chains.place("thread")
    for number in range(4):
        chains.append(place, "key", SUBJECT, {"n": number}, b"body")
    assert len(list(chains.newest_first(place))) == len(chains.read(place, "key")) == 4
    change(other, place, "key~1")
    assert [record.number for record in chains.newest_first(place)] == [3, 2, 0]
    assert [record.number for record in chains.read(place, "key")] == [0, 2, 3]
    assert [record.number for record in chains.read(place, "key", until=3)] == [0, 2]


def put(items: KeptItems, *keys: str, text: str = '{"said":"words"}') -> None:
    """Put values under keys."""
    items.write([PutValue(namespace=("a",), key=key, text=text, subject=SUBJECT) for key in keys])


def test_values_that_made_room_are_read_again_as_they_are_shown(
    runtime: Runtime, other: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory has a bound, which changes nothing of what is read."""
    monkeypatch.setattr("muniment.host.records.kept_items.VALUES_BYTES_MAX", 10)
    items = KeptItems(runtime, "values")
    put(items, *map(str, range(9)))
    items.follow()
    shown = [versions[-1] for versions in items.newest_first(("a",))]
    assert items.values(shown) == [{"said": "words"}] * 9
    assert items.values(shown[-2:]) == [{"said": "words"}] * 2
    masked(other, shown[8].place, shown[8].turn)  # and nobody has followed yet
    assert items.values(shown[-2:]) == [{"said": "words"}, None]
    items.follow()
    assert len(items.newest_first(("a",))) == 8


@pytest.mark.parametrize("change", [masked, erased])
def test_a_change_by_another_is_seen_by_the_next_read_of_values(
    runtime: Runtime, other: Runtime, change: Change
) -> None:
    """What is followed is what the store has now."""
    items = KeptItems(runtime, "values")
    put(items, "one", "two")
    items.follow()
    [version] = items.versions((("a",), "one"))
    change(other, version.place, version.turn)
    items.follow()
    assert items.versions((("a",), "one")) == ()
    assert items.values([version]) == [None]
