"""An agent skill that the host mounts, as a value."""

from __future__ import annotations

from msgspec import Struct


class SkillPackage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent skill in a mounted directory, by the name of that: its folder and what it says of itself.

    `resources` counts its other files. `fingerprint` is a SHA-256 over all of them, or absent where not all could be
    read.
    """

    name: str
    description: str
    directory: str
    folder: str
    resources: int
    fingerprint: str | None = None
