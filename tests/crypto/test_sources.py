"""Where root keys come from."""

from __future__ import annotations

import io import os import pty import stat import subprocess import sys import threading from pathlib import Path from
types import ModuleType from typing import Any

import pytest

from muniment.crypto.root import LocalRoot, RootKey from muniment.crypto.sources import Argon2, Descriptor, Occasion,
ask_at_terminal, describe, open_root from muniment.errors import KeyExposed, KeyInvalid, KeyUnavailable, KeyWrong,
MunimentError from muniment.kernel.digest import b64url from muniment.kernel.sources import SeededEntropy, SystemEntropy

KEY = bytes(range(100, 132)) CHEAP = Argon2(salt=b64url(bytes(16)), memory_kib=8192, iterations=1, lanes=1)


def root_of(uri: str, *, create: bool = False, argon2: Argon2 | None = None, typed: tuple[str, ...] = ()) -> RootKey:
answers = iter(typed) descriptor = Descriptor(scheme="any", argon2=argon2) return open_root( uri,
Occasion(entropy=SystemEntropy(), descriptor=descriptor, create=create, ask=lambda _: next(answers)) )


def refusal(error: type[MunimentError], uri: str, **how: Any) -> str | None: with pytest.raises(error) as caught:
root_of(uri, **how) assert type(caught.value) is error return caught.value.problem


def private(path: Path, contents: bytes, mode: int = 0o600) -> Path: path.write_bytes(contents) path.chmod(mode) return
path


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize( "line", [ b64url(KEY).encode(), b64url(KEY).encode() + b"\n", b64url(KEY).encode() + b"=\r\n",
KEY.hex().encode(), b"  " + KEY.hex().upper().encode() + b"\n", ], ) def
test_a_key_file_holds_one_line_in_either_spelling(tmp_path: Path, line: bytes) -> None: path = private(tmp_path / "key",
line) assert root_of(f"file:{path}").key_id == LocalRoot(KEY, SystemEntropy()).key_id assert
root_of(f"file://{path}").key_id == LocalRoot(KEY, SystemEntropy()).key_id


@pytest.mark.parametrize( ("line", "problem"), [ (b"", "length"), (b"not a key", "not_base64url_or_hex"),
(b64url(KEY[:31]).encode(), "length"), (b"ab" * 31 + b"  ", "not_base64url_or_hex"), (b"zz" * 32,
"not_base64url_or_hex"), (b"\xff" * 43, "not_base64url_or_hex"), (b"a" * 5000, "too_long"), ], ) def
test_another_line_is_refused_and_never_quoted(tmp_path: Path, line: bytes, problem: str) -> None: assert
refusal(KeyInvalid, f"file:{private(tmp_path / 'key', line)}") == problem


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o666, 0o777]) def
test_a_key_file_that_others_may_open_is_refused(tmp_path: Path, mode: int) -> None: path = private(tmp_path / "key",
b64url(KEY).encode(), mode) assert refusal(KeyExposed, f"file:{path}") == "mode" assert refusal(KeyExposed,
f"passphrase:file:{path}", argon2=CHEAP) == "mode"


def test_a_key_file_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None: path =
private(tmp_path / "key", b64url(KEY).encode(), 0o400) monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid +
1) assert refusal(KeyExposed, f"file:{path}") == "owner"


def test_what_is_not_a_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None: os.mkfifo(tmp_path / "pipe",
0o600) assert refusal(KeyInvalid, f"file:{tmp_path / 'pipe'}") == "not_a_file" assert refusal(KeyUnavailable,
f"file:{tmp_path / 'nothing'}") == "file_not_readable"


@pytest.mark.parametrize("uri", ["file:", "file://host/key", "file:a\0b", "key", "", "ftp:x", "env:", "keyring:only"])
def test_a_malformed_uri_is_refused(uri: str) -> None: assert refusal(KeyInvalid, uri) in {"path_wanted",
"unknown_scheme", "name_wanted", "service_and_name_wanted"}


def test_a_key_file_is_made_for_its_owner_alone_and_then_kept(tmp_path: Path) -> None: path = tmp_path / "a" / "b" /
"key" old = os.umask(0) try: made = root_of(f"file:{path}", create=True) finally: os.umask(old) assert
[stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)] == [ 0o600, 0o700, 0o700, ]
assert root_of(f"file:{path}", create=True).key_id == root_of(f"file:{path}").key_id == made.key_id assert
list(path.parent.iterdir()) == [path]


def test_two_who_make_a_key_file_at_once_use_the_same_key(tmp_path: Path) -> None: """Whoever comes second takes the key
of the first; nobody goes on with a key that is not in the file.""" found: list[str] = [] start = threading.Barrier(8)

def make() -> None: start.wait() found.append(root_of(f"file:{tmp_path / 'key'}", create=True).key_id)

makers = [threading.Thread(target=make) for _ in range(8)] for maker in makers: maker.start() for maker in makers:
maker.join() assert len(found) == 8 assert len(set(found)) == 1 assert [path.name for path in tmp_path.iterdir()] ==
["key"]


def test_who_comes_second_to_a_key_file_takes_the_first_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
path = tmp_path / "key" link = os.link

def late(source: Path, target: Path) -> None: private(path, b64url(KEY).encode()) link(source, target)

monkeypatch.setattr(os, "link", late) assert root_of(f"file:{path}", create=True).key_id == LocalRoot(KEY,
SystemEntropy()).key_id


def test_a_key_file_that_cannot_be_made_is_told(tmp_path: Path) -> None: private(tmp_path / "file", b"") assert
refusal(KeyUnavailable, f"file:{tmp_path / 'file' / 'key'}", create=True) == "file_not_made"


# --- the environment and the keystore ---------------------------------------------------------------------------------


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None: monkeypatch.setenv("A_KEY",
b64url(KEY)) assert root_of("env:A_KEY").key_id == LocalRoot(KEY, SystemEntropy()).key_id monkeypatch.delenv("A_KEY")
assert refusal(KeyUnavailable, "env:A_KEY") == "variable_not_set"


def test_without_the_extra_the_keystore_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
monkeypatch.setitem(sys.modules, "keyring", None) assert refusal(KeyUnavailable, "keyring:muniment/default") ==
"extra_keyring_not_installed"


@pytest.fixture def keystore(monkeypatch: pytest.MonkeyPatch) -> ModuleType: """The keyring package itself, with a
backend that lives in memory.""" keyring = pytest.importorskip("keyring", reason="the extra keyring is not installed")
from keyring.backend import KeyringBackend from keyring.errors import KeyringLocked

entries: dict[tuple[str, str], str] = {}

class Memory(KeyringBackend):  # type: ignore[misc]  # keyring has no types when it is not installed priority = 1

def get_password(self, service: str, username: str) -> str | None: if service == "locked": raise KeyringLocked return
entries.get((service, username))

def set_password(self, service: str, username: str, password: str) -> None: entries[service, username] = password

def delete_password(self, service: str, username: str) -> None: del entries[service, username]

before = keyring.get_keyring() keyring.set_keyring(Memory()) monkeypatch.setattr(keyring, "_restore", before,
raising=False) yield keyring keyring.set_keyring(before)


def test_a_key_comes_from_the_keystore(keystore: ModuleType) -> None: assert refusal(KeyUnavailable,
"keyring:muniment/default") == "no_such_entry" made = root_of("keyring:muniment/default", create=True) assert
root_of("keyring:muniment/default").key_id == made.key_id keystore.set_password("muniment", "a/b", KEY.hex()) assert
root_of("keyring:muniment/a/b").key_id == LocalRoot(KEY, SystemEntropy()).key_id assert refusal(KeyUnavailable,
"keyring:locked/x") == "keystore_refused"


# --- passphrases ------------------------------------------------------------------------------------------------------


def test_the_same_passphrase_salt_and_cost_give_the_same_key_from_everywhere( tmp_path: Path, monkeypatch:
pytest.MonkeyPatch ) -> None: """Argon2id is a function; the way a passphrase comes in and the form its letters have do
not change the key.""" monkeypatch.setenv("WORDS", "cafe\u0301") path = private(tmp_path / "words",
"caf\u00e9\n".encode()) roots = ( root_of("passphrase:env:WORDS", argon2=CHEAP), root_of(f"passphrase:file:{path}",
argon2=CHEAP), root_of("passphrase:", argon2=CHEAP, typed=("caf\u00e9",)), root_of("passphrase:", argon2=CHEAP,
typed=("caf\u00e9", "caf\u00e9"), create=True), ) assert len({root.key_id for root in roots}) == 1 assert
root_of("passphrase:", argon2=CHEAP, typed=("cafe",)).key_id != roots[0].key_id


def test_salt_and_cost_each_give_another_key() -> None: kinds = ( CHEAP, Argon2(salt=b64url(bytes(15) + b"\1"),
memory_kib=8192, iterations=1, lanes=1), Argon2(salt=CHEAP.salt, memory_kib=8193, iterations=1, lanes=1),
Argon2(salt=CHEAP.salt, memory_kib=8192, iterations=2, lanes=1), Argon2(salt=CHEAP.salt, memory_kib=8192, iterations=1,
lanes=2), ) assert len({root_of("passphrase:", argon2=kind, typed=("words",)).key_id for kind in kinds}) == len(kinds)


def test_argon2id_is_the_argon2id_of_rfc_9106() -> None: """The reference implementation's answer (test.c, version 0x13,
Argon2id, t = 2, m = 64 MiB, p = 1).""" known = Argon2(salt=b64url(b"somesaltsomesalt"), memory_kib=65536, iterations=2,
lanes=1) from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

reference = Argon2id(salt=b"somesalt", length=32, iterations=2, lanes=1, memory_cost=65536).derive(b"password") assert
reference.hex() == "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7" ours =
Argon2id(salt=b"somesaltsomesalt", length=32, iterations=2, lanes=1, memory_cost=65536).derive(b"password") assert
known.stretch(b"password") == ours


def test_a_store_that_is_made_gets_a_salt_of_its_own() -> None: one, other = (describe("passphrase:",
SeededEntropy(seed)).argon2 for seed in (b"1", b"2")) assert one is not None assert other is not None assert
(one.memory_kib, one.iterations, one.lanes) == (65536, 3, 4) assert one.salt != other.salt assert describe("file:/key",
SystemEntropy()) == Descriptor(scheme="file") assert describe("passphrase:env:X", SystemEntropy(), CHEAP).argon2 ==
CHEAP


def test_a_passphrase_that_is_none_is_refused(tmp_path: Path) -> None: assert refusal(KeyInvalid, "passphrase:",
argon2=CHEAP, typed=("",)) == "passphrase_length" assert refusal(KeyInvalid, "passphrase:", argon2=CHEAP, typed=("x" *
4097,)) == "passphrase_length" assert refusal(KeyInvalid, "passphrase:", argon2=CHEAP, typed=("a", "b"), create=True) ==
"passphrases_differ" path = private(tmp_path / "words", b"\xff\xfe") assert refusal(KeyInvalid,
f"passphrase:file:{path}", argon2=CHEAP) == "not_unicode"


def test_a_passphrase_in_the_uri_is_refused() -> None: assert refusal(KeyInvalid, "passphrase:correct horse",
argon2=CHEAP) == "unknown_scheme"


def test_a_store_that_was_not_made_with_a_passphrase_has_none() -> None: assert refusal(KeyWrong, "passphrase:",
typed=("words",)) == "not_made_with_a_passphrase"


@pytest.mark.parametrize( "bad", [ {"memory_kib": 8191}, {"memory_kib": 2**31}, {"iterations": 0}, {"iterations": 65},
{"lanes": 0}, {"lanes": 65}, {"salt": "not base64url"}, {"salt": b64url(bytes(15))}, ], ) def
test_a_cost_that_is_too_low_or_ruinous_is_refused(bad: dict[str, Any]) -> None: with pytest.raises(KeyInvalid):
Argon2(**{"salt": CHEAP.salt} | bad)


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None: for stdin in (None,
io.StringIO("words\n")): monkeypatch.setattr(sys, "stdin", stdin) with pytest.raises(KeyUnavailable,
match="no_terminal"): ask_at_terminal("Passphrase: ")


def at_a_terminal(typed: bytes) -> tuple[str, bytes]: """Run `ask_at_terminal` in a process of its own that has a
terminal; return what it told and what was to be seen.""" script = ( "import fcntl, termios, sys; fcntl.ioctl(0,
termios.TIOCSCTTY, 0)\n" "from muniment.crypto.sources import ask_at_terminal\n" "from muniment.errors import
MunimentError\n" "try: print(len(ask_at_terminal('Passphrase: ')), file=sys.stderr)\n" "except MunimentError as refusal:
print(refusal.problem, file=sys.stderr)\n" ) ours, theirs = pty.openpty() child = subprocess.Popen( [sys.executable,
"-c", script], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, start_new_session=True ) os.close(theirs) seen =
os.read(ours, 100) os.write(ours, typed) _, told = child.communicate(timeout=30) try: seen += os.read(ours, 100) except
OSError: pass os.close(ours) return told.decode().strip(), seen


def test_a_passphrase_is_typed_at_the_terminal_and_not_shown() -> None: told, seen = at_a_terminal(b"open sesame\n")
assert told == "11" assert b"Passphrase: " in seen assert b"sesame" not in seen


def test_an_end_of_input_is_no_passphrase() -> None: assert at_a_terminal(b"\x04")[0] == "no_passphrase"


def test_a_service_of_the_host_can_have_a_scheme_of_its_own() -> None: own = LocalRoot(KEY, SystemEntropy()) occasion =
Occasion(entropy=SystemEntropy(), descriptor=Descriptor(scheme="kms")) assert open_root("kms:anything", occasion,
{"kms": lambda _rest, _occasion: own}) is own
