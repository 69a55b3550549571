"""Embedders to test with: one that can be understood by looking at it, and others that misbehave in one way each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np

from muniment.embedding.protocol import Vectors

DIMENSION = 64


class Words:
    """Texts are alike as far as they share words, or words that mean the same. Counts what it was given."""

    def __init__(self, version: str = "1", alike: dict[str, str] | None = None, dimension: int = DIMENSION) -> None:
        self.name = "words"
        self.digest = f"words:{version}"
        self.dimension = dimension
        self._alike = alike or {}
        self._version = version
        self.given: list[str] = []
        self.asked: list[str] = []

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return the sums of a vector for each word."""
        (self.asked if query else self.given).extend(texts)
        found = np.array([self._vector(text) for text in texts])
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)

    def _vector(self, text: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        words = [self._alike.get(word, word) for word in text.lower().split()] or [""]
        return sum((self._word(word) for word in words), np.zeros(self.dimension))

    def _word(self, word: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        seed = int.from_bytes(sha256(f"{self._version} {word}".encode()).digest()[:8])
        return np.random.default_rng(seed).normal(size=self.dimension)


class Bad(Words):
    """Says that it is like `Words`, and does something else."""

    def __init__(self, act: Callable[[Vectors], Any]) -> None:
        super().__init__()
        self._act = act

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return what becomes of the vectors."""
        found: Vectors = self._act(super().encode(texts, query=query))
        return found


def raises(kind: type[BaseException]) -> Callable[[Vectors], Any]:
    """Return what raises."""

    def act(_vectors: Vectors) -> Any:
        raise kind("the words of a user")

    return act


def with_value(value: float) -> Callable[[Vectors], Vectors]:
    """Return what puts a value into the first row."""

    def act(vectors: Vectors) -> Vectors:
        vectors[0, 3] = value
        return vectors

    return act


MISBEHAVIOUR: dict[str, Callable[[Vectors], Any]] = {
    "raises": raises(RuntimeError),
    "wants to exit": raises(SystemExit),
    "runs out of memory": raises(MemoryError),
    "a row too few": lambda vectors: vectors[:-1],
    "a row too many": lambda vectors: np.concatenate([vectors, vectors[:1]]),
    "another dimension": lambda vectors: vectors[:, :-1],
    "one flat row": lambda vectors: vectors.ravel(),
    "double precision": lambda vectors: vectors.astype(np.float64),
    "objects": lambda vectors: vectors.astype(object),
    "lists": lambda vectors: vectors.tolist(),
    "nothing": lambda _vectors: None,
    "no number": with_value(float("nan")),
    "infinity": with_value(float("inf")),
    "too large a number": with_value(3e38),
    "zeros": lambda vectors: vectors * np.float32(0),
    "rows twice as long": lambda vectors: vectors * np.float32(2),
}


class Stuck(Words):
    """Does not come back until it is let go."""

    def __init__(self, *, only_queries: bool = False) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.returned = threading.Semaphore(0)
        self._only_queries = only_queries

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return the vectors when the gate is open."""
        self.entered.release()
        if query or not self._only_queries:
            self.gate.wait(60)
        self.returned.release()
        return super().encode(texts, query=query)
