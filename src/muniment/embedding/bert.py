"""A BERT encoder in plain numpy: sentences to vectors of unit length, without a framework (decision 0105).

The forward pass is that of Devlin et al. 2018 with the details of the models that are trained for sentences: the exact
GELU (Hendrycks and Gimpel 2016), normalisation after each half of a layer, the mean of all tokens (or the first one)
scaled to length 1. The tokens of many texts lie side by side in one matrix, so that nothing is padded: what is done to
each token is computed for all at once, and only attention treats texts apart, those of the same length together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muniment.embedding.model_weights import EmbeddingModel, Floats, Layer, Norm, rows_of
from muniment.embedding.protocol import Vectors
from muniment.embedding.wordpiece import WordPiece

CODE = "bert-1"  # changes whenever this file makes other vectors of the same weights
BATCH_TOKENS = 2048  # computed at once
BLOCK_TOKENS = 256  # of which GELU is computed at once: these fit into the cache


class LengthBatch(NamedTuple):
    """Consecutive texts of the same length: their first token, how many texts, tokens of each."""

    first: int
    texts: int
    tokens: int

    @property
    def end(self) -> int:
        """The first token after them."""
        return self.first + self.texts * self.tokens


class Bert:
    """Turns sentences into vectors. Thread-safe: only the weights are kept."""

    def __init__(self, model: EmbeddingModel) -> None:
        shape = model.shape
        self.name = model.name
        self.digest = f"{CODE}:{model.digest}"
        self.dimension = shape.hidden_size
        self._model = model
        self._words = WordPiece(model.vocabulary, lowercase=shape.lowercase, tokens_max=shape.tokens_max)

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return a row for each text; queries and passages are treated alike."""
        del query
        vectors = np.empty((len(texts), self.dimension), np.float32)
        numbers = [self._words.numbers(text) for text in texts]
        for batch in _batches(numbers):
            vectors[batch] = self._forward([numbers[place] for place in batch])
        return vectors

    def _forward(self, numbers: list[list[int]]) -> Floats:
        """Return the vectors of texts that come by their length."""
        groups = list(_groups(numbers))
        lengths = np.array(list(map(len, numbers)))
        firsts = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) - np.repeat(firsts, lengths)
        model = self._model
        state = rows_of(model.words, np.concatenate(list(map(np.array, numbers))))
        state += model.places[places]
        state += model.kind
        _normalise(state, model.norm, model.shape.layer_norm_eps)
        for layer in model.layers:
            state = self._through(state, layer, groups)
        pooled = np.add.reduceat(state, firsts) / lengths[:, None] if model.shape.mean else state[firsts]
        pooled /= np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), np.float32(1e-12))
        vectors: Floats = pooled.astype(np.float32)
        return vectors

    def _through(self, state: Floats, layer: Layer, groups: list[LengthBatch]) -> Floats:
        eps = self._model.shape.layer_norm_eps
        attended = self._attended(_linear(state, layer.attend), groups)
        attended = _linear(attended, layer.gather)
        attended += state
        _normalise(attended, layer.gather_norm, eps)
        inner = _linear(attended, layer.widen)
        for first in range(0, len(inner), BLOCK_TOKENS):
            _gelu(inner[first : first + BLOCK_TOKENS])
        state = _linear(inner, layer.narrow)
        state += attended
        _normalise(state, layer.narrow_norm, eps)
        return state

    def _attended(self, projected: Floats, groups: list[LengthBatch]) -> Floats:
        """Compute the attention among the tokens of each text; `projected` are their queries, keys and values."""
        heads = self._model.shape.num_attention_heads
        attended = np.empty((len(projected), self.dimension), np.float32)
        wide = self.dimension // heads
        scale = np.float32(1 / np.sqrt(wide))
        for group in groups:
            parts = projected[group.first : group.end].reshape(group.texts, group.tokens, 3, heads, wide)
            queries, keys, values = (parts[:, :, which].transpose(0, 2, 1, 3) for which in range(3))
            scores = (queries * scale) @ keys.transpose(0, 1, 3, 2)
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
            weighted = (scores @ values).transpose(0, 2, 1, 3)
            attended[group.first : group.end] = weighted.reshape(-1, self.dimension)
        return attended


def _batches(numbers: list[list[int]]) -> Iterator[list[int]]:
    """Yield the places of texts, the shortest first, as many as are computed at once."""
    batch: list[int] = []
    tokens = 0
    for place in sorted(range(len(numbers)), key=lambda place: len(numbers[place])):
        if batch and tokens + len(numbers[place]) > BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(place)
        tokens += len(numbers[place])
    if batch:
        yield batch


def _groups(numbers: list[list[int]]) -> Iterator[LengthBatch]:
    first = 0
    for tokens, group in groupby(numbers, key=len):
        batch = LengthBatch(first, sum(1 for _ in group), tokens)
        yield batch
        first = batch.end


def _linear(state: Floats, layer: tuple[Floats, Floats]) -> Floats:
    weight, bias = layer
    product: Floats = state @ weight
    product += bias
    return product


def _normalise(state: Floats, norm: Norm, eps: float) -> None:
    """Give each row mean 0 and variance 1, then what the model wants instead; in place."""
    state -= state.mean(axis=1, keepdims=True)
    spread = np.einsum("ij,ij->i", state, state)[:, None] / np.float32(state.shape[1])
    state /= np.sqrt(spread + np.float32(eps))
    state *= norm.weight
    state += norm.bias


# Abramowitz and Stegun 1964, 7.1.26: erf(x) = 1 - (a1 t + ... + a5 t^5) exp(-x^2), t = 1 / (1 + p x), within 1.5e-7.
_P = np.float32(0.3275911)
_A = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
_ROOT_HALF = np.float32(np.sqrt(0.5))
_HALF, _ONE = np.float32(0.5), np.float32(1)


def _gelu(state: NDArray[np.float32]) -> None:
    """Replace x by x times the share of a normal distribution below x; in place."""
    scaled = np.abs(state)
    scaled *= _ROOT_HALF
    share = scaled * _P
    share += _ONE
    np.divide(_ONE, share, out=share)
    series = share * _A[0]
    for each in _A[1:]:
        series += each
        series *= share
    scaled *= scaled
    np.negative(scaled, out=scaled)
    np.exp(scaled, out=scaled)
    series *= scaled  # 1 - erf(|x| / sqrt 2): what is beyond |x| on both sides
    series *= _HALF
    # x Phi(x) = max(x, 0) - |x| * (1 - Phi(|x|))
    np.abs(state, out=scaled)
    series *= scaled
    np.maximum(state, 0, out=state)
    state -= series
