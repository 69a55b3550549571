"""The changes of a conversation: folded whole or piece by piece, and what they say of a turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import Corrupt
from muniment.events.changes import (
    Custody,
    LifecycleRequest,
    RedactionReason,
    RedactionTarget,
    Transition,
    TurnLifecycle,
    TurnRedacted,
    TurnSpan,
    span_of,
    span_refs,
)
from muniment.events.labels import content_fields, meta_fields
from muniment.events.records import EventKind, KeyRotated, TurnContent
from muniment.evidence.header import commit, disclose, disclosures
from muniment.governance.phases import Hold, Phase
from muniment.governance.redaction import Redaction
from muniment.governance.slices import cut
from muniment.governance.views import Reason, View
from muniment.kernel.digest import Salts
from muniment.ledger.attached_files import left_of
from muniment.projections.change_fold import Changes, NotedChange, lost_in_conversation
from muniment.projections.transcript import Transcript
from tests.log.ledgers import Book, memory_book

REQUEST = LifecycleRequest(reason="asked for", requester="operator", requested_ms=1)
TURNS = 4

spans = st.one_of(
    st.integers(1, 9).map(lambda turn: TurnSpan(turn, turn)),
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(lambda ends: TurnSpan(min(ends), max(ends))),
    st.integers(1, 9).map(lambda first: TurnSpan(first, None)),
)


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """Return a book that every example adds a conversation to."""
    return memory_book(tmp_path_factory.mktemp("growing"))


def changes_of(transcript: Transcript, book: Book, stream: int) -> Changes:
    with book.ledger.reader() as reader:
        return transcript.changes(reader, transcript.head(reader, stream))


@given(spans, st.integers(1, 12))
def test_the_references_of_a_change_say_which_turns_it_is_about(span: TurnSpan, turn: int) -> None:
    """span_of(span_refs(span)) == span; a turn is among them when it lies between both ends."""
    assert span_of(span_refs(span)) == span
    assert span.includes(turn) == (turn in range(span.first, 100 if span.last is None else span.last + 1))


def lifecycle(book: Book, stream: int, reason: str, refs: dict[str, int]) -> int:
    return book.changed(stream, EventKind.TURN_LIFECYCLE, TurnLifecycle(request=REQUEST), reason, refs).position


def redact(book: Book, stream: int, turn: int, target: RedactionTarget) -> int:
    body = TurnRedacted(target=target, views=["export", "host_ui"], request=REQUEST)
    return book.changed(stream, EventKind.TURN_REDACTED, body, RedactionReason.LEGAL, {"turn": turn}).position


@given(st.lists(st.tuples(st.sampled_from(["mask", "hold", "release", "erase", "redact"]), st.integers(1, TURNS))))
def test_changes_are_the_same_however_they_were_folded(growing: Book, asked: list[tuple[str, int]]) -> None:
    """Grown change by change, or read at once: equal to a plain model of what was asked."""
    stream = growing.conversation(str(growing.head().size))
    growing.say(stream, *(f"{stream} {n}" for n in range(TURNS)))
    grown, model = Transcript(growing.ledger), Changes()
    steps: list[Transition] = []
    holds: dict[int, Hold] = {}
    erased: dict[int, frozenset[int]] = {}
    redactions: dict[int, tuple[Redaction, ...]] = {}
    for word, turn in asked:
        if word == "mask":
            lifecycle(growing, stream, Transition.MASK, {"first": 2, "through": 3})
            steps.append(Transition.MASK)
        elif word == "hold":
            at = lifecycle(growing, stream, Custody.HOLD, {"turn": turn} if turn > 1 else {"first": 1})
            holds[at] = Hold(position=at, span=TurnSpan(turn, turn) if turn > 1 else TurnSpan(1, None))
        elif word == "release":
            lifecycle(growing, stream, Custody.RELEASE, {"turn": turn, "hold": min(holds, default=0)})
            holds.pop(min(holds, default=0), None)
        elif word == "erase":
            lifecycle(growing, stream, Transition.ERASE, {"turn": turn, "message": 0})
            erased[turn] = frozenset({0})
            ranges = [replace(known, target=RedactionTarget(message=0, part=0)) for known in redactions.get(turn, ())]
            redactions |= {turn: tuple(ranges)} if ranges else {}
        else:
            target = RedactionTarget(message=0, part=0, start=0, end=turn)
            at = redact(growing, stream, turn, target)
            redaction = Redaction(
                position=at, target=target, views=frozenset({View.EXPORT, View.HOST_UI}), reason=RedactionReason.LEGAL
            )
            redactions[turn] = (*redactions.get(turn, ()), redaction)
        model = changes_of(grown, growing, stream)
    assert model == changes_of(Transcript(growing.ledger), growing, stream) or not asked
    assert (model.holds, model.erased, model.redactions) == (holds, erased, redactions)
    assert [step.transition for step in model.steps] == steps
    assert model.count == len(asked)


@pytest.fixture
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    """Return a book with a conversation of three turns."""
    made = memory_book(tmp_path_factory.mktemp("book")).with_turns(3)
    yield made
    made.store.close()


def test_a_message_that_was_erased_alone_is_withheld_from_every_view(book: Book) -> None:
    lifecycle(book, 1, Transition.ERASE, {"turn": 2, "message": 0})
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        read = transcript.page(reader, transcript.head(reader, 1), 1, 3, lambda _phase, _meta: True)
    for view in View:
        shown = [cut(one.record, view) for one in read]
        assert [turn.phase for turn, _ in shown] == [Phase.ACTIVE] * 3
        assert shown[1][0].messages[0].redacted
        assert Reason.ERASED in {item.reason for item in shown[1][1]}
        assert Reason.ERASED not in {item.reason for item in shown[0][1]}


def test_what_is_left_of_a_content_is_sealed_anew_and_still_proves_its_fields(book: Book) -> None:
    """After a partial erasure: new key, no seed; the fields that are left open the commitments made at first."""
    row = book.row(2)
    opened = book.ledger.open(row)
    salts, words = book.ledger.words(opened)
    left = TurnContent(parts=words.parts, digest=b"")
    book.ledger.transact(lambda writer: writer.reseal_content(row, left_of(writer.tx, row, salts, left)))
    again = book.ledger.open(book.row(2))
    kept, content = book.ledger.words(again)
    assert content == left
    assert not isinstance(kept, bytes)
    header, _ = book.ledger.header(row)
    parts: list[tuple[Salts, list[tuple[str, bytes]]]] = [(again.meta_seed, meta_fields(again.meta))]
    parts.append((kept, content_fields(content)))
    for label, disclosure in disclosures(header, parts).items():
        assert commit(disclosure) == header.fields[label]
    with pytest.raises(Corrupt):  # the key that sealed the whole is gone
        book.ledger.words(book.ledger.open(replace(book.row(2), content=row.content)))
    with pytest.raises(Corrupt):
        disclose(kept, "message/9/content/0", b"1")


# --- content beside turns ---------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(spans, st.none() | st.integers(0, 2)), max_size=8),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=5),
    st.dictionaries(st.integers(1, 9), st.frozensets(st.integers(0, 2)), max_size=3),
)
def test_content_beside_turns_goes_with_the_first_of_them(
    recorded: list[tuple[TurnSpan, int | None]], steps: list[tuple[int, int]], alone: dict[int, frozenset[int]]
) -> None:
    """It is erased with its message, or with the first of its turns that is erased later on, also of turns to come."""
    noted = tuple(
        NotedChange(position, span, message if span.first == span.last else None)
        for position, (span, message) in enumerate(recorded)
    )
    changes = Changes(
        erased=alone,
        erasures=tuple(NotedChange(4 + at, TurnSpan(min(ends), max(ends))) for at, ends in enumerate(steps)),
        noted={EventKind.TURN_COMMITTED: noted},  # stands for any kind that has content
    )
    erasures = [(4 + at, range(min(ends), max(ends) + 1)) for at, ends in enumerate(steps)]
    assert lost_in_conversation(changes) == [
        one.position
        for one in noted
        if (one.message is not None and one.message in alone.get(one.span.first, ()))
        or any(position > one.position and any(map(one.span.includes, turns)) for position, turns in erasures)
    ]


def test_a_change_of_a_kind_that_is_not_folded_is_noted_with_its_place(book: Book) -> None:
    turns = {"first": 1, "through": 2}
    whole = book.changed(1, EventKind.KEY_ROTATED, KeyRotated(version=1), "requested", turns)
    part = book.changed(1, EventKind.KEY_ROTATED, KeyRotated(version=1), "requested", {"turn": 3, "message": 0})
    assert changes_of(Transcript(book.ledger), book, 1).noted == {
        EventKind.KEY_ROTATED: (
            NotedChange(whole.position, TurnSpan(1, 2)),
            NotedChange(part.position, TurnSpan(3, 3), 0),
        )
    }
