"""`--pin`: where the head is pinned, in one place or several."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.cli.shell import Shell


def test_a_head_is_pinned_in_every_place_that_is_named(filled: Shell) -> None:
    """The option replaces the settings, wherever it stands; each place is checked from then on."""
    filled.must("--pin", "one", "evidence", "checkpoint", "--pin", "two")
    notes = [next((filled.directory / name).glob("*.checkpoint")).read_text() for name in ("one", "two")]
    assert notes[0] == notes[1]
    shutil.copytree(filled.directory / "store", filled.directory / "older")
    filled.must("lifecycle", "retain", "--keep-at-least", "1d", "--reason", "law", "--requester", "ada", "--pin", "two")
    shutil.rmtree(filled.directory / "store")
    (filled.directory / "older").rename(filled.directory / "store")
    assert filled.run("conversations", "list", "--pin", "one").code == 0
    assert filled.run("conversations", "list", "--pin", "one", "--pin", "two").code == 6


def test_a_place_that_cannot_be_reached_is_an_error_or_a_warning(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (filled.directory / "file").write_text("")
    words = ("evidence", "checkpoint", "--pin", "one", "--pin", "file", "--json")
    assert filled.run(*words).code == 7
    monkeypatch.setenv("MUNIMENT_PIN_FAILURE", "warning")
    ran = filled.run(*words)
    assert ran.code == 0
    assert "cannot be reached" in ran.err
    assert json.loads(ran.out)["size"]
