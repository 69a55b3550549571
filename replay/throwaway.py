"""What others ship, installed into a directory that nobody keeps: nothing of it is a dependency.

Python packages go into virtual environments of their own; source distributions are unpacked beside them. What a
registry does not have, or what cannot be reached, is `NotInstallable`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

INSTALL_S = 900
OURS_TO_MEND = ("ResolutionImpossible", "conflicting dependencies", "Failed to build", "metadata-generation-failed")
NO_NEWS = ("--disable-pip-version-check",)


class NotInstallable(Exception):
    """Something is not available here."""


class Installations:
    """A directory of such things; each is made when it is first asked for, and once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._directory.mkdir(parents=True, exist_ok=True)

    def once(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return a directory of ours; make it under another name first, so that half of one is never taken for it."""
        home, half = self._directory / name, self._directory / f"{name}.part"
        if not home.exists():
            shutil.rmtree(half, ignore_errors=True)
            make(half)
            half.rename(home)
        return home


def make_environment(half: Path, requirements: Sequence[str]) -> None:
    """Make a virtual environment with packages of PyPI, called by `bin/python -m`: its scripts name another place."""
    venv.create(half, with_pip=True)
    install([str(half / "bin" / "python"), "-m", "pip", "install", "-q", *NO_NEWS, *requirements], requirements[0])


def unpack(half: Path, package: str) -> None:
    """Fetch a source distribution and unpack it."""
    half.mkdir()
    options = [*NO_NEWS, "--no-deps", "--no-binary", ":all:", "-q", "-d", str(half)]
    install([sys.executable, "-m", "pip", "download", *options, package], package)
    with tarfile.open(next(half.glob("*.tar.gz"))) as archive:
        archive.extractall(half, filter="data")


def install(command: Sequence[str], what: str, directory: Path | None = None) -> None:
    """Run what installs something; raises `NotInstallable`, or RuntimeError for what would fail everywhere."""
    try:
        ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as broken:
        raise NotInstallable(f"{what}: {type(broken).__name__}") from None
    if ran.returncode:
        if any(sign in ran.stderr for sign in OURS_TO_MEND):
            raise RuntimeError(ran.stderr)
        said = (ran.stderr or ran.stdout).strip().splitlines()
        raise NotInstallable(f"{what}: {said[-1] if said else f'ended with {ran.returncode}'}")
