"""Agent skills in mounted directories: what is read, what is reported, and that nothing is touched."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from muniment.errors import LimitExceeded
from muniment.formats.memories import skill_folders
from muniment.formats.memories.skill_folders import (
    AgentSkill,
    SkillFinding,
    SkillReport,
    digest_of,
    names_of,
    skill_report,
)
from muniment.formats.reading import beneath
from muniment.memory.skill_file import SKILL_FILE_BYTES_MAX

TIME_NS = 1_700_000_000 * 10**9


def skill(folder: Path, name: str | None = None, text: str = "") -> Path:
    """Write a skill; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name or folder.name}\ndescription: About it.\n---\n{text}")
    return folder


def with_files(folder: Path, **contents: str) -> Path:
    """Write files into a folder: `a__b="text"` is `a/b.txt`."""
    for name, content in contents.items():
        path = folder / (name.replace("__", "/") + ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def only(report: SkillReport) -> AgentSkill:
    """Return the skill of a report that has one, and nothing wrong."""
    [found] = report.skills
    assert not report.findings
    return found


def wrong(report: SkillReport) -> list[tuple[str, str, str]]:
    """Return what is wrong: folder, path, reason."""
    return [(each.folder, each.path, each.reason) for each in report.findings]


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, type[OSError]], None]:
    """Return a function that lets the system refuse to open a name; permissions mean nothing to some users."""
    usual = os.open

    def let(name: str, error: type[OSError]) -> None:
        def refusing(path: str | Path, flags: int, *, dir_fd: int | None = None) -> int:
            if Path(path).name == name:
                raise error
            return usual(path, flags, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", refusing)

    return let


# --- what is read -----------------------------------------------------------------------------------------------------


def test_skills_come_by_directory_and_folder(tmp_path: Path) -> None:
    for folder in ("one/b", "one/a", "two/c"):
        skill(tmp_path / folder)
    with_files(tmp_path / "one/a", readme="x", scripts__run="y", scripts__deep__er="z")
    report = skill_report([tmp_path / "one", tmp_path / "two"])
    assert [(each.directory, each.folder, each.name, each.resources) for each in report.skills] == [
        ("one", "a", "a", 3),
        ("one", "b", "b", 0),
        ("two", "c", "c", 0),
    ]
    assert {each.description for each in report.skills} == {"About it."}
    assert not report.findings


def test_nothing_that_is_read_is_touched(tmp_path: Path) -> None:
    """Bytes, sizes, modes and times are what they were; the time of access as well, where the system lets us."""
    folder = with_files(skill(tmp_path / "mounted/a"), scripts__run="x", other="y")
    (folder / "scripts/run.txt").chmod(0o755)
    (folder / "link").symlink_to("SKILL.md")
    skill(tmp_path / "mounted/broken").joinpath("SKILL.md").write_bytes(b"\xff")
    paths = sorted([tmp_path / "mounted", *(tmp_path / "mounted").rglob("*")])
    contents = {path: path.read_bytes() for path in paths if path.is_file()}
    for path in paths:
        os.utime(path, ns=(TIME_NS, TIME_NS + 10**9), follow_symlinks=False)
    before = [path.lstat() for path in paths]
    report = skill_report([tmp_path / "mounted"])
    after = [path.lstat() for path in paths]
    assert len(report.skills) == 1
    for one, other in zip(before, after, strict=True):
        assert (one.st_mtime_ns, one.st_ctime_ns, one.st_mode) == (other.st_mtime_ns, other.st_ctime_ns, other.st_mode)
        assert not hasattr(os, "O_NOATIME") or one.st_atime_ns == other.st_atime_ns == TIME_NS
    assert {path: path.read_bytes() for path in paths if path.is_file()} == contents


def test_only_a_mounted_directory_may_be_a_link(tmp_path: Path) -> None:
    """The host named it; everything beneath is foreign."""
    skill(tmp_path / "real/a")
    (tmp_path / "mounted").symlink_to("real")
    assert only(skill_report([tmp_path / "mounted"])).name == "a"


def test_what_is_no_skill_is_counted(tmp_path: Path) -> None:
    skill(tmp_path / "a")
    skill(tmp_path / ".hidden", "hidden")
    with_files(tmp_path, readme="x", other="y")
    report = skill_report([tmp_path])
    assert (len(report.skills), report.skipped, report.findings) == (1, 3, [])


# --- fingerprints -----------------------------------------------------------------------------------------------------


def test_a_fingerprint_is_a_hash_of_paths_kinds_sizes_and_bytes(tmp_path: Path) -> None:
    """Computed here by hand, and once more as a constant."""
    folder = with_files(skill(tmp_path / "a"), b__x="bytes", b="")
    (folder / "link").symlink_to("b.txt")
    [found] = skill_report([tmp_path]).skills
    content = (folder / "SKILL.md").read_bytes()
    assert content == b"---\nname: a\ndescription: About it.\n---\n"
    parts = [
        (b"SKILL.md", b"f", content), (b"b.txt", b"f", b""), (b"b/x.txt", b"f", b"bytes"), (b"link", b"l", None),
    ]  # fmt: skip
    whole = b"muniment/agent-skill/1"
    for path, kind, data in parts:
        whole += len(path).to_bytes(8, "big") + path + kind + len(data or b"").to_bytes(8, "big")
        whole += b"" if data is None else hashlib.sha256(data).digest()
    assert found.fingerprint == hashlib.sha256(whole).hexdigest()
    assert found.fingerprint == "09fcf743e045a0dcee24043fa69797f957b5924d300586db6382cebf9c260994"


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "b.txt").write_text("other"),
        lambda folder: (folder / "b.txt").rename(folder / "c.txt"),
        lambda folder: (folder / "b.txt").unlink(),
        lambda folder: (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "More."),
        lambda folder: with_files(folder, inner__more="x"),
        lambda folder: (folder / ".hidden").write_text("x"),
        lambda folder: (folder / "link").symlink_to("b.txt"),
        lambda folder: os.mkfifo(folder / "pipe"),
    ],
)
def test_every_change_of_a_skill_changes_its_fingerprint(tmp_path: Path, change: Callable[[Path], object]) -> None:
    folder = with_files(skill(tmp_path / "a"), b="one")
    before = only(skill_report([tmp_path])).fingerprint
    change(folder)
    assert skill_report([tmp_path]).skills[0].fingerprint not in {before, None}


def test_a_copy_has_the_same_fingerprint(tmp_path: Path) -> None:
    """Wherever it is, and whenever it was written."""
    folder = with_files(skill(tmp_path / "here/a"), b="one", c__d="two")
    shutil.copytree(folder, tmp_path / "there/a")
    os.utime(tmp_path / "there/a/b.txt", (1, 1))
    here, there = (only(skill_report([tmp_path / place])) for place in ("here", "there"))
    assert here == replace(there, directory="here")


# --- what is wrong ----------------------------------------------------------------------------------------------------


def test_what_is_broken_is_reported_and_the_others_work(tmp_path: Path) -> None:
    """AS-04: a line for each, by folder and path, with the line of the file where there is one."""
    skill(tmp_path / "good")
    (tmp_path / "empty").mkdir()
    skill(tmp_path / "encoded").joinpath("SKILL.md").write_bytes("---\nname: é".encode("latin-1"))
    skill(tmp_path / "huge").joinpath("SKILL.md").write_bytes(b"-" * (SKILL_FILE_BYTES_MAX + 1))
    skill(tmp_path / "nameless").joinpath("SKILL.md").write_text("---\nname: [x]\ndescription: y\n---")
    skill(tmp_path / "renamed", "other")
    (tmp_path / "folder/SKILL.md").mkdir(parents=True)
    report = skill_report([tmp_path])
    assert [each.name for each in report.skills] == ["good", "other"]
    assert wrong(report) == [
        ("empty", "", "no_skill_file"),
        ("encoded", "SKILL.md", "not_utf8"),
        ("folder", "SKILL.md", "not_a_file"),
        ("huge", "SKILL.md", "too_large"),
        ("nameless", "SKILL.md", "not_plain_text"),
        ("nameless", "SKILL.md", "no_name"),
        ("renamed", "SKILL.md", "name_is_not_folder"),
    ]
    assert report.findings[3].limit == SKILL_FILE_BYTES_MAX
    assert report.findings[4].line == 2


def test_links_are_reported_and_never_followed(tmp_path: Path) -> None:
    outside = with_files(skill(tmp_path / "outside/a"), secret="x")
    mounted = tmp_path / "mounted"
    good = skill(mounted / "good")
    for name, target in {
        "file": outside / "secret.txt",
        "folder": outside,
        "gone": Path("nowhere"),
        "up": Path(".."),
    }.items():
        (good / name).symlink_to(target)
    (mounted / "linked").symlink_to(outside)
    (mounted / "dangling").symlink_to("nowhere")
    (mounted / "borrowed").mkdir()
    (mounted / "borrowed/SKILL.md").symlink_to(outside / "SKILL.md")
    report = skill_report([mounted])
    assert [(each.name, each.resources) for each in report.skills] == [("good", 0)]
    assert wrong(report) == [
        ("borrowed", "SKILL.md", "link"),
        ("dangling", "", "link"),
        *(("good", name, "link") for name in ("file", "folder", "gone", "up")),
        ("linked", "", "link"),
    ]


def test_a_link_that_is_put_there_meanwhile_is_not_followed(tmp_path: Path) -> None:
    """What was a file or a folder when it was looked at may be a link when it is opened."""
    skill(tmp_path / "a")
    (tmp_path / "file").symlink_to("a/SKILL.md")
    (tmp_path / "folder").symlink_to("a")
    with beneath.directory_beneath(tmp_path) as mounted:
        with pytest.raises(OSError, match="file"):
            beneath.file_beneath("file", mounted)
        with pytest.raises(OSError, match="folder"), beneath.directory_beneath("folder", mounted):
            pass


def test_pipes_and_sockets_are_reported_and_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = skill(tmp_path / "a")
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket")
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b/SKILL.md")
    report = skill_report([tmp_path])
    assert [each.resources for each in report.skills] == [0]
    assert wrong(report) == [
        ("a", "pipe", "not_a_file"),
        ("a", "socket", "not_a_file"),
        ("b", "SKILL.md", "not_a_file"),
    ]


def test_the_first_of_a_name_is_used_and_the_others_are_reported(tmp_path: Path) -> None:
    skill(tmp_path / "one/b", "same")
    skill(tmp_path / "one/c", "same")
    skill(tmp_path / "two/a", "same")
    report = skill_report([tmp_path / "one", tmp_path / "two"])
    assert [(each.directory, each.folder) for each in report.skills] == [("one", "b")]
    duplicates = [(each.directory, each.folder) for each in report.findings if each.reason == "duplicate_name"]
    assert duplicates == [("one", "c"), ("two", "a")]


def test_a_directory_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    skill(tmp_path / "good/a")
    (tmp_path / "file").write_text("x")
    report = skill_report([tmp_path / "missing", tmp_path / "file", Path("\0"), tmp_path / "good"])
    assert [each.name for each in report.skills] == ["a"]
    assert report.findings == [SkillFinding(directory=name, reason="not_found") for name in ("missing", "file", "\0")]


def test_directories_of_one_name_are_told_apart_without_their_paths(tmp_path: Path) -> None:
    for home in ("a/skills", "b/skills", "c/skills"):
        skill(tmp_path / home / home[0])
    report = skill_report([tmp_path / home / "skills" for home in "abc"])
    assert [each.directory for each in report.skills] == ["skills", "skills 2", "skills 3"]
    assert names_of([Path("/")]) == ["root"]


def test_names_that_are_no_text_are_spelt_out_and_sorted_by_their_bytes(tmp_path: Path) -> None:
    odd, usual = os.fsdecode(b"\xff"), "\N{SLIGHTLY SMILING FACE}"
    for name in (odd, usual):
        for link in (odd, usual):
            skill(tmp_path / name, f"in-{ord(name[0])}").joinpath(link).symlink_to("x")
    report = skill_report([tmp_path])
    assert [each.folder for each in report.skills] == [usual, "\\xff"]
    assert wrong(report) == [
        (folder, path, reason)
        for folder in (usual, "\\xff")
        for path, reason in [("SKILL.md", "name_is_not_folder"), (usual, "link"), ("\\xff", "link")]
    ]


# --- faults of the system ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path", "usable"),
    [("b.txt", "b.txt", True), ("inner", "inner", True), ("SKILL.md", "SKILL.md", False), ("a", "", False)],
)
def test_what_may_not_be_read_is_reported(
    tmp_path: Path, refuse: Callable[[str, type[OSError]], None], name: str, path: str, *, usable: bool
) -> None:
    """A skill without all of its files has no fingerprint."""
    with_files(skill(tmp_path / "a"), b="x", inner__c="y")
    skill(tmp_path / "other")
    refuse(name, PermissionError)
    report = skill_report([tmp_path])
    assert ("a", path, "not_permitted") in wrong(report)
    assert [each.name for each in report.skills if each.folder == "a"] == ["a"] * usable
    assert all(each.fingerprint is None for each in report.skills if each.folder == "a")
    assert [each.name for each in report.skills if each.folder != "a" and name != "SKILL.md"] == ["other"] * (
        name != "SKILL.md"
    )


def test_files_of_others_are_read_without_a_claim_to_their_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only owners may ask that the time of access stays."""
    skill(tmp_path / "a")
    usual, claim = os.open, beneath._NO_ACCESS_TIME
    claims: list[bool] = []

    def owned(path: str | Path, flags: int, *, dir_fd: int | None = None) -> int:
        claims.append(bool(flags & claim))
        if flags & claim:
            raise PermissionError
        return usual(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", owned)
    assert only(skill_report([tmp_path])).fingerprint
    assert claims == [bool(claim), False] * 3 if claim else not any(claims)


@pytest.mark.parametrize(("size", "kept"), [(2, False), (3, True), (4, False)])
def test_a_file_that_changes_while_it_is_read_has_no_digest(size: int, *, kept: bool) -> None:
    assert digest_of(io.BytesIO(b"abc"), size) == (hashlib.sha256(b"abc").digest() if kept else None)


def test_a_file_that_is_longer_than_it_says_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_files(skill(tmp_path / "a"), b="one")
    monkeypatch.setattr(skill_folders, "digest_of", lambda file, size: digest_of(file, size + 1))
    report = skill_report([tmp_path])
    assert wrong(report) == [("a", "b.txt", "changed_meanwhile")]
    assert report.skills[0].fingerprint is None


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "size", "reason", "path"),
    [
        ("ENTRIES_MAX", 5, "too_many_files", "inner"),
        ("ENTRIES_MAX", 3, "too_many_files", ""),
        ("DEPTH_MAX", 2, "too_deep", "inner/deep"),
        ("SKILL_BYTES_MAX", 4, "too_large", "inner/c.txt"),
    ],
)
def test_a_skill_beyond_a_limit_is_reported_and_has_no_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, size: int, reason: str, path: str
) -> None:
    """It can still be used: its summary was read."""
    with_files(skill(tmp_path / "a"), b="one", inner__c="two", inner__deep__d="", last__e="")
    monkeypatch.setattr(skill_folders, limit, size)
    report = skill_report([tmp_path])
    assert [(each.name, each.fingerprint) for each in report.skills] == [("a", None)]
    assert report.findings == [SkillFinding(directory=tmp_path.name, folder="a", path=path, reason=reason, limit=size)]
    monkeypatch.setattr(skill_folders, limit, 100)
    assert only(skill_report([tmp_path])).fingerprint


def test_a_directory_with_too_many_skills_gives_the_first_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "dbca":
        skill(tmp_path / name)
    monkeypatch.setattr(skill_folders, "SKILLS_MAX", 3)
    report = skill_report([tmp_path])
    assert [each.name for each in report.skills] == ["a", "b", "c"]
    assert report.findings == [SkillFinding(directory=tmp_path.name, reason="too_many_skills", limit=3)]


def test_too_many_findings_of_a_skill_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = skill(tmp_path / "a")
    for name in "dbca":
        (folder / name).symlink_to("x")
    monkeypatch.setattr(skill_folders, "FINDINGS_MAX", 3)
    report = skill_report([tmp_path])
    assert [path for _, path, _ in wrong(report)] == ["a", "b", "c"]
    assert report.findings_left_out == 1


def test_too_many_directories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LimitExceeded) as refused:
        skill_report([tmp_path] * 65)
    assert (refused.value.at, refused.value.limit, refused.value.found) == ("directories", 64, 65)
    assert not skill_report([tmp_path] * 64).findings
