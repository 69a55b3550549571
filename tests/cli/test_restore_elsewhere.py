"""Restoring on a new machine: nothing is made by the way, and the right key still works afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import muniment
from muniment.errors import KeyUnavailable
from tests.cli.shell import Shell
from tests.cli.test_commands import CONVERSATION


@pytest.fixture
def elsewhere(filled: Shell, tmp_path: Path) -> Shell:
    """Return a shell on a machine that has a backup and the right key beside it, and nothing else."""
    filled.must("spaces", "backup", "backup")
    home = tmp_path / "elsewhere"
    home.mkdir()
    shutil.copytree(filled.directory / "backup", home / "backup")
    shutil.copyfile(filled.directory / ".config/muniment/root.key", home / "right.key")
    (home / "right.key").chmod(0o600)
    other = filled.run("spaces", "list", "--store", "none", "--keys", "file:none.key")
    assert other.code == 4
    (home / "wrong.key").write_text("ab" * 32)
    (home / "wrong.key").chmod(0o600)
    return Shell(home)


def everything_at(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*")}


RESTORE = ("spaces", "restore", "backup", "--yes")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((*RESTORE, "--keys", "missing.key"), 7, "key.unavailable"),
        (RESTORE, 7, "key.unavailable"),
        ((*RESTORE, "--dry-run"), 7, "key.unavailable"),
        ((*RESTORE, "--keys", "wrong.key"), 3, "key.wrong"),
        ((*RESTORE, "--keys", "wrong.key", "--sealed-by", "missing.key"), 7, "key.unavailable"),
        ((*RESTORE, "--keys", "right.key", "--dry-run"), 0, "events"),
        ((*RESTORE, "--keys", "wrong.key", "--sealed-by", "right.key", "--dry-run"), 0, "events"),
        (("spaces", "restore", "nowhere", "--yes", "--keys", "right.key"), 4, "file.unavailable"),
    ],
)
def test_a_restore_that_does_not_happen_leaves_nothing_behind(
    arguments: tuple[str, ...], code: int, words: str, elsewhere: Shell
) -> None:
    """No key, no store, no pin, no directory; then the right key restores everything."""
    before = everything_at(elsewhere.directory)
    ran = elsewhere.run(*arguments)
    assert (ran.code, words in ran.said) == (code, True), ran
    assert everything_at(elsewhere.directory) == before
    elsewhere.must(*RESTORE, "--keys", "right.key")
    replayed = elsewhere.must("transcripts", "replay", *CONVERSATION, "--keys", "right.key")
    assert "turn" in replayed.out


def test_a_missing_key_is_named_on_standard_error(elsewhere: Shell) -> None:
    """By its path as it was typed, plain or as a URI."""
    for typed in ("missing.key", "file:missing.key"):
        ran = elsewhere.run(*RESTORE, "--keys", typed)
        assert "Cannot read the root key from missing.key." in ran.err


def test_another_root_key_is_used_when_it_is_there(elsewhere: Shell) -> None:
    elsewhere.must(*RESTORE, "--keys", "wrong.key", "--sealed-by", "right.key")
    assert elsewhere.run("spaces", "usage", "--keys", "right.key").code == 3
    assert elsewhere.run("spaces", "usage", "--keys", "wrong.key").code == 0


def test_a_store_that_is_opened_for_restoring_is_made_by_the_restore(elsewhere: Shell) -> None:
    """From Python, too: opening it makes nothing, and a missing key is an error."""
    home = elsewhere.directory
    options = muniment.Options(pin=muniment.FilePin(str(home / "pins")))
    with pytest.raises(KeyUnavailable):
        muniment.open_store(home / "store", keys=home / "missing.key", options=options)
    with muniment.open_store(home / "store", keys=home / "right.key", options=options) as store:
        assert not (home / "store").exists()
        store.spaces.restore(str(home / "backup"))
        assert (home / "store" / "store.json").exists()
    with muniment.open(home / "store", keys=home / "right.key", options=options) as runtime:
        assert runtime.system.health().sound


def test_the_directory_of_the_sealed_keys_is_not_called_a_keyring(elsewhere: Shell) -> None:
    """`keyring:` is a source of root keys; the help of `--keyring` says that it is a directory of a backup."""
    for verb in ("backup", "restore"):
        told = " ".join(elsewhere.must("spaces", verb, "--help").out.split())
        assert "not a root key" in told
