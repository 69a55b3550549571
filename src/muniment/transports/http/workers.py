"""Several server processes that share a place to listen at, and the one that looks after them.

Each process is a fresh one (never a fork), opens the store by itself, and takes connections from the same socket. One
that ends is replaced; after a short life there is a pause, which grows. A signal to stop is handed on: every process
lets its requests in work end and closes its store. A second one ends them at once. A process whose starter is gone
stops, too.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import NamedTuple

from muniment.transports.http.process_signals import handled
from muniment.transports.http.serving import GRACE_S

POLL_S = 0.25
STEADY_S = 10.0  # a process that lives as long has started well
PAUSE_S_MAX = 30.0
LEAVE_S = GRACE_S + 10.0  # how long a process has to end
STOPPING = (signal.SIGTERM, signal.SIGINT)
_log = logging.getLogger("muniment.http")


class Worker(NamedTuple):
    """A server process, and when it was started."""

    process: SpawnProcess
    since_s: float


class Workers:
    """The server processes. `work` is what each of them does; it has to be picklable."""

    def __init__(self, count: int, work: Callable[[], None]) -> None:
        self._count = count
        self._work = work
        self._workers: list[Worker] = []
        self._signals = 0
        self._failures = 0
        self._start_at_s = 0.0

    def run(self) -> None:
        """Keep the processes running until a signal stops them all."""
        with handled(self._noted, *STOPPING):
            try:
                while not self._signals:
                    self._replace()
                    connection.wait([worker.process.sentinel for worker in self._workers], POLL_S)
            finally:
                self._stop()

    def _noted(self, _signal: int, _frame: FrameType | None) -> None:
        self._signals += 1

    def _replace(self) -> None:
        """Start what is missing, unless the last one ended so soon that a pause is due."""
        now_s = time.monotonic()
        for worker in [each for each in self._workers if each.process.exitcode is not None]:
            self._workers.remove(worker)
            self._failures = self._failures + 1 if now_s - worker.since_s < STEADY_S else 0
            pause_s = min(PAUSE_S_MAX, 2.0 ** (self._failures - 1)) if self._failures else 0.0
            self._start_at_s = now_s + pause_s
            _log.error("worker %d ended with %d; the next starts in %d s", *_ending(worker), pause_s)
        while len(self._workers) < self._count and now_s >= self._start_at_s:
            process = multiprocessing.get_context("spawn").Process(target=_run, args=(self._work,), daemon=True)
            process.start()
            self._workers.append(Worker(process, now_s))

    def _stop(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        until_s = time.monotonic() + LEAVE_S
        for worker in self._workers:
            while worker.process.is_alive() and time.monotonic() < until_s and self._signals <= 1:
                worker.process.join(POLL_S)
            worker.process.kill()
            worker.process.join()


def _ending(worker: Worker) -> tuple[int, int]:
    return worker.process.pid or 0, worker.process.exitcode or 0


def _run(work: Callable[[], None]) -> None:
    """Work in a process that was started for it: until a signal, or until whoever started it is gone.

    An interrupt at a terminal reaches this process and its starter, which then stops it by another signal.
    """
    with handled(_left_to_the_starter, signal.SIGINT):
        threading.Thread(target=_stop_when_alone, daemon=True).start()
        work()


def _left_to_the_starter(_signal: int, _frame: FrameType | None) -> None:
    pass


def _stop_when_alone() -> None:
    starter = multiprocessing.parent_process()
    assert starter is not None, "it was started by another process"
    starter.join()
    os.kill(os.getpid(), signal.SIGTERM)
