"""Where root keys come from."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from muniment.crypto.root import LocalRoot, RootKey
from muniment.crypto.root_sources import Argon2, OpenerContext, RootDescriptor, ask_at_terminal, describe, open_root
from muniment.errors import KeyExposed, KeyInvalid, KeyUnavailable, KeyWrong, MunimentError
from muniment.kernel.digest import b64url
from muniment.kernel.sources import SeededEntropy, SystemEntropy

KEY = bytes(range(100, 132))
KEY_ID = LocalRoot(KEY, SystemEntropy()).key_id
CHEAP = Argon2(salt=b64url(bytes(16)), memory_kib=8192, iterations=1, lanes=1)


def root_of(uri: str, *, create: bool = False, argon2: Argon2 | None = None, typed: tuple[str, ...] = ()) -> RootKey:
    answers = iter(typed)
    descriptor = RootDescriptor(scheme="any", argon2=argon2)

    def ask(_: str) -> str:
        return next(answers)

    return open_root(uri, OpenerContext(entropy=SystemEntropy(), descriptor=descriptor, create=create, ask=ask))


def refusal(
    error: type[MunimentError],
    uri: str,
    *,
    create: bool = False,
    argon2: Argon2 | None = None,
    typed: tuple[str, ...] = (),
) -> str | None:
    with pytest.raises(error) as caught:
        root_of(uri, create=create, argon2=argon2, typed=typed)
    assert type(caught.value) is error
    return caught.value.problem


def private(path: Path, contents: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(contents)
    path.chmod(mode)
    return path


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b64url(KEY).encode(),
        b64url(KEY).encode() + b"\n",
        b64url(KEY).encode() + b"=\r\n",
        KEY.hex().encode(),
        b"  " + KEY.hex().upper().encode() + b"\n",
    ],
)
def test_a_key_file_holds_one_line_in_either_spelling(tmp_path: Path, line: bytes) -> None:
    path = private(tmp_path / "key", line)
    assert root_of(f"file:{path}").key_id == KEY_ID
    assert root_of(f"file://{path}").key_id == KEY_ID


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "length"),
        (b"not a key", "not_base64url_or_hex"),
        (b64url(KEY[:31]).encode(), "length"),
        (b64url(KEY + KEY[:16]).encode(), "not_base64url_or_hex"),
        (b"zz" * 32, "not_base64url_or_hex"),
        (b"\xff" * 43, "not_base64url_or_hex"),
        (b"a" * 5000, "too_long"),
    ],
)
def test_another_line_is_refused_and_never_quoted(tmp_path: Path, line: bytes, problem: str) -> None:
    assert refusal(KeyInvalid, f"file:{private(tmp_path / 'key', line)}") == problem


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o666, 0o777])
def test_a_key_file_that_others_may_open_is_refused(tmp_path: Path, mode: int) -> None:
    path = private(tmp_path / "key", b64url(KEY).encode(), mode)
    assert refusal(KeyExposed, f"file:{path}") == "mode"
    assert refusal(KeyExposed, f"passphrase:file:{path}", argon2=CHEAP) == "mode"


def test_a_key_file_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = private(tmp_path / "key", b64url(KEY).encode(), 0o400)
    somebody_else = path.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody_else)
    assert refusal(KeyExposed, f"file:{path}") == "owner"


def test_what_is_not_a_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert refusal(KeyInvalid, f"file:{tmp_path / 'pipe'}") == "not_a_file"
    assert refusal(KeyInvalid, f"file:{tmp_path}") == "not_a_file"
    assert refusal(KeyUnavailable, f"file:{tmp_path / 'nothing'}") == "file_not_readable"


@pytest.mark.parametrize("uri", ["file:", "file://host/key", "file:a\0b", "key", "", "ftp:x", "env:", "keyring:only"])
def test_a_malformed_uri_is_refused(uri: str) -> None:
    assert refusal(KeyInvalid, uri) in {"path_wanted", "unknown_scheme", "name_wanted", "service_and_name_wanted"}


def test_a_key_file_is_made_for_its_owner_alone_and_then_kept(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "key"
    old = os.umask(0)
    try:
        made = root_of(f"file:{path}", create=True)
    finally:
        os.umask(old)
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]
    assert root_of(f"file:{path}", create=True).key_id == root_of(f"file:{path}").key_id == made.key_id
    assert list(path.parent.iterdir()) == [path]


def test_all_who_make_a_key_file_at_once_use_the_same_key(tmp_path: Path) -> None:
    """Whoever comes second takes the key of the first; nobody goes on with a key that is not in the file."""
    found: list[str] = []
    start = threading.Barrier(8)

    def make() -> None:
        start.wait()
        found.append(root_of(f"file:{tmp_path / 'key'}", create=True).key_id)

    makers = [threading.Thread(target=make) for _ in range(8)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_who_comes_second_to_a_key_file_takes_the_first_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "key", os.link

    def late(source: Path, target: Path) -> None:
        private(path, b64url(KEY).encode())
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert root_of(f"file:{path}", create=True).key_id == KEY_ID
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_file_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    private(tmp_path / "file", b"")
    assert refusal(KeyUnavailable, f"file:{tmp_path / 'file' / 'key'}", create=True) == "file_not_made"


# --- the environment and the keystore ---------------------------------------------------------------------------------


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", b64url(KEY))
    assert root_of("env:A_KEY").key_id == KEY_ID
    monkeypatch.delenv("A_KEY")
    assert refusal(KeyUnavailable, "env:A_KEY") == "variable_not_set"


def test_without_the_extra_the_keystore_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert refusal(KeyUnavailable, "keyring:muniment/default") == "extra_keyring_not_installed"


@pytest.fixture
def keystore() -> Iterator[dict[tuple[str, str], str]]:
    """Give the keyring package itself, with a backend that lives in memory."""
    keyring = pytest.importorskip("keyring", reason="the extra keyring is not installed")
    backend = pytest.importorskip("keyring.backend")
    errors = pytest.importorskip("keyring.errors")
    entries: dict[tuple[str, str], str] = {}

    def get_password(_: object, service: str, username: str) -> str | None:
        if service == "locked":
            raise errors.KeyringLocked
        return entries.get((service, username))

    def set_password(_: object, service: str, username: str, password: str) -> None:
        entries[service, username] = password

    members = {"priority": 1, "get_password": get_password, "set_password": set_password, "delete_password": None}
    before = keyring.get_keyring()
    keyring.set_keyring(type("Memory", (backend.KeyringBackend,), members)())
    yield entries
    keyring.set_keyring(before)


def test_a_key_comes_from_the_keystore(keystore: dict[tuple[str, str], str]) -> None:
    assert refusal(KeyUnavailable, "keyring:muniment/default") == "no_such_entry"
    made = root_of("keyring:muniment/default", create=True)
    assert root_of("keyring:muniment/default").key_id == made.key_id
    assert root_of("keyring:muniment/default", create=True).key_id == made.key_id
    keystore["muniment", "a/b"] = KEY.hex()
    assert root_of("keyring:muniment/a/b").key_id == KEY_ID
    assert refusal(KeyUnavailable, "keyring:locked/x") == "keystore_refused"


# --- passphrases ------------------------------------------------------------------------------------------------------


def test_a_passphrase_gives_the_same_key_wherever_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Argon2id is a function; neither the way a passphrase comes in nor the form of its letters changes the key."""
    monkeypatch.setenv("WORDS", "cafe\u0301")
    path = private(tmp_path / "words", "caf\u00e9\n".encode())
    roots = (
        root_of("passphrase:env:WORDS", argon2=CHEAP),
        root_of(f"passphrase:file:{path}", argon2=CHEAP),
        root_of("passphrase:", argon2=CHEAP, typed=("caf\u00e9",)),
        root_of("passphrase:", argon2=CHEAP, typed=("caf\u00e9", "caf\u00e9"), create=True),
    )
    assert len({root.key_id for root in roots}) == 1
    assert root_of("passphrase:", argon2=CHEAP, typed=("cafe",)).key_id != roots[0].key_id


def test_salt_and_each_cost_give_another_key() -> None:
    kinds = (
        CHEAP,
        Argon2(salt=b64url(bytes(15) + b"\1"), memory_kib=8192, iterations=1, lanes=1),
        Argon2(salt=CHEAP.salt, memory_kib=8200, iterations=1, lanes=1),
        Argon2(salt=CHEAP.salt, memory_kib=8192, iterations=2, lanes=1),
        Argon2(salt=CHEAP.salt, memory_kib=8192, iterations=1, lanes=2),
    )
    assert len({root_of("passphrase:", argon2=kind, typed=("words",)).key_id for kind in kinds}) == len(kinds)


def test_our_stretching_is_argon2id() -> None:
    """The primitive gives the published answer of the reference implementation, and ours is the primitive."""
    published = Argon2id(salt=b"somesalt", length=32, iterations=2, lanes=1, memory_cost=65536).derive(b"password")
    assert published.hex() == "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"
    ours = Argon2(salt=b64url(b"somesaltsomesalt"), memory_kib=8192, iterations=2, lanes=1)
    theirs = Argon2id(salt=b"somesaltsomesalt", length=32, iterations=2, lanes=1, memory_cost=8192)
    assert ours.stretch(b"password") == theirs.derive(b"password")


def test_a_new_store_gets_a_salt_of_its_own() -> None:
    one, other = (describe("passphrase:", SeededEntropy(seed)).argon2 for seed in (b"1", b"2"))
    assert one is not None
    assert other is not None
    assert (one.memory_kib, one.iterations, one.lanes) == (65536, 3, 4)
    assert one.salt != other.salt
    assert describe("file:/key", SystemEntropy()) == RootDescriptor(scheme="file")
    assert describe("passphrase:env:X", SystemEntropy(), CHEAP).argon2 == CHEAP


def test_a_passphrase_that_is_none_is_refused(tmp_path: Path) -> None:
    assert refusal(KeyInvalid, "passphrase:", argon2=CHEAP, typed=("",)) == "passphrase_length"
    assert refusal(KeyInvalid, "passphrase:", argon2=CHEAP, typed=("x" * 4097,)) == "passphrase_length"
    assert refusal(KeyInvalid, "passphrase:", argon2=CHEAP, typed=("a", "b"), create=True) == "passphrases_differ"
    assert refusal(KeyInvalid, "passphrase:", argon2=CHEAP, typed=("\udcff",)) == "not_unicode"
    path = private(tmp_path / "words", b"\xff\xfe")
    assert refusal(KeyInvalid, f"passphrase:file:{path}", argon2=CHEAP) == "not_unicode"


def test_a_passphrase_in_the_uri_is_refused() -> None:
    assert refusal(KeyInvalid, "passphrase:correct horse", argon2=CHEAP) == "unknown_scheme"


def test_a_store_that_was_not_made_with_a_passphrase_has_none() -> None:
    assert refusal(KeyWrong, "passphrase:", typed=("words",)) == "not_made_with_a_passphrase"


@pytest.mark.parametrize(
    ("salt", "memory_kib", "iterations", "lanes"),
    [
        (CHEAP.salt, 8191, 1, 1),
        (CHEAP.salt, 2**31, 1, 1),
        (CHEAP.salt, 8192, 0, 1),
        (CHEAP.salt, 8192, 65, 1),
        (CHEAP.salt, 8192, 1, 0),
        (CHEAP.salt, 8192, 1, 65),
        ("not base64url", 8192, 1, 1),
        (b64url(bytes(15)), 8192, 1, 1),
    ],
)
def test_a_cost_that_is_too_low_or_ruinous_is_refused(salt: str, memory_kib: int, iterations: int, lanes: int) -> None:
    with pytest.raises(KeyInvalid):
        Argon2(salt=salt, memory_kib=memory_kib, iterations=iterations, lanes=lanes)


def test_without_a_terminal_there_is_no_passphrase_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    for stdin in (None, io.StringIO("words\n")):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(KeyUnavailable, match="no terminal to ask for the passphrase"):
            ask_at_terminal("Passphrase: ")


ASKING = """
import fcntl, sys, termios
from muniment.crypto.root_sources import ask_at_terminal
from muniment.errors import KeyUnavailable
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
try:
    told = len(ask_at_terminal("Passphrase: "))
except KeyUnavailable as refusal:
    told = refusal.problem
print(told, file=sys.stderr)
"""


def at_a_terminal(typed: bytes) -> tuple[str, bytes]:
    """Ask in a process that has a terminal of its own; return what it told, and what was to be seen there."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", ASKING],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=environment,
    ) as child:
        seen = os.read(ours, 1000)
        os.write(ours, typed)
        _, told = child.communicate(timeout=30)
    os.close(theirs)
    with contextlib.suppress(OSError):  # a terminal that nobody holds any more says so with an error
        seen += os.read(ours, 1000)
    os.close(ours)
    return told.decode().strip(), seen


def test_a_passphrase_is_typed_at_the_terminal_and_not_shown() -> None:
    told, seen = at_a_terminal(b"open sesame\n")
    assert told == "11"
    assert b"Passphrase: " in seen
    assert b"sesame" not in seen


def test_an_end_of_input_is_no_passphrase() -> None:
    assert at_a_terminal(b"\x04")[0] == "no_passphrase"


def test_a_service_of_the_host_can_have_a_scheme_of_its_own() -> None:
    own = LocalRoot(KEY, SystemEntropy())
    occasion = OpenerContext(entropy=SystemEntropy(), descriptor=RootDescriptor(scheme="kms"))

    def opener(rest: str, _: Any) -> RootKey:
        assert rest == "anything"
        return own

    assert open_root("kms:anything", occasion, {"kms": opener}) is own
