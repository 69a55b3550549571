"""A guard around an embedder: its results are checked, and waited for no longer than a limit.

An embedder is third-party code, or another machine. Whatever it does, a search answers: by words alone, with the flaw
named. It runs in a thread of its own; one that does not return is abandoned, and while too many run no other is
started. A result is accepted when it is a row for each text, of the promised dimension, float32, finite, of unit
length.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from muniment.embedding.protocol import Embedder, Vectors
from muniment.errors import ModelInvalid

DIMENSION_MAX = 8192
NAME_CHARS_MAX = 200
RUNNING_MAX = 4  # threads that an embedder may keep busy
UNIT_SLACK = 0.01  # how far from 1 a length may be
QUERY_WAIT_S = 2.0  # for the vector of a question
BATCH_WAIT_S = 60.0  # for a batch of passages, when nobody waits for an answer

# The centre of all vectors is the mean of these: ordinary sentences about nothing in particular (see `search.codes`).
ORDINARY = (
    "Good morning, how are you today?", "I would like to book a table for two.", "Thanks, that is very kind of you.",
    "The meeting was moved to Thursday afternoon.", "Please send me the report when you have time.",
    "We went to the mountains last summer.", "It is raining, so take an umbrella.", "What does this error mean?",
    "The function returns a list of numbers.", "My sister has two children and a dog.", "How much does it cost?",
    "The train leaves at half past nine.", "I have been learning to play the piano.", "Let me check that for you.",
    "She works as a nurse in a hospital.", "The film was longer than I expected.", "Can you explain that again?",
    "He bought a new car last week.", "Dinner is ready, come to the kitchen.", "I do not agree with this decision.",
    "Our flight was delayed by three hours.", "The password must be changed every year.", "Happy birthday to you!",
    "There is a small shop around the corner.",
)  # fmt: skip


class EmbedderFlaw(StrEnum):
    """Why an embedder failed: it raised, did not return in time, returned something invalid, or is busy."""

    FAILED = "embedder_failed"
    LATE = "embedder_late"
    MALFORMED = "embedder_malformed"
    BUSY = "embedder_busy"


class EmbeddingResult(NamedTuple):
    """Checked vectors, or why there are none."""

    vectors: Vectors | None
    flaw: EmbedderFlaw | None = None


class GuardedEmbedder:
    """An embedder with a guard. Thread-safe. Raises `ModelInvalid` for an invalid name, digest or dimension."""

    def __init__(self, embedder: Embedder, *, query_wait_s: float = QUERY_WAIT_S) -> None:
        self.name, self.digest, self.dimension = embedder.name, embedder.digest, embedder.dimension
        identity: tuple[object, ...] = (self.name, self.digest, self.dimension)
        if list(map(type, identity)) != [str, str, int] or not _sensible(self.digest, self.dimension):
            raise ModelInvalid(at="embedder", problem="not_understood")
        self.query_wait_s = query_wait_s
        self._embedder = embedder
        self._running = threading.BoundedSemaphore(RUNNING_MAX)
        self._centre: Vectors | None = None

    def encode(self, texts: list[str], *, query: bool, wait_s: float) -> EmbeddingResult:
        """Return a checked row for each text, or the flaw; waits at most so many seconds."""
        if not texts:
            return EmbeddingResult(np.empty((0, self.dimension), np.float32))
        if not self._running.acquire(blocking=False):
            return EmbeddingResult(None, EmbedderFlaw.BUSY)
        call = GuardedCall(lambda: self._embedder.encode(list(texts), query=query), self._running.release)
        if not call.wait(wait_s):
            return EmbeddingResult(None, EmbedderFlaw.LATE)
        if call.failed:
            return EmbeddingResult(None, EmbedderFlaw.FAILED)
        vectors = self._checked(call.result, len(texts))
        return EmbeddingResult(None, EmbedderFlaw.MALFORMED) if vectors is None else EmbeddingResult(vectors)

    def centre(self) -> Vectors | None:
        """Return the mean vector of ordinary sentences; None when the embedder fails."""
        if self._centre is None:
            rows = self.encode(list(ORDINARY), query=False, wait_s=BATCH_WAIT_S).vectors
            self._centre = None if rows is None else rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        return self._centre

    def _checked(self, result: object, count: int) -> Vectors | None:
        if not isinstance(result, np.ndarray) or result.dtype != np.float32 or result.shape != (count, self.dimension):
            return None
        rows: Vectors = np.array(result, np.float32, order="C")  # a copy: the embedder may go on writing to its own
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows, axis=1)
        return rows if np.all(np.abs(lengths - 1) <= UNIT_SLACK) else None  # False for nan, too


def _sensible(digest: str, dimension: int) -> bool:
    return 1 <= dimension <= DIMENSION_MAX and 1 <= len(digest) <= NAME_CHARS_MAX


class GuardedCall:
    """A call in a thread of its own that can be abandoned."""

    def __init__(self, call: Callable[[], object], afterwards: Callable[[], None]) -> None:
        self.result: object = None
        self.failed = False
        self._call = call
        self._afterwards = afterwards
        self._done = threading.Event()
        threading.Thread(target=self._run, name="muniment-embedder", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; return whether it came."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self.result = self._call()
        except BaseException:  # third-party code raises anything
            self.failed = True
        finally:
            self._afterwards()
            self._done.set()
