"""Entries of another type than turns: the log keeps, proves, erases and heals them without knowing what they are.

A copy of the package has one more type of stream, a binder, whose entries are sheets. A sheet has two names, and a
name can be moved to another sheet. Everything that reads a log meets such streams beside conversations.
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
    BINDER_OPENED = "binder.opened"
    SHEET_RECORDED = "sheet.recorded"
    SHEET_CHANGED = "sheet.changed"
"""
BODIES = """

class BinderOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    plane: str


class SheetMeta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    topic: str


class SheetContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    text: str


META_BODIES |= {
    EventKind.BINDER_OPENED: BinderOpened,
    EventKind.SHEET_RECORDED: SheetMeta,
    EventKind.SHEET_CHANGED: TurnLifecycle,
}
CONTENT_BODIES |= {EventKind.SHEET_RECORDED: SheetContent, EventKind.SHEET_CHANGED: Words}
CHANGES |= {EventKind.SHEET_CHANGED}
VERSIONS |= {BinderOpened: 1, SheetMeta: 1, SheetContent: 1}
BINDER = StreamShape("binder", "binder.opened", "sheet", "sheet.recorded", "sheet.changed")
OPENS["binder.opened"] = "binder"
ENTRIES["sheet.recorded"] = "sheet"
LIFECYCLES.append("sheet.changed")
"""
PLAIN_CONTENT = """    if not hasattr(body, "parts"):
        return list(zip(body.__struct_fields__, encode_each(astuple(body)), strict=True))
    for place, parts in enumerate(body.parts):
"""
SCRIPT = Path(__file__).with_name("binder_script.py")


@pytest.fixture(scope="module")
def with_binders(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    """Run the script of the binder with the copy; return what it found."""
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


def test_a_binder_is_kept_proved_erased_and_healed_like_a_conversation(with_binders: Path, tmp_path: Path) -> None:
    found = told(with_binders, tmp_path)
    assert found["written"] == {"sheets": [1, 2, 3], "names": 2, "moved": True, "renamed_free": True}
    assert found["erased"] == {"content": True, "text_of_others": ["likes tea", "lives in Oslo"]}
    assert found["reopened"] == {"sound": True, "findings": [], "changes": 1, "type": "binder", "names": 7}
    assert found["healed"] == {"came_back": True, "content": False, "sound": True}
    assert found["search"] == {"hello": 2, "tea": 0}
    assert found["replay"] == ["t-1", "t-2"]
    assert found["archive"] == {"documents": 1, "inserted": 2}
    assert found["restored"] == {"sound": True, "sheet": False, "texts": ["likes tea"]}
    assert found["verified"] == {"turns": 2, "events": found["verified"]["events"], "erased": 0, "streams": 2}
    assert found["receipt"] == "sheet"
