"""The guard around embedders: what is not what was asked for is never kept, and nobody waits permanently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from muniment.embedding.guarded import RUNNING_MAX, EmbedderFlaw, GuardedEmbedder
from muniment.errors import ModelInvalid
from tests.embedding.embedders import DIMENSION, MISBEHAVIOUR, Bad, Stuck, Words

WAIT_S = 30.0
AT_ONCE_S = 0.01


@pytest.mark.parametrize("how", MISBEHAVIOUR)
def test_misbehaviour_is_a_flaw_and_never_an_error(how: str) -> None:
    """Whatever an embedder does wrong: no vector, and the reason."""
    raising = how in {"raises", "wants to exit", "runs out of memory"}
    answer = GuardedEmbedder(Bad(MISBEHAVIOUR[how])).encode(["one", "two"], query=False, wait_s=WAIT_S)
    assert answer == (None, EmbedderFlaw.FAILED if raising else EmbedderFlaw.MALFORMED)


def test_what_is_right_is_handed_on_and_is_ours() -> None:
    """Vectors come through unchanged, and whoever made them cannot change them any more."""
    kept: list[Any] = []

    def keep(vectors: Any) -> Any:
        kept.append(vectors)
        return vectors

    found, flaw = GuardedEmbedder(Bad(keep)).encode(["one", "two"], query=True, wait_s=WAIT_S)
    assert flaw is None
    assert found is not None
    assert np.array_equal(found, Words().encode(["one", "two"], query=True))
    kept[0][:] = 0
    assert np.abs(found).max() > 0


def test_no_texts_need_no_embedder() -> None:
    """Nothing is asked, and nothing is wrong."""
    stuck = Stuck()
    found, flaw = GuardedEmbedder(stuck).encode([], query=False, wait_s=AT_ONCE_S)
    assert (found is not None and found.shape, flaw) == ((0, DIMENSION), None)


def test_one_that_does_not_come_back_is_left_alone() -> None:
    """After the wait there is an answer; too many on their way and none is started; when they are back all is well."""
    stuck = Stuck()
    trusted = GuardedEmbedder(stuck)
    for _ in range(RUNNING_MAX):
        assert trusted.encode(["one"], query=False, wait_s=AT_ONCE_S) == (None, EmbedderFlaw.LATE)
        assert stuck.entered.acquire(timeout=WAIT_S)
    assert trusted.encode(["one"], query=False, wait_s=AT_ONCE_S) == (None, EmbedderFlaw.BUSY)
    assert not stuck.entered.acquire(blocking=False)
    stuck.gate.set()
    for _ in range(RUNNING_MAX):
        stuck.returned.acquire(timeout=WAIT_S)
    answer = trusted.encode(["one"], query=False, wait_s=WAIT_S)
    for _ in range(1000):  # the last steps of a thread are not seen
        if answer.flaw is EmbedderFlaw.BUSY:
            stuck.returned.acquire(timeout=0.01)
            answer = trusted.encode(["one"], query=False, wait_s=WAIT_S)
    assert answer.vectors is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dimension", 0),
        ("dimension", 10**6),
        ("dimension", "64"),
        ("dimension", True),
        ("digest", ""),
        ("digest", None),
    ],
)
def test_an_embedder_that_cannot_say_what_it_is_is_refused(name: str, value: object) -> None:
    """Without a digest and a dimension nothing could be told apart later."""
    embedder = Words()
    setattr(embedder, name, value)
    with pytest.raises(ModelInvalid):
        GuardedEmbedder(embedder)


def test_the_centre_is_that_of_ordinary_sentences() -> None:
    """It belongs to the embedder, is asked for once, and is not there where the embedder does not tell."""
    embedder = Words()
    trusted = GuardedEmbedder(embedder)
    first, again = trusted.centre(), trusted.centre()
    assert first is not None
    assert again is first
    assert len(embedder.given) == len(set(embedder.given))
    assert GuardedEmbedder(Bad(MISBEHAVIOUR["zeros"])).centre() is None
