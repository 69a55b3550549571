"""Entries of another type than turns: the log keeps, proves, erases and heals them without knowing what they are.

A copy of the package has one more type of stream, a notebook, whose entries are items. An item has two names, and a
name can be moved to another item. Everything that reads a log meets such streams beside conversations.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import muniment

KINDS = """
    NOTEBOOK_OPENED = "notebook.opened"
    ITEM_RECORDED = "item.recorded"
    ITEM_CHANGED = "item.changed"
"""
BODIES = """

class NotebookOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    plane: str


class ItemMeta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    topic: str


class ItemContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    text: str


META_BODIES |= {
    EventKind.NOTEBOOK_OPENED: NotebookOpened,
    EventKind.ITEM_RECORDED: ItemMeta,
    EventKind.ITEM_CHANGED: TurnLifecycle,
}
CONTENT_BODIES |= {EventKind.ITEM_RECORDED: ItemContent, EventKind.ITEM_CHANGED: Words}
CHANGES |= {EventKind.ITEM_CHANGED}
VERSIONS |= {NotebookOpened: 1, ItemMeta: 1, ItemContent: 1}
NOTEBOOK = StreamShape("notebook", "notebook.opened", "item", "item.recorded", "item.changed")
OPENS["notebook.opened"] = "notebook"
ENTRIES["item.recorded"] = "item"
LIFECYCLES.append("item.changed")
"""
PLAIN_CONTENT = """    if not hasattr(body, "parts"):
        return list(zip(body.__struct_fields__, encode_each(astuple(body)), strict=True))
    for place, parts in enumerate(body.parts):
"""
SCRIPT = Path(__file__).with_name("notebook_script.py")


@pytest.fixture(scope="module")
def with_notebooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the copy of the package."""
    home = tmp_path_factory.mktemp("copy")
    assert muniment.__file__ is not None
    package = home / "muniment"
    shutil.copytree(Path(muniment.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    records, labels = package / "events" / "records.py", package / "events" / "labels.py"
    text = records.read_text()
    known = '    CONTENT_EXPORTED = "content.exported"\n'
    assert text.count(known) == 1
    records.write_text(text.replace(known, known + KINDS) + BODIES)
    text = labels.read_text()
    known = "    for place, parts in enumerate(body.parts):\n"
    assert text.count(known) == 1
    labels.write_text(text.replace(known, PLAIN_CONTENT))
    return home


def told(home: Path, tmp_path: Path) -> dict[str, Any]:
    """Run the script of the notebook with the copy; return what it found."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)],
        env={**inherited, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


def test_a_notebook_is_kept_proved_erased_and_healed_like_a_conversation(with_notebooks: Path, tmp_path: Path) -> None:
    found = told(with_notebooks, tmp_path)
    assert found["written"] == {"items": [1, 2, 3], "names": 2, "moved": True, "renamed_free": True}
    assert found["erased"] == {"content": True, "text_of_others": ["likes tea", "lives in Oslo"]}
    assert found["reopened"] == {"sound": True, "findings": [], "changes": 1, "type": "notebook", "names": 7}
    assert found["healed"] == {"came_back": True, "content": False, "sound": True}
    assert found["search"] == {"hello": 2, "tea": 0}
    assert found["replay"] == ["t-1", "t-2"]
    assert found["archive"] == {"documents": 1, "inserted": 2}
    assert found["restored"] == {"sound": True, "item": False, "texts": ["likes tea"]}
    assert found["verified"] == {"turns": 2, "events": found["verified"]["events"], "erased": 0, "streams": 2}
    assert found["receipt"] == "item"
