"""The oldest dependencies that `pyproject.toml` allows, as constraints for pip: `python -m tests.floors`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def floors() -> list[str]:
    """Return one constraint for each dependency of the package: its lower bound, exactly."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    bounds = (re.fullmatch(r"([\w-]+)>=([\d.]+)", dependency) for dependency in project["dependencies"])
    found = [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]
    assert len(found) == len(project["dependencies"]), "every dependency has a lower bound and nothing else"
    return found


if __name__ == "__main__":
    print("\n".join(floors()))  # noqa: T201 - a command speaks to its caller
