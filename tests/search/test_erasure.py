"""Erased words leave indexes in memory and at rest in the operation that erases them, and the receipt says so."""

from __future__ import annotations

import secrets

import pytest

from muniment.errors import SpaceErased
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import SpaceName, TurnId
from muniment.governance.views import View
from muniment.ledger import snapshots as sealing
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.redact import Passage
from muniment.search import view_index
from tests.search.asking import digest, found, opened, readable, rebuilt, said, snapshot, standing
from tests.worlds import OPERATOR, FileWorld, key_of, open_store

PREFIX = "zebrafinch"


def canary() -> str:
    """Return a word whose beginning others have too, and whose tail is its own; it has no English ending to lose."""
    return PREFIX + secrets.token_hex(8) + "7"


def filled(world: FileWorld) -> tuple[str, str]:
    """Commit turns with two canaries, and let every view be searched; return the canaries."""
    one, other = canary(), canary()
    world.commit(said(1, f"keep {other} here"))
    world.commit(said(2, f"the word is {one}", answer=f"{one} it is, and {PREFIX}"))
    world.commit(said(3, "more words"))
    for view in View:
        found(world.runtime, one, view)
    assert found(world.runtime, one)
    return one, other


def places(report: LifecycleReport) -> dict[str, str]:
    assert report.receipt is not None
    return {each.place: each.done for each in report.receipt.places}


def at_rest(world: FileWorld, word: str) -> list[View]:
    """Return the views whose snapshot, decrypted, has a word."""
    kept = {view: opened(world.runtime, snapshot(world).parent, view) for view in View}
    return [view for view, sections in kept.items() if sections and word.encode() in b"\n".join(sections.values())]


def nowhere(world: FileWorld, word: str) -> None:
    """Hold every view, every file and every decrypted snapshot to having nothing of a word."""
    tail = word.removeprefix(PREFIX)
    assert readable(world, tail) == []
    assert at_rest(world, tail) == []
    for view in View:
        assert found(world.runtime, word, view) == []
        if view is not View.OPERATOR_AUDIT:
            assert digest(world.runtime, view) == rebuilt(world.runtime, view)
    for of_view in world.runtime._session.space.indexes._by_name.values():
        if of_view._index is not None:
            assert not any(tail in term for term in of_view._index.postings._numbers)


def test_the_words_are_in_a_snapshot_before_they_are_erased(kept: FileWorld) -> None:
    """Without this the scans below would find nothing, whatever was there."""
    one, _ = filled(kept)
    kept.reopened()
    assert at_rest(kept, one) == [view for view in View if view is not View.OPERATOR_AUDIT]
    assert readable(kept, one) == []


@pytest.mark.parametrize("where", ["in memory", "at rest", "both", "both, but another view at rest alone"])
def test_erased_words_are_in_no_index_when_the_receipt_comes(kept: FileWorld, where: str) -> None:
    """Neither in memory nor at rest, in any view; other words stay found; the receipt counts what was reached."""
    one, other = filled(kept)
    if where != "in memory":
        kept.reopened()
    if where.startswith("both"):
        found(kept.runtime, one)
    report = kept.request(Transition.ERASE, 2)
    in_memory = {"in memory": 5, "at rest": 0}.get(where, 1)
    rewritten = 0 if where == "in memory" else 4
    told = places(report)
    assert told["search indexes in memory"].startswith(f"taken out of {in_memory}" if in_memory else "there were none")
    assert told["search indexes at rest"].startswith(f"{rewritten} encrypted again" if rewritten else "there were none")
    assert at_rest(kept, one) == []
    assert len(at_rest(kept, other)) == rewritten
    for of_view in kept.runtime._session.space.indexes._by_name.values():
        assert of_view._index is None or one not in of_view._index.postings._numbers
    nowhere(kept, one)
    assert found(kept.runtime, other) == [f"keep {other} here"]
    kept.reopened()
    nowhere(kept, one)
    assert found(kept.runtime, other) == [f"keep {other} here"]
    assert standing(kept.runtime).from_snapshot


def test_of_a_turn_of_which_one_message_was_erased_the_rest_is_found(kept: FileWorld) -> None:
    one, _ = filled(kept)
    kept.reopened()
    found(kept.runtime, "here")
    scope = Scope(conversation=key_of().conversation, message="turn-2#0")
    assert kept.runtime.lifecycle.erase(scope, "asked for", OPERATOR).changed
    assert found(kept.runtime, one) == [f"{one} it is, and {PREFIX}"]
    assert digest(kept.runtime) == rebuilt(kept.runtime)
    kept.request(Transition.ERASE, 2)
    nowhere(kept, one)


def test_a_snapshot_that_cannot_be_written_again_is_removed(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = filled(kept)
    kept.reopened()
    monkeypatch.setattr(sealing.Snapshots, "write", lambda *_: False)
    told = places(kept.request(Transition.ERASE, 2))
    assert told["search indexes at rest"].startswith("0 encrypted again without the content, 4 removed")
    assert not list(snapshot(kept).parent.glob("index-*"))
    nowhere(kept, one)
    assert found(kept.runtime, other) == [f"keep {other} here"]


def test_a_snapshot_that_does_not_open_is_removed(kept: FileWorld) -> None:
    one, _ = filled(kept)
    kept.reopened()
    snapshot(kept).write_bytes(b"noise")
    snapshot(kept, View.EXPORT).write_bytes(snapshot(kept, View.EXPORT).read_bytes()[:-1])
    told = places(kept.request(Transition.ERASE, 2))
    assert told["search indexes at rest"].startswith("2 encrypted again without the content, 2 removed")
    nowhere(kept, one)


def test_what_an_interrupted_writer_left_goes_with_the_next_erasure(kept: FileWorld) -> None:
    filled(kept)
    kept.reopened()
    left = snapshot(kept).with_name("index-export.0badcafe.new")
    left.write_bytes(snapshot(kept).read_bytes())
    kept.request(Transition.ERASE, 2)
    assert not left.exists()


def test_a_copy_of_a_snapshot_from_before_brings_nothing_back(kept: FileWorld) -> None:
    """Its key is gone with the space key that it was wrapped by."""
    one, _ = filled(kept)
    kept.reopened()
    former = snapshot(kept).read_bytes()
    kept.request(Transition.ERASE, 2)
    kept.reopened()
    snapshot(kept).write_bytes(former)
    assert at_rest(kept, one) == []
    nowhere(kept, one)
    assert not snapshot(kept).exists() or snapshot(kept).read_bytes() != former


def test_an_erased_space_has_no_index_left(kept: FileWorld) -> None:
    filled(kept)
    directory = snapshot(kept).parent
    kept.reopened()
    found(kept.runtime, "more")
    report = kept.runtime.lifecycle.erase(Scope(whole_space=SpaceName("default")), "asked for", OPERATOR)
    assert places(report)["search indexes"] == "forgotten in memory, removed at rest"
    assert not list(directory.glob("index-*"))
    with pytest.raises(SpaceErased):
        kept.runtime.transcripts.search("more")


@pytest.mark.parametrize("how", ["mask", "redact"])
def test_what_is_hidden_is_in_no_index_of_the_views_that_do_not_show_it(kept: FileWorld, how: str) -> None:
    """A mask hides it from all, a redaction from those that it names; at rest too, once it is sealed again."""
    one, other = filled(kept)
    if how == "mask":
        kept.request(Transition.MASK, 2)
        hidden = list(View)
    else:
        kept.redact(Passage(turn=TurnId("turn-2")), View.HOST_UI, View.EXPORT, reason=RedactionReason.LEGAL)
        hidden = [View.HOST_UI, View.EXPORT, View.OPERATOR_AUDIT]
    kept.reopened()
    for view in View:
        assert bool(found(kept.runtime, one, view)) is (view not in hidden)
        assert bool(found(kept.runtime, other, view)) is (view is not View.OPERATOR_AUDIT)
        assert digest(kept.runtime, view) == rebuilt(kept.runtime, view)
    kept.reopened()
    assert at_rest(kept, one) == [view for view in View if view not in hidden]
    if how == "mask":
        kept.request(Transition.UNMASK, 2)
        assert found(kept.runtime, one)


def test_an_erasure_between_two_parts_of_a_rebuild_is_kept(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the part with the words was read before or after it."""
    one, other = filled(kept)
    kept.with_turns(20, "other").reopened()
    monkeypatch.setattr(view_index, "PART_EVENTS", 4)
    for path in snapshot(kept).parent.glob("index-*"):
        path.unlink()
    parts: list[int] = []

    def erasing(_stage: str, done: int, _total: int) -> None:
        parts.append(done)
        if len(parts) == 2:
            assert kept.request(Transition.ERASE, 2).changed
            [of_view] = [each for each in space.indexes._by_name.values() if each._index is not None]
            assert of_view._index is not None
            assert one not in of_view._index.postings._numbers

    space = kept.runtime._session.space
    with space.indexes.caught_up(View.HOST_UI, erasing) as caught:
        assert other in caught.current.postings._numbers
        assert one not in caught.current.postings._numbers
    assert len(parts) > 3
    nowhere(kept, one)


def test_what_another_process_erased_is_not_sealed_by_who_still_has_it(kept: FileWorld) -> None:
    """A process that searched before follows at its next search, and before it writes a snapshot (decision 0104)."""
    one, other = filled(kept)
    second = open_store(kept.home, "second")
    assert found(second, one)
    assert kept.request(Transition.ERASE, 2).changed
    second.close()
    assert at_rest(kept, one) == []
    nowhere(kept, one)
    third = open_store(kept.home, "third")
    assert found(third, one) == []
    assert found(third, other)
    third.close()
