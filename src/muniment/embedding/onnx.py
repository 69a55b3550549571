"""The same models through onnxruntime, where it is installed: about three times as fast as plain numpy.

The folder is that of `weights`, with the graph of the model in `onnx/model.onnx` or `model.onnx`. Its inputs are those
of BERT, its first output the state of every token.
"""

from __future__ import annotations

import importlib
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import json
from numpy.typing import NDArray

from muniment.embedding.model_weights import read_shape
from muniment.embedding.protocol import Vectors
from muniment.embedding.wordpiece import WordPiece
from muniment.errors import ModelInvalid, ModelUnavailable

PACKAGE = "onnxruntime"
CODE = "onnx-1"  # changes whenever this file makes other vectors of the same weights
GRAPHS = ("onnx/model.onnx", "model.onnx")
BATCH_TEXTS = 32
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


def _faults() -> tuple[type[Exception], ...]:
    """Return the errors that the runtime raises: classes without a common base."""
    state = importlib.import_module(f"{PACKAGE}.capi.onnxruntime_pybind11_state")
    return tuple(error for error in vars(state).values() if isinstance(error, type) and issubclass(error, Exception))


class Onnx:
    """Sentences to vectors through onnxruntime. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        try:
            runtime: Any = importlib.import_module(PACKAGE)
        except ImportError:
            raise ModelUnavailable(at=PACKAGE, problem="not_installed") from None
        graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
        if graph is None:
            raise ModelInvalid(at=GRAPHS[0], problem="missing")
        self._shape, vocabulary = read_shape(folder)
        data = graph.read_bytes()
        try:
            self._session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
        except _faults():
            raise ModelInvalid(at=graph.name, problem="not_understood") from None
        self._inputs = {tensor.name for tensor in self._session.get_inputs()}
        if not self._inputs <= INPUTS:
            raise ModelInvalid(at=graph.name, problem="not_supported")
        self._words = WordPiece(vocabulary, lowercase=self._shape.lowercase, tokens_max=self._shape.tokens_max)
        self.name = f"{self._shape.name} (onnx)"
        self.dimension = self._shape.hidden_size
        digest = sha256(json.encode(self._shape, order="sorted"))
        digest.update("\n".join(vocabulary).encode("utf-8", "surrogatepass"))
        digest.update(data)
        self.digest = f"{CODE}:{digest.hexdigest()}"

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return a row for each text; queries and passages are treated alike."""
        del query
        numbers = [self._words.numbers(text) for text in texts]
        order = sorted(range(len(numbers)), key=lambda place: len(numbers[place]))
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for first in range(0, len(order), BATCH_TEXTS):
            batch = order[first : first + BATCH_TEXTS]
            vectors[batch] = self._run([numbers[place] for place in batch])
        return vectors

    def _run(self, numbers: list[list[int]]) -> Vectors:
        longest = max(map(len, numbers))
        pieces = np.array([text + [0] * (longest - len(text)) for text in numbers], np.int64)
        mask = np.array([[1] * len(text) + [0] * (longest - len(text)) for text in numbers], np.int64)
        given = {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(pieces)}
        state: NDArray[np.float32] = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        weight = mask[:, :, None].astype(np.float32)
        pooled = (state * weight).sum(axis=1) if self._shape.mean else state[:, 0]
        vectors: Vectors = (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).astype(np.float32)
        return vectors
