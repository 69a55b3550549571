"""What a suite came to."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

SAID_CHARS_MAX = 6000


class SuiteResult(Struct, frozen=True, kw_only=True):
    """One run of a suite: what was counted, and what is wrong, where something is."""

    name: str
    counted: str
    findings: list[str] = []

    def line(self) -> str:
        """Return the result as text."""
        told = [f"{self.name}: {'FAILED' if self.findings else 'passed'}; {self.counted}", *self.findings]
        return "\n  ".join(told)


def ran(command: Sequence[str], directory: Path, *, timeout_s: float) -> tuple[int, str]:
    """Run a program in a directory, where it may leave what it likes; return how it ended and all that it said."""
    process = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=timeout_s, check=False)
    return process.returncode, process.stdout + process.stderr


def tail(said: str) -> str:
    """Return the end of what a program said."""
    return said[-SAID_CHARS_MAX:]
