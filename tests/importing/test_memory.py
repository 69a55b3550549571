"""What unpacks to hundreds of megabytes is read in bounded memory; measured in a process of its own."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

UNPACKED_MIB = 400
MORE_MIB_MAX = 200  # an element of 64 MiB in a buffer that grows, and what a run takes anyway
SCRIPT = """
import resource, sys, muniment
from muniment.formats.reading.import_format import Format
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
with muniment.open("memory:") as runtime:
    before = peak()
    runtime.spaces.import_(sys.argv[1], Format.OPENAI)
    print(peak() - before)
"""
CHAT = b'{"messages":[{"role":"user","content":"%s"}]}'
BOMBS = {
    "blanks": (b"[", b" " * 2**20, b"]"),
    "one string": (b'["', b"x" * 2**20, b'"]'),
    "one conversation": (b'[{"messages":[{"role":"user","content":"', b"x" * 2**20, b'"}]}]'),
    "open brackets": (b"[\n", b"[" * 2**20, b""),
    "chats of a megabyte": (b"[\n1", b"," + CHAT % (b"x" * 2**20), b"]"),
    "an object": (b'{"a":\n"', b"x" * 2**20, b'"}'),
    "messages": (b"[\n" + b'{"role":"user","content":"q"}', b',{"role":"user","content":"%s"}' % (b"x" * 2**20), b"]"),
    "lines": (b"", CHAT % (b"x" * 2**20) + b"\n", b""),
    "a line": (b"", b"x" * 2**20, b""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unpacks_to_a_large_one_takes_little_memory(name: str, tmp_path: Path) -> None:
    begin, middle, end = BOMBS[name]
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(begin)
        for _ in range(UNPACKED_MIB):
            file.write(middle)
        file.write(end)
    inherited = {each: value for each, value in os.environ.items() if not each.startswith("COVERAGE")}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], env=inherited, capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) <= MORE_MIB_MAX
