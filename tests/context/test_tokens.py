"""Who counts: the caller, an encoding whose tables are here, or the estimate."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muniment
from muniment.errors import InvalidInput, TokensUnavailable
from muniment.kernel.sources import seeded_sources
from muniment.operations.context.cost import ESTIMATE, estimate
from muniment.operations.context.prompt import Composition
from muniment.runtime.settings import set_token_counter
from muniment.space.options import Options
from muniment.space.token_counter import ENCODINGS, token_counter
from tests.context.prompts import messages_of, turn_of
from tests.turns import asked
from tests.worlds import key_of, root_key

# the package opens its tables in a way that Python 3.11 and 3.12 call deprecated
pytestmark = pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
needs_tables = pytest.mark.skipif(importlib.util.find_spec("bpe_openai") is None, reason="the extra is not installed")


@given(st.text())
def test_the_estimate_is_a_token_for_each_three_and_a_half_bytes(text: str) -> None:
    size = len(text.encode())
    assert estimate(text) * 3.5 >= size
    assert (estimate(text) - 1) * 3.5 < size or not text


@needs_tables
@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoding_counts_without_a_network(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing is fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    counter = token_counter(name)
    assert counter.name == name
    assert [counter(text) for text in ("", "hello world", "<|endoftext|>")] == [0, 2, 7]


@pytest.mark.slow
@needs_tables
@given(st.text(st.characters(codec="utf-8", max_codepoint=0x24F), max_size=200))
def test_the_estimate_is_seldom_below_what_an_encoding_counts(text: str) -> None:
    """Only what no encoding knows as words takes more; such a text has a token for each byte at most."""
    assert token_counter()(text) <= len(text.encode())


@needs_tables
def test_a_context_says_which_encoding_counted() -> None:
    options = Options(sources=seeded_sources("encoding"), token_counter=token_counter("cl100k_base"))
    with muniment.open("memory:", keys=root_key(), options=options) as runtime:
        runtime.transcripts.commit(turn_of(1, asked("hello world")))
        found = runtime.transcripts.context(key_of(), 6)
    assert (found.counter, found.tokens, messages_of(found)) == ("cl100k_base", 6, [["hello world"]])


@needs_tables
def test_the_settings_name_an_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNIMENT_ENCODING", "o200k_base")
    for options, counter in [
        (Options(sources=seeded_sources("a")), "o200k_base"),
        (Options(sources=seeded_sources("b"), token_counter=None), ESTIMATE),
        (Options(sources=seeded_sources("c"), token_counter=len), "caller"),
    ]:
        with muniment.open("memory:", keys=root_key(), options=options) as runtime:
            assert runtime.transcripts.context(key_of(), 6, composition=Composition(begins=True)).counter == counter


def test_an_encoding_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidInput, match="encoding: unknown"):
        token_counter("p50k")
    with pytest.raises(InvalidInput, match="MUNIMENT_ENCODING: unknown"):
        set_token_counter({"MUNIMENT_ENCODING": "p50k"})
    assert set_token_counter({}) is None


def test_without_the_extra_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.import_module

    def absent(name: str, package: str | None = None) -> Any:
        if name == "bpe_openai":
            raise builtins.ImportError
        return found(name, package)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(TokensUnavailable, match="extra tokens not installed"):
        token_counter()
