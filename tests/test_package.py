"""The package as a whole: what importing it costs and what it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import muniment

LOADED = """
import json, sys
before = set(sys.modules)
import muniment
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_importing_the_package_loads_nothing_but_itself() -> None:
    """A tool that only wants the version pays for no database, no cipher and no typing machinery."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, check=True, env={"PYTHONPATH": _place()})
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert loaded <= {"muniment", "importlib", "warnings", "fcntl"}


def _place() -> str:
    return muniment.__path__[0].removesuffix("/muniment")


HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "fcntl":
            raise ModuleNotFoundError("No module named 'fcntl'", name="fcntl")

sys.modules.pop("fcntl", None)
sys.meta_path.insert(0, Hidden())
"""


@pytest.mark.parametrize("name", ["muniment", "muniment.errors", "muniment.transports.cli.__main__"])
def test_a_platform_without_posix_is_refused_by_name(name: str) -> None:
    """The error says what is missing and what to do, whichever module is imported first."""
    done = _python(f"{HIDDEN}import {name}")
    *_, last = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert last.startswith("ImportError: muniment needs a POSIX platform")
    assert all(word in last for word in ("fcntl", "Windows", "WSL"))
    assert b"another exception" not in done.stderr


def test_the_verifier_runs_on_a_platform_without_posix(tmp_path: Path) -> None:
    """Whoever gets an export copies one file, and checks the export on any platform."""
    copy = tmp_path / "verifier.py"
    copy.write_bytes(Path(_place(), "muniment/evidence/verifier.py").read_bytes())
    done = _python(f"{HIDDEN}import verifier; print(verifier.verify_bundle.__name__)", tmp_path)
    assert (done.returncode, done.stdout.decode().strip()) == (0, "verify_bundle"), done.stderr.decode()


def _python(program: str, *paths: Path) -> subprocess.CompletedProcess[bytes]:
    path = os.pathsep.join([_place(), *map(str, paths)])
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, env={"PYTHONPATH": path})


def test_every_public_name_can_be_had_and_is_shown() -> None:
    for name in muniment.__all__:
        assert getattr(muniment, name) is getattr(muniment, name)
    assert set(muniment._HOMES) == set(muniment.__all__) == set(dir(muniment))


def test_a_name_that_is_not_public_is_refused_as_usual() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = muniment.nothing


def test_the_version_comes_from_one_place() -> None:
    try:
        assert version("muniment") == muniment.__version__
    except PackageNotFoundError:
        pytest.skip("muniment is not installed here, only on the path")


def test_the_gate_runs_every_python_that_the_package_names() -> None:
    """What a classifier promises, `.ci/run` tries: the oldest by default, the newer ones where they are installed."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    named = ["3." + each.removeprefix(prefix) for each in project["classifiers"] if each.startswith(prefix)]
    newer = re.search(r"^readonly NEWER='([0-9. ]+)'", (root / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)
    assert newer is not None
    assert named == [project["requires-python"].removeprefix(">="), *newer[1].split()]
