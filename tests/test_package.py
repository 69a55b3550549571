"""The package as a whole: what importing it costs and what it shows."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

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
    assert loaded <= {"muniment", "importlib", "warnings"}


def _place() -> str:
    return muniment.__path__[0].removesuffix("/muniment")


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
