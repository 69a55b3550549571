"""Where only the pin finds no room, the answer says that the log has what was written."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NoReturn

import pytest

from muniment.errors import StoreFull
from muniment.evidence.pin import FilePin
from tests.worlds import sqlite_world


def test_a_full_disk_under_the_pin_does_not_say_that_nothing_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = sqlite_world(tmp_path).with_turns(1)

    def full(_pin: FilePin) -> NoReturn:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(FilePin, "_locked", full)
        with pytest.raises(StoreFull) as refused:
            world.masked(1)
    assert refused.value.at == "pin"
    assert "what was to be written is in the store" in str(refused.value)
    assert "nothing was written" not in str(refused.value)
    assert world.replay().turns[0].phase == "masked"
    world.close()
