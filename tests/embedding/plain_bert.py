"""The forward pass of BERT once more, as the paper says it: one text, one head, one number after the other, in float64.

Slow and obvious: what `muniment.embedding.bert` must agree with.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import erf, sqrt

import numpy as np
from numpy.typing import NDArray

from muniment.embedding.model_weights import ModelShape

Doubles = NDArray[np.float64]


def sentence(numbers: list[int], shape: ModelShape, tensors: Mapping[str, NDArray[np.float32]]) -> Doubles:
    """Return the vector of one text, given as the numbers of its pieces."""
    of = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    rows = [
        of["embeddings.word_embeddings.weight"][number]
        + of["embeddings.position_embeddings.weight"][place]
        + of["embeddings.token_type_embeddings.weight"][0]
        for place, number in enumerate(numbers)
    ]
    state = _normed(np.array(rows), of, "embeddings.LayerNorm", shape)
    for number in range(shape.num_hidden_layers):
        at = f"encoder.layer.{number}"
        seen = _attention(state, of, f"{at}.attention.self", shape.num_attention_heads)
        state = _normed(
            state + _dense(seen, of, f"{at}.attention.output.dense"), of, f"{at}.attention.output.LayerNorm", shape
        )
        inner = np.vectorize(_gelu)(_dense(state, of, f"{at}.intermediate.dense"))
        state = _normed(state + _dense(inner, of, f"{at}.output.dense"), of, f"{at}.output.LayerNorm", shape)
    pooled: Doubles = state.mean(axis=0) if shape.mean else state[0]
    return pooled / sqrt(float(pooled @ pooled))


def _attention(state: Doubles, of: Mapping[str, Doubles], at: str, heads: int) -> Doubles:
    queries, keys, values = (_dense(state, of, f"{at}.{name}") for name in ("query", "key", "value"))
    wide = state.shape[1] // heads
    found = np.zeros_like(state)
    for head in range(heads):
        part = slice(head * wide, (head + 1) * wide)
        for place in range(len(state)):
            scores = np.array([queries[place, part] @ key[part] / sqrt(wide) for key in keys])
            shares = np.exp(scores) / np.exp(scores).sum()
            found[place, part] = sum(share * value[part] for share, value in zip(shares, values, strict=True))
    return found


def _dense(state: Doubles, of: Mapping[str, Doubles], name: str) -> Doubles:
    found: Doubles = state @ of[f"{name}.weight"].T + of[f"{name}.bias"]
    return found


def _normed(state: Doubles, of: Mapping[str, Doubles], name: str, shape: ModelShape) -> Doubles:
    mean, variance = state.mean(axis=1, keepdims=True), state.var(axis=1, keepdims=True)
    found: Doubles = (state - mean) / np.sqrt(variance + shape.layer_norm_eps) * of[f"{name}.weight"]
    return found + of[f"{name}.bias"]


def _gelu(x: float) -> float:
    return x * 0.5 * (1 + erf(x / sqrt(2)))
