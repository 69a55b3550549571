"""The machine a report was made on: what a reader must know before comparing figures."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sqlite3
import subprocess
from pathlib import Path

import apsw

LIBRARIES = ("muniment", "apsw", "cryptography", "msgspec", "numpy")
REPORTS = (":!replay/*.md", ":!replay/drills.json")  # written by the very runs that name the commit
REPOSITORY = Path(__file__).resolve().parents[1]


def machine(scratch: Path) -> dict[str, str]:
    """Describe processor, memory, system, versions, and the file system that a path is on."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "file system": _file_system(scratch),
        "Python": platform.python_version(),
        "SQLite": f"{apsw.sqlite_lib_version()} (apsw), {sqlite3.sqlite_version} (stdlib)",
        "libraries": ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        "load": f"{os.getloadavg()[0]:.1f} processes in the minute before the report, including this one",
        "commit": commit(),
    }


def version(distribution: str) -> str:
    """Return the version of a library, or "from source"."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "from source"


def is_installed(module: str) -> bool:
    """Tell whether a module could be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def commit() -> str:
    """Return the commit that is checked out, and whether something but a report was changed since."""
    name, changed = (
        subprocess.run(["git", *command], cwd=REPOSITORY, capture_output=True, text=True, check=False)  # noqa: S607 - whichever git there is
        for command in (["describe", "--always", "--abbrev=12"], ["diff", "--quiet", "HEAD", "--", ".", *REPORTS])
    )
    return name.stdout.strip() + ("-dirty" if changed.returncode else "") if name.stdout else "unknown"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or "unknown"


def _file_system(path: Path) -> str:
    """Return the type of the file system that a path is on: that of the longest mount point above it."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    rows = [line.split() for line in mounts.read_text().splitlines()]
    above = [(row[1], row[2]) for row in rows if path.resolve().is_relative_to(row[1])]
    return max(above, key=lambda row: len(row[0]))[1] if above else "unknown"
