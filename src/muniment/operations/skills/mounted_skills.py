"""Agent skills that the host mounts, as packages: what each says of itself, and never more (AS-01 to AS-04).

The directories are those of `Options(skills=...)`, or of `MUNIMENT_SKILLS`. They are read when somebody asks, once a
call, and nothing of them is kept, executed or written. Names and descriptions are text from outside.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.formats.reading.skill_folders import SkillFinding, skill_report


class SkillPackage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent skill in a mounted directory, which counts from 0: its folder and what it says of itself.

    `resources` counts its other files. `fingerprint` is a SHA-256 over all of them, or absent where not all could be
    read.
    """

    name: str
    description: str
    directory: int
    folder: str
    resources: int
    fingerprint: str | None = None


class MountedSkills(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The packages of all mounted directories, and what is wrong with them. `skipped` counts what is no skill."""

    directories: int
    active: int
    packages: list[SkillPackage]
    findings: list[SkillFinding] = []
    skipped: int = 0
    findings_left_out: int = 0


def mounted(session: Session) -> MountedSkills:
    """Read the mounted directories and report."""
    found = skill_report(session.skills)
    packages = [
        SkillPackage(
            name=skill.name,
            description=skill.description,
            directory=skill.directory,
            folder=skill.folder,
            resources=skill.resources,
            fingerprint=skill.fingerprint,
        )
        for skill in found.skills
    ]
    return MountedSkills(
        directories=len(session.skills),
        active=len(packages),
        packages=packages,
        findings=found.findings,
        skipped=found.skipped,
        findings_left_out=found.findings_left_out,
    )


def mounted_skills(session: Session) -> list[SkillPackage]:
    """Return the packages that can be used, for recall and prompts: take their names and descriptions as hints."""
    return mounted(session).packages
