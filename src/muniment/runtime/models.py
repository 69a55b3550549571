"""Importing a model: read from its folder, packed into a quarter, held against what it was, then kept by the store."""

from __future__ import annotations

from pathlib import Path

from muniment.embedding import weights
from muniment.embedding.bert import Bert
from muniment.embedding.trust import BATCH_WAIT_S, ORDINARY, Trusted
from muniment.embedding.weights import Model
from muniment.errors import KeyUnavailable, LimitExceeded, ModelInvalid
from muniment.runtime.desk import Desk
from muniment.runtime.embedders import ImportedModel

LIKENESS_MIN = 0.995  # of vectors after packing to those before
PATH_CHARS_MAX = 4096


def import_model(desk: Desk, folder: str) -> ImportedModel:
    """Import the model of a folder into the store, and let every open space use it."""
    if desk.home.keys is None:
        raise KeyUnavailable(problem="opened_without_key")
    if desk.opened is not None:
        desk.opened.require_sound()
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
    desk.home.embedders.keep(kept.digest, contents)
    desk.home.embed_anew()
    return ImportedModel(
        name=kept.name,
        digest=kept.digest,
        dimension=kept.shape.hidden_size,
        tokens_max=kept.shape.tokens_max,
        bytes=len(contents),
        likeness=round(likeness, 6),
    )


def _likeness(before: Model, after: Model) -> float:
    """Return the least cosine between the vectors of ordinary sentences; raises `ModelInvalid` when there are none."""
    made = [
        Trusted(Bert(model)).encode(list(ORDINARY), query=False, wait_s=BATCH_WAIT_S).vectors
        for model in (before, after)
    ]
    if made[0] is None or made[1] is None:
        raise ModelInvalid(at="weights", problem="not_usable")
    return float((made[0] * made[1]).sum(axis=1).min())
