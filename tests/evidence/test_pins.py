"""Several pins: whoever rolls a store back must reach all of them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from muniment.errors import Corrupt, RolledBack, StoreFault
from muniment.evidence.notes import Signer
from muniment.evidence.pin import FilePin, Pin
from muniment.evidence.pins import PinFailure, Pins

ORIGIN = "muniment/AAECAwQFBgcICQoLDA0ODw"
SIGNER = Signer(ORIGIN, bytes(32))


def note(size: int, root: bytes = bytes(32)) -> str:
    return SIGNER.sign_checkpoint(ORIGIN, size, root)


@pytest.fixture
def two(tmp_path: Path) -> list[FilePin]:
    return [FilePin(tmp_path / "here"), FilePin(tmp_path / "there")]


@pytest.fixture
def nowhere(tmp_path: Path) -> FilePin:
    """Return a place that cannot be reached."""
    (tmp_path / "file").write_text("")
    return FilePin(tmp_path / "file" / "pins")


def test_every_place_is_written_and_the_farthest_stands_for_all(two: list[FilePin]) -> None:
    pins: Pin = Pins(two)
    assert pins.read(ORIGIN) is None
    pins.write(ORIGIN, note(3))
    two[1].write(ORIGIN, note(5))
    assert Pins(two).notes(ORIGIN) == [note(3), note(5)]
    assert pins.read(ORIGIN) == note(5)


def test_a_place_that_knows_more_is_told_and_the_others_are_written(two: list[FilePin]) -> None:
    two[0].write(ORIGIN, note(5))
    with pytest.raises(RolledBack):
        Pins(two).write(ORIGIN, note(4))
    assert [place.read(ORIGIN) for place in two] == [note(5), note(4)]


def test_a_place_of_another_past_is_never_a_warning(two: list[FilePin]) -> None:
    two[1].write(ORIGIN, note(4))
    with pytest.raises(Corrupt):
        Pins(two, failure=PinFailure.WARNING).write(ORIGIN, note(4, bytes(31) + b"\1"))


def test_a_place_that_cannot_be_reached_is_an_error_after_all_others_were_written(
    two: list[FilePin], nowhere: FilePin
) -> None:
    with pytest.raises(StoreFault):
        Pins([nowhere, *two]).write(ORIGIN, note(1))
    assert [place.read(ORIGIN) for place in two] == [note(1), note(1)]
    with pytest.raises(StoreFault):
        Pins([nowhere, *two]).read(ORIGIN)


def test_it_is_a_warning_where_that_is_set_and_another_place_was_reached(
    two: list[FilePin], nowhere: FilePin, caplog: pytest.LogCaptureFixture
) -> None:
    pins = Pins([nowhere, *two], failure=PinFailure.WARNING)
    with caplog.at_level(logging.WARNING, "muniment"):
        pins.write(ORIGIN, note(1))
    assert "1 of 3" in caplog.text or "one of 3" in caplog.text
    assert pins.read(ORIGIN) == note(1)
    with pytest.raises(StoreFault):
        Pins([nowhere], failure=PinFailure.WARNING).write(ORIGIN, note(2))


def test_what_a_restore_abandoned_makes_room_in_every_place(two: list[FilePin], tmp_path: Path) -> None:
    """One place is behind, one knows nothing; an interrupted replacement is completed by a repeat."""
    third = FilePin(tmp_path / "third")
    pins = Pins([*two, third])
    two[0].write(ORIGIN, note(9))
    two[1].write(ORIGIN, note(7))
    with pytest.raises(Corrupt):
        pins.replace(ORIGIN, note(8), note(3))
    two[0].replace(ORIGIN, note(9), note(3))
    for _ in range(2):
        pins.replace(ORIGIN, note(9), note(3))
        assert pins.notes(ORIGIN) == [note(3)] * 3


def test_a_note_that_is_none_is_told(two: list[FilePin]) -> None:
    class Careless:
        """A pin that does not look at what it keeps."""

        def read(self, _origin: str) -> str | None:
            """Return no note."""
            return "words"

        def write(self, _origin: str, _note: str) -> None:
            """Keep nothing."""

        def replace(self, _origin: str, _former: str, _note: str) -> None:
            """Keep nothing."""

    with pytest.raises(Corrupt):
        Pins([Careless(), *two]).read(ORIGIN)


def test_one_pin_is_one_place_and_none_is_none(two: list[FilePin]) -> None:
    pins = Pins.of(two[0])
    assert pins is not None
    assert pins.places == (two[0],)
    assert Pins.of(pins) is pins
    assert Pins.of(None) is None
