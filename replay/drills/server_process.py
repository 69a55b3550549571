"""`muniment serve` in a process of its own, for drills that kill it or press it hard."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2

from replay.drills.load import REPOSITORY

START_S, STOP_S = 60, 60


def peak_bytes(process: int) -> int:
    """Return the most memory that a process had at once."""
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(kilobytes) * 1024


class ServerProcess:
    """`muniment serve` in a process of its own."""

    def __init__(self, directory: Path) -> None:
        store = ["--store", str(directory / "store"), "--keys", f"file:{directory / 'root.key'}"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "muniment", "serve", "--port", "0", *store, "--pin", str(directory / "pins")],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None, "it was started with a pipe"
        self.url = self._process.stdout.readline().split()[-1]
        self._await_answer()

    def _await_answer(self) -> None:
        for _ in range(int(START_S / 0.05)):
            try:
                httpx2.get(f"{self.url}/health/live", timeout=START_S)
            except httpx2.TransportError:
                time.sleep(0.05)
            else:
                return
        raise TimeoutError("a server did not start")

    @property
    def peak_bytes(self) -> int:
        """The most memory that it had at once."""
        return peak_bytes(self._process.pid)

    def kill(self) -> None:
        """Kill it, with everything that it holds in memory."""
        self._process.kill()
        self._process.communicate()

    def stop(self) -> str | None:
        """Ask it to end; return how it failed to."""
        self._process.send_signal(signal.SIGTERM)
        try:
            ending = self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"a server that was stopped did not end within {STOP_S} s"
        return None if ending in {0, -signal.SIGTERM, 130, 143} else f"a server that was stopped ended with {ending}"
