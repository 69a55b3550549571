"""Names in buckets: found, claimed, renamed and split; the bytes at rest, by hand; plans that are undone."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import Conflict, Corrupt
from muniment.evidence.tree import Frontier
from muniment.kernel.digest import KeyedDigest
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.ledger.name_buckets import BUCKET_NAMES, Names, bucket_of, buckets_of
from muniment.log.memory import MemoryStore
from muniment.log.port import Transaction
from tests.log.ledgers import BOOKS, Book

KEY = b"k" * 32


@pytest.fixture(params=sorted(BOOKS))
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    """Return an empty book over each store."""
    made: Book = BOOKS[request.param](tmp_path)
    yield made
    made.store.close()


def name(number: int) -> bytes:
    """Return a name that is spread like a digest."""
    return hashlib.sha256(b"%d" % number).digest()[:16]


def written(store: MemoryStore, names: Names, size: int, *namings: tuple[bytes, int | bytes]) -> bytes:
    """Write names with a frontier of a size; return the seal."""
    frontier = Frontier(size=size, hashes=(bytes(32),) * size.bit_count())

    def plan(tx: Transaction) -> bytes:
        seal = names.write(tx, frontier, 0, dict(namings))
        tx._state.frontier, tx._state.seal = frontier, seal  # type: ignore[attr-defined]  # without rows to append
        return seal

    seal = store.transact(plan)
    names.keep(seal)
    return seal


def mac(message: bytes) -> bytes:
    return hmac.digest(KEY, message, "sha256")


def test_a_bucket_and_a_seal_are_the_bytes_that_the_format_says() -> None:
    """By hand, from the theory of operation of the module."""
    store, first, second = MemoryStore(), b"\x01" * 16, b"\x02" * 16
    seal = written(store, Names(KeyedDigest(KEY)), 3, (second, 2), (first, 1))
    entries = first + (1).to_bytes(6) + second + (2).to_bytes(6)
    stamp = (3).to_bytes(8)
    whole = mac(b"muniment/bucket" + (0).to_bytes(8) + stamp + entries)
    with store.reader() as reader:
        assert list(reader.buckets()) == [(0, entries + stamp + whole[:16])]
    count, share = (2).to_bytes(8), whole[16:]
    told = stamp + count + bytes(8)  # nothing was said yet of what is owed
    tag = mac(b"muniment/seal" + told + share + (3).to_bytes(8) + bytes(64))[:16]
    mask = mac(b"muniment/mask" + tag)[:16]
    assert seal == told + bytes(a ^ b for a, b in zip(share, mask, strict=True)) + tag


@settings(max_examples=20, deadline=None)
@given(count=st.integers(0, 400), batch=st.integers(1, 90))
def test_every_name_is_found_and_no_other(count: int, batch: int) -> None:
    """However many there are and however they came, in as many buckets as their number says."""
    store, names = MemoryStore(), Names(KeyedDigest(KEY))
    for size, first in enumerate(range(0, count, batch), start=1):
        written(store, names, size, *((name(n), n) for n in range(first, min(count, first + batch))))
    for again in (names, Names(KeyedDigest(KEY))):
        with store.reader() as reader:
            assert again.attest(reader).names == count
            assert [again.find(reader, name(n)) for n in range(count)] == list(range(count))
            assert again.find(reader, name(count)) is None
            assert sorted(row.position for row in again.rows(reader)) == list(range(count))
            assert len(list(reader.buckets())) == buckets_of(count) == -(-count // BUCKET_NAMES)


@given(st.integers(1, 5000), st.binary(min_size=16, max_size=16))
def test_a_new_bucket_takes_names_from_one_other_alone(buckets: int, digest: bytes) -> None:
    """Linear hashing: what moves when there is one bucket more moves into it, from one other."""
    before, after = bucket_of(digest, buckets), bucket_of(digest, buckets + 1)
    assert before == after or (after, before) == (buckets, buckets - (1 << buckets.bit_length() - 1))


def test_another_name_takes_the_place_of_one() -> None:
    store, names = MemoryStore(), Names(KeyedDigest(KEY))
    written(store, names, 1, *((name(n), n) for n in range(100)))
    written(store, names, 2, (name(7), name(700)), (name(8), name(7)))
    with store.reader() as reader:
        assert [names.find(reader, name(n)) for n in (7, 8, 700)] == [8, None, 7]
        assert Names(KeyedDigest(KEY)).attest(reader).names == 100


@pytest.mark.parametrize(
    ("naming", "problem"),
    [((name(1), 9), "taken"), ((name(2), name(1)), "taken"), ((name(9), name(10)), "no_name")],
)
def test_what_does_not_fit_is_a_conflict(naming: tuple[bytes, int | bytes], problem: str) -> None:
    store, names = MemoryStore(), Names(KeyedDigest(KEY))
    with pytest.raises(Conflict) as refused:
        written(store, names, 1, (name(9), name(10)))
    assert refused.value.problem == "no_name"
    written(store, names, 1, (name(1), 1), (name(2), 2))
    with pytest.raises(Conflict) as refused:
        written(store, names, 2, naming)
    assert refused.value.problem == problem


def claims(book: Book, *numbers: int) -> Callable[[Writer], None]:
    """Return a plan that appends an event and claims names for it."""
    event = book.said(f"{numbers}")

    def plan(writer: Writer) -> None:
        placed = writer.append(event, stream=SPACE_STREAM, messages=1)
        for number in numbers:
            writer.claim(name(number), SPACE_STREAM, placed.position)

    return plan


def test_what_a_plan_named_that_failed_is_not_remembered(book: Book) -> None:
    """The next plan finds the names free, and what is remembered of the buckets is what they are."""

    def failing(writer: Writer) -> None:
        claims(book, *range(50, 99))(writer)
        writer.flush()
        assert writer.find(name(50)) is not None
        raise ZeroDivisionError

    book.ledger.transact(claims(book, *range(40)))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            book.ledger.transact(failing)
    book.ledger.transact(claims(book, *range(40, 70)))
    with book.ledger.reader() as reader:
        assert None not in [book.ledger.names.find(reader, name(n)) for n in range(70)]
        assert book.ledger.names.find(reader, name(80)) is None
    book.attest()


def test_a_name_is_claimed_once_in_a_plan_too(book: Book) -> None:
    with pytest.raises(Conflict):
        book.ledger.transact(claims(book, 1, 1))
    book.attest()


def test_the_names_of_a_stream_are_counted_in_its_head(book: Book) -> None:
    book.ledger.transact(claims(book, *range(40)))
    with book.ledger.reader() as reader:
        head = book.ledger.head(reader, SPACE_STREAM)
        assert head is not None
        assert head.names == 40


def test_a_state_may_be_kept_by_several_callers_in_any_order(book: Book) -> None:
    """Those whose plans shared a transaction come back together, and one that is late comes back to a newer state."""
    seals = []
    for number in (1, 2):
        book.ledger.transact(claims(book, number))
        with book.ledger.reader() as reader:
            seals.append(reader.log_seal())
    for seal in (seals[1], seals[0]):
        book.ledger.names.keep(seal)
    book.ledger.transact(claims(book, 3))
    book.attest()


def test_a_snapshot_of_before_is_read_as_it_was(book: Book) -> None:
    book.ledger.transact(claims(book, 1))
    with book.ledger.reader() as reader:
        book.ledger.transact(claims(book, 2))
        assert book.ledger.names.find(reader, name(1)) is not None
        assert book.ledger.names.find(reader, name(2)) is None


def test_a_seal_of_another_key_is_none(book: Book) -> None:
    with book.ledger.reader() as reader, pytest.raises(Corrupt):
        Names(KeyedDigest(KEY)).head(reader)
