"""Secrets in files that a container platform names in the environment, and key files that are named by their path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import muniment
from muniment.crypto.root import LocalRoot
from muniment.crypto.root_sources import key_file, source_of
from muniment.embedding.choice import EmbedderChoice, EmbedderKind, embedder_of
from muniment.errors import FileUnavailable, InvalidInput, KeyInvalid, KeyUnavailable, ModelUnavailable, MunimentError
from muniment.kernel.digest import b64url
from muniment.kernel.environment import SECRET_BYTES_MAX, secret_of
from muniment.kernel.sources import SystemEntropy
from muniment.runtime.settings import settings
from tests.crypto.test_sources import CHEAP, KEY, KEY_ID, refusal, root_of


@pytest.fixture
def line(tmp_path: Path) -> Path:
    """Return a key as a platform mounts it: a line that everybody can read."""
    path = tmp_path / "mounted"
    path.write_text(b64url(KEY) + "\r\n")
    path.chmod(0o444)
    return path


def test_a_secret_is_in_a_variable_or_in_the_file_that_it_names(line: Path) -> None:
    assert secret_of("A", {"A": "one"}, at="keys") == b"one"
    assert secret_of("A", {"A_FILE": str(line)}, at="keys") == b64url(KEY).encode()
    assert secret_of("A", {"B": "one", "A_FILES": "x"}, at="keys") is None


def test_both_are_a_contradiction_and_a_missing_or_huge_file_an_error(tmp_path: Path, line: Path) -> None:
    """None of the errors says a name or a path."""
    (tmp_path / "huge").write_bytes(bytes(SECRET_BYTES_MAX + 1))
    for environment, error, problem in (
        ({"CANARY": "", "CANARY_FILE": str(line)}, InvalidInput, "set_twice"),
        ({"CANARY_FILE": str(tmp_path / "none")}, FileUnavailable, "not_found"),
        ({"CANARY_FILE": "\0"}, FileUnavailable, "not_found"),
        ({"CANARY_FILE": str(tmp_path / "huge")}, InvalidInput, "too_long"),
    ):
        with pytest.raises(error) as refused:
            secret_of("CANARY", environment, at="keys")
        assert refused.value.problem == problem
        assert not {"CANARY", str(tmp_path)} & set(str(refused.value).split())


def test_the_root_key_and_a_passphrase_come_from_such_a_file(line: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_FILE", str(line))
    assert root_of("env:SECRET").key_id == KEY_ID
    assert root_of("passphrase:env:SECRET", argon2=CHEAP).key_id
    monkeypatch.setenv("SECRET", b64url(KEY))
    assert root_of_refused("env:SECRET", InvalidInput) == "set_twice"
    monkeypatch.delenv("SECRET")
    monkeypatch.setenv("SECRET_FILE", str(line) + "x")
    assert root_of_refused("env:SECRET", KeyUnavailable) == "file_not_readable"


def root_of_refused(uri: str, error: type[MunimentError]) -> str | None:
    return refusal(error, uri)


def test_the_setting_of_the_root_key_may_name_the_file_of_the_key(
    line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`MUNIMENT_KEYS_FILE` opens the store that the key itself opens; with `MUNIMENT_KEYS` it is a contradiction."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MUNIMENT_KEYS_FILE", str(line))
    muniment.open(tmp_path / "store").close()
    muniment.open(tmp_path / "store", keys=LocalRoot(KEY, SystemEntropy())).close()
    with pytest.raises(InvalidInput) as refused:
        settings({**os.environ, "MUNIMENT_KEYS": "env:X"})
    assert refused.value.problem == "set_twice"


def test_the_key_of_an_endpoint_comes_from_such_a_file(
    line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = EmbedderChoice(
        kind=EmbedderKind.HTTP, url="http://localhost:9/v1", model="m", dimension=3, key_variable="TOKEN"
    )
    with pytest.raises(ModelUnavailable):
        embedder_of(choice, tmp_path)
    monkeypatch.setenv("TOKEN_FILE", str(line))
    assert embedder_of(choice, tmp_path) is not None


@pytest.mark.parametrize("given", ["/a/b.key", "./b", "../b", "a/b", "b.key", "/a:b"])
def test_a_plain_path_is_a_key_file(given: str) -> None:
    assert (source_of(given), key_file(given)) == (f"file:{given}", Path(given))


@pytest.mark.parametrize("given", ["passphrase", "nonsense", "env:A", "a.b:c", ""])
def test_what_is_no_path_stays_what_it_is(given: str) -> None:
    """A word without a slash or a dot may be a scheme that was mistyped, and makes no file."""
    assert (source_of(given), key_file(given)) == (given, None)


def test_a_key_instead_of_its_file_is_refused_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In hexadecimal or base64 of either alphabet; the error does not repeat it."""
    monkeypatch.chdir(tmp_path)
    for key in (KEY.hex(), b64url(KEY), b64url(KEY) + "=", "/".join(["A" * 21, "B" * 20 + "A"])):
        with pytest.raises(KeyInvalid) as refused:
            muniment.open(tmp_path / "store", keys=key)
        assert key not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_path_opens_what_its_uri_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MUNIMENT_PINS", str(tmp_path / "pins"))
    store = tmp_path / "store"
    muniment.open(store, keys=tmp_path / "root.key").close()
    muniment.open(store, keys=str(tmp_path / "root.key")).close()
    muniment.open(store, keys=f"file:{tmp_path / 'root.key'}").close()
    monkeypatch.setenv("MUNIMENT_KEYS", str(tmp_path / "root.key"))
    muniment.open(store).close()
    with pytest.raises(KeyUnavailable):
        muniment.open(store, keys=tmp_path / "other.key")
    assert not (tmp_path / "other.key").exists()
