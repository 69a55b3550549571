"""Small drills; the large ones run by name (`python -m replay drill`)."""

from __future__ import annotations

from array import array

import pytest
from msgspec import Struct

from replay.drills.canary import canary
from replay.drills.found import found
from replay.drills.governed import CORPUS, governed
from replay.drills.held import held
from replay.drills.kill9 import kill9
from replay.drills.outcome import Outcome
from replay.drills.search import Needles, spelled
from replay.drills.writers import writers
from tests.shared import need_shared

pytestmark = pytest.mark.slow


class Deep(Struct, gc=False):
    """Something that the garbage collector does not follow."""

    text: str


def test_no_acknowledged_turn_is_lost_when_writers_are_killed() -> None:
    """Ten writers under load are killed without warning; what they acknowledged is there, and the log is sound."""
    outcome = kill9(10, 7)
    assert outcome.passed, outcome.line()


def test_no_canary_is_found_where_it_must_not_be() -> None:
    """Five hundred canaries, in files, exports and what can be decrypted after an erasure."""
    outcome = canary(500, 7)
    assert outcome.passed, outcome.line()


def test_eight_processes_write_to_one_store_and_nobody_is_turned_away() -> None:
    outcome = writers(10, 7)
    assert outcome.passed, outcome.line()


def test_a_governed_transcript_moves_and_comes_back_as_it_is() -> None:
    """Three hundred turns of real dialogues: the same pages in the copy, and erased stays erased."""
    need_shared(f"corpora/{CORPUS.name}")
    outcome = governed(300, 7)
    assert outcome.passed, outcome.line()


def test_what_is_hidden_is_found_in_no_view_by_no_process_and_in_no_file() -> None:
    """Forty canaries among six hundred turns, found in every way, then masked, redacted and erased."""
    outcome = found(600, 7)
    assert outcome.passed, outcome.line()


def test_a_drill_whose_control_finds_nothing_has_failed() -> None:
    blind = Outcome(name="blind", tried="nothing", failures=[], control="the same", control_failed=False, seed=1)
    assert not blind.passed
    assert "proves nothing" in blind.line()


def test_the_search_finds_a_text_at_any_place_in_any_encoding() -> None:
    """Wherever a text begins, and also when only one end of it is there."""
    text = "a text of some length"
    needles = Needles(spelled([text]))
    for shift in range(9):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            whole = b"." * shift + text.encode(encoding)
            assert needles.found(whole + b"...") >= 2
            assert needles.found(whole[:-2]) >= 1
            assert needles.found(whole[shift + 2 :]) >= 1
    assert needles.found(b"") == 0
    assert needles.found(b"another text of some width") == 0


def test_a_search_for_nothing_finds_nothing() -> None:
    assert Needles([]).found(b"anything that is there") == 0


def test_what_is_held_in_memory_is_found_however_deep() -> None:
    """In attributes, slots, structs without garbage collection, keys, arrays, and bytes; never in the program."""
    deep = {"a": [Deep(text="in a struct")], "in a key": (array("I", [0x41424344]), bytearray(b"in bytes"))}
    memory = b"\n".join(held(deep))
    for text in (b"in a struct", b"in a key", b"DCBA", b"in bytes"):
        assert text in memory
    assert b"".join(held([test_what_is_held_in_memory_is_found_however_deep])) == b""
