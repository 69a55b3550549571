"""Documents and docstrings do what they show (how: tests/documents.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil.example import SybilFailure

from tests import documents
from tests.documents import ROOT, execute

pytestmark = pytest.mark.no_cover  # what documents show is covered by the tests of what they show


def name_of(path: Path) -> str:
    """Return the name of a document in reports."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", documents.documents(), ids=name_of)
def test_the_document_does_what_it_shows(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for example in documents.examples(path, tmp_path):
        example.evaluate()


@pytest.mark.parametrize("path", documents.documents(), ids=name_of)
def test_every_block_of_the_document_is_run_or_said_to_be_plain(path: Path) -> None:
    assert set(documents.languages(path)) <= documents.PLAIN | documents.RUN


def test_the_docstrings_of_the_product_do_what_they_show() -> None:
    for path in documents.docstring_files():
        for example in documents.docstring_examples(path):
            example.evaluate()


def test_only_the_readme_and_the_contributors_page_make_environments() -> None:
    """What `sh` blocks say is run by `.ci/run` alone, so nothing else may say it."""
    where = {path.name for path in documents.documents() if "sh" in documents.languages(path)}
    assert where <= {"README.md", "CONTRIBUTING.md"}


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("$ echo one two\none two\n", None),
        ("$ echo one two\none ...\n", None),
        ("$ printf 'a\\nb\\nc\\n'\na\n...\nc\n", None),
        ("$ echo a \\\n> b\na b\n$ cat x\ncat: ...\n[1]\n", None),
        ("$ touch kept\n$ ls\nkept\n", None),
        ("$ echo one\ntwo\n", "shows something else"),
        ("$ echo one\n", "shows something else"),
        ("$ exit 3\n", "ended with 3, not 0"),
        ("$ false | true\n", "ended with 1, not 0"),
        ("$ true\n[1]\n", "ended with 0, not 1"),
    ],
)
def test_a_console_block_is_held_to_what_it_shows(block: str, complaint: str | None, tmp_path: Path) -> None:
    found = execute(block, tmp_path)
    assert found is None if complaint is None else complaint in (found or "")


def test_a_document_that_shows_something_false_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\n>>> x\n2\n```\n\n```console\n$ echo a\nb\n```\n")
    first, *false = documents.examples(page, tmp_path)
    first.evaluate()
    assert len(false) == 2
    for example in false:
        with pytest.raises(SybilFailure):
            example.evaluate()
    assert list(documents.languages(page)) == ["python", "python", "console"]


def test_only_a_block_for_a_framework_that_is_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "FRAMEWORKS", ("json", "json.gone", "gone.inside"))
    page = tmp_path / "page.md"
    blocks = ["import json", "import gone", "import gone.inside.more", "from json.gone import x", "import jsonx"]
    page.write_text("\n".join(f"```python\n{block}\n```\n" for block in blocks))
    kept = [str(example.parsed).strip() for example in documents.examples(page, tmp_path)]
    assert kept == ["import json", "import gone", "import jsonx"]


def test_a_docstring_that_shows_something_false_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "shown_by_a_docstring.py"
    module.write_text('"""Example.\n\n>>> 1 + 1\n2\n>>> 1 + 1\n3\n"""\n')
    true, false = documents.docstring_examples(module)
    true.evaluate()
    with pytest.raises(SybilFailure):
        false.evaluate()
