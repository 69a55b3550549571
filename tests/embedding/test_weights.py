"""What a model is read from: a folder or one file, and nothing in it is believed before it was checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muniment.embedding import model_weights as weights
from muniment.errors import ModelInvalid
from tests.embedding.models import SMALL, VOCABULARY, small_folder, small_parts, tensors_of, write_safetensors

SAFETENSORS = "model.safetensors"


def config(**changes: Any) -> Callable[[Path], object]:
    """Return what changes the config of a folder."""
    return lambda folder: small_folder(folder, **changes)


def put(name: str, content: bytes, *, instead: str | None = None) -> Callable[[Path], object]:
    """Return what puts a file into a folder, in the place of another one."""

    def act(folder: Path) -> None:
        if instead is not None:
            (folder / instead).unlink()
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)

    return act


def tensors(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    """Return what writes changed weights into a folder."""

    def act(folder: Path) -> None:
        found: dict[str, Any] = dict(tensors_of(SMALL))
        change(found)
        write_safetensors(folder / SAFETENSORS, found)

    return act


def nan(found: dict[str, Any]) -> None:
    """Put something that is no number among the weights."""
    found["embeddings.LayerNorm.bias"][3] = np.nan


def header(**tensor: Any) -> bytes:
    """Return a file of weights with one tensor that says this of itself."""
    told = json.dumps({weights.WORDS: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | tensor}).encode()
    return len(told).to_bytes(8, "little") + told + bytes(8)


BROKEN: dict[str, Callable[[Path], object]] = {
    "another kind of model": config(model_type="roberta"),
    "another activation": config(hidden_act="relu"),
    "places that are relative": config(position_embedding_type="relative_key"),
    "heads that do not divide": config(num_attention_heads=5),
    "more words than there are": config(vocab_size=len(VOCABULARY) + 1),
    "more layers than there are": config(num_hidden_layers=3),
    "a layer too wide": config(intermediate_size=97),
    "sizes of a giant": config(hidden_size=10**9),
    "sizes that are no numbers": config(hidden_size="many"),
    "a config that is no JSON": put("config.json", b"{"),
    "a config that is no text": put("config.json", b"\xff\xfe{}"),
    "no config": lambda folder: (folder / "config.json").unlink(),
    "no vocabulary": lambda folder: (folder / "vocab.txt").unlink(),
    "a vocabulary without numbers": put("tokenizer.json", b'{"model": {"vocab": {"a": 7}}}', instead="vocab.txt"),
    "pooling that is not known": put("1_Pooling/config.json", b'{"pooling_mode_max_tokens": true}'),
    "tokens that are no number": put("sentence_bert_config.json", b'{"max_seq_length": "many"}'),
    "no weights": lambda folder: (folder / SAFETENSORS).unlink(),
    "empty weights": put(SAFETENSORS, b""),
    "a header longer than the file": put(SAFETENSORS, (10**6).to_bytes(8, "little") + b"{}"),
    "a header that is no JSON": put(SAFETENSORS, (2).to_bytes(8, "little") + b"{{"),
    "a header that says something else": put(SAFETENSORS, (8).to_bytes(8, "little") + b'{"a": 1}'),
    "a tensor behind the end": put(SAFETENSORS, header(data_offsets=[0, 9])),
    "a tensor that ends before it begins": put(SAFETENSORS, header(data_offsets=[8, 0])),
    "a tensor at less than nothing": put(SAFETENSORS, header(data_offsets=[-8, 0])),
    "a tensor of another length": put(SAFETENSORS, header(shape=[3])),
    "a tensor of unknown numbers": put(SAFETENSORS, header(dtype="F8_E4M3")),
    "no numbers at all": put(SAFETENSORS, (2).to_bytes(8, "little") + b"{}"),
    "a tensor missing": tensors(lambda found: found.pop(weights.PLACES)),
    "a weight that is no number": tensors(nan),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_folder_is_refused(tmp_path: Path, fault: str) -> None:
    """One fault, one refusal; no other error, and never a model that is nearly right."""
    folder = small_folder(tmp_path / "model")
    BROKEN[fault](folder)
    with pytest.raises(ModelInvalid):
        weights.load(folder)


@pytest.mark.parametrize(("dtype", "numpy_dtype"), [("F16", "<f2"), ("F64", "<f8")])
def test_weights_are_read_in_every_width(tmp_path: Path, dtype: str, numpy_dtype: str) -> None:
    """Half, single and double precision are the same numbers."""
    exact = tensors_of(SMALL)
    folder = small_folder(tmp_path / "model")
    write_safetensors(folder / SAFETENSORS, {name: each.astype(numpy_dtype) for name, each in exact.items()}, dtype)
    found = weights.read_folder(folder).tensors
    assert all(np.abs(found[name] - each).max() < 1e-3 for name, each in exact.items())


def test_brain_floats_are_read(tmp_path: Path) -> None:
    """The upper halves of float32 are weights as well; and names may begin with the name of the model."""
    exact = tensors_of(SMALL)
    halves = {f"bert.{name}": (each.view(np.uint32) >> 16).astype("<u2") for name, each in exact.items()}
    folder = small_folder(tmp_path / "model")
    write_safetensors(folder / SAFETENSORS, halves, "BF16")
    found = weights.read_folder(folder).tensors
    assert all(np.abs(found[name] - each).max() < 2e-2 for name, each in exact.items())


def test_the_files_beside_the_weights_are_heard(tmp_path: Path) -> None:
    """How tokens are pooled, how many are read, and whether case matters is what the folder says."""
    folder = small_folder(tmp_path / "model")
    put("1_Pooling/config.json", b'{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')(folder)
    put("sentence_bert_config.json", b'{"max_seq_length": 16}')(folder)
    put("tokenizer_config.json", b'{"do_lower_case": false}')(folder)
    (folder / "vocab.txt").unlink()
    vocabulary = {piece: number for number, piece in enumerate(VOCABULARY)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}), encoding="utf-8")
    parts = weights.read_folder(folder)
    assert (parts.shape.mean, parts.shape.tokens_max, parts.shape.lowercase) == (False, 16, False)
    assert parts.vocabulary == VOCABULARY


@pytest.mark.parametrize("how", [weights.packed, lambda parts: parts])
def test_one_file_holds_the_same_model(tmp_path: Path, how: Callable[[weights.ModelParts], weights.ModelParts]) -> None:
    """What is written is read again, with the same digest; and is always the same bytes."""
    parts = how(small_parts(tmp_path / "model"))
    (tmp_path / "model.npz").write_bytes(weights.write_archive(parts))
    assert weights.load(tmp_path / "model.npz").digest == weights.assembled(parts).digest
    assert weights.write_archive(parts) == (tmp_path / "model.npz").read_bytes()


def edited(path: Path, **arrays: Any) -> None:
    """Replace arrays in a file; None takes one out."""
    with np.load(path) as archive:
        found = {name: archive[name] for name in archive.files}
    found |= arrays
    np.savez(path, **{name: each for name, each in found.items() if each is not None})


def squeezed(path: Path) -> None:
    """Write a file again so that it is larger inside than outside."""
    with np.load(path) as archive:
        np.savez_compressed(path, **{name: archive[name] for name in archive.files})


SCALES, NUMBERS = weights.WORDS + weights.SCALES, weights.WORDS + weights.NUMBERS
SPOILT: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: path.write_bytes(b""),
    "no archive": lambda path: path.write_bytes(b"PK" + bytes(100)),
    "half of it": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "compressed": squeezed,
    "no shape": lambda path: edited(path, shape=None),
    "a shape that is no JSON": lambda path: edited(path, shape=np.zeros(3, np.uint8)),
    "pickles": lambda path: edited(path, shape=np.array([{}], object)),
    "no scales": lambda path: edited(path, **{SCALES: None}),
    "scales in double precision": lambda path: edited(path, **{SCALES: np.ones((len(VOCABULARY), 1))}),
    "too few scales": lambda path: edited(path, **{SCALES: np.ones((3, 1), np.float32)}),
    "uneven scales": lambda path: edited(path, **{SCALES: np.ones((len(VOCABULARY), 5), np.float32)}),
    "scales in a row": lambda path: edited(path, **{SCALES: np.ones(len(VOCABULARY), np.float32)}),
    "numbers in double precision": lambda path: edited(path, **{"embeddings.LayerNorm.bias": np.ones(64)}),
    "no numbers": lambda path: edited(path, **{NUMBERS: None, SCALES: None}),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("fault", SPOILT)
def test_a_spoilt_file_is_refused(tmp_path: Path, fault: str) -> None:
    """One fault, one refusal, and nothing in the file is run."""
    path = tmp_path / "model.npz"
    path.write_bytes(weights.write_archive(weights.packed(small_parts(tmp_path / "model"))))
    SPOILT[fault](path)
    with pytest.raises(ModelInvalid):
        weights.load(path)
