"""Headers in parts: what is stored beside the columns is the exact header again, or nothing is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import asdict, replace

from muniment.errors import Corrupt
from muniment.events.labels import content_fields, meta_fields
from muniment.events.records import EventKind, TurnContent, TurnMeta
from muniment.evidence.header import Header, commit_fields, encode
from muniment.kernel.digest import b64url
from muniment.kernel.sources import seeded_sources
from muniment.ledger.headers import LABEL_SETS, USUAL_MESSAGES_MAX, row_of, unpack
from tests.turns import committed

LOG = seeded_sources("headers").ids.new_id()
DIGEST_BYTES = 32

digests = st.binary(min_size=DIGEST_BYTES, max_size=DIGEST_BYTES)
labels = st.from_regex(r"[a-z0-9_]{1,6}(/[a-z0-9_]{1,6}){0,3}", fullmatch=True)
words = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
places = st.integers(0, 2**53 - 1)


@st.composite
def headers_at_rest(draw: st.DrawFn) -> Header:
    """Any header that a log could have: the first of a stream, an entry, a change, or none of these."""
    is_first = draw(st.booleans())
    entry = st.just(UNSET) | st.builds(lambda word, number: {word: number}, words, st.integers(1, 2**53 - 1))
    return Header(
        fields=draw(st.dictionaries(labels, digests.map(b64url), max_size=5)),
        kind=draw(st.sampled_from(EventKind)),
        log=LOG,
        pos=draw(places),
        prev=None if is_first else draw(digests.map(b64url)),
        reason=draw(st.none() | words),
        refs=draw(st.dictionaries(words, places, max_size=3)),
        seq=draw(places),
        stream=draw(places),
        t=draw(places),
        entry=UNSET if is_first else draw(entry),
        opens=draw(words) if is_first else UNSET,
        target=draw(st.just(UNSET) | places),
    )


headers = headers_at_rest()
COLUMNS = ["position", "stream", "seq", "kind", "turn_seq", "target_seq", "time", "leaf"]


@given(headers)
def test_a_header_comes_back_to_the_last_byte(header: Header) -> None:
    """unpack(pack(header)) == (header, encode(header)), for any fields, reasons and references."""
    assert unpack(row_of(header), LOG) == (header, encode(header))


@given(headers, st.data())
def test_a_damaged_header_is_corrupt_or_the_same_header(header: Header, data: st.DataObject) -> None:
    """Any byte changed: the exact header of the leaf, or `Corrupt`; never another header, never another error."""
    row = row_of(header)
    packed = bytearray(row.header)
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = unpack(replace(row, header=bytes(packed)), LOG)
    except Corrupt:
        return
    assert found == (header, encode(header))


@given(headers, st.binary(max_size=40))
def test_whatever_lies_in_place_of_a_header_is_corrupt(header: Header, junk: bytes) -> None:
    with pytest.raises(Corrupt):
        unpack(replace(row_of(header), header=junk), LOG)


@given(headers, st.sampled_from(COLUMNS), st.data())
def test_no_column_can_say_other_than_the_header(header: Header, column: str, data: st.DataObject) -> None:
    """Every column that the header is written out from is compared with the leaf."""
    row = row_of(header)
    numbers = st.integers(-(2**63), 2**63 - 1)
    others: dict[str, st.SearchStrategy[Any]] = {"kind": words, "leaf": digests}
    others |= dict.fromkeys(["turn_seq", "target_seq"], st.none() | numbers)
    other = data.draw(others.get(column, numbers))
    if other == asdict(row)[column]:
        return
    with pytest.raises(Corrupt):
        unpack(replace(row, **{column: other}), LOG)


def test_a_header_of_another_log_is_corrupt() -> None:
    header = Header(
        fields={}, kind="a.b", log=LOG, pos=0, prev=None, reason=None, refs={}, seq=1, stream=0, t=0, opens="x"
    )
    with pytest.raises(Corrupt):
        unpack(row_of(header), seeded_sources("other").ids.new_id())


@given(committed())
def test_the_fields_of_any_turn_come_back_as_they_were_committed(bodies: tuple[TurnMeta, TurnContent]) -> None:
    """Usual sets of labels and unusual ones alike; at rest a commitment takes its 32 bytes."""
    meta, content = bodies
    fields = commit_fields(bytes(32), meta_fields(meta)) | commit_fields(bytes(32), content_fields(content))
    header = Header(
        fields=fields, kind=EventKind.TURN_COMMITTED, log=LOG, pos=3, prev=b64url(bytes(32)), reason=None,
        refs={}, seq=2, stream=1, t=1, entry={"turn": 1},
    )  # fmt: skip
    row = row_of(header)
    assert unpack(row, LOG)[0].fields == fields
    joined = " ".join(sorted(fields))
    spelled = 0 if joined in LABEL_SETS else len(joined)
    assert len(row.header) <= DIGEST_BYTES * (len(fields) + 1) + spelled + 30


def test_the_usual_sets_are_those_of_turns_of_messages_of_one_part() -> None:
    """Every number of the table stands for one set, and stands for it permanently (the vectors hold the order)."""
    assert len(set(LABEL_SETS)) == len(LABEL_SETS) == 2 * USUAL_MESSAGES_MAX
    assert all(joined.split(" ") == sorted(joined.split(" ")) for joined in LABEL_SETS)
    assert LABEL_SETS[1] == "actor delivery message/0 message/0/content/0 message/1 message/1/content/0"
    assert LABEL_SETS[17] == LABEL_SETS[1] + " source"
