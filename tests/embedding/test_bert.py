"""The encoder in numpy: the vectors of the paper's formulas, whatever else is encoded beside a text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.embedding import bert
from muniment.embedding import model_weights as weights
from muniment.embedding.bert import Bert
from muniment.embedding.wordpiece import WordPiece
from tests.embedding import plain_bert
from tests.embedding.models import VOCABULARY, minilm, small_folder, small_parts

TEXTS = [
    "the cat sat on the mat", "", "the dogs run", "running cats", "a", "青川 and cats!", "the " * 100,
    "a cat, a dog - and what else?", "cat", "dog",
]  # fmt: skip
SAME = 0.9999  # of float32 to the formulas
BYTES_SAME = 0.999  # of weights in bytes to float32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small model."""
    return small_folder(tmp_path_factory.mktemp("model") / "small")


def plainly(parts: weights.ModelParts, texts: list[str]) -> np.ndarray:
    """Return the vectors of texts by the formulas."""
    words = WordPiece(parts.vocabulary, lowercase=True, tokens_max=parts.shape.tokens_max)
    tensors = {name: np.asarray(each, np.float32) for name, each in parts.tensors.items()}
    return np.array([plain_bert.sentence(words.numbers(text), parts.shape, tensors) for text in texts])


@pytest.mark.parametrize("mean", [True, False])
def test_vectors_are_those_of_the_formulas(folder: Path, mean: bool) -> None:
    """Every way of computing many texts at once gives what the paper says of each; by the mean, or the first token."""
    parts = weights.read_folder(folder)
    parts = parts._replace(shape=replace(parts.shape, mean=mean))
    found = Bert(weights.assembled(parts)).encode(TEXTS, query=False)
    assert found.dtype == np.float32
    assert np.abs(found - plainly(parts, TEXTS)).max() < 1e-5


@settings(deadline=None, max_examples=30)
@given(texts=st.lists(st.text(max_size=60), max_size=12), budget=st.integers(1, 64))
def test_a_vector_does_not_depend_on_what_is_beside_it(folder: Path, texts: list[str], budget: int) -> None:
    """A text has the same vector alone, among others, and however much is computed at once."""
    encoder = Bert(weights.load(folder))
    whole, before = encoder.encode(texts, query=False), bert.BATCH_TOKENS
    bert.BATCH_TOKENS = budget
    try:
        parts = encoder.encode(texts, query=False)
    finally:
        bert.BATCH_TOKENS = before
    assert whole.shape == (len(texts), encoder.dimension)
    assert np.abs(whole - parts).max(initial=0) < 1e-5
    assert np.allclose(np.linalg.norm(whole, axis=1), 1, atol=1e-5)


def test_weights_in_bytes_make_nearly_the_same_vectors(tmp_path: Path, folder: Path) -> None:
    """One file takes a quarter of the space and tells texts apart as before."""
    parts = small_parts(tmp_path / "small")
    (tmp_path / "model.npz").write_bytes(weights.write_archive(weights.packed(parts)))
    found = Bert(weights.load(tmp_path / "model.npz")).encode(TEXTS, query=False)
    exact = Bert(weights.load(folder)).encode(TEXTS, query=False)
    assert (found * exact).sum(axis=1).min() > BYTES_SAME


def test_the_digest_names_weights_and_shape(folder: Path) -> None:
    """Other numbers, another way of pooling, or weights in bytes are another model; the same ones are the same."""
    parts = weights.read_folder(folder)
    numbers = dict(parts.tensors)
    first = np.asarray(numbers["embeddings.LayerNorm.bias"], np.float32) + 1
    others = [
        parts,
        parts._replace(tensors=numbers | {"embeddings.LayerNorm.bias": first}),
        parts._replace(shape=replace(parts.shape, mean=False)),
        parts._replace(vocabulary=VOCABULARY[::-1]),
        weights.packed(parts),
    ]
    digests = [Bert(weights.assembled(each)).digest for each in others]
    assert len(set(digests)) == len(others)
    assert Bert(weights.load(folder)).digest == digests[0]


def test_the_published_weights_know_what_is_alike(tmp_path: Path) -> None:
    """MiniLM: close to the formulas in float32 and in bytes, and what means the same is closer than what does not."""
    parts = weights.read_folder(minilm())
    exact = Bert(weights.assembled(parts))
    texts = ["A man is eating food.", "Somebody has a meal.", "The stock market fell sharply today.", "Sure!", "青川"]
    found = exact.encode(texts, query=False)
    assert (found * plainly(parts, texts)).sum(axis=1).min() > SAME
    assert found[0] @ found[1] > found[0] @ found[2] + 0.3
    (tmp_path / "model.npz").write_bytes(weights.write_archive(weights.packed(parts)))
    small = Bert(weights.load(tmp_path / "model.npz")).encode(texts, query=False)
    assert (found * small).sum(axis=1).min() > BYTES_SAME
