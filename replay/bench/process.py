"""Fresh processes: what a benchmark has done by a module of its own, with this code, and the memory that it took."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.machine import REPOSITORY

STATM = Path("/proc/self/statm")
T = TypeVar("T")


def command(module: str, *given: str) -> list[str]:
    """Return the command that runs a module of this repository."""
    return [sys.executable, "-m", module, *given]


def environment() -> dict[str, str]:
    """Return the environment in which this code is what is imported."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])}


def said_by(module: str, *given: str, form: type[T]) -> T:
    """Run a module in a fresh process; return what it wrote as JSON."""
    said = subprocess.run(
        command(module, *given), cwd=REPOSITORY, env=environment(), stdout=subprocess.PIPE, check=True
    )
    return msgspec.json.decode(said.stdout, type=form)


def resident() -> int:
    """Return the bytes of memory that this process has; where that is not told, the most that it ever had."""
    gc.collect()
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
