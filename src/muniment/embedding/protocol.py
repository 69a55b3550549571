"""Embedders turn texts into vectors of unit length, whose products measure how similar the texts are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]  # a row for each text, of unit length
else:
    Vectors = Any  # numpy is imported when it is needed


class Embedder(Protocol):
    """Turns texts into vectors. Two embedders with different digests make vectors that are never compared.

    `name` is for people, `digest` names the exact weights and code that make the vectors, `dimension` is the length of
    a vector. `encode` may be called by several threads at once.
    """

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    @property
    def digest(self) -> str:
        """An identifier that changes whenever a text would get another vector."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        ...

    def encode(self, texts: list[str], *, query: bool) -> Vectors:
        """Return a row for each text; `query` tells queries from passages, which some models treat differently."""
        ...
