"""The published contracts are what the code says they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import schemas


@pytest.fixture(scope="module")
def wanted() -> dict[str, str]:
    """Make every contract once: that takes seconds."""
    return schemas.generated()


def test_every_contract_is_what_the_code_generates(wanted: dict[str, str]) -> None:
    """Two truths never differ; whoever changes a contract on purpose sees it as a diff."""
    present = schemas.committed()
    differing = sorted(path for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path))
    assert not differing, f"run `{schemas.COMMAND}` and look at the diff"


def test_writing_repairs_changed_missing_and_left_over_files(
    wanted: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "ROOT", tmp_path)
    monkeypatch.setattr(schemas, "GENERATORS", [lambda: wanted])
    assert sorted(schemas.write()) == sorted(wanted)
    (tmp_path / "README.md").write_text("else")
    (tmp_path / "schemas/api.txt").write_text("else")
    (tmp_path / "schemas/old.json").write_text("{}")
    assert schemas.write() == ["README.md", "schemas/api.txt", "schemas/old.json"]
    assert schemas.committed() == wanted
    assert schemas.write() == []
