"""Where a log is pinned: in several places, each of which is checked and written, and told when it is empty."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest

import muniment
from muniment.errors import RolledBack, StoreFault
from muniment.evidence.pin import FilePin
from muniment.evidence.pins import PinFailure, Pins
from muniment.kernel.sources import seeded_sources
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.turns import plain_turn
from tests.worlds import PINS, STORE, FileWorld, root_key

PLACES = ("here", "there")


def opened(home: Path, *places: str, failure: PinFailure = PinFailure.ERROR, seed: str = "pins") -> Runtime:
    """Open a store that is pinned in these places."""
    pins = Pins([FilePin(home / place) for place in places], failure=failure)
    return muniment.open(home / STORE, keys=root_key(), options=Options(sources=seeded_sources(seed), pin=pins))


def sizes(home: Path, *places: str) -> list[str]:
    """Return the size that is pinned in each place."""
    return [next((home / place).glob("*.checkpoint")).read_text().split("\n")[1] for place in places]


def test_a_deleted_pin_is_told_until_the_store_is_opened_again(
    lasting: FileWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """That there is a pin again, because somebody appended, hides nothing."""
    lasting.with_turns(2).close()
    shutil.rmtree(lasting.home / PINS)
    with caplog.at_level(logging.WARNING, "muniment"):
        health = lasting.reopened().runtime.system.health()
    assert (health.sound, health.pinned, health.unpinned) == (True, False, 1)
    assert "nothing is pinned at 1 of 1 places" in caplog.text
    assert lasting.runtime.evidence.inspect().pinned is False
    lasting.masked(1)
    health = lasting.runtime.system.health()
    assert (health.pinned, health.unpinned) == (True, 1)
    assert lasting.reopened().runtime.system.health().unpinned == 0


def test_a_new_log_is_not_unpinned(lasting: FileWorld) -> None:
    assert lasting.runtime.system.health().unpinned == 0
    assert lasting.reopened().runtime.system.health().unpinned == 0


def test_every_place_is_written(tmp_path: Path) -> None:
    with opened(tmp_path, *PLACES) as runtime:
        runtime.transcripts.commit(plain_turn(1))
    assert len(set(sizes(tmp_path, *PLACES))) == 1


@pytest.mark.parametrize("left", PLACES)
def test_one_place_that_remembers_is_enough(left: str, tmp_path: Path) -> None:
    """Who puts the store back, and deletes or puts back every pin but one, is found."""
    opened(tmp_path, *PLACES).close()
    for name in (STORE, *PLACES):
        shutil.copytree(tmp_path / name, tmp_path / "older" / name)
    with opened(tmp_path, *PLACES) as runtime:
        runtime.transcripts.commit(plain_turn(1))
    for name in {STORE, *PLACES} - {left}:
        shutil.rmtree(tmp_path / name)
        shutil.copytree(tmp_path / "older" / name, tmp_path / name)
    with opened(tmp_path, *PLACES) as runtime:
        health = runtime.system.health()
        assert (health.sound, health.fault) == (False, "store.rolled_back")
        with pytest.raises(RolledBack) as refused:
            runtime.transcripts.commit(plain_turn(2))
        assert refused.value.path is not None
        assert Path(refused.value.path).parent == tmp_path / left


def test_a_place_of_another_history_is_found_although_the_other_place_is_farther(tmp_path: Path) -> None:
    opened(tmp_path, *PLACES).close()
    for name in (STORE, "there"):
        shutil.copytree(tmp_path / name, tmp_path / "fork" / name)
    with opened(tmp_path / "fork", "there", seed="fork") as fork:
        fork.transcripts.commit(plain_turn(7))
    with opened(tmp_path, *PLACES) as runtime:
        for number in range(1, 6):
            runtime.transcripts.commit(plain_turn(number))
    shutil.rmtree(tmp_path / "there")
    shutil.copytree(tmp_path / "fork" / "there", tmp_path / "there")
    with opened(tmp_path, *PLACES) as runtime:
        assert runtime.system.health().fault == "store.corrupt"


def test_a_place_that_is_gone_for_a_while_is_brought_up_to_date(tmp_path: Path) -> None:
    """Its failure is a warning where that is set; the next checkpoint reaches it again."""
    opened(tmp_path, *PLACES).close()
    (tmp_path / "there").rename(tmp_path / "elsewhere")
    (tmp_path / "there").write_text("no directory")
    with pytest.raises(StoreFault):
        opened(tmp_path, *PLACES)
    with opened(tmp_path, *PLACES, failure=PinFailure.WARNING) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        assert runtime.system.health().unpinned == 0
    (tmp_path / "there").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "there")
    with opened(tmp_path, *PLACES) as runtime:
        runtime.transcripts.commit(plain_turn(2))
    assert len(set(sizes(tmp_path, *PLACES))) == 1


def test_a_restore_is_pinned_in_every_place(tmp_path: Path) -> None:
    """The places follow the restored log together, also the one that was behind."""
    with opened(tmp_path, *PLACES) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        runtime.spaces.backup(str(tmp_path / "backup"))
    shutil.copytree(tmp_path / "there", tmp_path / "behind")
    with opened(tmp_path, *PLACES) as runtime:
        for number in (2, 3, 4, 5, 6):
            runtime.transcripts.commit(plain_turn(number))
    shutil.rmtree(tmp_path / "there")
    (tmp_path / "behind").rename(tmp_path / "there")
    with opened(tmp_path, *PLACES) as runtime:
        assert runtime.spaces.restore(str(tmp_path / "backup"), replace=True).sound
        assert (runtime.system.health().pinned, runtime.system.health().unpinned) == (True, 0)
    with opened(tmp_path, *PLACES) as runtime:
        assert runtime.system.health().sound
        runtime.transcripts.commit(plain_turn(2))
