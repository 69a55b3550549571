"""Agent skills in directories that a host mounts: `<directory>/<skill>/SKILL.md` (AS-01, AS-04).

Nothing is executed, written or changed, not even the time of the last access where the system lets a reader leave it.
Every folder and file is opened beneath the one before, so no link is followed out of a directory, also not one that is
put there meanwhile: links are reported and never read. Only a mounted directory may itself be reached by a link.

What is wrong is a finding, and everything else still works: a skill is listed when its `SKILL.md` has a name and a
description, in the first place where the name is. Its fingerprint is the SHA-256 over all that is in its folder; where
not all can be read within the limits there is none, and a finding says why. Hidden folders and loose files in a mounted
directory are no skills, and are counted as skipped.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from pathlib import Path

from msgspec import Struct

from muniment.errors import LimitExceeded
from muniment.formats.reading.beneath import directory_beneath, file_beneath, problem_of
from muniment.formats.reading.source_files import LINK, NO_FILE, text_of
from muniment.memory.skill_file import SKILL_FILE, SKILL_FILE_BYTES_MAX, SkillFlaw, SkillSummary, skill_summary

DIRECTORIES_MAX = 64
SKILLS_MAX = 1000  # of a directory
ENTRIES_MAX = 2000  # files, folders and others of a skill
DEPTH_MAX = 16  # folders within each other
SKILL_BYTES_MAX = 64 << 20
FILE_BYTES_READ = 1 << 16  # at once
FINDINGS_MAX = 100  # of a skill

NO_SKILL_FILE = "no_skill_file"
DUPLICATE_NAME = "duplicate_name"
NAME_IS_NOT_FOLDER = "name_is_not_folder"
TOO_MANY_SKILLS = "too_many_skills"
TOO_MANY_FILES = "too_many_files"
TOO_DEEP = "too_deep"
CHANGED = "changed_meanwhile"

FINGERPRINT = b"muniment/agent-skill/1"
FILE_KIND, LINK_KIND, OTHER_KIND = b"f", b"l", b"o"
LENGTH_BYTES = 8


class AgentSkill(Struct, frozen=True, kw_only=True):
    """A skill that can be used: where it is, what it says of itself, and how many other files it has.

    `directory` is the name of the mounted directory, without its path (`names_of`). `fingerprint` is hexadecimal, or
    None where no complete one could be taken; then `resources` may be too low.
    """

    directory: str
    folder: str
    name: str
    description: str
    others: dict[str, str]
    resources: int
    fingerprint: str | None


class SkillFinding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that is wrong with a directory, a folder in it, or a path in that; `limit` is one that was hit."""

    directory: str
    reason: str
    folder: str = ""
    path: str = ""
    line: int | None = None
    limit: int | None = None


class SkillReport(Struct, frozen=True, kw_only=True):
    """The skills of all directories, and what is wrong. `skipped` counts what is no skill.

    `findings_left_out` counts those beyond the limit of a skill.
    """

    skills: list[AgentSkill]
    findings: list[SkillFinding]
    skipped: int = 0
    findings_left_out: int = 0


def skill_report(directories: Sequence[Path]) -> SkillReport:
    """Return the skills in directories, in the order given and then by folder; raises only for too many directories."""
    if len(directories) > DIRECTORIES_MAX:
        raise LimitExceeded(at="directories", problem="too_many", limit=DIRECTORIES_MAX, found=len(directories))
    skills: dict[str, AgentSkill] = {}
    findings: list[SkillFinding] = []
    skipped = left_out = 0
    for name, path in zip(names_of(directories), directories, strict=True):
        try:
            with directory_beneath(path) as mounted:
                folders, others = _folders(mounted)
                skipped += others
                if len(folders) > SKILLS_MAX:
                    findings.append(SkillFinding(directory=name, reason=TOO_MANY_SKILLS, limit=SKILLS_MAX))
                for folder in folders[:SKILLS_MAX]:
                    reading = _SkillReading(name, folder)
                    skill = reading.read(mounted)
                    if skill is not None and skills.setdefault(skill.name, skill) is not skill:
                        reading.note(DUPLICATE_NAME)
                    findings += reading.findings
                    left_out += reading.left_out
        except (OSError, ValueError) as fault:
            findings.append(SkillFinding(directory=name, reason=problem_of(fault)))
    return SkillReport(skills=list(skills.values()), findings=findings, skipped=skipped, findings_left_out=left_out)


def names_of(directories: Sequence[Path]) -> list[str]:
    """Return a name for each directory: its own, with a number where another one has it. No path is in it."""
    names: list[str] = []
    for path in directories:
        own, number = text_of(Path(path.name or path.absolute().name or "root")), 2
        name = own
        while name in names:
            name, number = f"{own} {number}", number + 1
        names.append(name)
    return names


def _folders(mounted: int) -> tuple[list[str], int]:
    """Return the names of folders and links, sorted, one more than are read at most; and how much else there is."""
    skipped = 0

    def named() -> Iterator[str]:
        nonlocal skipped
        with os.scandir(mounted) as entries:
            for entry in entries:
                is_skill = entry.is_symlink() or entry.is_dir(follow_symlinks=False)
                if is_skill and not entry.name.startswith("."):
                    yield entry.name
                else:
                    skipped += 1

    return nsmallest(SKILLS_MAX + 1, named(), key=os.fsencode), skipped


class _SkillReading:
    """Reads the folder of a skill, once."""

    def __init__(self, directory: str, folder: str) -> None:
        self._directory, self._folder = directory, folder
        self._parts: list[tuple[bytes, bytes]] = []  # a path and what the fingerprint says of it
        self._entries = self._bytes = self._resources = 0
        self._is_complete = True
        self.findings: list[SkillFinding] = []
        self.left_out = 0

    def note(self, reason: str, path: str = "", line: int | None = None, limit: int | None = None) -> None:
        """Add a finding."""
        if len(self.findings) == FINDINGS_MAX:
            self.left_out += 1
            return
        self.findings.append(
            SkillFinding(
                directory=self._directory,
                folder=text_of(Path(self._folder)),
                path=path and text_of(Path(path)),
                reason=reason,
                line=line,
                limit=limit,
            )
        )

    def read(self, mounted: int) -> AgentSkill | None:
        """Return the skill, or None where it cannot be used."""
        try:
            if stat.S_ISLNK(os.stat(self._folder, dir_fd=mounted, follow_symlinks=False).st_mode):
                self.note(LINK)
                return None
            with directory_beneath(self._folder, mounted) as opened:
                content = self._skill_file(opened)
                summary = None if content is None else self._summary(content)
                if content is None or summary is None:
                    return None
                self._walk(opened, "", 1, content)
        except OSError as fault:
            self.note(problem_of(fault))
            return None
        return AgentSkill(
            directory=self._directory,
            folder=text_of(Path(self._folder)),
            name=summary.name,
            description=summary.description,
            others=summary.others,
            resources=self._resources,
            fingerprint=self._fingerprint() if self._is_complete else None,
        )

    def _skill_file(self, opened: int) -> bytes | None:
        """Return the bytes of the `SKILL.md`, one more than are allowed at most."""
        try:
            mode = os.stat(SKILL_FILE, dir_fd=opened, follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode):
                self.note(LINK if stat.S_ISLNK(mode) else NO_FILE, SKILL_FILE)
                return None
            with file_beneath(SKILL_FILE, opened) as file:
                return file.read(SKILL_FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            self.note(NO_SKILL_FILE)
        except OSError as fault:
            self.note(problem_of(fault), SKILL_FILE)
        return None

    def _summary(self, content: bytes) -> SkillSummary | None:
        summary, flaws = skill_summary(content)
        for each in flaws:
            self.note(each.flaw, SKILL_FILE, each.line, each.limit)
        if summary is not None and summary.name != self._folder:
            self.note(NAME_IS_NOT_FOLDER, SKILL_FILE)
        return summary

    # --- the fingerprint ----------------------------------------------------------------------------------------------

    def _walk(self, opened: int, prefix: str, depth: int, content: bytes) -> None:
        """Read everything in a folder; `content` is that of the `SKILL.md`, which is not read again."""
        if self._entries > ENTRIES_MAX:
            return
        with os.scandir(opened) as scan:
            entries = list(islice(scan, ENTRIES_MAX + 1 - self._entries))
        self._entries += len(entries)
        if self._entries > ENTRIES_MAX:
            self._lack(TOO_MANY_FILES, prefix, ENTRIES_MAX)
            return
        for entry in sorted(entries, key=lambda each: os.fsencode(each.name)):
            path = prefix + entry.name
            try:
                if path == SKILL_FILE:
                    self._add(path, FILE_KIND, len(content), hashlib.sha256(content).digest())
                elif entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
                    self.note(LINK if entry.is_symlink() else NO_FILE, path)
                    self._add(path, LINK_KIND if entry.is_symlink() else OTHER_KIND)
                elif entry.is_file():
                    self._resources += 1
                    self._hash(opened, entry.name, path)
                elif depth == DEPTH_MAX:
                    self._lack(TOO_DEEP, path, DEPTH_MAX)
                else:
                    with directory_beneath(entry.name, opened) as inner:
                        self._walk(inner, f"{path}/", depth + 1, content)
            except OSError as fault:
                self._lack(problem_of(fault), path)

    def _hash(self, opened: int, name: str, path: str) -> None:
        with file_beneath(name, opened) as file:
            size = os.fstat(file.fileno()).st_size
            if self._bytes + size > SKILL_BYTES_MAX:
                self._lack(SkillFlaw.TOO_LARGE, path, SKILL_BYTES_MAX)
                return
            self._bytes += size
            digest = digest_of(file, size)
        if digest is None:
            self._lack(CHANGED, path)
        else:
            self._add(path, FILE_KIND, size, digest)

    def _lack(self, reason: str, path: str, limit: int | None = None) -> None:
        self._is_complete = False
        self.note(reason, path, limit=limit)

    def _add(self, path: str, kind: bytes, size: int = 0, digest: bytes = b"") -> None:
        self._parts.append((os.fsencode(path), kind + size.to_bytes(LENGTH_BYTES) + digest))

    def _fingerprint(self) -> str:
        """Return SHA-256 over each path in the order of its bytes: length, path, kind, size, SHA-256 of a file."""
        whole = hashlib.sha256(FINGERPRINT)
        for path, rest in sorted(self._parts):
            whole.update(len(path).to_bytes(LENGTH_BYTES) + path + rest)
        return whole.hexdigest()


def digest_of(file: io.RawIOBase | io.BufferedIOBase, size: int) -> bytes | None:
    """Return the SHA-256 of a file, or None when it does not have so many bytes."""
    digest, left = hashlib.sha256(), size
    while left >= 0 and (chunk := file.read(min(FILE_BYTES_READ, left + 1))):
        digest.update(chunk)
        left -= len(chunk)
    return None if left else digest.digest()
