"""Transcripts of the command line: what a person types and what comes back, as text under `fixtures/cli/`.

A transcript is played in an empty directory that holds the turns of the demo (`turns/1.json` ...), a small model of
chance (`model`) and the files of `fixtures/cli/files/`. Lines that begin with `$ ` are commands, what follows is what
they say (standard output, then standard error), and a last line like `[4]` is an exit code other than zero. The clock
stands still and chance repeats; what is opaque all the same (ids, hashes, notes, cursors, sizes on the disk) is written
as a word in angle brackets, so that a change of the bytes at rest changes no transcript. In a command, `<cursor>` is
the last cursor or token that was printed; in `turn-with-photo.json`, `<part>` is the attachment that was added last.

    python -m tests.cli.transcripts            tells which transcripts differ
    python -m tests.cli.transcripts --write    plays them again
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from tests.cli.shell import Shell
from tests.embedding.models import small_folder

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "fixtures/cli"

ADDED = re.compile(r'^\{"part":(.*)\}$', re.MULTILINE)
CURSOR = re.compile(r"mc1\.[A-Za-z0-9_-]+")
# what is opaque -> the word that stands for it
OPAQUE: list[tuple[re.Pattern[str], str]] = [
    (CURSOR, "<cursor>"),
    (re.compile(r'"receipt":"c2sp[^"]*"'), '"receipt":"<receipt>"'),
    (re.compile(r'"upload":"[A-Za-z0-9_-]+"'), '"upload":"<upload>"'),
    (re.compile(r"\bmun_[0-9A-Za-z]{49}\b"), "<client key>"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "<fingerprint>"),
    (re.compile(r"muniment\.example/[A-Za-z0-9_-]{22}(?:/[A-Za-z0-9_-]+)?\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{44}"), "<vkey>"),
    (re.compile(r"muniment\.example/[A-Za-z0-9_-]{22}(?:/[A-Za-z0-9_-]+)?"), "<origin>"),
    (re.compile(r"— <origin> [A-Za-z0-9+/=]+"), "— <origin> <signature>"),
    (re.compile(r"(signed by +)[0-9a-f]{8}"), r"\1<key>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"(?m)^( *extra) [A-Za-z0-9+/=]+$"), r"\1 <event>"),
    (re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])"), "<hash>"),
    (re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_=-])"), "<digest>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<digest>"),
    (re.compile(r"(?m)^(log +)[A-Za-z0-9_-]{22}$"), r"\1<log>"),
    (re.compile(r'"log":"[A-Za-z0-9_-]{22}"'), '"log":"<log>"'),
    (re.compile(r"(?m)^(bytes +)[0-9,]+$"), r"\1<size>"),
    (re.compile(r'"bytes":[0-9]+'), '"bytes":<size>'),
    (re.compile(r"(?m)^(free bytes +)[0-9,]+$"), r"\1<size>"),
]


def play(transcript: str, directory: Path) -> str:
    """Return a transcript with what its commands say today."""
    shell = Shell(directory)
    (directory / "turns").mkdir()
    for number, line in enumerate((ROOT / "fixtures/demo.jsonl").read_text().splitlines(), start=1):
        (directory / f"turns/{number}.json").write_text(line)
    small_folder(directory / "model")
    for file in (PLACE / "files").iterdir():
        shutil.copy(file, directory)
    said: list[str] = []
    cursor, photo = "", (directory / "turn-with-photo.json").read_text()
    for line in transcript.splitlines():
        if line.startswith("#"):
            said += [*([""] if said else []), line]
        if not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "))
        assert words[0] == "muniment", "a transcript runs the product and nothing else"
        ran = shell.run(*(word.replace("<cursor>", cursor) for word in words[1:]))
        cursor = (CURSOR.findall(ran.said) or [cursor])[-1]
        if added := ADDED.findall(ran.said):
            (directory / "turn-with-photo.json").write_text(photo.replace('"<part>"', added[-1]))
        said += ["", line, *_plain(ran.said, directory).splitlines(), *([f"[{ran.code}]"] if ran.code else [])]
    return "\n".join(said).lstrip("\n") + "\n"


def _plain(said: str, directory: Path) -> str:
    said = said.replace(str(directory), "<home>")
    for pattern, word in OPAQUE:
        said = pattern.sub(word, said)
    return said


def transcripts() -> list[Path]:
    """Return the transcripts that there are."""
    return sorted(PLACE.glob("*.txt"))


def played(path: Path) -> str:
    """Return what a transcript would be today."""
    with tempfile.TemporaryDirectory() as directory:
        return play(path.read_text(encoding="utf-8"), Path(directory).resolve())


def main() -> None:
    """Tell which transcripts differ; with `--write`, play them again."""
    differing = [path for path in transcripts() if played(path) != path.read_text(encoding="utf-8")]
    for path in differing:
        if "--write" in sys.argv[1:]:
            path.write_text(played(path), encoding="utf-8")
        print(path.relative_to(ROOT))  # noqa: T201 - a command speaks to its caller
    if differing and "--write" not in sys.argv[1:]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
