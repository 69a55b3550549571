"""Runs tests of frameworks against our adapters: installs each framework, plugs ours in, compares with its table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from replay.hosts.outcome import differences, read
from replay.hosts.tables import HERE, HostTable, markdown, tables
from replay.machine import REPOSITORY
from replay.throwaway import Installations, NotInstallable, make_environment, unpack

REPORT = HERE.parent / "HOSTS.md"
SAID_CHARS_MAX = 6000
TESTS_S, EXAMPLE_S = 1200, 120
RAN = (0, 1)  # endings of pytest when all tests ran
INI = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"


class HostOrder(Struct, frozen=True, kw_only=True):
    """Which tables, and where frameworks are installed."""

    names: tuple[str, ...] = ()
    fastest: bool = False
    installed: Path | None = None


def run_hosts(order: HostOrder) -> bool:
    """Run the tests of each table and tell what they came to; return whether all of it was expected."""
    is_expected = True
    for name, table in tables().items():
        if (order.names and name not in order.names) or (order.fastest and not table.fastest):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="muniment-hosts-") as made:
            scratch = Path(made)
            try:
                findings = _Bench(
                    table, name, scratch, Installations(order.installed or scratch / "installed")
                ).findings()
            except NotInstallable as missing:
                print(f"{name}: left out, not installable here: {missing}", file=sys.stderr)
                continue
        verdict = "FAILED" if findings else "passed"
        counted = f"{table.framework}, {table.passed} of its tests, {len(table.expected_failures)} expected failures"
        print("\n  ".join([f"[{time.monotonic() - began:4.0f} s] {name}: {verdict}; {counted}", *findings]), flush=True)
        is_expected = is_expected and not findings
    return is_expected


def write() -> None:
    """Write HOSTS.md."""
    REPORT.write_text(markdown(tables().values()), encoding="utf-8")


class _Bench:
    """One table, its framework in an environment of its own, and a directory to run in."""

    def __init__(self, table: HostTable, name: str, scratch: Path, installations: Installations) -> None:
        self._table, self._name, self._scratch, self._installations = table, name, scratch, installations

    def findings(self) -> list[str]:
        """Run everything; return what was not expected."""
        home = self._installations.once(self._name, lambda half: make_environment(half, self._requirements()))
        python = str(home / "bin" / "python")
        table, work = self._table, self._unpacked()
        findings: list[str] = []
        if table.theirs:
            ini = self._scratch / "pytest.ini"
            ini.write_text(INI)
            ending, said = self._pytest(python, ["-c", str(ini), "--rootdir", str(work), *table.theirs], work)
            findings = differences(table, read(self._report))
            if ending not in RAN or findings:
                findings.append(said[-SAID_CHARS_MAX:])
        if table.ours:
            ending, said = self._pytest(python, ["-p", "no:asyncio", *table.ours], REPOSITORY)
            ran = read(self._report)
            is_run = ending == 0 and ran.passed and not ran.skipped
            findings += [] if is_run else [f"tests of ours: {said[-SAID_CHARS_MAX:]}"]
        for example in table.examples:
            ending, said = self._ran([python, str(REPOSITORY / example)], self._scratch, EXAMPLE_S)
            findings += [f"{example} ended with {ending}: {said[-SAID_CHARS_MAX:]}"] if ending else []
        return findings

    @property
    def _report(self) -> Path:
        return self._scratch / "junit.xml"

    def _requirements(self) -> list[str]:
        return [*self._table.install, "-e", str(REPOSITORY)]

    def _unpacked(self) -> Path:
        """Return a directory with the tests of the source distribution, and the plugs beside them."""
        work = self._scratch / "work"
        work.mkdir()
        if self._table.sdist:
            name = self._table.sdist.replace("==", "-")
            [source] = [
                path
                for path in self._installations.once(name, lambda half: unpack(half, self._table.sdist)).iterdir()
                if path.is_dir()
            ]
            shutil.copytree(source / "tests", work / "tests")
            if (source / "conftest.py").is_file():
                shutil.copy(source / "conftest.py", work)
        for plug in self._table.theirs:
            if "/" not in plug:
                shutil.copy(HERE / plug, work)
        return work

    def _pytest(self, python: str, options: Sequence[str], directory: Path) -> tuple[int, str]:
        self._report.unlink(missing_ok=True)
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", f"--junit-xml={self._report}"]
        return self._ran([*command, *options], directory, TESTS_S)

    def _ran(self, command: Sequence[str], directory: Path, timeout_s: float) -> tuple[int, str]:
        """Run a program with nothing of the person's own; return how it ended and all that it said."""
        odd = ("MUNIMENT_", "XDG_", "PYTHON", "PYTEST", "VIRTUAL_ENV", "COV_", "COVERAGE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(odd)}
        environment = {**kept, "HOME": str(self._scratch), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ran = subprocess.run(
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, f"did not end within {timeout_s:.0f} s"
        return ran.returncode, ran.stdout + ran.stderr
