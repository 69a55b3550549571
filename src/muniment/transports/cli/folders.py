"""A folder of documents on a disk: written below a directory that was named, without taking anything from anybody.

A file is replaced when it begins with the line that the new one begins with: an earlier version of the same file. Any
other file of its name, and a link anywhere below the directory, is refused before anything is written.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import msgspec

from muniment.declaration.operation import DocumentFile, DocumentFolder
from muniment.errors import FileTaken, FileUnavailable
from muniment.transports.cli.output import page_on, write_json

DIRECTORY_MODE, FILE_MODE = 0o700, 0o600


def hand_over_folder(folder: DocumentFolder, out: str | None, *, as_json: bool) -> None:
    """Write the files below the directory that was named, or to standard output, and the facts about them beside."""
    if out is not None:
        write_folder(Path(out), folder.files)
    if as_json:
        told = msgspec.structs.asdict(folder)
        write_json(told if out is None else {**told, "files": [file.name for file in folder.files], "out": out})
        return
    if out is None:
        for file in folder.files:
            sys.stdout.buffer.write(f"==> {file.name} <==\n{file.text}\n".encode())
        sys.stdout.buffer.flush()
    page = page_on(sys.stderr)
    from muniment.transports.cli.scalars import said  # noqa: PLC0415 - loaded when there is something to say

    page.facts([(name, said(name, value)) for name, value in folder.summary.items() if value is not None])


def write_folder(out: Path, files: list[DocumentFile]) -> None:
    """Write files below a directory; each is whole under its name, or not there."""
    try:
        targets = [(_target(out, file), file.text.encode()) for file in files]
        for target, text in targets:
            target.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            _write(target, text)
    except (OSError, ValueError) as fault:
        raise FileUnavailable.because(fault, at="out") from None


def _target(out: Path, file: DocumentFile) -> Path:
    """Return where a file goes; what is there must be an earlier version of it."""
    target = out.joinpath(*file.name.split("/"))
    between = target.relative_to(out).parents
    for above in [out / part for part in between if part != Path()]:
        if os.path.lexists(above) and not stat.S_ISDIR(above.lstat().st_mode):
            raise FileTaken(at="out")
    if os.path.lexists(target):
        if not stat.S_ISREG(target.lstat().st_mode):
            raise FileTaken(at="out")
        descriptor = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as there:
            first = file.text.partition("\n")[0].encode() + b"\n"
            if there.readline(len(first) + 1) != first:
                raise FileTaken(at="out")
    return target


def _write(target: Path, text: bytes) -> None:
    beside = target.with_name(target.name + ".new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, FILE_MODE)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
