"""Importing a model: read from its folder, packed into a quarter, held against what it was, then kept by the store."""

from __future__ import annotations

from pathlib import Path

from muniment.declaration.session import Session
from muniment.embedding import model_weights as weights
from muniment.embedding.bert import Bert
from muniment.embedding.guarded import BATCH_WAIT_S, ORDINARY, GuardedEmbedder
from muniment.embedding.model_weights import EmbeddingModel
from muniment.errors import KeyUnavailable, LimitExceeded, ModelInvalid
from muniment.space.embedders import ImportedModel

LIKENESS_MIN = 0.995  # of vectors after packing to those before
PATH_CHARS_MAX = 4096


def import_model(session: Session, folder: str) -> ImportedModel:
    """Import the model of a folder into the store, and let every open space use it."""
    if session.store.keys is None:
        raise KeyUnavailable(problem="opened_without_key")
    if session.opened is not None:
        session.opened.require_sound()
    if len(folder) > PATH_CHARS_MAX:
        raise LimitExceeded(at="folder", problem="too_long", limit=PATH_CHARS_MAX, found=len(folder))
    try:
        parts = weights.read_folder(Path(folder))
    except ValueError:  # a path that is no path
        raise ModelInvalid(at="folder", problem="not_found") from None
    packed = weights.packed(parts)
    kept = weights.assembled(packed)
    likeness = _likeness(weights.assembled(parts), kept)
    if not likeness >= LIKENESS_MIN:
        raise ModelInvalid(at="weights", problem="not_alike")
    contents = weights.write_archive(packed)
    with session.store.keys.exclusive():  # makes the store, if this is the first that it gets
        pass
    session.store.embedders.keep(kept.digest, contents)
    session.store.embed_again()
    return ImportedModel(
        name=kept.name,
        digest=kept.digest,
        dimension=kept.shape.hidden_size,
        tokens_max=kept.shape.tokens_max,
        bytes=len(contents),
        likeness=round(likeness, 6),
    )


def _likeness(before: EmbeddingModel, after: EmbeddingModel) -> float:
    """Return the least cosine between the vectors of ordinary sentences; raises `ModelInvalid` when there are none."""
    made = [
        GuardedEmbedder(Bert(model)).encode(list(ORDINARY), query=False, wait_s=BATCH_WAIT_S).vectors
        for model in (before, after)
    ]
    if made[0] is None or made[1] is None:
        raise ModelInvalid(at="weights", problem="not_usable")
    return float((made[0] * made[1]).sum(axis=1).min())
