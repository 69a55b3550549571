"""`muniment doctor`: every check, what to do next about each finding, whatever state the store is in."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from typing import Any

import msgspec
import pytest

import muniment
from muniment import errors
from muniment.errors import Kind, MunimentError
from muniment.operations.system.diagnosis import DoctorReport
from muniment.operations.system.remedies import OTHERWISE, REMEDIES, Ailment, remedy_of
from muniment.projections.inspection.findings import FindingKind
from muniment.runtime.catalogue import catalogue
from muniment.transports.cli.app import ALIASES, BESIDE
from muniment.transports.cli.failure import VERDICT
from tests.cli.shell import Shell
from tests.runtime.custody import EVERYTHING

COMMAND = re.compile(r"`muniment ([a-z-]+)(?: ([a-z-]+))?[^`]*`")
CANARY = "Canary"
UNPINNED = "nothing is pinned at 1 of 1 places: deleted, or new\n"


def told(shell: Shell, *words: str) -> tuple[int, dict[str, Any]]:
    ran = shell.run("doctor", *words, "--json")
    assert ran.err in {"", UNPINNED}, ran
    report: dict[str, Any] = json.loads(ran.out)
    return ran.code, report


def kinds(report: dict[str, Any], *, warnings: bool = True) -> set[str]:
    return {each["kind"] for each in report["findings"] if warnings or not each.get("warning")}


def gravest_of(report: dict[str, Any]) -> Kind | None:
    """Return what a host in Python sees as the verdict; a command ends with 1 whatever it is."""
    return msgspec.convert(report, DoctorReport).verdict


# --- the table --------------------------------------------------------------------------------------------------------


def test_everything_that_can_be_found_has_a_remedy_with_a_command_that_exists() -> None:
    """Findings of an inspection, ailments, and the errors that a store or a key can be opened with."""
    classes = [thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, MunimentError)]
    codes = {each.code for each in classes if each.code.startswith(("store.", "key.", "space."))}
    assert set(REMEDIES) == {*FindingKind, *Ailment, *codes}
    paths = {tuple(each.path.replace("_", "-").split(".")) for each in catalogue()}
    for remedy in [*REMEDIES.values(), OTHERWISE]:
        commands = COMMAND.findall(remedy.next)
        assert commands or "`pip install" in remedy.next or "`chmod" in remedy.next, remedy
        for first, second in commands:
            assert (first, second) in paths or first in ALIASES or first in BESIDE, remedy


def test_what_nothing_is_known_about_has_a_remedy_too() -> None:
    assert remedy_of("something.new") is OTHERWISE


# --- states of a store ------------------------------------------------------------------------------------------------


def test_a_store_in_order_has_nothing_but_what_it_is(filled: Shell) -> None:
    code, report = told(filled)
    assert (code, report["healthy"], kinds(report, warnings=False)) == (0, True, set())
    assert (report["space"], report["events"] > 5, report["pinned"], report["with_key"]) == (
        "default",
        True,
        True,
        True,
    )
    assert report["free_bytes"] > 0
    assert report["settings"] == ["MUNIMENT_STORE"]
    page = filled.must("doctor")
    assert page.out.startswith("No problems found.")
    assert filled.must("system", "doctor").out.splitlines()[:2] == page.out.splitlines()[:2]


def test_a_store_that_is_not_there_is_told_and_not_made(shell: Shell) -> None:
    code, report = told(shell)
    assert (code, gravest_of(report), kinds(report)) == (VERDICT, Kind.MISSING, {"store.missing"})
    assert not (shell.directory / "store").exists()
    assert not (shell.directory / ".config").exists()


@pytest.mark.parametrize(
    ("keys", "kind", "gravest"),
    [("missing.key", "key.unavailable", Kind.UNAVAILABLE), ("nonsense", "key.invalid", Kind.INVALID)],
)
def test_without_its_key_a_store_is_audited(keys: str, kind: str, gravest: Kind, filled: Shell) -> None:
    code, report = told(filled, "--keys", keys)
    assert (code, gravest_of(report)) == (VERDICT, gravest)
    assert (kinds(report, warnings=False), report["with_key"]) == ({kind}, False)
    assert report["events"] > 5


def test_with_another_key_it_says_so(filled: Shell) -> None:
    (filled.directory / "other.key").write_text("ab" * 32)
    (filled.directory / "other.key").chmod(0o600)
    code, report = told(filled, "--keys", "other.key")
    assert (code, gravest_of(report), kinds(report, warnings=False)) == (VERDICT, Kind.DENIED, {"key.wrong"})


def test_an_exposed_key_and_an_exposed_directory_are_told(filled: Shell) -> None:
    (filled.directory / ".config/muniment/root.key").chmod(0o644)
    (filled.directory / "store").chmod(0o755)
    code, report = told(filled)
    assert (code, {"key.exposed", "key_exposed", "store_exposed"} <= kinds(report)) == (VERDICT, True)
    assert gravest_of(report) is Kind.DENIED


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        ("DELETE FROM events WHERE turn_seq = 2", "event_missing"),
        ("UPDATE events SET time = time + 1 WHERE turn_seq = 2", "keys_damaged"),
        ("UPDATE frontier SET range = x'00'", "tree_mismatch"),
    ],
)
def test_an_unsound_store_is_diagnosed(edit: str, kind: str, filled: Shell) -> None:
    (log,) = (filled.directory / "store").glob("spaces/*/log.db")
    with closing(sqlite3.connect(log)) as database, database:
        database.execute(edit)
    code, report = told(filled)
    assert (code, report["healthy"], kind in kinds(report)) == (VERDICT, False, True), report
    assert gravest_of(report) is Kind.CORRUPT
    page = filled.run("doctor")
    assert (page.code, page.out.startswith("Problems found.")) == (VERDICT, True)
    assert all(each["next"] in page.out for each in report["findings"])
    keyless, seen = told(filled, "--keys", "missing.key")
    assert (keyless, gravest_of(seen) in {Kind.CORRUPT, Kind.UNAVAILABLE}) == (VERDICT, True)
    assert not seen["healthy"]


def test_a_lost_log_and_a_file_that_is_no_log_are_diagnosed(filled: Shell) -> None:
    (log,) = (filled.directory / "store").glob("spaces/*/log.db")
    for contents, kind in ((b"", "log_lost"), (b"no database at all" * 500, "store.corrupt")):
        log.write_bytes(contents)
        code, report = told(filled)
        assert (code, kind in kinds(report)) == (VERDICT, True), report
        assert gravest_of(report) is Kind.CORRUPT


def test_what_is_not_pinned_not_signed_or_set_for_nothing_is_a_warning(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that a host chose is not repeated."""
    shutil.rmtree(filled.directory / ".local/state/muniment/pins")
    monkeypatch.setenv(f"MUNIMENT_{CANARY}", CANARY)
    code, report = told(filled)
    assert (code, {"not_pinned", "setting_unknown"} <= kinds(report)) == (0, True)
    assert CANARY not in str(report)


def test_a_key_inside_the_store_is_a_warning(filled: Shell) -> None:
    shutil.copy(filled.directory / ".config/muniment/root.key", filled.directory / "store/root.key")
    _, report = told(filled, "--keys", "store/root.key")
    assert "key_beside_store" in kinds(report)


def test_an_erased_space_is_told(filled: Shell) -> None:
    home = filled.directory
    options = muniment.Options(pin=muniment.FilePin(home / ".local/state/muniment/pins"))
    with muniment.open(home / "store", keys=home / ".config/muniment/root.key", options=options) as runtime:
        assert runtime.lifecycle.erase(EVERYTHING, "x", "me").changed
    code, report = told(filled)
    assert (code, "space.erased" in kinds(report)) == (VERDICT, True)
    assert gravest_of(report) is Kind.MISSING


def test_the_doctor_changes_nothing(filled: Shell) -> None:
    def contents() -> dict[str, bytes]:
        files = (
            path for path in filled.directory.rglob("*") if path.is_file() and path.suffix == path.suffix.split("-")[0]
        )
        return {str(path): path.read_bytes() for path in files}

    before = contents()
    told(filled)
    told(filled, "--keys", "missing.key")
    assert contents() == before


def test_from_python_it_is_an_operation() -> None:
    with muniment.open("memory:") as runtime:
        report = runtime.system.doctor()
        assert (report.healthy, report.verdict, report.space) == (True, None, "default")
