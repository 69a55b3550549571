"""Cells in clear: packed once, read permanently."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import Corrupt, MunimentError, StoreNewer
from muniment.events import cells
from muniment.events.cells import FIELDS, SEED_BYTES, UPCASTS, Upcast, lifted, pack, unpack_content, unpack_meta
from muniment.events.message import TextPart
from muniment.events.records import (
    CONTENT_BODIES,
    META_BODIES,
    VERSIONS,
    EventKind,
    KeyRotated,
    SpaceOpened,
    TurnContent,
    TurnMeta,
)
from tests.turns import committed

SEED = bytes(range(SEED_BYTES))

# What version 1 of a cell looks like at rest: msgpack [1, 32 bytes, {"name": "s"}], written by hand.
SPACE_OPENED_V1 = b"\x93\x01\xc4\x20" + SEED + b"\x81\xa4name\xa1s"


def cell(version: Any, body: Any, seed: Any = SEED) -> bytes:
    return msgspec.msgpack.encode([version, seed, body])


@given(committed(), st.binary(min_size=SEED_BYTES, max_size=SEED_BYTES))
def test_a_cell_gives_back_what_was_packed_into_it(bodies: tuple[TurnMeta, TurnContent], seed: bytes) -> None:
    """unpack(pack(salts, body)) == (salts, body), for what a turn says and for its content."""
    meta, content = bodies
    assert unpack_meta("turn.committed", pack(seed, meta)) == (seed, meta)
    assert unpack_content("turn.committed", pack(None, content)) == (None, content)


def test_the_first_version_of_a_cell_is_read_and_written_as_it_stands() -> None:
    """Known bytes: a stored cell of version 1 loads permanently."""
    assert unpack_meta("space.opened", SPACE_OPENED_V1) == (SEED, SpaceOpened(name="s"))
    assert pack(SEED, SpaceOpened(name="s")) == SPACE_OPENED_V1


def test_every_body_has_a_version_and_every_older_one_a_way_up() -> None:
    assert set(VERSIONS) == {*META_BODIES.values(), *CONTENT_BODIES.values()}
    older = {(body, step) for body, present in VERSIONS.items() for step in range(1, present)}
    assert set(UPCASTS) == set(FIELDS) == older


def test_a_version_of_the_future_is_refused_as_newer() -> None:
    with pytest.raises(StoreNewer) as refused:
        unpack_meta("space.opened", cell(2, {"name": "s"}))
    assert (refused.value.problem, refused.value.found, refused.value.limit) == ("unknown_version", 2, 1)


def test_a_kind_of_the_future_is_refused_as_newer() -> None:
    with pytest.raises(StoreNewer) as refused:
        unpack_meta("turn.dreamt", SPACE_OPENED_V1)
    assert refused.value.problem == "unknown_kind"
    assert "dreamt" not in str(refused.value)
    for kind in EventKind:
        with pytest.raises(Corrupt):
            unpack_meta(kind.value, b"")


@pytest.mark.parametrize(
    "malformed",
    [
        b"", b"\xc1", b"\x93\x01", SPACE_OPENED_V1[:-1], SPACE_OPENED_V1 + b"\x00", cell(1, {}), cell(1, {"name": 1}),
        cell(1, {"name": "s", "more": 1}), cell(0, {"name": "s"}), cell(-1, {"name": "s"}), cell("1", {"name": "s"}),
        cell(1, {"name": "s"}, seed=b"short"), cell(1, {"name": "s"}, seed=bytes(33)),
        msgspec.msgpack.encode([1, SEED, {"name": "s"}, "spare"]), b"\x93\x01\xc4\x20" + SEED + b"\x81\xa4name\xa1\xff",
    ],
    ids=lambda malformed: malformed.hex()[-16:],
)  # fmt: skip
def test_a_malformed_cell_is_corrupt_and_nothing_else(malformed: bytes) -> None:
    with pytest.raises(Corrupt) as refused:
        unpack_meta("space.opened", malformed)
    assert refused.value.problem == "cell_malformed"


@given(committed(), st.data())
def test_a_damaged_cell_never_ends_in_an_error_that_nobody_foresaw(
    bodies: tuple[TurnMeta, TurnContent], data: st.DataObject
) -> None:
    """Any byte changed: another value of the same type, or an error of ours."""
    packed = bytearray(pack(None, bodies[1]))
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        _, content = unpack_content("turn.committed", bytes(packed))
    except MunimentError:
        return
    assert isinstance(content, TurnContent)


# --- up-casts ---------------------------------------------------------------------------------------------------------


def _first_step(old: dict[str, Any]) -> dict[str, Any]:
    return {"number": old["n"]}


def _first_step_again(old: dict[str, Any]) -> dict[str, Any]:
    return {"n": old["number"]}


def _second_step(old: dict[str, Any]) -> dict[str, Any]:
    return {"version": old["number"] + 1}


TWO_STEPS: dict[tuple[type[msgspec.Struct], int], Upcast] = {
    (KeyRotated, 1): _first_step,
    (KeyRotated, 2): _second_step,
}

THREE_VERSIONS: dict[type[msgspec.Struct], int] = VERSIONS | {KeyRotated: 3}
ASTRAY: dict[tuple[type[msgspec.Struct], int], Upcast] = {(KeyRotated, 2): _first_step_again}


@pytest.mark.parametrize(("version", "data"), [(1, {"n": 6}), (2, {"number": 6}), (3, {"version": 7})])
def test_data_of_any_older_version_is_lifted_step_by_step(version: int, data: dict[str, Any]) -> None:
    """Two steps from version 1, one from version 2, none from the present one."""
    assert lifted(KeyRotated, version, data, TWO_STEPS, 3) == {"version": 7}


def test_a_cell_of_an_older_version_is_read_through_its_up_casts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a body at version 3, cells of versions 1, 2 and 3 all load; one of version 4 is newer."""
    monkeypatch.setattr(cells, "VERSIONS", THREE_VERSIONS)
    monkeypatch.setattr(cells, "UPCASTS", TWO_STEPS)
    for version, data in [(1, {"n": 6}), (2, {"number": 6}), (3, {"version": 7})]:
        assert unpack_meta("key.rotated", cell(version, data)) == (SEED, KeyRotated(version=7))
    assert pack(SEED, KeyRotated(version=7)) == cell(3, {"version": 7})
    with pytest.raises(StoreNewer):
        unpack_meta("key.rotated", cell(4, {"version": 7}))
    monkeypatch.setattr(cells, "UPCASTS", ASTRAY)
    with pytest.raises(Corrupt):
        unpack_meta("key.rotated", cell(2, {"number": 6}))


def test_after_a_partial_erasure_the_remaining_salts_are_kept_one_by_one() -> None:
    """After a part of a body was erased its cell has the salt of each label that is left, and no seed."""
    content = TurnContent(parts=[[], [TextPart(content="left")]], digest=b"")
    salts = {"message/1/content/0": SEED}
    assert unpack_content("turn.committed", pack(salts, content)) == (salts, content)


@pytest.mark.parametrize(
    ("kind", "packed"),
    [
        ("key.rotated", cell(1, {"parts": [], "digest": b""})),
        ("turn.committed", cell(1, {"parts": [], "digest": b""}, {"message/0/content/0": SEED[1:]})),
    ],
    ids=["a kind without content", "a salt that is short"],
)
def test_content_that_nobody_wrote_is_refused(kind: str, packed: bytes) -> None:
    with pytest.raises(Corrupt):
        unpack_content(kind, packed)


def test_a_meta_body_always_has_its_seed() -> None:
    with pytest.raises(Corrupt):
        unpack_meta("space.opened", cell(1, {"name": "s"}, {"name": SEED}))
