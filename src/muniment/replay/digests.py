"""Digests of projections beside the fixtures: `digests.toml`.

What a projection holds changes with its version and not with the history, so its digests are kept apart from the
fixtures: a table for each fixture, with the SHA-256 of its bytes and, for each line that measures, a digest for each
projection. `[versions]` names the versions of the projections that they were written for. For another version, or for a
changed fixture, the projection counts as unchecked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from muniment.errors import FileUnavailable, InvalidInput
from muniment.events.binding import bind
from muniment.replay.fixture import Fixture
from muniment.replay.measuring import PROJECTIONS
from muniment.replay.replay_report import FixtureRun

FILE = "digests.toml"
HEAD = """\
# Digests of derived data, by fixture, line and projection. Written by `python -m replay check --write`, which
# changes a digest only together with the version of its projection or with the fixture.
"""


class FixtureDigests(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The SHA-256 of a fixture, and the digests of the projections by its lines."""

    fixture: str
    lines: dict[str, dict[str, str]] = {}


class KnownDigests(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The versions of the projections, and the digests by fixture."""

    versions: dict[str, int] = {}
    fixtures: dict[str, FixtureDigests] = {}

    def of(self, fixture: Fixture) -> Mapping[str, Mapping[str, str]]:
        """Return the known digests of a fixture, for projections that still have the version they were written for."""
        known = self.fixtures.get(fixture.header.id)
        if known is None or known.fixture != fixture.digest:
            return {}
        return {
            line: {name: digest for name, digest in digests.items() if self.counts(name)}
            for line, digests in known.lines.items()
        }

    def counts(self, projection: str) -> bool:
        """Return whether the digests of a projection were written for its present version."""
        known = PROJECTIONS.get(projection)
        return known is not None and self.versions.get(projection) == known.version


def read_digests(directory: Path) -> KnownDigests:
    """Return the digests in a directory of fixtures; none when it has no such file."""
    try:
        text = (directory / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return KnownDigests()
    except (OSError, UnicodeDecodeError) as fault:
        raise FileUnavailable(at=FILE, problem="not_accessible") from fault
    try:
        return bind(tomllib.loads(text), KnownDigests)
    except tomllib.TOMLDecodeError:
        raise InvalidInput(at=FILE, problem="malformed") from None


def digests_of(runs: Sequence[FixtureRun]) -> KnownDigests:
    """Return the digests of runs, for the present versions."""
    return KnownDigests(
        versions={name: projection.version for name, projection in PROJECTIONS.items()},
        fixtures={
            run.fixture: FixtureDigests(
                fixture=run.fixture_digest,
                lines={
                    str(one.line): {name: each.digest for name, each in one.projections.items()}
                    for one in run.measured
                    if one.projections
                },
            )
            for run in runs
        },
    )


def digests_text(known: KnownDigests) -> str:
    """Return the text of the file."""
    lines = [HEAD, "[versions]"]
    lines += [f"{name} = {version}" for name, version in sorted(known.versions.items())]
    for name, one in sorted(known.fixtures.items()):
        lines += ["", f'[fixtures."{name}"]', f'fixture = "{one.fixture}"']
        for line, digests in sorted(one.lines.items(), key=lambda item: int(item[0])):
            lines += ["", f'[fixtures."{name}".lines.{line}]']
            lines += [f'{projection} = "{digest}"' for projection, digest in sorted(digests.items())]
    return "\n".join(lines) + "\n"
