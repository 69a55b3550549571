"""Agent skills that the host mounts, as packages: what each says of itself, and never more (AS-01 to AS-04).

The directories are those of `Options(skills=...)`, or of `MUNIMENT_SKILLS`. They are read when somebody asks, once a
call, and nothing of them is kept, executed or written. Names and descriptions are text from outside.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.formats.memories.skill_folders import SkillFinding, skill_report
from muniment.governance.item_visibility import SHOWS_STATEMENTS
from muniment.governance.views import View
from muniment.operations.skills.skill_package import SkillPackage


class MountedSkills(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The packages of all mounted directories, and what is wrong with them. `skipped` counts what is no skill."""

    directories: int
    active: int
    packages: list[SkillPackage]
    findings: list[SkillFinding] = []
    skipped: int = 0
    findings_left_out: int = 0


class OfferedSkills(NamedTuple):
    """The packages that recall and prompts may hold, how many a view does not show, and how much is wrong with others.

    Take their names and descriptions as hints.
    """

    packages: list[SkillPackage]
    withheld: int
    findings: int


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


def offered_skills(session: Session, view: View) -> OfferedSkills:
    """Read the mounted directories and return what a view offers of them: nothing, where it shows no words."""
    found = mounted(session)
    shown = found.packages if view in SHOWS_STATEMENTS else []
    return OfferedSkills(shown, found.active - len(shown), len(found.findings) + found.findings_left_out)
