"""The embedder of an open store: made when the first search asks for it, shared by all spaces that it may serve.

<store>/models/<digest>.npz      the model that was imported, one at most
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, UnsetType

from muniment.crypto import files
from muniment.embedding.choice import MODEL_FILES, EmbedderChoice, embedder_of
from muniment.embedding.protocol import Embedder
from muniment.errors import MunimentError
from muniment.governance.views import View
from muniment.kernel.locks import new_lock

if TYPE_CHECKING:
    from muniment.embedding.guarded import GuardedEmbedder

MODELS = "models"
ARRIVING = "arriving"  # ends the name of a file that is not yet whole


class ImportedModel(Struct, frozen=True, kw_only=True):
    """A model that was imported. `likeness` is the least cosine between its vectors before and after it was packed."""

    name: str
    digest: str
    dimension: int
    tokens_max: int
    bytes: int
    likeness: float


class Reembedded(Struct, frozen=True, kw_only=True):
    """What became of the vectors of a view: how many passages there are, were embedded now, and are still without."""

    view: View
    embedder: str
    embedder_digest: str
    passages: int
    embedded: int
    pending: int


class Embedders:
    """Where spaces get their embedder from. Thread-safe."""

    def __init__(self, wanted: Embedder | EmbedderChoice | UnsetType | None, store: Path) -> None:
        self._wanted = wanted
        self._models = store / MODELS
        self._lock = new_lock()
        self._made: GuardedEmbedder | MunimentError | None = None
        self._is_made = False

    def of(self, space: str) -> GuardedEmbedder | None:
        """Return the embedder of a space, None without one; raises `ModelUnavailable`, `ModelInvalid` for a bad one."""
        if isinstance(self._wanted, EmbedderChoice) and not self._wanted.serves(space):
            return None
        with self._lock:
            if not self._is_made:
                self._made, self._is_made = self._make(), True
            if isinstance(self._made, MunimentError):
                raise self._made
            return self._made

    def _make(self) -> GuardedEmbedder | MunimentError | None:
        from muniment.embedding.guarded import GuardedEmbedder  # noqa: PLC0415 - numpy is imported by who searches

        wanted = self._wanted
        try:
            made = embedder_of(wanted, self._models) if isinstance(wanted, EmbedderChoice) else wanted
            return None if made is None or isinstance(made, UnsetType) else GuardedEmbedder(made)
        except MunimentError as fault:
            return fault

    def keep(self, digest: str, contents: bytes) -> None:
        """Keep a model as that of the store, in the place of another one; the next search uses it."""
        with self._lock, files.faults(MODELS):
            files.make_directory(self._models)
            path = self._models / f"{digest}.npz"
            if not path.exists():
                arriving = path.with_suffix(f".{ARRIVING}")
                arriving.unlink(missing_ok=True)
                files.write_new(arriving, contents)
                arriving.rename(path)
            for other in self._models.glob(MODEL_FILES):
                if other != path:
                    other.unlink()
            files.sync_directory(self._models)
            self._is_made = False
