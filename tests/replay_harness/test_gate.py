"""The gate sees what it must: digests that change without a version, histories that fail, old stores that differ."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from muniment.errors import FileUnavailable, InvalidInput
from muniment.replay.digests import FILE, digests_text, read_digests
from muniment.replay.measuring import PROJECTIONS
from replay import broken, check, releases
from tests.replay_harness.histories import HISTORIES

SMALL = ["limits", "conflict-of-a-turn"]


@pytest.fixture
def histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with two of the histories, which the gate looks at instead of all."""
    for name in SMALL:
        shutil.copy(HISTORIES / f"{name}.jsonl", tmp_path)
    known = read_digests(HISTORIES)
    few = replace(known, fixtures={name: known.fixtures[name] for name in SMALL})
    (tmp_path / FILE).write_text(digests_text(few))
    monkeypatch.setattr(check, "HISTORIES", tmp_path)
    return tmp_path


def told(names: list[str]) -> list[str]:
    """Return what the gate says."""
    said: list[str] = []
    check.check(names, said.append)
    return said


def test_the_gate_is_silent_when_everything_holds(histories: Path) -> None:
    assert told(SMALL) == ["check: 2 fixtures, 14 runs, 16 calls over HTTP, 0 failures"]
    before = (histories / FILE).read_bytes()
    assert check.main([], writes=True) == 0
    assert (histories / FILE).read_bytes() == before


def test_a_digest_changes_only_with_its_version(histories: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same version it fails and is not written; with the next version it is out of date, then written."""
    known = (histories / FILE).read_text()
    digest = next(line.split('"')[1] for line in known.splitlines() if line.startswith("catalogue = ") and '"' in line)
    (histories / FILE).write_text(known.replace(digest, "0" * 64))
    assert any(f"projection catalogue: {digest}, not {'0' * 64}" in line for line in told(SMALL))
    said: list[str] = []
    assert not check.write(said.append)
    assert "catalogue differs and has the version it had" in said[0]
    today = PROJECTIONS["catalogue"].version
    monkeypatch.setitem(PROJECTIONS, "catalogue", PROJECTIONS["catalogue"]._replace(version=today + 1))
    assert any("projection catalogue has another version" in line for line in told(SMALL))
    assert check.write(said.append)
    assert (histories / FILE).read_text() == known.replace(f"catalogue = {today}", f"catalogue = {today + 1}")
    assert told(SMALL)[-1].endswith(" 0 failures")


def test_a_history_that_changed_is_unchecked_until_it_is_written(histories: Path) -> None:
    path = histories / "limits.jsonl"
    path.write_text(path.read_text().replace("What is too large", "Whatever is too large"))
    assert any("projection links is not checked" in line for line in told(["limits"]))
    assert check.main([], writes=True) == 0
    assert check.main(["limits"], writes=False) == 0


def test_a_history_that_fails_fails_the_gate(histories: Path) -> None:
    path = histories / "limits.jsonl"
    path.write_text(path.read_text().replace('"size":3', '"size":4'))
    assert any("log.size: 3, not 4" in line for line in told(["limits"]))
    assert check.main(["limits"], writes=False) == 1


def test_few_histories_and_no_released_store_fail_the_gate(
    histories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "RELEASES", tmp_path / "none")
    said = told([])
    assert "2 fixtures, at least 25 are wanted" in said
    assert "no released store is there" in said
    assert histories == tmp_path


@pytest.mark.parametrize(("text", "error"), [("[", InvalidInput), ("other = 1", InvalidInput)])
def test_digests_that_cannot_be_read_are_refused(histories: Path, text: str, error: type[Exception]) -> None:
    (histories / FILE).write_text(text)
    with pytest.raises(error):
        read_digests(histories)


def test_digests_that_are_no_text_are_not_taken_for_none(histories: Path) -> None:
    (histories / FILE).write_bytes(b"\xff")
    with pytest.raises(FileUnavailable):
        read_digests(histories)


# --- released stores --------------------------------------------------------------------------------------------------


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Return a copy of the released stores."""
    return Path(shutil.copytree(releases.RELEASES, tmp_path / "stores"))


def test_every_released_store_opens_and_is_what_it_was(copies: Path) -> None:
    before = {path: path.read_bytes() for path in releases.RELEASES.rglob("*") if path.is_file()}
    assert not list(releases.complaints_about(releases.RELEASES))
    assert {path: path.read_bytes() for path in releases.RELEASES.rglob("*") if path.is_file()} == before
    assert not list(releases.complaints_about(copies))


def test_a_released_store_that_differs_is_told(copies: Path) -> None:
    (expected,) = copies.glob(f"*/{releases.EXPECTED}")
    expected.write_text(expected.read_text().replace('"turns": 19', '"turns": 20'))
    assert list(releases.complaints_about(copies)) == [f"store of {expected.parent.name}: holds something else: turns"]


def test_a_released_store_that_was_edited_is_told(copies: Path) -> None:
    (log,) = copies.glob("*/store/spaces/*/log.db")
    data = bytearray(log.read_bytes())
    at = data.index(b"turn.committed")
    data[at : at + 4] = b"tarn"
    log.write_bytes(bytes(data))
    assert list(releases.complaints_about(copies))


def test_a_store_is_written_once_for_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(releases, "RELEASES", tmp_path)
    assert releases.release() == 0
    assert not list(releases.complaints_about(tmp_path))
    assert releases.release() == 1
    assert "never written again" in capsys.readouterr().out


# --- seen red ---------------------------------------------------------------------------------------------------------


def test_every_history_is_turned_red_by_something() -> None:
    assert broken.unnamed() == set()
    assert {name for one in broken.listed() for name in one.red} <= {path.stem for path in HISTORIES.glob("*.jsonl")}


def test_every_way_to_break_the_product_finds_its_text() -> None:
    """One that finds it no more would show nothing; the list is kept with the code."""
    texts = [((broken.SOURCES / "muniment" / one.file).read_text(), one) for one in broken.listed()]
    assert [one.what for text, one in texts if text.count(one.old) != 1] == []


def test_a_history_fails_where_the_product_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    """A few of them; `python -m replay broken` shows all."""
    assert broken.main(["masked words", "slips past"]) == 0
    assert capsys.readouterr().out == "broken: 2 ways, 3 histories turned red, 0 failures\n"


def test_what_is_not_broken_holds_all_the_same() -> None:
    one = broken.listed()[0]
    assert list(broken.complaints([replace(one, new=one.old)])) == [
        f"{one.what}: {name} holds all the same" for name in one.red
    ]
    assert list(broken.complaints([replace(one, old="no such text")])) == [
        f"{one.what}: {one.file} has another text by now"
    ]
