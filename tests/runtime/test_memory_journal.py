"""Memory as a folder of Markdown: written through a view and on record, and read back as it was."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.declaration.operation import DocumentFolder
from muniment.errors import AccessDenied, FileTaken
from muniment.events.identity import SubjectId
from muniment.events.memory_items import ItemPrivacy, MemoryPlane
from muniment.governance.access import Access, Effect
from muniment.governance.detection.detection import Detect
from muniment.governance.detection.scan import DetectedType
from muniment.governance.limits import Limits
from muniment.governance.views import View
from muniment.memory.amendment import CorrectItem, SupersedeItem
from muniment.memory.candidate import ItemAudience
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.selection import ItemFilter
from muniment.operations.memory.shown_item import ShownItem
from muniment.operations.notes.imported_notes import MemoryImport
from muniment.transports.cli.folders import write_folder
from tests.memory.asking import HOME_CITY, amend, forget, listed, remember, size, texts
from tests.memory.items import candidate, skill, statements
from tests.turns import SUBJECT
from tests.worlds import World, memory_world

NOV_14 = 1_700_000_000_000


def filled(world: World) -> World:
    """Let a world have something for every file of a journal."""
    world.with_turns(2)
    remember(world, id="i-1")
    remember(world, "Lives in Rome", 2, id="i-2", tags=["a -->"], keywords=["k"], entities=["Rome"], pinned=True)
    amend(world, "i-2", CorrectItem(text="Lives in Rome,\n- Italy"))
    remember(world, "Use SQLite", None, id="i-3", kind="decision", topic="store", expires_ms=2**50, importance=0.25)
    remember(world, "Tea at noon", 1, id="i-4", kind="diary", topic="noon", plane=MemoryPlane.DIARY, observed_ms=NOV_14)
    remember(world, "A day", 1, id="i-5", kind="summary", topic="day", plane=MemoryPlane.SUMMARY, observed_ms=NOV_14)
    remember(world, "Slow", None, id="i-6", topic="x", kind="fact", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC)
    return world


def written(world: World, **asked: Any) -> DocumentFolder:
    return world.runtime.memory.journal(SubjectId(SUBJECT), **asked)


def on_disk(folder: DocumentFolder, home: Path) -> Path:
    write_folder(home, folder.files)
    return home / str(folder.summary["folder"])


def brought(world: World, source: Any, **asked: Any) -> MemoryImport:
    return world.runtime.memory.import_(source, SubjectId(SUBJECT), "ada", **asked)


def kept(world: World) -> list[ShownItem]:
    """Return the items in use, without what an import does not keep: where they came from and when."""
    plain = {"position": 0, "recorded_ms": 0, "revision": 0, "evidence_count": 0, "evidence": [], "writer": None}
    return [replace(item, source_type="imported", origin=None, **plain) for item in listed(world, View.HOST_UI)]


# --- out --------------------------------------------------------------------------------------------------------------


def test_a_journal_has_what_is_known_and_what_came_to_be_known(world: World) -> None:
    folder = written(filled(world))
    files = {file.name: file.text for file in folder.files}
    assert list(files) == ["ada/MEMORY.md", "ada/USER.md", "ada/memory/2023-11-14.md"]
    assert files["ada/MEMORY.md"].splitlines()[1:5] == ["# Memory", "", "## Decisions", ""]
    assert "- **home city**: Lives in Rome,\\\n  \\- Italy <!-- muniment {" in files["ada/USER.md"]
    assert "Lives in Oslo" not in str(files)
    day = files["ada/memory/2023-11-14.md"]
    headings = [line for line in day.splitlines() if line.startswith("#")]
    assert headings == ["# 2023-11-14", "## Summaries", "### 22:13:20Z", "## Diary", "### 22:13:20Z", "## Remembered"]
    assert (folder.summary["items"], folder.summary["withheld"], folder.summary["files"]) == (4, 1, 3)
    assert "transcript:" not in str(files)
    owner = written(world, view=View.RAW_OWNER)
    assert "  from `transcript:default/default/talk#turn=turn-2`\n" in str(owner.files[1].text)
    assert written(world, view=View.RAW_OWNER).files == owner.files, "the same items give the same bytes"
    audit = written(world, view=View.OPERATOR_AUDIT)
    assert (audit.files, audit.summary["withheld"]) == ([], 5)


def test_a_journal_of_a_day_has_that_day_alone(world: World) -> None:
    filled(world)
    assert [file.name for file in written(world, day_ms=NOV_14 + 1).files] == ["ada/memory/2023-11-14.md"]
    assert written(world, day_ms=NOV_14 + 86_400_000).files == []


def test_a_journal_is_on_record_before_anybody_has_it(world: World) -> None:
    assert written(world).files == []
    assert world.runtime.evidence.disclosures().disclosures == []
    written(filled(world))
    told = world.runtime.evidence.disclosures().disclosures
    assert {(one.kind, one.way, one.subject, one.plane) for one in told} == {
        ("content.exported", "document", "ada", plane) for plane in ("long_term", "diary", "summary")
    }
    assert world.runtime.evidence.inspect().findings == []


def test_a_journal_takes_its_rights(world: World) -> None:
    filled(world)
    for access in (Access(subject=SubjectId("bob")), Access(views=frozenset({View.HOST_UI}))):
        with pytest.raises(AccessDenied):
            world.runtime.restricted(access).memory.journal(SubjectId(SUBJECT))
    for access in (Access(subject=SubjectId("bob")), Access(effects=frozenset(Effect) - {Effect.ADMIN})):
        with pytest.raises(AccessDenied):
            world.runtime.restricted(access).memory.import_(b"- x", SubjectId(SUBJECT), "bob")


# --- a folder ---------------------------------------------------------------------------------------------------------


def test_a_folder_is_written_again_and_takes_nothing_from_anybody(world: World, tmp_path: Path) -> None:
    folder = written(filled(world))
    home = on_disk(folder, tmp_path / "out")
    assert sorted(str(path.relative_to(home)) for path in home.rglob("*.md")) == [
        "MEMORY.md", "USER.md", "memory/2023-11-14.md",
    ]  # fmt: skip
    assert (home / "MEMORY.md").stat().st_mode & 0o777 == 0o600
    amend(world, "i-3", SupersedeItem(text="Use PostgreSQL"))
    on_disk(written(world), tmp_path / "out")
    assert "PostgreSQL" in (home / "MEMORY.md").read_text()
    assert not list(home.rglob("*.new"))
    (home / "USER.md").write_text("mine\n")
    before = (home / "MEMORY.md").read_text()
    amend(world, "i-2", CorrectItem(text="Elsewhere"))
    with pytest.raises(FileTaken):
        on_disk(written(world), tmp_path / "out")
    assert (home / "USER.md").read_text() == "mine\n"
    assert (home / "MEMORY.md").read_text() == before


@pytest.mark.parametrize("place", ["ada", "ada/memory", "ada/MEMORY.md"])
def test_no_link_leads_out_of_a_folder(world: World, tmp_path: Path, place: str) -> None:
    folder = written(filled(world))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text(folder.files[0].text)
    out = tmp_path / "out"
    (out / place).parent.mkdir(parents=True)
    (out / place).symlink_to(tmp_path / "elsewhere" / ("file" if place.endswith(".md") else ""))
    with pytest.raises(FileTaken):
        write_folder(out, folder.files)
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["file"]


# --- there and back ---------------------------------------------------------------------------------------------------


def test_a_journal_comes_back_as_the_same_items(world: World, tmp_path: Path) -> None:
    home = on_disk(written(filled(world)), tmp_path)
    before = size(world)
    again = brought(world, home)
    assert (again.recorded, again.duplicates, again.refused, again.not_understood) == (0, 6, 0, 0)
    assert size(world) == before
    other = memory_world("other")
    first = brought(other, str(home))
    assert (first.recorded, first.duplicates, first.refused) == (4, 2, 0)
    assert sorted(kept(other), key=lambda one: one.id) == sorted(kept(world), key=lambda one: one.id)
    (item,) = [item for item in listed(other, View.RAW_OWNER) if item.id == "i-2"]
    assert (item.source_type, item.origin, item.writer, item.evidence) == ("imported", "USER.md", "ada", [])
    assert brought(other, home).recorded == 0
    assert [file.text for file in written(other).files] == [file.text for file in written(world).files]


@settings(max_examples=20)
@given(st.lists(st.tuples(statements, statements), min_size=1, max_size=6))
def test_a_round_trip_keeps_every_item(said: list[tuple[str, str]]) -> None:
    """Whatever topics and texts are, and once more changes nothing."""
    world, other = memory_world().with_turns(1), memory_world("other")
    for topic, text in said:
        remember(world, text, topic=topic)
    with tempfile.TemporaryDirectory() as home:
        folder = on_disk(written(world), Path(home))
        brought(other, folder)
        assert brought(other, folder).recorded == 0
    assert sorted(kept(other), key=lambda one: one.id) == sorted(kept(world), key=lambda one: one.id)


def test_a_skill_comes_back_under_its_name(world: World, tmp_path: Path) -> None:
    world.with_turns(1)
    remember(world, **skill("go", title="Going", summary="How to go up", id="s-1"))
    target = memory_world("target")
    report = brought(target, on_disk(written(world), tmp_path))
    assert (report.recorded, report.refused) == (1, 0)
    assert kept(target) == kept(world)


@pytest.mark.parametrize(
    ("view", "only"), [(View.EXPORT, [SUBJECT]), (View.RAW_OWNER, [SUBJECT, "bob"])], ids=["export", "raw_owner"]
)
def test_what_few_may_know_is_not_known_to_more_after_an_import(
    world: World, tmp_path: Path, view: View, only: list[str]
) -> None:
    """A view that does not tell the audience leaves the subject alone in it."""
    audience = ItemAudience(only=[SubjectId(SUBJECT), SubjectId("bob")])
    fact = {"plane": MemoryPlane.SHARED_FACT, "audience": audience, "id": "f-1"}
    remember(world, "Party on Friday", None, topic="party", **fact)
    folder = written(world, view=view)
    assert ("bob" in folder.files[0].text) == (view is View.RAW_OWNER)
    target = memory_world("target")
    assert brought(target, on_disk(folder, tmp_path)).recorded == 1
    shown = target.runtime.memory.show("f-1", View.RAW_OWNER).item
    assert shown is not None
    assert shown.audience is not None
    assert sorted(shown.audience.only) == sorted(only)


def test_a_changed_entry_is_a_newer_statement(world: World, tmp_path: Path) -> None:
    home = on_disk(written(filled(world)), tmp_path)
    user = home / "USER.md"
    user.write_text(user.read_text().replace("Lives in Rome", "Lives in Milan"))
    assert brought(world, user).recorded == 1
    assert "Lives in Milan,\n- Italy" in texts(world)
    assert "Lives in Rome,\n- Italy" not in texts(world)


def test_markers_of_a_view_are_no_change(tmp_path: Path) -> None:
    """A journal may show less than there is; what it hides stays as it is."""
    world = memory_world(detect=Detect(views={View.EXPORT: frozenset({DetectedType.EMAIL})})).with_turns(1)
    remember(world, "Writes from ada@example.org", topic="mail", id="i-1")
    folder = written(world)
    assert "example" not in folder.files[0].text
    assert brought(world, on_disk(folder, tmp_path)).recorded == 0
    assert texts(world, View.RAW_OWNER) == ["Writes from ada@example.org"]


# --- in ---------------------------------------------------------------------------------------------------------------


def notes(home: Path) -> Path:
    """Write a folder as other programs do."""
    (home / "memory").mkdir(parents=True)
    (home / "MEMORY.md").write_text("# Memory\n\n## Preferences\n- Tea: green\n\n## Tasks\n- [x] done\n- [ ] bake\n")
    (home / "USER.md").write_text("# USER.md\n\n- **Name:** Ada\n")
    (home / "memory" / "2026-01-02.md").write_text("# 2026-01-02\n\n- went home\n")
    (home / "other.md").write_text("- not read\n")
    return home


def test_notes_of_others_become_items(world: World, tmp_path: Path) -> None:
    home = notes(tmp_path / "notes")
    tried = brought(world, home, dry_run=True)
    assert (tried.recorded, size(world)) == (4, 1)
    report = brought(world, home, run="r-1")
    assert [(file.name, file.statements, file.recorded, file.not_understood) for file in report.files] == [
        ("MEMORY.md", 2, 2, 1),
        ("USER.md", 1, 1, 0),
        ("memory/2026-01-02.md", 1, 1, 0),
    ]
    assert report.verdict is None
    shown = {item.topic: item for item in listed(world)}
    assert {topic: (item.kind, item.text, item.plane) for topic, item in shown.items()} == {
        "Tea": ("preference", "green", "long_term"),
        "bake": ("task", "bake", "long_term"),
        "Name": ("profile", "Ada", "long_term"),
        "2026-01-02 / went home": ("diary", "went home", "diary"),
    }
    assert {(item.source_type, item.confidence, item.evidence_count) for item in shown.values()} == {
        ("imported", 0.7, 0)
    }
    assert shown["2026-01-02 / went home"].observed_ms == 1_767_312_000_000
    before = size(world)
    assert brought(world, home).duplicates == 4
    assert size(world) == before


def test_what_was_forgotten_of_a_file_does_not_come_back_from_it(world: World, tmp_path: Path) -> None:
    """Nor where somebody says something else there in that file; what is remembered by itself is another matter."""
    home = notes(tmp_path / "notes")
    brought(world, home)
    forget(world, ForgetTarget(kind="preference", topic="Tea"))
    report = brought(world, home)
    assert [(one.line, one.reason) for one in report.files[0].refused_lines] == [(4, "forgotten")]
    (home / "MEMORY.md").write_text("## Preferences\n- Tea: black\n")
    assert brought(world, home).files[0].refused == 1
    assert remember(world, "black", None, kind="preference", topic="Tea").reason == "free_slot"


def test_a_forgotten_item_does_not_come_back_from_a_journal(world: World, tmp_path: Path) -> None:
    home = on_disk(written(filled(world)), tmp_path)
    forget(world, HOME_CITY)
    report = brought(world, home)
    assert (report.recorded, [one.reason for one in report.files[1].refused_lines]) == (0, ["forgotten"])
    assert "Lives in Rome,\n- Italy" not in texts(world, state=ItemFilter.ALL)


def test_an_entry_of_somebody_else_is_not_taken_over(world: World, tmp_path: Path) -> None:
    world.runtime.memory.remember([candidate("Is bob", None, subject="bob", id="i-3", kind="decision")], "host")
    other = filled(memory_world("other"))
    assert brought(world, on_disk(written(other), tmp_path)).recorded == 4
    assert [item.text for item in world.runtime.memory.list_("bob", View.RAW_OWNER).items] == ["Is bob"]


def test_the_usual_rules_decide() -> None:
    """An older, less certain or too long statement is refused, with its line and never its words."""
    world = memory_world(limits=Limits(item_bytes_max=60, candidates_max=2)).with_turns(1)
    remember(world, "black", kind="preference", topic="Tea")
    text = "## Preferences\n- Tea: green\n- x\n- y\n- " + "long " * 40 + "\n- z\n"
    report = brought(world, text.encode())
    (file,) = report.files
    assert (file.name, file.recorded, file.refused) == ("import", 3, 2)
    assert [(one.line, one.reason) for one in file.refused_lines] == [(2, "lower_confidence"), (5, "too_large")]
    assert "black" in texts(world)


def test_files_that_cannot_be_read_are_said_to_be(world: World, tmp_path: Path) -> None:
    home = notes(tmp_path / "notes")
    (home / "memory" / "bad.md").write_bytes(b"\xff")
    (home / "memory" / "link.md").symlink_to(tmp_path / "secret")
    (home / "memory" / "folder.md").mkdir()
    os.mkfifo(home / "memory" / "pipe.md")
    (tmp_path / "secret").write_text("- secret\n")
    report = brought(world, [home, tmp_path / "none"])
    unread = {file.name: file.unread for file in report.files if file.unread is not None}
    assert unread == {
        "memory/bad.md": "not_utf8",
        "memory/folder.md": "not_a_file",
        "memory/link.md": "link",
        "memory/pipe.md": "not_a_file",
        "none": "not_found",
    }
    assert report.verdict is not None
    assert "secret" not in texts(world)
    (home / "memory").rename(home / "days")
    (home / "memory").symlink_to(home / "days")
    assert {file.name: file.unread for file in brought(world, home).files}["memory"] == "link"


def test_files_come_from_streams_too(world: World) -> None:
    class Named(io.BytesIO):
        name = "USER.md"

    report = brought(world, [Named(b"- **Name:** Ada"), io.BytesIO(b"- fact")])
    assert [(file.name, file.recorded) for file in report.files] == [("USER.md", 1), ("import", 1)]
    assert {item.kind.value for item in listed(world)} == {"profile", "fact"}
