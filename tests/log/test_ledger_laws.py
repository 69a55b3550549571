"""The laws of the ledger: whatever plans append is what is read, and everything is accounted for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.events.changes import LifecycleRequest, Transition, TurnLifecycle
from muniment.events.labels import content_fields, meta_fields
from muniment.events.records import ContentBody, ConversationOpened, EventKind, MetaBody, TurnContent, TurnMeta
from muniment.events.wording import Words
from muniment.evidence.header import commit, commit_fields, disclose, disclosures
from muniment.evidence.tree import Frontier, extend, frontier_at
from muniment.evidence.verifier import leaf_hash
from muniment.kernel.digest import Salts, b64url
from muniment.ledger.heads import Placed
from muniment.ledger.ledger import Writer
from muniment.log.port import SealedRow
from tests.log.ledgers import Book, FileBook, memory_book
from tests.turns import committed


class Turn(NamedTuple):
    """A turn to append to one of the conversations that are open."""

    into: int
    bodies: tuple[TurnMeta, TurnContent]


class Change(NamedTuple):
    """A transition to append: of a turn, or (0) of all."""

    into: int
    target: int
    transition: Transition


class Opening(NamedTuple):
    """A conversation to open."""

    name: str


class Written(NamedTuple):
    """What should be read back of an event."""

    placed: Placed
    meta: MetaBody
    content: ContentBody | None
    reason: str | None
    refs: dict[str, int]
    target: int | None


Step = Turn | Change | Opening
asked: st.SearchStrategy[Step] = st.one_of(
    st.builds(Turn, st.integers(0, 5), committed()),
    st.builds(Change, st.integers(0, 5), st.integers(0, 3), st.sampled_from(Transition)),
    st.builds(Opening, st.text(max_size=4)),
)
plans_asked = st.lists(st.lists(asked, max_size=5), max_size=3)


def claim(book: Book, writer: Writer, placed: Placed) -> None:
    """Let a name lead to an event, as attestation wants it of conversations and turns."""
    writer.claim(book.ledger.name_digest("any", str(placed.position)), placed.stream, placed.position)


def write(book: Book, writer: Writer, streams: list[int], event: Step) -> Written:
    """Append one event; what needs a conversation opens one when there is none."""
    if isinstance(event, Opening) or not streams:
        names = ConversationOpened(channel="mail", conversation=event.name if isinstance(event, Opening) else "first")
        placed = writer.append(book.small(EventKind.CONVERSATION_OPENED, names), stream=None)
        claim(book, writer, placed)
        streams.append(placed.stream)
        return Written(placed, names, None, None, {}, None)
    stream = streams[event.into % len(streams)]
    if isinstance(event, Turn):
        meta, content = event.bodies
        placed = writer.append(book.turn(meta, content), stream=stream, messages=len(content.parts))
        assert placed.turn_seq is not None
        claim(book, writer, placed)
        return Written(placed, meta, content, None, {}, None)
    body = TurnLifecycle(request=LifecycleRequest(reason="asked", requester="operator", requested_ms=7))
    refs = {"turn": event.target} if event.target else {"through": 3}
    made = book.small(EventKind.TURN_LIFECYCLE, body, event.transition)
    placed = writer.append(made, stream=stream, target=event.target, refs=refs)
    return Written(placed, body, Words(words={"request/reason": "asked"}), event.transition, refs, event.target)


def check_row(book: Book, row: SealedRow, said: Written, prev: bytes | None) -> None:
    """Hold a row to what was appended."""
    header, exact = book.ledger.header(row)
    opened = book.ledger.open(row)
    assert (row.stream, row.seq, row.turn_seq, row.leaf) == said.placed[1:5]
    assert (row.target_seq, opened.meta) == (said.target, said.meta)
    assert (header.reason, header.about, header.prev) == (said.reason, said.refs, prev and b64url(prev))
    assert (header.pos, header.stream, header.seq, header.t) == (row.position, row.stream, row.seq, row.time)
    assert leaf_hash(exact) == row.leaf
    fields = commit_fields(opened.meta_seed, meta_fields(opened.meta))
    parts: list[tuple[Salts, list[tuple[str, bytes]]]] = [(opened.meta_seed, meta_fields(opened.meta))]
    if said.content is not None:
        content = book.ledger.content(opened)
        assert content[1] == said.content
        assert isinstance(content[0], bytes)
        fields |= commit_fields(content[0], content_fields(content[1]))
        parts.append((content[0], content_fields(content[1])))
    assert header.fields == fields
    assert {label: commit(disclosure) for label, disclosure in disclosures(header, parts).items()} == fields
    assert all(commit(disclose(salts, *field)) == fields[field[0]] for salts, some in parts for field in some)


def check_plans(book: Book, plans: list[list[Step]]) -> None:
    """Append event by event, plan by plan, and hold the whole log to what was asked for."""
    streams: list[int] = []
    said: dict[int, Written] = {}
    for plan in plans:

        def run(writer: Writer, plan: list[Step] = plan) -> list[Written]:
            return [write(book, writer, streams, event) for event in plan]

        said |= {each.placed.position: each for each in book.ledger.transact(run)}
    with book.ledger.reader() as reader:
        rows = list(reader.sealed_events(0, 10_000))
        frontier = reader.frontier()
        assert [row.position for row in rows] == list(range(len(said) + 1))
        assert frontier == extend(Frontier(), [row.leaf for row in rows])[0] == frontier_at(reader, len(rows))
        last: dict[int, bytes] = {}
        for row in rows[1:]:
            check_row(book, row, said[row.position], last.get(row.stream))
            last[row.stream] = row.leaf
        for stream in streams:
            inside = [row for row in rows if row.stream == stream]
            head = book.ledger.head(reader, stream)
            assert head is not None
            assert (head.seq, head.leaf) == (len(inside), inside[-1].leaf)
            assert head.turns == sum(row.turn_seq is not None for row in inside)
            assert head.changes == sum(row.target_seq is not None for row in inside)
            spoken = [said[row.position].content for row in inside]
            assert head.messages == sum(len(content.parts) for content in spoken if isinstance(content, TurnContent))
        book.notary.attest(book.ledger, reader, None)


@pytest.fixture(scope="module")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """Return a book whose keys are lent to other stores."""
    return memory_book(tmp_path_factory.mktemp("keyring"))


@contextmanager
def on_disk(keyring: Book) -> Iterator[Book]:
    """Give a book in a file that goes away."""
    with tempfile.TemporaryDirectory() as directory:
        book = FileBook(Path(directory), keyring.keys)
        yield book
        book.store.close()


@given(plans_asked)
def test_what_plans_append_in_memory_is_what_is_read(keyring: Book, plans: list[list[Step]]) -> None:
    """Every value comes back; positions are dense, streams are chained, heads and tree account for every row."""
    check_plans(Book(type(keyring.store)(), keyring.keys), plans)


@given(plans_asked)
@settings(max_examples=20)
def test_what_plans_append_in_a_file_is_what_is_read(keyring: Book, plans: list[list[Step]]) -> None:
    """The same through SQLite."""
    with on_disk(keyring) as book:
        check_plans(book, plans)
