"""Material that is beside a checkout: public test vectors and corpora, which the repository does not carry."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared"


def need_shared(relative: str) -> Path:
    """Return the path below the shared directory, or skip the test with the reason."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"needs {relative} in a directory `shared` beside the checkout")
    return path
